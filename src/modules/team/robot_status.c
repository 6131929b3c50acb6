/* Tells people beside the field how this robot is: a small packet, one way, as often as the rules allow during a game.
 * The packet is a RobotStatus in CDR behind four letters. The counterpart is team_monitor. */
#include <math.h>

#include "codec/gamecontroller.h"
#include "core/nm.h"
#include "modules/team/status_packet.h"
#include "nutmeg_msgs/BehaviorState.h"
#include "nutmeg_msgs/Datagram.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/ServoStates.h"
#include "nutmeg_msgs/TeamMessage.h"
#include "sensor_msgs/BatteryState.h"

struct robot_status {
    struct nm *nm;
    /* in */
    const MatchState *match;
    const HcmState *hcm;
    const BehaviorState *behavior;
    const BatteryState *battery;
    const ServoStates *servos;
    const TeamMessage *told;
    /* out */
    nm_out_queue(Datagram) sent;
    /* state */
    int64_t spoke; /* ns */
    RobotStatus status;
};

static const int64_t second = 1000000000;

/* The rules: one packet a second in the HSL, one in two seconds in the SPL. */
static int64_t interval(const MatchState *match)
{
    return match->league == MatchState_LEAGUE_SPL ? 2 * second : second;
}

static void look_at_servos(RobotStatus *status, const ServoStates *servos)
{
    static const char *const faults[8] = {"voltage",  "angle",    "heat",        "range",
                                          "checksum", "overload", "instruction", "silent"};
    status->temperature = NAN;
    *status->hottest = *status->hardware = '\0';
    for (uint32_t i = 0; i < servos->name.n; i++) {
        if (i < servos->temperature.n && !(servos->temperature.at[i] <= status->temperature) &&
            isfinite(servos->temperature.at[i])) {
            status->temperature = servos->temperature.at[i];
            nm_text(status->hottest, "%s", servos->name.at[i]);
        }
        for (int bit = 0; i < servos->error.n && bit < 8; bit++)
            if (servos->error.at[i] & 1 << bit) nm_text(status->hardware, "%s: %s", servos->name.at[i], faults[bit]);
    }
}

static void step(struct robot_status *f)
{
    RobotStatus *s = &f->status;
    if (!f->match->own_team || f->nm->now - f->spoke < interval(f->match)) return;
    Datagram *to = nm_push(f->nm, &f->sent);
    if (!to) return;
    f->spoke = f->nm->now;
    s->header.stamp = to->header.stamp;
    s->team_number = f->match->own_team;
    s->player_number = f->match->player_number;
    s->state = f->hcm->state;
    nm_text(s->reason, "%s", f->hcm->reason);
    nm_text(s->skill, "%s", f->behavior->skill);
    s->battery = f->battery->percentage;
    nm_text(s->software, "%s", f->told->errors);
    look_at_servos(s, f->servos);
    to->data.n = (uint32_t)nm_status_write(s, to->data.at, sizeof to->data.at);
    to->host = UINT32_MAX; /* to all that listen */
    to->port = (uint16_t)(NM_GAME_STATUS_PORT + s->team_number);
}

static int init(struct robot_status *f)
{
    f->spoke = INT64_MIN / 2;
    return 0;
}

#define SELF struct robot_status
static const struct nm_port ports[] = {
    NM_IN(match, MatchState, "match_state"),
    NM_LAST(hcm, HcmState, "hcm_state", .optional = true),
    NM_LAST(behavior, BehaviorState, "behavior_state", .optional = true),
    NM_LAST(battery, BatteryState, "battery_state", .optional = true),
    NM_LAST(servos, ServoStates, "servo_states", .optional = true),
    NM_LAST(told, TeamMessage, "team_message", .optional = true),
    NM_OUT_QUEUE(sent, Datagram, "status/sent", 2),
    {0},
};
NM_MODULE(robot_status, "Tells people beside the field how this robot is, one way and rarely.", NM_PORTS(ports),
          .init = NM_CALL(init), .step = NM_CALL(step))
