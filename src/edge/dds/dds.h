/* The DDS edge: a player is a ROS 2 node without ROS. Its topics leave as ROS topics with ROS names, types, hashes and
 * QoS; what stands under `remote:` in its line-up comes in; its services and actions can be called, and it calls those
 * that are remote; its parameters answer to `ros2 param`. So one line-up may be split over processes and machines
 * without a change of code.
 *
 * What comes in is taken by Cyclone's own receiving thread (a listener) straight to the cycles' mailboxes; what goes
 * out is written by a thread of the edge. Neither ever holds up a cycle: samples that are malformed, too long for our
 * structs or of another hash are dropped, counted, and told once on `rosout`. */
#ifndef NM_EDGE_DDS_DDS_H
#define NM_EDGE_DDS_DDS_H

#include "core/player.h"

struct nm_dds;

struct nm_dds_options {
    int domain;        /* -1: what ROS_DOMAIN_ID says, 0 without it                                        */
    const char *space; /* the robot's namespace, "red1"; NULL: none                                        */
    bool network;      /* beyond this machine; loopback only unless asked                                  */
    bool world;        /* the robot lives in a simulated world elsewhere: topics are taken whatever the game */
    bool virtual_time; /* nobody calls nm_dds_start: nm_dds_poll is called, times are virtual, /clock tells them */
    bool follows;      /* the same in the time of another's /clock                                         */
    uint32_t n_topics; /* topics, services and actions that others may see; 0: all but `show`              */
    const char *const *topics;
    uint32_t n_local; /* topics and services under `remote:` that another edge of this process brings: they leave
                       * like our own instead of coming in                                                   */
    const char *const *local;
    uint32_t gid_size; /* 16 (0 means that), or 24 for peers up to ROS 2 Humble                            */
    uint32_t blob;     /* bytes; the largest image or cloud that may come in. 0: 4 MiB                      */
};

/* Between nm_player_new and the start: adds its edges to the player, which must outlive it, and joins the domain. NULL
 * with a sentence. */
struct nm_dds *nm_dds_new(struct nm_player *player, const struct nm_dds_options *options, struct nm_err *err);
/* Leaves: others see the node go. Before nm_player_stop, so that nothing comes in afterwards. NULL is fine. */
void nm_dds_free(struct nm_dds *dds);

/* Real time, after nm_player_start: samples come in and go out from now on. */
int nm_dds_start(struct nm_dds *dds, struct nm_err *err);
/* Virtual time: does all that there is to do; between two calls of nm_players_run, after the first of them. */
void nm_dds_poll(struct nm_dds *dds);

/* ---- looking in; from any thread ---- */

struct nm_dds_stats {
    uint64_t written, taken; /* samples                                                     */
    uint64_t not_written;    /* Cyclone refused: a history is full and nobody takes it      */
    uint64_t malformed;      /* no CDR of this type                                         */
    uint64_t too_long;       /* more elements or bytes than our struct has room for         */
    uint64_t no_blob;        /* images that found every block in use                        */
    uint64_t other_hash;     /* from a writer whose type hash differs                       */
    uint64_t strays;         /* replies to nobody here, requests with an impossible caller  */
    uint64_t late_replies;   /* their caller's reader never appeared                        */
    uint64_t locked;         /* samples from other machines while the robot plays           */
    uint64_t flooded;        /* samples of a topic that came faster than 5000 a second      */
};
void nm_dds_stats(struct nm_dds *dds, struct nm_dds_stats *stats);
/* How many readers outside have found a topic of ours, how many writers one of theirs; 0 if it is none. */
uint32_t nm_dds_matched(struct nm_dds *dds, const char *topic);
const char *nm_dds_node(const struct nm_dds *dds); /* "/red1/robot" */
/* Tells every writer or reader elsewhere that uses a topic's name with another type or another hash: nothing passes
 * between it and us. */
typedef void nm_dds_say(void *user, const char *sentence);
void nm_dds_strangers(struct nm_dds *dds, const char *topic, nm_dds_say *say, void *user);

#endif
