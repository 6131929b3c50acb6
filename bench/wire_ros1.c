#include "wire_ros1.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *const ros1_names[ROS1_WAYS] = {"roscpp", "rospy"};

/* Debian's own: one of a user's environment has no rospy. */
static const char python[] = "/usr/bin/python3", master[] = "/usr/bin/rosmaster";

/* The peers lie beside the program. */
static void peer_of(enum ros1_way way, char *to, size_t size)
{
    char own[512];
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    own[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(own, '/');
    snprintf(to, size, "%.*s/ros1_peer%s", slash ? (int)(slash - own) : 0, own, way == ROS1_PY ? ".py" : "");
}

bool ros1_there(enum ros1_way way, char *why, size_t size)
{
    char peer[600];
    peer_of(way, peer, sizeof peer);
    why[0] = '\0';
    if (access(master, X_OK))
        snprintf(why, size, "ROS 1 is not installed (Debian: python3-rosmaster)");
    else if (way == ROS1_CPP && access(peer, X_OK))
        snprintf(why, size, "build the target ros1_peer (Debian: libroscpp-dev, libsensor-msgs-dev)");
    else if (way == ROS1_PY && (access("/usr/lib/python3/dist-packages/rospy", R_OK) || access(peer, R_OK)))
        snprintf(why, size, "it is not installed (Debian: python3-rospy, python3-sensor-msgs)");
    return !why[0];
}

/* A process whose standard output is `out`, or nowhere with -1. */
static pid_t spawn(char *const argv[], int out)
{
    fflush(NULL);
    pid_t child = fork();
    if (child) return child;
    int nowhere = open("/dev/null", O_RDWR);
    dup2(nowhere, STDIN_FILENO);
    dup2(out < 0 ? nowhere : out, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    execv(argv[0], argv);
    _exit(127);
}

static void end(pid_t child)
{
    if (child <= 0) return;
    kill(child, SIGTERM);
    for (int i = 0; i < 100 && !waitpid(child, NULL, WNOHANG); i++) usleep(20000);
    kill(child, SIGKILL);
    waitpid(child, NULL, WNOHANG);
}

static pid_t start_peer(enum ros1_way way, const char *role, int hz, int n, int warm, FILE **out)
{
    char rate[16], count[16], before[16], peer[600];
    int ends[2];
    peer_of(way, peer, sizeof peer);
    if (pipe2(ends, O_CLOEXEC)) return -1;
    snprintf(rate, sizeof rate, "%d", hz);
    snprintf(count, sizeof count, "%d", n);
    snprintf(before, sizeof before, "%d", warm);
    char *words[] = {(char *)python, peer, (char *)role, rate, count, before, NULL};
    pid_t child = spawn(way == ROS1_PY ? words : words + 1, ends[1]);
    close(ends[1]);
    *out = fdopen(ends[0], "r");
    return child;
}

bool ros1_run(enum ros1_way way, int hz, int n, int warm, double *latency, double *cpu)
{
    char port[8], uri[48];
    double got[2] = {-1, -1}, used[2] = {-1, -1};
    FILE *out[2] = {NULL, NULL};
    snprintf(port, sizeof port, "%d", 20000 + getpid() % 10000);
    snprintf(uri, sizeof uri, "http://127.0.0.1:%s", port);
    setenv("ROS_MASTER_URI", uri, 1);
    setenv("ROS_IP", "127.0.0.1", 1);
    pid_t names = spawn((char *const[]){(char *)master, "--core", "-p", port, NULL}, -1);
    sleep(2); /* it says nothing when it is there */
    pid_t receiver = start_peer(way, "receive", hz, n, warm, &out[0]);
    pid_t sender = start_peer(way, "send", hz, n, warm, &out[1]);
    /* the sender ends in any case; a receiver that has heard less than all is not asked any more */
    for (int i = 1; i >= 0; i--) {
        if (i == 0 && got[1] < 0) break;
        if (out[i] && fscanf(out[i], "%lf %lf", &got[i], &used[i]) != 2) used[i] = -1;
    }
    end(sender);
    end(receiver);
    end(names);
    for (int i = 0; i < 2; i++)
        if (out[i]) fclose(out[i]);
    *latency = got[0];
    *cpu = 1e6 * (used[0] + used[1]) / n;
    return got[0] > 0 && used[0] >= 0 && used[1] >= 0;
}
