/* A line-up at play in this process: loaded, started in threads or in virtual time, with its control socket, its
 * console lines and its status on the terminal, until somebody ends it. `run`, `play` and `dev` are this with different
 * flags. */
#ifndef NM_CMD_PLAYING_H
#define NM_CMD_PLAYING_H

#include "cmd/logging.h"
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
    const char *joy;            /* joystick device, or "keys"; NULL: none                    */
    const char *hardware;       /* bus, virtual, none; NULL: the bus if its ports are there  */
    struct {                    /* the server of viewers */
        const char *port;       /* NULL: none; "": the usual one; 0: any           */
        const char *address;    /* NULL: this machine only                         */
        const char *token_file; /* NULL: made at random                          */
        struct texts origins;   /* pages from elsewhere that may write             */
        bool locked;            /* nobody may write                                */
    } live;
    struct {                 /* the world of ROS 2 */
        bool on;             /* the player is a node                            */
        const char *domain;  /* NULL: what ROS_DOMAIN_ID says                   */
        const char *space;   /* its namespace, NULL: none                       */
        bool network;        /* beyond this machine                             */
        bool clock;          /* lives in the time that a world tells on /clock  */
        bool humble;         /* peers up to ROS 2 Humble see the node           */
        struct texts topics; /* what others may see; none: everything           */
    } dds;
    struct logging_flags log;
    struct texts watch; /* topics whose messages are printed                         */
    bool score;         /* ends with the last message of the topic `score`           */
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
        MAYBE("live", &(o)->live.port, "[PORT]",                                                                       \
              "shows everything to viewers at this port, 8765 unless given; 0: any that is free"),                     \
        TEXT("live-address", &(o)->live.address, "ADDRESS",                                                            \
             "where viewers reach it: an address of this machine, 0.0.0.0 for all; unless given only from here"),      \
        TEXT("live-token-file", &(o)->live.token_file, "FILE",                                                         \
             "holds the token that viewers bring to write, readable by you alone; made at random unless given"),       \
        TEXTS("live-origin", &(o)->live.origins, "ORIGIN",                                                             \
              "pages from there may look and write too, such as https://viewer.example; may be repeated"),             \
        SWITCH("live-locked", &(o)->live.locked, "viewers only look: nobody may write"),                               \
        SWITCH("dds", &(o)->dds.on,                                                                                    \
               "is a node of ROS 2: topics, services and parameters for others, remote ones from them"),               \
        TEXT("domain", &(o)->dds.domain, "N", "DDS domain; what ROS_DOMAIN_ID says unless given, else 0"),             \
        TEXT("namespace", &(o)->dds.space, "NAME", "where its ROS topics are, one a robot: red1"),                     \
        SWITCH("network", &(o)->dds.network, "DDS beyond this machine"),                                               \
        SWITCH("clock", &(o)->dds.clock, "plays in a simulated world elsewhere, in the time that it tells on /clock"), \
        TEXTS("share", &(o)->dds.topics, "TOPIC",                                                                      \
              "a topic, service or action that others may see; may be repeated; unless given all"),                    \
        SWITCH("humble", &(o)->dds.humble, "ros2 node of ROS 2 up to Humble sees the node, that of later ones not"),   \
        LOGGING_FLAGS(&(o)->log), TEXTS("watch", &(o)->watch, "TOPIC", "prints its messages; may be repeated")

#endif
