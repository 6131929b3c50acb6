/* The files that give parameters their values, in the order of params.h, and the saved files that `nutmeg param save`
 * writes beside them:
 *
 *     layer     file                         saved
 *     default   config/default/ *.yaml       config/default.saved.yaml
 *     robot     robots/NAME/params.yaml      robots/NAME/params.saved.yaml
 *     head      robots/NAME/heads/X.yaml     robots/NAME/heads/X.saved.yaml
 *     body      robots/NAME/bodies/X.yaml    robots/NAME/bodies/X.saved.yaml
 *     place     config/places/X.yaml         config/places/X.saved.yaml
 *     event     config/events/X.yaml         config/events/X.saved.yaml
 *     lineup    LINEUP.yaml, `params:`       LINEUP.saved.yaml
 *
 * Files of the upper six are shared by all line-ups, so they may address modules that this one does not use; what they
 * say of them is checked all the same. A line-up's saved file addresses its instances by their own names only. */
#pragma once

#include "core/lineup.h"

/* Fills the values of all instances. `params` has for each instance its `params:` in the line-up, or NULL. Faults, all
 * at once: a key that names neither a module nor an instance, an unknown parameter, a value that does not fit, a head,
 * body, place or event that has no file (those that exist are named). */
int nm_layers_read(struct nm_lineup *lineup, const struct nm_registry *registry,
                   const struct nm_lineup_options *options, const struct nm_yaml *const *params, struct nm_err *err);

/* Prints a value as a file has it. */
void nm_value_yaml(const struct nm_param *param, const struct nm_value *value, FILE *to);

/* A value for the saved file, or, with value NULL, one to take out of it. */
struct nm_saved {
    uint32_t instance, param; /* indices in the line-up */
    const struct nm_value *value;
};

/* Puts values into the saved file of a layer (NM_LAYER_DEFAULT … NM_LAYER_LINEUP), merged with what it holds. Either
 * the whole file is replaced or, with a sentence and -1, nothing changes; it survives a loss of power. A file that
 * would become empty is removed. Only a line-up's file takes an instance whose name is not its module's, or a module
 * from a plug-in: in the shared ones other line-ups would not know it. */
int nm_layers_save(const struct nm_lineup *lineup, const struct nm_registry *registry,
                   const struct nm_lineup_options *options, enum nm_layer layer, const struct nm_saved *values,
                   uint32_t n, struct nm_err *err);

/* The path of that file, from the arena; NULL with a sentence if the layer is not in use (no robot, no place …). */
const char *nm_layers_saved_file(struct nm_arena *arena, const struct nm_lineup *lineup,
                                 const struct nm_lineup_options *options, enum nm_layer layer, struct nm_err *err);
