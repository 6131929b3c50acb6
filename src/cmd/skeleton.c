#include "cmd/skeleton.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/files.h"
#include "core/registry.h"

static const char source[] =
    "/* @NAME@: what it does, in one to five sentences, and where its idea comes from. Now it smooths a number. */\n"
    "#include \"core/nm.h\"\n"
    "#include \"std_msgs/Float64.h\"\n"
    "\n"
    "struct @NAME@ {\n"
    "    struct nm *nm; /* time, random numbers, log, show */\n"
    "    /* in */\n"
    "    const Float64 *raw;\n"
    "    /* out */\n"
    "    Float64 *smooth;\n"
    "    /* params */\n"
    "    float gain; /* 1; share of the new value */\n"
    "    /* state */\n"
    "    double value;\n"
    "};\n"
    "\n"
    "static void step(struct @NAME@ *m)\n"
    "{\n"
    "    if (!nm_fresh(m->nm, m->raw)) return;\n"
    "    m->value += (double)m->gain * (m->raw->data - m->value);\n"
    "    nm_show(m->nm, \"value\", m->value);\n"
    "    m->smooth->data = m->value;\n"
    "    nm_put(m->nm, m->smooth);\n"
    "}\n"
    "\n"
    "#define SELF struct @NAME@\n"
    "static const struct nm_port ports[] = {\n"
    "    NM_IN(raw, Float64, \"@NAME@/raw\"),\n"
    "    NM_OUT(smooth, Float64, \"@NAME@/smooth\"),\n"
    "    {0},\n"
    "};\n"
    "static const struct nm_param params[] = {\n"
    "    NM_PARAM(gain, 0.25, 0, 1, \"1\", \"share of the new value: higher follows faster, lower is smoother\"),\n"
    "    {0},\n"
    "};\n"
    "NM_MODULE(@NAME@, \"Smooths a number.\", NM_PORTS(ports), NM_PARAMS(params), .step = NM_CALL(step))\n";

static const char test[] = "/* What @NAME@ promises. */\n"
                           "#include <setjmp.h>\n"
                           "#include <stdarg.h>\n"
                           "#include <stddef.h>\n"
                           "#include <stdint.h>\n"
                           "#include <cmocka.h>\n"
                           "\n"
                           "#include \"core/harness.h\"\n"
                           "#include \"std_msgs/Float64.h\"\n"
                           "\n"
                           "extern const struct nm_module @NAME@_module;\n"
                           "\n"
                           "static void send(struct nm_harness *h, double number)\n"
                           "{\n"
                           "    Float64 *raw = nm_harness_set(h, \"@NAME@/raw\");\n"
                           "    raw->data = number;\n"
                           "}\n"
                           "\n"
                           "static void test_takes_its_share_of_a_new_number(void **state)\n"
                           "{\n"
                           "    (void)state;\n"
                           "    struct nm_harness *h = nm_harness_new(&@NAME@_module, \"gain=0.5\");\n"
                           "    send(h, 8);\n"
                           "    nm_harness_step(h, 0.01);\n"
                           "    const Float64 *smooth = nm_harness_get(h, \"@NAME@/smooth\");\n"
                           "    assert_non_null(smooth);\n"
                           "    assert_true(smooth->data == 4);\n"
                           "    nm_harness_free(h);\n"
                           "}\n"
                           "\n"
                           "static void test_publishes_nothing_without_a_new_number(void **state)\n"
                           "{\n"
                           "    (void)state;\n"
                           "    struct nm_harness *h = nm_harness_new(&@NAME@_module, NULL);\n"
                           "    send(h, 1);\n"
                           "    nm_harness_step(h, 0.01);\n"
                           "    nm_harness_step(h, 0.01);\n"
                           "    assert_false(nm_harness_fresh(h, \"@NAME@/smooth\"));\n"
                           "    nm_harness_free(h);\n"
                           "}\n"
                           "\n"
                           "int main(void)\n"
                           "{\n"
                           "    const struct CMUnitTest tests[] = {\n"
                           "        cmocka_unit_test(test_takes_its_share_of_a_new_number),\n"
                           "        cmocka_unit_test(test_publishes_nothing_without_a_new_number),\n"
                           "    };\n"
                           "    return cmocka_run_group_tests(tests, NULL, NULL);\n"
                           "}\n";

static const char makefile[] =
    "# @NAME@, a module outside the tree. make: the plug-in; make test; make check: the line-up; make run.\n"
    "NUTMEG ?= @NUTMEG@\n"
    "BUILD ?= @BUILD@\n"
    "CFLAGS += -std=gnu17 -O2 -g -Wall -Wextra -D_GNU_SOURCE -fPIC -fvisibility=hidden -fno-strict-aliasing "
    "-ffp-contract=off\n"
    "CFLAGS += -I$(NUTMEG)/src -I$(BUILD)/gen\n"
    "LIBS = $(addprefix $(BUILD)/libnm_,core.a guard.a messages.a codec.a base.a)\n"
    "\n"
    "@NAME@.so: @NAME@.c\n"
    "\t$(CC) $(CFLAGS) -DNM_PLUGIN -shared -o $@ @NAME@.c\n"
    "\t$(NUTMEG)/scripts/stateless $@\n"
    "\n"
    "test_@NAME@: test_@NAME@.c @NAME@.c\n"
    "\t$(CC) $(CFLAGS) -o $@ test_@NAME@.c @NAME@.c $(LIBS) -lcmocka -lyaml -lm -lpthread -ldl\n"
    "\n"
    "test: test_@NAME@\n"
    "\t./test_@NAME@\n"
    "\n"
    "check: @NAME@.so\n"
    "\t$(BUILD)/nutmeg lineup check @NAME@.yaml\n"
    "\n"
    "run: @NAME@.so\n"
    "\t$(BUILD)/nutmeg run @NAME@.yaml\n"
    "\n"
    "clean:\n"
    "\trm -f @NAME@.so test_@NAME@\n"
    "\n"
    ".DELETE_ON_ERROR:\n"
    ".PHONY: test check run clean\n";

static const char lineup[] =
    "# A line-up that plays @NAME@. Its input comes from outside until a module here makes it.\n"
    "plugins: [@NAME@.so]\n"
    "cycles:\n"
    "  mind:\n"
    "    period: 20 ms\n"
    "    modules:\n"
    "      - @NAME@\n"
    "remote: [@NAME@/raw]\n";

const char *skeleton_name_fault(const char *name)
{
    static const char *const keywords[] = {
        "auto",   "break",  "case",     "char",   "const",    "continue", "default", "do",       "double",
        "else",   "enum",   "extern",   "float",  "for",      "goto",     "if",      "inline",   "int",
        "long",   "main",   "register", "return", "restrict", "short",    "signed",  "sizeof",   "static",
        "struct", "switch", "typedef",  "typeof", "union",    "unsigned", "void",    "volatile", "while",
    };
    const char *fault = nm_name_fault(name);
    if (fault) return fault;
    if (name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")]) return "should be in lower case: ball_filter";
    if (*name == '_') return "begins with an underscore";
    if (strstr(name, "__")) return "has two underscores in a row, which topics may not have";
    for (uint32_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (!strcmp(name, keywords[i])) return "is a word of the language C";
    return NULL;
}

/* The text with every @WORD@ replaced. */
static const char *fill(struct nm_arena *arena, const char *text, const struct skeleton *skeleton)
{
    const struct {
        const char *word, *by;
    } words[] = {{"@NAME@", skeleton->name}, {"@NUTMEG@", skeleton->nutmeg}, {"@BUILD@", skeleton->build}};
    const char *filled = "";
    while (*text) {
        size_t n = strcspn(text, "@");
        filled = nm_take_format(arena, "%s%.*s", filled, (int)n, text);
        text += n;
        if (!*text) break;
        bool known = false;
        for (uint32_t i = 0; i < sizeof words / sizeof *words && !known; i++) {
            known = !strncmp(text, words[i].word, strlen(words[i].word));
            if (!known) continue;
            filled = nm_take_format(arena, "%s%s", filled, words[i].by);
            text += strlen(words[i].word);
        }
        if (!known) {
            filled = nm_take_format(arena, "%s@", filled);
            text++;
        }
    }
    return filled;
}

const struct skeleton_file *skeleton_files(struct nm_arena *arena, const struct skeleton *skeleton)
{
    const char *name = skeleton->name;
    struct skeleton_file *files = nm_take_n(arena, struct skeleton_file, 5);
    if (skeleton->group) {
        files[0].path = nm_take_format(arena, "src/modules/%s/%s.c", skeleton->group, name);
        files[1].path = nm_take_format(arena, "tests/modules/test_%s.c", name);
    } else {
        files[0].path = nm_take_format(arena, "%s.c", name);
        files[1].path = nm_take_format(arena, "test_%s.c", name);
        files[2] = (struct skeleton_file){"Makefile", fill(arena, makefile, skeleton)};
        files[3] = (struct skeleton_file){nm_take_format(arena, "%s.yaml", name), fill(arena, lineup, skeleton)};
    }
    files[0].text = fill(arena, source, skeleton);
    files[1].text = fill(arena, test, skeleton);
    return files;
}

int skeleton_write(struct nm_arena *arena, const char *folder, const struct skeleton_file *files, struct nm_err *err)
{
    int bad = 0;
    for (const struct skeleton_file *f = files; f->path; f++) {
        const char *path = nm_path(arena, folder, f->path);
        if (nm_file_exists(path)) bad = nm_fail(err, "%s: exists already and is not changed", path);
    }
    for (const struct skeleton_file *f = files; f->path && !bad; f++) {
        const char *path = nm_path(arena, folder, f->path);
        if (nm_make_folders(path, err)) return -1;
        FILE *file = fopen(path, "wx");
        if (!file) return nm_fail(err, "%s: %s", path, strerror(errno));
        bool whole = fputs(f->text, file) >= 0;
        if (fclose(file) || !whole) bad = nm_fail(err, "%s cannot be written: %s", path, strerror(errno));
    }
    return bad;
}
