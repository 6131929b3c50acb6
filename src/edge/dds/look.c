#include "edge/dds/look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/cdr.h"
#include "edge/dds/domain.h"
#include "edge/dds/look_inside.h"

struct nm_look *nm_look_new(int domain, bool network, struct nm_err *err)
{
    int64_t number = domain < 0 ? nm_domain_usual(err) : domain;
    if (number < 0) return NULL;
    struct nm_look *look = calloc(1, sizeof *look);
    if (!look) abort();
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

/* ---- who is there ---- */

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

void each_endpoint(struct nm_look *look, dds_entity_t reader, endpoint_found *call, void *user)
{
    enum { MOST = 4096 };
    static const uint32_t alive = DDS_ANY_SAMPLE_STATE | DDS_ANY_VIEW_STATE | DDS_ALIVE_INSTANCE_STATE;
    void **samples = calloc(MOST, sizeof *samples);
    dds_sample_info_t *info = calloc(MOST, sizeof *info);
    dds_guid_t own;
    if (!samples || !info) abort();
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
    const char *part;            /* of the type's name that is cut off */
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

/* ---- the ends of one topic ---- */

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

void look_set_hash(dds_qos_t *qos, const char *hash)
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
    struct nm_look_offer *offers = calloc(MOST, sizeof *offers), *first = NULL;
    bool reliable = true, latched = true; /* what all writers have in common */
    char wire[NM_ROS_NAME + 2];
    if (!offers) abort();
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
    if (look->reader < 0) return nm_fail(err, "%s: cannot be read: %s", topic->name, dds_strretcode(look->reader));
    return 0;
}

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
    dds_qos_t *qos = qos_new(true, true, type->hash); /* satisfies whoever listens */
    dds_qset_durability_service(qos, 0, DDS_HISTORY_KEEP_LAST, 1, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED,
                                DDS_LENGTH_UNLIMITED);
    dds_qset_writer_data_lifecycle(qos, false);
    look->writer =
        dds_create_writer(look->participant, nm_raw_topic(look->participant, wire, type->dds_name), qos, NULL);
    dds_delete_qos(qos);
    look->type = type;
    if (look->writer < 0) return nm_fail(err, "%s: cannot be written: %s", ros, dds_strretcode(look->writer));
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
    uint8_t *bytes = malloc(size);
    if (!bytes) abort();
    int64_t n = nm_cdr_encode(look->type, message, bytes, size);
    int code = n > 0 ? nm_raw_write(look->writer, bytes, (size_t)n) : DDS_RETCODE_BAD_PARAMETER;
    free(bytes);
    return code < 0 ? nm_fail(err, "the message cannot be sent: %s", dds_strretcode(code)) : 0;
}
