/* nutmeg robot: what a robot's folder, or any URDF, makes of a robot: its tree, masses, limits and limbs, and in
 * sentences what it lacks to play. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "body/robot.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/setup.h"
#include "cmd/sim_animate.h"
#include "core/files.h"

/* Motions that end upright, and how the robot lies before them (enum nm_posture). */
static const struct motion {
    const char *name;
    int lying;
} motions[] = {{"get_up_front", 1}, {"get_up_back", 2}, {"kick_left", 0}, {"kick_right", 0}, {"sit", 0}, {"stand", 0}};

/* Whether they work on this body is not seen in their angles: each is played once, where there is a simulator. */
static void try_motions(struct setup *setup, const struct nm_body *body)
{
    static const double UPRIGHT = 0.6; /* rad */
    struct nm_err err = {0};
    if (!sim_animate || !body->n_servos || !body->n_animations) return;
    printf("motions, each played once in the simulator\n");
    for (size_t i = 0; i < sizeof motions / sizeof *motions; i++) {
        const struct nm_animation *a = NULL;
        struct animate_run run = {nm_path(&setup->arena, setup->root, "fields/kid.yaml"), motions[i].lying, 1, 0, 0};
        struct animate_outcome o;
        for (uint32_t k = 0; k < body->n_animations; k++)
            if (!strcmp(body->animations[k].name, motions[i].name)) a = &body->animations[k];
        printf("  %-14s", motions[i].name);
        if (!a)
            printf("there is none\n");
        else if (nm_animation_check(body, a, &err) || sim_animate(body, a, &run, &o, &err))
            printf("cannot be played: nutmeg animate check --robot %s\n", body->path);
        else if (o.tilt < UPRIGHT)
            printf("%s\n", run.lying ? "gets up" : "stays upright");
        else
            printf("%s: it ends tilted by %.0f degrees\n", run.lying ? "does not get up" : "falls",
                   o.tilt * 180 / M_PI);
    }
}

static int check_one(struct setup *setup, const char *name)
{
    struct nm_err err = {0};
    const char *path = setup_robot(setup, name, &err);
    const struct nm_body *body = path ? nm_body_load(&setup->arena, path, &err) : NULL;
    if (!body) {
        complain(&err);
        return EXIT_USAGE;
    }
    nm_body_describe(body, stdout);
    if (nm_body_refused(body, &err)) return EXIT_FAILED;
    try_motions(setup, body);
    return EXIT_OK;
}

static int robot_check(int argc, char **argv)
{
    const struct usage usage = USAGE(
        "nutmeg robot check", "FOLDER|FILE…", NULL,
        "Reads a robot's folder, a name in robots/, or a single URDF file. Prints the tree of links with\n"
        "masses, limits and servos, the limbs and sensors that were found, and what is missing to play. Get-ups and\n"
        "kicks of a folder are played once in the simulator, and what became of them is printed.\n"
        "The exit code is 2 if a file has a fault, which is reported with its line, and 1 if the body\n"
        "cannot walk.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    code = EXIT_OK;
    struct setup setup;
    setup_begin(&setup);
    for (int i = 1; i <= n; i++) {
        if (i > 1) fputc('\n', stdout);
        int one = check_one(&setup, argv[i]);
        if (one) code = one;
    }
    setup_end(&setup);
    return code;
}

static int robot_list(int argc, char **argv)
{
    const struct usage usage =
        USAGE("nutmeg robot list", "[PATTERN]", NULL,
              "Lists the robots in robots/ whose name contains PATTERN. PATTERN may use * and ?.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct setup setup;
    struct table table;
    uint32_t robots;
    setup_begin(&setup);
    const char *folder = nm_path(&setup.arena, setup.root, "robots");
    const char *const *names = nm_folders_in(&setup.arena, folder, &robots);
    table_begin(&table, (const char *const[]){"robot", ">joints", ">kg", ">m", ">missing", "about", NULL});
    code = EXIT_OK;
    for (uint32_t i = 0; i < robots; i++) {
        struct nm_err err = {0}, missing;
        if (!nm_matches(names[i], n ? argv[1] : NULL)) continue;
        const struct nm_body *body = nm_body_load(&setup.arena, nm_path(&setup.arena, folder, names[i]), &err);
        if (body)
            table_row(&table, "%s\t%u\t%.2f\t%.2f\t%u\t%s", names[i], body->n_joints, body->mass, body->height,
                      nm_body_missing(body, &missing), body->about);
        else
            table_row(&table, "%s\t\t\t\t\thas faults: nutmeg robot check %s", names[i], names[i]), code = EXIT_FAILED;
    }
    if (table.n_rows)
        table_print(&table, stdout);
    else
        fprintf(stderr, "no robot in %s has such a name\n", folder), code = EXIT_FAILED;
    setup_end(&setup);
    return code;
}

int cmd_robot(int argc, char **argv)
{
    const struct verb verbs[] = {
        {"check", "checks a robot's folder or URDF and shows what it lacks to play", robot_check},
        {"list", "lists the robots", robot_list},
        {0},
    };
    return verbs_run("nutmeg robot", "Robots: folders with a URDF, servos, cameras and parameters.", verbs, argc, argv);
}
