/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl emulate: daemons and ranks of a torus on this machine.
 *
 * This process, the keeper, holds a pipe that every daemon watches; a daemon stops when the pipe
 * closes. The janitor (janitor.h) ends all other processes. Therefore nothing remains, even if this
 * process or the janitor is killed with SIGKILL. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/quantity.h"
#include "capacity.h"
#include "config.h"
#include "daemons.h"
#include "options.h"
#include "ranks.h"
#include "signals.h"
#include "supervise.h"
#include "system/standard.h"
#include "torusctl/torusctl.h"

/* prepare creates the folder, the janitor, the pipe and the configurations. It returns false with
 * errno. */
static bool prepare(struct emulation *e)
{
    e->rank = calloc(e->ranks, sizeof *e->rank);
    if (!e->rank || !janitor_init(&e->janitor, e->folder, e->topology.nodes) ||
        !config_make_folder(e))
        return false;
    e->daemons = e->janitor.daemons;
    for (uint32_t i = 0; i < e->ranks; i++)
        e->rank[i].output[0].fd = e->rank[i].output[1].fd = -1;
    if (!janitor_fork(&e->janitor)) {
        rmdir(e->folder);
        return false;
    }
    e->signals = signals_open();
    if (pipe2(e->life, O_CLOEXEC) == 0 && (!e->tcp || config_choose_ports(e)) &&
        config_write_all(e) && daemons_open_notify(e))
        return true;
    int error = errno;
    janitor_clean_up(&e->janitor);
    errno = error;
    return false;
}

/* can_carry returns false, with a message, if this machine is too slow for the link rate: the
 * measured times would mislead. */
static bool can_carry(const struct emulation *e)
{
    static const char key[] = "torus.link_rate=";
    char text[300];
    for (int i = 0; i < e->settings_count; i++) {
        uint64_t rate = 0;
        if (strncmp(e->settings[i], key, sizeof key - 1) != 0 ||
            !td_quantity_parse_rate(e->settings[i] + sizeof key - 1, &rate) ||
            ctl_links_fit(&e->topology, rate, text, sizeof text))
            continue;
        fprintf(stderr, "torusctl emulate: %s\n", text);
        return false;
    }
    return true;
}

/* run_once replaces this process by the command, which prints its help and needs no daemon. */
static int run_once(const struct emulation *e)
{
    td_standard_restore();
    execvp(e->command[0], e->command);
    fprintf(stderr, "torusctl: cannot run %s: %s\n", e->command[0], strerror(errno));
    return errno == ENOENT ? 127 : 126; /* as shells do */
}

static int run_emulate(int argc, char **argv)
{
    static struct emulation e;
    const char *wrong = options_parse(&e, argc, argv);
    if (wrong)
        return tool_usage("emulate", wrong);
    if (ranks_ask(&e, "--help") || ranks_ask(&e, "--version"))
        return run_once(&e);
    e.prefixed = e.prefixed || !ranks_ask(&e, "--json");
    e.size = e.ranks;
    if (!daemons_find(&e)) {
        fprintf(stderr,
                "torusctl: cannot find torusd beside torusctl or in PATH: give --daemon PATH\n");
        return EXIT_FAILED;
    }
    if (!can_carry(&e))
        return EXIT_FAILED;
    if (!prepare(&e)) {
        fprintf(stderr, "torusctl: cannot prepare the emulation in %s: %s\n",
                e.folder[0] ? e.folder : "/tmp", strerror(errno));
        return EXIT_FAILED;
    }
    daemons_start(&e);
    bool good = e.served = daemons_wait_ready(&e);
    close(e.notify); /* no reader from now on: a daemon must not block on a full socket */
    good = good && ranks_start(&e);
    if (good)
        supervise_run(&e);
    else if (e.code == 0)
        e.code = EXIT_FAILED;
    supervise_stop(&e);
    free(e.rank);
    return e.code;
}

const struct tool_command ctl_command_emulate = {
    .name = "emulate",
    .arguments = "SHAPE [options] -- COMMAND ...",
    .what = "run COMMAND once per rank on an emulated torus of daemons",
    .options =
        "  -n N, --ranks N      number of ranks (default: one per node)\n"
        "  --ranks-per-node R   maximum number of ranks per node\n"
        "  --transport ipc|tcp  connections between daemons (default ipc)\n"
        "  --fabric direct|routed   route of packets (default direct)\n"
        "  --link-rate RATE     rate of each direction of a link, such as 5MB/s (routed only)\n"
        "  --link-latency TIME  latency of a link, such as 50us (routed only)\n"
        "  --set SECTION.KEY=VALUE  change a setting of the daemons; may be repeated\n"
        "  --metrics PORT       metrics of node N at 127.0.0.1, port PORT + N\n"
        "  --keep-going         exit with the code of the ranks even if a daemon ends by itself\n"
        "  --daemon PATH        the torusd to run (default: the one beside torusctl, or in PATH)\n"
        "  --verbose            show the daemons' logs\n"
        "  --prefix             print what all ranks print, also if COMMAND has --json\n"
        "\n"
        "Each rank has TORUS_SOCKET, TORUS_JOB, TORUS_RANK, TORUS_SIZE and TORUS_NODE in its\n"
        "environment, and the sockets of all nodes, with colons between them, in TORUS_SOCKETS.\n"
        "Lines begin with the rank's number. If COMMAND has --json, only rank 0 prints to stdout,\n"
        "without numbers; with --help or --version, COMMAND runs once, without daemons.\n"
        "The exit code is the first nonzero exit code of a rank. The emulation leaves no process\n"
        "and no file behind.\n",
    .run = run_emulate,
};
