/* A line-up at play in this process: loaded, started in threads or in virtual time, with its control socket, its
 * console lines and its status on the terminal, until somebody ends it. `run`, `play` and `dev` are this with different
 * flags. */
#ifndef NM_CMD_PLAYING_H
#define NM_CMD_PLAYING_H

#include "cmd/setup.h"
#include "core/player.h"
#include "edge/control/control.h"

struct playing_options {
    const char *lineup; /* file or name                                              */
    struct lineup_flags flags;
    const char *name; /* of the player; NULL: the line-up's                        */
    double seconds;   /* 0: until it is stopped                                    */
    bool virtual_time;
    double speed; /* of virtual time against the clock; 0: as fast as it goes        */
    int64_t seed;
    const char *joy;      /* joystick device, or "keys"; NULL: none                    */
    const char *hardware; /* bus, virtual, none; NULL: the bus if its ports are there  */
    struct texts watch;   /* topics whose messages are printed                         */
    bool score;           /* ends with the last message of the topic `score`           */
    /* Called once the line-up is loaded, before anything is made from it; and about 50 times a second. Both may be
     * NULL. */
    int (*loaded)(struct nm_lineup *lineup, void *user, struct nm_err *err);
    void (*tick)(struct nm_player *player, void *user);
    void *user;
};

/* Plays to the end; the exit code. `setup` may have been changed before: other modules in its registry. */
int playing_run(struct setup *setup, const struct playing_options *options);

/* Flags that `run` and `dev` share. */
#define PLAYING_FLAGS(o)                                                                                               \
    TEXT("name", &(o)->name, "NAME", "how this player is called; the line-up's name unless given"),                    \
        NUMBER("seconds", &(o)->seconds, 0, 1e9, "N", "ends after N seconds; 0: when it is stopped"),                  \
        WHOLE("seed", &(o)->seed, 0, 9e15, "N", "of all random numbers"),                                              \
        TEXT("joy", &(o)->joy, "DEVICE", "drives the topic joy: /dev/input/js0, or keys for the keyboard"),            \
        TEXT("hardware", &(o)->hardware, "KIND",                                                                       \
             "bus: the robot's ports; virtual: servos without a body; none. Unless given: bus, if the ports are "      \
             "there"),                                                                                                 \
        TEXTS("watch", &(o)->watch, "TOPIC", "prints its messages; may be repeated")

#endif
