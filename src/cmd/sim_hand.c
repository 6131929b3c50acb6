/* A simulated robot in somebody's hands: held by its trunk in the air, limp, and its joints stay where they are put. */
#include <string.h>

#include "cmd/sim_animate.h"
#include "sim/world.h"

struct sim_hand {
    const struct nm_body *body;
    struct nm_pitch pitch;
    struct nm_world *world;
    double q[NM_JOINTS];
};

/* Long enough for the sensors to tell of it, too short to fall. */
static void settle(struct sim_hand *h)
{
    struct nm_joint_goal goals[NM_JOINTS] = {0};
    struct pose3 held = {QUAT_IDENTITY, {-2, 0, 1.5 * h->body->height}};
    for (uint32_t j = 0; j < h->body->n_joints; j++)
        goals[j] = (struct nm_joint_goal){.position = h->q[j], .on = false};
    for (int i = 0; i < 12; i++) {
        nm_world_put(h->world, 0, held, h->q);
        nm_world_goals(h->world, 0, goals);
        nm_world_step(h->world, 1);
    }
}

static int feel(void *self, double q[], uint64_t *known, struct nm_err *err)
{
    struct sim_hand *h = self;
    struct nm_sense sense;
    (void)err;
    settle(h);
    nm_world_sense(h->world, 0, &sense);
    for (uint32_t j = 0; j < h->body->n_joints; j++) {
        q[j] = sense.joints[j].position;
        *known |= 1ull << j;
    }
    return 0;
}

static int move(void *self, uint32_t joint, double angle, struct nm_err *err)
{
    struct sim_hand *h = self;
    const struct nm_joint *j = &h->body->joints[joint];
    if (angle < j->lower || angle > j->upper)
        return nm_fail(err, "%s can turn from %.0f to %.0f degrees", j->name, j->lower * 180 / M_PI,
                       j->upper * 180 / M_PI);
    h->q[joint] = angle;
    return 0;
}

int sim_hand_new(struct nm_arena *arena, const struct nm_body *body, const char *field, struct hand *hand,
                 struct nm_err *err)
{
    struct sim_hand *h = nm_take(arena, sizeof *h);
    struct nm_world_options options = NM_WORLD_OPTIONS;
    struct nm_world_robot me = {.body = body, .start = {-2, 0, 0}};
    memset(h, 0, sizeof *h);
    h->body = body;
    if (nm_pitch_read(&h->pitch, field, err)) return -1;
    h->world = nm_world_new(&h->pitch, &me, 1, &options, err);
    if (!h->world) return -1;
    *hand = (struct hand){h, feel, move};
    return 0;
}

void sim_hand_free(struct hand *hand)
{
    struct sim_hand *h = hand->self;
    if (h) nm_world_free(h->world);
}
