/* nutmeg animate: looks after the key-frame motions of a robot's folder. Checks them against limits, servo speeds and
 * the body itself, mirrors them, plays them on a simulated robot, and records them (animate_record.c). */
#include <stdlib.h>
#include <string.h>

#include "cmd/animate_record.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/setup.h"
#include "cmd/sim_animate.h"
#include "core/files.h"

#define ROBOT_FLAG(target) TEXT("robot", target, "NAME", "a folder in robots/ (default: kid70)", .letter = 'r')

const char *animate_folder(struct setup *setup, const char *robot)
{
    if (nm_folder_exists(robot)) return robot;
    return nm_path(&setup->arena, nm_path(&setup->arena, setup->root, "robots"), robot);
}

static const struct nm_body *body_of(struct setup *setup, const char *robot, struct nm_err *err)
{
    return nm_body_load(&setup->arena, animate_folder(setup, robot), err);
}

/* A file, or one of the robot's by name. */
static const struct nm_animation *animation_of(struct setup *setup, const struct nm_body *body, const char *name,
                                               struct nm_err *err)
{
    if (strchr(name, '/') || nm_file_exists(name)) {
        const struct nm_animation *a = nm_animation_read(&setup->arena, body, name, err);
        if (a && !a->n_frames) return nm_fail(err, "%s: a mirrored animation has no frames", name), NULL;
        return a;
    }
    const struct nm_animation *found = nm_find_animation(body, name);
    const char *names[NM_ANIMATIONS];
    for (uint32_t i = 0; i < body->n_animations; i++) names[i] = body->animations[i].name;
    if (!found)
        nm_fail(err, "%s has no animation called %s%s", body->name, name,
                nm_hint(name, names, body->n_animations).text);
    return found;
}

static int animate_check(int argc, char **argv)
{
    const char *robot = "kid70";
    const struct flag flags[] = {ROBOT_FLAG(&robot), {0}};
    const struct usage usage =
        USAGE("nutmeg animate check", "[NAME|FILE…]", flags,
              "Checks animations against the limits of the joints, the speed of the servos and collisions\n"
              "between parts of the body, and lists them. Without a NAME it checks all animations of the\n"
              "robot. Nothing moves.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct setup setup;
    struct nm_err err = {0};
    struct table table;
    setup_begin(&setup);
    const struct nm_body *body = body_of(&setup, robot, &err);
    table_begin(&table, (const char *const[]){"animation", ">frames", ">s", ">joints", ">faults", "about", NULL});
    uint32_t rows = body ? (n ? (uint32_t)n : body->n_animations) : 0;
    for (uint32_t i = 0; i < rows; i++) {
        const struct nm_animation *a = n ? animation_of(&setup, body, argv[i + 1], &err) : &body->animations[i];
        if (!a) continue;
        table_row(&table, "%s\t%u\t%.2f\t%d\t%u\t%s", a->name, a->n_frames, a->duration,
                  __builtin_popcountll(a->joints), nm_animation_check(body, a, &err), a->about);
    }
    if (table.n_rows) table_print(&table, stdout);
    if (err.n) complain(&err);
    setup_end(&setup);
    return err.n ? EXIT_USAGE : EXIT_OK;
}

static int animate_mirror(int argc, char **argv)
{
    const char *robot = "kid70";
    const struct flag flags[] = {ROBOT_FLAG(&robot), {0}};
    const struct usage usage =
        USAGE("nutmeg animate mirror", "NAME|FILE", flags,
              "Prints the file of an animation with left and right exchanged. For a mirrored animation that\n"
              "follows every later change, write a file with the single line `mirror: NAME` instead.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct setup setup;
    struct nm_err err = {0};
    setup_begin(&setup);
    const struct nm_body *body = body_of(&setup, robot, &err);
    const struct nm_animation *a = body ? animation_of(&setup, body, argv[1], &err) : NULL;
    if (a) {
        struct nm_animation image = {.name = a->name, .about = a->about, .file = a->file};
        nm_animation_mirror(&setup.arena, body, a, &image);
        fputs(nm_animation_text(&setup.arena, body, &image), stdout);
    } else {
        complain(&err);
    }
    setup_end(&setup);
    return a ? EXIT_OK : EXIT_USAGE;
}

static int play_one(struct setup *setup, const char *robot, const char *name, struct animate_run *run,
                    struct nm_err *err)
{
    struct animate_outcome o = {0};
    const struct nm_body *body = body_of(setup, robot, err);
    const struct nm_animation *a = body ? animation_of(setup, body, name, err) : NULL;
    if (!a || nm_animation_check(body, a, err)) return -1;
    if (!sim_animate) return nm_fail(err, "this program was built without the simulator");
    if (sim_animate(body, a, run, &o, err)) return -1;
    printf("%s: %.2f s, then tilt %.1f degrees, height %.3f m, %.2f m away; %s used %.0f %% of its power, %s was %.0f "
           "degrees behind\n",
           a->name, a->duration, o.tilt * 180 / M_PI, o.height, o.moved, body->joints[o.loaded].name, 100 * o.load,
           body->joints[o.late].name, o.behind * 180 / M_PI);
    return 0;
}

static int animate_play(int argc, char **argv)
{
    static const char *const postures[] = {"no", "front", "back", "left", "right"};
    const char *robot = "kid70", *lying = "no";
    int64_t seed = 1;
    struct animate_run run = {0};
    const struct flag flags[] = {
        ROBOT_FLAG(&robot),
        TEXT("lying", &lying, "HOW", "how the robot lies at the start: front, back, left or right"),
        WHOLE("seed", &seed, 0, 1e9, "N", "seed of the small differences between simulated bodies"),
        NUMBER("random", &run.random, 0, 1, "X",
               "size of these differences, 0 to 1; above 0 with play in the gears, and a robot that lies has its "
               "joints anyhow"),
        NUMBER("every", &run.every, 0, 60, "S", "prints tilt and height every S seconds"),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg animate play", "NAME|FILE", flags,
              "Checks an animation, plays it on a simulated robot whose parts can collide, and prints the\n"
              "state of the robot one second after the end.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct setup setup;
    struct nm_err err = {0};
    setup_begin(&setup);
    run.lying = nm_word_of(lying, postures, 5);
    run.seed = (uint64_t)seed;
    run.field = nm_path(&setup.arena, setup.root, "fields/kid.yaml");
    int fault = run.lying < 0 ? nm_fail(&err, "--lying %s: use front, back, left or right", lying)
                              : play_one(&setup, robot, argv[1], &run, &err);
    if (fault) complain(&err);
    setup_end(&setup);
    return fault ? EXIT_USAGE : EXIT_OK;
}

int cmd_animate(int argc, char **argv)
{
    const struct verb verbs[] = {
        {"check", "checks limits, speeds and self-collision without moving", animate_check},
        {"mirror", "exchanges left and right", animate_mirror},
        {"play", "plays one on a simulated robot", animate_play},
        {"record", "records one from a limp robot, frame by frame", animate_record},
        {0},
    };
    return verbs_run("nutmeg animate", "Key-frame animations of a robot.", verbs, argc, argv);
}
