/* A line-up that is printed and read again is the same line-up; some of its instances are one that can be loaded by
 * itself. */
#include "core/started.h"

#include <stdlib.h>

#include "core/team.h"

static const char source[] = "cycles:\n"
                             "  vision: {trigger: image_raw, timeout: 40 ms, modules: [eye]}\n"
                             "  game:\n"
                             "    period: 10 ms\n"
                             "    deadline: 8 ms\n"
                             "    cost: 2 ms\n"
                             "    priority: 40\n"
                             "    modules:\n"
                             "      - {module: ball_filter, name: rival, topics: {ball: ball_rival}}\n"
                             "      - ball_filter\n"
                             "      - striker\n"
                             "      - walk\n"
                             "remote: [image_raw]\n";

static char *print(const struct nm_lineup *lineup, const bool *chosen)
{
    char *text;
    size_t n;
    FILE *to = open_memstream(&text, &n);
    nm_lineup_print(lineup, chosen, to);
    fclose(to);
    return text;
}

static struct nm_lineup *load(struct started *s, const char *text)
{
    struct nm_err err = {0};
    struct nm_lineup_options where = {.root = "/nonexistent"};
    struct nm_lineup *lineup = nm_lineup_parse(text, strlen(text), "again.yaml", &s->registry, &where, &err);
    if (!lineup) fail_msg("%s\n%s", err.text, text);
    return lineup;
}

static void begin(struct started *s)
{
    *s = (struct started){0};
    nm_registry_init(&s->registry, &s->arena, __start_nm_modules, __stop_nm_modules);
    s->lineup = load(s, source);
}

static void a_printed_line_up_is_the_same_again(void **state)
{
    (void)state;
    struct started s;
    begin(&s);
    char *text = print(s.lineup, NULL);
    struct nm_lineup *again = load(&s, text);
    char *twice = print(again, NULL);
    assert_string_equal(text, twice);
    assert_int_equal(again->n_topics, s.lineup->n_topics);
    assert_int_equal(again->n_instances, s.lineup->n_instances);
    for (uint32_t t = 0; t < again->n_topics; t++) {
        assert_string_equal(again->topics[t].name, s.lineup->topics[t].name);
        assert_int_equal(again->topics[t].n_producers, s.lineup->topics[t].n_producers);
        assert_int_equal(again->topics[t].n_consumers, s.lineup->topics[t].n_consumers);
    }
    for (uint32_t c = 0; c < again->n_cycles; c++) {
        assert_int_equal(again->cycles[c].period, s.lineup->cycles[c].period);
        assert_int_equal(again->cycles[c].timeout, s.lineup->cycles[c].timeout);
        assert_int_equal(again->cycles[c].deadline, s.lineup->cycles[c].deadline);
        assert_int_equal(again->cycles[c].cost, s.lineup->cycles[c].cost);
        for (uint32_t i = 0; i < again->cycles[c].n_order; i++)
            assert_string_equal(again->instances[again->cycles[c].order[i]].name,
                                s.lineup->instances[s.lineup->cycles[c].order[i]].name);
    }
    free(text);
    free(twice);
    nm_lineup_free(again);
    nm_lineup_free(s.lineup);
    nm_arena_free(&s.arena);
}

static void any_instance_can_be_printed_alone(void **state)
{
    (void)state;
    struct started s;
    begin(&s);
    for (uint32_t i = 0; i < s.lineup->n_instances; i++) {
        bool chosen[16] = {0};
        chosen[i] = true;
        char *text = print(s.lineup, chosen);
        struct nm_lineup *alone = load(&s, text);
        assert_int_equal(alone->n_instances, 1);
        assert_int_equal(alone->n_cycles, 1);
        assert_string_equal(alone->instances[0].name, s.lineup->instances[i].name);
        nm_lineup_free(alone);
        free(text);
    }
    nm_lineup_free(s.lineup);
    nm_arena_free(&s.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_printed_line_up_is_the_same_again),
                                       cmocka_unit_test(any_instance_can_be_printed_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
