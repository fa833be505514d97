/* SPDX-License-Identifier: Apache-2.0 */
/* options: the command line of torus-sim. */
#ifndef TORUS_SIM_OPTIONS_H
#define TORUS_SIM_OPTIONS_H

#include "measure.h"

struct command {
    struct td_measure_options measure;
    char shape[128];
    bool mesh, json;
    uint64_t packets;
    const char *plot, *trace;
    struct td_description plan; /* description of a redistribution or a transform */
    bool bytes_given;
};

/* options_parse fills in *c, which has the defaults. It returns false if it has printed an error.
 * It exits after --help and --version. */
bool options_parse(int argc, char **argv, struct command *c);

#endif
