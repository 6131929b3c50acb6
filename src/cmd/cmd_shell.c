/* nutmeg shell: a running line-up as folders and files. Topics, parameters, services and cycles have paths; a line such
 * as `cat topics/ball` or `set params/walk/lift 0.04` works on them. The idea is RoboCup's old one of a command shell
 * onto a running robot. Everything goes over the control socket; commands that exist outside of the shell are started
 * as they are, in a process of their own, so that Ctrl-C ends the command and not the shell. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "cmd/asking.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/terminal.h"
#include "codec/text.h"

enum { WORDS = 32, PATH_LENGTH = 512 };

/* ---- the tree: one row for each leaf, sorted as the line-up lists them ---- */

struct leaf {
    const char *path; /* "params/walk/lift"            */
    const char *text; /* what `ls` shows behind it     */
    const struct nm_yaml *about;
};

struct shell {
    const char *robot; /* NULL: the only one */
    char name[128];
    char folder[PATH_LENGTH]; /* "" or "params/walk" */
    struct asking asking;     /* of the present line */
    struct leaf *leaves;
    uint32_t n, room;
};

static void add(struct shell *s, const struct nm_yaml *about, const char *path, const char *text)
{
    s->leaves = nm_more(s->leaves, s->n, &s->room, sizeof *s->leaves);
    s->leaves[s->n++] = (struct leaf){path, text, about};
}

static void add_topic(struct shell *s, const struct nm_yaml *topic)
{
    struct nm_arena *arena = &s->asking.arena;
    double rate = nm_reply_number(topic, "rate");
    add(s, topic, nm_take_format(arena, "topics/%s", nm_reply_text(topic, "name")),
        nm_take_format(arena, "%s\t%.1f Hz", nm_reply_text(topic, "type"), isfinite(rate) ? rate : 0));
}

static void add_param(struct shell *s, const struct nm_yaml *param)
{
    struct nm_arena *arena = &s->asking.arena;
    add(s, param,
        nm_take_format(arena, "params/%s/%s", nm_reply_text(param, "instance"), nm_reply_text(param, "param")),
        nm_take_format(arena, "%s\t%s", nm_reply_text(param, "value"), nm_reply_text(param, "unit")));
}

static void add_service(struct shell *s, const struct nm_yaml *service)
{
    add(s, service, nm_take_format(&s->asking.arena, "services/%s", nm_reply_text(service, "name")),
        nm_reply_text(service, "type"));
}

static void add_cycle(struct shell *s, const struct nm_yaml *cycle)
{
    struct nm_arena *arena = &s->asking.arena;
    nm_yaml_each(module, nm_yaml_get(cycle, "modules"))
        add(s, module,
            nm_take_format(arena, "cycles/%s/%s", nm_reply_text(cycle, "name"), nm_reply_text(module, "instance")),
            nm_take_format(arena, "%s\t%.1f us", nm_reply_text(module, "module"),
                           nm_reply_number(nm_yaml_get(module, "busy"), "mean") / 1000));
}

static int look(struct shell *s)
{
    static const struct {
        enum nm_control_op op;
        const char *list;
        void (*add)(struct shell *, const struct nm_yaml *);
    } kinds[] = {{NM_CONTROL_TOPICS, "topics", add_topic},
                 {NM_CONTROL_PARAMS, "params", add_param},
                 {NM_CONTROL_INFO, "services", add_service},
                 {NM_CONTROL_TASKS, "cycles", add_cycle}};
    s->n = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct nm_yaml *answer = ask(&s->asking, &(struct nm_request){.op = kinds[i].op});
        if (!answer) return s->asking.code;
        nm_yaml_each(item, nm_yaml_get(answer, kinds[i].list)) kinds[i].add(s, item);
    }
    return EXIT_OK;
}

/* ---- paths ---- */

/* The whole path for one that begins in the present folder. */
static const char *resolve(const struct shell *s, const char *path, char to[PATH_LENGTH])
{
    char copy[PATH_LENGTH], *rest = copy;
    snprintf(to, PATH_LENGTH, "%s", *path == '/' ? "" : s->folder);
    snprintf(copy, sizeof copy, "%s", path);
    for (char *part; (part = strsep(&rest, "/"));) {
        char *end = strrchr(to, '/');
        size_t n = strlen(to);
        if (!strcmp(part, ".."))
            to[end ? end - to : 0] = '\0';
        else if (*part && strcmp(part, "."))
            snprintf(to + n, PATH_LENGTH - n, "%s%s", n ? "/" : "", part);
    }
    return to;
}

/* What of a leaf's path is below a folder; NULL: it is elsewhere. "" is the leaf itself. */
static const char *below(const char *folder, const char *leaf)
{
    size_t n = strlen(folder);
    if (!n) return leaf;
    if (strncmp(leaf, folder, n) || (leaf[n] && leaf[n] != '/')) return NULL;
    return leaf + n + (leaf[n] == '/');
}

/* The leaf whose path is the longest beginning of this one, and what follows it: the way into a message. */
static const struct leaf *find(const struct shell *s, const char *path, const char **rest)
{
    const struct leaf *best = NULL;
    for (uint32_t i = 0; i < s->n; i++) {
        const char *behind = below(s->leaves[i].path, path);
        if (behind && (!best || strlen(s->leaves[i].path) > strlen(best->path))) {
            best = &s->leaves[i];
            *rest = behind;
        }
    }
    return best;
}

static bool is_folder(const struct shell *s, const char *path)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (below(path, s->leaves[i].path)) return true;
    return false;
}

static bool is_topic(const struct leaf *leaf) { return !strncmp(leaf->path, "topics/", 7); }

static int nowhere(const char *path)
{
    fprintf(stderr, "there is no /%s\n", path);
    return EXIT_USAGE;
}

/* ---- messages ---- */

static const struct nm_yaml *child(const struct nm_yaml *node, const char *name)
{
    const struct nm_yaml *found = nm_yaml_get(node, name);
    if (found || node->kind != NM_YAML_LIST) return found;
    long k = strtol(name, NULL, 10);
    for (found = node->first; found && k > 0; k--) found = found->next;
    return found;
}

static const struct nm_yaml *walk(const struct nm_yaml *node, const char *path)
{
    char copy[PATH_LENGTH], *rest = copy;
    snprintf(copy, sizeof copy, "%s", path);
    for (char *part; node && (part = strsep(&rest, "/"));)
        if (*part) node = child(node, part);
    return node;
}

static void print_node(const struct nm_yaml *node, int indent)
{
    if (node->kind == NM_YAML_SCALAR) printf("%s\n", node->text);
    nm_yaml_each(item, node->kind == NM_YAML_SCALAR ? NULL : node)
    {
        printf("%*s%s%s%c", indent, "", item->key ? item->key : "-", item->key ? ":" : "",
               item->kind == NM_YAML_SCALAR ? ' ' : '\n');
        print_node(item, indent + 2);
    }
}

/* Listens to a topic on a connection of its own: `count` messages, 0: until it ends. `show` is called with each. */
static int listen_to(struct shell *s, const char *topic, int64_t count,
                     void (*show)(void *user, const struct nm_yaml *message, int64_t time), void *user)
{
    struct asking asking;
    struct nm_err err = {0};
    int code = asking_begin(&asking, s->robot);
    if (code) return code;
    if (ask(&asking, &(struct nm_request){.op = NM_CONTROL_ECHO, .topic = topic}))
        for (int64_t seen = 0; (!count || seen < count) && !err.n;) {
            struct nm_arena arena = {0};
            const struct nm_yaml *message = nm_link_next(asking.link, &arena, 2000, &err);
            const char *text = message ? nm_reply_text(message, "text") : "";
            const struct nm_yaml *tree =
                message ? nm_yaml_parse(&s->asking.arena, topic, text, strlen(text), &err) : NULL;
            if (tree) show(user, tree, nm_reply_whole(message, "time"));
            nm_arena_free(&arena);
            seen += message != NULL;
            if (!message && count) nm_fail(&err, "nothing came on %s within 2 s", topic);
        }
    complain(&err);
    code = asking_end(&asking);
    return err.n ? EXIT_FAILED : code;
}

struct part {
    const char *path; /* into the message                 */
    bool stamped;     /* the time stands in front         */
    const struct nm_yaml *kept;
    bool missing;
};

static void show_part(void *user, const struct nm_yaml *message, int64_t time)
{
    struct part *part = user;
    const struct nm_yaml *node = walk(message, part->path);
    part->missing = !node;
    if (!node) return;
    if (part->stamped) printf("%.3f%s", (double)time * 1e-9, node->kind == NM_YAML_SCALAR ? "  " : "\n");
    print_node(node, 0);
    fflush(stdout);
}

static void keep_part(void *user, const struct nm_yaml *message, int64_t time)
{
    struct part *part = user;
    (void)time;
    part->kept = walk(message, part->path);
    part->missing = !part->kept;
}

static int show_topic(struct shell *s, const struct leaf *leaf, struct part *part, int64_t count,
                      void (*show)(void *, const struct nm_yaml *, int64_t))
{
    int code = listen_to(s, leaf->path + 7, count, show, part);
    if (code || !part->missing) return code;
    fprintf(stderr, "%s has no member %s\n", leaf->path, part->path);
    return EXIT_USAGE;
}

/* ---- commands of the shell itself ---- */

struct words {
    int n;
    char *at[WORDS];
};

static int do_ls(struct shell *s, const struct words *w)
{
    char path[PATH_LENGTH], last[PATH_LENGTH] = "";
    const char *rest = "";
    struct table table;
    resolve(s, w->n > 1 ? w->at[1] : ".", path);
    const struct leaf *leaf = find(s, path, &rest);
    if (leaf && is_topic(leaf)) {
        struct part part = {.path = rest};
        int code = show_topic(s, leaf, &part, 1, keep_part);
        nm_yaml_each(item, code ? NULL : part.kept) printf("%s%s\n", item->key ? item->key : "-", item->n ? "/" : "");
        return code;
    }
    if (!is_folder(s, path)) return nowhere(path);
    table_begin(&table, NULL);
    for (uint32_t i = 0; i < s->n; i++) {
        const char *name = below(path, s->leaves[i].path);
        if (!name) continue;
        int n = (int)strcspn(name, "/");
        if (!name[n]) table_row(&table, "%s\t%s", name, s->leaves[i].text);
        if (name[n] && (strncmp(last, name, (size_t)n) || last[n])) table_row(&table, "%.*s/\t", n, name);
        snprintf(last, sizeof last, "%.*s", name[n] ? n : 0, name);
    }
    table_print(&table, stdout);
    return EXIT_OK;
}

static int do_cd(struct shell *s, const struct words *w)
{
    char path[PATH_LENGTH];
    resolve(s, w->n > 1 ? w->at[1] : "/", path);
    if (!is_folder(s, path)) return nowhere(path);
    snprintf(s->folder, sizeof s->folder, "%s", path);
    return EXIT_OK;
}

static int do_pwd(struct shell *s, const struct words *w)
{
    (void)w;
    printf("/%s\n", s->folder);
    return EXIT_OK;
}

static int do_cat(struct shell *s, const struct words *w)
{
    char path[PATH_LENGTH];
    const char *rest;
    const struct leaf *leaf = find(s, resolve(s, w->at[1], path), &rest);
    if (!leaf) return nowhere(path);
    if (is_topic(leaf)) return show_topic(s, leaf, &(struct part){.path = rest}, 1, show_part);
    if (!strncmp(leaf->path, "services/", 9)) {
        char name[160];
        snprintf(name, sizeof name, "%s_Request", leaf->text);
        const struct nm_type *type = nm_type_find(&nm_all_types, name);
        if (type) printf("%s", type->schema);
        return EXIT_OK;
    }
    print_node(leaf->about, 0);
    return EXIT_OK;
}

static int do_watch(struct shell *s, const struct words *w)
{
    char path[PATH_LENGTH];
    const char *rest;
    const struct leaf *leaf = find(s, resolve(s, w->at[1], path), &rest);
    if (!leaf || !is_topic(leaf)) return nowhere(path);
    int64_t count = w->n > 2 ? strtoll(w->at[2], NULL, 10) : 0;
    return show_topic(s, leaf, &(struct part){.path = rest, .stamped = true}, count, show_part);
}

static int do_call(struct shell *s, const struct words *w)
{
    char path[PATH_LENGTH], message[LINE_MOST] = "";
    const char *rest, *text;
    struct nm_err err = {0};
    const struct leaf *leaf = find(s, resolve(s, w->at[1], path), &rest);
    if (!leaf || strncmp(leaf->path, "services/", 9)) return nowhere(path);
    for (int i = 2; i < w->n; i++) { /* the request may have spaces */
        size_t n = strlen(message);
        snprintf(message + n, sizeof message - n, "%s%s", n ? " " : "", w->at[i]);
    }
    struct nm_request request = {.op = NM_CONTROL_CALL, .topic = leaf->path + 9, .message = *message ? message : NULL};
    const struct nm_yaml *answer = ask(&s->asking, &request);
    if (!answer) return s->asking.code;
    if (!nm_yaml_get(answer, "text")) answer = nm_link_next(s->asking.link, &s->asking.arena, 10000, &err);
    if (!answer) {
        complain(&err);
        fprintf(stderr, "the service did not answer within 10 s\n");
        return EXIT_FAILED;
    }
    text = nm_reply_text(answer, "text");
    fputs(text, stdout);
    return strstr(text, "success: false") ? EXIT_FAILED : EXIT_OK;
}

/* ---- commands that exist outside of the shell ---- */

/* "params/walk/lift" as "walk.lift", "topics/ball/x/0" as "ball.x[0]". */
static const char *dotted(struct shell *s, const char *word)
{
    char path[PATH_LENGTH], to[PATH_LENGTH];
    const char *rest;
    const struct leaf *leaf = find(s, resolve(s, word, path), &rest);
    if (!leaf) return word;
    size_t n = (size_t)snprintf(to, sizeof to, "%s", strchr(leaf->path, '/') + 1);
    if (!is_topic(leaf))
        for (char *at = to; (at = strchr(at, '/'));) *at = '.';
    char *parts = path + strlen(leaf->path);
    for (char *part; n < sizeof to && (part = strsep(&parts, "/"));)
        if (*part) n += (size_t)snprintf(to + n, sizeof to - n, *part >= '0' && *part <= '9' ? "[%s]" : ".%s", part);
    return nm_take_text(&s->asking.arena, to);
}

static int outside(struct shell *s, int (*command)(int, char **), const char *const *words)
{
    char *argv[WORDS + 8];
    int argc = 0;
    for (; words[argc]; argc++) argv[argc] = (char *)(uintptr_t)words[argc];
    argv[argc++] = (char *)(uintptr_t) "--to";
    argv[argc++] = s->name;
    argv[argc] = NULL;
    return command(argc, argv);
}

static int do_set(struct shell *s, const struct words *w)
{
    char path[PATH_LENGTH];
    const char *rest, *name = dotted(s, w->at[1]);
    if (!find(s, resolve(s, w->at[1], path), &rest)) return nowhere(path);
    return outside(s, cmd_param,
                   (const char *[]){"param", "set", nm_take_format(&s->asking.arena, "%s=%s", name, w->at[2]), NULL});
}

static int do_help(struct shell *s, const struct words *w);

static const struct row {
    const char *word, *arguments, *about;
    int least;
    int (*run)(struct shell *, const struct words *);
    bool apart;                   /* in a process of its own, which Ctrl-C may end */
    int (*outside)(int, char **); /* a command that exists outside, always apart   */
    const char *begins[4];        /* how the line of the command outside begins; what the shell was given follows */
} commands[] = {
    {"ls", "[PATH]", "lists a folder, or the members of a topic's newest message", .run = do_ls},
    {"cd", "[PATH]", "goes to a folder", .run = do_cd},
    {"pwd", "", "says in which folder the shell is", .run = do_pwd},
    {"cat", "PATH", "prints a message or a part of it, a parameter, a service's request, a module's times", 1,
     .run = do_cat},
    {"watch", "PATH [N]", "prints a topic or a part of it as it comes, N times", 1, .run = do_watch, .apart = true},
    {"plot", "PATH…", "plots numbers in messages over time", 1, .outside = cmd_plot, .begins = {"plot"}},
    {"set", "PATH VALUE", "sets a parameter", 2, .run = do_set, .apart = true},
    {"diff", "[INSTANCE]", "lists parameters that differ from the defaults", .outside = cmd_param,
     .begins = {"param", "diff"}},
    {"save", "LAYER", "writes what was set into the saved file of a layer", 1, .outside = cmd_param,
     .begins = {"param", "save", "--layer"}},
    {"reset", "[PATH]", "undoes what was set", .outside = cmd_param, .begins = {"param", "reset"}},
    {"call", "PATH [REQUEST]", "calls a service; the request is YAML such as {data: true}", 1, .run = do_call},
    {"tasks", "", "shows rates, deadlines and times of cycles and modules", .outside = cmd_tasks, .begins = {"tasks"}},
    {"why", "PATH", "says who makes a topic, how old it is, and why it is stale", 1, .outside = cmd_why,
     .begins = {"why"}},
    {"help", "", "this list", .run = do_help},
    {"quit", "", "ends the shell", .run = NULL},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static int do_help(struct shell *s, const struct words *w)
{
    struct table table;
    (void)s;
    (void)w;
    table_begin(&table, NULL);
    for (int i = 0; i < COMMANDS; i++)
        table_row(&table, "  %s %s\t%s", commands[i].word, commands[i].arguments, commands[i].about);
    table_print(&table, stdout);
    return EXIT_OK;
}

/* ---- lines ---- */

static int run_row(struct shell *s, const struct row *row, const struct words *w)
{
    const char *words[WORDS + 4] = {0};
    int n = 0;
    if (row->run) return row->run(s, w);
    while (row->begins[n]) words[n] = row->begins[n], n++;
    for (int i = 1; i < w->n; i++) words[n++] = *w->at[i] == '-' ? w->at[i] : dotted(s, w->at[i]);
    return outside(s, row->outside, words);
}

static int run_apart(struct shell *s, const struct row *row, const struct words *w)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        signal(SIGINT, SIG_DFL);
        int code = run_row(s, row, w);
        fflush(stdout);
        _exit(code);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_INTERRUPTED;
}

enum { QUIT = -1 };

/* The exit code of a line, or QUIT. */
static int run_line(struct shell *s, const char *line)
{
    char copy[LINE_MOST], *rest = NULL;
    const char *names[COMMANDS];
    struct words w = {0};
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok_r(copy, " \t\r\n", &rest); word && w.n < WORDS; word = strtok_r(NULL, " \t\r\n", &rest))
        w.at[w.n++] = word;
    if (!w.n || *w.at[0] == '#') return EXIT_OK;
    for (int i = 0; i < COMMANDS; i++) {
        names[i] = commands[i].word;
        if (strcmp(names[i], w.at[0])) continue;
        if (!commands[i].run && !commands[i].outside) return QUIT;
        if (w.n - 1 < commands[i].least) {
            fprintf(stderr, "use %s %s\n", commands[i].word, commands[i].arguments);
            return EXIT_USAGE;
        }
        int code = asking_begin(&s->asking, s->robot);
        if (code) return code;
        code = look(s);
        if (!code)
            code = commands[i].apart || commands[i].outside ? run_apart(s, &commands[i], &w)
                                                            : run_row(s, &commands[i], &w);
        asking_end(&s->asking);
        return code;
    }
    fprintf(stderr, "there is no command '%.60s'%s\n", w.at[0], nm_hint(w.at[0], names, COMMANDS).text);
    return EXIT_USAGE;
}

/* Lines of a script: the first one that fails ends it. */
static int run_text(struct shell *s, const char *text)
{
    int code = EXIT_OK;
    while (*text && code == EXIT_OK) {
        char line[LINE_MOST];
        size_t n = strcspn(text, ";\n");
        snprintf(line, sizeof line, "%.*s", (int)n, text);
        code = run_line(s, line);
        text += n + (text[n] != '\0');
    }
    return code;
}

/* ---- the terminal ---- */

/* What could stand where the last word of the line begins: names of commands, or what is in a folder. */
static void candidates(struct shell *s, const char *word, bool first, const char **found, uint32_t *n, uint32_t most)
{
    char folder[PATH_LENGTH], path[PATH_LENGTH];
    const char *slash = strrchr(word, '/'), *tail = slash ? slash + 1 : word;
    *n = 0;
    for (int i = 0; first && i < COMMANDS; i++)
        if (!strncmp(commands[i].word, word, strlen(word)) && *n < most) found[(*n)++] = commands[i].word;
    if (first) return;
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - word + 1) : 1, slash ? word : ".");
    resolve(s, folder, path);
    for (uint32_t i = 0; i < s->n && *n < most; i++) {
        const char *name = below(path, s->leaves[i].path);
        if (!name || !*name || strncmp(name, tail, strlen(tail))) continue;
        size_t k = strcspn(name, "/");
        const char *whole = nm_take_format(&s->asking.arena, "%.*s%s", (int)k, name, name[k] ? "/" : "");
        bool known = false;
        for (uint32_t f = 0; f < *n; f++) known |= !strcmp(found[f], whole);
        if (!known) found[(*n)++] = whole;
    }
}

static void complete(void *user, struct line_editor *e)
{
    enum { MOST = 256 };
    struct shell *s = user;
    const char *found[MOST];
    char word[LINE_MOST];
    uint32_t n;
    if (asking_begin(&s->asking, s->robot) || look(s)) return;
    bool first = terminal_word(e, word);
    candidates(s, word, first, found, &n, MOST);
    terminal_complete(e, word, found, n);
    asking_end(&s->asking);
}

static int talk(struct shell *s)
{
    static struct line_editor editor;
    static const char history[] = "shell_history";
    int code = EXIT_OK;
    signal(SIGINT, SIG_IGN);
    terminal_recall(&editor, history);
    printf("nutmeg shell on %s; 'help' lists the commands, Tab completes\n", s->name);
    for (char prompt[PATH_LENGTH + 160]; code != QUIT;) {
        snprintf(prompt, sizeof prompt, "%s:/%s> ", s->name, s->folder);
        if (!terminal_line(&editor, prompt, complete, s)) break;
        code = run_text(s, editor.line);
    }
    terminal_keep(&editor, history);
    line_free(&editor);
    return EXIT_OK;
}

static int run_input(struct shell *s)
{
    char line[LINE_MOST];
    int code = EXIT_OK;
    while (code == EXIT_OK && fgets(line, sizeof line, stdin)) code = run_text(s, line);
    return code == QUIT ? EXIT_OK : code;
}

int cmd_shell(int argc, char **argv)
{
    struct texts scripts = {0};
    struct shell s = {0};
    const struct flag flags[] = {
        TEXTS("command", &scripts, "LINE", "runs this line and ends; may be repeated", .letter = 'c'), {0}};
    const struct usage usage =
        USAGE("nutmeg shell", "[ROBOT]", flags,
              "A running line-up as folders and files: topics, params, services and cycles. 'ls', 'cd',\n"
              "'cat', 'watch', 'plot', 'set', 'diff', 'save', 'call', 'tasks', 'why'; 'help' lists them. Lines\n"
              "come from the terminal, from -c or from a pipe. A script ends with the first line that fails.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    s.robot = n ? argv[1] : NULL;
    if ((code = asking_begin(&s.asking, s.robot))) return code;
    const struct nm_yaml *info = ask(&s.asking, &(struct nm_request){.op = NM_CONTROL_INFO});
    if (info) snprintf(s.name, sizeof s.name, "%s", s.robot ? s.robot : nm_reply_text(info, "name"));
    if ((code = asking_end(&s.asking))) return code;
    for (uint32_t i = 0; code == EXIT_OK && i < scripts.n; i++) code = run_text(&s, scripts.at[i]);
    if (!scripts.n) code = isatty(STDIN_FILENO) ? talk(&s) : run_input(&s);
    free(s.leaves);
    return code == QUIT ? EXIT_OK : code;
}
