/* A recorded run, played again: what a log says entered each run of each cycle enters it again, and what comes out is
 * held against the log. Logs without notes of runs are played by the times of their messages, and nothing is compared.
 */
#pragma once

#include "core/lineup.h"
#include "core/player.h"
#include "record/bag.h"

struct replay_options {
    const char *log;
    struct nm_lineup *lineup; /* plays instead of the recorded one; NULL: the recorded one               */
    uint32_t n_instances;     /* only these play; 0: all                                                 */
    const char *const *instances;
    uint32_t n_remaps; /* FROM:=TO, of logs that are played by time                               */
    const char *const *remaps;
    const char *from, *to, *break_at; /* times as in struct bag_choice; NULL: none                               */
    double speed;                     /* against the clock; 0: as fast as it goes                                */
    const char *out;                  /* a new log of what the modules make; NULL: none                          */
    bool force;                       /* replaces it                                                             */
    bool trust;                       /* also takes snapshots that this user did not record on this machine      */

    struct nm_registry *registry;
    struct nm_lineup_options with;      /* how the recorded line-up is loaded; its settings win over the log's     */
    const char *revision, *build, *cpu; /* of this program: what differs from the log's is named                   */

    const struct nm_mcap_progress *progress;        /* may be NULL                                          */
    bool (*stopping)(void);                         /* whether to end early                                 */
    void (*said)(void *user, const char *sentence); /* what is going to be played, line by line             */
    void (*broke)(void *user, double seconds, const char *before); /* the time of break_at has come        */
    void *user;
};

enum { REPLAY_STEPS = 32 };

/* What came of it. */
struct replay_result {
    struct nm_arena arena;
    double seconds;                    /* that it took                                       */
    double length;                     /* s of the log that were played; 0: only a part      */
    bool by_time;                      /* nothing could be compared                          */
    bool notes;                        /* the log has notes of runs                          */
    bool stopped;                      /* it was ended early, and nothing was written        */
    uint64_t runs, made;               /* messages that were made                            */
    uint64_t compared, differ, absent; /* of these; absent: not in the log, though its topic is    */
    uint32_t topics;                   /* that were compared                   */
    char first_difference[1024];
    struct nm_err causes; /* why something may not be exact                   */
    struct nm_err damage; /* what of the log could not be read                */
    uint32_t n_steps;
    struct replay_step { /* of the instances of the line-up that played */
        char instance[64];
        double busy; /* ns, mean of a step */
    } steps[REPLAY_STEPS];
    uint32_t n_rows; /* topics with differences                          */
    struct replay_row {
        const char *topic;
        uint64_t messages, differ, absent;
    } * rows;
};

/* 0 when it was played, -1 with sentences. */
int replay(const struct replay_options *options, struct replay_result *result, struct nm_err *err);
void replay_result_free(struct replay_result *result);
