/* nutmeg why: who makes a topic, who reads it, how old it is, and what keeps it from being made. */
#include "cmd/asking.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/setup.h"
#include "edge/control/control.h"

static void print_sentence(void *user, const char *sentence)
{
    (void)user;
    puts(sentence);
}

static int from_file(const char *file, const char *name, const struct lineup_flags *flags)
{
    struct nm_err err = {0};
    struct setup setup;
    setup_begin(&setup);
    struct nm_lineup *lineup = setup_lineup(&setup, file, flags, &err);
    uint32_t topic = lineup ? nm_find_topic(lineup, name, &err) : NM_NONE;
    if (topic == NM_NONE)
        complain(&err);
    else
        nm_why(&(struct nm_view){.lineup = lineup}, topic, print_sentence, NULL);
    nm_lineup_free(lineup);
    setup_end(&setup);
    return topic == NM_NONE ? EXIT_USAGE : EXIT_OK;
}

static int from_player(const char *to, const char *name)
{
    struct asking asking;
    if (asking_begin(&asking, to)) return asking.code;
    const struct nm_yaml *answer = ask(&asking, &(struct nm_request){.op = NM_CONTROL_WHY, .topic = name});
    nm_yaml_each(sentence, nm_yaml_get(answer, "sentences")) puts(sentence->text);
    return asking_end(&asking);
}

int cmd_why(int argc, char **argv)
{
    const char *to = NULL, *file = NULL;
    struct lineup_flags lineup = {0};
    const struct flag flags[] = {
        TO_FLAG(&to),
        TEXT("lineup", &file, "LINEUP", "reads the files of this line-up; it does not have to run"),
        LINEUP_FLAGS(&lineup),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg why", "TOPIC", flags,
              "Shows which module writes a topic and in which cycle, which modules read it, how often messages\n"
              "come and how old the newest is. For a stale topic it follows the chain of inputs to the cause.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    return file ? from_file(file, argv[1], &lineup) : from_player(to, argv[1]);
}
