/* Reads a whole file into memory. */
#pragma once

#include <stddef.h>

#include "base/error.h"

/* The bytes of a file, which the caller frees, and their number; NULL with a sentence. If the file is longer than
 * `most`, only `most` + 1 bytes are read, so that the caller sees that it is too long. */
char *nm_read_whole(const char *path, size_t most, size_t *n, struct nm_err *err);
