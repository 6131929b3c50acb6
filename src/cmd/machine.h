/* What the machine is and what it allows, each asked in one way only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Model name, "unknown" where the system does not tell. */
const char *machine_cpu(char *to, size_t size);
/* Whether the CPU's flags hold this word. */
bool machine_cpu_has(const char *flag);
/* First line of a small file of the system, "" if it cannot be read. */
const char *machine_line(const char *path, char *to, size_t size);
/* Whether a thread of ours may get this SCHED_FIFO priority. */
bool machine_fifo(int priority);
/* How late a sleep of 1 ms ends, in ns: median of some. */
int64_t machine_lateness(void);
/* Whether a port of this machine is free. */
bool machine_port_free(bool udp, uint16_t port);
/* Whether the package manager (dpkg) has this package; -1 if there is no such package manager. */
int machine_package(const char *name);
/* Whether a program of this name is on the PATH. */
bool machine_program(const char *name);
