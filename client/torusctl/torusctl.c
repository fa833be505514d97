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
#include "torusctl.h"

/* in the order of the help */
static const struct ctl_command *const commands[] = {
    &ctl_command_status,  &ctl_command_ops,    &ctl_command_stragglers, &ctl_command_why,
    &ctl_command_jobs,    &ctl_command_groups, &ctl_command_cancel,     &ctl_command_trace,
    &ctl_command_doctor,  &ctl_command_ping,   &ctl_command_topology,   &ctl_command_links,
    &ctl_command_config,  &ctl_command_reload, &ctl_command_run,        &ctl_command_emulate,
    &ctl_command_queues,  &ctl_command_plans,  &ctl_command_explain,    &ctl_command_fft,
    &ctl_command_redist,  &ctl_command_bench,  &ctl_command_compare,    &ctl_command_filter,
    &ctl_command_picture, &ctl_command_keygen,
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void overview(FILE *out)
{
    fputs("usage: torusctl COMMAND ...\n\n", out);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->what);
    fputs("\ntorusctl COMMAND --help prints the options of a command.\n", out);
}

static const struct ctl_command *find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

/* nearest returns the command with this prefix, else the one with the smallest edit distance. */
static const char *nearest(const char *name)
{
    const char *best = commands[0]->name;
    for (size_t i = 0; i < COMMANDS; i++)
        if (strncmp(name, commands[i]->name, strlen(name)) == 0)
            return commands[i]->name;
    for (size_t i = 1; i < COMMANDS; i++)
        if (td_text_distance(name, commands[i]->name) < td_text_distance(name, best))
            best = commands[i]->name;
    return best;
}

int ctl_usage(const char *name, const char *wrong)
{
    const struct ctl_command *c = find(name);
    FILE *out = wrong ? stderr : stdout;
    if (wrong)
        fprintf(out, "torusctl %s: %s\n", name, wrong);
    fprintf(out, "usage: torusctl %s %s\n", c->name, c->arguments);
    if (!wrong)
        fprintf(out, "\n%s\n%s%s", c->what, c->options ? "\n" : "", c->options ? c->options : "");
    return wrong ? EXIT_USAGE : EXIT_WELL;
}

const char *ctl_no_option(const char *name)
{
    static char text[100];
    snprintf(text, sizeof text, "unknown option %.50s, or missing value", name);
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

const char *ctl_take_option(int *argc, char **argv, const char *name)
{
    int at = find_option(*argc, argv, name);
    if (at == 0 || at + 1 >= *argc)
        return NULL;
    const char *value = argv[at + 1];
    take(argc, argv, at, 2);
    return value;
}

const char *ctl_error(const torus_context *c)
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
             "torusctl: torusd on this node has not answered for %d s; still waiting%s\n", MUTE_S,
             most);
    sigaction(SIGALRM, &mine, &before);
    alarm(MUTE_S);
    int error = torus_open(c, options);
    alarm(0);
    sigaction(SIGALRM, &before, NULL);
    return error;
}

torus_context *ctl_open(const char *socket, double patience_s, int *code)
{
    torus_context *c = NULL;
    struct torus_open_options options = {.size = sizeof options,
                                         .socket = socket,
                                         .timeout_ms =
                                             patience_s > 0 ? 1 + (int32_t)(1e3 * patience_s) : 0};
    int error = open_with_notice(&c, &options);
    if (error == TORUS_OK)
        return c;
    fprintf(stderr, "torusctl: %s\n", ctl_error(c));
    torus_close(c);
    *code = error == TORUS_ERR_NO_DAEMON ? EXIT_NO_DAEMON : EXIT_FAILED;
    return NULL;
}

double ctl_seconds(void)
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
        fprintf(stderr, "torusctl: warning: %s\n", text);
}

static int run(int argc, char **argv)
{
    warn_of_strays();
    if (argc < 2) {
        overview(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "help") == 0 && argc > 2 && find(argv[2]))
        return ctl_usage(argv[2], NULL);
    if (is_help(argv[1]) || strcmp(argv[1], "help") == 0) {
        overview(stdout);
        return EXIT_WELL;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("torusctl " TORUS_VERSION);
        return EXIT_WELL;
    }
    const struct ctl_command *c = find(argv[1]);
    if (!c) {
        static const char more[] = "torusctl --help lists the commands";
        if (argv[1][0] == '-')
            fprintf(stderr, "torusctl: %s: the command comes first, then its options; %s\n",
                    argv[1], more);
        else
            fprintf(stderr, "torusctl: unknown command %s; the nearest is %s; %s\n", argv[1],
                    nearest(argv[1]), more);
        return EXIT_USAGE;
    }
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (is_help(argv[i]))
            return ctl_usage(c->name, NULL);
        if (strcmp(argv[i], "--version") == 0) {
            puts("torusctl " TORUS_VERSION);
            return EXIT_WELL;
        }
    }
    return c->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    td_standard_start();
    return td_written_end("torusctl", run(argc, argv));
}
