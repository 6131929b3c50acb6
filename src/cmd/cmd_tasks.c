/* nutmeg tasks: how the cycles and modules of a running line-up keep their time. */
#include "cmd/asking.h"
#include "cmd/commands.h"
#include "cmd/console.h"

/* The exit code. */
static int show(const char *to, bool cycles_only)
{
    struct asking asking;
    if (asking_begin(&asking, to)) return asking.code;
    const struct nm_yaml *answer = ask(&asking, &(struct nm_request){.op = NM_CONTROL_TASKS});
    if (answer) {
        clear_screen(stdout);
        tasks_print(answer, !cycles_only, stdout);
        fflush(stdout);
    }
    return asking_end(&asking);
}

int cmd_tasks(int argc, char **argv)
{
    const char *to = NULL;
    bool once = false, watch = false, cycles = false;
    double every = 1;
    const struct flag flags[] = {
        SWITCH("once", &once, "shows the table once (default)"),
        SWITCH("watch", &watch, "shows the table again and again until Ctrl-C"),
        NUMBER("every", &every, 0.1, 3600, "S", "seconds between two tables"),
        SWITCH("cycles", &cycles, "shows only cycles, without their modules"),
        TO_FLAG(&to),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg tasks", "", flags,
              "Shows for each cycle of a running line-up its rate, missed deadlines, skipped periods, how long\n"
              "its runs take (busy) and how late they begin. For each module it shows how long the steps take.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    if (once && watch) return usage_wrong(&usage, "use either --once or --watch, not both");
    do {
        if ((code = show(to, cycles))) return code;
    } while (watch && pause_for(every));
    return EXIT_OK;
}
