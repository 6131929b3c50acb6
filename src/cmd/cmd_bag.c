/* nutmeg bag: logs (MCAP files and rosbag2 folders): what is in them, whether they are sound, parts of them, and what
 * can be saved of one that was cut off. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/bag.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "codec/text.h"

/* ---- info ---- */

/* Topics of all parts together, by name. */
struct topic {
    char *name, *type, *encoding;
    uint64_t messages;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct topic *)a)->name, ((const struct topic *)b)->name);
}

static struct topic *topics_of(struct bag *bag, uint32_t *n)
{
    uint32_t most = 1;
    for (uint32_t i = 0; i < bag->n; i++) most += bag->parts[i].contents.n_channels;
    struct topic *topics = nm_take_n(&bag->arena, struct topic, most);
    *n = 0;
    for (uint32_t i = 0; i < bag->n; i++) {
        const struct nm_mcap_contents *c = &bag->parts[i].contents;
        for (uint32_t k = 0; k < c->n_channels; k++) {
            const struct nm_mcap_schema *schema = nm_mcap_schema_of(c, c->channels[k].schema_id);
            struct topic topic = {nm_take_text(&bag->arena, BAG_CLEAN(c->channels[k].topic)),
                                  nm_take_text(&bag->arena, schema ? BAG_CLEAN(schema->name) : ""),
                                  nm_take_text(&bag->arena, BAG_CLEAN(c->channels[k].message_encoding)), c->counts[k]};
            uint32_t at = 0;
            while (at < *n && (strcmp(topics[at].name, topic.name) || strcmp(topics[at].type, topic.type))) at++;
            if (at < *n)
                topics[at].messages += topic.messages;
            else
                topics[(*n)++] = topic;
        }
    }
    qsort(topics, *n, sizeof *topics, by_name);
    return topics;
}

/* "2026-11-15 10:11:12.345 UTC"; logs of the simulator begin at 0. */
static const char *time_text(char to[64], uint64_t ns)
{
    time_t seconds = (time_t)(ns / 1000000000);
    struct tm utc;
    char date[32];
    if (!gmtime_r(&seconds, &utc) || !strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &utc)) *date = '\0';
    snprintf(to, 64, "%s.%03llu UTC", date, (unsigned long long)(ns / 1000000 % 1000));
    return to;
}

struct sums {
    uint64_t bytes, packed, unpacked, chunks, damaged, orphans;
    uint32_t compressions; /* bits: stored, lz4, zstd */
};

static struct sums sums_of(const struct bag *bag)
{
    struct sums s = {0};
    for (uint32_t i = 0; i < bag->n; i++) {
        const struct nm_mcap_contents *c = &bag->parts[i].contents;
        s.bytes += bag->parts[i].source.size;
        s.damaged += c->damaged;
        s.orphans += c->orphans;
        s.chunks += c->n_chunks;
        for (uint32_t k = 0; k < c->n_chunks; k++) {
            s.packed += c->chunks[k].compressed_size;
            s.unpacked += c->chunks[k].uncompressed_size;
            s.compressions |= !c->chunks[k].compression.n                     ? 1u
                              : nm_bytes_are(c->chunks[k].compression, "lz4") ? 2u
                                                                              : 4u;
        }
    }
    return s;
}

static void print_general(const struct bag *bag, const struct sums *s, uint32_t topics)
{
    char size[32], from[64], to[64];
    const struct nm_mcap_contents *c = &bag->parts[0].contents;
    printf("  size        %s", bytes_text(size, (double)s->bytes));
    if (bag->n > 1) printf(" in %u files", bag->n);
    if (s->chunks)
        printf(", %llu chunk%s%s%s%s, %.2f : 1", (unsigned long long)s->chunks, s->chunks == 1 ? "" : "s",
               s->compressions & 4 ? " zstd" : "", s->compressions & 2 ? " lz4" : "",
               s->compressions & 1 ? " stored" : "", s->packed ? (double)s->unpacked / (double)s->packed : 1.0);
    printf("\n  written by  %s, profile %s\n", c->library.n ? BAG_CLEAN(c->library) : "(it does not say)",
           c->profile.n ? BAG_CLEAN(c->profile) : "(none)");
    if (bag->messages)
        printf("  time        %.3f s, %s to %s\n", (double)(bag->last - bag->first) * 1e-9, time_text(from, bag->first),
               time_text(to, bag->last));
    printf("  messages    %llu of %u topic%s\n", (unsigned long long)bag->messages, topics, topics == 1 ? "" : "s");
}

/* Attachments and metadata of one part. */
static void print_extras(const struct bag_part *part)
{
    char size[32];
    const struct nm_mcap_contents *c = &part->contents;
    for (uint32_t i = 0; i < c->n_attachments; i++)
        printf("  attachment  %s (%s, %s)\n", BAG_CLEAN(c->attachments[i].name),
               BAG_CLEAN(c->attachments[i].media_type), bytes_text(size, (double)c->attachments[i].data_size));
    struct nm_mcap_window window = {0};
    struct nm_mcap_record record;
    for (uint32_t i = 0; i < c->n_metadata; i++) {
        struct nm_bytes key, value;
        printf("  metadata    %s:", BAG_CLEAN(c->metadata[i].name));
        if (nm_mcap_record_at(&part->source, &window, c->metadata[i].offset, &record, NULL) ||
            record.op != NM_MCAP_METADATA)
            record.metadata.metadata.n = 0;
        while (nm_mcap_next_text(&record.metadata.metadata, &key, &value))
            if (value.n < 80)
                printf(" %s=%s", BAG_CLEAN(key), BAG_CLEAN(value));
            else /* for machines */
                printf(" %s (%zu bytes)", BAG_CLEAN(key), value.n);
        putchar('\n');
    }
    nm_mcap_window_free(&window);
}

/* What is wrong with a part, and what to do about it. */
static void print_state(const struct bag_part *part)
{
    const struct nm_mcap_contents *c = &part->contents;
    if (!c->whole)
        printf("  %scut off%s     after byte %llu of %llu; nutmeg bag recover makes it whole\n",
               ink(stdout, INK_YELLOW), ink(stdout, INK_PLAIN), (unsigned long long)c->end,
               (unsigned long long)part->source.size);
    else if (!c->summary)
        printf("  no index    the whole file had to be read; nutmeg bag recover makes one\n");
    if (c->damaged || c->orphans)
        printf("  %sdamaged%s     %llu records, %llu messages without a channel; nutmeg bag check tells more\n",
               ink(stdout, INK_RED), ink(stdout, INK_PLAIN), (unsigned long long)c->damaged,
               (unsigned long long)c->orphans);
}

static void print_json_text(const char *text)
{
    struct nm_field field = {.kind = NM_STRING, .elem = (uint32_t)strlen(text)};
    struct nm_place place = {&field, NM_ONE, (void *)(uintptr_t)text};
    struct nm_text_out out = {.grows = true};
    nm_print_place(&out, &place, NM_TEXT_JSON);
    fputs(out.text, stdout);
    free(out.text);
}

static void print_json(const struct bag *bag, const struct sums *s, const struct topic *topics, uint32_t n)
{
    bool whole = true;
    for (uint32_t i = 0; i < bag->n; i++) whole &= bag->parts[i].contents.whole;
    printf("{\"bytes\":%llu,\"files\":%u,\"whole\":%s,\"messages\":%llu,\"start\":%llu,\"end\":%llu,\"chunks\":%llu,"
           "\"packed\":%llu,\"unpacked\":%llu,\"damaged\":%llu,\"profile\":",
           (unsigned long long)s->bytes, bag->n, whole ? "true" : "false", (unsigned long long)bag->messages,
           (unsigned long long)bag->first, (unsigned long long)bag->last, (unsigned long long)s->chunks,
           (unsigned long long)s->packed, (unsigned long long)s->unpacked, (unsigned long long)s->damaged);
    print_json_text(BAG_CLEAN(bag->parts[0].contents.profile));
    printf(",\"library\":");
    print_json_text(BAG_CLEAN(bag->parts[0].contents.library));
    printf(",\"topics\":[");
    for (uint32_t i = 0; i < n; i++) {
        printf("%s{\"name\":", i ? "," : "");
        print_json_text(topics[i].name);
        printf(",\"type\":");
        print_json_text(topics[i].type);
        printf(",\"encoding\":");
        print_json_text(topics[i].encoding);
        printf(",\"messages\":%llu}", (unsigned long long)topics[i].messages);
    }
    puts("]}");
}

static int bag_info(int argc, char **argv)
{
    bool json = false;
    const struct flag flags[] = {SWITCH("json", &json, "the same as one JSON object"), {0}};
    const struct usage usage = {
        "nutmeg bag info",
        "LOG",
        "Tells what a log holds: size, time, topics with their types, counts and rates, attachments.\n"
        "LOG is a .mcap file, also one that was cut off, or a folder as ros2 bag record makes it.",
        flags,
        1,
        1};
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct bag bag;
    if (bag_open(&bag, argv[1])) return EXIT_FAILED;
    uint32_t n_topics;
    const struct topic *topics = topics_of(&bag, &n_topics);
    struct sums sums = sums_of(&bag);
    if (json) {
        print_json(&bag, &sums, topics, n_topics);
    } else {
        double seconds = (double)(bag.last - bag.first) * 1e-9;
        struct table table;
        printf("%s%s%s\n", ink(stdout, INK_BOLD), argv[1], ink(stdout, INK_PLAIN));
        print_general(&bag, &sums, n_topics);
        for (uint32_t i = 0; i < bag.n; i++) print_extras(&bag.parts[i]);
        for (uint32_t i = 0; i < bag.n; i++) print_state(&bag.parts[i]);
        table_begin(&table, (const char *const[]){"  topic", "type", ">messages", ">Hz", NULL});
        for (uint32_t i = 0; i < n_topics; i++) {
            char rate[32] = "";
            if (seconds > 0) snprintf(rate, sizeof rate, "%.1f", (double)topics[i].messages / seconds);
            table_row(&table, "  %s\t%s\t%llu\t%s", topics[i].name, topics[i].type,
                      (unsigned long long)topics[i].messages, rate);
        }
        putchar('\n');
        table_print(&table, stdout);
    }
    bag_close(&bag);
    return EXIT_OK;
}

/* ---- check ---- */

static int bag_check(int argc, char **argv)
{
    const struct usage usage = {
        "nutmeg bag check",
        "LOG…",
        "Reads every byte of logs and holds everything against everything: framing, all CRCs, message\n"
        "and chunk indexes, statistics, summary. Ends with 1 if anything is wrong.",
        NULL,
        1,
        -1};
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    uint32_t faults = 0;
    for (int i = 1; i <= n; i++) {
        struct bag bag;
        if (bag_open(&bag, argv[i])) {
            faults++;
            continue;
        }
        for (uint32_t k = 0; k < bag.n; k++) {
            struct nm_err wrong = {0}, notes = {0};
            struct bag_progress line;
            bag_progress_begin(&line, "checking");
            bag.parts[k].source.progress = &line.as;
            uint32_t found = nm_mcap_check(&bag.parts[k].source, &wrong, &notes);
            bag.parts[k].source.progress = NULL;
            bag_progress_end(&line);
            faults += found;
            if (found) complain(&wrong);
            printf("%s%s%s", ink(stdout, INK_YELLOW), notes.text, ink(stdout, INK_PLAIN));
            if (!found)
                printf("%s: sound, %llu messages\n", bag.parts[k].path,
                       (unsigned long long)bag.parts[k].contents.messages);
        }
        bag_close(&bag);
    }
    return faults ? EXIT_FAILED : EXIT_OK;
}

int cmd_bag(int argc, char **argv)
{
    const struct verb verbs[] = {
        {"info", "what a log holds", bag_info},
        {"check", "whether a log is sound, to the last index and CRC", bag_check},
        {"record", "what a running robot publishes, as a log", bag_record},
        {"cut", "some time and some topics of a log as a new one", bag_cut},
        {"recover", "a log that was cut off or damaged as a whole one", bag_recover},
        {"export", "messages as CSV or JSON, camera frames as pictures", bag_export},
        {0},
    };
    return verbs_run("nutmeg bag", "Logs: .mcap files and rosbag2 folders.", verbs, argc, argv);
}
