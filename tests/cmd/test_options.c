/* The command line: flags reach their targets, other arguments are left in order, and every mistake is a sentence that
 * names the flag and, for a slip of the finger, the one that was meant. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cmd/options.h"

static bool json;
static const char *name;
static double seconds;
static int64_t count;
static struct texts sets;
static struct nm_err err;

static const struct flag flags[] = {
    SWITCH("json", &json, "as JSON"),
    TEXT("name", &name, "NAME", "a name", .letter = 'n'),
    NUMBER("seconds", &seconds, 0, 100, "N", "a time"),
    WHOLE("count", &count, -5, 5, "N", "a number"),
    TEXTS("set", &sets, "A=B", "may be repeated"),
    {0},
};
static const struct usage usage = USAGE("nutmeg test", "FILE…", flags, "Tests.", .most = 2);

static int begin(void **state)
{
    (void)state;
    json = false;
    name = NULL;
    seconds = -1;
    count = 0;
    memset(&sets, 0, sizeof sets);
    memset(&err, 0, sizeof err);
    return 0;
}

static char *args[16];
#define READ(...)                                                                                                      \
    (memcpy(args, (char *[16]){(char[]){"test"}, __VA_ARGS__}, sizeof args),                                           \
     usage_read(&usage, (int)(sizeof((char *[]){(char[]){"test"}, __VA_ARGS__}) / sizeof(char *)), args, &err))

static void test_flags_stand_anywhere_and_the_rest_stays_in_order(void **state)
{
    (void)state;
    assert_int_equal(READ("--json", "a.yaml", "--name", "bob", "--seconds=2.5", "b.yaml", "--count", "-3"), 2);
    assert_string_equal(args[1], "a.yaml");
    assert_string_equal(args[2], "b.yaml");
    assert_true(json);
    assert_string_equal(name, "bob");
    assert_true(seconds == 2.5);
    assert_int_equal(count, -3);
}

static void test_a_flag_not_given_leaves_its_target_alone(void **state)
{
    (void)state;
    assert_int_equal(READ("a"), 1);
    assert_false(json);
    assert_null(name);
    assert_true(seconds == -1);
}

static void test_repeated_values_are_kept_and_of_single_ones_the_last_counts(void **state)
{
    (void)state;
    assert_int_equal(READ("a", "--set", "x=1", "--set=y=2", "-n", "one", "--name", "two"), 1);
    assert_int_equal(sets.n, 2);
    assert_string_equal(sets.at[0], "x=1");
    assert_string_equal(sets.at[1], "y=2");
    assert_string_equal(name, "two");
}

static void test_a_value_that_may_be_left_out_is_a_number(void **state)
{
    (void)state;
    static const struct {
        const char *words[4], *value;
        int left;
    } cases[] = {{{"x", "--port"}, "", 0},          {{"x", "--port", "12"}, "12", 0}, {{"x", "--port=0"}, "0", 0},
                 {{"x", "--port", "play"}, "", 1},  {{"x", "--port", "1a"}, "", 1},   {{"x", "play"}, NULL, 1},
                 {{"x", "--port", "--port"}, "", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *port = NULL;
        const struct flag maybe[] = {MAYBE("port", &port, PORT_MAX, "[N]", "a port"), {0}};
        const struct usage one = USAGE("x", "[WORD]", maybe, "About.");
        char *words[4];
        int n = 0;
        for (; n < 4 && cases[i].words[n]; n++) words[n] = (char *)(uintptr_t)cases[i].words[n];
        assert_int_equal(usage_read(&one, n, words, NULL), cases[i].left);
        if (cases[i].value)
            assert_string_equal(port, cases[i].value);
        else
            assert_null(port);
        char *wrong[][2] = {{"x", "--port=70000"}, {"x", "--port=-1"}, {"x", "--port=1a"}};
        for (size_t k = 0; k < 3; k++) assert_int_equal(usage_read(&one, 2, wrong[k], NULL), -1);
    }
}

static void test_times_and_speeds_are_told_as_people_say_them(void **state)
{
    (void)state;
    double half = 0, speed = -1;
    const struct flag both[] = {TIME("half", &half, 6, 3600, "a half"), SPEED(&speed, "how fast"), {0}};
    const struct usage one = USAGE("x", "", both, "About.");
    static const struct {
        const char *word;
        double half, speed;
    } right[] = {{"--half=10m", 600, -1}, {"--half=90s", 90, -1},   {"--half=2", 120, -1},    {"--half=0.5min", 30, -1},
                 {"--speed=max", 30, 0},  {"--speed=0.5", 30, 0.5}, {"--half=60m", 3600, 0.5}};
    static const char *const wrong[] = {"--half=5x",  "--half=",    "--half=1s",    "--half=61m",
                                        "--half=-1",  "--half=nan", "--speed=fast", "--speed=0",
                                        "--speed=-1", "--speed=",   "--speed=2x"};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        char *words[] = {"x", (char *)(uintptr_t)right[i].word};
        assert_int_equal(usage_read(&one, 2, words, NULL), 0);
        assert_true(fabs(half - right[i].half) < 1e-9);
        assert_true(fabs(speed - right[i].speed) < 1e-9);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char *words[] = {"x", (char *)(uintptr_t)wrong[i]};
        assert_int_equal(usage_read(&one, 2, words, NULL), -1);
    }
    assert_true(fabs(half - 3600) < 1e-9); /* what is refused changes nothing */
}

static void test_the_words_of_the_help_say_how_many_arguments_there_are(void **state)
{
    (void)state;
    static const struct {
        const char *arguments;
        int least, most, limit;
    } cases[] = {{"", 0, 0, 0},
                 {"LOG", 1, 1, 0},
                 {"[LOG]", 0, 1, 0},
                 {"A B", 2, 2, 0},
                 {"LOG [FOLDER]", 1, 2, 0},
                 {"LOG…", 1, 7, 0},
                 {"[LOG…]", 0, 7, 0},
                 {"PORT ID [NAME…]", 2, 7, 0},
                 {"-o FOLDER", 0, 0, 0},
                 {"--robot NAME LOG", 1, 1, 0},
                 {"TEAM TEAM…", 2, 4, 4},
                 {"[A@X[,Y]…]", 0, 3, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct usage one = USAGE("x", cases[i].arguments, NULL, "About.", .most = cases[i].limit);
        for (int n = 0; n <= 7; n++) {
            char word[] = "x", *words[8];
            for (int k = 0; k <= n; k++) words[k] = word;
            bool fits = n >= cases[i].least && n <= cases[i].most;
            assert_int_equal(usage_read(&one, n + 1, words, NULL), fits ? n : -1);
        }
    }
}

static void test_after_two_dashes_nothing_is_a_flag(void **state)
{
    (void)state;
    assert_int_equal(READ("--", "--json", "-n"), 2);
    assert_string_equal(args[1], "--json");
    assert_false(json);
}

static void test_a_single_dash_is_an_argument(void **state)
{
    (void)state;
    assert_int_equal(READ("-"), 1);
    assert_string_equal(args[1], "-");
}

static void test_help_is_found_anywhere(void **state)
{
    (void)state;
    assert_int_equal(READ("a", "--help"), USAGE_HELP);
    assert_int_equal(READ("-h"), USAGE_HELP);
}

#define REFUSED(sentence, ...)                                                                                         \
    do {                                                                                                               \
        memset(&err, 0, sizeof err);                                                                                   \
        assert_int_equal(READ(__VA_ARGS__), -1);                                                                       \
        if (!strstr(err.text, sentence)) fail_msg("'%s' does not say '%s'", err.text, sentence);                       \
    } while (0)

static void test_mistakes_are_named(void **state)
{
    (void)state;
    REFUSED("no flag --jsn; did you mean --json?", "a", "--jsn");
    REFUSED("no flag --seco; did you mean --seconds?", "a", "--seco"); /* near by its beginning only */
    REFUSED("no flag --frobnicate", "a", "--frobnicate=1");
    REFUSED("no flag -x", "a", "-x");
    REFUSED("no flag -nbob", "a", "-nbob");
    REFUSED("--name wants a value: --name NAME", "a", "--name");
    REFUSED("--json takes no value", "a", "--json=yes");
    REFUSED("--seconds wants a number, not '3s'", "a", "--seconds", "3s");
    REFUSED("--seconds wants a number, not ''", "a", "--seconds=");
    REFUSED("--seconds wants a number, not 'nan'", "a", "--seconds", "nan");
    REFUSED("--seconds must be between 0 and 100, not 101", "a", "--seconds", "101");
    REFUSED("--count wants a whole number, not '1.5'", "a", "--count", "1.5");
    REFUSED("--count must be between -5 and 5, not 6", "a", "--count", "6");
    REFUSED("an argument is missing: nutmeg test FILE…", "--json");
    REFUSED("one argument too many, 'c'", "a", "b", "c");
}

static void test_more_repetitions_than_fit_are_refused(void **state)
{
    (void)state;
    sets.n = TEXTS_MAX;
    REFUSED("--set is given more than 256 times", "a", "--set", "x=1");
}

static void test_the_help_tells_every_flag(void **state)
{
    (void)state;
    char text[2048] = "";
    FILE *to = fmemopen(text, sizeof text, "w");
    usage_help(&usage, to);
    fclose(to);
    assert_ptr_equal(strstr(text, "nutmeg test FILE… [flags]\n\nTests.\n"), text);
    for (const struct flag *f = flags; f->name; f++) {
        assert_non_null(strstr(text, f->name));
        assert_non_null(strstr(text, f->about));
    }
    assert_non_null(strstr(text, "  -n, --name NAME"));
}

/* ---- verbs ---- */

static int called_argc;
static const char *called_word;
static int call(int argc, char **argv)
{
    called_argc = argc;
    called_word = argv[argc - 1];
    return 7;
}
static const struct verb verbs[] = {{"list", "lists", call}, {"absent", "not in this build", NULL}, {0}};

static void test_a_verb_gets_its_arguments_and_gives_the_exit_code(void **state)
{
    (void)state;
    char *words[] = {(char[]){"nutmeg"}, (char[]){"list"}, (char[]){"all"}};
    assert_int_equal(verbs_run("nutmeg", "Tests.", verbs, 3, words), 7);
    assert_int_equal(called_argc, 2);
    assert_string_equal(called_word, "all");
}

static void test_help_of_a_verb_is_its_own(void **state)
{
    (void)state;
    char *words[] = {(char[]){"nutmeg"}, (char[]){"help"}, (char[]){"list"}};
    assert_int_equal(verbs_run("nutmeg", "Tests.", verbs, 3, words), 7);
    assert_string_equal(called_word, "--help");
}

static void test_unknown_and_absent_verbs_are_wrong_usage(void **state)
{
    (void)state;
    char *typo[] = {(char[]){"nutmeg"}, (char[]){"lits"}}, *absent[] = {(char[]){"nutmeg"}, (char[]){"absent"}};
    assert_int_equal(verbs_run("nutmeg", "Tests.", verbs, 2, typo), EXIT_USAGE);
    assert_int_equal(verbs_run("nutmeg", "Tests.", verbs, 2, absent), EXIT_USAGE);
    assert_int_equal(verbs_run("nutmeg", "Tests.", verbs, 1, typo), EXIT_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_flags_stand_anywhere_and_the_rest_stays_in_order, begin),
        cmocka_unit_test_setup(test_a_flag_not_given_leaves_its_target_alone, begin),
        cmocka_unit_test_setup(test_repeated_values_are_kept_and_of_single_ones_the_last_counts, begin),
        cmocka_unit_test(test_a_value_that_may_be_left_out_is_a_number),
        cmocka_unit_test(test_the_words_of_the_help_say_how_many_arguments_there_are),
        cmocka_unit_test_setup(test_after_two_dashes_nothing_is_a_flag, begin),
        cmocka_unit_test_setup(test_a_single_dash_is_an_argument, begin),
        cmocka_unit_test_setup(test_help_is_found_anywhere, begin),
        cmocka_unit_test_setup(test_mistakes_are_named, begin),
        cmocka_unit_test_setup(test_more_repetitions_than_fit_are_refused, begin),
        cmocka_unit_test_setup(test_the_help_tells_every_flag, begin),
        cmocka_unit_test(test_a_verb_gets_its_arguments_and_gives_the_exit_code),
        cmocka_unit_test(test_help_of_a_verb_is_its_own),
        cmocka_unit_test(test_unknown_and_absent_verbs_are_wrong_usage),
        cmocka_unit_test(test_times_and_speeds_are_told_as_people_say_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
