/* Who may speak when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/harness.h"
#include "humanoid_league_msgs/Speak.h"
#include "nutmeg_msgs/Utterance.h"
#include "std_msgs/Bool.h"

extern const struct nm_module speaker_module;

static struct nm_harness *h;
static bool speaking;

static void ask(uint8_t priority, const char *text)
{
    Speak *speak = nm_harness_set(h, "speak");
    speak->priority = priority;
    nm_text(speak->text, "%s", text);
}

/* What is said in the next step; NULL: nothing. */
static const Utterance *hear(void)
{
    const void *const *at;
    ((Bool *)nm_harness_set(h, "speaking"))->data = speaking;
    nm_harness_step(h, 0.04);
    uint32_t n = nm_harness_queue(h, "utterance", &at);
    assert_true(n <= 1);
    return n ? at[0] : NULL;
}

static void quiet(double seconds)
{
    for (double t = 0; t < seconds; t += 0.04) assert_null(hear());
}

static int begin(void **state)
{
    (void)state;
    h = nm_harness_new(&speaker_module, NULL);
    speaking = false;
    return 0;
}

static int end(void **state)
{
    (void)state;
    nm_harness_free(h);
    return 0;
}

static void test_one_sentence_at_a_time_by_priority(void **state)
{
    (void)state;
    static const char *const order[] = {"three", "two", "one", "one more"};
    ask(Speak_LOW_PRIORITY, "one");
    ask(Speak_LOW_PRIORITY, "one more");
    ask(Speak_MID_PRIORITY, "two");
    ask(Speak_HIGH_PRIORITY, "three");
    for (int i = 0; i < 4; i++) {
        const Utterance *u = hear();
        for (int k = 0; k < 20 && !u; k++) u = hear(); /* until the loudspeaker could have begun */
        assert_non_null(u);
        assert_string_equal(u->text, order[i]);
        assert_false(u->interrupts);
        speaking = true;
        quiet(0.5);
        speaking = false;
    }
    quiet(2);
}

static void test_the_urgent_interrupts(void **state)
{
    (void)state;
    ask(Speak_LOW_PRIORITY, "a long story");
    assert_non_null(hear());
    speaking = true;
    quiet(0.5);
    ask(Speak_MID_PRIORITY, "news");
    quiet(0.5); /* waits */
    ask(Speak_HIGH_PRIORITY, "help");
    const Utterance *u = hear();
    assert_non_null(u);
    assert_string_equal(u->text, "help");
    assert_true(u->interrupts);
    ask(Speak_HIGH_PRIORITY, "help again"); /* but not another cry */
    quiet(0.5);
}

static void test_old_and_repeated_words_are_left_out(void **state)
{
    (void)state;
    speaking = true;
    ask(Speak_LOW_PRIORITY, "old");
    ask(Speak_MID_PRIORITY, "still true");
    quiet(8);
    speaking = false;
    const Utterance *u = hear();
    assert_string_equal(u->text, "still true");
    ask(Speak_MID_PRIORITY, "still true");
    quiet(2);
    for (int i = 0; i < 40; i++) { /* a flood is bounded, and the newest remain */
        char text[16];
        snprintf(text, sizeof text, "flood %d", i);
        ask(Speak_LOW_PRIORITY, text);
        if (i % 10 == 9) (void)hear();
    }
    u = hear();
    for (int k = 0; k < 20 && !u; k++) u = hear();
    assert_non_null(u);
    assert_non_null(strstr(u->text, "flood 3"));
}

static void test_the_volume_changes_at_run_time(void **state)
{
    (void)state;
    nm_harness_param(h, "volume=0.25");
    ask(Speak_MID_PRIORITY, "soft");
    const Utterance *u = hear();
    assert_true(u && u->volume == 0.25f);
    quiet(1);
    nm_harness_param(h, "volume=0");
    ask(Speak_HIGH_PRIORITY, "nobody hears this");
    quiet(2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_sentence_at_a_time_by_priority, begin, end),
        cmocka_unit_test_setup_teardown(test_the_urgent_interrupts, begin, end),
        cmocka_unit_test_setup_teardown(test_old_and_repeated_words_are_left_out, begin, end),
        cmocka_unit_test_setup_teardown(test_the_volume_changes_at_run_time, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
