/* labels: slow
 * Play is stopped, said by a packet of the game controller: a robot that walks stands within four steps and then moves
 * no joint by more than a degree, whatever its head and legs are told; a robot that lies stays down. Real bytes, the
 * real line-up, in physics. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "codec/gamecontroller.h"
#include "geometry_msgs/Twist.h"
#include "nutmeg_msgs/Datagram.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/HeadCommand.h"
#include "nutmeg_msgs/WalkState.h"
#include "sim/stage.h"

extern const struct nm_module *const __start_nm_modules[], *const __stop_nm_modules[];

enum { GAME, VELOCITY, HEAD, WALK, HCM, PORTS };
static const struct nm_edge_port ports[PORTS] = {
    [GAME] = {"game/received", NM_PORT_OUT_QUEUE, &Datagram_type, 0, 0},
    [VELOCITY] = {"cmd_vel", NM_PORT_OUT, &Twist_type, 0, 0},
    [HEAD] = {"head_command", NM_PORT_OUT, &HeadCommand_type, 0, 0},
    [WALK] = {"walk_state", NM_PORT_IN, &WalkState_type, 0, 0},
    [HCM] = {"hcm_state", NM_PORT_IN, &HcmState_type, 0, 0},
};

static struct theatre {
    struct nm_arena arena;
    struct nm_registry registry;
    struct nm_pitch pitch;
    struct nm_stage *stage;
    struct nm_edge *edge;
    char lineup[64];
    struct nm_game_packet packet;
    double drive; /* m/s, told all the time */
    WalkState walk;
    HcmState hcm;
    uint32_t n_joints;
    double low[NM_JOINTS], high[NM_JOINTS]; /* rad, of each joint since it is watched */
} t;

static int ready(void *user, uint32_t robot, struct nm_player *player, struct nm_err *err)
{
    (void)user;
    (void)robot;
    t.edge = nm_edge_new(player, "hand", ports, PORTS, err);
    return t.edge ? 0 : -1;
}

/* A line-up that walks, and somebody who reads the game controller's packets. */
static void write_lineup(const char *name)
{
    strcpy(t.lineup, "/tmp/nutmeg_freeze_XXXXXX.yaml");
    FILE *to = fdopen(mkstemps(t.lineup, 5), "w");
    assert_non_null(to);
    fprintf(to, "extends: %s/lineups/%s.yaml\ncycles:\n", NM_ROOT, name);
    fprintf(to, "  team: {period: 20 ms, modules: [game_state]}\nremote: [game/received]\n");
    fclose(to);
}

static void begin(const char *lineup, const char *robot, enum nm_posture posture)
{
    struct nm_err err = {0};
    char folder[256], field[256];
    static const char *const set[] = {"game_state.team=6", "game_state.player=2"};
    t = (struct theatre){
        .packet = {.version = 20, .state = NM_GAME_PLAYING, .players_per_team = 4, .kicking_team = 255}};
    t.packet.teams[0].number = 6;
    t.packet.teams[1].number = 9;
    nm_registry_init(&t.registry, &t.arena, __start_nm_modules, __stop_nm_modules);
    write_lineup(lineup);
    snprintf(folder, sizeof folder, "%s/robots/%s", NM_ROOT, robot);
    snprintf(field, sizeof field, "%s/fields/kid.yaml", NM_ROOT);
    if (nm_pitch_read(&t.pitch, field, &err) < 0) fail_msg("%s", err.text);
    const struct nm_stage_robot row = {
        .name = "red2", .folder = folder, .lineup = t.lineup, .posture = posture, .n_set = 2, .set = set};
    struct nm_stage_options o = NM_STAGE_OPTIONS;
    o.root = NM_ROOT;
    o.registry = &t.registry;
    o.pitch = &t.pitch;
    o.fidelity = NM_FIDELITY_PERCEPT;
    o.world.seed = 20;
    o.ready = ready;
    t.stage = nm_stage_new(&row, 1, &o, &err);
    if (!t.stage) fail_msg("%s", err.text);
    t.n_joints = nm_stage_body(t.stage, 0)->n_joints;
}

static void end(void)
{
    nm_stage_free(t.stage);
    nm_arena_free(&t.arena);
    unlink(t.lineup);
}

static void watch_joints(void)
{
    for (uint32_t i = 0; i < t.n_joints; i++) {
        t.low[i] = INFINITY;
        t.high[i] = -INFINITY;
    }
}

static void send_packet(void)
{
    Datagram *d = nm_edge_push(t.edge, GAME);
    t.packet.number++;
    d->host = 1;
    d->data.n = (uint32_t)nm_game_encode(&t.packet, d->data.at, sizeof d->data.at);
}

static void step(void)
{
    struct nm_grip grips[NM_JOINTS];
    int64_t now = nm_stage_now(t.stage), tick = nm_stage_tick(t.stage);
    double seconds = nm_seconds(now);
    nm_edge_begin(t.edge, now);
    if (nm_edge_fresh(t.edge, WALK)) t.walk = *(const WalkState *)nm_edge_in(t.edge, WALK);
    if (nm_edge_fresh(t.edge, HCM)) t.hcm = *(const HcmState *)nm_edge_in(t.edge, HCM);
    if (now % 200000000 < tick) send_packet();
    if (now % 20000000 < tick) {
        Twist *v = nm_edge_out(t.edge, VELOCITY);
        v->linear.x = t.drive;
        nm_edge_put(t.edge, VELOCITY);
        HeadCommand *head = nm_edge_out(t.edge, HEAD); /* somebody looks around all the time */
        head->mode = HeadCommand_ANGLES;
        head->pan = (float)sin(2 * seconds);
        head->tilt = 0.4f;
        nm_edge_put(t.edge, HEAD);
    }
    nm_edge_end(t.edge);
    nm_stage_step(t.stage);
    nm_stage_grip(t.stage, 0, grips);
    for (uint32_t i = 0; i < t.n_joints; i++) {
        t.low[i] = fmin(t.low[i], grips[i].position);
        t.high[i] = fmax(t.high[i], grips[i].position);
    }
}

static void run(double seconds)
{
    for (int64_t until = nm_stage_now(t.stage) + nm_ns(seconds); nm_stage_now(t.stage) < until;) step();
}

static double widest(const char **name)
{
    double most = 0;
    for (uint32_t i = 0; i < t.n_joints; i++) {
        if (t.high[i] - t.low[i] < most) continue;
        most = t.high[i] - t.low[i];
        *name = nm_stage_body(t.stage, 0)->joints[i].name;
    }
    return most * 180 / M_PI;
}

static bool has_fallen(void)
{
    struct nm_whereabouts where;
    nm_stage_whereabouts(t.stage, 0, &where);
    return where.fallen;
}

static void check_frozen(double seconds)
{
    const char *name = "";
    watch_joints();
    run(seconds);
    double degrees = widest(&name);
    if (degrees > 1) fail_msg("%s moved by %.2f degrees", name, degrees);
}

static void test_a_robot_that_walks_freezes(void **state)
{
    (void)state;
    static const struct {
        const char *lineup, *robot;
        double drive;
    } rows[] = {{"motion", "kid70", 0.3}, {"motion", "darwin", 0.15}, {"motion_policy", "kid70", 0.4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin(rows[i].lineup, rows[i].robot, NM_UPRIGHT);
        t.drive = rows[i].drive;
        run(5);
        assert_int_equal(t.hcm.state, HcmState_WALKING);
        t.packet.stopped = 1;
        uint32_t steps = t.walk.steps;
        run(0.3); /* the packet is at most 0.2 s away */
        assert_int_equal(t.hcm.state, HcmState_STOPPED);
        for (int k = 0; k < 1000 && t.walk.state != WalkState_STANDING; k++) run(0.01);
        assert_int_equal(t.walk.state, WalkState_STANDING);
        printf("%s, %s: %u steps\n", rows[i].lineup, rows[i].robot, t.walk.steps - steps);
        assert_true(t.walk.steps - steps <= 4);
        run(1); /* the body comes to rest */
        check_frozen(5);
        assert_false(has_fallen());
        t.packet.stopped = 0; /* play goes on */
        run(3);
        assert_int_equal(t.hcm.state, HcmState_WALKING);
        end();
    }
}

static void test_a_robot_that_lies_stays_down(void **state)
{
    (void)state;
    begin("motion", "kid70", NM_ON_BACK);
    t.packet.stopped = 1;
    run(2);
    assert_int_equal(t.hcm.state, HcmState_STOPPED);
    check_frozen(4);
    assert_true(has_fallen());
    t.packet.stopped = 0;
    run(12);
    assert_false(has_fallen());
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_robot_that_walks_freezes),
        cmocka_unit_test(test_a_robot_that_lies_stays_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
