/* Writers and readers elsewhere that use one of our topics with another type. Cyclone does not connect them to us, so
 * without this nobody would learn why nothing arrives. */
#include <stdio.h>

#include "edge/dds/inside.h"

bool endpoint_hash(const dds_builtintopic_endpoint_t *endpoint, char *to, size_t size)
{
    void *bytes = NULL;
    size_t n = 0;
    bool has = dds_qget_userdata(endpoint->qos, &bytes, &n) && bytes && nm_user_data(bytes, n, "typehash", to, size);
    dds_free(bytes);
    return has;
}

/* What may be printed; peers choose their names. */
static void plain(char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~') *text = '?';
}

/* "The process talker (4711) on striker" as its participant tells it. */
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
        snprintf(text, sizeof text, "%s %s it as %.150s, which is not our %s: nothing passes between it and us.", who,
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
    void **samples = calloc(MOST, sizeof *samples);
    dds_sample_info_t *info = calloc(MOST, sizeof *info);
    if (!samples || !info) abort();
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
