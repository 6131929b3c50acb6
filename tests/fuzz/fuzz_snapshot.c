/* Snapshots of a cycle come from files: whatever the bytes are, reading them stays inside what is there. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/nm.h"
#include "core/run_replay.h"
#include "std_msgs/Float64.h"
#include "std_msgs/String.h"
#include "tf2_msgs/TFMessage.h"

struct keeper {
    struct nm *nm;
    const Float64 *before;
    const String *word;
    nm_queue(Float64) all;
    Float64 *now;
    nm_out_queue(Float64) each;
    double sum;
    void *inside;
};
#define SELF struct keeper
static void keeper_step(struct keeper *f)
{
    f->inside = &f->sum;
    f->sum += 0.5 * f->before->data + f->all.n + (double)strlen(f->word->data) + nm_random(f->nm);
    f->now->data = f->sum;
    nm_put(f->nm, f->now);
    nm_push(f->nm, &f->each)->data = f->sum;
}
static const struct nm_port keeper_ports[] = {NM_LAST(before, Float64, "now"),
                                              NM_IN(word, String, "word"),
                                              NM_LAST_QUEUE(all, Float64, "each", 4),
                                              NM_OUT(now, Float64, "now"),
                                              NM_OUT_QUEUE(each, Float64, "each", 4),
                                              NM_READS_TF,
                                              {0}};
NM_MODULE_UNLISTED(keeper, "Remembers.", NM_PORTS(keeper_ports), .step = NM_CALL(keeper_step))

static void ignore(void *user, uint32_t cycle, uint32_t topic, const void *message)
{
    (void)user;
    (void)cycle;
    (void)topic;
    (void)message;
}

/* One for all inputs: a state that was restored is as good as any to restore the next into. */
static struct nm_replay *replay_once(void)
{
    static const char text[] = "cycles:\n  c: {period: 10 ms, modules: [keeper]}\nremote: [word]\n";
    static const struct nm_module *const modules[] = {&keeper_module};
    static struct nm_arena arena;
    static struct nm_registry registry;
    static struct nm_replay *replay;
    if (replay) return replay;
    struct nm_lineup_options where = {.root = "/nonexistent"};
    nm_registry_init(&registry, &arena, modules, modules + 1);
    struct nm_lineup *lineup = nm_lineup_parse(text, sizeof text - 1, "fuzz.yaml", &registry, &where, NULL);
    struct nm_player *player = lineup ? nm_player_new(lineup, NULL, NULL) : NULL;
    replay = player ? nm_replay_new(player, NULL) : NULL;
    if (!replay) abort();
    return replay;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct nm_replay *replay = replay_once();
    uint8_t *own = malloc(size + 1); /* a byte too far is seen */
    if (!own) abort();
    memcpy(own, bytes, size);
    nm_replay_restore(replay, 0, own, size, NULL, NULL);
    free(own);
    nm_replay_run(replay, &(struct nm_run){.run = 1, .now = 10000000}, ignore, NULL);
    return 0;
}
