/* The DDS edge makes a player a ROS 2 node without ROS. Its topics leave as ROS topics with ROS names, types, hashes
 * and QoS. Topics under `remote:` in its line-up come in. Its services and actions can be called, it calls remote ones,
 * and `ros2 param` works with its parameters. So a line-up can be split over processes and machines without a change of
 * code.
 *
 * A receiving thread of Cyclone (a listener) puts what comes in directly into the mailboxes of the cycles; a thread of
 * the edge writes what goes out. Neither ever delays a cycle. Samples that are malformed, too long for our structs or
 * of a type with another hash are dropped, counted, and reported once on `rosout`. */
#pragma once

#include "core/player.h"

struct nm_dds;

struct nm_dds_options {
    int domain;        /* -1: that of ROS_DOMAIN_ID, or 0                                                             */
    const char *space; /* the robot's namespace, "red1"; NULL: none                                                   */
    bool network;      /* also reach other machines; otherwise only the loopback is used                              */
    bool world;        /* the robot is in a simulated world elsewhere: topics are accepted in every state of the game */
    bool virtual_time; /* use nm_dds_poll, not nm_dds_start; times are virtual and published on /clock                */
    bool follows;      /* the same, but follows the /clock of another node                                            */
    uint32_t n_topics; /* topics, services and actions that others may see; 0: all except `show`                      */
    const char *const *topics;
    uint32_t n_local; /* topics and services under `remote:` that come from another edge of this process: they
                       * leave like our own instead of coming in                                             */
    const char *const *local;
    uint32_t gid_size; /* 16 (0 means that), or 24 for peers up to ROS 2 Humble        */
    uint32_t blob;     /* bytes; the largest image or cloud that may come in. 0: 4 MiB */
};

/* Call it between nm_player_new and nm_player_start: it adds edges to the player, which must outlive it, and joins the
 * domain. NULL with a sentence. */
struct nm_dds *nm_dds_new(struct nm_player *player, const struct nm_dds_options *options, struct nm_err *err);
/* Leaves the domain; others see that the node is gone. Call it before nm_player_stop, so that nothing comes in later.
 * NULL is allowed. */
void nm_dds_free(struct nm_dds *dds);

/* Real time, after nm_player_start: from now on samples come in and go out. */
int nm_dds_start(struct nm_dds *dds, struct nm_err *err);
/* Virtual time: does everything that is due. Call it between two calls of nm_players_run, after the first of them. */
void nm_dds_poll(struct nm_dds *dds);

/* ---- looking in; from any thread ---- */

struct nm_dds_stats {
    uint64_t written, taken; /* samples                                                      */
    uint64_t not_written;    /* Cyclone refused: a history is full and no reader takes it    */
    uint64_t malformed;      /* not valid CDR of this type                                   */
    uint64_t too_long;       /* more elements or bytes than our struct has room for          */
    uint64_t no_blob;        /* images dropped because every block was in use                */
    uint64_t other_hash;     /* from a writer whose type hash differs                        */
    uint64_t strays;         /* replies to unknown calls, requests with an impossible caller */
    uint64_t late_replies;   /* the reader of their caller never appeared                    */
    uint64_t locked;         /* samples from other machines while the robot plays            */
    uint64_t flooded;        /* samples of a topic that came faster than 5000 a second       */
};
void nm_dds_stats(struct nm_dds *dds, struct nm_dds_stats *stats);
/* For a topic that leaves: the number of its readers elsewhere; for one that comes in: of its writers; 0 for others. */
uint32_t nm_dds_matched(struct nm_dds *dds, const char *topic);
const char *nm_dds_node(const struct nm_dds *dds); /* "/red1/robot" */
/* Says a sentence for every writer or reader elsewhere that uses the name of a topic with another type or hash. No
 * messages pass between it and us. */
typedef void nm_dds_say(void *user, const char *sentence);
void nm_dds_strangers(struct nm_dds *dds, const char *topic, nm_dds_say *say, void *user);
