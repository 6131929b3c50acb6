/* Parameters of modules: their values, the layers that the values come from, and how text becomes a value.
 *
 * Layers, the later wins: the module's default; config/default/ (every .yaml); the robot's params.yaml; its
 * heads/NAME.yaml and bodies/NAME.yaml; config/places/NAME.yaml; config/events/NAME.yaml; the line-up's own `params:`;
 * the saved files (`*.saved.yaml` beside each of those, in the same order); the command line; what was set while
 * running. A file maps instance names to parameters; a module's name addresses all its instances, an instance's own
 * name wins over it inside one file (core/layers.h reads and saves them):
 *
 *     ball_filter:
 *       friction: 0.35
 */
#pragma once

#include "codec/yaml.h"
#include "core/nm.h"

enum nm_layer {
    NM_LAYER_MODULE,
    NM_LAYER_DEFAULT,
    NM_LAYER_ROBOT,
    NM_LAYER_HEAD,
    NM_LAYER_BODY,
    NM_LAYER_PLACE,
    NM_LAYER_EVENT,
    NM_LAYER_LINEUP,
    NM_LAYER_SAVED,
    NM_LAYER_COMMAND,
    NM_LAYER_LIVE,
    NM_LAYERS
};
const char *nm_layer_name(enum nm_layer layer); /* "module", "default", … */

enum { NM_PARAM_LIST_MAX = 16, NM_PARAM_TEXT_MAX = 128 };

struct nm_value {
    enum nm_layer layer;
    const char *file; /* that gave it, or NULL        */
    int line;
    int64_t whole;                    /* bool, int32, int64           */
    double number[NM_PARAM_LIST_MAX]; /* float, double, lists         */
    char text[NM_PARAM_TEXT_MAX];
};

void nm_value_default(const struct nm_param *param, struct nm_value *value);
/* From text ("0.35", "true", "1 2 3", "[1, 2, 3]", "fast") or a YAML node. Types are strict: a float takes
 * a whole number, but an integer takes no fraction; a switch is true or false; a list has exactly as many numbers as
 * its member. If the type is wrong, the value out of range or not among the choices, the result is -1 with a sentence
 * without file and line (the caller knows them), and the value is unchanged. The caller sets the layer; file and line
 * come from the node. */
int nm_value_parse(const struct nm_param *param, const char *text, struct nm_value *value, struct nm_err *err);
int nm_value_node(const struct nm_param *param, const struct nm_yaml *node, struct nm_value *value, struct nm_err *err);
/* As text that nm_value_parse reads back to an equal value; NM_VALUE_PRINT bytes are always enough. */
enum { NM_VALUE_PRINT = 512 };
void nm_value_print(const struct nm_param *param, const struct nm_value *value, char *to, size_t size);
bool nm_value_equal(const struct nm_param *param, const struct nm_value *a, const struct nm_value *b);
/* Writes the value into the member of a module's struct. */
void nm_value_store(const struct nm_param *param, const struct nm_value *value, void *self);

uint32_t nm_param_count(const struct nm_module *module);
uint32_t nm_param_elements(const struct nm_param *param); /* of a list; 1 otherwise */
/* Index of a parameter in its module's table, -1 with a sentence naming the nearest one. */
int nm_param_find(const struct nm_module *module, const char *name, struct nm_err *err);
/* Checks a row of the table: the size of the member, that unit and prose are there, that the default lies in the range.
 * The caller writes the parameter's name before the sentence. */
int nm_param_check(const struct nm_param *param, struct nm_err *err);
