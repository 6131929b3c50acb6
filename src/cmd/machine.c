#include "cmd/machine.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

/* The value of a line "key : value" of /proc/cpuinfo, of the first CPU. */
static bool cpuinfo(const char *key, char *to, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    if (!file) return false;
    while (!found && getline(&line, &room, file) >= 0) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, key, strlen(key))) continue;
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(to, size, "%s", colon + 1 + strspn(colon + 1, " "));
        found = true;
    }
    free(line);
    fclose(file);
    return found;
}

const char *machine_cpu(char *to, size_t size)
{
    if (!cpuinfo("model name", to, size) && !cpuinfo("CPU part", to, size)) snprintf(to, size, "unknown");
    return to;
}

bool machine_cpu_has(const char *flag)
{
    char flags[8192], padded[64];
    flags[0] = ' ';
    if (!cpuinfo("flags", flags + 1, sizeof flags - 2) && !cpuinfo("Features", flags + 1, sizeof flags - 2))
        return false;
    strcat(flags, " ");
    snprintf(padded, sizeof padded, " %s ", flag);
    return strstr(flags, padded);
}

const char *machine_line(const char *path, char *to, size_t size)
{
    FILE *file = fopen(path, "r");
    if (!file || !fgets(to, (int)size, file)) *to = '\0';
    if (file) fclose(file);
    to[strcspn(to, "\n")] = '\0';
    return to;
}

static void *nothing(void *user) { return user; }

bool machine_fifo(int priority)
{
    pthread_attr_t attributes;
    pthread_t thread;
    struct sched_param how = {.sched_priority = priority};
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &how);
    bool ok = !pthread_create(&thread, &attributes, nothing, NULL);
    if (ok) pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    return ok;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int64_t machine_lateness(void)
{
    enum { SLEEPS = 31 };
    int64_t late[SLEEPS];
    prctl(PR_SET_TIMERSLACK, 1);
    for (int i = 0; i < SLEEPS; i++) {
        int64_t until = nm_clock() + 1000000;
        nm_sleep_until(until);
        late[i] = nm_clock() - until;
    }
    qsort(late, SLEEPS, sizeof *late, by_size);
    return late[SLEEPS / 2];
}

bool machine_port_free(bool udp, uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, (udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){!udp}, sizeof(int));
    bool ok = !bind(fd, (struct sockaddr *)&address, sizeof address);
    close(fd);
    return ok;
}

int machine_package(const char *name)
{
    FILE *file = fopen("/var/lib/dpkg/status", "r");
    char *line = NULL;
    size_t room = 0;
    bool here = false, installed = false;
    if (!file) return -1;
    while (!installed && getline(&line, &room, file) >= 0) {
        line[strcspn(line, "\n")] = '\0';
        if (!strncmp(line, "Package: ", 9)) here = !strcmp(line + 9, name);
        if (here && !strncmp(line, "Status: ", 8)) installed = strstr(line, " installed");
    }
    free(line);
    fclose(file);
    return installed;
}

bool machine_program(const char *name)
{
    const char *path = getenv("PATH");
    char file[1024];
    while (path && *path) {
        size_t n = strcspn(path, ":");
        snprintf(file, sizeof file, "%.*s/%s", (int)n, path, name);
        if (n && !access(file, X_OK)) return true;
        path += n + (path[n] == ':');
    }
    return false;
}
