/* The animation player: plays from where the joints are, tells its progress, gives way by priority, and refuses with a
 * reason. */
#include "modules/body_rig.h"

#include "action_msgs/CancelGoal.h"
#include "body/animation.h"
#include "humanoid_league_msgs/Animation.h"
#include "humanoid_league_msgs/PlayAnimation.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/JointGoals.h"

extern const struct nm_module animation_module;

#define TICK 0.008
#define PLAY "play_animation/_action/"

struct rig {
    struct nm_arena arena;
    const struct nm_body *body;
    struct nm_harness *h;
    uint8_t state; /* of the manager */
    double q[NM_JOINTS];
};

static void begin(struct rig *r)
{
    memset(r, 0, sizeof *r);
    r->body = load(&r->arena, KID70);
    r->h = nm_harness_new_with(&animation_module, "patience=0.5", r->body);
}

static void end(struct rig *r)
{
    nm_harness_free(r->h);
    nm_arena_free(&r->arena);
}

static void send(struct rig *r, uint8_t id, const char *name, bool hcm)
{
    PlayAnimation_SendGoal_Request *ask = nm_harness_request(r->h, PLAY "send_goal", id);
    ask->goal_id.uuid[0] = id;
    nm_text(ask->goal.animation, "%s", name);
    ask->goal.hcm = hcm;
}

static void go_on(struct rig *r)
{
    HcmState *s = nm_harness_set(r->h, "hcm_state");
    s->state = r->state;
    give_joints(r->h, r->body, r->q, NULL, 0);
    give_torso(r->h, QUAT_IDENTITY, (struct vec3){0, 0, 0});
    nm_harness_step(r->h, TICK);
}

static int accepted(struct rig *r)
{
    const void *const *at;
    if (nm_harness_queue(r->h, PLAY "send_goal/reply", &at) != 1) return -1;
    return ((const PlayAnimation_SendGoal_Response *)at[0])->accepted;
}

static const Animation *flags(struct rig *r)
{
    return nm_harness_fresh(r->h, "animation") ? nm_harness_get(r->h, "animation") : NULL;
}

static void it_plays_from_where_the_joints_are_to_the_end(void **state)
{
    (void)state;
    struct rig r;
    begin(&r);
    int32_t knee = nm_find_joint(r.body, "left_knee");
    const struct nm_animation *sit = nm_find_animation(r.body, "sit");
    for (uint32_t j = 0; j < r.body->n_joints; j++) r.q[j] = 0.1;
    r.state = HcmState_CONTROLABLE;
    go_on(&r);
    send(&r, 1, "sit", false);
    go_on(&r);
    assert_int_equal(accepted(&r), 1);
    assert_true(flags(&r)->request); /* asks for the joints first */
    assert_false(nm_harness_fresh(r.h, "animation_goals"));
    r.state = HcmState_ANIMATION_RUNNING;
    go_on(&r);
    assert_true(flags(&r)->first);
    double last = 0.1, most = 0;
    uint8_t percent = 0;
    int steps = 0;
    for (; steps < 1000; steps++) {
        const JointGoals *g = nm_harness_get(r.h, "animation_goals");
        const void *const *at;
        uint32_t n = nm_harness_queue(r.h, PLAY "feedback", &at);
        for (uint32_t i = 0; i < n; i++) {
            uint8_t done = ((const PlayAnimation_FeedbackMessage *)at[i])->feedback.percent_done;
            assert_true(done >= percent);
            percent = done;
        }
        for (uint32_t i = 0; i < g->name.n; i++)
            if (!strcmp(g->name.at[i], "left_knee")) {
                most = fmax(most, fabs(g->position.at[i] - last) / TICK);
                last = g->position.at[i];
            }
        if (flags(&r) && flags(&r)->last) break;
        go_on(&r);
    }
    assert_near(last, sit->frames[sit->n_frames - 1].goal[knee], 1e-9);
    assert_true(most <= r.body->joints[knee].velocity);
    assert_int_equal(percent, 100);
    assert_true(steps * TICK >= sit->duration - 2 * TICK);
    end(&r);
}

static void the_manager_comes_first(void **state)
{
    (void)state;
    struct rig r;
    begin(&r);
    r.state = HcmState_ANIMATION_RUNNING;
    go_on(&r);
    send(&r, 1, "sit", false);
    go_on(&r);
    assert_int_equal(accepted(&r), 1);
    send(&r, 2, "stand", false); /* of the same priority: the one that plays goes on */
    go_on(&r);
    assert_int_equal(accepted(&r), 0);
    assert_int_equal(lines_with(r.h, "same or higher priority"), 1);
    send(&r, 3, "fall_front", true);
    r.state = HcmState_FALLING;
    go_on(&r);
    assert_int_equal(accepted(&r), 1);
    assert_true(flags(&r)->hcm);
    send(&r, 4, "sit", false);
    go_on(&r);
    assert_int_equal(accepted(&r), 0);
    end(&r);
}

static void refusals_have_reasons(void **state)
{
    (void)state;
    struct rig r;
    begin(&r);
    r.state = HcmState_FALLEN;
    go_on(&r);
    send(&r, 1, "kick_right", false);
    go_on(&r);
    assert_int_equal(accepted(&r), 0);
    assert_int_equal(lines_with(r.h, "does not give up the joints now"), 1);
    r.state = HcmState_CONTROLABLE;
    send(&r, 2, "somersault", false);
    go_on(&r);
    assert_int_equal(lines_with(r.h, "has no such animation"), 1);
    /* whom the manager keeps waiting gives up */
    send(&r, 3, "sit", false);
    uint32_t given_up = 0;
    for (int i = 0; i < 100; i++) go_on(&r), given_up += lines_with(r.h, "given up");
    assert_int_equal(given_up, 1);
    end(&r);
}

/* A request would stop the walk. */
static void a_refused_goal_asks_nobody_for_joints(void **state)
{
    (void)state;
    struct rig r;
    begin(&r);
    r.state = HcmState_WALKING;
    go_on(&r);
    send(&r, 1, "somersault", false);
    go_on(&r);
    assert_int_equal(accepted(&r), 0);
    assert_null(flags(&r));
    go_on(&r);
    assert_null(flags(&r));
    end(&r);
}

static void it_stops_when_the_joints_are_taken_or_the_goal_is_cancelled(void **state)
{
    (void)state;
    struct rig r;
    begin(&r);
    r.state = HcmState_ANIMATION_RUNNING;
    go_on(&r);
    send(&r, 1, "sit", false);
    go_on(&r), go_on(&r);
    r.state = HcmState_FALLING;
    go_on(&r);
    assert_int_equal(lines_with(r.h, "took the joints"), 1);
    go_on(&r);
    assert_false(nm_harness_fresh(r.h, "animation_goals"));
    r.state = HcmState_ANIMATION_RUNNING;
    send(&r, 2, "sit", false);
    go_on(&r);
    CancelGoal_Request *cancel = nm_harness_request(r.h, PLAY "cancel_goal", 9);
    cancel->goal_info.goal_id.uuid[0] = 2;
    go_on(&r);
    assert_true(flags(&r)->last);
    go_on(&r);
    assert_false(nm_harness_fresh(r.h, "animation_goals"));
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_plays_from_where_the_joints_are_to_the_end),
        cmocka_unit_test(the_manager_comes_first),
        cmocka_unit_test(refusals_have_reasons),
        cmocka_unit_test(a_refused_goal_asks_nobody_for_joints),
        cmocka_unit_test(it_stops_when_the_joints_are_taken_or_the_goal_is_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
