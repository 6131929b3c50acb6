#include "referee/rules.h"

#include <math.h>

/* clang-format off */
#define RULES(X) /* member, Humanoid League, Standard Platform League, Humanoid Soccer League */ \
    X(name, "hl", "spl", "hsl") \
    X(version, 12, 18, 20) \
    X(players, 4, 5, 4) \
    X(half, 600, 600, 600) \
    X(half_break, 300, 600, 600) \
    X(extra_half, 300, 0, 300) \
    X(ready, 45, 45, 45) \
    X(ready_penalty_kick, 0, 30, 45) \
    X(set, 5, 3, 3) \
    X(kick_off_free, 10, 10, 10) \
    X(placing, 5, 0, 5) \
    X(preparing, 15, 0, 0) \
    X(taking, 10, 30, 45) \
    X(taking_penalty_kick, 10, 30, 60) \
    X(shot, 60, 30, 60) \
    X(timeout, 120, 300, 300) \
    X(referee_timeout, 600, 600, 600) \
    X(signal_delay, 0, 15, 10) \
    X(goal_delay, 0, 15, 0) \
    X(removal, 10, 45, 45) \
    X(longer, 0, 10, 10) \
    X(shots, 5, 3, 3) \
    X(sudden_death, 5, 3, 3) \
    X(timeouts, 1, 1, 1) \
    X(timeouts_each_half, true, false, false) \
    X(mercy, 0, 10, 10) \
    X(messages, 0, 1200, 12000) \
    X(messages_extra_time, 0, 0, 6000) \
    X(message_bytes, 0, 128, 512) \
    X(halts_clock, true, false, false) \
    X(stops_play, false, false, true) \
    X(auto_release, true, false, false) \
    X(clock_waits, true, false, true) \
    X(own_touch_twice, false, true, false) \
    X(stuck_global, 120, 30, 30) \
    X(stuck_near, 0, 0, 1) \
    X(distance, 0.75, 0.75, 0) \
    X(clearance, 0.5, 0, 0) \
    X(slot_distance, 0.6, 0.6, 0.6) \
    X(slot_outside, 0.3, 0.5, 0.5)
/* clang-format on */
#define OF_HL(member, hl, spl, hsl)  .member = hl,
#define OF_SPL(member, hl, spl, hsl) .member = spl,
#define OF_HSL(member, hl, spl, hsl) .member = hsl,
const struct nm_rules nm_rules[NM_GAME_LEAGUES] = {
    [NM_GAME_HL] = {RULES(OF_HL)}, [NM_GAME_SPL] = {RULES(OF_SPL)}, [NM_GAME_HSL] = {RULES(OF_HSL)}};

/* ---- restarts ---- */

const struct nm_restart_row nm_restart_rows[NM_GAME_LEAGUES][NM_EXITS] = {
    [NM_GAME_HL] = {[NM_EXIT_TOUCHLINE] = {NM_GAME_THROW_IN, NM_AT_EXIT, false},
                    [NM_EXIT_GOAL_LINE_BY_ATTACKER] = {NM_GAME_GOAL_KICK, NM_AT_HALFWAY, true},
                    [NM_EXIT_GOAL_LINE_BY_DEFENDER] = {NM_GAME_CORNER_KICK, NM_AT_CORNER, true},
                    [NM_EXIT_FOUL] = {NM_GAME_DIRECT_FREE_KICK, NM_AT_FOUL, true},
                    [NM_EXIT_FOUL_IN_OWN_PENALTY_AREA] = {NM_GAME_PENALTY_KICK, NM_AT_PENALTY_MARK, true}},
    [NM_GAME_SPL] = {[NM_EXIT_TOUCHLINE] = {NM_GAME_THROW_IN, NM_AT_EXIT, true},
                     [NM_EXIT_GOAL_LINE_BY_ATTACKER] = {NM_GAME_GOAL_KICK, NM_AT_GOAL_AREA_CORNER, true},
                     [NM_EXIT_GOAL_LINE_BY_DEFENDER] = {NM_GAME_CORNER_KICK, NM_AT_CORNER, true},
                     [NM_EXIT_FOUL] = {NM_GAME_DIRECT_FREE_KICK, NM_AT_FOUL, true},
                     [NM_EXIT_FOUL_IN_OWN_PENALTY_AREA] = {NM_GAME_PENALTY_KICK, NM_AT_PENALTY_MARK, true}},
    [NM_GAME_HSL] = {[NM_EXIT_TOUCHLINE] = {NM_GAME_THROW_IN, NM_AT_EXIT, false},
                     [NM_EXIT_GOAL_LINE_BY_ATTACKER] = {NM_GAME_GOAL_KICK, NM_AT_GOAL_AREA_CORNER, true},
                     [NM_EXIT_GOAL_LINE_BY_DEFENDER] = {NM_GAME_CORNER_KICK, NM_AT_CORNER, true},
                     [NM_EXIT_FOUL] = {NM_GAME_DIRECT_FREE_KICK, NM_AT_FOUL, true},
                     [NM_EXIT_FOUL_IN_OWN_PENALTY_AREA] = {NM_GAME_PENALTY_KICK, NM_AT_PENALTY_MARK, true}},
};

struct vec3 nm_restart_at(const struct nm_pitch_size *f, enum nm_restart_place place, struct vec3 exit, int guilty_side)
{
    double x = f->length / 2, y = f->width / 2, up = exit.y < 0 ? -1 : 1, end = exit.x < 0 ? -1 : 1;
    switch (place) {
    case NM_AT_EXIT: return (struct vec3){fmin(fmax(exit.x, -x), x), up * y, 0};
    case NM_AT_HALFWAY: return (struct vec3){0, up * y, 0};
    case NM_AT_GOAL_AREA_CORNER: return (struct vec3){end * (x - f->goal_area_length), up * f->goal_area_width / 2, 0};
    case NM_AT_CORNER: return (struct vec3){end * x, up * y, 0};
    case NM_AT_PENALTY_MARK: return (struct vec3){guilty_side * (x - f->penalty_mark), 0, 0};
    case NM_AT_FOUL: break;
    }
    return (struct vec3){fmin(fmax(exit.x, -x), x), fmin(fmax(exit.y, -y), y), 0};
}

/* Lines belong to the area that they bound: the ball is out when it has left their outer edge. */
bool nm_ball_out(const struct nm_pitch_size *f, double radius, struct vec3 ball, int last_side, enum nm_exit *how)
{
    double beyond = f->line_width / 2 + radius, over_x = fabs(ball.x) - f->length / 2 - beyond,
           over_y = fabs(ball.y) - f->width / 2 - beyond;
    if (over_x <= 0 && over_y <= 0) return false;
    bool own_end = (ball.x < 0) == (last_side < 0);
    *how = over_x <= 0 || over_y > over_x ? NM_EXIT_TOUCHLINE
           : own_end                      ? NM_EXIT_GOAL_LINE_BY_DEFENDER
                                          : NM_EXIT_GOAL_LINE_BY_ATTACKER;
    return true;
}

/* ---- penalties ---- */

const struct nm_offence_name nm_offence_names[NM_OFFENCES] = {
    [NM_OFFENCE_PUSHING] = {"pushing", "pushing"},
    [NM_OFFENCE_HOLDING] = {"ball holding", "holding"},
    [NM_OFFENCE_HANDS] = {"hands", "hands"},
    [NM_OFFENCE_FALLEN] = {"fallen", "fallen"},
    [NM_OFFENCE_INACTIVE] = {"inactive", "inactive"},
    [NM_OFFENCE_LEAVING] = {"leaving the field", "leaving"},
    [NM_OFFENCE_POSITION_IN_SET] = {"illegal position in SET", "position"},
    [NM_OFFENCE_OWN_GOAL_AREA] = {"too many in the own goal area", "area"},
    [NM_OFFENCE_ENCROACHING] = {"too near at a set play", "encroaching"},
    [NM_OFFENCE_MOTION_IN_SET] = {"motion in SET", "motion"},
    [NM_OFFENCE_MOTION_IN_STOP] = {"motion while play is stopped", "stop"},
    [NM_OFFENCE_STUCK] = {"stuck play", "stuck"},
    [NM_OFFENCE_PICK_UP] = {"pick-up", "pick-up"},
    [NM_OFFENCE_STANCE] = {"stance", "stance"},
    [NM_OFFENCE_YELLOW_CARD] = {"yellow card", "yellow"},
    [NM_OFFENCE_RED_CARD] = {"red card", "red"},
    [NM_OFFENCE_SUBSTITUTED] = {"substituted", "substituted"},
};

const struct nm_offence_row nm_offence_rows[NM_GAME_LEAGUES][NM_OFFENCES] = {
    [NM_GAME_HL] = {[NM_OFFENCE_PUSHING] = {NM_REMOVED, .penalty = NM_GAME_PUSHING, .limit = 4, .keeper_limit = 4,
                                            .free_kick_within = 1, .free_kick_instead = true},
                    [NM_OFFENCE_HOLDING] = {NM_REMOVED, .penalty = NM_GAME_BALL_HOLDING, .limit = 5, .keeper_limit = 6,
                                            .free_kick_within = INFINITY, .free_kick_instead = true},
                    [NM_OFFENCE_HANDS] = {NM_REMOVED, .penalty = NM_GAME_BALL_HOLDING},
                    [NM_OFFENCE_FALLEN] = {NM_REMOVED, .penalty = NM_GAME_PICK_UP, .limit = 20, .keeper_limit = 20},
                    /* a field player may stand about; a keeper not, with the ball before it */
                    [NM_OFFENCE_INACTIVE] = {NM_REMOVED, .penalty = NM_GAME_PICK_UP, .limit = INFINITY,
                                             .keeper_limit = 20},
                    [NM_OFFENCE_LEAVING] = {NM_REMOVED, .penalty = NM_GAME_PICK_UP, .limit = 20, .keeper_limit = 20},
                    [NM_OFFENCE_POSITION_IN_SET] = {NM_MOVED_OUT, .penalty = NM_GAME_PICK_UP},
                    [NM_OFFENCE_ENCROACHING] = {NM_REMOVED, .penalty = NM_GAME_PICK_UP},
                    [NM_OFFENCE_PICK_UP] = {NM_REMOVED, .penalty = NM_GAME_PICK_UP},
                    [NM_OFFENCE_YELLOW_CARD] = {NM_CAUTIONED, .penalty = NM_GAME_NO_PENALTY},
                    [NM_OFFENCE_RED_CARD] = {NM_OUT_FOR_GOOD, .penalty = NM_GAME_SENT_OFF},
                    [NM_OFFENCE_SUBSTITUTED] = {NM_OUT_FOR_GOOD, .penalty = NM_GAME_SUBSTITUTE}},
    [NM_GAME_SPL] = {[NM_OFFENCE_PUSHING] = {NM_REMOVED, .penalty = NM_GAME_PUSHING, .counted = true, .limit = INFINITY,
                                             .keeper_limit = INFINITY, .free_kick_within = 0.5},
                     [NM_OFFENCE_HOLDING] = {NM_REMOVED, .penalty = NM_GAME_BALL_HOLDING, .counted = true, .limit = 3,
                                             .keeper_limit = 10},
                     [NM_OFFENCE_HANDS] = {NM_REMOVED, .penalty = NM_GAME_BALL_HOLDING, .counted = true},
                     [NM_OFFENCE_FALLEN] = {NM_REMOVED, .penalty = NM_GAME_INCAPABLE, .limit = 5, .keeper_limit = 5},
                     [NM_OFFENCE_INACTIVE] = {NM_REMOVED, .penalty = NM_GAME_INCAPABLE, .limit = 10,
                                              .keeper_limit = 10},
                     [NM_OFFENCE_LEAVING] = {NM_REMOVED, .penalty = NM_GAME_LEAVING_FIELD, .counted = true},
                     [NM_OFFENCE_POSITION_IN_SET] = {NM_REMOVED, .penalty = NM_GAME_ILLEGAL_POSITION_IN_SET,
                                                     .seconds = 15},
                     [NM_OFFENCE_OWN_GOAL_AREA] = {NM_REMOVED, .penalty = NM_GAME_ILLEGAL_POSITION, .counted = true},
                     [NM_OFFENCE_ENCROACHING] = {NM_REMOVED, .penalty = NM_GAME_ILLEGAL_POSITION, .counted = true},
                     [NM_OFFENCE_MOTION_IN_SET] = {NM_HELD, .penalty = NM_GAME_MOTION_IN_SET, .seconds = 15},
                     [NM_OFFENCE_MOTION_IN_STOP] = {NM_TEAM_HELD, .penalty = NM_GAME_MOTION_IN_STANDBY},
                     [NM_OFFENCE_STUCK] = {NM_REMOVED, .penalty = NM_GAME_LOCAL_STUCK, .limit = 30, .keeper_limit = 30},
                     [NM_OFFENCE_PICK_UP] = {NM_REMOVED, .penalty = NM_GAME_PICK_UP},
                     [NM_OFFENCE_STANCE] = {NM_REMOVED, .penalty = NM_GAME_STANCE, .counted = true,
                                            .limit = 10, .keeper_limit = 10},
                     [NM_OFFENCE_SUBSTITUTED] = {NM_OUT_FOR_GOOD, .penalty = NM_GAME_SUBSTITUTE}},
    [NM_GAME_HSL] = {[NM_OFFENCE_PUSHING] = {NM_REMOVED, .penalty = NM_GAME_PUSHING, .counted = true, .limit = 5,
                                             .keeper_limit = 5, .free_kick_within = -1},
                     [NM_OFFENCE_HOLDING] = {NM_REMOVED, .penalty = NM_GAME_BALL_HOLDING, .counted = true, .limit = 5,
                                             .keeper_limit = 10},
                     [NM_OFFENCE_HANDS] = {NM_REMOVED, .penalty = NM_GAME_HANDS, .counted = true},
                     [NM_OFFENCE_FALLEN] = {NM_REMOVED, .penalty = NM_GAME_INCAPABLE, .limit = 20, .keeper_limit = 20},
                     [NM_OFFENCE_INACTIVE] = {NM_REMOVED, .penalty = NM_GAME_INCAPABLE, .limit = 10,
                                              .keeper_limit = 10},
                     [NM_OFFENCE_LEAVING] = {NM_REMOVED, .penalty = NM_GAME_LEAVING_FIELD, .counted = true},
                     [NM_OFFENCE_POSITION_IN_SET] = {NM_REMOVED, .penalty = NM_GAME_ILLEGAL_POSITION},
                     [NM_OFFENCE_OWN_GOAL_AREA] = {NM_REMOVED, .penalty = NM_GAME_ILLEGAL_POSITION},
                     [NM_OFFENCE_ENCROACHING] = {NM_REMOVED, .penalty = NM_GAME_ILLEGAL_POSITION},
                     [NM_OFFENCE_MOTION_IN_SET] = {NM_HELD, .penalty = NM_GAME_MOTION_IN_SET, .seconds = 15},
                     [NM_OFFENCE_MOTION_IN_STOP] = {NM_REMOVED, .penalty = NM_GAME_MOTION_IN_STOP, .counted = true},
                     [NM_OFFENCE_STUCK] = {NM_REMOVED, .penalty = NM_GAME_LOCAL_STUCK, .limit = 10, .keeper_limit = 10},
                     [NM_OFFENCE_PICK_UP] = {NM_REMOVED, .penalty = NM_GAME_PICK_UP},
                     /* packets have no number of its own for it */
                     [NM_OFFENCE_STANCE] = {NM_REMOVED, .penalty = NM_GAME_ILLEGAL_POSITION,
                                            .limit = 10, .keeper_limit = 10},
                     [NM_OFFENCE_YELLOW_CARD] = {NM_REMOVED, .penalty = NM_GAME_CAUTIONED, .counted = true},
                     [NM_OFFENCE_RED_CARD] = {NM_OUT_FOR_GOOD, .penalty = NM_GAME_SENT_OFF},
                     [NM_OFFENCE_SUBSTITUTED] = {NM_OUT_FOR_GOOD, .penalty = NM_GAME_SUBSTITUTE}},
};

double nm_penalty_seconds(enum nm_game_league league, enum nm_offence offence, uint32_t counted)
{
    const struct nm_offence_row *row = &nm_offence_rows[league][offence];
    if (row->consequence != NM_REMOVED && row->consequence != NM_HELD) return 0;
    return row->seconds > 0 ? row->seconds : nm_rules[league].removal + counted * nm_rules[league].longer;
}

/* ---- places ---- */

double nm_rules_distance(const struct nm_rules *rules, const struct nm_pitch_size *field)
{
    return rules->distance > 0 ? rules->distance : field->circle_radius;
}

bool nm_legal_at_kick_off(const struct nm_pitch_size *f, int side, bool kicks, bool ahead, struct vec3 at)
{
    bool own_half = at.x * side >= 0, in_circle = hypot(at.x, at.y) < f->circle_radius;
    if (kicks) return own_half || (ahead && in_circle);
    return own_half && !in_circle;
}

bool nm_in_own_penalty_area(const struct nm_pitch_size *f, int side, struct vec3 at)
{
    double deep = f->penalty_area_length > 0 ? f->penalty_area_length : f->goal_area_length,
           wide = f->penalty_area_length > 0 ? f->penalty_area_width : f->goal_area_width;
    return at.x * side > f->length / 2 - deep && at.x * side <= f->length / 2 + f->goal_depth && fabs(at.y) < wide / 2;
}

bool nm_in_own_goal_area(const struct nm_pitch_size *f, int side, struct vec3 at)
{
    return at.x * side > f->length / 2 - f->goal_area_length && at.x * side <= f->length / 2 + f->goal_depth &&
           fabs(at.y) < f->goal_area_width / 2;
}

bool nm_legal_at_penalty_kick(enum nm_game_league league, const struct nm_pitch_size *f, int goal_side, int side,
                              bool keeper, bool kicker, struct vec3 at)
{
    const double reach = 0.3; /* m, of a keeper that stands on its line */
    struct vec3 mark = {goal_side * (f->length / 2 - f->penalty_mark), 0, 0};
    if (kicker) return true;
    if (keeper && side == goal_side) return fabs(at.x * side - f->length / 2) < reach && fabs(at.y) < f->goal_width / 2;
    if (league != NM_GAME_HL) return !nm_in_own_penalty_area(f, goal_side, at);
    bool behind = (mark.x - at.x) * goal_side > 0;
    return behind && hypot(at.x - mark.x, at.y - mark.y) >= nm_rules[NM_GAME_HL].distance;
}

struct pose2 nm_penalty_place(enum nm_game_league league, const struct nm_pitch_size *f, int side, struct vec3 ball,
                              uint32_t n)
{
    const struct nm_rules *r = &nm_rules[league];
    double up = ball.y > 0 ? -1 : 1, x = f->length / 2 - f->penalty_mark - n * r->slot_distance;
    return (struct pose2){side * x, up * (f->width / 2 + f->line_width / 2 + r->slot_outside), -up * M_PI / 2};
}

struct pose2 nm_start_place(const struct nm_pitch_size *f, int side, uint32_t number)
{
    const double outside = 0.3, apart = 0.8; /* m */
    uint32_t n = number ? number - 1 : 0;
    double up = n % 2 ? -1 : 1, x = f->length / 2 - f->penalty_mark - n / 2 * apart;
    return (struct pose2){side * x, -side * up * (f->width / 2 + f->line_width / 2 + outside), side * up * M_PI / 2};
}
