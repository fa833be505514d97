/* SPDX-License-Identifier: Apache-2.0 */
/* machine: the machine and node of `torus-plan`, their options, and their text. */
#ifndef TORUSCTL_EXPLAIN_MACHINE_H
#define TORUSCTL_EXPLAIN_MACHINE_H

#include <jansson.h>
#include <stdio.h>

#include "model/settings.h"
#include "model/topology.h"

struct explain_machine {
    struct td_settings settings;
    struct td_topology topology;
    const char *shape_text, *node_text;
    uint32_t node;
    uint64_t seed;
    uint64_t link_rate; /* bytes per second; 0: unknown, and no times are printed */
    bool as_json, all, has_fabric, has_packet; /* the last two: by options */
    char own_shape[128];                       /* that of the daemon of this node */
};

void explain_machine_default(struct explain_machine *m);
/* explain_take handles an option with a value that all operations have; *taken: it is one. It
 * returns NULL or the error of the value. */
const char *explain_take(struct explain_machine *m, const char *name, const char *value,
                         bool *taken);
/* explain_options reads all options from argv[2] on: flags and the options of explain_take itself,
 * others by `take`. It returns NULL or the error. After NULL, topology and node are set. */
typedef const char *explain_take_fn(void *me, const char *name, const char *value);
const char *explain_options(struct explain_machine *m, int argc, char **argv, explain_take_fn *take,
                            void *me);

/* explain_size reads 4096, 4K, 1M. explain_word finds a value among words. Both return false if the
 * value is invalid. */
bool explain_size(const char *text, uint64_t least, uint64_t most, uint64_t *out);
/* explain_sizes reads 4000x3000, of up to TD_DIMENSIONS_MAX axes. It returns the number of axes, or
 * 0 if the value is invalid. */
uint32_t explain_sizes(const char *text, uint64_t *size);
bool explain_word(const char *value, const char *const *words, uint8_t *out);
/* explain_alltoall_method finds a method of all-to-alls by its name (enum td_alltoall). It returns
 * NULL or the error. */
const char *explain_alltoall_method(const char *value, uint8_t *out);

/* explain_time_s returns the seconds of slots, 0: the rate of links is unknown. explain_time writes
 * them, such as ": 8.9 ms at 118 MB/s", or nothing, and returns text. explain_seconds is the same
 * for machines: a number, or null. */
double explain_time_s(const struct explain_machine *m, double slots);
const char *explain_time(char *text, size_t room, const struct explain_machine *m, double slots);
json_t *explain_seconds(const struct explain_machine *m, double slots);

/* explain_plural returns the ending of a noun. */
const char *explain_plural(uint64_t count);
/* explain_coordinates lists the coordinates of a node. explain_place writes e.g. "6 (1,2)" and
 * returns text. */
json_t *explain_coordinates(const struct td_topology *t, uint32_t node);
const char *explain_place(char *text, size_t room, const struct td_topology *t, uint32_t node);

/* explain_plot writes a picture to a file. On an error it prints the error and returns false. */
typedef bool explain_draw_fn(const void *me, FILE *f);
bool explain_plot(const char *path, explain_draw_fn *draw, const void *me);

#endif
