#include "body/chain.h"

#include <string.h>

enum { STEPS = 100, TRIES = 30 };

int nm_chain_init(struct nm_chain *chain, const struct nm_body *body, const struct nm_group *group, struct nm_err *err)
{
    struct nm_kin zero;
    double q[NM_JOINTS] = {0};
    if (!group->n) return nm_fail(err, "%s: the limb that was asked for does not exist", body->path);
    nm_forward(body, POSE_IDENTITY, q, &zero);
    *chain = (struct nm_chain){.n = group->n, .home = zero.pose[group->end]};
    for (uint32_t i = 0; i < group->n; i++) {
        uint32_t joint = group->joints[i];
        const struct nm_joint *j = &body->joints[joint];
        if (j->type == NM_PRISMATIC)
            return nm_fail(err, "%s: joint %s slides, which inverse kinematics does not know", body->path, j->name);
        chain->joints[i] = joint;
        chain->axis[i] = quat_apply(zero.pose[joint + 1].rot, j->axis);
        chain->point[i] = zero.pose[joint + 1].pos;
        chain->lower[i] = j->lower;
        chain->upper[i] = j->upper;
        chain->follows[i] = -1;
    }
    for (uint32_t i = 0; i < group->n; i++)
        for (uint32_t k = 0; k < group->n; k++) {
            const struct nm_joint *j = &body->joints[group->joints[i]];
            if (j->mimic != (int32_t)group->joints[k]) continue;
            chain->follows[i] = (int32_t)k;
            chain->multiplier[i] = j->multiplier;
            chain->offset[i] = j->offset;
        }
    return 0;
}

static void follow(const struct nm_chain *chain, double q[])
{
    for (uint32_t i = 0; i < chain->n; i++)
        if (chain->follows[i] >= 0) q[i] = chain->multiplier[i] * q[chain->follows[i]] + chain->offset[i];
}

/* Joints that cannot be set by themselves. */
static uint32_t followers(const struct nm_chain *chain)
{
    uint32_t bits = 0;
    for (uint32_t i = 0; i < chain->n; i++) bits |= (uint32_t)(chain->follows[i] >= 0) << i;
    return bits;
}

static struct vec3 without(struct vec3 v, struct vec3 axis) { return vec3_sub(v, vec3_scale(axis, vec3_dot(v, axis))); }

/* The motion of one joint after those before it: x -> R (x - p) + p */
static struct pose3 after(struct pose3 before, struct vec3 axis, struct vec3 point, double q)
{
    struct quat r = quat_axis(axis, q);
    return pose_mul(before, (struct pose3){r, vec3_sub(point, quat_apply(r, point))});
}

struct pose3 nm_chain_forward(const struct nm_chain *chain, const double q[])
{
    struct pose3 pose = POSE_IDENTITY;
    for (uint32_t i = 0; i < chain->n; i++) pose = after(pose, chain->axis[i], chain->point[i], q[i]);
    return pose_mul(pose, chain->home);
}

/* Error of the end (3 of place, 3 of orientation times the arm) and its Jacobian; returns the squared error. The
 * orientation's error is the logarithm of the rotation still to be made, so that J'e is the exact descent of half the
 * square whatever its size. */
static double errors(const struct nm_chain *chain, struct pose3 target, const double q[], double e[6],
                     double j[6][NM_GROUP])
{
    struct pose3 pose = POSE_IDENTITY;
    struct vec3 axis[NM_GROUP], point[NM_GROUP], turns[NM_GROUP];
    for (uint32_t i = 0; i < chain->n; i++) {
        axis[i] = turns[i] = quat_apply(pose.rot, chain->axis[i]);
        point[i] = pose_apply(pose, chain->point[i]);
        pose = after(pose, chain->axis[i], chain->point[i], q[i]);
    }
    pose = pose_mul(pose, chain->home);
    struct vec3 place = vec3_sub(target.pos, pose.pos);
    struct vec3 turn = vec3_scale(quat_log(quat_mul(target.rot, quat_inv(pose.rot))), NM_IK_ARM);
    static const struct vec3 axes[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int k = 0; k < 3; k++) {
        if (!(chain->released >> k & 1)) continue;
        struct vec3 u = quat_apply(target.rot, axes[k]);
        turn = without(turn, u);
        for (uint32_t i = 0; i < chain->n; i++) turns[i] = without(turns[i], u);
    }
    const double all[6] = {place.x, place.y, place.z, turn.x, turn.y, turn.z};
    memcpy(e, all, sizeof all);
    for (uint32_t i = 0; i < chain->n; i++) {
        struct vec3 v = vec3_cross(axis[i], vec3_sub(pose.pos, point[i]));
        struct vec3 w = vec3_scale(turns[i], NM_IK_ARM);
        const double column[6] = {v.x, v.y, v.z, w.x, w.y, w.z};
        for (int k = 0; k < 6; k++) j[k][i] = column[k];
    }
    for (uint32_t i = 0; i < chain->n; i++)
        for (int k = 0; k < 6 && chain->follows[i] >= 0; k++) j[k][chain->follows[i]] += chain->multiplier[i] * j[k][i];
    return vec3_dot(place, place) + vec3_dot(turn, turn);
}

/* Cholesky in place, then forward and back; the damping keeps the matrix positive. */
static void solve(uint32_t n, double a[NM_GROUP][NM_GROUP], double x[])
{
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k <= i; k++) {
            double sum = a[i][k];
            for (uint32_t m = 0; m < k; m++) sum -= a[i][m] * a[k][m];
            a[i][k] = i == k ? sqrt(fmax(sum, 1e-300)) : sum / a[k][k];
        }
        for (uint32_t m = 0; m < i; m++) x[i] -= a[i][m] * x[m];
        x[i] /= a[i][i];
    }
    for (uint32_t i = n; i-- > 0;) {
        for (uint32_t m = i + 1; m < n; m++) x[i] -= a[m][i] * x[m];
        x[i] /= a[i][i];
    }
}

void nm_damped_step(uint32_t rows, const double j[][NM_GROUP], const double e[], uint32_t n, uint32_t held,
                    double damping, double gradient[], double step[])
{
    double a[NM_GROUP][NM_GROUP], x[NM_GROUP];
    uint32_t free[NM_GROUP], n_free = 0;
    for (uint32_t i = 0; i < n; i++) {
        step[i] = gradient[i] = 0;
        for (uint32_t r = 0; r < rows; r++) gradient[i] += j[r][i] * e[r];
        if (!(held >> i & 1)) free[n_free++] = i;
    }
    for (uint32_t i = 0; i < n_free; i++) {
        x[i] = gradient[free[i]];
        for (uint32_t k = 0; k <= i; k++) {
            a[i][k] = i == k ? damping : 0;
            for (uint32_t r = 0; r < rows; r++) a[i][k] += j[r][free[i]] * j[r][free[k]];
        }
    }
    solve(n_free, a, x);
    for (uint32_t i = 0; i < n_free; i++) step[free[i]] = x[i];
}

uint32_t nm_at_limits(const struct nm_chain *chain, const double q[], const double gradient[])
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < chain->n; i++)
        if ((q[i] <= chain->lower[i] && gradient[i] < 0) || (q[i] >= chain->upper[i] && gradient[i] > 0)) at |= 1u << i;
    return at;
}

struct fit {
    double e[6], j[6][NM_GROUP];
    double square;
    double damping; /* in units of the square: it falls with the error, so that the end is Newton's (Sugihara, 2011) */
};

/* One accepted step, with the damping raised until the error falls; false if none does, or none that is worth it. */
static bool improve(const struct nm_chain *chain, struct pose3 target, uint32_t held, double q[], struct fit *fit)
{
    double gradient[NM_GROUP], step[NM_GROUP], next[NM_GROUP] = {0};
    struct fit after;
    nm_damped_step(6, fit->j, fit->e, chain->n, ~0u, 1, gradient, step);
    held |= nm_at_limits(chain, q, gradient);
    for (int i = 0; i < TRIES; i++, fit->damping *= 8) {
        double moved = 0;
        nm_damped_step(6, fit->j, fit->e, chain->n, held, fit->damping * fit->square + 1e-16, gradient, step);
        for (uint32_t k = 0; k < chain->n; k++) {
            next[k] = fmin(fmax(q[k] + step[k], chain->lower[k]), chain->upper[k]);
            if (held >> k & 1) next[k] = q[k];
            moved = fmax(moved, fabs(next[k] - q[k]));
        }
        follow(chain, next);
        if (!(moved > 1e-15)) return false;
        after.square = errors(chain, target, next, after.e, after.j);
        if (!(after.square < fit->square)) continue;
        bool worth = after.square < fit->square * (1 - 1e-9);
        after.damping = fmax(fit->damping * 0.5, 1e-3);
        memcpy(q, next, chain->n * sizeof *q);
        *fit = after;
        return worth;
    }
    return false;
}

enum nm_reach nm_chain_ik(const struct nm_chain *chain, struct pose3 target, uint32_t held, double q[],
                          struct nm_ik_error *error)
{
    struct fit fit = {.damping = 1};
    held |= followers(chain);
    for (uint32_t i = 0; i < chain->n; i++)
        if (!(held >> i & 1)) q[i] = isfinite(q[i]) ? fmin(fmax(q[i], chain->lower[i]), chain->upper[i]) : 0;
    follow(chain, q);
    fit.square = errors(chain, target, q, fit.e, fit.j);
    for (int i = 0; i < STEPS && fit.square > 1e-26; i++)
        if (!improve(chain, target, held, q, &fit)) break;
    if (error) {
        const double *e = fit.e;
        error->distance = sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]);
        error->angle = sqrt(e[3] * e[3] + e[4] * e[4] + e[5] * e[5]) / NM_IK_ARM;
    }
    return fit.square < 1e-20 ? NM_REACHED : NM_NEAREST;
}
