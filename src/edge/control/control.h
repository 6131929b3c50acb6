/* The control edge: a running line-up answers on a socket of this machine, $XDG_RUNTIME_DIR/nutmeg/NAME.sock (or
 * /tmp/nutmeg-UID/NAME.sock), that only its own user can reach. The language is in request.h. It reads every topic, so
 * that any of them can be looked at, and never delays a cycle: what a slow client does not take is dropped, and then
 * the client. */
#ifndef NM_EDGE_CONTROL_CONTROL_H
#define NM_EDGE_CONTROL_CONTROL_H

#include "core/player.h"

struct nm_control;

typedef void nm_say(void *user, const char *sentence);
/* What another edge knows of a topic: sentences for nm_why. */
typedef void nm_outside(void *user, const char *topic, nm_say *say, void *to);

struct nm_control_options {
    const char *folder; /* of the sockets; NULL: the usual one */
    bool spare;         /* where the player's name is taken, NAME.PID is used; otherwise that is a fault */
    /* how the line-up was loaded, to read its files again and to save; both NULL: refused */
    struct nm_registry *registry;
    const struct nm_lineup_options *lineup;
    nm_outside *outside; /* NULL: nobody knows more */
    void *outside_user;
};

/* Between nm_player_new and the start: adds an edge to the player, which must outlive the control. A socket file that
 * nobody answers is removed; a living one of the same name is a fault. */
struct nm_control *nm_control_new(struct nm_player *player, const struct nm_control_options *options,
                                  struct nm_err *err);
void nm_control_free(struct nm_control *control); /* ends its thread, closes and removes the socket */

/* Real time, after nm_player_start: a thread serves from now on. */
int nm_control_start(struct nm_control *control, struct nm_err *err);
/* Virtual time: serves what has come in; the caller drives it between two calls of nm_players_run. Waits at most
 * `timeout` ms. The first time only after the first of those calls. */
void nm_control_poll(struct nm_control *control, int timeout);

/* A client asked the line-up to end. */
bool nm_control_stopped(const struct nm_control *control);
/* Where it listens. */
const char *nm_control_path(const struct nm_control *control);

/* ---- the answers, also for line-ups that do not run ---- */

struct nm_json;

/* What an answer is made from. */
struct nm_view {
    const struct nm_lineup *lineup;
    const struct nm_player *player;         /* NULL: it does not run                                    */
    const struct nm_module *const *modules; /* of each instance, after swaps; NULL: the line-up's       */
    const double *topic_rates;              /* a second, lately; NAN: not yet known; NULL: none is      */
    const double *cycle_rates;
    uint32_t n_cycle_rates; /* cycles, then edges */
    nm_outside *outside;    /* what comes from outside; NULL: nobody knows */
    void *outside_user;
};

/* Sentences about a topic: who makes it, who reads it, and, of a running player, how old it is and what keeps it from
 * being made, followed upstream to where it begins. */
void nm_why(const struct nm_view *view, uint32_t topic, nm_say *say, void *user);

/* A list "params" of every parameter, or those of an instance, or one of them, with its value and the layer it comes
 * from. -1 with the nearest name. */
int nm_params_json(const struct nm_view *view, const char *instance, const char *param, struct nm_json *json,
                   struct nm_err *err);
/* A list "cycles" with the modules in each and a list "inputs" with the age of what comes from outside; a list
 * "topics". */
void nm_tasks_json(const struct nm_view *view, struct nm_json *json);
void nm_topics_json(const struct nm_view *view, struct nm_json *json);

/* Index of a topic or an instance, NM_NONE with a sentence and the nearest name. */
uint32_t nm_find_topic(const struct nm_lineup *lineup, const char *name, struct nm_err *err);
uint32_t nm_find_instance(const struct nm_lineup *lineup, const char *name, struct nm_err *err);
const struct nm_module *nm_view_module(const struct nm_view *view, uint32_t instance);

#endif
