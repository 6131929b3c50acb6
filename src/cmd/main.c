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
        {"play", "plays a line-up for a while and tells the score", cmd_play},
        {"run", "runs a line-up until it is stopped", cmd_run},
        {"dev", "runs a line-up; a module whose source changes is rebuilt and swapped in", cmd_dev},
        {"stop", "ends a running line-up", cmd_stop},
        {"tasks", "how the cycles and modules of a running line-up keep their time", cmd_tasks},
        {"why", "who makes a topic, how old it is, and why it is stale", cmd_why},
        {"param", "lists, changes and saves parameters", cmd_param},
        {"topic", "lists and prints what a running line-up publishes", cmd_topic},
        {"plot", "plots numbers of messages over time, of a running line-up or a log", cmd_plot},
        {"node", "the nodes of a ROS 2 world", cmd_node},
        {"service", "calls services of a ROS 2 world", cmd_service},
        {"action", "sends goals to actions of a ROS 2 world", cmd_action},
        {"bag", "logs: what is in them, parts of them, tables and pictures from them", cmd_bag},
        {"compare", "where two logs differ, and by how much", cmd_compare},
        {"replay", "runs a recorded line-up, or some of its modules, again", cmd_replay},
        {"lineup", "checks line-ups", cmd_lineup},
        {"graph", "draws a line-up", cmd_graph},
        {"module", "the modules there are, and what they read, write and are tuned by", cmd_module},
        {"msg", "the message types there are, and what they hold", cmd_msg},
        {"new", "starts a module: a skeleton that compiles, with its test", cmd_new},
        {"robot", "checks a robot's folder or URDF and tells what it lacks to play", cmd_robot},
        {"animate", "key-frame motions: check, mirror, play", cmd_animate},
        {"sim", "plays a scenario in the simulator and tells what came out", cmd_sim},
        {"calibrate", "finds what only a robot itself can tell about it", cmd_calibrate},
        {"tune", "searches parameters that make scenarios score better", cmd_tune},
        {"nn", "networks in ONNX files: what is in them, what they compute, what they cost", cmd_nn},
        {"snapshot", "a picture of a scene as the simulator's cameras see it", cmd_snapshot},
        {"bus", "talks to the servos of a robot", cmd_bus},
        {"drive", "drives a robot by keyboard or joystick", cmd_drive},
        {"doctor", "checks this machine and this installation", cmd_doctor},
        {"bench", "measures what the runtime costs against its goals", cmd_bench},
        {"version", "what this program was made from", cmd_version},
        {0},
    };
    /* a reader that leaves is noticed by the write; it is no reason to end a running robot */
    signal(SIGPIPE, SIG_IGN);
    crash_tell(NULL);
    int code = verbs_run("nutmeg", "A software stack for humanoid soccer robots.", commands, argc, argv);
    bool whole = !fflush(stdout) && !ferror(stdout);
    if (whole || code || reader_left()) return code;
    fputs("what was printed is not whole: it could not be written\n", stderr);
    return EXIT_FAILED;
}
