/* A DDS domain that no other test on this machine is in at the same time. It is claimed by a name in the kernel's table
 * of sockets, which reaches as far as the loopback that domains live on, and which is free again when the process and
 * its children are gone. Documents use the domains from 71 on, tests of the program those from 80 on. */
#pragma once

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static inline int private_domain(void)
{
    enum { FIRST = 1, DOMAINS = 70 };
    static int claimed;
    if (claimed) return claimed;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    for (int i = 0; i < DOMAINS; i++) {
        int domain = FIRST + (int)(((unsigned)getpid() + (unsigned)i) % DOMAINS);
        struct sockaddr_un name = {.sun_family = AF_UNIX};
        int n = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "nutmeg-test-domain-%d", domain);
        socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
        if (!bind(fd, (struct sockaddr *)&name, size)) return claimed = domain;
    }
    fprintf(stderr, "no DDS domain is free\n");
    abort();
}
