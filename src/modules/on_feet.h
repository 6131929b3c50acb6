/* Whether a robot can walk now, by its hardware control manager. */
#pragma once

#include <stdbool.h>

#include "nutmeg_msgs/HcmState.h"

/* It falls, lies or gets up, or an animation moves its legs: a keeper who dives lies before anybody calls it a fall. */
static inline bool off_its_feet(const HcmState *hcm)
{
    bool dives = hcm->state == HcmState_ANIMATION_RUNNING && hcm->left_leg_owner == HcmState_OWNER_ANIMATION &&
                 hcm->right_leg_owner == HcmState_OWNER_ANIMATION;
    return dives || hcm->state == HcmState_FALLING || hcm->state == HcmState_FALLEN ||
           hcm->state == HcmState_GETTING_UP;
}
