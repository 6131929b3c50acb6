/* Asking a running line-up over its control socket, and printing its answers. */
#include "cmd/asking.h"

#include <errno.h>
#include <math.h>
#include <time.h>

#include "cmd/console.h"
#include "cmd/stopping.h"
#include "edge/control/client.h"

const struct nm_yaml *answer_read(struct nm_arena *arena, struct nm_json *json, struct nm_err *err)
{
    if (json->text && !json->over) return nm_yaml_parse(arena, "answer", json->text, json->n, err);
    nm_fail(err, "the line-up is too large for one table");
    return NULL;
}

static const char *answer_time(const struct nm_yaml *map, const char *key, char to[32])
{
    return duration_text(to, nm_reply_number(map, key));
}

static void row_of_cycle(struct table *table, const struct nm_yaml *cycle)
{
    const struct nm_yaml *busy = nm_yaml_get(cycle, "busy"), *late = nm_yaml_get(cycle, "late");
    char mean[32], p99[32], max[32], late_p99[32], late_max[32];
    table_row(table, "%s\t%.1f\t%lld\t%lld\t%lld\t%s\t%s\t%s\t%s\t%s", nm_reply_text(cycle, "name"),
              nm_reply_number(cycle, "rate"), (long long)nm_reply_whole(cycle, "runs"),
              (long long)nm_reply_whole(cycle, "misses"), (long long)nm_reply_whole(cycle, "skips"),
              answer_time(busy, "mean", mean), answer_time(busy, "p99", p99), answer_time(busy, "max", max),
              answer_time(late, "p99", late_p99), answer_time(late, "max", late_max));
}

static void row_of_module(struct table *table, const struct nm_yaml *module)
{
    const struct nm_yaml *busy = nm_yaml_get(module, "busy");
    char mean[32], p99[32], max[32];
    table_row(table, "  %s\t\t%lld\t\t\t%s\t%s\t%s\t\t", nm_reply_text(module, "instance"),
              (long long)nm_reply_whole(module, "steps"), answer_time(busy, "mean", mean),
              answer_time(busy, "p99", p99), answer_time(busy, "max", max));
}

void tasks_print(const struct nm_yaml *answer, bool modules, FILE *to)
{
    struct table table;
    table_begin(&table, (const char *const[]){"cycle", ">Hz", ">runs", ">missed", ">skipped", ">busy mean", ">p99",
                                              ">max", ">late p99", ">max", NULL});
    nm_yaml_each(cycle, nm_yaml_get(answer, "cycles"))
    {
        row_of_cycle(&table, cycle);
        nm_yaml_each(module, modules ? nm_yaml_get(cycle, "modules") : NULL) row_of_module(&table, module);
    }
    table_print(&table, to);

    const struct nm_yaml *inputs = nm_yaml_get(answer, "inputs");
    if (!inputs || !inputs->n) return;
    fputc('\n', to);
    table_begin(&table, (const char *const[]){"from outside", ">Hz", ">messages", ">age of the reading", NULL});
    nm_yaml_each(input, inputs)
    {
        char age[32], rate[32] = "";
        double lately = nm_reply_number(input, "rate");
        if (isfinite(lately)) snprintf(rate, sizeof rate, "%.1f", lately);
        table_row(&table, "%s\t%s\t%lld\t%s", nm_reply_text(input, "name"), rate,
                  (long long)nm_reply_whole(input, "seq"), answer_time(input, "age", age));
    }
    table_print(&table, to);
}

int asking_begin(struct asking *asking, const char *to)
{
    struct nm_err err = {0};
    *asking = (struct asking){0};
    asking->link = nm_link_open(NULL, to, &err);
    if (asking->link) return EXIT_OK;
    complain(&err);
    const char *names[1];
    asking->code = nm_link_names(NULL, &asking->arena, names, 1) ? EXIT_USAGE : EXIT_FAILED;
    nm_arena_free(&asking->arena);
    return asking->code;
}

const struct nm_yaml *ask(struct asking *asking, const struct nm_request *request)
{
    struct nm_err err = {0};
    const struct nm_yaml *answer = nm_link_ask(asking->link, &asking->arena, request, &err);
    if (answer) return answer;
    complain(&err);
    asking->code = nm_link_refused(asking->link) ? EXIT_USAGE : EXIT_FAILED;
    return NULL;
}

int asking_end(struct asking *asking)
{
    nm_link_close(asking->link);
    nm_arena_free(&asking->arena);
    return asking->code;
}

bool pause_for(double seconds)
{
    struct timespec left = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    stop_by_signals();
    while (!stopping() && nanosleep(&left, &left) && errno == EINTR) continue;
    return !stopping();
}
