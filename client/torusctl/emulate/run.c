/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl run: ranks of a job on the daemon of this host, without other daemons (emulation.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "libtorus/deadline.h"
#include "forming.h"
#include "ranks.h"
#include "signals.h"
#include "supervise.h"
#include "torusctl/torusctl.h"

static const char *number(const char *text, uint32_t *value)
{
    char *end = NULL;
    unsigned long n = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || n == 0 || n > TD_JOB_RANKS_MAX)
        return "-n and --size must be 1 to 16384";
    *value = (uint32_t)n;
    return NULL;
}

static const char *parse(struct emulation *e, int argc, char **argv)
{
    int i = 1;
    const char *job = NULL, *wrong = NULL;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(name, "--prefix") == 0) {
            e->prefixed = true;
            continue;
        }
        if (name[0] != '-')
            return tool_no_dashes(name);
        if (!value || strcmp(value, "--") == 0)
            return tool_no_option(name);
        i++;
        if (strcmp(name, "-n") == 0 || strcmp(name, "--ranks") == 0)
            wrong = number(value, &e->ranks);
        else if (strcmp(name, "--size") == 0)
            wrong = number(value, &e->size);
        else if (strcmp(name, "--job") == 0)
            job = value;
        else if (strcmp(name, "--socket") == 0)
            e->socket = value;
        else
            return tool_no_option(name);
        if (wrong)
            return wrong;
    }
    if (i + 1 >= argc)
        return "missing command after --";
    e->command = argv + i + 1;
    e->ranks = e->ranks ? e->ranks : 1;
    e->size = e->size ? e->size : e->ranks;
    if (e->ranks > e->size)
        return "-n is larger than --size, the number of ranks of the whole job";
    if (e->ranks < e->size && !job)
        return "a job with ranks on other hosts needs a name, the same there: --job NAME";
    if (job && (!job[0] || strlen(job) >= sizeof e->job))
        return "--job: a name has 1 to 127 bytes";
    snprintf(e->job, sizeof e->job, "%s", job ? job : "");
    return NULL;
}

/* prepare makes the janitor and the list of ranks. It returns false with errno. */
static bool prepare(struct emulation *e)
{
    e->rank = calloc(e->ranks, sizeof *e->rank);
    if (!e->rank || !janitor_init(&e->janitor, NULL, 0) || !janitor_fork(&e->janitor))
        return false;
    for (uint32_t i = 0; i < e->ranks; i++)
        e->rank[i].output[0].fd = e->rank[i].output[1].fd = -1;
    e->daemons = e->janitor.daemons;
    e->signals = signals_open();
    return e->signals >= 0;
}

static int run_run(int argc, char **argv)
{
    static struct emulation e = {.served = true, .life = {-1, -1}};
    const char *wrong = parse(&e, argc, argv);
    if (wrong)
        return tool_usage("run", wrong);
    int code = EXIT_WELL;
    torus_context *c = tool_open(e.socket, 0, &code); /* before any process starts */
    if (!c)
        return code;
    if (!e.job[0]) /* a name that no other command has, on any host */
        snprintf(e.job, sizeof e.job, "run-%u-%d-%llx", torus_node(c), (int)getpid(),
                 (unsigned long long)tl_now_ns());
    torus_close(c);
    e.prefixed = e.prefixed || !ranks_ask(&e, "--json");
    if (!prepare(&e)) {
        fprintf(stderr, "torusctl run: cannot start processes: %s\n", strerror(errno));
        return EXIT_FAILED;
    }
    if (ranks_start(&e)) {
        forming_begin(&e);
        supervise_run(&e);
    } else {
        fprintf(stderr, "torusctl run: cannot start a process: %s\n", strerror(errno));
        e.code = EXIT_FAILED;
    }
    supervise_stop(&e);
    free(e.rank);
    return e.code;
}

const struct tool_command ctl_command_run = {
    .name = "run",
    .arguments = "[-n K] [--job NAME [--size N]] [options] -- COMMAND ...",
    .what = "run COMMAND as ranks of a job, on the daemon of this host",
    .options =
        "  -n K, --ranks K  number of processes here (default 1)\n"
        "  --job NAME       the job (default: a name of its own)\n"
        "  --size N         ranks of the whole job (default K); the others start\n"
        "                   on other hosts, with the same NAME and N\n"
        "  --socket PATH    the daemon's socket\n"
        "  --prefix         print what all processes print, also if COMMAND has --json\n"
        "\n"
        "Each process has TORUS_JOB and TORUS_SIZE in its environment, and TORUS_RANK if\n"
        "all ranks are here; otherwise the daemons number them. Lines begin with the number\n"
        "of the process here. If COMMAND has --json, only the first one prints to stdout,\n"
        "without numbers. Signals go to all processes. The exit code is the first nonzero\n"
        "one of a process. If one ends before the job has formed, and all ranks are here,\n"
        "the joins of the others end.\n",
    .run = run_run,
};
