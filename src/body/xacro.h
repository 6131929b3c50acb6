/* Expands a xacro file to URDF: properties, macros with parameters and blocks, includes, conditions, arguments,
 * arithmetic, lists and dictionaries, also those of YAML files. `$(find PACKAGE)` is looked for in the folders above
 * the file and in those of ROS_PACKAGE_PATH. What is not understood (other functions of Python, name spaces, the
 * environment) is a fault with its line and the reason. The files are taken as hostile: limits on size, depth and
 * number, and no document type. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

/* True for a text that uses xacro. */
bool nm_is_xacro(const char *text, size_t size);

/* The URDF, ended by a zero; NULL after a fault. `file` is named in sentences, and relative paths begin beside it.
 * `reads`: whether other files may be read. */
char *nm_xacro_expand(struct nm_arena *arena, const char *file, const char *text, size_t size, bool reads,
                      struct nm_err *err);
