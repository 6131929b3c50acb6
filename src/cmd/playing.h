/* A line-up at play in this process: loaded, started in threads or in virtual time, with its control socket, its
 * console lines and its status on the terminal, until somebody ends it. `run`, `play` and `dev` are this with different
 * flags. */
#pragma once

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
    struct texts cameras;       /* devices or folders of images, in the order of the robot's */
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
    bool radio;  /* speaks to a game controller and to team mates by UDP             */
    bool listen; /* … but only listens                                               */
    bool quiet;  /* somebody else writes on the terminal                             */
    bool speech; /* says aloud what modules want to say                              */
    struct logging_flags log;
    struct texts watch; /* topics whose messages are printed                         */
    bool score;         /* ends with the last message of the topic `score`           */
    /* Called once the line-up is loaded, before anything is made from it; and about 50 times a second. Both may be
     * NULL. */
    int (*loaded)(struct nm_lineup *lineup, void *user, struct nm_err *err);
    int (*made)(struct nm_player *player, void *user, struct nm_err *err); /* to add edges; or NULL */
    void (*tick)(struct nm_player *player, void *user);
    void *user;
};

/* Plays to the end; the exit code. `setup` may have been changed before: other modules in its registry. */
int playing_run(struct setup *setup, const struct playing_options *options);

/* Flags that `run` and `dev` share. */
#define PLAYING_FLAGS(o)                                                                                               \
    TEXT("name", &(o)->name, "NAME", "name of this player (default: the line-up's name)"),                             \
        NUMBER("seconds", &(o)->seconds, 0, 1e9, "N", "ends after N seconds; 0: runs until it is stopped"),            \
        WHOLE("seed", &(o)->seed, 0, 9e15, "N", "seed of all random numbers"),                                         \
        TEXTS("camera", &(o)->cameras, "SOURCE",                                                                       \
              "images of the robot's camera, from /dev/video0 or a folder; a second one for its second camera"),       \
        TEXT("joy", &(o)->joy, "DEVICE", "writes the topic joy from /dev/input/js0, or from the keyboard (keys)"),     \
        TEXT("hardware", &(o)->hardware, "KIND",                                                                       \
             "servos: bus (the robot's ports), virtual (no body) or none (default: bus if the ports exist, "           \
             "else none)"),                                                                                            \
        MAYBE("live", &(o)->live.port, PORT_MAX, "[PORT]",                                                             \
              "shows everything to viewers at this port (default: 8765; 0: any free port)"),                           \
        TEXT("live-address", &(o)->live.address, "ADDRESS",                                                            \
             "address of this machine that viewers reach; 0.0.0.0: all (default: only from this machine)"),            \
        TEXT("live-token-file", &(o)->live.token_file, "FILE",                                                         \
             "file with the token that viewers need to write; only you may read it (default: a random token)"),        \
        TEXTS("live-origin", &(o)->live.origins, "ORIGIN",                                                             \
              "also lets web pages from this origin in, such as https://viewer.example; may be repeated"),             \
        SWITCH("live-locked", &(o)->live.locked, "viewers can only look, not write"),                                  \
        SWITCH("dds", &(o)->dds.on, "joins ROS 2 as a node that shares topics, services and parameters"),              \
        TEXT("domain", &(o)->dds.domain, "N", "DDS domain (default: ROS_DOMAIN_ID, or 0)", .max = DOMAIN_MAX),         \
        TEXT("namespace", &(o)->dds.space, "NAME", "ROS namespace of this robot, such as red1"),                       \
        SWITCH("radio", &(o)->radio, "hears the game controller and speaks to team mates by UDP"),                     \
        SWITCH("speech", &(o)->speech, "says aloud what modules want to say, with the program espeak-ng"),             \
        SWITCH("network", &(o)->dds.network, "uses the network, not only this machine"),                               \
        SWITCH("clock", &(o)->dds.clock, "follows the time that a simulated world publishes on /clock"),               \
        TEXTS("share", &(o)->dds.topics, "TOPIC",                                                                      \
              "shares only this topic, service or action; may be repeated (default: all)"),                            \
        SWITCH("humble", &(o)->dds.humble,                                                                             \
               "lets the ros2 node command of Humble and older see the node; newer ones then do not"),                 \
        LOGGING_FLAGS(&(o)->log),                                                                                      \
        TEXTS("watch", &(o)->watch, "TOPIC", "prints the messages of this topic; may be repeated")
