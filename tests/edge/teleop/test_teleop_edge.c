/* The edge between a joystick and the topic `joy`, with a pipe for the device: told at every look, silent when the plug
 * is pulled, there again when it is back. */
#include <fcntl.h>
#include <linux/joystick.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "edge/teleop/teleop_edge.h"
#include "sensor_msgs/Joy.h"

/* Counts what it hears. */
struct hears {
    struct nm *nm;
    const Joy *joy;
    int n;
};
#define SELF struct hears
static void step(struct hears *f) { f->n += nm_fresh(f->nm, f->joy); }
static const struct nm_port ports[] = {NM_IN(joy, Joy, "joy"), {0}};
NM_MODULE_UNLISTED(hears, "Hears a joystick.", NM_PORTS(ports), .step = NM_CALL(step))

struct rig {
    char folder[64], device[96];
    int plug; /* the other end of the pipe */
    struct nm_arena arena;
    struct nm_registry registry;
    struct nm_lineup *lineup;
    struct nm_player *player;
    struct nm_edge *listener;
    struct nm_teleop *teleop;
    int64_t now;
};

static const struct nm_module *const modules[] = {&hears_module};

static void rig_begin(struct rig *r)
{
    const char *text = "cycles: {c: {period: 10 ms, modules: [hears]}}\nremote: [joy]\n";
    struct nm_err err = {0};
    memset(r, 0, sizeof *r);
    strcpy(r->folder, "/tmp/nutmeg_joy_XXXXXX");
    assert_non_null(mkdtemp(r->folder));
    snprintf(r->device, sizeof r->device, "%s/js0", r->folder);
    assert_int_equal(mkfifo(r->device, 0600), 0);
    r->plug = open(r->device, O_RDWR);
    nm_registry_init(&r->registry, &r->arena, modules, modules + 1);
    r->lineup = nm_lineup_parse(text, strlen(text), "joy.yaml", &r->registry,
                                &(struct nm_lineup_options){.root = r->folder}, &err);
    if (!r->lineup) fail_msg("%s", err.text);
    r->player = nm_player_new(r->lineup, &(struct nm_player_options){.seed = 1}, &err);
    r->teleop = nm_teleop_new(r->player, r->device, &err);
    if (!r->teleop) fail_msg("%s", err.text);
    r->listener =
        nm_edge_new(r->player, "listener", &(struct nm_edge_port){"joy", NM_PORT_IN, &Joy_type, 0, 0}, 1, &err);
    if (!r->listener) fail_msg("%s", err.text);
    assert_int_equal(nm_players_run(&r->player, 1, 1, 1), 0); /* edges speak from here on */
}

static void rig_end(struct rig *r)
{
    nm_teleop_free(r->teleop);
    nm_player_free(r->player);
    nm_lineup_free(r->lineup);
    nm_arena_free(&r->arena);
    if (r->plug >= 0) close(r->plug);
    unlink(r->device);
    rmdir(r->folder);
}

/* Looks at the joystick 20 ms later; what is heard, or NULL. */
static const Joy *look(struct rig *r)
{
    r->now += 20000000;
    nm_teleop_poll(r->teleop, r->now);
    assert_int_equal(nm_players_run(&r->player, 1, r->now, 1), 0);
    nm_edge_begin(r->listener, r->now);
    const Joy *joy = nm_edge_fresh(r->listener, 0) ? nm_edge_in(r->listener, 0) : NULL;
    nm_edge_end(r->listener);
    return joy;
}

static void push(struct rig *r, uint8_t type, uint8_t number, int16_t value)
{
    struct js_event e = {.time = 0, .value = value, .type = type, .number = number};
    assert_int_equal(write(r->plug, &e, sizeof e), sizeof e);
}

static void the_state_is_told_at_every_look(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r);
    push(&r, JS_EVENT_AXIS, 1, -32767);
    push(&r, JS_EVENT_BUTTON, 4, 1);
    for (int i = 0; i < 3; i++) {
        const Joy *joy = look(&r);
        assert_non_null(joy);
        assert_int_equal(joy->axes.n, 2);
        assert_true(joy->axes.at[1] == 1);
        assert_int_equal(joy->buttons.at[4], 1);
    }
    rig_end(&r);
}

static void a_pulled_plug_is_silence_until_it_is_back(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r);
    push(&r, JS_EVENT_BUTTON, 4, 1);
    assert_non_null(look(&r));
    close(r.plug);
    unlink(r.device);
    for (int i = 0; i < 200; i++) assert_null(look(&r));
    assert_int_equal(mkfifo(r.device, 0600), 0);
    r.plug = open(r.device, O_RDWR);
    const Joy *joy = NULL;
    for (int i = 0; i < 60 && !joy; i++) joy = look(&r);
    assert_non_null(joy);
    assert_int_equal(joy->buttons.n, 0); /* nothing is held from before */
    rig_end(&r);
}

static void a_device_that_is_not_there_is_refused_with_its_name(void **state)
{
    (void)state;
    struct rig r;
    struct nm_err err = {0};
    rig_begin(&r);
    assert_null(nm_teleop_new(r.player, "/dev/input/no_such_stick", &err));
    assert_non_null(strstr(err.text, "/dev/input/no_such_stick: No such file"));
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_state_is_told_at_every_look),
        cmocka_unit_test(a_pulled_plug_is_silence_until_it_is_back),
        cmocka_unit_test(a_device_that_is_not_there_is_refused_with_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
