#include "base/whole.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

char *nm_read_whole(const char *path, size_t most, size_t *n, struct nm_err *err)
{
    size_t room = 16 << 10;
    char *text = NULL;
    FILE *file = fopen(path, "rbe");
    *n = 0;
    if (!file) {
        nm_fail(err, "%s: %s", path, strerror(errno));
        return NULL;
    }
    bool more = true;
    while (more) {
        if (room > most + 1) room = most + 1;
        text = nm_realloc(text, room);
        *n += fread(text + *n, 1, room - *n, file);
        more = *n == room && *n <= most;
        room *= 2;
    }
    bool bad = ferror(file);
    if (bad) nm_fail(err, "%s: cannot be read: %s", path, strerror(errno));
    fclose(file);
    if (!bad) return text;
    free(text);
    return NULL;
}
