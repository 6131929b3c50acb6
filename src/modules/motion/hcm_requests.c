/* What the manager asks of others, and others of it: animations of its own from the player, power for the motors from
 * the hardware; and the services shutdown, record and motors. */
#include <string.h>

#include "body/animation.h"
#include "modules/motion/hcm_parts.h"

/* ---- animations ---- */

static void goal_id(const struct hcm *f, uint8_t id[16])
{
    memcpy(id, "hcm\0\0\0\0", 8);
    memcpy(id + 8, &f->goal, sizeof f->goal);
}

void hcm_ask_for(struct hcm *f, const char *name, const char *otherwise)
{
    const char *found = nm_find_animation(f->nm->body, name)                     ? name
                        : otherwise && nm_find_animation(f->nm->body, otherwise) ? otherwise
                                                                                 : NULL;
    f->play = PLAY_FAILED;
    if (!found) return;
    PlayAnimation_SendGoal_Request *ask = nm_call(f->nm, &f->send);
    f->goal++;
    goal_id(f, ask->goal_id.uuid);
    nm_text(ask->goal.animation, "%s", found);
    ask->goal.hcm = true;
    f->play = PLAY_ASKED;
    f->call = nm_slot(ask)->call;
    f->asked = f->nm->now;
}

/* A reply to any other call is about a goal that a newer one has replaced. */
void hcm_hear_player(struct hcm *f)
{
    for (uint32_t i = 0; i < f->send.replies.n; i++) {
        const PlayAnimation_SendGoal_Response *r = f->send.replies.at[i];
        if (f->play != PLAY_ASKED || nm_slot(r)->call != f->call) continue;
        f->play = r->accepted ? PLAY_RUNS : PLAY_FAILED;
        if (f->play == PLAY_FAILED) continue;
        PlayAnimation_GetResult_Request *ask = nm_call(f->nm, &f->result);
        goal_id(f, ask->goal_id.uuid);
        f->call = nm_slot(ask)->call;
    }
    for (uint32_t i = 0; i < f->result.replies.n; i++) {
        const PlayAnimation_GetResult_Response *r = f->result.replies.at[i];
        if (f->play == PLAY_RUNS && nm_slot(r)->call == f->call)
            f->play = r->result.successful ? PLAY_DONE : PLAY_FAILED;
    }
    if (f->play == PLAY_ASKED && nm_seconds(f->nm->now - f->asked) > 0.5) f->play = PLAY_FAILED;
    if (f->play == PLAY_RUNS && nm_seconds(f->nm->now - f->asked) > 30) f->play = PLAY_FAILED;
}

bool hcm_play_over(const struct hcm *f) { return f->play == PLAY_DONE || f->play == PLAY_FAILED; }

/* ---- power ---- */

/* Asked again every second until somebody answers: the hardware may start later. */
void hcm_switch_power(struct hcm *f)
{
    bool wanted = hcm_rows[f->state].legs != HcmState_OWNER_OFF;
    if (f->power.replies.n && f->power_told != INT64_MIN) f->power_told = 0;
    bool due = f->power_told == INT64_MIN || (f->power_told && nm_seconds(f->nm->now - f->power_told) > 1);
    if (wanted == f->powered && !due) return;
    nm_call(f->nm, &f->power)->data = wanted;
    f->powered = wanted;
    f->power_told = f->nm->now;
}

/* ---- services ---- */

static void serve_shutdown(struct hcm *f, const Trigger_Request *request)
{
    Trigger_Response *r = nm_reply(f->nm, &f->shutdown, request);
    f->wants_shutdown = r->success = true;
    nm_text(r->message, "sits down and switches off");
}

static void serve_record(struct hcm *f, const SetBool_Request *request)
{
    SetBool_Response *r = nm_reply(f->nm, &f->record, request);
    r->success = !request->data || hcm_rows[f->state].overridden || f->state == RECORD;
    if (r->success)
        f->wants_record = request->data;
    else
        nm_text(r->message, "not while %s", hcm_rows[f->state].name);
}

static void serve_motors(struct hcm *f, const SetBool_Request *request)
{
    SetBool_Response *r = nm_reply(f->nm, &f->motors, request);
    r->success = f->state == CONTROLABLE || f->state == WALKING || f->state == MOTOR_OFF;
    if (!r->success) {
        nm_text(r->message, "not while %s", hcm_rows[f->state].name);
        return;
    }
    f->wants_off = !request->data;
    if (request->data && f->state == MOTOR_OFF) f->wants_walk = true; /* as a command would */
}

void hcm_serve(struct hcm *f)
{
    for (uint32_t i = 0; i < f->shutdown.requests.n; i++) serve_shutdown(f, f->shutdown.requests.at[i]);
    for (uint32_t i = 0; i < f->record.requests.n; i++) serve_record(f, f->record.requests.at[i]);
    for (uint32_t i = 0; i < f->motors.requests.n; i++) serve_motors(f, f->motors.requests.at[i]);
}
