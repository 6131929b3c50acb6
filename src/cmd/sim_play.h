/* A scenario played in this process, one seed after the other, with progress on the terminal, pictures on disk, and
 * somebody at the keyboard if asked for. Parts of `nutmeg sim`. */
#pragma once

#include "cmd/logging.h"
#include "cmd/setup.h"
#include "edge/control/control.h"
#include "sim/scenario.h"

struct sim_options {
    const char *scenario; /* file or name                             */
    uint64_t first, last; /* seeds                                    */
    double seconds;       /* 0: the scenario's                        */
    double speed;         /* against the clock; 0: as fast as it goes */
    int64_t workers, jobs;
    const char *lineup; /* file, or NULL                            */
    const char *robot;  /* folder, or NULL                          */
    bool json, verbose, interactive;
    bool quiet;         /* no progress and no lines of brains: somebody else tells */
    double photo_every; /* s; 0: none */
    const char *photo_folder, *photo_from;
    struct logging_flags log; /* of every robot, one file each in the folder */
    const char *live;         /* port of the first server of viewers; NULL: none, "": the usual one */
    bool bus;                 /* everything goes through the real driver       */
    bool wire;                /* brains are elsewhere, see sim_wire.c          */
    bool processes;           /* … and this process starts them                */
    const char *domain;       /* of DDS; NULL: what ROS_DOMAIN_ID says         */
    bool network;             /* DDS beyond this machine                       */
    /* Called with each brain before it starts; with the stage after every step (1: it is over); for the line of
     * progress; and before the stage is freed. NULL: not. */
    int (*ready)(void *user, uint32_t robot, struct nm_player *player, struct nm_err *err);
    int (*look)(void *user, struct nm_stage *stage, struct nm_err *err);
    void (*progress)(void *user, struct nm_stage *stage, char *to, size_t size);
    void (*closing)(void *user);
    /* A player that viewers reach, too, made again for every run. Whoever made it runs it, and frees it when it closes.
     * NULL: there is none. */
    struct nm_player *(*referee)(void *user, struct nm_err *err);
    void *user;
};

struct sim_outcome {
    struct nm_result result;
    double wall;    /* s of real time           */
    bool done;      /* the seed was played to its end                    */
    char died[120]; /* why not; the result is what was measured up to then */
};

/* Plays one seed. -1 with sentences if it cannot begin. */
int sim_play(struct setup *setup, const struct sim_options *options, const struct nm_scenario *scenario, uint64_t seed,
             struct sim_outcome *outcome, struct nm_err *err);
/* Where a robot's log goes: FOLDER/red1.mcap; of several seeds FOLDER/seed3/red1.mcap. */
const char *sim_log_path(struct nm_arena *arena, const struct sim_options *options, const char *robot, uint64_t seed);

/* The control sockets of the players of a simulation. A simulation that gets no sockets plays all the same. */
struct sim_control {
    uint32_t n;
    struct nm_control *at[NM_PLAYERS];
    struct nm_lineup_options loaded;
    double polled; /* s, real time      */
    bool refused;  /* this was reported */
};
/* Before the player starts; `robot`: folder in place of the line-up's, or NULL. */
struct nm_control *sim_control_add(struct sim_control *control, struct setup *setup, const char *robot,
                                   const struct nm_desk *desk, struct nm_player *player); /* NULL: it has none */
void sim_control_poll(struct sim_control *control, double now); /* after every step, with nm_clock_seconds() */
void sim_control_free(struct sim_control *control);             /* before the stage is freed */

/* sim_live.c: viewers. sim_live_add is called with each brain before it starts, sim_live_open when all are added.
 * sim_live_close ends the servers before the stage is freed; the next ones have the same ports and the same token. */
struct sim_live;
struct sim_live *sim_live_new(const char *logs); /* folder of logs that viewers may read */
void sim_live_free(struct sim_live *live);
int sim_live_add(struct sim_live *live, struct nm_player *player, uint32_t team, const char *port,
                 const struct nm_desk *desk, struct nm_err *err);
int sim_live_open(struct sim_live *live, struct setup *setup, const struct nm_desk *desk, struct nm_err *err);
const char *sim_live_url(const struct sim_live *live); /* of the first robot's server; NULL: there is none */
void sim_live_poll(struct sim_live *live, struct nm_stage *stage, float speed); /* after every step */
void sim_live_close(struct sim_live *live);

/* All seeds, each in its own process, `jobs` at a time; reported in the order of the seeds. */
int sim_play_jobs(struct setup *setup, const struct sim_options *options, const struct nm_scenario *scenario,
                  void (*told)(void *user, const struct sim_outcome *outcome), void *user, struct nm_err *err);

/* sim_wire.c: brains in other processes. sim_wire_add is called for each stand-in before it starts, sim_wire_open when
 * the stage is there: it starts the processes, if they are ours, and waits until all have found the world. */
struct sim_wire;
struct sim_wire *sim_wire_new(const struct sim_options *options, const struct nm_scenario *scenario, uint64_t seed,
                              struct nm_err *err);
int sim_wire_add(struct sim_wire *wire, uint32_t robot, struct nm_player *player, struct nm_err *err);
int sim_wire_open(struct sim_wire *wire, struct nm_stage *stage, struct nm_err *err);
/* After every step; waits for robots that are behind. */
void sim_wire_turn(struct sim_wire *wire);
void sim_wire_free(struct sim_wire *wire); /* before the stage; ends the processes */

/* sim_bus.c: the real servo driver on virtual wires */
extern const struct nm_stage_hardware sim_bus;

/* sim_report.c */
void sim_json(const struct nm_scenario *scenario, const struct sim_outcome *outcome, FILE *to);
/* `wall`: s, how long all of it took. */
void sim_table(const struct nm_scenario *scenario, const struct sim_outcome *outcomes, uint32_t n, double wall,
               FILE *to);

/* sim_photo.c: pictures of a stage, as PNG. */
struct sim_photos;
struct sim_photos *sim_photos_new(const struct sim_options *options, struct nm_stage *stage, const char *scenario,
                                  uint64_t seed, struct nm_err *err);
void sim_photos_free(struct sim_photos *photos);
/* Takes those whose time has come; -1 with a sentence if one cannot be written. */
int sim_photos_take(struct sim_photos *photos, struct nm_err *err);

/* Where pictures are taken from, 16 to 9 and as wide as the focal length: above the whole carpet; the right touchline,
 * as near as the robots allow; the same touchline, after the ball; beside a robot. */
struct pose3 sim_view_top(const struct nm_stage *stage);
struct pose3 sim_view_stand(const struct nm_stage *stage);
struct pose3 sim_view_ball(const struct nm_stage *stage);
struct pose3 sim_view_robot(const struct nm_stage *stage, uint32_t robot);
int sim_png(const char *path, const uint8_t *rgb, uint32_t width, uint32_t height, struct nm_err *err);

/* sim_prompt.c: whoever sits at the keyboard (or writes into the pipe). */
struct sim_prompt {
    bool open, paused, quit, reset;
    uint64_t seed;  /* of a reset; 0: the same again    */
    int64_t until;  /* ns: runs up to there, then pauses */
    double speed;   /* 0: as fast as it goes            */
    bool repace;    /* the speed, or the pause, changed */
    char line[256]; /* what has come of the next one */
    size_t n;
    char in[256]; /* read, but not yet looked at: behind a step, words wait until it is done */
    size_t in_at, in_n;
};
/* Reads what has come in and does it. */
void sim_prompt_serve(struct sim_prompt *prompt, struct nm_stage *stage);
/* A command of a viewer. */
void sim_prompt_command(struct sim_prompt *prompt, struct nm_stage *stage, const SimCommand_Request *request,
                        SimCommand_Response *response);
/* One line; the answer goes to `to`. */
void sim_prompt_line(struct sim_prompt *prompt, struct nm_stage *stage, const char *line, FILE *to);
