/* Rows of nutmeg bench vision about geometry: how well a bent neck is found out, which way a robot looks, and how far
 * it has come. */
#include "base/memory.h"
#include "vision_geometry.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cmd/around_trial.h"
#include "cmd/calibrate_camera.h"

enum { CALIBRATION_SEED = 940001, CALIBRATIONS = 5, HALL_SEED = 950001, HALLS = 5, WAY_SEED = 960001, WAYS = 10 };

static const struct {
    const char *name, *goal;
    enum look_by by;
    double degrees;
} ways[] = {
    {"neck bent by 5 degrees: tilt left after calibration from points", "<= 0.2", LOOK_BY_POINTS, 0.2},
    {"  from tags", "<= 0.2", LOOK_BY_TAGS, 0.2},
    {"  from lines", "<= 0.4", LOOK_BY_LINES, 0.4},
};

static int calibrate(struct setup *setup, const struct nm_body *body, enum look_by by, uint64_t seed,
                     struct look_sim *result, double *seconds, struct nm_err *err)
{
    struct look *look = nm_calloc(1, sizeof *look);
    look->by = by;
    *result = (struct look_sim){.seed = seed, .bend = 5 * M_PI / 180};
    look_begin(look, body, body, 0);
    int bad = look_simulate(setup, look, result, err);
    int64_t begin = nm_thread_time();
    if (!bad) bad = nm_camera_fit(&look->fit, err);
    *seconds = result->seconds + 1e-9 * (double)(nm_thread_time() - begin);
    if (!bad) look_judge(look, result);
    look_end(look);
    free(look);
    return bad;
}

void bench_calibration(struct nm_bench *bench, struct setup *setup, const char *folder)
{
    struct nm_err err = {0};
    uint32_t n = nm_bench_quick(bench) ? 1 : CALIBRATIONS;
    double slowest = 0, angle = 0;
    const struct nm_body *body = nm_body_uncalibrated(&setup->arena, folder, &err);
    struct look_sim *result = nm_calloc(1, sizeof *result);
    for (uint32_t i = 0; body && i < sizeof ways / sizeof *ways; i++) {
        double tilt = 0;
        for (uint32_t k = 0; k < n; k++) {
            double seconds;
            if (calibrate(setup, body, ways[i].by, CALIBRATION_SEED + k, result, &seconds, &err)) break;
            tilt += result->tilt_left * 180 / M_PI / n;
            angle += result->left * 180 / M_PI / n / 3;
            slowest = fmax(slowest, seconds);
        }
        if (err.n) break;
        nm_bench_report(bench, ways[i].name, tilt, "deg", NAN, ways[i].goal, tilt <= ways[i].degrees);
    }
    if (err.n)
        nm_bench_fail(bench, &err);
    else
        nm_bench_report(bench, "  the robot's time and the computer's", slowest, "s", NAN, "<= 60 s", slowest <= 60);
    nm_bench_say(bench, "with the heading, which a robot that does not know its own cannot find, %.2f degrees are left",
                 angle);
    free(result);
}

void bench_around(struct nm_bench *bench, struct setup *setup, const struct nm_body *body)
{
    struct nm_err err = {0};
    uint32_t halls = nm_bench_quick(bench) ? 1 : HALLS, ways = nm_bench_quick(bench) ? 1 : WAYS, told = 0, right = 0;
    double error = 0, seconds = 0, way = 0, legs = 0;
    for (uint32_t i = 0; i < halls && !err.n; i++) {
        struct compass_trial t = {.seed = HALL_SEED + i, .learn = 60, .ask = nm_bench_quick(bench) ? 60 : 200};
        if (compass_trial(setup, body, &t, &err)) break;
        if (t.told) error += t.error * t.told * 180 / M_PI;
        told += t.told, right += t.right, seconds += t.seconds / halls;
    }
    for (uint32_t i = 0; i < ways && !err.n; i++) {
        struct way_trial t = {.seed = WAY_SEED + i, .way = 2};
        if (way_trial(setup, &t, &err)) break;
        way += 100 * t.error / ways, legs += 100 * t.legs / ways;
    }
    if (err.n) {
        nm_bench_fail(bench, &err);
        return;
    }
    error /= told ? told : 1;
    nm_bench_report(bench, "visual compass: mean error", told ? error : NAN, "deg", NAN, "<= 10 degrees",
                    told && error <= 10);
    nm_bench_say(bench, "the compass was sure in %u of %u images, %.0f %% of them in the right half; %.2f ms an image",
                 told, halls * (nm_bench_quick(bench) ? 60 : 200), told ? 100.0 * right / told : NAN, 1e3 * seconds);
    nm_bench_report(bench, "visual odometry over 2 m: mean error", way, "cm", NAN, "<= 10 cm", way <= 10);
    nm_bench_say(bench, "by its legs alone the robot was off by %.1f cm", legs);
}
