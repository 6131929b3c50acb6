/* Times inside messages. A line-up uses the monotonic clock, which other machines do not have. So on the wire every
 * builtin_interfaces/Time counts from 1970. A time of zero means "not set" and stays zero. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/type.h"

bool nm_has_times(const struct nm_type *type);
/* Adds ns to every time in the message; a result outside the range of a Time becomes its bound. */
void nm_shift_times(const struct nm_type *type, void *message, int64_t ns);
