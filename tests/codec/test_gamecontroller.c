/* Packets of the game controllers: each dialect's layout as a table of bytes, every number of set plays and penalties,
 * random packets there and back, and everything that has to be refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "codec/gamecontroller.h"

static const uint8_t versions[] = {12, 15, 16, 17, 18, 19, 20};
enum { VERSIONS = sizeof versions };

static size_t size_of(uint8_t version) { return version == 12 ? 688 : version < 19 ? 118 : version == 19 ? 198 : 158; }

/* ---- layouts ---- */

struct byte {
    uint16_t at;
    uint8_t value;
};

/* Checks that a packet has these bytes and no others, and that it is read back as it was. */
static void check_bytes(const struct nm_game_packet *p, const struct byte *bytes)
{
    uint8_t wire[NM_GAME_LONGEST], expected[NM_GAME_LONGEST] = {0};
    size_t n = nm_game_encode(p, wire, sizeof wire);
    struct nm_game_packet back;
    for (const struct byte *b = bytes; b->at || b->value; b++) expected[b->at] = b->value;
    memcpy(expected, "RGme", 4);
    assert_int_equal(n, size_of(p->version));
    assert_memory_equal(wire, expected, n);
    assert_int_equal(nm_game_decode(expected, n, &back), NM_GAME_FINE);
    assert_memory_equal(&back, p, sizeof back);
}

static void test_humanoid_league_12(void **state)
{
    (void)state;
    struct nm_game_packet p = {.version = 12,
                               .number = 200,
                               .players_per_team = 6,
                               .competition = 1,
                               .state = NM_GAME_PLAYING,
                               .set_play = NM_GAME_CORNER_KICK,
                               .taking = NM_GAME_PREPARING,
                               .first_half = 1,
                               .kicking_team = 7,
                               .kick_off_team = 9,
                               .drop_in_seconds = 0xffff,
                               .seconds = -3,
                               .secondary_seconds = 30};
    p.teams[0] = (struct nm_game_team){.number = 7,
                                       .color = 1,
                                       .score = 2,
                                       .shots = 5,
                                       .shots_in = 0x0112,
                                       .goalkeeper = 1,
                                       .coach_sequence = 4,
                                       .coach_message = "up"};
    p.teams[0].players[0] = (struct nm_game_player){
        .penalty = NM_GAME_INCAPABLE, .seconds = 29, .warnings = 1, .cautions = 2, .red_cards = 3, .goalkeeper = 1};
    p.teams[1] = (struct nm_game_team){.number = 9};
    p.teams[1].players[10].penalty = NM_GAME_SUBSTITUTE;
    check_bytes(&p, (struct byte[]){{4, 12},
                                    {6, 200},
                                    {7, 6},
                                    {8, 1},
                                    {9, 3},
                                    {10, 1},
                                    {11, 9},
                                    {12, 7},
                                    {13, 7},
                                    {14, 1},
                                    {18, 255},
                                    {19, 255},
                                    {20, 0xfd},
                                    {21, 0xff},
                                    {22, 30},
                                    /* first team */
                                    {24, 7},
                                    {25, 1},
                                    {26, 2},
                                    {27, 5},
                                    {28, 0x12},
                                    {29, 1},
                                    {30, 4},
                                    {31, 'u'},
                                    {32, 'p'},
                                    {290, 34},
                                    {291, 29},
                                    {292, 1},
                                    {293, 2},
                                    {294, 3},
                                    {295, 1},
                                    /* second team */
                                    {356, 9},
                                    {356 + 266 + 60, 14},
                                    {0}});
}

static struct nm_game_packet usual(uint8_t version)
{
    struct nm_game_packet p = {.version = version,
                               .number = 201,
                               .players_per_team = 7,
                               .competition = 2,
                               .phase = NM_GAME_EXTRA_TIME,
                               .state = NM_GAME_SET,
                               .set_play = NM_GAME_PENALTY_KICK,
                               .kicking_team = 5,
                               .kick_off_team = 5,
                               .seconds = 0x0123,
                               .secondary_seconds = -2};
    p.teams[0] = (struct nm_game_team){.number = 5,
                                       .color = 3,
                                       .keeper_color = 8,
                                       .goalkeeper = 1,
                                       .score = 4,
                                       .shots = 2,
                                       .shots_in = 3,
                                       .message_budget = 0x2ee0};
    p.teams[1] = (struct nm_game_team){.number = 6, .message_budget = 7};
    p.teams[0].players[2] = (struct nm_game_player){.penalty = NM_GAME_PUSHING, .seconds = 45};
    p.teams[1].players[19] = (struct nm_game_player){.penalty = NM_GAME_SUBSTITUTE};
    return p;
}

static void test_spl_18(void **state)
{
    (void)state;
    struct nm_game_packet p = usual(18);
    p.competition_phase = 1;
    p.competition = 1;
    check_bytes(&p, (struct byte[]){{4, 18},
                                    {5, 201},
                                    {6, 7},
                                    {7, 1},
                                    {8, 1},
                                    {9, 2},
                                    {10, 2},
                                    {11, 5},
                                    {12, 0},
                                    {13, 5},
                                    {14, 0x23},
                                    {15, 1},
                                    {16, 0xfe},
                                    {17, 0xff},
                                    {18, 5},
                                    {19, 3},
                                    {20, 8},
                                    {21, 1},
                                    {22, 4},
                                    {23, 2},
                                    {24, 3},
                                    {26, 0xe0},
                                    {27, 0x2e},
                                    {18 + 10 + 4, 2},
                                    {18 + 10 + 5, 45},
                                    {68, 6},
                                    {76, 7},
                                    {68 + 10 + 38, 14},
                                    {0}});
}

static void test_hsl_19(void **state)
{
    (void)state;
    struct nm_game_packet p = usual(19);
    p.stopped = 1;
    p.teams[0].players[2].warnings = 1;
    p.teams[0].players[2].cautions = 2;
    check_bytes(&p, (struct byte[]){{4, 19},
                                    {5, 201},
                                    {6, 7},
                                    {7, 2},
                                    {8, 1},
                                    {9, 2},
                                    {10, 2},
                                    {11, 3},
                                    {13, 5},
                                    {14, 0x23},
                                    {15, 1},
                                    {16, 0xfe},
                                    {17, 0xff},
                                    {18, 5},
                                    {19, 3},
                                    {20, 8},
                                    {21, 1},
                                    {22, 4},
                                    {23, 2},
                                    {24, 3},
                                    {26, 0xe0},
                                    {27, 0x2e},
                                    {36, 9},
                                    {37, 45},
                                    {38, 1},
                                    {39, 2},
                                    {108, 6},
                                    {116, 7},
                                    {108 + 10 + 76, 11},
                                    {0}});
}

static void test_hsl_20(void **state)
{
    (void)state;
    struct nm_game_packet p = usual(20);
    p.teams[0].players[2].cautions = 1;
    check_bytes(&p,
                (struct byte[]){{4, 20},    {5, 201}, {6, 7},     {7, 2},  {8, 0},     {9, 2},     {10, 2},
                                {11, 3},    {13, 5},  {14, 0x23}, {15, 1}, {16, 0xfe}, {17, 0xff}, {18, 5},
                                {19, 3},    {20, 8},  {21, 1},    {22, 4}, {23, 2},    {24, 3},    {26, 0xe0},
                                {27, 0x2e}, {34, 10}, {35, 45},   {36, 1}, {88, 6},    {96, 7},    {88 + 10 + 57, 13},
                                {0}});
}

static void test_monitors_get_another_magic(void **state)
{
    (void)state;
    uint8_t wire[NM_GAME_LONGEST];
    struct nm_game_packet p = usual(20), back;
    p.truth = true;
    size_t n = nm_game_encode(&p, wire, sizeof wire);
    assert_memory_equal(wire, "RGTD", 4);
    assert_int_equal(nm_game_decode(wire, n, &back), NM_GAME_FINE);
    assert_true(back.truth);
}

/* ---- numbers ---- */

/* Numbers of the wire in the order of our enum; -1: the dialect has none. */
struct numbers {
    uint8_t version;
    int penalties[NM_GAME_PENALTIES - 1], set_plays[NM_GAME_SET_PLAYS];
};
static const struct numbers numbers[] = {
    {12, {0, -1, -1, -1, -1, 34, -1, 30, -1, -1, 31, -1, -1, 14, -1, -1, -1, 15, 32, 33, 35}, {0, 4, 5, 6, 9, 8, 7}},
    {15, {0, 5, 3, -1, 8, 4, 7, 1, 6, -1, 2, -1, -1, 14, 9, 10, 11, 15, -1, -1, -1}, {0, 2, -1, 5, 4, 1, 3}},
    {18, {0, 5, 3, -1, 8, 4, 7, 1, 6, -1, 2, -1, -1, 14, 9, 10, 11, 15, -1, -1, -1}, {0, 2, -1, 5, 4, 1, 3}},
    {19, {0, 1, 2, -1, 3, 4, 5, 6, 7, 8, 9, -1, 10, 11, -1, -1, -1, -1, -1, -1, -1}, {0, 1, 2, 3, 4, 5, 6}},
    {20, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, -1, -1, -1, -1, -1, -1, -1}, {0, 1, 2, 3, 4, 5, 6}},
};

static void test_numbers_of_penalties_and_set_plays(void **state)
{
    (void)state;
    for (size_t v = 0; v < sizeof numbers / sizeof *numbers; v++) {
        const struct numbers *row = &numbers[v];
        const size_t penalty_at = row->version == 12 ? 290 : 28, set_at = row->version == 12 ? 12 : 11;
        uint8_t wire[NM_GAME_LONGEST];
        struct nm_game_packet p, back;
        for (uint8_t i = 0; i < NM_GAME_PENALTIES - 1; i++) {
            p = (struct nm_game_packet){.version = row->version};
            p.teams[0].players[0].penalty = i;
            size_t n = nm_game_encode(&p, wire, sizeof wire);
            assert_int_equal(nm_game_decode(wire, n, &back), NM_GAME_FINE);
            if (row->penalties[i] < 0) {
                assert_int_not_equal(back.teams[0].players[0].penalty, NM_GAME_NO_PENALTY); /* never free by accident */
                continue;
            }
            assert_int_equal(wire[penalty_at], row->penalties[i]);
            assert_int_equal(back.teams[0].players[0].penalty, i);
        }
        for (uint8_t i = 0; i < NM_GAME_SET_PLAYS; i++) {
            if (row->set_plays[i] < 0) continue;
            p = (struct nm_game_packet){.version = row->version, .set_play = i};
            size_t n = nm_game_encode(&p, wire, sizeof wire);
            assert_int_equal(wire[set_at], row->set_plays[i]);
            assert_int_equal(nm_game_decode(wire, n, &back), NM_GAME_FINE);
            assert_int_equal(back.set_play, i);
        }
        memset(wire, 0, sizeof wire);
        memcpy(wire, "RGme", 4);
        wire[4] = row->version;
        wire[penalty_at] = 77;
        assert_int_equal(nm_game_decode(wire, size_of(row->version), &back), NM_GAME_FINE);
        assert_int_equal(back.teams[0].players[0].penalty, NM_GAME_UNKNOWN_PENALTY);
    }
}

static void test_both_numbers_of_a_dropped_ball(void **state)
{
    (void)state;
    uint8_t wire[688] = {'R', 'G', 'm', 'e', 12};
    struct nm_game_packet p;
    _Static_assert(sizeof p == 20 + 2 * sizeof p.teams[0], "no padding: packets are compared as memory");
    for (int i = 0; i < 2; i++) {
        wire[11] = i ? 255 : 128;
        assert_int_equal(nm_game_decode(wire, sizeof wire, &p), NM_GAME_FINE);
        assert_int_equal(p.kicking_team, NM_GAME_NOBODY);
    }
}

/* ---- any packet ---- */

static uint8_t roll(struct nm_dice *dice, unsigned n) { return (uint8_t)(nm_dice_bits(dice) % n); }

static struct nm_game_packet random_packet(struct nm_dice *dice, uint8_t version)
{
    enum nm_game_league league = nm_game_league(version);
    bool hl = league == NM_GAME_HL;
    struct nm_game_packet p = {.version = version,
                               .number = roll(dice, 256),
                               .players_per_team = roll(dice, 256),
                               .competition = roll(dice, 256),
                               .state = roll(dice, version >= 17 && version < 19 ? 6 : 5),
                               .set_play = roll(dice, NM_GAME_SET_PLAYS),
                               .first_half = roll(dice, 2),
                               .kick_off_team = roll(dice, 128),
                               .seconds = (int16_t)nm_dice_bits(dice),
                               .secondary_seconds = (int16_t)nm_dice_bits(dice)};
    if (league == NM_GAME_SPL && p.set_play == NM_GAME_INDIRECT_FREE_KICK) p.set_play = NM_GAME_NO_SET_PLAY;
    if (!hl || !p.set_play) p.phase = roll(dice, 4);
    p.kicking_team = hl && p.set_play ? roll(dice, 256) : p.kick_off_team;
    if (hl && p.set_play) p.taking = (uint8_t)(1 + roll(dice, 3));
    if (hl) p.drop_in_seconds = (uint16_t)nm_dice_bits(dice);
    if (league == NM_GAME_SPL) p.competition_phase = roll(dice, 256);
    if (league == NM_GAME_HSL) p.stopped = roll(dice, 2);
    for (int t = 0; t < 2; t++) {
        struct nm_game_team *team = &p.teams[t];
        *team = (struct nm_game_team){.number = roll(dice, 256),
                                      .color = roll(dice, 256),
                                      .score = roll(dice, 256),
                                      .shots = roll(dice, 256),
                                      .shots_in = (uint16_t)nm_dice_bits(dice),
                                      .goalkeeper = roll(dice, 12)};
        if (!hl) team->keeper_color = roll(dice, 256), team->message_budget = (uint16_t)nm_dice_bits(dice);
        if (hl) team->coach_sequence = roll(dice, 256);
        for (int i = 0; hl && i < 253; i++) team->coach_message[i] = (char)roll(dice, 256);
        for (int i = 0; i < (hl ? 11 : 20); i++) {
            struct nm_game_player *player = &team->players[i];
            static const uint8_t everywhere[] = {NM_GAME_NO_PENALTY, NM_GAME_INCAPABLE,  NM_GAME_BALL_HOLDING,
                                                 NM_GAME_PUSHING,    NM_GAME_SUBSTITUTE, NM_GAME_UNKNOWN_PENALTY};
            *player = (struct nm_game_player){.penalty = everywhere[roll(dice, sizeof everywhere)],
                                              .seconds = roll(dice, 256)};
            if (hl || version == 19) player->warnings = roll(dice, 256);
            if (hl || version >= 19) player->cautions = roll(dice, 256);
            if (hl) player->red_cards = roll(dice, 256), player->goalkeeper = team->goalkeeper == i + 1;
        }
    }
    return p;
}

static void test_any_packet_is_read_as_it_was_written(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(1, 0, 0);
    for (int i = 0; i < 7000; i++) {
        uint8_t wire[NM_GAME_LONGEST];
        struct nm_game_packet p = random_packet(&dice, versions[i % VERSIONS]), back;
        size_t n = nm_game_encode(&p, wire, sizeof wire);
        assert_int_equal(n, size_of(p.version));
        assert_int_equal(nm_game_encode(&p, wire, n - 1), 0);
        assert_int_equal(nm_game_decode(wire, n, &back), NM_GAME_FINE);
        assert_memory_equal(&back, &p, sizeof p);
    }
}

static void test_no_other_length_is_taken(void **state)
{
    (void)state;
    uint8_t wire[1000] = {'R', 'G', 'm', 'e'};
    struct nm_game_packet p;
    for (int v = 0; v < VERSIONS; v++)
        for (size_t n = 0; n < sizeof wire; n++) {
            wire[4] = versions[v];
            enum nm_game_fault fault = nm_game_decode(wire, n, &p);
            assert_int_equal(fault, n < 6 ? NM_GAME_NO_PACKET : n == size_of(wire[4]) ? NM_GAME_FINE : NM_GAME_LENGTH);
        }
}

static void test_foreign_versions_are_named(void **state)
{
    (void)state;
    static const uint16_t sizes[] = {688, 118, 198, 158, 62};
    uint8_t wire[NM_GAME_LONGEST] = {'R', 'G', 'm', 'e'};
    struct nm_game_packet p;
    for (int version = 0; version < 256; version++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            wire[4] = (uint8_t)version;
            enum nm_game_fault fault = nm_game_decode(wire, sizes[i], &p);
            bool known = version == 12 || (version >= 15 && version <= 20);
            assert_int_equal(fault == NM_GAME_FOREIGN, !known);
            if (!known) assert_int_equal(p.version, version);
        }
    wire[0] = 'r';
    assert_int_equal(nm_game_decode(wire, 158, &p), NM_GAME_NO_PACKET);
}

static void test_values_that_do_not_exist_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint8_t version;
        uint16_t at;
        uint8_t value;
    } wrong[] = {
        {12, 5, 1},  {12, 9, 5},  {12, 10, 2}, {12, 12, 10}, {18, 9, 4}, {18, 10, 6}, {18, 11, 6}, {18, 12, 2},
        {15, 10, 5}, {16, 10, 5}, {19, 8, 2},  {19, 10, 5},  {20, 8, 2}, {20, 9, 4},  {20, 10, 5}, {20, 11, 7},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint8_t wire[NM_GAME_LONGEST] = {'R', 'G', 'm', 'e', wrong[i].version};
        struct nm_game_packet p;
        assert_int_equal(nm_game_decode(wire, size_of(wrong[i].version), &p), NM_GAME_FINE);
        wire[wrong[i].at] = wrong[i].value;
        assert_int_equal(nm_game_decode(wire, size_of(wrong[i].version), &p), NM_GAME_VALUE);
    }
    uint8_t hl[688] = {'R', 'G', 'm', 'e', 12, [12] = 4, [14] = 3};
    struct nm_game_packet p;
    assert_int_equal(nm_game_decode(hl, sizeof hl, &p), NM_GAME_VALUE);
    assert_int_equal(nm_game_encode(&(struct nm_game_packet){.version = 21}, hl, sizeof hl), 0);
}

/* ---- return packets and monitors ---- */

static void test_return_packets(void **state)
{
    (void)state;
    uint8_t wire[NM_GAME_RETURN_LONGEST];
    struct nm_game_return back;
    const struct nm_game_return hl = {.version = 2, .team = 6, .player = 3, .word = NM_GAME_SAYS_GOALKEEPER};
    assert_int_equal(nm_game_return_encode(&hl, wire, sizeof wire), 8);
    assert_memory_equal(wire, ((uint8_t[]){'R', 'G', 'r', 't', 2, 6, 3, 3}), 8);
    assert_true(nm_game_return_decode(wire, 8, &back));
    assert_int_equal(back.team, 6);
    assert_int_equal(back.player, 3);
    assert_int_equal(back.word, NM_GAME_SAYS_GOALKEEPER);
    assert_false(nm_game_return_decode(wire, 7, &back));
    wire[7] = 5;
    assert_false(nm_game_return_decode(wire, 8, &back));

    const struct nm_game_return spl = {.version = 4,
                                       .team = 6,
                                       .player = 3,
                                       .fallen = true,
                                       .x = 1,
                                       .y = -2,
                                       .theta = 0.5f,
                                       .ball_age = -1,
                                       .ball_x = 0.25f,
                                       .ball_y = -0.125f};
    assert_int_equal(nm_game_return_encode(&spl, wire, sizeof wire), 32);
    static const uint8_t expected[32] = {'R',  'G',  'r',  't',
                                         4,    3,    6,    1,
                                         0x00, 0x00, 0x7a, 0x44 /* 1000 */,
                                         0x00, 0x00, 0xfa, 0xc4 /* -2000 */,
                                         0,    0,    0,    0x3f /* 0.5 */,
                                         0,    0,    0x80, 0xbf /* -1 */,
                                         0,    0,    0x7a, 0x43 /* 250 */,
                                         0,    0,    0xfa, 0xc2 /* -125 */};
    assert_memory_equal(wire, expected, 32);
    assert_true(nm_game_return_decode(wire, 32, &back));
    assert_int_equal(nm_game_return_encode(&back, wire, sizeof wire), 32);
    assert_memory_equal(wire, expected, 32);
    assert_float_equal(back.x, 1, 0);
    assert_float_equal(back.ball_y, -0.125, 0);
    assert_false(nm_game_return_decode(wire, 31, &back));
    static const struct byte wrong[] = {{4, 3}, {5, 0}, {5, 21}, {7, 2}, {11, 0x7f}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        memcpy(wire, expected, 32);
        if (wrong[i].at == 11) wire[10] = 0xc0; /* not a number */
        wire[wrong[i].at] = wrong[i].value;
        assert_false(nm_game_return_decode(wire, 32, &back));
    }
    struct nm_game_return lost = spl;
    lost.x = NAN;
    assert_int_equal(nm_game_return_encode(&lost, wire, sizeof wire), 0);
    assert_int_equal(nm_game_return_version(12), 2);
    assert_int_equal(nm_game_return_version(18), 4);
    assert_int_equal(nm_game_return_version(20), 4);
}

static void test_monitors_ask(void **state)
{
    (void)state;
    uint8_t wire[NM_GAME_REQUEST];
    nm_game_request_encode(wire);
    assert_memory_equal(wire, "RGTr\0", 5);
    assert_true(nm_game_request_decode(wire, 5));
    assert_false(nm_game_request_decode(wire, 4));
    wire[4] = 1;
    assert_false(nm_game_request_decode(wire, 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_humanoid_league_12),
        cmocka_unit_test(test_spl_18),
        cmocka_unit_test(test_hsl_19),
        cmocka_unit_test(test_hsl_20),
        cmocka_unit_test(test_monitors_get_another_magic),
        cmocka_unit_test(test_numbers_of_penalties_and_set_plays),
        cmocka_unit_test(test_both_numbers_of_a_dropped_ball),
        cmocka_unit_test(test_any_packet_is_read_as_it_was_written),
        cmocka_unit_test(test_no_other_length_is_taken),
        cmocka_unit_test(test_foreign_versions_are_named),
        cmocka_unit_test(test_values_that_do_not_exist_are_refused),
        cmocka_unit_test(test_return_packets),
        cmocka_unit_test(test_monitors_ask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
