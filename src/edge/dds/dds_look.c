/* A participant without a node that looks at a ROS 2 system from outside. */
#include "edge/dds/dds_look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "codec/cdr.h"
#include "codec/msgdef.h"
#include "edge/dds/domain.h"
#include "edge/dds/pack.h"
#include "edge/dds/type_description.h"
#include "type_description_interfaces/GetTypeDescription.h"

struct look_owner {
    uint8_t gid[16];
    char node[2 * NM_ROS_NAME];
};

struct nm_look {
    uint32_t domain;
    dds_entity_t participant, publications, subscriptions;
    dds_entity_t reader, writer;
    dds_entity_t waits;         /* for the reader; 0: not opened yet */
    const struct nm_type *type; /* of the writer                     */
    dds_entity_t graph;         /* ros_discovery_info; 0: not opened */
    uint32_t n_owners, owners_room;
    struct look_owner *owners; /* of endpoints, for nm_look_owner */
    int64_t calls;             /* of services so far              */
};

/* Called for every living endpoint of others that has plain names. */
typedef void endpoint_found(void *user, const dds_builtintopic_endpoint_t *endpoint);

struct nm_look *nm_look_new(int domain, bool network, struct nm_err *err)
{
    int64_t number = domain < 0 ? nm_domain_usual(err) : domain;
    if (number < 0) return NULL;
    struct nm_look *look = nm_calloc(1, sizeof *look);
    look->domain = (uint32_t)number;
    look->participant = nm_domain_join(look->domain, (network ? NM_DOMAIN_NETWORK : 0) | NM_DOMAIN_ANY_SIZE, err);
    if (look->participant < 0) {
        free(look);
        return NULL;
    }
    look->publications = dds_create_reader(look->participant, DDS_BUILTIN_TOPIC_DCPSPUBLICATION, NULL, NULL);
    look->subscriptions = dds_create_reader(look->participant, DDS_BUILTIN_TOPIC_DCPSSUBSCRIPTION, NULL, NULL);
    return look;
}

void nm_look_free(struct nm_look *look)
{
    if (!look) return;
    nm_domain_leave(look->domain, look->participant);
    free(look->owners);
    free(look);
}

/* ---- topics, services and actions ---- */

static const struct nm_type *type_of(const char *dds_name)
{
    for (uint32_t i = 0; i < nm_all_types.n; i++)
        if (!strcmp(nm_all_types.at[i]->dds_name, dds_name)) return nm_all_types.at[i];
    return NULL;
}

bool nm_look_plain(const char *name)
{
    for (; *name; name++)
        if (*name <= ' ' || *name > '~') return false;
    return true;
}

static void each_endpoint(struct nm_look *look, dds_entity_t reader, endpoint_found *call, void *user)
{
    enum { MOST = 4096 };
    static const uint32_t alive = DDS_ANY_SAMPLE_STATE | DDS_ANY_VIEW_STATE | DDS_ALIVE_INSTANCE_STATE;
    void **samples = nm_calloc(MOST, sizeof *samples);
    dds_sample_info_t *info = nm_calloc(MOST, sizeof *info);
    dds_guid_t own;
    dds_get_guid(look->participant, &own);
    int n = dds_read_mask(reader, samples, info, MOST, MOST, alive);
    for (int i = 0; i < n; i++) {
        const dds_builtintopic_endpoint_t *endpoint = samples[i];
        if (!info[i].valid_data || !memcmp(endpoint->participant_key.v, own.v, sizeof own.v)) continue;
        if (nm_look_plain(endpoint->topic_name) && nm_look_plain(endpoint->type_name)) call(user, endpoint);
    }
    if (n > 0) dds_return_loan(reader, samples, n);
    free(samples);
    free(info);
}

struct listing {
    struct nm_look_topic *at;
    uint32_t n, most;
    const char *prefix, *suffix; /* of the wire's names               */
    const char *part;            /* cut off from the name of the type */
    bool hidden, writers;
};

/* "rq/red/shoutRequest" is the service /red/shout, "rt/kick/_action/feedback" belongs to the action /kick. */
static void list_one(void *user, const dds_builtintopic_endpoint_t *endpoint)
{
    struct listing *list = user;
    size_t all = strlen(endpoint->topic_name), end = strlen(list->suffix), begin = strlen(list->prefix);
    char name[NM_ROS_NAME], type[NM_ROS_NAME];
    if (all < begin + end + 1 || strncmp(endpoint->topic_name, list->prefix, begin) ||
        strcmp(endpoint->topic_name + all - end, list->suffix))
        return;
    snprintf(name, sizeof name, "%.*s", (int)(all - begin - end), endpoint->topic_name + begin);
    if (!list->hidden && nm_ros_hidden(name + 1)) return;
    uint32_t i = 0;
    while (i < list->n && (strcmp(list->at[i].name, name) || strcmp(list->at[i].dds_type, endpoint->type_name))) i++;
    if (i == list->most) return;
    if (i == list->n) {
        struct nm_look_topic *to = &list->at[list->n++];
        *to = (struct nm_look_topic){.type = type_of(endpoint->type_name)};
        memcpy(to->name, name, sizeof to->name);
        snprintf(to->dds_type, sizeof to->dds_type, "%s", endpoint->type_name);
        nm_ros_type(endpoint->type_name, type, sizeof type);
        size_t length = strlen(type), cut = strlen(list->part);
        if (length > cut && !strcmp(type + length - cut, list->part)) type[length - cut] = '\0';
        memcpy(to->ros_type, type, sizeof to->ros_type);
    }
    if (list->writers)
        list->at[i].writers++;
    else
        list->at[i].readers++;
}

static int by_name(const void *a, const void *b)
{
    const struct nm_look_topic *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static uint32_t list_all(struct nm_look *look, struct listing *list)
{
    list->writers = true;
    each_endpoint(look, look->publications, list_one, list);
    list->writers = false;
    each_endpoint(look, look->subscriptions, list_one, list);
    if (list->n) qsort(list->at, list->n, sizeof *list->at, by_name);
    return list->n;
}

uint32_t nm_look_topics(struct nm_look *look, bool hidden, struct nm_look_topic *at, uint32_t most)
{
    return list_all(look, &(struct listing){at, 0, most, "rt", "", "", hidden, false});
}

uint32_t nm_look_services(struct nm_look *look, bool hidden, struct nm_look_topic *at, uint32_t most)
{
    return list_all(look, &(struct listing){at, 0, most, "rq", "Request", "_Request", hidden, false});
}

uint32_t nm_look_actions(struct nm_look *look, struct nm_look_topic *at, uint32_t most)
{
    return list_all(look, &(struct listing){at, 0, most, "rt", "/_action/feedback", "_FeedbackMessage", true, false});
}

/* ---- the endpoints of one topic ---- */

struct offers {
    const char *name; /* "/red/imu" */
    struct nm_look_offer *at;
    uint32_t n, most;
    bool writes;
};

static void note_offer(void *user, const dds_builtintopic_endpoint_t *endpoint)
{
    struct offers *offers = user;
    dds_reliability_kind_t reliability = DDS_RELIABILITY_BEST_EFFORT;
    dds_durability_kind_t durability = DDS_DURABILITY_VOLATILE;
    dds_liveliness_kind_t liveliness = DDS_LIVELINESS_AUTOMATIC;
    void *bytes = NULL;
    size_t n = 0;
    if (strncmp(endpoint->topic_name, "rt", 2) || strcmp(endpoint->topic_name + 2, offers->name)) return;
    if (offers->n == offers->most) return;
    struct nm_look_offer *offer = &offers->at[offers->n++];
    *offer = (struct nm_look_offer){
        .writes = offers->writes, .deadline = INT64_MAX, .lifespan = INT64_MAX, .lease = INT64_MAX};
    memcpy(offer->gid, endpoint->key.v, sizeof offer->gid);
    snprintf(offer->dds_type, sizeof offer->dds_type, "%s", endpoint->type_name);
    if (dds_qget_userdata(endpoint->qos, &bytes, &n) && bytes &&
        !nm_user_data(bytes, n, "typehash", offer->hash, sizeof offer->hash))
        offer->hash[0] = '\0';
    dds_free(bytes);
    if (!nm_look_plain(offer->hash)) offer->hash[0] = '\0';
    dds_qget_reliability(endpoint->qos, &reliability, NULL);
    dds_qget_durability(endpoint->qos, &durability);
    dds_qget_deadline(endpoint->qos, &offer->deadline);
    dds_qget_lifespan(endpoint->qos, &offer->lifespan);
    dds_qget_liveliness(endpoint->qos, &liveliness, &offer->lease);
    offer->reliable = reliability == DDS_RELIABILITY_RELIABLE;
    offer->latched = durability != DDS_DURABILITY_VOLATILE;
    offer->manual = liveliness != DDS_LIVELINESS_AUTOMATIC;
}

static void absolute(const char *name, char *to, size_t size) { snprintf(to, size, "/%s", name + (*name == '/')); }

uint32_t nm_look_offers(struct nm_look *look, const char *name, struct nm_look_offer *at, uint32_t most)
{
    char full[NM_ROS_NAME];
    struct offers offers = {.name = full, .at = at, .most = most, .writes = true};
    absolute(name, full, sizeof full);
    each_endpoint(look, look->publications, note_offer, &offers);
    offers.writes = false;
    each_endpoint(look, look->subscriptions, note_offer, &offers);
    return offers.n;
}

/* ---- listening ---- */

/* Adds the hash of the type, as every endpoint of ROS 2 does, unless it is "". */
static void look_set_hash(dds_qos_t *qos, const char *hash)
{
    char data[128];
    if (!*hash) return;
    snprintf(data, sizeof data, "typehash=%s;", hash);
    dds_qset_userdata(qos, data, strlen(data));
}

static dds_qos_t *qos_new(bool reliable, bool latched, const char *hash)
{
    dds_qos_t *qos = dds_create_qos();
    dds_qset_reliability(qos, reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT, DDS_MSECS(100));
    dds_qset_durability(qos, latched ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
    dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, 1000);
    look_set_hash(qos, hash);
    return qos;
}

int nm_look_listen(struct nm_look *look, const char *name, struct nm_look_topic *topic, struct nm_err *err)
{
    enum { MOST = 256 };
    struct nm_look_offer *offers = nm_calloc(MOST, sizeof *offers), *first = NULL;
    bool reliable = true, latched = true; /* what all writers offer */
    char wire[NM_ROS_NAME + 2];
    *topic = (struct nm_look_topic){0};
    absolute(name, topic->name, sizeof topic->name);
    uint32_t n = nm_look_offers(look, topic->name, offers, MOST);
    for (uint32_t i = 0; i < n; i++) {
        if (!offers[i].writes || (first && strcmp(first->dds_type, offers[i].dds_type))) continue;
        if (!first) first = &offers[i];
        reliable &= offers[i].reliable;
        latched &= offers[i].latched;
    }
    if (first) {
        memcpy(topic->dds_type, first->dds_type, sizeof topic->dds_type);
        nm_ros_type(topic->dds_type, topic->ros_type, sizeof topic->ros_type);
        topic->type = type_of(topic->dds_type);
        const char *hash = *first->hash || !topic->type ? first->hash : topic->type->hash;
        snprintf(wire, sizeof wire, "rt%s", topic->name);
        dds_qos_t *qos = qos_new(reliable, latched, hash);
        dds_entity_t kind = nm_raw_topic(look->participant, wire, topic->dds_type);
        look->reader = dds_create_reader(look->participant, kind, qos, NULL);
        dds_delete_qos(qos);
    }
    free(offers);
    if (!first) return 1;
    if (look->reader < 0)
        return nm_fail(err, "%s: this topic cannot be read: %s", topic->name, dds_strretcode(look->reader));
    return 0;
}

dds_entity_t nm_look_reader(const struct nm_look *look) { return look->reader; }

int nm_look_take(struct nm_look *look, struct nm_raw *samples, uint32_t n)
{
    return nm_raw_take(look->reader, samples, n);
}

bool nm_look_wait(struct nm_look *look, int64_t timeout)
{
    if (!look->waits) {
        look->waits = dds_create_waitset(look->participant);
        dds_waitset_attach(look->waits, dds_create_readcondition(look->reader, DDS_ANY_STATE), 0);
    }
    return dds_waitset_wait(look->waits, NULL, 0, timeout) > 0;
}

/* ---- writing ---- */

int nm_look_write_to(struct nm_look *look, const char *name, const struct nm_type *type, struct nm_err *err)
{
    char ros[NM_ROS_NAME], wire[NM_ROS_NAME + 2];
    absolute(name, ros, sizeof ros);
    snprintf(wire, sizeof wire, "rt%s", ros);
    dds_qos_t *qos = qos_new(true, true, type->hash); /* suits every reader */
    dds_qset_durability_service(qos, 0, DDS_HISTORY_KEEP_LAST, 1, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED,
                                DDS_LENGTH_UNLIMITED);
    dds_qset_writer_data_lifecycle(qos, false);
    look->writer =
        dds_create_writer(look->participant, nm_raw_topic(look->participant, wire, type->dds_name), qos, NULL);
    dds_delete_qos(qos);
    look->type = type;
    if (look->writer < 0)
        return nm_fail(err, "%s: this topic cannot be written: %s", ros, dds_strretcode(look->writer));
    return 0;
}

uint32_t nm_look_readers(struct nm_look *look)
{
    dds_publication_matched_status_t status;
    if (dds_get_publication_matched_status(look->writer, &status) < 0) return 0;
    return status.current_count;
}

int nm_look_write(struct nm_look *look, const void *message, struct nm_err *err)
{
    size_t size = nm_cdr_size(look->type, message);
    uint8_t *bytes = nm_malloc(size);
    int64_t n = nm_cdr_encode(look->type, message, bytes, size);
    int code = n > 0 ? nm_raw_write(look->writer, bytes, (size_t)n) : DDS_RETCODE_BAD_PARAMETER;
    free(bytes);
    return code < 0 ? nm_fail(err, "the message cannot be sent: %s", dds_strretcode(code)) : 0;
}

/* ---- nodes, from the graph that every ROS 2 participant publishes ---- */

int nm_look_graph(struct nm_look *look, struct nm_err *err)
{
    dds_qos_t *qos = dds_create_qos();
    dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_MSECS(100));
    dds_qset_durability(qos, DDS_DURABILITY_TRANSIENT_LOCAL);
    dds_qset_history(qos, DDS_HISTORY_KEEP_ALL, DDS_LENGTH_UNLIMITED);
    look_set_hash(qos, nm_type_find(&nm_all_types, "rmw_dds_common/msg/ParticipantEntitiesInfo")->hash);
    dds_entity_t topic =
        nm_raw_topic(look->participant, "ros_discovery_info", "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_");
    look->graph = dds_create_reader(look->participant, topic, qos, NULL);
    dds_delete_qos(qos);
    return look->graph < 0 ? nm_fail(err, "the graph cannot be read: %s", dds_strretcode(look->graph)) : 0;
}

enum { ENDS_MOST = 4096 }; /* readers, or writers, of a node; a longer list is not accepted */
enum { OWNERS_MOST = 65536 };

struct lookup { /* finds endpoints by their ids */
    const uint8_t *gids;
    uint32_t n;
    size_t size; /* of an id */
    bool writer;
    nm_look_end *ends;
    void *user;
};

/* "rq/red/shoutRequest" is /red/shout. */
static void tell_end(void *user, const dds_builtintopic_endpoint_t *endpoint)
{
    static const struct {
        const char *prefix, *suffix, *read, *written;
    } rows[] = {{"rt", "", "reads", "publishes"}, {"rq", "Request", "serves", "calls"}, {"rr", "Reply", NULL, NULL}};
    const struct lookup *want = user;
    char name[NM_ROS_NAME];
    uint32_t found = 0;
    while (found < want->n && memcmp(endpoint->key.v, want->gids + found * want->size, sizeof endpoint->key.v)) found++;
    if (found == want->n) return;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t all = strlen(endpoint->topic_name), end = strlen(rows[i].suffix);
        const char *kind = want->writer ? rows[i].written : rows[i].read;
        if (!kind || strncmp(endpoint->topic_name, rows[i].prefix, 2) || all < 2 + end) continue;
        snprintf(name, sizeof name, "%.*s", (int)(all - 2 - end), endpoint->topic_name + 2);
        want->ends(want->user, kind, name, endpoint->type_name);
    }
}

struct telling {
    struct nm_look *look;
    nm_look_node *node;
    const char *name;
    nm_look_end *ends;
    void *user;
    bool owners; /* note the owners of all endpoints */
};

static void note_owner(struct nm_look *look, const uint8_t *gid, const char *node)
{
    for (uint32_t i = 0; i < look->n_owners; i++)
        if (!memcmp(look->owners[i].gid, gid, 16)) return;
    if (look->n_owners == OWNERS_MOST) return;
    look->owners = nm_more(look->owners, look->n_owners, &look->owners_room, sizeof *look->owners);
    struct look_owner *owner = &look->owners[look->n_owners++];
    memcpy(owner->gid, gid, sizeof owner->gid);
    snprintf(owner->node, sizeof owner->node, "%s", node);
}

/* Reads the nodes of one participant; with `t` NULL it only checks that the bytes are valid with ids of this size. */
static bool read_graph(const struct nm_raw *sample, size_t gid_size, const struct telling *t)
{
    struct unpack u;
    unpack_begin(&u, sample->bytes, sample->size);
    unpack_raw(&u, gid_size);
    uint32_t nodes = unpack_count(&u, 16);
    for (uint32_t i = 0; i < nodes && !u.bad; i++) {
        char full[2 * NM_ROS_NAME];
        const char *space = unpack_text(&u), *node = unpack_text(&u);
        if (u.bad || *space != '/' || !nm_look_plain(space) || !nm_look_plain(node)) return false;
        snprintf(full, sizeof full, "%.255s/%.255s", space[1] ? space : "", node);
        if (t && t->node) t->node(t->user, full);
        bool wanted = t && t->ends && t->name && !strcmp(full, t->name);
        for (int writer = 0; writer < 2; writer++) {
            uint32_t n = unpack_count(&u, gid_size);
            struct lookup want = {.gids = unpack_raw(&u, n * gid_size), .n = n, .size = gid_size, .writer = writer};
            if (u.bad || n > ENDS_MOST) return false;
            for (uint32_t k = 0; t && t->owners && k < n; k++) note_owner(t->look, want.gids + k * gid_size, full);
            if (!wanted || !n) continue;
            want.ends = t->ends;
            want.user = t->user;
            each_endpoint(t->look, writer ? t->look->publications : t->look->subscriptions, tell_end, &want);
        }
    }
    return !u.bad && u.n - u.at < 4; /* everything except padding was read */
}

static void take_graph(struct nm_look *look, const struct telling *telling)
{
    struct nm_raw samples[NM_RAW_MOST];
    int n;
    while ((n = nm_raw_take(look->graph, samples, NM_RAW_MOST)) > 0) {
        for (int i = 0; i < n; i++) {
            if (!samples[i].sample) continue;
            size_t size = read_graph(&samples[i], 16, NULL) ? 16 : 24; /* up to Humble */
            if (read_graph(&samples[i], size, NULL)) read_graph(&samples[i], size, telling);
        }
        nm_raw_free(samples, n);
    }
}

void nm_look_nodes(struct nm_look *look, nm_look_node *node, const char *name, nm_look_end *ends, void *user)
{
    take_graph(look, &(struct telling){look, node, name, ends, user, false});
}

bool nm_look_owner(struct nm_look *look, const uint8_t gid[16], char *to, size_t size)
{
    if (!look->graph && nm_look_graph(look, NULL)) return false;
    take_graph(look, &(struct telling){.look = look, .owners = true});
    for (uint32_t i = 0; i < look->n_owners; i++) {
        if (memcmp(look->owners[i].gid, gid, 16)) continue;
        snprintf(to, size, "%s", look->owners[i].node);
        return true;
    }
    return false;
}

/* ---- calls of services, as rmw_cyclonedds frames them: a client id and a sequence number before the message ---- */

enum { IDS = 16 };

struct nm_look_client {
    struct nm_look *look;
    char name[NM_ROS_NAME];
    const struct nm_type *request_type, *reply_type; /* of the messages; calls with bytes do not need structs */
    dds_entity_t reader, writer;
    dds_instance_handle_t id;
    int64_t seq; /* of the open request, 0: none */
};

static dds_entity_t open_half(struct nm_look *look, bool reply, const char *name, const struct nm_type *type)
{
    char wire[NM_ROS_NAME + 16], data[160];
    dds_qos_t *qos = dds_create_qos();
    dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_MSECS(100));
    dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, 10);
    dds_qset_writer_data_lifecycle(qos, false);
    snprintf(data, sizeof data, "clientid=6e.75.74.6d.65.67;typehash=%s;", type->hash);
    dds_qset_userdata(qos, data, strlen(data));
    snprintf(wire, sizeof wire, "%s/%s%s", reply ? "rr" : "rq", name + (*name == '/'), reply ? "Reply" : "Request");
    dds_entity_t topic = nm_raw_topic(look->participant, wire, type->dds_name);
    dds_entity_t half = reply ? dds_create_reader(look->participant, topic, qos, NULL)
                              : dds_create_writer(look->participant, topic, qos, NULL);
    dds_delete_qos(qos);
    return half;
}

struct nm_look_client *nm_look_client_new(struct nm_look *look, const char *name, const struct nm_type *request_type,
                                          const struct nm_type *reply_type, struct nm_err *err)
{
    struct nm_look_client *client = nm_calloc(1, sizeof *client);
    *client = (struct nm_look_client){.look = look, .request_type = request_type, .reply_type = reply_type};
    snprintf(client->name, sizeof client->name, "/%s", name + (*name == '/'));
    client->reader = open_half(look, true, name, reply_type);
    client->writer = open_half(look, false, name, request_type);
    if (client->reader >= 0 && client->writer >= 0) {
        dds_get_instance_handle(client->writer, &client->id);
        return client;
    }
    nm_fail(err, "%s: this service cannot be called: %s", client->name,
            dds_strretcode(client->reader < 0 ? client->reader : client->writer));
    nm_look_client_free(client);
    return NULL;
}

void nm_look_client_free(struct nm_look_client *client)
{
    if (!client) return;
    if (client->writer > 0) dds_delete(client->writer);
    if (client->reader > 0) dds_delete(client->reader);
    free(client);
}

static bool served(const struct nm_look_client *client)
{
    dds_publication_matched_status_t out = {0};
    dds_subscription_matched_status_t in = {0};
    dds_get_publication_matched_status(client->writer, &out);
    dds_get_subscription_matched_status(client->reader, &in);
    return out.current_count && in.current_count;
}

/* Sends the bytes of a request, which include their header. */
static int ask(struct nm_look_client *client, const void *body, size_t n, struct nm_err *err)
{
    if (!served(client)) return 0;
    int64_t seq = ++client->look->calls;
    uint8_t *bytes = nm_malloc(n + IDS);
    memcpy(bytes, body, PACK_HEAD);
    memcpy(bytes + PACK_HEAD, &client->id, 8);
    memcpy(bytes + PACK_HEAD + 8, &seq, 8);
    memcpy(bytes + PACK_HEAD + IDS, (const uint8_t *)body + PACK_HEAD, n - PACK_HEAD);
    int code = nm_raw_write(client->writer, bytes, n + IDS);
    free(bytes);
    if (code < 0) return nm_fail(err, "%s: the request cannot be sent: %s", client->name, dds_strretcode(code));
    client->seq = seq;
    return 1;
}

int nm_look_ask(struct nm_look_client *client, const void *request, struct nm_err *err)
{
    size_t size = nm_cdr_size(client->request_type, request);
    uint8_t *bytes = nm_malloc(size);
    int64_t n = nm_cdr_encode(client->request_type, request, bytes, size);
    int sent =
        n > 0 ? ask(client, bytes, (size_t)n, err) : nm_fail(err, "%s: the request cannot be sent", client->name);
    free(bytes);
    return sent;
}

/* The body of a reply to our request, with its own header; the caller frees it. NULL if the reply is not for us. */
static uint8_t *own_reply(const struct nm_look_client *client, const struct nm_raw *sample, size_t *n)
{
    struct unpack u;
    unpack_begin(&u, sample->bytes, sample->size);
    if (unpack_u64(&u) != client->id || (int64_t)unpack_u64(&u) != client->seq || u.bad) return NULL;
    *n = sample->size - IDS;
    uint8_t *bytes = nm_malloc(*n);
    memcpy(bytes, sample->bytes, PACK_HEAD);
    memcpy(bytes + PACK_HEAD, sample->bytes + u.at, *n - PACK_HEAD);
    return bytes;
}

/* 1 with bytes that the caller frees; 0: none yet; -1 with a sentence. */
static int answer(struct nm_look_client *client, uint8_t **bytes, size_t *size, struct nm_err *err)
{
    struct nm_raw samples[NM_RAW_MOST];
    int n;
    *bytes = NULL;
    if (!client->seq) return 0;
    bool there = served(client); /* checked before the last look, so that everything the server sent has arrived */
    while (!*bytes && (n = nm_raw_take(client->reader, samples, NM_RAW_MOST)) > 0) {
        for (int i = 0; i < n && !*bytes; i++)
            if (samples[i].sample) *bytes = own_reply(client, &samples[i], size);
        nm_raw_free(samples, n);
    }
    if (!*bytes && !there) return nm_fail(err, "%s: the server is gone and has not answered", client->name);
    if (*bytes) client->seq = 0;
    return *bytes != NULL;
}

int nm_look_answer(struct nm_look_client *client, void *reply, struct nm_err *err)
{
    uint8_t *bytes;
    size_t n;
    int got = answer(client, &bytes, &n, err);
    if (got <= 0) return got;
    int bad = client->reply_type->blobs ? nm_fail(err, "%s: a reply with a blob cannot be read", client->name)
                                        : nm_cdr_decode(client->reply_type, reply, bytes, n, NULL, err);
    free(bytes);
    return bad ? -1 : 1;
}

uint8_t *nm_look_call(struct nm_look *look, const char *name, const struct nm_type *request_type, const void *request,
                      size_t n, const struct nm_type *reply_type, size_t *size, double timeout, struct nm_err *err)
{
    struct nm_look_client *client = nm_look_client_new(look, name, request_type, reply_type, err);
    int64_t until = dds_time() + (int64_t)(timeout * 1e9);
    int sent = 0, got = 0;
    uint8_t *reply = NULL;
    if (!client) return NULL;
    while (!got && sent >= 0 && dds_time() < until) {
        if (!sent) sent = ask(client, request, n, err);
        if (sent > 0) got = answer(client, &reply, size, err);
        if (!got) dds_sleepfor(DDS_MSECS(5));
    }
    if (!got && sent >= 0)
        nm_fail(err, sent ? "%s: no reply within %g s" : "%s: nobody serves it (waited %g s)", name, timeout);
    nm_look_client_free(client);
    return reply;
}

/* ---- the definition of a type: our own if it is the same, otherwise the node of the writer is asked ---- */

enum { ENDS = 256 };

/* Whether a text defines the type with this hash; "" accepts every valid text. */
static bool defines(const char *text, const char *type, const char *hash, struct nm_err *err)
{
    struct nm_arena arena = {0};
    struct nm_defs set = {.arena = &arena};
    const struct nm_def *def = NULL;
    if (!nm_defs_add_merged(&set, type, type, text, strlen(text), err) && !nm_defs_link(&set, err))
        def = nm_defs_find(&set, type);
    bool fits = def && (!*hash || !strcmp(nm_def_hash(&set, def), hash));
    if (def && !fits) nm_fail(err, "%s: the description of the type by its node does not have the hash %s", type, hash);
    nm_arena_free(&arena);
    return fits;
}

static const char *ask_node(struct nm_look *look, const char *node, const struct nm_look_topic *topic, const char *hash,
                            struct nm_arena *arena, double timeout, struct nm_err *err)
{
    char service[2 * NM_ROS_NAME + 32];
    struct pack request = {0};
    struct unpack u;
    size_t n = 0;
    const char *text = NULL;
    snprintf(service, sizeof service, "%s/get_type_description", node);
    pack_begin(&request);
    pack_text(&request, topic->ros_type);
    pack_text(&request, hash);
    pack_u8(&request, false);
    uint8_t *reply = nm_look_call(look, service, &GetTypeDescription_Request_type, request.bytes, request.n,
                                  &GetTypeDescription_Response_type, &n, timeout, err);
    if (reply && unpack_begin(&u, reply, n)) text = describe_read(arena, &u, err);
    free(reply);
    free(request.bytes);
    return text && defines(text, topic->ros_type, hash, err) ? text : NULL;
}

const char *nm_look_schema(struct nm_look *look, const struct nm_look_topic *topic, struct nm_arena *arena,
                           double timeout, struct nm_err *err)
{
    struct nm_look_offer *offers = nm_calloc(ENDS, sizeof *offers);
    const char *text = NULL;
    struct nm_err why = {0};
    uint32_t n = nm_look_offers(look, topic->name, offers, ENDS);
    int64_t until = dds_time() + (int64_t)(timeout * 1e9);
    bool asked = false;
    /* ours, unless a writer says that it has another one */
    bool ours = topic->type != NULL;
    for (uint32_t i = 0; i < n; i++)
        if (offers[i].writes && *offers[i].hash && ours) ours = !strcmp(offers[i].hash, topic->type->hash);
    if (ours) text = topic->type->schema;
    for (uint32_t i = 0; i < n && !text; i++) {
        char node[2 * NM_ROS_NAME];
        bool known = false;
        if (!offers[i].writes || strcmp(offers[i].dds_type, topic->dds_type)) continue;
        while (!(known = nm_look_owner(look, offers[i].gid, node, sizeof node)) && dds_time() < until)
            dds_sleepfor(DDS_MSECS(10));
        double left = (double)(until - dds_time()) * 1e-9;
        if (!known) continue;
        asked = true;
        text = ask_node(look, node, topic, offers[i].hash, arena, left > 0.1 ? left : 0.1, &why);
    }
    free(offers);
    if (text) return text;
    if (asked)
        nm_fail(err, "%s: the type %s is not known here, and its node does not describe it: %.*s", topic->name,
                topic->ros_type, (int)strcspn(why.text, "\n"), why.text);
    else
        nm_fail(err, "%s: the type %s is not known here, and its writer is no ROS 2 node that could describe it",
                topic->name, topic->ros_type);
    return NULL;
}
