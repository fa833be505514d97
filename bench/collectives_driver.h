/* SPDX-License-Identifier: Apache-2.0 */
/* collectives_driver: declarations that the files of the driver share. */
#ifndef BENCH_COLLECTIVES_DRIVER_H
#define BENCH_COLLECTIVES_DRIVER_H

#include <stdio.h>
#include <sys/types.h>

#include "collectives.h"
#include "running.h"

enum { SAMPLES_MAX = 64, BUSY_MAX = 2 };
enum side { TORUSD, OPENMPI, MPICH, GLOO, SIDES };

struct setting {
    const char *name;
    uint32_t nodes, ranks_per_node;
    bool hosts; /* the nodes are hosts with links of limited rate */
};

/* ---- collectives_side.c ---- */

const char *side_name(enum side side);
/* side_absence returns why a side cannot take part in a setting; NULL: it can. */
const char *side_absence(enum side side, const struct setting *setting, const char *folder);
/* side_has returns true if a side can be measured with an operation and a load. */
bool side_has(enum side side, enum operation operation, bool busy);
/* side_start starts a side and waits until all its ranks have connected. It returns false after a
 * message. `folder` has the measuring programs and torusctl. */
bool side_start(struct running *r, enum side side, const struct setting *setting,
                const char *folder, const char *security);
/* side_sample returns the seconds of one call: from the first rank's begin to the last rank's end
 * over the calls of the order (but see lets_go); below 0 after an error and its message. */
double side_sample(const struct running *r, const struct order *order);
/* busy_start starts processes that compute all the time; busy_stop ends them. */
void busy_start(pid_t pid[BUSY_MAX]);
void busy_stop(pid_t pid[BUSY_MAX]);

/* ---- collectives_print.c ---- */

struct spread {
    uint32_t samples;
    double median_s, lower_s, upper_s, least_s, most_s; /* lower and upper: quartiles */
};

/* struct result: times of one operation of one size. */
struct result {
    const struct setting *setting;
    bool busy, plain; /* plain: the vectors' memory is malloc's */
    double others;    /* processors busy with other programs just before */
    enum operation operation;
    uint64_t bytes; /* per pair in an all-to-all; but 16 MiB are per rank */
    bool bytes_of_rank;
    uint32_t calls;              /* per sample */
    struct spread spread[SIDES]; /* no samples: the side did not take part */
    double aim;                  /* target: largest ratio; 0: none */
    double limit_s;              /* least time that links, memory or processors allow; 0: unknown */
};

struct spread spread_of(double *seconds, uint32_t samples);
/* best_peer returns the peer with the least median. */
enum side best_peer(const struct result *result);
/* ratio_of returns torusd's median divided by that of the best peer. */
double ratio_of(const struct result *result);
const char *operation_name(enum operation operation);
/* print_table prints the results of one setting and load. */
void print_table(const struct result *results, size_t count);
/* print_aims prints the targets that are met and those that are missed. */
void print_aims(const struct result *results, size_t count);
/* print_json returns false if it cannot write the file. */
bool print_json(const char *path, const struct result *results, size_t count, bool quick);

/* ---- collectives_plot.c ---- */

/* plot_results draws the results of one setting and load to FOLDER/SETTING-LOAD.svg. It returns
 * false if it cannot write the file. */
bool plot_results(const char *folder, const struct result *results, size_t count);

#endif
