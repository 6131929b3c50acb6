/* servos.yaml of a robot folder: the buses, what kinds of servo there are with their motor model, which one drives
 * which joint, and what else answers on a bus. */
#include <string.h>

#include "body/build.h"

struct servos {
    struct body_build *b;
    struct nm_servo_type *types;
    struct nm_servo *servos;
    struct nm_bus *buses;
    struct nm_device *devices;
};

static int read_text(const struct nm_yaml *map, const char *key, const char **text, struct nm_err *err)
{
    const struct nm_yaml *node = nm_yaml_get(map, key);
    return node ? nm_yaml_text(node, text, err) : nm_yaml_fail(map, err, "%s: %s is missing", map->key, key);
}

static int read_type(struct servos *s, const struct nm_yaml *map)
{
    static const char *const keys[] = {"kt",          "resistance",    "armature",        "friction",
                                       "damping",     "max_torque",    "no_load_speed",   "duty_gain",
                                       "max_duty",    "backlash",      "max_temperature", "min_voltage",
                                       "max_voltage", "encoder_steps", "heat_capacity",   "thermal_resistance"};
    struct nm_servo_type t = {.name = map->key, .heat_capacity = 60, .thermal_resistance = 6};
    double steps = 4096;
    const struct build_member members[] = {{"kt", &t.kt, 1e-3, 100, NEEDED},
                                           {"resistance", &t.resistance, 1e-3, 1e3, NEEDED},
                                           {"armature", &t.armature, 0, 10, NEEDED},
                                           {"friction", &t.friction, 0, 100, NEEDED},
                                           {"damping", &t.damping, 0, 100, NEEDED},
                                           {"max_torque", &t.max_torque, 0.01, 1000, NEEDED},
                                           {"no_load_speed", &t.no_load_speed, 0.01, 1000, NEEDED},
                                           {"duty_gain", &t.duty_gain, 1e-6, 100, NEEDED},
                                           {"max_duty", &t.max_duty, 0.01, 1, NEEDED},
                                           {"backlash", &t.backlash, 0, 0.5, NEEDED},
                                           {"max_temperature", &t.max_temperature, 20, 200, NEEDED},
                                           {"heat_capacity", &t.heat_capacity, 0.1, 1e5, OPTIONAL},
                                           {"thermal_resistance", &t.thermal_resistance, 0.01, 1e3, OPTIONAL},
                                           {"min_voltage", &t.min_voltage, 0, 100, NEEDED},
                                           {"max_voltage", &t.max_voltage, 0, 100, NEEDED},
                                           {"encoder_steps", &steps, 16, 1 << 24, NEEDED | WHOLE}};
    if (nm_yaml_keys(map, keys, sizeof keys / sizeof *keys, s->b->err)) return -1;
    if (build_members(map, members, sizeof members / sizeof *members, s->b->err)) return -1;
    t.encoder_steps = (uint32_t)steps;
    s->types[s->b->body->n_servo_types++] = t;
    return 0;
}

static int read_bus(struct servos *s, const struct nm_yaml *map)
{
    static const char *const keys[] = {"device", "baud", "protocol"};
    struct nm_bus bus = {.name = map->key};
    double baud = 0, protocol = 0;
    const struct build_member members[] = {{"baud", &baud, 9600, 4.5e6, NEEDED | WHOLE},
                                           {"protocol", &protocol, 1, 2, NEEDED | WHOLE}};
    if (nm_yaml_keys(map, keys, 3, s->b->err)) return -1;
    if (build_members(map, members, 2, s->b->err) || read_text(map, "device", &bus.device, s->b->err)) return -1;
    bus.baud = (uint32_t)baud, bus.protocol = (uint32_t)protocol;
    s->buses[s->b->body->n_buses++] = bus;
    return 0;
}

static int read_bus_of(struct servos *s, const struct nm_yaml *map, uint32_t *bus)
{
    const char *name;
    if (read_text(map, "bus", &name, s->b->err)) return -1;
    for (*bus = 0; *bus < s->b->body->n_buses; ++*bus)
        if (!strcmp(s->buses[*bus].name, name)) return 0;
    return nm_yaml_fail(map, s->b->err, "%s: there is no bus called %s", map->key, name);
}

static int read_id(struct servos *s, const struct nm_yaml *map, uint32_t bus, uint32_t *id)
{
    double value = 0;
    const struct build_member member = {"id", &value, 0, 252, NEEDED | WHOLE};
    if (build_members(map, &member, 1, s->b->err)) return -1;
    *id = (uint32_t)value;
    const char *taken = NULL;
    for (uint32_t i = 0; i < s->b->body->n_servos; i++)
        if (s->servos[i].bus == bus && s->servos[i].id == *id) taken = s->b->joints[s->servos[i].joint].name;
    for (uint32_t i = 0; i < s->b->body->n_devices; i++)
        if (s->devices[i].bus == bus && s->devices[i].id == *id) taken = s->devices[i].name;
    if (!taken) return 0;
    return nm_yaml_fail(map, s->b->err, "%s: id %u on bus %s is %s's already", map->key, *id, s->buses[bus].name,
                        taken);
}

static int read_type_of(struct servos *s, const struct nm_yaml *map, uint32_t *type)
{
    const char *name;
    if (read_text(map, "type", &name, s->b->err)) return -1;
    for (*type = 0; *type < s->b->body->n_servo_types; ++*type)
        if (!strcmp(s->types[*type].name, name)) return 0;
    return nm_yaml_fail(map, s->b->err, "%s: there is no servo type called %s", map->key, name);
}

static int read_servo(struct servos *s, const struct nm_yaml *map)
{
    static const char *const keys[] = {"type", "id", "bus", "direction", "offset", "p", "i", "d"};
    struct nm_body *body = s->b->body;
    struct nm_servo servo = {.direction = 1};
    double p = 32, i = 0, d = 0;
    const struct build_member members[] = {{"direction", &servo.direction, -1, 1, OPTIONAL},
                                           {"offset", &servo.offset, -2 * M_PI, 2 * M_PI, OPTIONAL},
                                           {"p", &p, 0, 16383, WHOLE},
                                           {"i", &i, 0, 16383, WHOLE},
                                           {"d", &d, 0, 16383, WHOLE}};
    if (nm_yaml_keys(map, keys, sizeof keys / sizeof *keys, s->b->err)) return -1;
    int32_t joint = nm_find_joint(body, map->key);
    if (joint < 0) return nm_yaml_fail(map, s->b->err, "the URDF has no moving joint called %s", map->key);
    if (body->n_servos == NM_JOINTS) return nm_yaml_fail(map, s->b->err, "more than %d servos", NM_JOINTS);
    if (build_members(map, members, sizeof members / sizeof *members, s->b->err)) return -1;
    if (fabs(servo.direction) != 1) return nm_yaml_fail(map, s->b->err, "%s: direction is 1 or -1", map->key);
    if (read_type_of(s, map, &servo.type) || read_bus_of(s, map, &servo.bus)) return -1;
    if (read_id(s, map, servo.bus, &servo.id)) return -1;
    servo.joint = (uint32_t)joint;
    servo.p = (uint32_t)p, servo.i = (uint32_t)i, servo.d = (uint32_t)d;

    struct nm_joint *j = &s->b->joints[joint];
    j->servo = (int32_t)body->n_servos;
    j->armature = s->types[servo.type].armature;
    j->effort = fmin(j->effort, s->types[servo.type].max_torque);
    j->velocity = fmin(j->velocity, s->types[servo.type].no_load_speed);
    s->servos[body->n_servos++] = servo;
    return 0;
}

static int read_device(struct servos *s, const struct nm_yaml *map)
{
    static const char *const keys[] = {"kind", "id", "bus"};
    struct nm_device device = {.name = map->key};
    if (nm_yaml_keys(map, keys, 3, s->b->err) || read_text(map, "kind", &device.kind, s->b->err)) return -1;
    if (read_bus_of(s, map, &device.bus) || read_id(s, map, device.bus, &device.id)) return -1;
    s->devices[s->b->body->n_devices++] = device;
    return 0;
}

/* What is not written is that of a kid-size robot's pack. */
static int read_battery(struct body_build *b, const struct nm_yaml *map)
{
    static const char *const keys[] = {"cells", "capacity", "resistance", "electronics"};
    double cells = fmax(rint(b->body->voltage / 3.7), 1);
    struct nm_battery battery = {cells, 2.8, 0.02 + 0.01 * cells, 15};
    const struct build_member members[] = {{"cells", &battery.cells, 1, 30, WHOLE},
                                           {"capacity", &battery.capacity, 0.01, 1000, OPTIONAL},
                                           {"resistance", &battery.resistance, 0, 10, OPTIONAL},
                                           {"electronics", &battery.electronics, 0, 1000, OPTIONAL}};
    if (map && (nm_yaml_keys(map, keys, 4, b->err) || build_members(map, members, 4, b->err))) return -1;
    b->body->battery = battery;
    return 0;
}

int build_servos_file(struct body_build *b, const char *path)
{
    static const char *const keys[] = {"voltage", "buses", "types", "joints", "devices", "battery", "round"};
    static int (*const read[])(struct servos *, const struct nm_yaml *) = {read_bus, read_type, read_servo,
                                                                           read_device};
    const struct nm_yaml *file = nm_yaml_read(b->arena, path, b->err), *part[4];
    const struct build_member numbers[] = {{"voltage", &b->body->voltage, 1, 100, NEEDED},
                                           {"round", &b->body->bus_round, 0.001, 0.1, OPTIONAL}};
    int fault = 0;
    if (!file || nm_yaml_keys(file, keys, 7, b->err) || build_members(file, numbers, 2, b->err)) return -1;
    if (read_battery(b, nm_yaml_get(file, "battery"))) return -1;
    for (int i = 0; i < 4; i++) {
        part[i] = nm_yaml_get(file, keys[i + 1]);
        if (part[i] && part[i]->kind != NM_YAML_MAP)
            fault = nm_yaml_fail(part[i], b->err, "%s must be a map", keys[i + 1]);
    }
    if (fault) return fault;

    struct servos s = {.b = b};
    b->body->buses = s.buses = nm_take_n(b->arena, struct nm_bus, part[0] ? part[0]->n + 1 : 1);
    b->body->servo_types = s.types = nm_take_n(b->arena, struct nm_servo_type, part[1] ? part[1]->n + 1 : 1);
    b->body->servos = s.servos = nm_take_n(b->arena, struct nm_servo, NM_JOINTS);
    b->body->devices = s.devices = nm_take_n(b->arena, struct nm_device, part[3] ? part[3]->n + 1 : 1);
    for (int i = 0; i < 4; i++) {
        nm_yaml_each(entry, part[i]) fault |= read[i](&s, entry);
        if (fault) return fault;
    }
    return 0;
}

struct nm_motor nm_motor_of(const struct nm_body *body, uint32_t joint)
{
    struct nm_motor m = {0};
    int32_t index = body->joints[joint].servo;
    const struct nm_servo_type *t = index < 0 ? NULL : &body->servo_types[body->servos[index].type];
    if (!t || !(t->resistance > 0)) return m;
    m.stall = t->kt * body->voltage / t->resistance;
    m.gain = m.stall * t->duty_gain * body->servos[index].p;
    m.stall *= t->max_duty;
    if (m.gain > 0) m.lag = (t->damping + t->kt * t->kt / t->resistance) / m.gain;
    return m;
}
