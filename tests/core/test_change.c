/* Changing a line-up while it runs: parameters as one generation, another build of a module between two steps. */
#include "core/started.h"

#include "std_msgs/Int32.h"
#include "core/internal.h"

struct adder {
    struct nm *nm;
    Int32 *sum;
    int32_t a, b;
    int32_t seen_changes;
    int32_t total;
};
#define SELF struct adder
static void adder_step(struct adder *f)
{
    f->total += f->a + f->b;
    f->sum->data = f->total;
    nm_put(f->nm, f->sum);
}
static void adder_changed(struct adder *f) { f->seen_changes++; }
static const struct nm_port ports[] = {NM_OUT(sum, Int32, "sum"), {0}};
static const struct nm_param params[] = {
    NM_PARAM(a, 1, 0, 100, "1", "first"), NM_PARAM(b, 0, 0, 100, "1", "second"), {0}};
#undef NM_LAYOUT
#define NM_LAYOUT 17
NM_MODULE(adder, "Adds.", NM_PORTS(ports), NM_PARAMS(params), .step = NM_CALL(adder_step),
          .changed = NM_CALL(adder_changed))

static uint32_t adder_of(struct started *s) { return nm_lineup_instance(s->lineup, "adder"); }
static struct adder *self_of(struct started *s) { return s->player->instances[adder_of(s)].self; }

static struct nm_change change(struct started *s, uint32_t param, const char *text)
{
    struct nm_change c = {.instance = adder_of(s), .param = param};
    c.value.layer = NM_LAYER_LIVE;
    assert_int_equal(nm_value_parse(&params[param], text, &c.value, NULL), 0);
    c.value.layer = NM_LAYER_LIVE;
    return c;
}

static void a_set_is_applied_whole_at_the_next_run(void **state)
{
    (void)state;
    struct started s;
    struct nm_err err = {0};
    start(&s, "cycles: {c: {period: 10 ms, modules: [adder]}}");
    run_until(&s, 20);
    assert_int_equal(self_of(&s)->total, 2);
    struct nm_change both[] = {change(&s, 0, "10"), change(&s, 1, "20")};
    assert_int_equal(nm_player_set(s.player, both, 2, &err), 1);
    assert_int_equal(self_of(&s)->a, 1); /* not before the next run */
    run_until(&s, 30);
    assert_int_equal(self_of(&s)->total, 32);
    assert_int_equal(self_of(&s)->seen_changes, 2); /* at the start, and now */
    struct nm_value now;
    nm_player_value(s.player, adder_of(&s), 1, &now);
    assert_int_equal(now.whole, 20);
    stop(&s);
}

static void generations_count_and_a_lagging_cycle_refuses(void **state)
{
    (void)state;
    struct started s;
    struct nm_err err = {0};
    start(&s, "cycles: {c: {period: 10 ms, modules: [adder]}}");
    run_until(&s, 10);
    struct nm_change one = change(&s, 0, "3");
    int64_t generation = 0;
    while (generation >= 0 && generation < 1000) generation = nm_player_set(s.player, &one, 1, &err);
    assert_int_equal(generation, -1);
    assert_non_null(strstr(err.text, "cycle c has not taken in"));
    run_until(&s, 20);
    assert_true(nm_player_set(s.player, &one, 1, &err) > 0);
    stop(&s);
}

/* ---- another build ---- */

static void doubled_step(struct adder *f)
{
    f->total += 2 * (f->a + f->b);
    f->sum->data = f->total;
    nm_put(f->nm, f->sum);
}

static void the_state_is_kept_where_the_layout_is_equal(void **state)
{
    (void)state;
    struct started s;
    struct nm_err err = {0};
    struct nm_module next = adder_module;
    next.step = NM_CALL(doubled_step);
    start(&s, "cycles: {c: {period: 10 ms, modules: [adder]}}");
    run_until(&s, 30);
    assert_int_equal(nm_player_swap(s.player, adder_of(&s), &next, &err), 1);
    run_until(&s, 40);
    assert_int_equal(self_of(&s)->total, 5); /* 3, then 2 more */
    stop(&s);
}

static void a_new_default_counts_although_the_state_is_kept(void **state)
{
    (void)state;
    struct started s;
    struct nm_err err = {0};
    struct nm_param others[] = {adder_module.params[0], adder_module.params[1], {0}};
    struct nm_module next = adder_module;
    others[0].value = 4;
    next.params = others;
    next.n_params = 3;
    start(&s, "cycles: {c: {period: 10 ms, modules: [adder]}}");
    run_until(&s, 30);
    assert_int_equal(nm_player_swap(s.player, adder_of(&s), &next, &err), 1);
    run_until(&s, 40);
    assert_int_equal(self_of(&s)->total, 7); /* 3, then 4 more */
    stop(&s);
}

static void another_layout_begins_anew_with_the_same_parameters(void **state)
{
    (void)state;
    struct started s;
    struct nm_err err = {0};
    struct nm_module next = adder_module;
    next.layout = 18;
    start(&s, "cycles: {c: {period: 10 ms, modules: [{module: adder, params: {a: 7}}]}}");
    run_until(&s, 30);
    struct nm_change c = change(&s, 1, "5");
    nm_player_set(s.player, &c, 1, &err);
    assert_int_equal(nm_player_swap(s.player, adder_of(&s), &next, &err), 0);
    run_until(&s, 40);
    assert_int_equal(self_of(&s)->total, 12);
    stop(&s);
}

static void other_ports_are_refused(void **state)
{
    (void)state;
    struct started s;
    struct nm_err err = {0};
    static const struct nm_port others[] = {NM_OUT(sum, Int32, "total"), {0}};
    struct nm_module next = adder_module;
    next.ports = others;
    next.n_ports = 2;
    start(&s, "cycles: {c: {period: 10 ms, modules: [adder]}}");
    run_until(&s, 10);
    assert_int_equal(nm_player_swap(s.player, adder_of(&s), &next, &err), -1);
    assert_non_null(strstr(err.text, "adder: the ports changed (at sum)"));
    run_until(&s, 20);
    assert_int_equal(self_of(&s)->total, 2);
    stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_is_applied_whole_at_the_next_run),
        cmocka_unit_test(generations_count_and_a_lagging_cycle_refuses),
        cmocka_unit_test(the_state_is_kept_where_the_layout_is_equal),
        cmocka_unit_test(a_new_default_counts_although_the_state_is_kept),
        cmocka_unit_test(another_layout_begins_anew_with_the_same_parameters),
        cmocka_unit_test(other_ports_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
