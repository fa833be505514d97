/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl config: the configuration of a file, of the running daemon, and how they differ. */
#include <libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon_program.h"
#include "facts.h"
#include "inspect.h"
#include "torusctl/find_daemon.h"
#include "torusctl/torusctl.h"

enum { LINE_BYTES = 1024, LINES_BYTES = 8192 };

/* find_torusd returns the path of torusd: that of --daemon, or of this installation; NULL if there
 * is none. */
static const char *find_torusd(const char *given)
{
    static char path[4096];
    if (given ? access(given, X_OK) == 0 : ctl_find_daemon(path, sizeof path))
        return given ? given : path;
    fprintf(stderr, "torusctl config: cannot find torusd beside torusctl or in PATH: give --daemon "
                    "PATH\n");
    return NULL;
}

/* ---- check ---- */

static int check(const char *daemon, const char *file, bool as_json)
{
    char text[LINES_BYTES];
    bool valid = ins_daemon_check(daemon, file, text, sizeof text);
    if (as_json) {
        json_t *all =
            json_pack("{s:i s:b s:o}", "version", 1, "valid", valid, "text", ins_text(text));
        ins_print(all);
        json_decref(all);
    } else {
        fprintf(valid ? stdout : stderr, "%s\n", text);
    }
    return valid ? EXIT_WELL : EXIT_FAILED;
}

/* ---- show ---- */

static void print_settings(const json_t *facts)
{
    static const char *const names[] = {"SETTING", "SOURCE", "VALUE", NULL};
    struct libscols_table *t = ins_table(names);
    for (size_t i = 0; i < json_array_size(facts); i++) {
        const json_t *f = json_array_get(facts, i);
        struct ins_cells c = {0};
        snprintf(c.text[0], INS_CELL_BYTES, "%s", ins_string(f, "name"));
        ins_fact_text(c.text[2], INS_CELL_BYTES, f);
        snprintf(c.text[1], INS_CELL_BYTES, "%s", ins_string(f, "source"));
        ins_table_add(t, &c);
    }
    ins_table_print(t);
}

static const json_t *find(const json_t *facts, const char *name)
{
    for (size_t i = 0; i < json_array_size(facts); i++)
        if (strcmp(ins_string(json_array_get(facts, i), "name"), name) == 0)
            return json_array_get(facts, i);
    return NULL;
}

/* is_own returns true if a setting is another one on each node. */
static bool is_own(const char *name)
{
    static const char *const own[] = {"node.coordinates",    "peers.listen", "node.socket",
                                      "security.public_key", "security.key", "peers.port"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcmp(own[i], name) == 0)
            return true;
    return false;
}

/* split moves the settings of other nodes that this one has another value of to a list. */
static json_t *split(json_t *facts, uint32_t node)
{
    json_t *others = json_array(), *own = json_array(), *f = NULL;
    size_t i = 0;
    json_array_foreach(facts, i, f) if (ins_number(f, "at") == node) json_array_append(own, f);
    json_array_foreach(facts, i, f)
    {
        const char *name = ins_string(f, "name");
        json_object_set(f, "node", json_object_get(f, "at"));
        if (ins_number(f, "at") == node || is_own(name) ||
            strcmp(ins_string(find(own, name), "value"), ins_string(f, "value")) == 0)
            continue;
        json_array_append(others, f);
    }
    json_array_foreach(facts, i, f) json_object_del(f, "at");
    json_array_foreach(own, i, f) json_object_del(f, "node");
    json_array_clear(facts);
    json_array_extend(facts, own);
    json_decref(own);
    return others;
}

static void print_others(const json_t *others)
{
    for (size_t i = 0; i < json_array_size(others); i++) {
        const json_t *f = json_array_get(others, i);
        char value[300];
        ins_fact_text(value, sizeof value, f);
        printf("! node %lld has another %s: %s\n", (long long)ins_number(f, "node"),
               ins_string(f, "name"), value[0] ? value : "nothing");
    }
}

/* show prints the settings of this node, and where those of others differ. */
static int show(struct ins_machine *m, const struct ins_choices *o, const char *word)
{
    json_t *facts = ins_facts(m, TD_STATUS_SETTINGS);
    (void)word;
    if (!facts)
        return INS_LOST;
    json_t *others = split(facts, torus_node(m->c));
    if (o->as_json) {
        json_t *all = ins_begin(m, 1);
        json_object_set(all, "settings", facts);
        json_object_set(all, "others", others);
        ins_end(m, all);
    } else {
        print_settings(facts);
        print_others(others);
        ins_machine_print_silent(m);
    }
    json_decref(others);
    json_decref(facts);
    return EXIT_WELL;
}

/* ---- diff ---- */

/* read_file returns the settings of a file, as torusd reads it, or NULL. */
static json_t *read_file(const char *daemon, const char *file)
{
    char line[LINE_BYTES];
    pid_t pid = 0;
    json_t *facts = json_array();
    FILE *f = ins_daemon_run(daemon, file, "--show-config", false, &pid);
    while (f && fgets(line, sizeof line, f)) {
        char *rest = line, *part[4];
        line[strcspn(line, "\n")] = '\0';
        for (int i = 0; i < 4; i++)
            part[i] = rest ? strsep(&rest, "\t") : line + strlen(line);
        json_array_append_new(facts,
                              json_pack("{s:o s:o s:o s:s}", "name", ins_text(part[0]), "value",
                                        ins_text(part[1]), "unit", ins_text(part[2]), "source",
                                        strcmp(part[3], "set") == 0 ? "file" : "default"));
    }
    if (ins_daemon_end(f, pid) == 0)
        return facts;
    json_decref(facts);
    return NULL;
}

/* add_difference adds a setting to the list, if the file has another value. */
static void add_difference(json_t *list, const json_t *running, const json_t *file)
{
    const json_t *any = running ? running : file;
    if (strcmp(ins_string(running, "value"), ins_string(file, "value")) == 0)
        return;
    bool reloads = json_is_true(json_object_get(any, "reloads")) ||
                   strcmp(ins_string(any, "name"), "security.public_key") == 0 ||
                   strcmp(ins_string(any, "name"), "security.peer_keys") == 0;
    reloads = reloads && running && file; /* a reload does not turn keys on or off */
    json_array_append_new(
        list, json_pack("{s:s s:s s:s s:s s:s}", "name", ins_string(any, "name"), "running",
                        ins_string(running, "value"), "file", ins_string(file, "value"), "unit",
                        ins_string(any, "unit"), "needs", reloads ? "reload" : "restart"));
}

static json_t *differences(const json_t *running, const json_t *file)
{
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(running); i++) {
        const json_t *r = json_array_get(running, i);
        add_difference(list, r, find(file, ins_string(r, "name")));
    }
    for (size_t i = 0; i < json_array_size(file); i++)
        if (!find(running, ins_string(json_array_get(file, i), "name")))
            add_difference(list, NULL, json_array_get(file, i));
    return list;
}

static void print_differences(const json_t *list)
{
    if (json_array_size(list) == 0)
        puts("the daemon runs with the settings of the file");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *d = json_array_get(list, i);
        json_t *running = json_pack("{s:O s:O}", "value", json_object_get(d, "running"), "unit",
                                    json_object_get(d, "unit"));
        json_t *file = json_pack("{s:O s:O}", "value", json_object_get(d, "file"), "unit",
                                 json_object_get(d, "unit"));
        char before[300], after[300];
        ins_fact_text(before, sizeof before, running);
        ins_fact_text(after, sizeof after, file);
        printf("%s: the daemon has %s, the file %s: needs a %s\n", ins_string(d, "name"),
               before[0] ? before : "nothing", after[0] ? after : "nothing",
               ins_string(d, "needs"));
        json_decref(running);
        json_decref(file);
    }
}

/* diff compares the running daemon with a file (`word`: torusd, and the file after a newline). */
static int diff(struct ins_machine *m, const struct ins_choices *o, const char *word)
{
    char daemon[LINE_BYTES];
    const char *file = strchr(word, '\n') + 1;
    snprintf(daemon, sizeof daemon, "%.*s", (int)(file - word - 1), word);
    m->here = true;
    json_t *wanted = read_file(daemon, *file ? file : NULL);
    if (!wanted)
        return EXIT_FAILED; /* torusd has said why */
    json_t *running = ins_facts(m, TD_STATUS_SETTINGS);
    json_t *list = running ? differences(running, wanted) : NULL;
    int code = !list ? INS_LOST : json_array_size(list) ? EXIT_FAILED : EXIT_WELL;
    if (list && o->as_json) {
        json_t *all = ins_begin(m, 1);
        json_object_set(all, "differences", list);
        ins_end(m, all);
    } else if (list) {
        print_differences(list);
    }
    json_decref(list);
    json_decref(running);
    json_decref(wanted);
    return code;
}

/* ---- command ---- */

static int run(int argc, char **argv)
{
    struct ins_choices o;
    const char *daemon = tool_take_option(&argc, argv, "--daemon"), *file = NULL;
    const char *what = argc > 1 ? argv[1] : "";
    bool checks = strcmp(what, "check") == 0, differs = strcmp(what, "diff") == 0;
    char both[2 * LINE_BYTES];
    if (!checks && !differs && strcmp(what, "show") != 0)
        return tool_usage("config", "expected check, show or diff");
    argv[1] = argv[0];
    const char *wrong = ins_read_choices(argc - 1, argv + 1, &o, checks || differs ? &file : NULL);
    if (wrong)
        return tool_usage("config", tool_no_option(wrong));
    if (!checks && !differs)
        return ins_run_with("config", &o, NULL, show);
    if (!(daemon = find_torusd(daemon)))
        return EXIT_FAILED;
    if (checks)
        return check(daemon, file, o.as_json);
    snprintf(both, sizeof both, "%s\n%s", daemon, file ? file : "");
    return ins_run_with("config", &o, both, diff);
}

const struct tool_command ctl_command_config = {
    .name = "config",
    .arguments = "check [FILE] | show | diff [FILE]  [--daemon PATH] [--here] [--timeout "
                 "SECONDS] [--watch] [--json] [--socket PATH]",
    .what = "check a configuration, show that of the running daemon, or compare the two",
    .options =
        "  check [FILE]         check FILE and FILE.d/*.conf for this host\n"
        "  show                 every setting of the running daemon, whether a file set it, and\n"
        "                       the other nodes that have another value\n"
        "  diff [FILE]          the settings of FILE that the running daemon does not have, and\n"
        "                       whether they need a reload or a restart\n"
        "  FILE                 default: that of torusd\n"
        "  --daemon PATH        the torusd to read FILE with (default: the one beside "
        "torusctl)\n" INS_OPTIONS,
    .run = run,
};
