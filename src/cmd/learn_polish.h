/* `nutmeg learn walk --polish`: searches as long as it may, and writes policy, card, curve and checkpoint. */
#pragma once

#include <stdio.h>

#include "learn/polish.h"

/* The test of all learned policies, in worlds that no learning saw. */
enum { LEARN_TEST_SEED = 50001, LEARN_TEST_RUNS = 4 };
#define LEARN_TEST_SECONDS 8.0
void learn_print_scores(const struct nm_learn_score *scores, FILE *to);

struct polish_job {
    const struct nm_body *body;
    const struct nm_pitch *pitch;
    const char *policy; /* that it begins with */
    const char *output, *state, *plot, *card;
    double minutes;
    bool resume;
    struct nm_polish_options options;
};

/* An exit code, or -1 with sentences. */
int learn_polish(const struct polish_job *job, struct nm_err *err);
