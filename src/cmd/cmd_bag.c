/* nutmeg bag: logs (MCAP files and rosbag2 folders): what is in them, whether they are sound, parts of them, and what
 * can be saved of one that was cut off. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/options.h"
#include "cmd/progress.h"
#include "cmd/stopping.h"
#include "codec/text.h"
#include "core/files.h"
#include "record/bag.h"
#include "record/bag_record.h"

/* ---- what the verbs share ---- */

/* The log that a verb works on, with a line for progress. What could not be read of it is told at the end. */
struct open_log {
    struct bag bag;
    struct progress line;
};

static int open_log(struct open_log *log, const char *path, const char *work)
{
    struct nm_err err = {0};
    progress_begin(&log->line, "reading");
    int result = bag_open(&log->bag, path, &log->line.as, &err);
    log->line.what = work;
    if (result) progress_end(&log->line);
    complain(&err);
    return result;
}

static void close_log(struct open_log *log)
{
    progress_end(&log->line);
    complain(&log->bag.damage);
    bag_close(&log->bag);
}

/* --topics and --from, --to, of verbs that take a part of a log. */
struct part_flags {
    struct texts topics;
    const char *from, *to;
};
#define PART_FLAGS(f)                                                                                                  \
    TEXTS("topics", &(f)->topics, "A,B", "only these topics: names, parts of names, or patterns with * and ?"),        \
        TEXT("from", &(f)->from, "T", "starts at T: seconds from the start, -S from the end, or @UNIXTIME"),           \
        TEXT("to", &(f)->to, "T", "ends before T")

static int choose(struct bag *bag, const struct part_flags *flags, struct nm_mcap_query_options *time,
                  struct nm_err *err)
{
    struct bag_choice choice = {flags->topics.n, flags->topics.at, flags->from, flags->to};
    return bag_choose(bag, &choice, time, err);
}

#define PACKING_FLAG(target)                                                                                           \
    TEXT("compress", target, "HOW", "compression of the new log: zstd (small), lz4 (fast) or none")

static int packing_of(const struct usage *usage, const char *word, enum nm_mcap_packing *packing)
{
    static const char *const words[] = {[NM_MCAP_STORED] = "none", [NM_MCAP_LZ4] = "lz4", [NM_MCAP_ZSTD] = "zstd"};
    int32_t which = nm_word_of(word, words, 3);
    if (which < 0) usage_wrong(usage, "--compress must be zstd, lz4 or none, not '%s'", word);
    *packing = (enum nm_mcap_packing)which;
    return which < 0 ? -1 : 0;
}

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
    printf("\n  written by  %s, profile %s\n", c->library.n ? BAG_CLEAN(c->library) : "(unknown)",
           c->profile.n ? BAG_CLEAN(c->profile) : "(none)");
    if (bag->messages)
        printf("  time        %.3f s, %s to %s\n", (double)(bag->last - bag->first) * 1e-9, time_text(from, bag->first),
               time_text(to, bag->last));
    printf("  messages    %llu on %u topic%s\n", (unsigned long long)bag->messages, topics, topics == 1 ? "" : "s");
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
        printf("  %scut off%s     after byte %llu of %llu; nutmeg bag recover repairs it\n", ink(stdout, INK_YELLOW),
               ink(stdout, INK_PLAIN), (unsigned long long)c->end, (unsigned long long)part->source.size);
    else if (!c->summary)
        printf("  no index    the whole file had to be read; nutmeg bag recover adds one\n");
    if (c->damaged || c->orphans)
        printf("  %sdamaged%s     %llu records, %llu messages without a channel; nutmeg bag check shows details\n",
               ink(stdout, INK_RED), ink(stdout, INK_PLAIN), (unsigned long long)c->damaged,
               (unsigned long long)c->orphans);
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
    nm_fputs_quoted(BAG_CLEAN(bag->parts[0].contents.profile), stdout);
    printf(",\"library\":");
    nm_fputs_quoted(BAG_CLEAN(bag->parts[0].contents.library), stdout);
    printf(",\"topics\":[");
    for (uint32_t i = 0; i < n; i++) {
        printf("%s{\"name\":", i ? "," : "");
        nm_fputs_quoted(topics[i].name, stdout);
        printf(",\"type\":");
        nm_fputs_quoted(topics[i].type, stdout);
        printf(",\"encoding\":");
        nm_fputs_quoted(topics[i].encoding, stdout);
        printf(",\"messages\":%llu}", (unsigned long long)topics[i].messages);
    }
    puts("]}");
}

static int bag_info(int argc, char **argv)
{
    bool json = false;
    const struct flag flags[] = {SWITCH("json", &json, "prints one JSON object"), {0}};
    const struct usage usage =
        USAGE("nutmeg bag info", "LOG", flags,
              "Shows what a log contains: size, time, topics with their types, counts and rates, attachments.\n"
              "LOG is a .mcap file (it may be cut off) or a folder written by ros2 bag record.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct open_log log;
    if (open_log(&log, argv[1], "reading")) return EXIT_FAILED;
    struct bag *bag = &log.bag;
    uint32_t n_topics;
    const struct topic *topics = topics_of(bag, &n_topics);
    struct sums sums = sums_of(bag);
    if (json) {
        print_json(bag, &sums, topics, n_topics);
    } else {
        double seconds = (double)(bag->last - bag->first) * 1e-9;
        struct table table;
        printf("%s%s%s\n", ink(stdout, INK_BOLD), argv[1], ink(stdout, INK_PLAIN));
        print_general(bag, &sums, n_topics);
        for (uint32_t i = 0; i < bag->n; i++) print_extras(&bag->parts[i]);
        for (uint32_t i = 0; i < bag->n; i++) print_state(&bag->parts[i]);
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
    close_log(&log);
    return EXIT_OK;
}

/* ---- check ---- */

static int bag_check(int argc, char **argv)
{
    const struct usage usage =
        USAGE("nutmeg bag check", "LOG…", NULL,
              "Reads every byte of the logs and checks framing, all CRCs, message and chunk indexes,\n"
              "statistics and summary. The exit code is 1 if anything is wrong.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    uint32_t faults = 0;
    for (int i = 1; i <= n; i++) {
        struct open_log log;
        if (open_log(&log, argv[i], "checking")) {
            faults++;
            continue;
        }
        for (uint32_t k = 0; k < log.bag.n; k++) {
            struct nm_err wrong = {0}, notes = {0};
            struct bag_part *part = &log.bag.parts[k];
            part->source.progress = &log.line.as;
            uint32_t found = nm_mcap_check(&part->source, &wrong, &notes);
            part->source.progress = NULL;
            progress_end(&log.line);
            faults += found;
            complain(&wrong);
            printf("%s%s%s", ink(stdout, INK_YELLOW), notes.text, ink(stdout, INK_PLAIN));
            if (!found)
                printf("%s: no fault found, %llu messages\n", part->path, (unsigned long long)part->contents.messages);
        }
        close_log(&log);
    }
    return faults ? EXIT_FAILED : EXIT_OK;
}

/* ---- cut, recover ---- */

/* The chosen part of a log as a new one; the exit code. */
static int rewrite(const char *from, const char *work, const struct part_flags *part, const struct bag_new *new)
{
    struct open_log log;
    struct nm_mcap_query_options time;
    struct bag_rewritten made;
    struct nm_err err = {0};
    char size[32];
    if (open_log(&log, from, work)) return EXIT_FAILED;
    bool chosen = !choose(&log.bag, part, &time, &err);
    int result = chosen ? bag_rewrite(&log.bag, &time, new, &made, &err) : -1;
    progress_end(&log.line);
    if (!result)
        printf("%s: %llu messages of %u channels, %.3f s, %s\n", made.path, (unsigned long long)made.totals.messages,
               made.channels, (double)(made.totals.last - made.totals.first) * 1e-9,
               bytes_text(size, (double)made.totals.bytes));
    if (!result && made.damaged) nm_fail(&err, "%u chunks could not be read and are missing", made.damaged);
    complain(&err);
    close_log(&log);
    return !chosen ? EXIT_USAGE : err.n ? EXIT_FAILED : EXIT_OK;
}

static int bag_cut(int argc, char **argv)
{
    struct part_flags part = {0};
    struct bag_new new = {0};
    const char *compress = "zstd";
    const struct flag flags[] = {
        PART_FLAGS(&part),
        PACKING_FLAG(&compress),
        SWITCH("force", &new.force, "replaces OUT"),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg bag cut", "LOG OUT", flags,
              "Writes a part of a log as a new log, ordered by time. OUT is a .mcap file, or a folder that\n"
              "gets a .mcap file and its metadata.yaml. Attachments and metadata are copied.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    if (packing_of(&usage, compress, &new.packing)) return EXIT_USAGE;
    new.path = argv[2];
    return rewrite(argv[1], "cutting", &part, &new);
}

static int recover_file(const char *from, const struct bag_new *new)
{
    struct nm_arena arena = {0};
    struct nm_err err = {0}, found = {0};
    struct nm_mcap_repair repair;
    struct progress line;
    const char *made;
    progress_begin(&line, "recovering");
    int result = bag_recover_file(from, new, &line.as, &arena, &made, &repair, &found, &err);
    progress_end(&line);
    complain(&err);
    if (!result) {
        fputs(found.text, stdout);
        printf("%s: %llu messages", made, (unsigned long long)repair.messages);
        if (repair.damaged) printf(", %llu damaged records left out", (unsigned long long)repair.damaged);
        if (repair.orphans) printf(", %llu messages without a channel left out", (unsigned long long)repair.orphans);
        puts(repair.whole && !repair.damaged ? "; the log was complete" : "");
    }
    nm_arena_free(&arena);
    return result ? EXIT_FAILED : EXIT_OK;
}

static int bag_recover(int argc, char **argv)
{
    struct bag_new new = {0};
    const char *compress = "zstd";
    const struct flag flags[] = {
        PACKING_FLAG(&compress),
        SWITCH("force", &new.force, "replaces OUT"),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg bag recover", "LOG OUT", flags,
              "Copies everything that can be read from a damaged or cut-off log into a new log with all\n"
              "indexes. OUT is a .mcap file, or a folder that gets a .mcap file and its metadata.yaml. LOG is\n"
              "not changed. LOG may be a folder, such as a black box.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    if (packing_of(&usage, compress, &new.packing)) return EXIT_USAGE;
    new.path = argv[2];
    if (nm_folder_exists(argv[1])) return rewrite(argv[1], "recovering", &(struct part_flags){0}, &new);
    return recover_file(argv[1], &new);
}

/* ---- export ---- */

static int bag_export_verb(int argc, char **argv)
{
    struct part_flags part = {0};
    struct bag_export how = {.to = stdout};
    struct texts paths = {0};
    const struct flag flags[] = {
        PART_FLAGS(&part),
        TEXTS("path", &paths, "PATH", "only this value, such as twist.linear.x or name[0]; may be repeated"),
        SWITCH("json", &how.json, "writes one JSON object per line instead of CSV"),
        SWITCH("whole", &how.whole, "writes all elements of long sequences, not only the first ones"),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg bag export", "LOG [FOLDER]", flags,
              "Writes the messages of a log to FOLDER, one file per topic: tables (CSV) or JSON lines. Camera\n"
              "frames become pictures named by their time (CompressedImage unchanged, Image as JPEG). Without a\n"
              "folder, a single topic is written to standard output.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct open_log log;
    struct nm_mcap_query_options time;
    struct nm_err err = {0};
    const struct bag_exported *made;
    uint32_t n_made = 0;
    if (open_log(&log, argv[1], "exporting")) return EXIT_FAILED;
    how.folder = n > 1 ? argv[2] : NULL;
    how.paths = paths.at;
    how.n_paths = paths.n;
    bool chosen = !choose(&log.bag, &part, &time, &err);
    uint32_t topics = chosen ? bag_topics_chosen(&log.bag) : 0;
    if (chosen && !how.folder && topics != 1) {
        close_log(&log);
        return usage_wrong(&usage, "without a folder only one topic can be exported, not %u; choose it with --topics",
                           topics);
    }
    if (chosen) chosen = bag_export(&log.bag, &time, &how, &made, &n_made, &err) != BAG_NO_PATH;
    progress_end(&log.line);
    for (uint32_t i = 0; i < n_made && how.folder; i++)
        printf("%s: %llu %s\n", made[i].path, (unsigned long long)made[i].written,
               made[i].frames ? "frames" : "messages");
    complain(&err);
    close_log(&log);
    return !chosen ? EXIT_USAGE : err.n ? EXIT_FAILED : EXIT_OK;
}

/* ---- record ---- */

static void found(void *user, const char *topic, const char *why)
{
    (void)user;
    printf("records %s\n", topic);
    if (why)
        fprintf(stderr, "%s%.*s: the messages are recorded without a type definition%s\n", ink(stderr, INK_YELLOW),
                (int)strcspn(why, "\n"), why, ink(stderr, INK_PLAIN));
    fflush(stdout);
}

static void said(void *user, const char *sentence)
{
    (void)user;
    fprintf(stderr, "%s%s%s\n", ink(stderr, INK_YELLOW), sentence, ink(stderr, INK_PLAIN));
}

static int bag_record_verb(int argc, char **argv)
{
    struct bag_record how = {.stopping = stopping, .found = found, .said = said};
    struct texts topics = {0};
    const char *compress = "lz4";
    double rotate = 0, free_floor = 200;
    int64_t domain = -1;
    const struct flag flags[] = {
        TEXTS("topics", &topics, "PATTERN", "only these topics: names, or patterns with * and ?; may be repeated"),
        NUMBER("seconds", &how.seconds, 0, 1e9, "N", "ends after N seconds; 0: runs until Ctrl-C", .letter = 's'),
        WHOLE("domain", &domain, 0, 232, "N", "DDS domain (default: ROS_DOMAIN_ID, or 0)"),
        SWITCH("network", &how.network, "uses the network, not only this machine"),
        PACKING_FLAG(&compress),
        NUMBER("rotate", &rotate, 0, 1e6, "MB", "starts a new file after this many megabytes"),
        NUMBER("floor", &free_floor, 0, 1e7, "MB", "stops while fewer megabytes are free on the disk (default: 200)"),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg bag record", "OUT", flags,
              "Records ROS 2 topics, for example of a robot that runs with --dds. OUT is a .mcap file or a\n"
              "folder. nutmeg replay --lineup plays this log by time. For a log that replays bit for bit, use\n"
              "nutmeg run --log instead.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    if (packing_of(&usage, compress, &how.packing)) return EXIT_USAGE;
    struct bag_recorded made;
    struct nm_err err = {0};
    char size[32];
    how.path = argv[1];
    how.topics = topics.at;
    how.n_topics = topics.n;
    how.domain = (int)domain;
    how.rotate = (uint64_t)(rotate * 1e6);
    how.floor = (uint64_t)(free_floor * 1e6);
    stop_by_signals();
    int result = bag_record(&how, &made, &err);
    complain(&err);
    if (!result)
        printf("%s: %llu messages on %u topics, %s\n", made.path, (unsigned long long)made.messages, made.topics,
               bytes_text(size, (double)made.bytes));
    return !result && made.messages ? EXIT_OK : EXIT_FAILED;
}

int cmd_bag(int argc, char **argv)
{
    const struct verb verbs[] = {
        {"info", "shows what a log contains", bag_info},
        {"check", "checks all of a log, down to the last index and CRC", bag_check},
        {"record", "records the topics of a running robot as a log", bag_record_verb},
        {"cut", "copies a part of a log, by time and topics", bag_cut},
        {"recover", "repairs a log that was cut off or damaged", bag_recover},
        {"export", "writes messages as CSV or JSON, camera frames as pictures", bag_export_verb},
        {0},
    };
    return verbs_run("nutmeg bag", "Logs: .mcap files and rosbag2 folders.", verbs, argc, argv);
}
