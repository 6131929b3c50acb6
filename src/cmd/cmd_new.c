/* nutmeg new: starts a module (a skeleton that compiles, with a test that passes) or a robot (a folder from a URDF). */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/get_ups.h"
#include "cmd/new_robot.h"
#include "cmd/setup.h"
#include "cmd/sim_animate.h"
#include "cmd/skeleton.h"
#include "cmd/stopping.h"
#include "core/files.h"

static int check_name(const struct setup *setup, const char *name, struct nm_err *err)
{
    const char *fault = skeleton_name_fault(name);
    if (fault) return nm_fail(err, "the name '%s' %s", name, fault);
    const struct nm_module *taken = nm_registry_find(&setup->registry, name);
    if (taken) return nm_fail(err, "there is already a module '%s': %s", name, taken->about);
    return 0;
}

/* The tree must be one with sources: an installed program has none. */
static int check_tree(struct setup *setup, const char *group, struct nm_err *err)
{
    if (skeleton_name_fault(group)) return nm_fail(err, "the group '%s' %s", group, skeleton_name_fault(group));
    if (!nm_folder_exists(nm_path(&setup->arena, setup->root, "src/modules")))
        return nm_fail(err, "%s has no src/modules; to make a plug-in outside the tree, add --dir DIR", setup->root);
    return 0;
}

static void tell_next(const char *folder, const struct skeleton_file *files, const struct skeleton *skeleton)
{
    for (const struct skeleton_file *f = files; f->path; f++) printf("%s/%s\n", folder, f->path);
    if (skeleton->group)
        printf("\nNext: scripts/build develop modules_test_%s nutmeg && scripts/tests develop -R modules/%s\n"
               "Then put it into a line-up: - %s\n",
               skeleton->name, skeleton->name, skeleton->name);
    else
        printf("\nNext: cd %s && make test check\n", folder);
}

static int new_module(int argc, char **argv)
{
    const char *dir = NULL, *group = "practice";
    const struct flag flags[] = {
        TEXT("group", &group, "GROUP", "in the tree: a folder in src/modules (default: practice)"),
        TEXT("dir", &dir, "DIR", "makes a plug-in in this folder, with a Makefile and a line-up", .letter = 'd'),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg new module", "NAME", flags,
              "Writes the skeleton of a module: it compiles and has a test that passes. Without --dir the files\n"
              "are src/modules/GROUP/NAME.c and tests/modules/test_NAME.c. With --dir they make a plug-in in\n"
              "its own folder. Existing files are never changed.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct nm_err err = {0};
    struct setup setup;
    setup_begin(&setup);
    if (!strcmp(setup.root, ".") && !getcwd(setup.root, sizeof setup.root)) setup.root[0] = '\0';
    struct skeleton skeleton = {argv[1], setup.root, setup.program, dir ? NULL : group};
    const char *folder = dir ? dir : setup.root;
    code = EXIT_USAGE;
    if (!check_name(&setup, argv[1], &err) && (dir || !check_tree(&setup, group, &err))) {
        const struct skeleton_file *files = skeleton_files(&setup.arena, &skeleton);
        code = skeleton_write(&setup.arena, folder, files, &err) ? EXIT_FAILED : EXIT_OK;
        if (code == EXIT_OK) tell_next(folder, files, &skeleton);
    }
    if (err.n) complain(&err);
    setup_end(&setup);
    return code;
}

/* ---- robots ---- */

/* All robots that are there, and first the one that the new robot was made like. */
static void find_donors(struct setup *setup, const struct nm_body *like, struct get_up_search *search)
{
    uint32_t n;
    struct nm_err err = {0};
    const char *folder = nm_path(&setup->arena, setup->root, "robots");
    const char *const *names = nm_folders_in(&setup->arena, folder, &n);
    search->donors[search->n_donors++] = like;
    for (uint32_t i = 0; i < n && search->n_donors < GET_UP_STARTS / 2; i++) {
        const struct nm_body *body = nm_body_load(&setup->arena, nm_path(&setup->arena, folder, names[i]), &err);
        if (body && strcmp(body->name, like->name)) search->donors[search->n_donors++] = body;
    }
}

static int write_get_up(struct setup *setup, const struct nm_body *body, const struct get_up *g, struct nm_err *err)
{
    const char *text = nm_take_format(
        &setup->arena,
        "# From %s's%s. It stood in %u of %u trials in the simulator, on bodies that differ a little.\n%s", g->from,
        g->tries ? ", changed by a search in the simulator" : "", g->wins, g->plays,
        nm_animation_text(&setup->arena, body, g->motion));
    return nm_file_replace(nm_take_format(&setup->arena, "%s/animations/%s.yaml", body->path, g->name), text,
                           strlen(text), err);
}

/* Get-ups depend on the body more than any other motion: they are tried, and searched where none works. */
static int find_get_ups(struct setup *setup, const struct new_robot *robot, const struct nm_body *body, double seconds,
                        struct nm_err *err)
{
    struct nm_err why = {0};
    struct get_up found[GET_UPS];
    struct get_up_search search = {.arena = &setup->arena,
                                   .field = nm_path(&setup->arena, setup->root, "fields/kid.yaml"),
                                   .jobs = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN)};
    double until = nm_clock_seconds() + seconds;
    if (!sim_animate || seconds <= 0 || nm_body_refused(body, &why)) return 0;
    find_donors(setup, robot->like, &search);
    printf("\nGet-ups, tried in the simulator on bodies that differ a little:\n");
    for (int i = 0; i < GET_UPS && !stopping(); i++) {
        found[i] = get_ups[i];
        search.seconds = fmax(until - nm_clock_seconds(), 0) / (GET_UPS - i);
        if (get_up_find(&search, body, i ? &found[0] : NULL, &found[i], err)) return -1;
        struct get_up g = found[i];
        bool sound = g.motion && !nm_animation_check(body, g.motion, &why);
        if (sound && write_get_up(setup, body, &g, err)) return -1;
        if (sound && g.tries)
            printf("%s: stood in %u of %u trials, %s %s's changed by a search of %u motions%s\n", g.name, g.wins,
                   g.plays, g.rolls ? "rolls onto its back, and then with" : "with", g.from, g.tries,
                   2 * g.wins < g.plays ? ": it does not get up yet" : "");
        else if (sound)
            printf("%s: stood in %u of %u trials, with %s's\n", g.name, g.wins, g.plays, g.from);
        else
            printf("%s: there is none whose poses this body can make\n", g.name);
        fflush(stdout);
    }
    return 0;
}

/* What the folder lacks now, and how to see it move. */
static void tell_robot(struct setup *setup, const struct new_robot *robot, const char *folder,
                       const struct skeleton_file *files, const struct nm_err *said, const struct nm_err *left,
                       double seconds, struct nm_err *err)
{
    struct nm_err missing = {0};
    const struct nm_body *body = nm_body_load(&setup->arena, folder, err);
    if (!body) return;
    for (const struct skeleton_file *f = files; f->path; f++) printf("%s/%s\n", folder, f->path);
    if (said->n)
        printf("\n"
               "Found and assumed:\n"
               "%s\n",
               said->text);
    if (left->n)
        printf("\n"
               "The new robot cannot use these animations of %s:\n"
               "%s\n",
               robot->like->name, left->text);
    if (nm_body_missing(body, &missing))
        printf("\n"
               "Missing before it can play:\n"
               "%s\n",
               missing.text);
    if (find_get_ups(setup, robot, body, seconds, err)) return;
    printf("\n"
           "Servo types, servo ids and the camera lens are guesses: replace them with the real ones.\n"
           "Kicks and dives were made for another body: play them (nutmeg sim motion/kick), and tune them.\n"
           "Next:  nutmeg robot check %s\n"
           "       nutmeg sim motion/forward --robot %s --seeds 1-3\n",
           folder, folder);
}

static int new_robot(int argc, char **argv)
{
    const char *dir = NULL, *like = "kid70";
    double search = 20;
    const struct flag flags[] = {
        TEXT("dir", &dir, "FOLDER", "the new folder (default: robots/NAME)", .letter = 'd'),
        TEXT("like", &like, "ROBOT", "copies servos, lens and animations from this robot (default: kid70)",
             .letter = 'l'),
        NUMBER("search", &search, 0, 1e5, "S",
               "time for get-ups that do not work as they were carried over (default: 20 s)"),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg new robot", "NAME URDF", flags,
              "Makes a robot's folder from a URDF file. Limbs, feet and sensors come from the URDF. Servos, lens\n"
              "and animations come from another robot and are fitted to the axes, zeros and limits of the new\n"
              "one. The robot can move in the simulator at once. Comments in the files say what was guessed.\n"
              "Existing files are never changed.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct nm_err err = {0};
    struct setup setup;
    setup_begin(&setup);
    struct new_robot robot = {.name = argv[1], .registry = &setup.registry};
    const char *fault = nm_name_fault(robot.name), *model = setup_robot(&setup, like, &err);
    const char *folder = dir ? dir : nm_take_format(&setup.arena, "%s/robots/%s", setup.root, robot.name);
    if (fault) nm_fail(&err, "the name '%s' %s", robot.name, fault);
    if (!err.n) new_robot_read(&setup.arena, &robot, argv[2], &err);
    if (!err.n) robot.like = nm_body_load(&setup.arena, model, &err);
    if (!err.n && !robot.like->n_servo_types) nm_fail(&err, "%s has no servos to copy", model);
    if (!err.n) {
        struct nm_err left = {0}, said = *robot.body->notes;
        const struct skeleton_file *files = new_robot_files(&setup.arena, &robot, &said, &left);
        if (!skeleton_write(&setup.arena, folder, files, &err))
            tell_robot(&setup, &robot, folder, files, &said, &left, search, &err);
    }
    code = err.n ? EXIT_USAGE : EXIT_OK;
    if (err.n) complain(&err);
    setup_end(&setup);
    return code;
}

int cmd_new(int argc, char **argv)
{
    const struct verb verbs[] = {
        {"module", "writes the skeleton of a module, in the tree or as a plug-in", new_module},
        {"robot", "makes a robot's folder from a URDF file", new_robot},
        {0},
    };
    return verbs_run("nutmeg new", "Writes the first files of a module or a robot.", verbs, argc, argv);
}
