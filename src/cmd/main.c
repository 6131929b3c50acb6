/* nutmeg: one program for humanoid soccer. Its first argument chooses the sub-command; each is a file of its own. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cmd/crash.h"
#include "cmd/commands.h"
#include "cmd/options.h"

/* `nutmeg msg list | head`: whoever wanted the output has enough of it, and that is no fault. */
static bool reader_left(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) > 0 && (out.revents & (POLLERR | POLLHUP));
}

int main(int argc, char **argv)
{
    const struct verb commands[] = {
        {"play", "plays a match and prints the score", cmd_play},
        {"run", "runs a line-up until it is stopped", cmd_run},
        {"dev", "runs a line-up and replaces modules when their source changes", cmd_dev},
        {"stop", "stops a running line-up", cmd_stop},
        {"tasks", "shows rates, deadlines and times of cycles and modules", cmd_tasks},
        {"why", "shows who writes a topic, how old it is, and why it is stale", cmd_why},
        {"param", "lists, changes and saves parameters", cmd_param},
        {"topic", "lists and prints what a running line-up publishes", cmd_topic},
        {"shell", "shows a running line-up as folders and files, and changes it", cmd_shell},
        {"plot", "plots numbers in messages over time, from a running line-up or a log", cmd_plot},
        {"node", "lists ROS 2 nodes and what they publish and read", cmd_node},
        {"service", "lists and calls ROS 2 services", cmd_service},
        {"action", "lists ROS 2 actions and sends goals", cmd_action},
        {"bag", "shows, checks, records, cuts, repairs and exports logs", cmd_bag},
        {"compare", "compares two logs", cmd_compare},
        {"replay", "runs a recorded line-up, or some of its modules, again", cmd_replay},
        {"tournament", "lets line-ups play many games, and prints who is how strong", cmd_tournament},
        {"referee", "a game controller: tells robots the state of a match", cmd_referee},
        {"monitor", "shows what a team may see of its robots during a game", cmd_monitor},
        {"lineup", "lists and checks line-ups", cmd_lineup},
        {"graph", "draws a line-up", cmd_graph},
        {"module", "shows modules, their topics and their parameters", cmd_module},
        {"behavior", "shows the options of a behaviour, and which of them run", cmd_behavior},
        {"msg", "shows message types and their fields", cmd_msg},
        {"new", "writes the first files of a module or a robot", cmd_new},
        {"robot", "checks a robot's folder or URDF and shows what it lacks to play", cmd_robot},
        {"animate", "checks, mirrors, plays and records key-frame animations", cmd_animate},
        {"sim", "plays a scenario in the simulator and prints what was measured", cmd_sim},
        {"eval", "compares line-ups on the same percepts against the truth", cmd_eval},
        {"calibrate", "measures properties of a robot that are not in its files", cmd_calibrate},
        {"tune", "searches parameters that make scenarios score better", cmd_tune},
        {"learn", "teaches a robot to walk in the simulator", cmd_learn},
        {"label", "opens a page on which you label real pictures", cmd_label},
        {"train", "draws labelled pictures to train the vision with", cmd_train},
        {"nn", "shows, runs and measures networks in ONNX files", cmd_nn},
        {"snapshot", "renders a picture of a scene with the simulator's cameras", cmd_snapshot},
        {"bus", "talks to the servos and sensors of a robot", cmd_bus},
        {"drive", "drives a robot by keyboard or joystick", cmd_drive},
        {"doctor", "checks this machine and this installation", cmd_doctor},
        {"bench", "measures what the runtime costs against its goals", cmd_bench},
        {"version", "shows what this program was built from", cmd_version},
        {0},
    };
    /* a reader that leaves is noticed by the write; it is no reason to end a running robot */
    signal(SIGPIPE, SIG_IGN);
    crash_tell(NULL);
    int code = verbs_run("nutmeg", "A software stack for humanoid soccer robots.", commands, argc, argv);
    bool whole = !fflush(stdout) && !ferror(stdout);
    if (whole || code || reader_left()) return code;
    fputs("the output is incomplete: it could not be written\n", stderr);
    return EXIT_FAILED;
}
