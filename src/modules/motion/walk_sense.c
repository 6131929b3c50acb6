/* What the walk knows of its body: soles, centre of mass and load from joints, tilt and cells, and an observer that
 * turns them into place and speed of the centre of mass. */
#include "modules/motion/walk_parts.h"

void walk_into(struct pose2 frame, double x, double y, double out[2])
{
    double c = cos(frame.theta), s = sin(frame.theta), dx = x - frame.x, dy = y - frame.y;
    out[0] = c * dx + s * dy;
    out[1] = -s * dx + c * dy;
}

static const double WILD = 12;            /* rad/s: no trunk turns like that before it lies                 */
static const double GYRO_FILTER = 0.0115; /* s: against its noise; slower, and the ankles come too late       */
static const double COM_FILTER = 0.0225;  /* s: of the centre of mass in the torso, which arms and legs shift */
static const double LOADED = 0.1;         /* of the weight: less on both feet is no pressure to reckon with   */
static const double FOOT_HIGHER = 0.02;   /* m, for legs of WALK_LEG: so much higher a sole bears nothing     */

/* Without a tilt that is to be believed the trunk is taken to stand as planned. */
static void look_at_tilt(struct walk_engine *e, const struct walk_params *p, const struct walk_sense *sense, double dt,
                         struct walk_seen *seen)
{
    struct vec3 up = quat_apply(quat_inv(sense->torso_to_world), (struct vec3){0, 0, 1});
    struct vec3 gyro = sense->tilt ? sense->gyro : (struct vec3){0, 0, 0};
    if (vec3_norm(gyro) > WILD) gyro = e->gyro;
    e->gyro = vec3_add(e->gyro, vec3_scale(vec3_sub(gyro, e->gyro), walk_share(dt, GYRO_FILTER)));
    seen->roll = sense->tilt ? atan2(up.y, up.z) : 0;
    seen->pitch = sense->tilt ? atan2(-up.x, sqrt(up.y * up.y + up.z * up.z)) : p->lean + p->lean_speed * e->step[0];
    seen->yaw = sense->tilt ? quat_yaw(sense->torso_to_world) : 0;
}

/* Load and its moments by the cells. */
static double press(const struct walk_engine *e, const struct walk_sense *sense, const struct nm_kin *kin,
                    struct walk_seen *seen, double at[2])
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        const struct nm_foot *foot = &e->body->foot[side];
        seen->load[side] = 0;
        for (uint32_t i = 0; i < foot->n_cells; i++) {
            double force = sense->cells[side][i];
            struct vec3 cell = kin->pose[foot->cells[i]].pos;
            seen->load[side] += force;
            at[0] += force * cell.x;
            at[1] += force * cell.y;
        }
        sum += seen->load[side];
    }
    return sum;
}

/* Without cells: the lower a sole, the more it bears; both alike at the same height. */
static double guess_press(const struct walk_engine *e, const struct nm_kin *kin, struct walk_seen *seen, double at[2])
{
    double higher = kin->pose[e->body->foot[NM_LEFT].sole].pos.z - kin->pose[e->body->foot[NM_RIGHT].sole].pos.z;
    double left = walk_clip(0.5 - higher / (FOOT_HIGHER * e->size), 0, 1);
    seen->load[NM_LEFT] = left * e->weight;
    seen->load[NM_RIGHT] = (1 - left) * e->weight;
    for (int side = 0; side < 2; side++) {
        at[0] += seen->load[side] * seen->sole[side].x;
        at[1] += seen->load[side] * seen->sole[side].y;
    }
    return e->weight;
}

void walk_look(struct walk_engine *e, const struct walk_params *p, const struct walk_sense *sense, double dt,
               struct walk_seen *seen)
{
    struct nm_kin kin;
    look_at_tilt(e, p, sense, dt, seen);
    struct quat level = quat_rpy(seen->roll, seen->pitch, 0);
    nm_forward(e->body, (struct pose3){level, {0, 0, 0}}, sense->q, &kin);
    seen->com = nm_com(e->body, &kin);
    struct vec3 in_torso = quat_apply(quat_inv(level), seen->com);
    e->com_in_torso =
        vec3_add(e->com_in_torso, vec3_scale(vec3_sub(in_torso, e->com_in_torso), walk_share(dt, COM_FILTER)));
    for (int side = 0; side < 2; side++) {
        struct pose3 sole = kin.pose[e->body->foot[side].sole];
        seen->sole[side] = (struct pose2){sole.pos.x, sole.pos.y, quat_yaw(sole.rot)};
    }
    e->apart = pose2_mul(pose2_inv(seen->sole[e->support]), seen->sole[walk_other(e->support)]);
    e->facing = -seen->sole[e->support].theta;
    double at[2] = {0, 0};
    seen->loaded = sense->feet ? press(e, sense, &kin, seen, at) : guess_press(e, &kin, seen, at);
    struct pose2 here = seen->sole[e->support];
    walk_into(here, seen->com.x, seen->com.y, seen->com_here);
    seen->pressure[0] = seen->pressure[1] = 0;
    if (seen->loaded > LOADED * e->weight) walk_into(here, at[0] / seen->loaded, at[1] / seen->loaded, seen->pressure);
}

/* The pendulum driven by the measured centre of pressure, drawn to the measured place. */
void walk_observe(struct walk_engine *e, const struct walk_params *p, const struct walk_seen *seen, double dt)
{
    for (int i = 0; i < 2; i++) {
        if (!e->observing) {
            e->com_seen[i] = seen->com_here[i];
            e->com_speed[i] = 0;
        }
        if (seen->loaded > LOADED * e->weight)
            e->com_speed[i] += e->w * e->w * (e->com_seen[i] - seen->pressure[i]) * dt;
        e->com_seen[i] += e->com_speed[i] * dt;
        double error = seen->com_here[i] - e->com_seen[i];
        e->com_seen[i] += walk_share(dt, p->observe_place) * error;
        e->com_speed[i] += p->observe_speed * dt * error;
    }
    e->observing = true;
}

void walk_capture_point(const struct walk_engine *e, const struct walk_params *p, const struct walk_seen *seen,
                        double xi[2])
{
    double w = e->w * p->rate, ahead = exp(w * p->look_ahead);
    for (int i = 0; i < 2; i++)
        xi[i] = seen->pressure[i] + (e->com_seen[i] + e->com_speed[i] / w - seen->pressure[i]) * ahead;
}
