/* SPDX-License-Identifier: Apache-2.0 */
#include "explain.h"

#include <stdio.h>
#include <string.h>

#include "alltoall.h"
#include "call.h"
#include "fft.h"
#include "group.h"
#include "redist.h"

static int run_explain(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], "alltoall") == 0)
        return explain_alltoall(argc, argv);
    if (argc >= 2 && strcmp(argv[1], "fft") == 0)
        return explain_fft(argc, argv);
    if (argc >= 2 && strcmp(argv[1], "group") == 0)
        return explain_group(argc, argv);
    if (argc >= 2 && strcmp(argv[1], "redist") == 0)
        return explain_redist(argc, argv);
    if (argc >= 2 && explain_call_known(argv[1]))
        return explain_call(argc, argv);
    static char text[200];
    snprintf(text, sizeof text,
             "%s%.40s%sexpected an operation, such as torus-plan alltoall --shape 4x4",
             argc >= 2 ? "unknown operation " : "", argc >= 2 ? argv[1] : "",
             argc >= 2 ? ": " : "");
    return tool_usage(NULL, text);
}

const struct tool_command explain_command = {
    .arguments = "OPERATION [--shape SHAPE] [options], or redist --from LAYOUT --to LAYOUT",
    .what = "explain an operation without running it: method and reason, messages, lower bound",
    .options =
        "OPERATION is alltoall, barrier, broadcast, reduce, allreduce, reduce_scatter, scan, "
        "exscan,\n"
        "prefix, gather, scatter, allgather, alltoallv, fft, redist or group.\n"
        "\n"
        "  --shape SHAPE        shape of the machine (default: that of the daemon of this node)\n"
        "  --bytes M            size of the vector, a rank's part, or a message per pair (default "
        "64K)\n"
        "  --packet B           payload of a packet (default: that of the daemon, else 256K)\n"
        "  --fabric direct|routed   fabric (default: that of the daemon of this node, else "
        "routed)\n"
        "  --node X,Y,Z         coordinates of the node to show (default: node 0)\n"
        "  --link-rate RATE     rate of a link, for times (default: that of the daemon, if it has "
        "one)\n"
        "  --relay B            memory for relayed data (default 64M)\n"
        "  --seed S             seed of random orders and sizes (default 1)\n"
        "  --burst N            random: packets for one destination before the next (default 1)\n"
        "  --all                print all lines, without cuts\n"
        "  --json               print the complete output as JSON\n"
        "  --method NAME        auto (the default); all-to-alls: random, phased, pairwise,\n"
        "                       two-phase; prefix: stream, gather, round-trips; rooted calls:\n"
        "                       links, planes, binary, binomial, chain; allreduce, reduce_scatter "
        "and\n"
        "                       allgather: bucket, swing; allreduce: swing-whole\n"
        "all operations except alltoall:\n"
        "  --ranks-per-node N   ranks on each node (default 1)\n"
        "  --type NAME          element type (default: double in reductions, else byte)\n"
        "  --op NAME            operator of reductions (default sum)\n"
        "  --mode off|same|any  reproducible mode of reductions, see torus_set_reproducible\n"
        "  --root R             root rank (default 0)\n"
        "  --spread F           alltoallv: sizes are M times 1 - F to 1 + F (default 0.5)\n"
        "alltoall:\n"
        "  --parts N            phased: parts of the data, 1, or 0 for one per dimension (default "
        "0)\n"
        "  --gap on|off         phased: pauses that keep packets from meeting (default on)\n"
        "  --barrier hop|phase|none, --barrier-scope ring|all   phased: when the nodes\n"
        "                       synchronize, and which nodes (default hop, ring)\n"
        "fft: the stages of a transform, the grid of nodes and the reason for it\n"
        "  --elements 128x128x128   size of the array along each axis\n"
        "  --axes 0,2, --kinds LIST complex (the default), r2c, c2r, none, dct1 to dct4, dst1 to\n"
        "                       dst4: one for all axes, or one each\n"
        "  --inverse, --precision single|double\n"
        "  --from LAYOUT, --to LAYOUT   layouts before and after, such as '(block, *, *)'\n"
        "  --grid 16x4          grid of nodes between the stages\n"
        "  --method NAME        method of the moves: auto, random, phased, pairwise or two-phase\n"
        "  --gflops N           1e9 operations per second of a node, for times of transforms\n"
        "  --plot FILE          draw the stages (SVG)\n"
        "redist: the messages of each step when an array changes its layout\n"
        "  --from LAYOUT, --to LAYOUT   such as 'cyclic(2)@0-2' and '(block,cyclic) on 2x3 @4-9'\n"
        "  --elements N         size of the array: 1000000, or 4000x3000\n"
        "  --element B          bytes per element (default 8)\n"
        "  --schedule NAME      auto, circulant, colouring, classes, matching or caterpillar\n"
        "  --shape SHAPE, --ranks-per-node N   loads of the links of that torus\n"
        "  --plot FILE          draw the steps (SVG)\n",
    .run = run_explain,
};
