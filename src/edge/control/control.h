/* The control edge: a running line-up answers on a socket of this machine, $XDG_RUNTIME_DIR/nutmeg/NAME.sock (or
 * /tmp/nutmeg-UID/NAME.sock), which only its own user can reach. The requests are described in request.h. The edge
 * reads every topic, so that each of them can be shown. It never delays a cycle: for a slow client messages are left
 * out, and a client that reads nothing is disconnected. */
#pragma once

#include "core/player.h"
#include "edge/rules/desk.h"

struct nm_control;

typedef void nm_say(void *user, const char *sentence);
/* Says what another edge knows about a topic, in sentences for nm_why. */
typedef void nm_outside(void *user, const char *topic, nm_say *say, void *to);

struct nm_control_options {
    const char *folder; /* of the sockets; NULL: the usual one                                 */
    bool spare;         /* use NAME.PID if the name of the player is taken, instead of failing */
    /* how the line-up was loaded, to load its files again and to save; without them both are refused */
    struct nm_registry *registry;
    const struct nm_lineup_options *lineup;
    nm_outside *outside; /* or NULL */
    void *outside_user;
    const struct nm_desk *desk; /* services of this process besides those of the line-up; or NULL */
};

/* Call it between nm_player_new and nm_player_start: it adds edges to the player, which must outlive the control. A
 * socket file at which nobody answers is removed; if a player of this name answers, it fails. */
struct nm_control *nm_control_new(struct nm_player *player, const struct nm_control_options *options,
                                  struct nm_err *err);
void nm_control_free(struct nm_control *control); /* ends its thread, closes and removes the socket */

/* Real time, after nm_player_start: starts the thread that serves. */
int nm_control_start(struct nm_control *control, struct nm_err *err);
/* Virtual time: serves what has arrived and waits at most `timeout` ms. Call it between two calls of nm_players_run,
 * for the first time after the first of them. */
void nm_control_poll(struct nm_control *control, int timeout);

/* Adds what the socket answers as two services, so that viewers can ask too: nutmeg/ask for operations that only look,
 * nutmeg/change for set, reset and save. The table is then for the live server. */
void nm_control_desk(struct nm_control *control, struct nm_desk *to);

/* True once a client has asked the line-up to end. */
bool nm_control_stopped(const struct nm_control *control);
/* The path of the socket. */
const char *nm_control_path(const struct nm_control *control);

/* ---- the answers; they also work for a line-up that does not run ---- */

struct nm_json;

/* What an answer is made from. */
struct nm_view {
    const struct nm_lineup *lineup;
    const struct nm_player *player;         /* NULL: the line-up does not run                            */
    const struct nm_module *const *modules; /* of each instance, after swaps; NULL: those of the line-up */
    const double *topic_rates;              /* messages per second, lately; NAN: not yet known; or NULL  */
    const double *cycle_rates;
    uint32_t n_cycle_rates; /* of cycles, then of edges */
    nm_outside *outside;    /* or NULL                  */
    void *outside_user;
};

/* Says in sentences which modules publish and read a topic. If the player runs, it also says how old the topic is and,
 * if it is stale, why, following stale inputs upstream to the root cause. */
void nm_why(const struct nm_view *view, uint32_t topic, nm_say *say, void *user);

/* Writes the list "params": all parameters, or those of an instance, or one of them, each with its value and the layer
 * that the value comes from. -1 with a sentence that suggests the nearest name. */
int nm_params_json(const struct nm_view *view, const char *instance, const char *param, struct nm_json *json,
                   struct nm_err *err);
/* Writes the list "cycles" with the modules in each, and the list "inputs" with the age of what comes from outside. */
void nm_tasks_json(const struct nm_view *view, struct nm_json *json);
/* Writes the list "topics". */
void nm_topics_json(const struct nm_view *view, struct nm_json *json);

/* The index of a topic or an instance, or NM_NONE with a sentence that suggests the nearest name. */
uint32_t nm_find_topic(const struct nm_lineup *lineup, const char *name, struct nm_err *err);
uint32_t nm_find_instance(const struct nm_lineup *lineup, const char *name, struct nm_err *err);
const struct nm_module *nm_view_module(const struct nm_view *view, uint32_t instance);
