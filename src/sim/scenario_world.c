/* The world of a scenario: its physics, how much robots and seeds differ, and named conditions for all of that. */
#include <string.h>

#include "sim/scenario_parts.h"

static void read_self(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    static const char *const words[] = {[NM_SELF_NONE] = "none", [NM_SELF_FEET] = "feet", [NM_SELF_ALL] = "all"};
    uint32_t i = read_word(r, node, row->key, words, 3);
    if (i != UINT32_MAX) *(enum nm_self_collision *)to = (enum nm_self_collision)i;
}

#define SPREAD(member) offsetof(struct nm_world_spread, member)
static void read_spread(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    static const struct row rows[] = {
        {"mass", read_number, SPREAD(mass), 0, 0.5, false},
        {"gain", read_number, SPREAD(gain), 0, 0.9, false},
        {"friction", read_number, SPREAD(friction), 0, 0.9, false},
        {"zero", read_number, SPREAD(zero), 0, 0.3, false},
        {"command_delay", read_seconds, SPREAD(command_delay), 0, 0.03, false},
        {"sensor_delay", read_seconds, SPREAD(sensor_delay), 0, 0.03, false},
        {"gyro_bias", read_number, SPREAD(gyro_bias), 0, 1, false},
        {"accel_bias", read_number, SPREAD(accel_bias), 0, 5, false},
        {"cell_gain", read_number, SPREAD(cell_gain), 0, 0.9, false},
        {"turf", read_number, SPREAD(turf), 0, 0.1, false},
        {"start", read_number, SPREAD(start), 0, 0.3, false},
    };
    (void)row;
    READ_ROWS(r, node, rows, to);
}

#define WORLD(member) offsetof(struct nm_world_options, member)
void read_world(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    static const struct row rows[] = {
        {"step", read_nanos, WORLD(step), 0.0005, 0.01, false},
        {"command_delay", read_nanos, WORLD(command_delay), 0, 0.06, false},
        {"sensor_delay", read_nanos, WORLD(sensor_delay), 0, 0.06, false},
        {"charge", read_number, WORLD(charge), 0, 1, false},
        {"gyro_noise", read_number, WORLD(gyro_noise), 0, 1, false},
        {"accel_noise", read_number, WORLD(accel_noise), 0, 10, false},
        {"cell_noise", read_number, WORLD(cell_noise), 0, 50, false},
        {"cell_dead", read_number, WORLD(cell_dead), 0, 50, false},
        {"turf", read_number, WORLD(turf), 0, 0.1, false},
        {"friction", read_number, WORLD(friction), 0.01, 5, false},
        {"ball_roll", read_number, WORLD(ball_roll), 0.1, 50, false},
        {"backlash", read_switch, WORLD(backlash), 0, 0, false},
        {"play", read_number, WORLD(play), 0, 0.1, false},
        {"self_collision", read_self, WORLD(self), 0, 0, false},
        {"spread", read_spread, WORLD(spread), 0, 0, false},
    };
    (void)row;
    READ_ROWS(r, node, rows, to);
}

/* ---- named conditions ---- */

/* Those in which walks are searched and compared: what a kid-size robot with MX servos on a 125 Hz bus has to live
 * with. Hard adds the play of worn gears, a hinge of +-0.5 degrees behind every leg servo, and zeros that are a little
 * off; friction of the ground is 0.6 to 1.0. */
#define NOMINAL                                                                                                        \
    .command_delay = 8000000, .sensor_delay = 8000000, .random = 1, .gyro_noise = 0.01, .accel_noise = 0.15,           \
    .cell_noise = 0.3, .cell_dead = 0.5, .turf = -1, .friction = 0.8, .self = NM_SELF_FEET
static const struct {
    const char *name;
    struct nm_world_options world;
} conditions[] = {
    {"nominal",
     {NOMINAL, .spread = {.mass = 0.05,
                          .gain = 0.05,
                          .friction = 0.25,
                          .gyro_bias = 0.005,
                          .accel_bias = 0.05,
                          .cell_gain = 0.08,
                          .start = 0.02}}},
    {"hard",
     {NOMINAL, .backlash = true, .play = 0.01745,
      .spread = {.mass = 0.05,
                 .gain = 0.05,
                 .friction = 0.25,
                 .zero = 0.007,
                 .gyro_bias = 0.005,
                 .accel_bias = 0.05,
                 .cell_gain = 0.08,
                 .start = 0.02}}},
};

bool nm_conditions(const char *name, struct nm_world_options *to)
{
    for (uint32_t i = 0; i < sizeof conditions / sizeof *conditions; i++)
        if (!strcmp(name, conditions[i].name)) {
            *to = conditions[i].world;
            return true;
        }
    return false;
}

void read_surrounds(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    enum { N = sizeof conditions / sizeof *conditions };
    const char *names[N];
    for (uint32_t i = 0; i < N; i++) names[i] = conditions[i].name;
    uint32_t i = read_word(r, node, row->key, names, N);
    if (i != UINT32_MAX) *(struct nm_world_options *)to = conditions[i].world;
}
