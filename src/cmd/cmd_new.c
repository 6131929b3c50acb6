/* nutmeg new module: starts a module, in the tree or outside of it: a skeleton that compiles, with a test that passes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/setup.h"
#include "cmd/skeleton.h"
#include "core/files.h"

static int check_name(const struct setup *setup, const char *name, struct nm_err *err)
{
    const char *fault = skeleton_name_fault(name);
    if (fault) return nm_fail(err, "the name '%s' %s", name, fault);
    const struct nm_module *taken = nm_registry_find(&setup->registry, name);
    if (taken) return nm_fail(err, "there is a module '%s' already: %s", name, taken->about);
    return 0;
}

/* The tree must be one with sources: an installed program has none. */
static int check_tree(struct setup *setup, const char *group, struct nm_err *err)
{
    if (skeleton_name_fault(group)) return nm_fail(err, "the group '%s' %s", group, skeleton_name_fault(group));
    if (!nm_folder_exists(nm_path(&setup->arena, setup->root, "src/modules")))
        return nm_fail(err, "%s has no src/modules; outside the tree, say where with --dir DIR", setup->root);
    return 0;
}

static void tell_next(const struct setup *setup, const char *folder, const struct skeleton_file *files,
                      const struct skeleton *skeleton)
{
    for (const struct skeleton_file *f = files; f->path; f++) printf("%s/%s\n", folder, f->path);
    if (skeleton->group)
        printf("\nNext: make, then %s/tests/modules_test_%s. Put it into a line-up: - %s\n", setup->program,
               skeleton->name, skeleton->name);
    else
        printf("\nNext: cd %s && make test check\n", folder);
}

static int new_module(int argc, char **argv)
{
    const char *dir = NULL, *group = "practice";
    const struct flag flags[] = {
        TEXT("group", &group, "GROUP", "in the tree: the folder in src/modules; practice unless given"),
        TEXT("dir", &dir, "DIR", "outside the tree: in this folder, with a Makefile and a line-up", .letter = 'd'),
        {0},
    };
    const struct usage usage = {
        "nutmeg new module",
        "NAME",
        "Starts a module: a skeleton that compiles, with a test that passes. In the tree it becomes\n"
        "src/modules/GROUP/NAME.c and tests/modules/test_NAME.c; with --dir it becomes a plug-in in a\n"
        "folder of its own. Files that exist are never touched.",
        flags,
        1,
        1};
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
        if (code == EXIT_OK) tell_next(&setup, folder, files, &skeleton);
    }
    if (err.n) complain(&err);
    setup_end(&setup);
    return code;
}

int cmd_new(int argc, char **argv)
{
    const struct verb verbs[] = {
        {"module", "starts a module, in the tree or outside of it", new_module},
        {0},
    };
    return verbs_run("nutmeg new", "Starts something new.", verbs, argc, argv);
}
