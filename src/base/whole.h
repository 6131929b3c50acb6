/* A file of text, read whole. */
#ifndef NM_BASE_WHOLE_H
#define NM_BASE_WHOLE_H

#include <stddef.h>

#include "base/error.h"

/* Its bytes, to be freed, and their number; NULL with a sentence. Of a longer file the first `most` + 1 bytes are read,
 * so that the caller sees that it is too long. */
char *nm_read_whole(const char *path, size_t most, size_t *n, struct nm_err *err);

#endif
