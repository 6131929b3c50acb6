/* nutmeg dev: runs a line-up, and puts every module whose source changes in its place while it runs. */
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/playing.h"
#include "cmd/workshop.h"

static int learn(struct nm_lineup *lineup, void *user, struct nm_err *err) { return workshop_learn(user, lineup, err); }

static void work(struct nm_player *player, void *user) { workshop_tick(user, player); }

int cmd_dev(int argc, char **argv)
{
    struct playing_options options = {.loaded = learn, .tick = work, .log = LOGGING_NONE};
    const struct flag flags[] = {PLAYING_FLAGS(&options), LINEUP_FLAGS(&options.flags), {0}};
    const struct usage usage =
        USAGE("nutmeg dev", "LINEUP", flags,
              "Runs a line-up and watches all files of its modules. When a file changes, its module is built\n"
              "and replaced between two steps. The module keeps its state if its struct has not changed. If\n"
              "the build fails, the errors are shown and the old build plays on.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    if (logging_check(&usage, &options.log)) return EXIT_USAGE;
    struct nm_err err = {0};
    struct setup setup;
    struct workshop shop;
    setup_begin(&setup);
    options.lineup = argv[1];
    options.user = &shop;
    if (workshop_begin(&shop, setup.root, setup.program, &err)) {
        complain(&err);
        code = EXIT_FAILED;
    } else {
        code = playing_run(&setup, &options);
        workshop_end(&shop);
    }
    setup_end(&setup);
    return code;
}
