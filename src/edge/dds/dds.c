/* The life of the DDS edge: joins, serves, leaves. */
#include "edge/dds/dds.h"

#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "body/robot.h"
#include "edge/dds/domain.h"
#include "edge/dds/inside.h"

/* The thread sleeps until a cycle publishes or somebody asks, but looks at changes this often. */
static const int64_t look_every = 200000000; /* ns */
static const int64_t look_soon = 2000000;    /* ns; while a reply waits for its reader */

void edge_wake(struct nm_dds *dds)
{
    if (dds->threaded) nm_edge_wake(dds->out);
}

int64_t wall_now(const struct nm_dds *dds) { return nm_player_now(dds->player) + atomic_load(&dds->wall); }

/* The wall clock at the time 0 of the player. Somebody may set it at any time (a robot without a battery for its clock
 * learns the date from the network), so it is looked at in each turn; small differences come from the looking. A look
 * that was interrupted says nothing. */
static void follow_wall_clock(struct nm_dds *dds, int tries)
{
    static const int64_t noise = 200000, interrupted = 50000; /* ns */
    while (tries--) {
        int64_t before = nm_clock(), wall = nm_wall(), took = nm_clock() - before;
        int64_t now = wall - before - took / 2, had = atomic_load(&dds->wall);
        if (!had || (took < interrupted && (now - had > noise || had - now > noise))) atomic_store(&dds->wall, now);
        if (took < interrupted) return;
    }
}

/* ---- what a node has beside the line-up's topics ---- */

static dds_entity_t open_known(struct nm_dds *dds, const char *name, const char *interface, struct nm_err *err)
{
    const struct nm_type *type = nm_type_find(&nm_all_types, interface);
    if (!type) return nm_fail(err, "dds: the type %s is not part of this build", interface);
    struct nm_ros_qos qos = nm_ros_qos(name, type);
    char ros[NM_ROS_NAME], wire[NM_ROS_NAME + 2], data[128];
    nm_ros_topic(dds->space, name, ros, sizeof ros);
    snprintf(wire, sizeof wire, "rt%s", ros);
    snprintf(data, sizeof data, "typehash=%s;", type->hash);
    return endpoint_writer(dds, wire, type->dds_name, &qos, data, NULL, err);
}

/* The URDF as it stands in the robot's folder, for RViz2 and robot_state_publisher. */
static int tell_description(struct nm_dds *dds, struct nm_err *err)
{
    size_t n;
    if (!dds->lineup->robot_folder || nm_lineup_topic(dds->lineup, "robot_description") != NM_NONE) return 0;
    const uint8_t *bytes = nm_robot_description(&dds->arena, dds->lineup->robot_folder, &n);
    if (!bytes) return 0; /* the body's loader complains */
    dds->description = open_known(dds, "robot_description", "std_msgs/msg/String", err);
    if (dds->description > 0) out_write(dds, dds->description, bytes, n);
    return dds->description < 0 ? -1 : 0;
}

static void tell_clock(struct nm_dds *dds)
{
    int64_t now = nm_player_now(dds->player);
    if (dds->clock <= 0 || now == dds->clock_told) return;
    dds->clock_told = now;
    pack_begin(&dds->buffer);
    pack_i32(&dds->buffer, (int32_t)(now / 1000000000));
    pack_u32(&dds->buffer, (uint32_t)(now % 1000000000));
    out_write(dds, dds->clock, dds->buffer.bytes, dds->buffer.n);
}

/* ---- life ---- */

static int read_options(struct nm_dds *dds, const struct nm_dds_options *options, struct nm_err *err)
{
    dds->options = options ? *options : (struct nm_dds_options){.domain = -1};
    int64_t domain = dds->options.domain;
    if (domain < 0 && (domain = nm_domain_usual(err)) < 0) return -1;
    dds->domain = (uint32_t)domain;
    if (!dds->options.gid_size) dds->options.gid_size = 16;
    if (dds->options.gid_size != 16 && dds->options.gid_size != 24)
        return nm_fail(err, "dds: a gid has 16 bytes, or 24 up to ROS 2 Humble, not %u", dds->options.gid_size);
    for (uint32_t i = 0; i < dds->options.n_topics; i++) {
        const char *name = dds->options.topics[i] + (dds->options.topics[i][0] == '/');
        char part[NM_ROS_NAME];
        static const char *const ends[] = {"", "/request", "/_action/status"};
        bool known = false;
        for (int k = 0; k < 3; k++) {
            snprintf(part, sizeof part, "%s%s", name, ends[k]);
            known |= nm_lineup_topic(dds->lineup, part) != NM_NONE;
        }
        if (!known) return nm_fail(err, "dds: %s has no topic, service or action '%.80s'", dds->lineup->file, name);
    }
    const char *space = dds->options.space ? dds->options.space : "";
    char node[64]; /* what other nodes' structs have room for */
    nm_ros_node(nm_player_name(dds->player), node, sizeof node);
    snprintf(dds->node, sizeof dds->node, "%s", node);
    if (nm_ros_namespace(space, dds->space, 64, err)) return -1;
    snprintf(dds->full, sizeof dds->full, "%.*s/%s", dds->space[1] ? 64 : 0, dds->space, node);
    snprintf(dds->logger, sizeof dds->logger, "%s", dds->full + 1);
    for (char *at = dds->logger; *at; at++)
        if (*at == '/') *at = '.';
    return 0;
}

static int join(struct nm_dds *dds, struct nm_err *err)
{
    static const struct nm_ros_qos graph = {.reliable = true, .latched = true, .depth = 1};
    dds->participant = nm_domain_join(dds->domain, dds->options.network ? NM_DOMAIN_NETWORK : 0, err);
    if (dds->participant < 0) return -1;
    dds->publisher = dds_create_publisher(dds->participant, NULL, NULL);
    dds->subscriber = dds_create_subscriber(dds->participant, NULL, NULL);
    dds->participants = dds_create_reader(dds->participant, DDS_BUILTIN_TOPIC_DCPSPARTICIPANT, NULL, NULL);
    dds->publications = dds_create_reader(dds->participant, DDS_BUILTIN_TOPIC_DCPSPUBLICATION, NULL, NULL);
    dds->subscriptions = dds_create_reader(dds->participant, DDS_BUILTIN_TOPIC_DCPSSUBSCRIPTION, NULL, NULL);
    const struct nm_type *type = nm_type_find(&nm_all_types, "rmw_dds_common/msg/ParticipantEntitiesInfo");
    char data[128] = "gid=24;"; /* of that type there is no hash: it had none */
    if (type && dds->options.gid_size == 16) snprintf(data, sizeof data, "typehash=%s;", type->hash);
    dds->discovery = endpoint_writer(dds, "ros_discovery_info", "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_",
                                     &graph, data, NULL, err);
    dds->writers.n = 0; /* this one is not listed in what it tells */
    return dds->discovery < 0 ? -1 : 0;
}

struct nm_dds *nm_dds_new(struct nm_player *player, const struct nm_dds_options *options, struct nm_err *err)
{
    struct nm_dds *dds = calloc(1, sizeof *dds);
    if (!dds) abort();
    dds->player = player;
    dds->lineup = nm_player_lineup(player);
    pthread_mutex_init(&dds->lock, NULL);
    dds->gate = nm_gate_of(player, err);
    int bad = !dds->gate || read_options(dds, options, err) || join(dds, err) || outs_open(dds, err) ||
              ins_open(dds, err) || params_open(dds, err) || tell_description(dds, err);
    if (!bad && dds->options.virtual_time)
        bad = (dds->clock = open_known(dds, "clock", "rosgraph_msgs/msg/Clock", err)) < 0;
    if (bad) {
        nm_dds_free(dds);
        return NULL;
    }
    dds->options.topics = dds->options.local = NULL; /* the caller's */
    dds->options.n_topics = dds->options.n_local = 0;
    node_tell(dds, true);
    return dds;
}

static void turn(struct nm_dds *dds)
{
    if (dds->threaded) follow_wall_clock(dds, 1);
    outs_send(dds);
    refusals_send(dds);
    params_serve(dds);
    replies_retry(dds);
    ins_loosen(dds);
    ins_complain(dds);
}

static void *serve(void *user)
{
    struct nm_dds *dds = user;
    prctl(PR_SET_NAME, "nm-dds");
    while (!atomic_load(&dds->ending)) {
        nm_edge_wait(dds->out, dds->n_held ? look_soon : look_every);
        turn(dds);
    }
    return NULL;
}

int nm_dds_start(struct nm_dds *dds, struct nm_err *err)
{
    follow_wall_clock(dds, 10);
    atomic_store(&dds->threaded, true);
    ins_listen(dds);
    int r = pthread_create(&dds->thread, NULL, serve, dds);
    if (!r) return 0;
    dds->threaded = false;
    return nm_fail(err, "dds: no thread: %s", strerror(r));
}

void nm_dds_poll(struct nm_dds *dds)
{
    ins_take(dds);
    tell_clock(dds);
    turn(dds);
}

void nm_dds_free(struct nm_dds *dds)
{
    if (!dds) return;
    atomic_store(&dds->ending, true);
    edge_wake(dds);
    if (dds->threaded) pthread_join(dds->thread, NULL);
    if (dds->discovery > 0) node_tell(dds, false);
    nm_domain_leave(dds->domain, dds->participant);
    for (uint32_t i = 0; i < dds->n_held; i++) free(dds->held[i].bytes);
    for (struct refusal *at = dds->refusals, *next; at; at = next) next = at->next, free(at);
    params_close(dds);
    free(dds->buffer.bytes);
    free(dds->framed);
    free(dds->readers.at);
    free(dds->writers.at);
    pthread_mutex_destroy(&dds->lock);
    nm_gate_free(dds->gate);
    nm_arena_free(&dds->arena);
    free(dds);
}

/* ---- looking in ---- */

void nm_dds_stats(struct nm_dds *dds, struct nm_dds_stats *stats)
{
    *stats = (struct nm_dds_stats){.written = atomic_load(&dds->written),
                                   .taken = atomic_load(&dds->taken),
                                   .not_written = atomic_load(&dds->not_written),
                                   .malformed = atomic_load(&dds->faults[FAULT_MALFORMED]),
                                   .too_long = atomic_load(&dds->faults[FAULT_LONG]),
                                   .no_blob = atomic_load(&dds->faults[FAULT_POOL]),
                                   .locked = atomic_load(&dds->faults[FAULT_LOCKED]),
                                   .flooded = atomic_load(&dds->faults[FAULT_FLOOD]),
                                   .other_hash = atomic_load(&dds->faults[FAULT_HASH]),
                                   .strays = atomic_load(&dds->strays),
                                   .late_replies = atomic_load(&dds->late_replies)};
}

uint32_t nm_dds_matched(struct nm_dds *dds, const char *topic)
{
    for (uint32_t i = 0; i < dds->n_outs; i++)
        if (!strcmp(dds->outs[i].topic->name, topic)) return atomic_load(&dds->outs[i].readers);
    for (uint32_t i = 0; i < dds->n_ins; i++) {
        dds_subscription_matched_status_t status;
        if (strcmp(dds->ins[i].topic->name, topic)) continue;
        if (dds_get_subscription_matched_status(dds->ins[i].reader, &status) < 0) return 0;
        return status.current_count;
    }
    return 0;
}

const char *nm_dds_node(const struct nm_dds *dds) { return dds->full; }
