/* Symbols are hidden unless they are marked here: plug-ins find in the program what is marked and nothing else, so that
 * two builds of one module never take each other's functions. */
#pragma once

#define NM_EXPORT __attribute__((visibility("default")))
