/* Who breaks which rule, judged from truth. The numbers without a row in rules.h are those of the virtual referee of
 * the Humanoid League's season in Webots, where it has them. */
#include <math.h>

#include "core/nm.h"
#include "sim/judge_parts.h"

static const double READY_LEAST = 4;    /* s: READY is not cut short before                               */
static const double STANDS = 2;         /* s: whoever has not moved for so long stands                    */
static const double SETTLING = 1.5;     /* s: so long after the call a walk may still come to rest        */
static const double LEAVING = 5;        /* s: so long opponents may take to leave a set play's circle     */
static const double FAST = 0.1;         /* m/s: faster is walking                                        */
static const double FASTER = 0.1;       /* m/s: a pusher is so much faster towards the other             */
static const double LETS_GO = 0.3;      /* s without contact until it has ended */
static const double BUMP = 0.6;         /* s: a fall so soon after a bump is its consequence              */
static const double IMMUNE = 2;         /* s, after a foul                                               */
static const double OVER_BALL = 0.12;   /* m: a robot that stands so near stands over the ball            */
static const double KEEPER_NEAR = 0.5;  /* m: HL, the ball before an idle keeper                          */
static const double STUCK_NEAR = 0.5;   /* m: robots that are stuck with a ball                           */
static const uint32_t IN_GOAL_AREA = 3; /* robots of a team that may be in its own goal area              */

static const struct nm_offence_row *row_of(const struct nm_judge *j, enum nm_offence offence)
{
    return &nm_offence_rows[j->match.options.league][offence];
}

static bool known(const struct nm_judge *j, enum nm_offence offence)
{
    return row_of(j, offence)->consequence != NM_NO_OFFENCE;
}

static bool is_keeper(const struct nm_judge *j, const struct watched *w)
{
    return j->match.teams[w->team].keeper == w->number;
}

static double limit_of(const struct nm_judge *j, const struct watched *w, enum nm_offence offence)
{
    const struct nm_offence_row *row = row_of(j, offence);
    bool keeps = is_keeper(j, w) && nm_in_own_penalty_area(&j->field, nm_match_side(&j->match, w->team), judge_at(w));
    return keeps ? row->keeper_limit : row->limit;
}

/* ---- positions ---- */

/* Nearest to the ball of those that would be illegal: it may be the one that goes ahead. */
static int one_ahead(struct nm_judge *j)
{
    int one = -1;
    if (j->match.options.league == NM_GAME_HL || j->match.kicking < 0) return -1;
    for (uint32_t i = 0; i < j->n; i++) {
        const struct watched *w = &j->robots[i];
        if ((int)w->team != j->match.kicking || !judge_plays(j, i)) continue;
        bool legal = nm_legal_at_kick_off(&j->field, nm_match_side(&j->match, w->team), true, false, judge_at(w));
        if (!legal && (one < 0 || judge_gap(w->pose, j->ball) < judge_gap(j->robots[one].pose, j->ball))) one = (int)i;
    }
    return one;
}

static uint32_t kicker_of(struct nm_judge *j)
{
    uint32_t one = NM_PLAYERS;
    for (uint32_t i = 0; i < j->n; i++) {
        const struct watched *w = &j->robots[i];
        if ((int)w->team != j->match.kicking || !judge_plays(j, i)) continue;
        if (one == NM_PLAYERS || judge_gap(w->pose, j->ball_place) < judge_gap(j->robots[one].pose, j->ball_place))
            one = i;
    }
    return one;
}

/* True where all robots stand as they should; with `removes` whoever does not is taken out. */
static bool look_at_positions(struct nm_judge *j, bool removes)
{
    const struct nm_match *m = &j->match;
    bool penalty_kick = m->set_play == NM_GAME_PENALTY_KICK, all = true;
    int ahead = one_ahead(j), goal_side = m->kicking >= 0 ? -nm_match_side(m, (uint32_t)m->kicking) : 0;
    uint32_t kicker = penalty_kick ? kicker_of(j) : NM_PLAYERS;
    for (uint32_t i = 0; i < j->n; i++) {
        const struct watched *w = &j->robots[i];
        if (!judge_plays(j, i)) continue;
        int side = nm_match_side(m, w->team);
        bool legal = penalty_kick ? nm_legal_at_penalty_kick(m->options.league, &j->field, goal_side, side,
                                                             is_keeper(j, w), i == kicker, judge_at(w))
                                  : nm_legal_at_kick_off(&j->field, side, (int)w->team == m->kicking, (int)i == ahead,
                                                         judge_at(w));
        if (!legal && removes) judge_penalise(j, i, NM_OFFENCE_POSITION_IN_SET);
        all &= legal;
    }
    return all;
}

void judge_look_in_ready(struct nm_judge *j, bool *all_stand)
{
    *all_stand = judge_for(j, j->match.since) > READY_LEAST;
    for (uint32_t i = 0; i < j->n && *all_stand; i++)
        if (judge_plays(j, i) && (j->robots[i].fallen || judge_for(j, j->robots[i].still) < STANDS)) *all_stand = false;
    *all_stand = *all_stand && look_at_positions(j, false);
}

static bool walks(const struct watched *w) { return vec2_norm(w->velocity.x, w->velocity.y) > FAST; }

void judge_look_in_set(struct nm_judge *j, bool begins)
{
    if (j->match.phase == NM_GAME_SHOOTOUT) return;
    if (begins) {
        look_at_positions(j, true);
        return;
    }
    if (!known(j, NM_OFFENCE_MOTION_IN_SET) || judge_for(j, j->match.since) < SETTLING) return;
    for (uint32_t i = 0; i < j->n; i++) {
        struct watched *w = &j->robots[i];
        bool moved = walks(w) && w->still == j->now; /* by more than a sway */
        if (judge_plays(j, i) && !w->fallen && moved) judge_penalise(j, i, NM_OFFENCE_MOTION_IN_SET);
    }
}

/* Whoever is too near when a set play is taken, or walks while play is stopped. */
void judge_look_at_set_play(struct nm_judge *j, bool must_be_clear)
{
    const struct nm_match *m = &j->match;
    double since = judge_for(j, m->since), distance = nm_rules_distance(m->rules, &j->field);
    bool late = must_be_clear || (m->taking == NM_GAME_NOT_TAKING && since > LEAVING);
    if (m->stopped) {
        if (!known(j, NM_OFFENCE_MOTION_IN_STOP) || since < SETTLING + 1) return;
        for (uint32_t i = 0; i < j->n; i++) {
            const struct watched *w = &j->robots[i];
            bool moved = walks(w) && w->still == j->now;
            if (judge_plays(j, i) && !w->fallen && moved) judge_penalise(j, i, NM_OFFENCE_MOTION_IN_STOP);
        }
        return;
    }
    if (!m->set_play || !late || !j->placed) return;
    for (uint32_t i = 0; i < j->n; i++) {
        const struct watched *w = &j->robots[i];
        if ((int)w->team == m->kicking || !judge_plays(j, i) || w->fallen) continue;
        if (judge_gap(w->pose, j->ball_place) < distance) judge_penalise(j, i, NM_OFFENCE_ENCROACHING);
    }
}

/* ---- contact ---- */

static double towards(const struct watched *a, const struct watched *b)
{
    double dx = b->pose.x - a->pose.x, dy = b->pose.y - a->pose.y, d = vec2_norm(dx, dy);
    return d > 0.01 ? (a->before.x * dx + a->before.y * dy) / d : 0;
}

/* Walking into an opponent who does not do the same, and bumps after which the other falls. */
static void look_at_pushing(struct nm_judge *j)
{
    const struct nm_touches *touches = nm_stage_touches(j->stage);
    double dt = (double)nm_stage_tick(j->stage) * 1e-9;
    for (uint32_t i = 0; i < j->n; i++) {
        struct watched *a = &j->robots[i];
        bool pushes = false;
        if (!judge_plays(j, i) || a->fallen) continue;
        for (uint32_t k = 0; k < j->n; k++) {
            struct watched *b = &j->robots[k];
            if (b->team == a->team || !(touches->robots[i] >> k & 1) || !judge_plays(j, k)) continue;
            double mine = towards(a, b), theirs = towards(b, a);
            if (mine < FAST || mine < theirs + FASTER) continue;
            pushes = true;
            b->bumped_by = (int)i;
            b->bumped = j->now;
        }
        if (pushes) a->pushed = j->now;
        bool goes_on = a->pushing > 0 && judge_for(j, a->pushed) < LETS_GO;
        a->pushing = pushes || goes_on ? a->pushing + dt : fmax(a->pushing - dt, 0);
        if (a->pushing > limit_of(j, a, NM_OFFENCE_PUSHING) && j->now >= a->immune) {
            a->immune = j->now + nm_ns(IMMUNE);
            judge_penalise(j, i, NM_OFFENCE_PUSHING);
            return;
        }
    }
    for (uint32_t k = 0; k < j->n; k++) {
        struct watched *b = &j->robots[k];
        if (!judge_plays(j, k) || b->down != j->now || b->bumped_by < 0 || judge_for(j, b->bumped) > BUMP) continue;
        uint32_t guilty = (uint32_t)b->bumped_by;
        b->bumped_by = -1;
        if (!judge_plays(j, guilty) || j->now < j->robots[guilty].immune) continue;
        j->robots[guilty].immune = j->now + nm_ns(IMMUNE);
        judge_penalise(j, guilty, NM_OFFENCE_PUSHING);
        return;
    }
}

/* ---- single robots ---- */

/* Bodies that lie begin to get up when they move; on the flat field nobody can see that. */
static bool too_long_down(struct nm_judge *j, const struct watched *w)
{
    double limit = limit_of(j, w, NM_OFFENCE_FALLEN);
    const double whole = nm_offence_rows[NM_GAME_HSL][NM_OFFENCE_FALLEN].limit; /* nobody lies longer */
    if (w->down < 0) return false;
    if (j->match.options.league != NM_GAME_SPL) return judge_for(j, w->down) > limit;
    bool never_tried = nm_stage_world(j->stage) && w->active <= w->down + nm_ns(1);
    return judge_for(j, w->down) > whole || (never_tried && judge_for(j, w->down) > limit);
}

static bool idle(struct nm_judge *j, const struct watched *w)
{
    double limit = limit_of(j, w, NM_OFFENCE_INACTIVE);
    if (w->fallen || judge_for(j, w->active) < limit || judge_for(j, j->match.since) < limit) return false;
    return j->match.options.league != NM_GAME_HL || judge_gap(w->pose, j->ball) < KEEPER_NEAR;
}

static void look_at_robot(struct nm_judge *j, uint32_t i)
{
    struct watched *w = &j->robots[i];
    bool over = judge_gap(w->pose, j->ball) < OVER_BALL && !w->fallen;
    w->holding = !over ? -1 : w->holding < 0 ? j->now : w->holding;
    if (too_long_down(j, w))
        judge_penalise(j, i, NM_OFFENCE_FALLEN);
    else if (idle(j, w))
        judge_penalise(j, i, NM_OFFENCE_INACTIVE);
    else if (w->outside >= 0 && judge_for(j, w->outside) > limit_of(j, w, NM_OFFENCE_LEAVING))
        judge_penalise(j, i, NM_OFFENCE_LEAVING);
    else if (w->holding >= 0 && judge_for(j, w->holding) > limit_of(j, w, NM_OFFENCE_HOLDING))
        judge_penalise(j, i, NM_OFFENCE_HOLDING);
}

/* The farthest from the goal of those in the area is the one too many. */
static void look_at_goal_areas(struct nm_judge *j)
{
    if (!known(j, NM_OFFENCE_OWN_GOAL_AREA)) return;
    for (uint32_t team = 0; team < 2; team++) {
        int side = nm_match_side(&j->match, team);
        uint32_t inside = 0, last = 0;
        double far = -1;
        for (uint32_t i = 0; i < j->n; i++) {
            const struct watched *w = &j->robots[i];
            if (w->team != team || !judge_plays(j, i) || !nm_in_own_goal_area(&j->field, side, judge_at(w))) continue;
            double gap = vec2_norm(w->pose.x - side * j->field.length / 2, w->pose.y);
            inside++;
            if (gap > far) far = gap, last = i;
        }
        if (inside > IN_GOAL_AREA) judge_penalise(j, last, NM_OFFENCE_OWN_GOAL_AREA);
    }
}

static void look_at_stuck_ball(struct nm_judge *j)
{
    uint32_t nearest = NM_PLAYERS;
    if (!known(j, NM_OFFENCE_STUCK) || judge_for(j, j->ball_still) < row_of(j, NM_OFFENCE_STUCK)->limit) return;
    for (uint32_t i = 0; i < j->n; i++) {
        const struct watched *w = &j->robots[i];
        if (!judge_plays(j, i) || judge_gap(w->pose, j->ball) > STUCK_NEAR) continue;
        if (nearest == NM_PLAYERS || judge_gap(w->pose, j->ball) < judge_gap(j->robots[nearest].pose, j->ball))
            nearest = i;
    }
    if (nearest == NM_PLAYERS) return;
    j->ball_still = j->now;
    judge_penalise(j, nearest, NM_OFFENCE_STUCK);
}

void judge_look_in_play(struct nm_judge *j)
{
    for (uint32_t i = 0; i < j->n; i++)
        if (judge_plays(j, i)) look_at_robot(j, i);
    look_at_pushing(j);
    look_at_goal_areas(j);
    if (j->match.kicking < 0) look_at_stuck_ball(j);
}
