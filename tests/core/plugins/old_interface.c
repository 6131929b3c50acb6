/* A module that was built for another version of the interface: nothing behind the number may be believed. */
#include "core/nm.h"

static const struct nm_module module = {.abi = 4242, .name = (const char *)8};
extern const struct nm_module *const nm_plugin_module;
NM_EXPORT const struct nm_module *const nm_plugin_module = &module;
