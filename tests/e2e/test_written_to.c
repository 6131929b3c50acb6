/* labels: slow
 * A minute of the motion line-up in threads, over the servo bus, in real time. A viewer publishes, changes parameters
 * and calls a service all the time. The log is replayed and is the same to the bit, and each of its files begins with
 * what a viewer needs to show the robot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "edge/live/viewer.h"

static char place[64];

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static const char *read_file(const char *path)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[n] = '\0';
    return text;
}

/* ---- the robot ---- */

static pid_t robot;

static void start_robot(void)
{
    robot = fork();
    assert_true(robot >= 0);
    if (robot) return;
    int out = open("robot.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    execl(NM_BUILD "/nutmeg", "nutmeg", "run", "motion", "--hardware", "virtual", "--live", "0", "--live-token-file",
          "token", "--log", "log", "--log-rotate", "1", "--black-box", "none", (char *)NULL);
    _exit(127);
}

static bool ended(int *status) { return waitpid(robot, status, WNOHANG) == robot; }

static int port_of_robot(void)
{
    static const char words[] = "live at http://127.0.0.1:";
    const char *line = strstr(read_file("robot.txt"), words);
    return line && strchr(line, '\n') ? atoi(line + strlen(words)) : 0;
}

/* ---- the viewer ---- */

static uint32_t said[3]; /* messages, parameters, calls */

static uint32_t service_named(const char *text, const char *name)
{
    const char *at = strstr(text, name), *id = NULL;
    for (const char *c = strstr(text, "\"id\""); at && c && c < at; c = strstr(c + 1, "\"id\"")) id = c;
    return id ? (uint32_t)atoi(id + strlen("\"id\": ")) : 0;
}

static void publish(struct viewer *v, uint32_t channel, const char *json)
{
    uint8_t frame[256] = {1};
    memcpy(frame + 1, &channel, 4);
    size_t n = strlen(json);
    memcpy(frame + 5, json, n);
    viewer_send(v, 2, frame, 5 + n);
    said[0]++;
}

static void call(struct viewer *v, uint32_t service)
{
    uint8_t frame[] = {2, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 'j', 's', 'o', 'n', '{', '}'};
    memcpy(frame + 1, &service, 4);
    memcpy(frame + 5, &said[2], 4);
    viewer_send(v, 2, frame, sizeof frame);
    said[2]++;
}

static void set(struct viewer *v, double value)
{
    char text[200];
    snprintf(text, sizeof text,
             "{\"op\":\"setParameters\",\"parameters\":[{\"name\":\"head.max_speed\",\"value\":%.2f}],\"id\":\"x\"}",
             value);
    viewer_say(v, text);
    said[1]++;
}

/* Everything that a person with a viewer could do, much faster than a person does it. */
static void write_all_the_time(struct viewer *v)
{
    enum { TURNS = 3000, TURN = 20000 /* us: a minute together */ };
    uint32_t service = 0, answers = 0;
    viewer_say(v, "{\"op\":\"advertise\",\"channels\":["
                  "{\"id\":1,\"topic\":\"/cmd_vel\",\"encoding\":\"json\",\"schemaName\":\"geometry_msgs/msg/Twist\"},"
                  "{\"id\":2,\"topic\":\"/head_command\",\"encoding\":\"json\","
                  "\"schemaName\":\"nutmeg_msgs/msg/HeadCommand\"}]}");
    for (uint32_t i = 0; i < TURNS; i++) {
        char text[200];
        snprintf(text, sizeof text, "{\"linear\": {\"x\": %.3f}, \"angular\": {\"z\": %.3f}}", 0.001 * (i % 100),
                 0.002 * (i % 70));
        publish(v, 1, text);
        snprintf(text, sizeof text, "{\"mode\": 2, \"pan\": %.1f}", i % 3 ? 0.4 : -0.4);
        if (i % 5 == 0) publish(v, 2, text);
        if (i % 25 == 0) set(v, 1 + 0.1 * (i % 20));
        if (i % 100 == 50 && service) call(v, service);
        while (viewer_next(v)) {
            if (v->opcode == 1 && !service) service = service_named((char *)v->frame, "/tare_feet");
            answers += v->opcode == 2 && v->frame[0] == 3;
        }
        usleep(TURN);
    }
    assert_true(answers > 0);
}

/* ---- the log ---- */

/* Of a line such as "  /imu  sensor_msgs/msg/Imu  120  60.0"; the topic has a blank behind it. */
static uint32_t messages_of(const char *info, const char *topic)
{
    char word[128], type[128];
    unsigned n = 0;
    const char *line = strstr(info, topic);
    if (!line || sscanf(line, "%127s %127s %u", word, type, &n) != 3) return 0;
    return n;
}

static void check_log(void)
{
    assert_int_equal(system(NM_BUILD "/nutmeg bag info log > info.txt 2>&1"), 0);
    const char *info = read_file("info.txt");
    assert_true(messages_of(info, "/cmd_vel ") * 2 > said[0]);
    assert_true(messages_of(info, "/nutmeg/parameters ") > 10);
    assert_true(messages_of(info, "/tare_feet/request ") > 3);
    uint32_t files = 0;
    for (char command[200];; files++) {
        struct stat about;
        char path[100];
        snprintf(path, sizeof path, "log/log_%u.mcap", files);
        if (stat(path, &about)) break;
        snprintf(command, sizeof command, NM_BUILD "/nutmeg bag info %s > info.txt 2>&1", path);
        assert_int_equal(system(command), 0);
        assert_int_equal(messages_of(read_file("info.txt"), "/robot_description "), 1);
        assert_true(messages_of(read_file("info.txt"), "/tf_static ") > 0);
    }
    assert_true(files > 2);
}

static void a_minute_with_a_writing_viewer_replays_to_the_bit(void **state)
{
    (void)state;
    struct viewer v;
    int port, status = 0;
    write_file("token", "writing-viewer\n");
    start_robot();
    wait_until((port = port_of_robot()) > 0, assert_false(ended(&status)));
    viewer_dial(&v, port, "/?token=writing-viewer");
    wait_until(viewer_upgraded(&v), (void)0);
    write_all_the_time(&v);
    viewer_close(&v);
    kill(robot, SIGINT);
    wait_until(ended(&status), (void)0);
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        fail_msg("the robot ended with %d:\n%s", status, read_file("robot.txt"));
    check_log();
    int code = system(NM_BUILD "/nutmeg replay log > replay.txt 2>&1");
    const char *told = read_file("replay.txt");
    if (code || !strstr(told, "all identical")) fail_msg("the replay differs:\n%s", told);
    fputs(told, stdout);
}

static int enter(void **state)
{
    (void)state;
    snprintf(place, sizeof place, "/tmp/nutmeg-written-XXXXXX");
    char runtime[100];
    if (!mkdtemp(place) || chdir(place)) return -1;
    snprintf(runtime, sizeof runtime, "%s/run", place);
    setenv("XDG_RUNTIME_DIR", runtime, 1);
    setenv("NUTMEG_ROOT", NM_ROOT, 1);
    setenv("NO_COLOR", "1", 1);
    return mkdir(runtime, 0700);
}

static int leave(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", place);
    return chdir("/") || system(command) ? -1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_minute_with_a_writing_viewer_replays_to_the_bit, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
