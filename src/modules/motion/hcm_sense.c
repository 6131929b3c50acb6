/* What the manager feels: how the trunk stands and turns, whether a fall comes, whether it lies still, and whether its
 * feet carry anything. A robot that is upright and carries nothing is in somebody's hands. */
#include "modules/imu.h"
#include "modules/motion/hcm_parts.h"

#define AT_REST 0.1 /* rad/s; no hand holds a robot so still, the ground does */
#define LIES    1.0 /* rad of tilt; more than in any stand or squat           */
#define CHANGED 0.2 /* of the battery's charge                                */

static double ago(const struct hcm *f, int64_t then) { return then == INT64_MAX ? 0 : nm_seconds(f->nm->now - then); }

static void feel_trunk(struct hcm *f)
{
    struct quat torso_to_world;
    struct vec3 rate;
    if (!torso_by_imu(f->nm, f->imu, 0.1, &torso_to_world) || !turning_by_imu(f->nm->body, f->imu, &rate)) return;
    f->up = quat_apply(quat_inv(torso_to_world), (struct vec3){0, 0, 1});
    f->turning = rate;
    double turning = vec3_norm(f->turning);
    if (turning > f->quiet) f->still_since = f->nm->now;
    if (turning > AT_REST) f->at_rest_since = f->nm->now;
    if (turning > f->rocking || fall_tilt(f->up) < LIES) f->down_since = f->nm->now;

    const struct fall_params p = {f->tilt, f->ahead, f->state == KICKING ? fmax(f->least, f->least_kick) : f->least};
    enum fall_way way = fall_coming(&p, f->up, f->turning);
    f->coming = way ? f->coming + nm_seconds(f->nm->dt) : 0;
    if (way && f->coming <= nm_seconds(f->nm->dt)) f->fall = way;
}

static void feel_feet(struct hcm *f)
{
    const SolePressure *left = &f->feet->left, *right = &f->feet->right;
    bool told = left->valid && right->valid, loaded = !told || !(left->force + right->force < f->no_load);
    f->felt_load |= told && loaded;
    if (!f->felt_load) return;
    if (!loaded)
        f->loaded_since = INT64_MAX;
    else if (f->loaded_since == INT64_MAX)
        f->loaded_since = f->nm->now;
    if (loaded || !hcm_is_upright(f))
        f->lifted_since = INT64_MAX;
    else if (f->lifted_since == INT64_MAX)
        f->lifted_since = f->nm->now;
}

/* A battery that is relieved of its load recovers a little. Only one that is much better has been changed. */
static void feel_battery(struct hcm *f)
{
    double charge = f->battery->percentage;
    if (charge < f->empty) f->drained = true;
    if (charge > f->empty + CHANGED) f->drained = false;
}

void hcm_sense(struct hcm *f)
{
    if (nm_fresh(f->nm, f->battery)) feel_battery(f);
    if (nm_fresh(f->nm, f->imu)) feel_trunk(f);
    if (nm_fresh(f->nm, f->feet)) feel_feet(f);
}

bool hcm_is_upright(const struct hcm *f) { return fall_tilt(f->up) < f->upright; }
bool hcm_is_still(const struct hcm *f) { return ago(f, f->still_since) > f->settle; }
bool hcm_is_down(const struct hcm *f) { return ago(f, f->down_since) > f->landed; }
/* Two looks in a row: one spike of the sensor is no fall. */
bool hcm_is_falling(const struct hcm *f) { return f->coming > 1.5 * nm_seconds(f->nm->dt); }
bool hcm_is_lifted(const struct hcm *f) { return ago(f, f->lifted_since) > f->lifted; }
bool hcm_is_loaded(const struct hcm *f) { return ago(f, f->loaded_since) > 0.1; }
