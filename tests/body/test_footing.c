/* The place of the torso from its accelerometer and its feet: what one of them does wrong, the others make up for. */
#include "body/footing.h"

#include "body/robots.h"

/* A robot on rails along x: where its sensor is, where its feet are, and what its sensors say of it. */
struct rails {
    struct nm_footing footing;
    struct nm_footing_sample sample;
    double x, foot[2]; /* m */
};

static void start(struct rails *r, double foot_left, double foot_right)
{
    memset(r, 0, sizeof *r);
    r->foot[NM_LEFT] = foot_left, r->foot[NM_RIGHT] = foot_right;
    r->sample.dt = 0.008;
    for (int side = 0; side < 2; side++) r->sample.sole[side] = (struct vec3){r->foot[side], side ? -0.05 : 0.05, -0.4};
    nm_footing_start(&r->footing, &r->sample, (struct vec3){0, 0, 0.4});
}

/* One sample of feet that carry these shares, with an accelerometer that says this and legs that err by this. */
static double feel(struct rails *r, double left, double right, double acceleration, double leg_error)
{
    r->sample.acceleration = (struct vec3){acceleration, 0, 9.81};
    r->sample.share[NM_LEFT] = left, r->sample.share[NM_RIGHT] = right;
    for (int side = 0; side < 2; side++) r->sample.sole[side].x = r->foot[side] - r->x + leg_error;
    struct vec3 place = nm_footing_step(&r->footing, &r->sample);
    assert_near(place.y, 0, 1e-9);
    assert_near(place.z, 0, 0);
    return place.x;
}

static void who_stands_does_not_drift(void **state)
{
    (void)state;
    struct rails r;
    uint64_t seed = 1;
    start(&r, 0, 0);
    for (int i = 0; i < 60 * 125; i++) /* a sensor that is tilted by three degrees, and play in the gears */
        assert_near(feel(&r, 0.6, 0.4, 0.5, dice(&seed, -0.002, 0.002)), 0, 0.005);
}

static void a_knock_that_was_not_is_made_up(void **state)
{
    (void)state;
    struct rails r;
    start(&r, 0, 0);
    for (int i = 0; i < 125; i++) feel(&r, 0.5, 0.5, 0, 0);
    double most = fabs(feel(&r, 0.5, 0.5, 40, 0)), last = 0;
    for (int i = 0; i < 60; i++) most = fmax(most, fabs(last = feel(&r, 0.5, 0.5, 0, 0)));
    assert_true(most > 0.001 && most < 0.02);
    assert_near(last, 0, 0.001);
}

/* How far a foot still moves on when it lands, as in simulated steps: from three samples before it has weight on. */
static double still_moves(int at)
{
    static const double left[] = {0.021, 0.014, 0.0082, 0.0042, 0.002, 0.0008, 0.0002}; /* m */
    return at < -3 ? 0.03 : at < 4 ? left[at + 3] : 0;
}

/* Steps of 25 samples at 0.5 m/s; one foot has all of the weight, and none of them for the first samples of a flight.
 * Returns by how much the place is off at worst. */
static double walk(int steps, bool slides, int flight)
{
    struct rails r;
    double speed = 0.5, worst = 0, first = 0;
    start(&r, 0.05, 0);
    for (int i = 0; i < 25 * steps; i++) {
        int at = i % 25, stands = i / 25 % 2;
        bool flies = i >= 25 && at < flight;
        r.x = speed * 0.008 * (i + 1);
        r.foot[stands] = speed * 0.008 * (i - at) + 0.05 - (slides && i >= 25 ? still_moves(at) : 0);
        r.foot[!stands] = speed * 0.008 * (i - at + 25) + 0.05 - (slides ? still_moves(at - 25) : 0);
        double told = feel(&r, flies ? 0 : !stands, flies ? 0 : stands, 0, 0);
        if (i == 24) first = told - r.x; /* until then it learns its speed */
        if (i > 24) worst = fmax(worst, fabs(told - r.x - first));
    }
    printf("%d steps: %.1f mm\n", steps, 1e3 * worst);
    return worst;
}

static void steps_add_up(void **state)
{
    (void)state;
    assert_true(walk(40, false, 0) < 0.001);
}

/* A foot that is believed as soon as it has weight on takes 4 mm from each step: 17 cm. Here it is less than half
 * of that. */
static void a_foot_that_lands_still_slides(void **state)
{
    (void)state;
    assert_true(walk(40, true, 0) < 0.08);
}

static void who_runs_flies_between_two_steps(void **state)
{
    (void)state;
    assert_true(walk(40, false, 5) < 0.001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_stands_does_not_drift),
        cmocka_unit_test(a_knock_that_was_not_is_made_up),
        cmocka_unit_test(steps_add_up),
        cmocka_unit_test(a_foot_that_lands_still_slides),
        cmocka_unit_test(who_runs_flies_between_two_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
