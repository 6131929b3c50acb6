/* The parts of `nutmeg calibrate odometry`: drives whose ends are known, and the model of steps that fits them. */
#pragma once

#include "body/step_model.h"
#include "cmd/setup.h"

enum { DRIVE_STEPS = 400 };

/* One drive: its steps as the body's model tells them, what was left after the last whole one, and where it really
 * ended, seen from where it began. */
struct drive_steps {
    uint32_t n;
    struct pose2 steps[DRIVE_STEPS], rest, end;
    bool turn_known; /* the end's theta was measured too */
};

/* m: mean distance between the end of a drive and where the model thinks that it is; model NULL: uncorrected. */
double calibrate_drift(const struct nm_step_model *model, const struct drive_steps *drives, uint32_t n);
/* The linear model by CMA-ES, then, if `local`, the locally weighted one around typical steps. Drives of many bodies
 * have only that in common which does not tell left from right. */
enum calibrate_kind { CALIBRATE_LINEAR, CALIBRATE_LOCAL, CALIBRATE_SYMMETRIC };
void calibrate_fit(const struct drive_steps *drives, uint32_t n, enum calibrate_kind kind, struct nm_step_model *model);

/* Reads a drive from a log with the topics odometry_raw and support_state; the caller fills in the end. */
int calibrate_log(const char *path, struct drive_steps *drive, struct nm_err *err);

/* sim_drives.c: drives in the simulator, one a seed, in processes of their own; how many came back. `body`: the seed of
 * the one body that drives; 0: each drive has another. */
uint32_t calibrate_sim(struct setup *setup, const char *robot, uint64_t body, uint64_t first_seed, uint32_t n,
                       uint32_t jobs, struct drive_steps *drives, struct nm_err *err) __attribute__((weak));

int cmd_calibrate_camera(int argc, char **argv); /* calibrate_camera.c */
