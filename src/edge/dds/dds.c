/* The node itself: it joins the domain, serves and leaves; its readers and writers, what others are told about it, and
 * writers and readers elsewhere that use one of its topics with another type. */
#include "edge/dds/dds.h"

#include <stdio.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/memory.h"
#include "body/robot.h"
#include "edge/dds/dds_inside.h"
#include "edge/dds/domain.h"

/* How long a write may wait for a full history; the edge has other topics to serve. */
static const dds_duration_t patience = DDS_MSECS(10);

static dds_qos_t *qos_new(const struct nm_ros_qos *ros, const char *user_data)
{
    dds_qos_t *qos = dds_create_qos();
    dds_qset_reliability(qos, ros->reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT, patience);
    dds_qset_durability(qos, ros->latched ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
    dds_qset_history(qos, ros->depth > 0 ? DDS_HISTORY_KEEP_LAST : DDS_HISTORY_KEEP_ALL,
                     ros->depth > 0 ? ros->depth : 1);
    if (ros->latched) /* otherwise a late reader gets only one sample */
        dds_qset_durability_service(qos, 0, DDS_HISTORY_KEEP_LAST, ros->depth > 0 ? ros->depth : 1,
                                    DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED);
    if (ros->lifespan) dds_qset_lifespan(qos, ros->lifespan);
    dds_qset_writer_data_lifecycle(qos, false);
    dds_qset_ignorelocal(qos, DDS_IGNORELOCAL_PARTICIPANT);
    if (user_data && *user_data) dds_qset_userdata(qos, user_data, strlen(user_data));
    return qos;
}

static void note(struct gids *gids, dds_entity_t entity)
{
    gids->at = nm_more(gids->at, gids->n, &gids->room, sizeof *gids->at);
    dds_get_guid(entity, &gids->at[gids->n++]);
}

static dds_entity_t fail(const char *what, const char *name, dds_entity_t code, struct nm_err *err)
{
    nm_fail(err, "dds: cannot create the %s for '%s': %s", what, name, dds_strretcode(code));
    return code;
}

dds_entity_t endpoint_writer(struct nm_dds *dds, const char *name, const char *type, const struct nm_ros_qos *ros,
                             const char *user_data, const dds_listener_t *listener, struct nm_err *err)
{
    dds_entity_t topic = nm_raw_topic(dds->participant, name, type);
    if (topic < 0) return fail("topic", name, topic, err);
    dds_qos_t *qos = qos_new(ros, user_data);
    dds_entity_t writer = dds_create_writer(dds->publisher, topic, qos, listener);
    dds_delete_qos(qos);
    if (writer < 0) return fail("writer", name, writer, err);
    note(&dds->writers, writer);
    return writer;
}

dds_entity_t endpoint_reader(struct nm_dds *dds, const char *name, const char *type, size_t most,
                             const struct nm_ros_qos *ros, const char *user_data, const dds_listener_t *listener,
                             struct nm_err *err)
{
    dds_entity_t topic = nm_raw_topic_most(dds->participant, name, type, most);
    if (topic < 0) return fail("topic", name, topic, err);
    dds_qos_t *qos = qos_new(ros, user_data);
    dds_entity_t reader = dds_create_reader(dds->subscriber, topic, qos, listener);
    dds_delete_qos(qos);
    if (reader < 0) return fail("reader", name, reader, err);
    note(&dds->readers, reader);
    return reader;
}

/* Both ends of a service carry the same id, by which rmw_cyclonedds pairs them: the participant's prefix and a count.
 */
void service_id(struct nm_dds *dds, const char *key, char *to, size_t size)
{
    dds_guid_t guid;
    uint32_t count = ++dds->services;
    dds_get_guid(dds->participant, &guid);
    for (int i = 0; i < 4; i++) guid.v[12 + i] = (uint8_t)(count >> (24 - 8 * i));
    size_t used = (size_t)snprintf(to, size, "%s=", key);
    for (int i = 0; i < 16 && used < size; i++)
        used += (size_t)snprintf(to + used, size - used, "%s%x", i ? "." : "", guid.v[i]);
    if (used < size) snprintf(to + used, size - used, ";");
}

static void pack_gid(struct pack *p, const struct nm_dds *dds, const dds_guid_t *guid)
{
    uint8_t gid[24] = {0};
    memcpy(gid, guid->v, sizeof guid->v);
    pack_raw(p, gid, dds->options.gid_size);
}

static void pack_gids(struct pack *p, const struct nm_dds *dds, const struct gids *gids)
{
    pack_u32(p, gids->n);
    for (uint32_t i = 0; i < gids->n; i++) pack_gid(p, dds, &gids->at[i]);
}

/* Sends the whole list each time (rmw_dds_common/ParticipantEntitiesInfo); the size of its Gid depends on the release.
 */
void node_tell(struct nm_dds *dds, bool here)
{
    struct pack *p = &dds->buffer;
    dds_guid_t guid;
    dds_get_guid(dds->participant, &guid);
    pack_begin(p);
    pack_gid(p, dds, &guid);
    pack_u32(p, here ? 1 : 0);
    if (here) {
        pack_text(p, dds->space);
        pack_text(p, dds->node);
        pack_gids(p, dds, &dds->readers);
        pack_gids(p, dds, &dds->writers);
    }
    out_write(dds, dds->discovery, p->bytes, p->n);
}

/* ---- strangers: writers and readers elsewhere that use one of our topics with another type ---- */

/* Cyclone does not connect them to us, so without this nobody would learn why nothing arrives. */

bool endpoint_hash(const dds_builtintopic_endpoint_t *endpoint, char *to, size_t size)
{
    void *bytes = NULL;
    size_t n = 0;
    bool has = dds_qget_userdata(endpoint->qos, &bytes, &n) && bytes && nm_user_data(bytes, n, "typehash", to, size);
    dds_free(bytes);
    return has;
}

/* Replaces what must not be printed; peers choose their names freely. */
static void plain(char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~') *text = '?';
}

/* "The process talker (4711) on striker", as its participant describes itself. */
static void whose(struct nm_dds *dds, const dds_builtintopic_endpoint_t *endpoint, char *to, size_t size)
{
    static const char *const keys[] = {"__ProcessName", "__Pid", "__Hostname"};
    char *told[3] = {0};
    void *sample = NULL;
    dds_sample_info_t info;
    int n = dds_read_instance(dds->participants, &sample, &info, 1, 1, endpoint->participant_instance_handle);
    const dds_builtintopic_participant_t *its = n > 0 && info.valid_data ? sample : NULL;
    for (int i = 0; its && i < 3; i++) dds_qget_prop(its->qos, keys[i], &told[i]);
    if (told[0])
        snprintf(to, size, "The process %.60s (%.20s) on %.60s", told[0], told[1] ? told[1] : "?",
                 told[2] ? told[2] : "?");
    else
        snprintf(to, size, "A process that does not say its name");
    for (int i = 0; i < 3; i++) dds_free(told[i]);
    if (n > 0) dds_return_loan(dds->participants, &sample, n);
}

struct search {
    struct nm_dds *dds;
    const struct nm_topic *topic;
    const char *name, *does; /* on the wire; "writes" */
    nm_dds_say *say;
    void *user;
};

static void judge(const struct search *s, const dds_builtintopic_endpoint_t *endpoint)
{
    char hash[96] = "", who[200], its[NM_ROS_NAME], text[700];
    dds_guid_t own;
    const struct nm_type *type = s->topic->type;
    dds_get_guid(s->dds->participant, &own);
    if (strcmp(endpoint->topic_name, s->name) || !memcmp(endpoint->participant_key.v, own.v, sizeof own.v)) return;
    bool other = strcmp(endpoint->type_name, type->dds_name);
    if (!other && (!endpoint_hash(endpoint, hash, sizeof hash) || !strcmp(hash, type->hash))) return;
    whose(s->dds, endpoint, who, sizeof who);
    nm_ros_type(endpoint->type_name, its, sizeof its);
    if (other)
        snprintf(text, sizeof text, "%s %s it as %.150s, which is not our %s: no messages pass between it and us.", who,
                 s->does, its, type->name);
    else
        snprintf(text, sizeof text, "%s %s it with another definition of %s (hash %.80s, ours %s): it is refused.", who,
                 s->does, type->name, hash, type->hash);
    plain(text);
    s->say(s->user, text);
}

static void look_at(const struct search *s, dds_entity_t reader)
{
    enum { MOST = 4096 };
    static const uint32_t alive = DDS_ANY_SAMPLE_STATE | DDS_ANY_VIEW_STATE | DDS_ALIVE_INSTANCE_STATE;
    void **samples = nm_calloc(MOST, sizeof *samples);
    dds_sample_info_t *info = nm_calloc(MOST, sizeof *info);
    int n = dds_read_mask(reader, samples, info, MOST, MOST, alive);
    for (int i = 0; i < n; i++)
        if (info[i].valid_data) judge(s, samples[i]);
    if (n > 0) dds_return_loan(reader, samples, n);
    free(samples);
    free(info);
}

void nm_dds_strangers(struct nm_dds *dds, const char *topic, nm_dds_say *say, void *user)
{
    uint32_t index = nm_lineup_topic(dds->lineup, topic);
    char name[NM_ROS_NAME];
    if (index == NM_NONE) return;
    wire_name(dds, &dds->lineup->topics[index], name, sizeof name);
    struct search search = {dds, &dds->lineup->topics[index], name, "writes", say, user};
    look_at(&search, dds->publications);
    search.does = "reads";
    look_at(&search, dds->subscriptions);
}

/* ---- time ---- */

/* The thread sleeps until a cycle publishes or a request arrives, but looks for changes this often. */
static const int64_t look_every = 200000000; /* ns                                     */
static const int64_t look_soon = 2000000;    /* ns; while a reply waits for its reader */

void edge_wake(struct nm_dds *dds)
{
    if (dds->threaded) nm_edge_wake(dds->out);
}

int64_t wall_now(const struct nm_dds *dds) { return nm_player_now(dds->player) + atomic_load(&dds->wall); }

/* The wall clock at the time 0 of the player. It may be set at any time (a robot without a battery for its clock gets
 * the date from the network), so it is read in each turn. Small differences are noise of the reading, and a reading
 * that was interrupted is ignored. */
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

/* ---- what a node has besides the topics of the line-up ---- */

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

/* The URDF from the robot's folder, for RViz2 and robot_state_publisher. */
static int tell_description(struct nm_dds *dds, struct nm_err *err)
{
    size_t n;
    if (!dds->lineup->robot_folder || nm_lineup_topic(dds->lineup, "robot_description") != NM_NONE) return 0;
    const uint8_t *bytes = nm_robot_description(&dds->arena, dds->lineup->robot_folder, &n);
    if (!bytes) return 0; /* the loader of the body reports it */
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
        return nm_fail(err, "dds: a gid must have 16 bytes, or 24 for peers up to ROS 2 Humble, not %u",
                       dds->options.gid_size);
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
    char node[64]; /* the length that the structs of other nodes allow */
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
    char data[128] = "gid=24;"; /* up to Humble this type has no hash */
    if (type && dds->options.gid_size == 16) snprintf(data, sizeof data, "typehash=%s;", type->hash);
    dds->discovery = endpoint_writer(dds, "ros_discovery_info", "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_",
                                     &graph, data, NULL, err);
    dds->writers.n = 0; /* this writer is not part of the list that it sends */
    return dds->discovery < 0 ? -1 : 0;
}

struct nm_dds *nm_dds_new(struct nm_player *player, const struct nm_dds_options *options, struct nm_err *err)
{
    struct nm_dds *dds = nm_calloc(1, sizeof *dds);
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
    return nm_fail(err, "dds: cannot start the thread: %s", strerror(r));
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
