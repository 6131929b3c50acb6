/* The folder of the sockets of running line-ups: $XDG_RUNTIME_DIR/nutmeg, or /tmp/nutmeg-UID where that is not set.
 * Anybody may create things in /tmp, so a folder that other users can enter is refused. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/un.h>

#include "base/error.h"

/* The usual folder; -1 with a sentence if it is not safe. `make`: creates it if it is missing. */
int nm_control_folder(char *to, size_t size, bool make, struct nm_err *err);
/* The address of NAME in a folder; -1 with a sentence if the name is not made of letters, digits, '_', '-', '.', or the
 * path is too long for a socket. */
int nm_control_address(const char *folder, const char *name, struct sockaddr_un *address, struct nm_err *err);
/* Connects; returns the socket, or -1 with errno. */
int nm_control_dial(const struct sockaddr_un *address);
