#include "learn/inherit.h"

#include <math.h>
#include <stdio.h>

#include "body/kinematics.h"

struct role { /* what a joint does */
    int side, axis, order;
    float sign; /* of its axis */
};

static const double OBLIQUE = 0.6; /* of a yaw's axis that points up or down: that of a NAO is tilted by 45 degrees */

static void find_roles(const struct nm_gait *g, struct role *roles)
{
    const double zero[NM_JOINTS] = {0};
    struct nm_kin kin;
    nm_forward(g->body, POSE_IDENTITY, zero, &kin);
    for (uint32_t i = 0; i < g->n_joints; i++) {
        struct vec3 a = quat_apply(kin.pose[g->joints[i] + 1].rot, g->body->joints[g->joints[i]].axis);
        const double along[3] = {a.x, a.y, a.z};
        int axis = fabs(a.z) > OBLIQUE ? 2 : fabs(a.y) > fabs(a.x) ? 1 : 0;
        bool leg = i < NM_GAIT_LEGS;
        roles[i] = (struct role){.side = leg ? (int)(i / (NM_GAIT_LEGS / 2)) : 2 + (int)(i - NM_GAIT_LEGS),
                                 .axis = axis,
                                 .sign = along[axis] < 0 ? -1 : 1};
        for (uint32_t k = 0; k < i; k++) roles[i].order += roles[k].side == roles[i].side && roles[k].axis == axis;
    }
}

/* Of both legs, five of six: a policy whose roll or pitch goes nowhere falls, and has nothing to teach. */
enum { LEAST_ALIKE = 10 };

/* For each action of `to`: the action of `from` that does the same, with its sign; sign 0 where there is none. */
static void match_actions(const struct nm_gait *to, const struct nm_gait *from, struct nm_mirror match[NM_GAIT_ACTS])
{
    struct role ours[NM_GAIT_ACTS], theirs[NM_GAIT_ACTS];
    find_roles(to, ours);
    find_roles(from, theirs);
    for (uint32_t i = 0; i < NM_GAIT_ACTS; i++) {
        match[i] = (struct nm_mirror){i, i == NM_GAIT_ACTS - 1 ? 1 : 0}; /* the last is the clock */
        for (uint32_t k = 0; i < to->n_joints && k < from->n_joints; k++)
            if (ours[i].side == theirs[k].side && ours[i].axis == theirs[k].axis && ours[i].order == theirs[k].order)
                match[i] = (struct nm_mirror){k, ours[i].sign * theirs[k].sign};
    }
}

static void match_observations(const struct nm_gait *to, const struct nm_gait *from,
                               const struct nm_mirror act[NM_GAIT_ACTS], struct nm_mirror obs[NM_GAIT_OBS])
{
    const uint32_t rest = NM_GAIT_FRAMES * NM_GAIT_FRAME;
    const float faster = (float)(from->rate / to->rate), longer = faster * (float)(from->stride / to->stride);
    for (uint32_t i = 0; i < NM_GAIT_OBS; i++) obs[i] = (struct nm_mirror){i, 1};
    for (uint32_t at = 0; at < rest; at += NM_GAIT_FRAME) {
        for (uint32_t i = 0; i < 3; i++) obs[at + i].sign = faster; /* turning rates */
        for (uint32_t i = 0; i < NM_GAIT_LEGS; i++)
            obs[at + 6 + i] = (struct nm_mirror){at + 6 + act[i].from, act[i].sign};
        for (uint32_t i = 0; i < NM_GAIT_ACTS; i++)
            obs[at + 6 + NM_GAIT_LEGS + i] = (struct nm_mirror){at + 6 + NM_GAIT_LEGS + act[i].from, act[i].sign};
    }
    obs[rest].sign = obs[rest + 1].sign = longer;
    obs[rest + 2].sign = faster;
}

static const struct nm_net_value *find_constant(const struct nm_net *net, const char *prefix, char kind, uint32_t layer,
                                                uint32_t n)
{
    char name[32];
    snprintf(name, sizeof name, "%s%c%u", prefix, kind, layer + 1);
    int32_t at = nm_net_find(net, name);
    const struct nm_net_value *value = at < 0 ? NULL : &net->values[at];
    return value && value->constant && value->at && value->n == n ? value : NULL;
}

int nm_inherit(const struct nm_gait *to, struct nm_mlp *actor, const struct nm_gait *from, const struct nm_net *net,
               const char *prefix, struct nm_err *err)
{
    struct nm_mirror act[NM_GAIT_ACTS], obs[NM_GAIT_OBS];
    match_actions(to, from, act);
    match_observations(to, from, act, obs);
    uint32_t alike = 0;
    for (uint32_t i = 0; i < NM_GAIT_LEGS; i++) alike += act[i].sign != 0;
    if (alike < LEAST_ALIKE)
        return nm_fail(err, "only %u of the %d joints of the legs do what those of %s do", alike, NM_GAIT_LEGS,
                       from->body->name);
    for (uint32_t l = 0; l < actor->layers; l++)
        if (!find_constant(net, prefix, 'w', l, actor->width[l] * actor->width[l + 1]) ||
            !find_constant(net, prefix, 'b', l, actor->width[l + 1]))
            return nm_fail(err, "the policy of %s is no network that nutmeg learn walk made (its layer %u differs)",
                           from->body->name, l + 1);
    for (uint32_t l = 0; l < actor->layers; l++) {
        uint32_t in = actor->width[l], out = actor->width[l + 1], wide = nm_padded(out);
        const float *w = find_constant(net, prefix, 'w', l, in * out)->at,
                    *b = find_constant(net, prefix, 'b', l, out)->at;
        bool first = l == 0, last = l + 1 == actor->layers;
        for (uint32_t i = 0; i < in + 1; i++)
            for (uint32_t o = 0; o < out; o++) {
                struct nm_mirror row = first && i < in ? obs[i] : (struct nm_mirror){i, 1};
                struct nm_mirror column = last ? act[o] : (struct nm_mirror){o, 1};
                float x = i < in ? w[(size_t)row.from * out + column.from] : b[column.from];
                /* the file has half of each answer, see nm_trainer_net */
                actor->at[nm_mlp_matrix(actor, l) + (size_t)i * wide + o] = x * row.sign * column.sign * (last ? 2 : 1);
            }
    }
    return 0;
}
