/* The layout of a module's struct as a number, from its source: `nutmeg dev` gives it to the builds it makes, so that
 * the runtime knows when the state of one build may live on in the next. It covers the struct that SELF names and, by
 * name, everything this is made of, in the same file and in the headers it includes with quotes: nested structs, enums,
 * typedefs, macros, but not what is only pointed at. Comments and blanks do not count. A name that means two things
 * only makes it more careful: the number changes when it need not, and the state starts again. */
#pragma once

#include <stdint.h>

/* `folders`: where headers are looked for after the folder of the file that includes them. 0: there is no SELF, or a
 * file cannot be read. */
uint64_t layout_of_file(const char *path, const char *const *folders, uint32_t n);
/* The same for a text without headers. */
uint64_t layout_of_text(const char *text);
