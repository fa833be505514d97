/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "base/variables.h"
#include "system/standard.h"
#include "system/written.h"
#include "tool.h"

static const struct tool *tool; /* of this process */

static bool is_alone(void)
{
    return !tool->command[0]->name;
}

static void overview(FILE *out)
{
    fprintf(out, "usage: %s COMMAND ...\n\n", tool->name);
    for (size_t i = 0; i < tool->commands; i++)
        fprintf(out, "  %-10s %s\n", tool->command[i]->name, tool->command[i]->what);
    fprintf(out, "\n%s COMMAND --help prints the options of a command.\n", tool->name);
}

static const struct tool_command *find(const char *name)
{
    for (size_t i = 0; i < tool->commands; i++)
        if (is_alone() || strcmp(tool->command[i]->name, name) == 0)
            return tool->command[i];
    return NULL;
}

/* nearest returns the command with this prefix, else the one with the smallest edit distance. */
static const char *nearest(const char *name)
{
    const char *best = tool->command[0]->name;
    for (size_t i = 0; i < tool->commands; i++)
        if (strncmp(name, tool->command[i]->name, strlen(name)) == 0)
            return tool->command[i]->name;
    for (size_t i = 1; i < tool->commands; i++)
        if (td_text_distance(name, tool->command[i]->name) < td_text_distance(name, best))
            best = tool->command[i]->name;
    return best;
}

/* title writes the program and the command, as people type them. */
static const char *title(const struct tool_command *c, char *text, size_t size)
{
    snprintf(text, size, "%s%s%s", tool->name, c->name ? " " : "", c->name ? c->name : "");
    return text;
}

int tool_usage(const char *name, const char *wrong)
{
    const struct tool_command *c = find(name);
    FILE *out = wrong ? stderr : stdout;
    char text[80];
    title(c, text, sizeof text);
    if (wrong)
        fprintf(out, "%s: %s\n", text, wrong);
    fprintf(out, "usage: %s %s\n", text, c->arguments);
    if (!wrong)
        fprintf(out, "\n%s\n%s%s", c->what, c->options ? "\n" : "", c->options ? c->options : "");
    return wrong ? EXIT_USAGE : EXIT_WELL;
}

const char *tool_no_option(const char *name)
{
    static char text[100];
    snprintf(text, sizeof text, "unknown option %.50s, or missing value", name);
    return text;
}

const char *tool_no_dashes(const char *command)
{
    static char text[100];
    snprintf(text, sizeof text, "put -- before the command: -- %.60s ...", command);
    return text;
}

/* find_option returns the place of an option before --, or 0. */
static int find_option(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], name) == 0)
            return i;
    return 0;
}

static void take(int *argc, char **argv, int at, int count)
{
    memmove(&argv[at], &argv[at + count], (size_t)(*argc - at - count) * sizeof *argv);
    *argc -= count;
}

const char *tool_take_option(int *argc, char **argv, const char *name)
{
    int at = find_option(*argc, argv, name);
    if (at == 0 || at + 1 >= *argc)
        return NULL;
    const char *value = argv[at + 1];
    take(argc, argv, at, 2);
    return value;
}

const char *tool_error(const torus_context *c)
{
    static const char advice[] = "; when it runs, call torus_open again";
    static char text[1024];
    const char *said = torus_last_error(c), *at = strstr(said, advice);
    if (!at)
        return said;
    snprintf(text, sizeof text, "%.*s: systemctl status torusd and journalctl -u torusd say why%s",
             (int)(at - said), said, at + strlen(advice));
    return text;
}

/* ---- the daemon of this node ---- */

enum { MUTE_S = 1 };

static char notice[120]; /* what say_wait says; a signal handler formats nothing */

static void say_wait(int number)
{
    (void)number;
    ssize_t written = write(STDERR_FILENO, notice, strlen(notice));
    (void)written;
}

/* open_with_notice opens a context. If the daemon keeps a person waiting at a terminal, it says so.
 */
static int open_with_notice(torus_context **c, const struct torus_open_options *options)
{
    if (!isatty(STDERR_FILENO))
        return torus_open(c, options);
    char most[40] = "";
    struct sigaction mine = {.sa_handler = say_wait, .sa_flags = SA_RESTART}, before;
    if (options->timeout_ms)
        snprintf(most, sizeof most, ", for up to %.1f s", 1e-3 * options->timeout_ms);
    snprintf(notice, sizeof notice,
             "%s: torusd on this node has not answered for %d s; still waiting%s\n", tool->name,
             MUTE_S, most);
    sigaction(SIGALRM, &mine, &before);
    alarm(MUTE_S);
    int error = torus_open(c, options);
    alarm(0);
    sigaction(SIGALRM, &before, NULL);
    return error;
}

torus_context *tool_open(const char *socket, double patience_s, int *code)
{
    torus_context *c = NULL;
    struct torus_open_options options = {.size = sizeof options,
                                         .socket = socket,
                                         .timeout_ms =
                                             patience_s > 0 ? 1 + (int32_t)(1e3 * patience_s) : 0};
    int error = open_with_notice(&c, &options);
    if (error == TORUS_OK)
        return c;
    fprintf(stderr, "%s: %s\n", tool->name, tool_error(c));
    torus_close(c);
    *code = error == TORUS_ERR_NO_DAEMON ? EXIT_NO_DAEMON : EXIT_FAILED;
    return NULL;
}

double tool_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool is_help(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

/* warn_of_strays tells a person of variables that may be misspelt. */
static void warn_of_strays(void)
{
    char strays[TD_STRAYS_MAX], text[TD_STRAY_TEXT_MAX];
    const char *at = td_variables_strays(environ, strays);
    while (at && td_variables_warning(&at, text))
        fprintf(stderr, "%s: warning: %s\n", tool->name, text);
}

static int print_version(void)
{
    printf("%s " TORUS_VERSION "\n", tool->name);
    return EXIT_WELL;
}

/* run_command runs a command. argv[0] is its name, or the program's. */
static int run_command(const struct tool_command *c, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (is_help(argv[i]))
            return tool_usage(c->name, NULL);
        if (strcmp(argv[i], "--version") == 0)
            return print_version();
    }
    return c->run(argc, argv);
}

/* no_command says what is wrong with a word that is no command. */
static int no_command(const char *word)
{
    for (size_t i = 0; i < tool->moves; i++)
        if (strcmp(word, tool->moved[i].name) == 0) {
            fprintf(stderr, "%s: %s is another program now: %s (package %s)\n", tool->name, word,
                    tool->moved[i].now, tool->package);
            return EXIT_USAGE;
        }
    if (word[0] == '-')
        fprintf(stderr,
                "%s: %s: the command comes first, then its options; %s --help lists the commands\n",
                tool->name, word, tool->name);
    else
        fprintf(stderr, "%s: unknown command %s; the nearest is %s; %s --help lists the commands\n",
                tool->name, word, nearest(word), tool->name);
    return EXIT_USAGE;
}

static int run(int argc, char **argv)
{
    warn_of_strays();
    if (is_alone())
        return run_command(tool->command[0], argc, argv);
    if (argc < 2) {
        overview(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "help") == 0 && argc > 2 && !is_help(argv[2]))
        return find(argv[2]) ? tool_usage(argv[2], NULL) : no_command(argv[2]);
    if (is_help(argv[1]) || strcmp(argv[1], "help") == 0) {
        overview(stdout);
        return EXIT_WELL;
    }
    if (strcmp(argv[1], "--version") == 0)
        return print_version();
    const struct tool_command *c = find(argv[1]);
    return c ? run_command(c, argc - 1, argv + 1) : no_command(argv[1]);
}

int tool_main(const struct tool *this_tool, int argc, char **argv)
{
    tool = this_tool;
    td_standard_start();
    return td_written_end(tool->name, run(argc, argv));
}
