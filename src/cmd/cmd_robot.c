/* nutmeg robot: what a robot's folder, or any URDF, makes of a robot: its tree, masses, limits and limbs, and in
 * sentences what it lacks to play. */
#include <stdlib.h>
#include <string.h>

#include "body/robot.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/setup.h"
#include "core/files.h"

static int check_one(struct setup *setup, const char *name)
{
    struct nm_err err = {0};
    const char *path = setup_robot(setup, name, &err);
    const struct nm_body *body = path ? nm_body_load(&setup->arena, path, &err) : NULL;
    if (!body) {
        complain(&err);
        return EXIT_USAGE;
    }
    size_t length = nm_body_describe(body, NULL, 0);
    char *text = nm_take(&setup->arena, length + 1);
    nm_body_describe(body, text, length + 1);
    fputs(text, stdout);
    return nm_body_refused(body, &err) ? EXIT_FAILED : EXIT_OK;
}

static int robot_check(int argc, char **argv)
{
    const struct usage usage =
        USAGE("nutmeg robot check", "FOLDER|FILE…", NULL,
              "Reads a robot's folder, a name in robots/, or a single URDF file. Prints the tree of links with\n"
              "masses, limits and servos, the limbs and sensors that were found, and what is missing to play.\n"
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
