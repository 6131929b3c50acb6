#include "modules/position/position.h"

#include <math.h>
#include <string.h>

#include "body/robot.h"
#include "core/poses.h"
#include "core/stamp.h"

/* ---- odometry ---- */

void position_past_take(struct nm_trail *past, const struct nm *nm, const Odometry *odometry)
{
    int64_t at = nm_stamp_ns(odometry->header.stamp);
    if (at <= 0 || at > nm->now) at = nm->now;
    if (nm_fresh(nm, odometry)) nm_trail_put(past, at, nm_pose2(&odometry->pose.pose));
}

/* ---- what game and body say ---- */

static bool is_before(uint8_t state) { return state == MatchState_INITIAL || state == MatchState_STANDBY; }

uint32_t position_story_read(struct position_story *s, const struct nm *nm, const struct position_ports *io)
{
    uint32_t events = 0;
    uint8_t state = io->match->state, body = io->hcm->state;
    bool penalized = io->match->penalized, carried = body == HcmState_CARRIED;
    bool down = body == HcmState_FALLING || body == HcmState_FALLEN || body == HcmState_GETTING_UP;
    if (body == HcmState_STOPPED) down = s->down; /* nobody gets up while play is stopped */
    bool known = nm_age(nm, io->match) != INT64_MAX;
    if (!s->begun) events |= POSITION_START;
    /* in a shoot-out robots are put before each shot */
    bool shot = io->match->phase == MatchState_PHASE_PENALTY_SHOOTOUT;
    bool put = shot && !penalized && state == MatchState_SET && (s->state != state || s->penalized);
    if (s->begun && known && ((!is_before(s->state) && is_before(state)) || put)) events |= POSITION_START;
    if (s->penalized && !penalized && !shot) events |= POSITION_ENTRY;
    if (s->down && !down && !carried) events |= POSITION_UP;
    if (s->carried && !carried && !down && !penalized) events |= POSITION_PLACED;
    if (s->begun && s->state == MatchState_SET && state == MatchState_PLAYING && !penalized &&
        io->match->set_play == MatchState_SET_PLAY_NONE && !shot)
        events |= POSITION_KICK_OFF;
    *s = (struct position_story){true, penalized, down, carried, state, down || carried};
    return events;
}

/* Along the own half of both touchlines, looking at the field; in a shoot-out behind the ball, or on the own line. */
uint32_t position_start_spots(const struct nm_pitch_size *f, const MatchState *match,
                              struct position_spot spots[POSITION_SPOTS])
{
    const int places = 5;
    if (match->phase == MatchState_PHASE_PENALTY_SHOOTOUT) {
        bool shoots = match->kicking == MatchState_KICK_OWN;
        double x = shoots ? f->length / 2 - f->penalty_mark - 1 : -f->length / 2;
        spots[0] = (struct position_spot){{x, 0, 0}, shoots ? 0.4 : 0.15, shoots ? 0.4 : 0.25, 0.2};
        return 1;
    }
    double apart = f->length / 2 / places;
    uint32_t n = 0;
    for (double side = -1; side <= 1; side += 2)
        for (int i = 0; i < places; i++)
            spots[n++] = (struct position_spot){
                {-apart * (i + 0.5), side * (f->width / 2 + 0.1), -side * M_PI / 2}, apart / 2, 0.25, 0.2};
    return n;
}

/* Humanoid League: outside of the touchline, further robots every 0.6 m; SPL and HSL: near that place. */
uint32_t position_entry_spots(const struct nm_pitch_size *f, struct position_spot spots[POSITION_SPOTS])
{
    uint32_t n = 0;
    for (double side = -1; side <= 1; side += 2)
        for (int i = 0; i < 3; i++)
            spots[n++] = (struct position_spot){
                {-f->length / 2 + f->penalty_mark + 0.6 * i, side * (f->width / 2 + 0.3), -side * M_PI / 2},
                0.35,
                0.25,
                0.25};
    return n;
}

double position_eye_height(const struct nm *nm, double wanted)
{
    if (wanted > 0) return wanted;
    return nm->body ? 0.8 * nm->body->height : 0.5;
}

/* ---- the result ---- */

static Quaternion yaw(double angle) { return (Quaternion){0, 0, sin(angle / 2), cos(angle / 2)}; }

static void tell_tf(struct nm *nm, struct position_ports *io, struct pose2 odom_to_map)
{
    TFMessage *tf = nm_push(nm, &io->tf);
    TransformStamped *t = nm_append(&tf->transforms, &TransformStamped_type);
    if (!t) return;
    t->header.stamp = nm_stamp(nm->now);
    nm_text(t->header.frame_id, "map");
    nm_text(t->child_frame_id, "odom");
    t->transform.translation = (Vector3){odom_to_map.x, odom_to_map.y, 0};
    t->transform.rotation = yaw(odom_to_map.theta);
}

void position_tell(struct nm *nm, struct position_ports *io, const struct nm_trail *past,
                   const struct position_belief *beliefs, uint32_t n, int64_t last_reset, const char *reason)
{
    static const int members[3] = {0, 1, 5}; /* x, y and turn about z of a pose's six */
    PoseWithCovarianceStamped *pose = io->pose;
    PoseHypotheses *all = io->hypotheses;
    if (!n) return;
    pose->header.stamp = all->header.stamp = nm_stamp(past->n ? past->last[(past->n - 1) % NM_TRAIL].at : nm->now);
    nm_text(pose->header.frame_id, "map");
    nm_text(all->header.frame_id, "map");
    pose->pose.pose.position = (Point){beliefs->pose.x, beliefs->pose.y, 0};
    pose->pose.pose.orientation = yaw(beliefs->pose.theta);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) pose->pose.covariance[6 * members[i] + members[k]] = beliefs->covariance[i][k];
    nm_put(nm, pose);

    all->valid = true;
    all->last_reset = nm_stamp(last_reset);
    nm_text(all->reset_reason, "%s", reason);
    for (uint32_t i = 0; i < n; i++) {
        PoseHypothesis *h = nm_append(&all->hypotheses, &PoseHypothesis_type);
        if (!h) break;
        h->pose = (Pose2D){beliefs[i].pose.x, beliefs[i].pose.y, beliefs[i].pose.theta};
        memcpy(h->covariance, beliefs[i].covariance, sizeof h->covariance);
        h->weight = (float)beliefs[i].weight;
    }
    nm_put(nm, all);
    struct pose2 now = nm_trail_newest(past);
    tell_tf(nm, io, pose2_mul(beliefs->pose, pose2_inv(now)));
}
