/* Parameters of a running line-up, as the control socket changes them. A robot that plays refuses (edge/rules/gate.h).
 */
#pragma once

#include "edge/control/control.h"
#include "edge/control/request.h"
#include "edge/rules/gate.h"

struct nm_settings {
    struct nm_player *player;
    struct nm_gate *gate;
    const struct nm_view *view;
    /* how the line-up was loaded; NULL: from no files, so that nothing can be reset or saved */
    struct nm_registry *registry;
    const struct nm_lineup_options *loaded;
    struct nm_arena *arena;
    struct file_name { /* of files that values came from, each once: values point to them */
        struct file_name *next;
        char text[];
    } * files;
};

/* Each answers one request: 0 with members of `reply`, or -1 with a sentence. */
int nm_settings_set(struct nm_settings *settings, const struct nm_request *request, struct nm_json *reply,
                    struct nm_err *err);
/* Resets what was set while running and, with a layer, what was saved in that layer. */
int nm_settings_reset(struct nm_settings *settings, const struct nm_request *request, struct nm_json *reply,
                      struct nm_err *err);
int nm_settings_save(struct nm_settings *settings, const struct nm_request *request, struct nm_json *reply,
                     struct nm_err *err);
