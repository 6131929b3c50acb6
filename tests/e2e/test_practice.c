/* The keeper's practice, five minutes in virtual time: the keeper stops what is in its reach. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "core/player.h"
#include "std_msgs/String.h"

extern const struct nm_module *const __start_nm_modules[], *const __stop_nm_modules[];

static void play(uint64_t seed, int *saved, int *shots, int *possible)
{
    struct nm_arena arena = {0};
    struct nm_registry registry;
    struct nm_err err = {0};
    nm_registry_init(&registry, &arena, __start_nm_modules, __stop_nm_modules);
    struct nm_lineup *lineup =
        nm_lineup_load(NM_ROOT "/lineups/play.yaml", &registry, &(struct nm_lineup_options){.root = NM_ROOT}, &err);
    if (!lineup) fail_msg("%s", err.text);
    struct nm_player *player = nm_player_new(lineup, &(struct nm_player_options){.seed = seed}, &err);
    struct nm_edge *edge =
        nm_edge_new(player, "score board", (struct nm_edge_port[]){{"score", NM_PORT_IN, &String_type, 0, 0}}, 1, &err);
    if (!edge) fail_msg("%s", err.text);
    assert_int_equal(nm_players_run(&player, 1, 300000000000, 1), 0);
    nm_edge_begin(edge, 300000000000);
    const String *score = nm_edge_in(edge, 0);
    assert_int_equal(sscanf(score->data, "%d of %d shots saved (%d", saved, shots, possible), 3);
    nm_player_free(player);
    nm_lineup_free(lineup);
    nm_arena_free(&arena);
}

static void the_keeper_stops_what_is_in_its_reach(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        int saved, shots, possible;
        play(seed, &saved, &shots, &possible);
        assert_true(shots > 60);
        assert_true(saved >= possible * 7 / 10);
    }
}

static void the_same_seed_gives_the_same_score(void **state)
{
    (void)state;
    int a[3], b[3];
    play(9, &a[0], &a[1], &a[2]);
    play(9, &b[0], &b[1], &b[2]);
    assert_memory_equal(a, b, sizeof a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_keeper_stops_what_is_in_its_reach),
        cmocka_unit_test(the_same_seed_gives_the_same_score),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
