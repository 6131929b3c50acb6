/* Every line-up that can play a match: it loads, it has what a match needs, and nothing in it reads what only the
 * simulator can know. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/lineup.h"
#include "core/registry.h"

extern const struct nm_module *const __start_nm_modules[], *const __stop_nm_modules[];

static bool has_module(const struct nm_lineup *lineup, const char *name)
{
    for (uint32_t i = 0; i < lineup->n_instances; i++)
        if (!strcmp(lineup->instances[i].module->name, name)) return true;
    return false;
}

static bool reads(const struct nm_lineup *lineup, const char *topic)
{
    uint32_t i = nm_lineup_topic(lineup, topic);
    return i != NM_NONE && lineup->topics[i].n_consumers > 0;
}

static void test_no_player_knows_the_truth(void **state)
{
    struct nm_arena arena = {0};
    struct nm_registry registry;
    uint32_t players = 0, named = 0;
    (void)state;
    nm_registry_init(&registry, &arena, __start_nm_modules, __stop_nm_modules);
    DIR *folder = opendir(NM_ROOT "/lineups");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[512];
        struct nm_err err = {0};
        if (!strstr(entry->d_name, ".yaml")) continue;
        snprintf(path, sizeof path, NM_ROOT "/lineups/%s", entry->d_name);
        struct nm_lineup *lineup = nm_lineup_load(path, &registry, &(struct nm_lineup_options){.root = NM_ROOT}, &err);
        if (!lineup) fail_msg("%s", err.text);
        bool plays =
            has_module(lineup, "game_state") && !has_module(lineup, "team_monitor"); /* that one only looks on */
        named += !strcmp(entry->d_name, "match.yaml") || !strcmp(entry->d_name, "match_flat.yaml") ||
                 !strcmp(entry->d_name, "beginner.yaml") || !strcmp(entry->d_name, "beginner_flat.yaml");
        players += plays;
        for (uint32_t t = 0; plays && t < lineup->n_topics; t++)
            if (!strncmp(lineup->topics[t].name, "truth/", 6)) fail_msg("%s: %s", path, lineup->topics[t].name);
        bool sees = strcmp(entry->d_name, "standing_keeper.yaml") != 0; /* this one only stands */
        if (plays) assert_true(reads(lineup, "game/received") && reads(lineup, "whistle"));
        if (plays) assert_int_equal(reads(lineup, "percepts"), sees);
        nm_lineup_free(lineup);
    }
    closedir(folder);
    nm_arena_free(&arena);
    assert_int_equal(named, 4);
    assert_true(players >= named);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_player_knows_the_truth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
