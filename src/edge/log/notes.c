/* The log's own topics: which messages each run consumed and made, changes of parameters, snapshots, statistics. They
 * begin with /nutmeg/, where no line-up has a topic; only the robot's description has the name that ROS tools know. */
#include <stdlib.h>
#include <string.h>

#include "body/robot.h"
#include "codec/cdr.h"
#include "core/params.h"
#include "core/stamp.h"
#include "edge/dds/stamps.h"
#include "edge/log/collect.h"
#include "nutmeg_msgs/CycleRecord.h"
#include "nutmeg_msgs/CycleSnapshot.h"
#include "nutmeg_msgs/CycleTopics.h"
#include "nutmeg_msgs/ParameterChange.h"
#include "nutmeg_msgs/TopicStatistics.h"
#include "std_msgs/String.h"

static const int64_t report_every = 1000000000; /* ns */

static const struct {
    const char *topic;
    const struct nm_type *type;
    bool latched;
} own[OWN] = {
    [OWN_RECORD] = {"/nutmeg/runs", &CycleRecord_type, false},
    [OWN_TOPICS] = {"/nutmeg/topics", &CycleTopics_type, true},
    [OWN_SNAPSHOT] = {"/nutmeg/snapshots", &CycleSnapshot_type, false},
    [OWN_PARAMETERS] = {"/nutmeg/parameters", &ParameterChange_type, true},
    [OWN_CYCLES] = {"/nutmeg/cycles", &CycleStatistics_type, false},
    [OWN_TRAFFIC] = {"/nutmeg/traffic", &TopicStatistics_type, false},
    [OWN_DESCRIPTION] = {"/robot_description", &String_type, true},
};

static int64_t encode(struct nm_log *log, const struct nm_type *type, const void *message)
{
    size_t size = nm_cdr_size(type, message);
    return nm_cdr_encode(type, message, log_room(&log->bytes, &log->bytes_room, size), size);
}

void log_own(struct nm_log *log, enum own_topic topic, int64_t time, const struct nm_type *type, const void *message)
{
    int64_t n = encode(log, type, message);
    uint64_t when = (uint64_t)(time + log->offset);
    log->own_count[topic]++;
    for (int k = 0; k < TAPES && n >= 0; k++)
        if (log->tapes[k])
            tape_put(log->tapes[k], &(struct nm_mcap_message){(uint16_t)log->own[topic][k],
                                                              (uint32_t)log->own_count[topic],
                                                              when,
                                                              when,
                                                              {log->bytes, (size_t)n}});
}

/* ---- what stands in every file: what the notes refer to, and the robot ---- */

static void stand(struct nm_log *log, enum own_topic topic, const uint8_t *bytes, size_t n)
{
    uint64_t time = (uint64_t)(nm_player_now(log->player) + log->offset);
    log->own_count[topic]++;
    for (int k = 0; k < TAPES; k++)
        if (log->tapes[k])
            tape_stand(log->tapes[k],
                       &(struct nm_mcap_message){
                           (uint16_t)log->own[topic][k], (uint32_t)log->own_count[topic], time, time, {bytes, n}});
}

static void tell_topics(struct nm_log *log, uint32_t cycle)
{
    CycleTopics *message = log->scratch;
    uint32_t n;
    const struct nm_record_topic *topics = nm_record_topics(log->record, cycle, &n);
    int64_t now = nm_player_now(log->player);
    if (!n) return;
    nm_reset(&CycleTopics_type, message);
    message->header.stamp = nm_stamp(now + log->offset);
    nm_text(message->cycle, "%s", nm_record_name(log->record, cycle));
    for (uint32_t i = 0; i < n && i < sizeof message->topics.at / sizeof message->topics.at[0]; i++) {
        nm_text(message->topics.at[i], "/%s", log->lineup->topics[topics[i].topic].name);
        nm_text(message->makers.at[i], "%s", nm_record_name(log->record, topics[i].maker));
        message->topics.n = message->makers.n = i + 1;
    }
    int64_t bytes = encode(log, &CycleTopics_type, message);
    if (bytes >= 0) stand(log, OWN_TOPICS, log->bytes, (size_t)bytes);
}

/* So that a viewer shows the robot, whichever file it opens. */
static void tell_description(struct nm_log *log)
{
    size_t n;
    const uint8_t *bytes = nm_robot_description(&log->arena, log->lineup->robot_folder, &n);
    if (bytes) stand(log, OWN_DESCRIPTION, bytes, n);
}

static bool has_description(const struct nm_log *log)
{
    return log->lineup->robot_folder && nm_lineup_topic(log->lineup, "robot_description") == NM_NONE;
}

int notes_open(struct nm_log *log, struct nm_err *err)
{
    size_t most = 0;
    for (int i = 0; i < OWN; i++) {
        if (own[i].type->size > most) most = own[i].type->size;
        if (i == OWN_DESCRIPTION && !has_description(log)) continue;
        for (int k = 0; k < TAPES; k++) {
            if (!log->tapes[k]) continue;
            log->own[i][k] = tape_channel(log->tapes[k], own[i].topic, own[i].type->name, own[i].type->schema,
                                          channel_metadata(log, own[i].type, NULL, own[i].latched, NULL), err);
            if (log->own[i][k] < 0) return -1;
        }
    }
    log->scratch = nm_take(&log->arena, most);
    log->noted = nm_take_n(&log->arena, uint64_t, nm_record_cycles(log->record));
    log->told = nm_take_n(&log->arena, uint64_t, nm_record_cycles(log->record));
    for (uint32_t c = 0; c < nm_record_cycles(log->record); c++) tell_topics(log, c);
    if (has_description(log)) tell_description(log);
    size_t marks = 0;
    for (uint32_t c = 0; c < log->lineup->n_cycles; c++) marks += nm_cycle_mark_size(log->player, c);
    log->marks = nm_take(&log->arena, marks + 1);
    return 0;
}

/* ---- runs ---- */

static void put_seqs(TopicSequence *to, uint32_t *n, uint32_t room, const struct nm_seqs *seqs, uint32_t count)
{
    for (*n = 0; *n < count && *n < room; ++*n)
        to[*n] = (TopicSequence){.topic = (uint16_t)seqs[*n].at, .first = seqs[*n].first, .last = seqs[*n].last};
}

static void tell_run(struct nm_log *log, const struct nm_run *run)
{
    CycleRecord *message = log->scratch;
    enum { SEQS = sizeof message->consumed.at / sizeof message->consumed.at[0] };
    nm_reset(&CycleRecord_type, message);
    message->header.stamp = message->start = nm_stamp(run->now + log->offset);
    nm_text(message->cycle, "%s", nm_record_name(log->record, run->cycle));
    message->run = run->run;
    message->parameter_generation = run->generation;
    message->watched = run->watched;
    put_seqs(message->consumed.at, &message->consumed.n, SEQS, run->consumed, run->n_consumed);
    put_seqs(message->produced.at, &message->produced.n, SEQS, run->made, run->n_made);
    for (uint32_t i = 0; i < run->n_asked; i++) {
        ServiceCall *call = nm_append(&message->calls, &ServiceCall_type);
        if (!call) break;
        *call = (ServiceCall){(uint16_t)run->asked[i].at, run->asked[i].seq, run->asked[i].caller, run->asked[i].call};
    }
    log_own(log, OWN_RECORD, run->now, &CycleRecord_type, message);
}

/* Puts the signature behind the state. */
static void sign(struct nm_log *log, CycleSnapshot *message)
{
    uint32_t n = message->state.n;
    uint8_t *to = log_room(&log->picture, &log->picture_room, n + NM_OWN_SIGNATURE);
    memcpy(to, message->state.data, n);
    nm_own_sign(log->key, message->cycle, message->run, to, n, to + n);
    n += NM_OWN_SIGNATURE;
    message->state = (struct nm_blob){.data = to, .n = n, .cap = n};
}

static void tell_snapshot(struct nm_log *log, uint32_t cycle)
{
    size_t n;
    struct nm_run run;
    const void *bytes = nm_record_snapshot(log->record, cycle, &n, &run);
    if (!bytes) return;
    CycleSnapshot message = {.run = run.run, .parameter_generation = run.generation};
    message.header.stamp = nm_stamp(run.now + log->offset);
    nm_text(message.cycle, "%s", nm_record_name(log->record, cycle));
    message.state = (struct nm_blob){.data = (uint8_t *)(uintptr_t)bytes, .n = (uint32_t)n, .cap = (uint32_t)n};
    if (n && log->signs) sign(log, &message);
    if (n) log_own(log, OWN_SNAPSHOT, run.now, &CycleSnapshot_type, &message);
    nm_record_give(log->record, cycle);
}

/* ---- parameters ---- */

static void tell_change(struct nm_log *log, const struct nm_record_change *change)
{
    ParameterChange *message = log->scratch;
    int64_t now = nm_player_now(log->player);
    nm_reset(&ParameterChange_type, message);
    message->header.stamp = nm_stamp(now + log->offset);
    message->generation = change->generation;
    if (change->swap != NM_NONE) nm_text(message->swapped, "%s", log->lineup->instances[change->swap].name);
    for (uint32_t i = 0; i < change->n; i++) {
        const struct nm_change *c = &change->changes[i];
        const struct nm_param *param = &nm_player_module(log->player, c->instance)->params[c->param];
        char value[NM_VALUE_PRINT];
        nm_value_print(param, &c->value, value, sizeof value);
        nm_text(message->settings.at[message->settings.n], "%s.%s=%s", log->lineup->instances[c->instance].name,
                param->name, value);
        message->settings.n++;
    }
    log_own(log, OWN_PARAMETERS, now, &ParameterChange_type, message);
}

/* ---- statistics ---- */

static void tell_cycles(struct nm_log *log, int64_t now)
{
    CycleStatistics *message = log->scratch;
    unsigned char *mark = (unsigned char *)log->marks;
    for (uint32_t c = 0; c < log->lineup->n_cycles; c++) {
        nm_cycle_report(log->player, c, (struct nm_cycle_mark *)(void *)mark, message);
        mark += nm_cycle_mark_size(log->player, c);
        message->header.stamp = nm_stamp(now + log->offset);
        log_own(log, OWN_CYCLES, now, &CycleStatistics_type, message);
    }
}

static uint64_t drops_of(const struct nm_log *log, const struct log_channel *channel, int tape)
{
    return channel->id[tape] ? tape_dropped(log->tapes[tape], channel->id[tape]) : 0;
}

static uint64_t losses(const struct nm_log *log)
{
    uint64_t sum = 0;
    int tape = log->tapes[0] ? 0 : 1;
    for (uint32_t t = 0; t < log->lineup->n_topics; t++) sum += log->lost[t];
    for (uint32_t i = 0; i < log->n_channels; i++) sum += drops_of(log, &log->channels[i], tape);
    for (int i = 0; i < OWN; i++) sum += tape_dropped(log->tapes[tape], log->own[i][tape]);
    for (uint32_t c = 0; c < nm_record_cycles(log->record); c++) sum += nm_record_lost(log->record, c);
    return sum + nm_record_lost_changes(log->record);
}

static void add_traffic(TopicStatistics *message, const char *topic, uint64_t count, uint64_t dropped, uint64_t bytes)
{
    uint32_t i = message->topic.n++;
    message->rate.n = message->bytes.n = message->count.n = message->dropped.n = message->refused.n = i + 1;
    nm_text(message->topic.at[i], "%s", topic);
    message->count.at[i] = count;
    message->dropped.at[i] = dropped;
    message->bytes.at[i] = (float)bytes;
    message->rate.at[i] = 0;
    message->refused.at[i] = 0;
}

/* Only what lost something, and only when that has changed: in a sound log the topic stays empty. */
static void tell_losses(struct nm_log *log, int64_t now)
{
    TopicStatistics *message = log->scratch;
    uint32_t room = sizeof message->count.at / sizeof message->count.at[0];
    uint64_t sum = losses(log);
    int tape = log->tapes[0] ? 0 : 1;
    if (sum == log->told_losses) return;
    log->told_losses = sum;
    nm_reset(&TopicStatistics_type, message);
    message->header.stamp = nm_stamp(now + log->offset);
    nm_text(message->edge, "log");
    for (uint32_t i = 0; i < log->n_channels && message->topic.n < room; i++) {
        const struct log_channel *c = &log->channels[i];
        uint64_t dropped = drops_of(log, c, tape) + log->lost[c->topic];
        if (dropped) add_traffic(message, log->lineup->topics[c->topic].name, c->count, dropped, c->seen);
    }
    for (int i = 0; i < OWN && message->topic.n < room; i++) {
        uint64_t dropped = tape_dropped(log->tapes[tape], log->own[i][tape]);
        for (uint32_t c = 0; i == OWN_RECORD && c < nm_record_cycles(log->record); c++)
            dropped += nm_record_lost(log->record, c);
        if (i == OWN_PARAMETERS) dropped += nm_record_lost_changes(log->record);
        if (dropped) add_traffic(message, own[i].topic, log->own_count[i], dropped, 0);
    }
    log_own(log, OWN_TRAFFIC, now, &TopicStatistics_type, message);
}

/* ---- all of it ---- */

void notes_look(struct nm_log *log)
{
    for (uint32_t c = 0; c < nm_record_cycles(log->record); c++) log->noted[c] = nm_record_count(log->record, c);
}

void notes_take(struct nm_log *log, bool last)
{
    struct nm_record_change change;
    struct nm_run run;
    int64_t now = nm_player_now(log->player);
    while (nm_record_change(log->record, &change)) tell_change(log, &change);
    for (uint32_t c = 0; c < nm_record_cycles(log->record); c++) {
        while (log->told[c] < log->noted[c] && nm_record_next(log->record, c, &run))
            tell_run(log, &run), log->told[c]++;
        tell_snapshot(log, c);
    }
    uint32_t begun = 0;
    for (int k = 0; k < TAPES; k++) begun += log->tapes[k] ? tape_begun(log->tapes[k]) : 0;
    int64_t every = log->options.snapshots ? log->options.snapshots : 5 * report_every;
    if (now - log->snapped >= every || begun != log->begun) {
        log->snapped = now;
        log->begun = begun;
        for (uint32_t c = 0; c < log->lineup->n_cycles; c++) nm_record_want(log->record, c);
    }
    if (!last && now - log->reported < report_every) return;
    log->reported = now;
    if (!log->options.virtual_time) tell_cycles(log, now); /* how long a run took is no part of a simulated robot */
    tell_losses(log, now);
}
