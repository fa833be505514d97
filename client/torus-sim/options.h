/* SPDX-License-Identifier: Apache-2.0 */
/* options: the command line of torus-sim. */
#ifndef TORUS_SIM_OPTIONS_H
#define TORUS_SIM_OPTIONS_H

#include "measure.h"

struct command {
    struct td_measure_options measure;
    char shape[128];
    bool mesh, json;
    uint64_t packets;           /* --packets; 0: --bytes gives the size */
    const char *plot, *trace;   /* names of output files, or NULL */
    struct td_description plan; /* of a redistribution or a transform */
    bool bytes_given;
};

/* options_parse replaces the defaults in *c by the options of the command line. On a wrong option
 * it prints an error and returns false. After --help and --version it exits. */
bool options_parse(int argc, char **argv, struct command *c);

#endif
