/* The modules that a line-up may name: those of the program, and plug-ins from outside the source tree. */
#pragma once

#include "base/arena.h"
#include "core/nm.h"

struct nm_registry {
    struct nm_arena *arena;
    uint32_t n, cap;
    const struct nm_module **at;                                     /* sorted by name */
    const struct nm_module *const *linked_begin, *const *linked_end; /* those of the program itself */
};

/* Takes the modules of the linker section `nm_modules`. Its bounds are arguments, so that tests can bring their own. */
void nm_registry_init(struct nm_registry *registry, struct nm_arena *arena, const struct nm_module *const *begin,
                      const struct nm_module *const *end);
const struct nm_module *nm_registry_find(const struct nm_registry *registry, const char *name);

/* Whether the program itself has a module of this name. Then every line-up may name it without a plug-in. */
bool nm_registry_linked(const struct nm_registry *registry, const char *name);

/* Opens a plug-in and checks its module. Refused with a sentence: no such file, no module inside, another ABI number, a
 * message whose layout differs from ours, a table that is not well formed. The library is never closed. For the
 * same file the dynamic linker gives the same library again, so another build needs another file name. */
const struct nm_module *nm_plugin_open(const char *path, struct nm_err *err);
/* The same, and adds the module to the registry. Also refused if its name is taken. A plug-in that was added before is
 * found again. */
const struct nm_module *nm_registry_plugin(struct nm_registry *registry, const char *path, struct nm_err *err);

/* Checks the tables of a module: every row has a name that no other row has, the default lies in its range, every
 * member lies inside the struct and has the size of its kind. */
int nm_module_check(const struct nm_module *module, struct nm_err *err);

/* Checks a name by the rules of ROS. NULL if it is right, otherwise what is wrong. A name of a module, instance or
 * cycle is a letter or underscore, then letters, digits, underscores. A topic (without leading '/') is such names
 * joined by '/'. */
const char *nm_name_fault(const char *name);
const char *nm_topic_fault(const char *topic);

/* The end of a sentence about an unknown word: ", did you mean 'x'?", or "; there are a, b, c" if no name is similar.
 */
struct nm_hint {
    char text[240];
};
struct nm_hint nm_hint(const char *word, const char *const *names, uint32_t n);
