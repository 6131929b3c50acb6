/* The edge that speaks, with the real espeak-ng. Test machines have no sound card, so a script in its place tells it to
 * write a sound file, and notes how it was called. */
#include "core/started.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "edge/speech/speech_edge.h"
#include "nutmeg_msgs/Utterance.h"
#include "patience.h"
#include "std_msgs/Bool.h"

/* A module that says what the test wants, and hears whether it is said. */
struct mouth {
    struct nm *nm;
    const Bool *speaking;
    nm_out_queue(Utterance) say;
    bool wants, interrupts;
    float volume;
    char text[256];
};

static void step(struct mouth *f)
{
    if (!f->wants) return;
    Utterance *u = nm_push(f->nm, &f->say);
    nm_text(u->text, "%s", f->text);
    u->volume = f->volume;
    u->interrupts = f->interrupts;
    f->wants = false;
}

#define SELF struct mouth
static const struct nm_port ports[] = {
    NM_IN(speaking, Bool, "speaking"), NM_OUT_QUEUE(say, Utterance, "utterance", 4), {0}};
NM_MODULE(mouth, "Speaks.", NM_PORTS(ports), .step = NM_CALL(step))

static struct started s;
static struct nm_speech *speech;
static int64_t ms;
static char folder[64], usual[4096];

static struct mouth *mouth(void) { return nm_player_self(s.player, 0); }

static void turn(void)
{
    ms += 10;
    nm_speech_poll(speech, ms * 1000000);
    run_until(&s, ms);
}

static void say(const char *text, float volume, bool interrupts)
{
    struct mouth *m = mouth();
    nm_text(m->text, "%s", text);
    m->volume = volume;
    m->interrupts = interrupts;
    m->wants = true;
    for (int i = 0; i < 3; i++) turn();
}

static char *noted(const char *name, char *to, size_t room)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(to, 1, room - 1, file) : 0;
    to[n] = '\0';
    if (file) fclose(file);
    return to;
}

static off_t size_of(const char *name)
{
    char path[128];
    struct stat about;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return stat(path, &about) ? 0 : about.st_size;
}

/* script: what stands in for espeak-ng */
static void begin(const char *script)
{
    char path[128], text[8192];
    struct nm_err err = {0};
    strcpy(folder, "/tmp/nutmeg_speech_XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/espeak-ng", folder);
    FILE *file = fopen(path, "w");
    fprintf(file, "#!/bin/sh\ncd %s\necho \"$*\" >>arguments\n%s\n", folder, script);
    fclose(file);
    chmod(path, 0700);
    snprintf(usual, sizeof usual, "%s", getenv("PATH"));
    snprintf(text, sizeof text, "%s:%s", folder, usual);
    setenv("PATH", text, 1);
    ms = 0;
    start(&s, "cycles: {c: {period: 10 ms, modules: [mouth]}}\nremote: [speaking]\n");
    speech = nm_speech_new(s.player, &err);
    if (!speech) fail_msg("%s", err.text);
}

static void end(void)
{
    char command[128];
    nm_speech_free(speech);
    stop(&s);
    setenv("PATH", usual, 1);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void test_words_become_sound(void **state)
{
    (void)state;
    char text[512];
    begin("tee words | /usr/bin/espeak-ng \"$@\" -w sound.wav");
    say("--help is no flag, it is said", 0.5f, false);
    wait_until(mouth()->speaking->data, turn());
    wait_until(!mouth()->speaking->data, turn());
    assert_string_equal(noted("words", text, sizeof text), "--help is no flag, it is said");
    assert_string_equal(noted("arguments", text, sizeof text), "--stdin -a 100\n");
    assert_true(size_of("sound.wav") > 10000); /* espeak-ng has taken words and flags */
    say("quiet", 0.05f, false);
    wait_until(!strcmp(noted("words", text, sizeof text), "quiet"), turn());
    wait_until(!mouth()->speaking->data, turn());
    assert_non_null(strstr(noted("arguments", text, sizeof text), "--stdin -a 10\n"));
    end();
}

static void test_the_urgent_ends_what_is_said(void **state)
{
    (void)state;
    char text[512];
    begin("read word; echo $word >>words; if [ \"$word\" = long ]; then exec sleep 600; fi");
    say("long", 1, false);
    wait_until(strstr(noted("words", text, sizeof text), "long"), turn());
    say("waits", 1, false); /* nobody speaks at the same time */
    for (int i = 0; i < 20; i++) turn();
    assert_null(strstr(noted("words", text, sizeof text), "waits"));
    say("now", 1, true);
    wait_until(strstr(noted("words", text, sizeof text), "now"), turn());
    wait_until(!mouth()->speaking->data, turn());
    end();
}

static void test_a_program_that_fails_is_reported_once(void **state)
{
    (void)state;
    char text[512];
    begin("exit 3");
    for (int i = 0; i < 3; i++) {
        say("word", 1, false);
        wait_until(strlen(noted("arguments", text, sizeof text)) == 15u * (unsigned)(i + 1), turn());
        wait_until(!mouth()->speaking->data, turn());
    }
    struct nm_topic_stats stats;
    nm_player_topic_stats(s.player, nm_lineup_topic(s.lineup, "rosout"), &stats);
    assert_int_equal(stats.seq, 1);
    assert_string_equal(noted("arguments", text, sizeof text), "--stdin -a 200\n--stdin -a 200\n--stdin -a 200\n");
    end();
}

static void test_without_the_program_there_is_a_sentence(void **state)
{
    (void)state;
    struct nm_err err = {0};
    start(&s, "cycles: {c: {period: 10 ms, modules: [mouth]}}\nremote: [speaking]\n");
    snprintf(usual, sizeof usual, "%s", getenv("PATH"));
    setenv("PATH", "/nonexistent", 1);
    assert_null(nm_speech_new(s.player, &err));
    setenv("PATH", usual, 1);
    assert_non_null(strstr(err.text, "espeak-ng is not installed"));
    stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_become_sound),
        cmocka_unit_test(test_the_urgent_ends_what_is_said),
        cmocka_unit_test(test_a_program_that_fails_is_reported_once),
        cmocka_unit_test(test_without_the_program_there_is_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
