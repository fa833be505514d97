/* SPDX-License-Identifier: Apache-2.0 */
/* output: the output of a rank, printed line by line, each line after the rank's number, or as it
 * is. */
#ifndef TORUSCTL_OUTPUT_H
#define TORUSCTL_OUTPUT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { OUTPUT_LINE_BYTES = 8192 };

enum output_form {
    OUTPUT_NUMBERED, /* lines after [RANK] */
    OUTPUT_PLAIN,    /* bytes as they are */
    OUTPUT_NONE,     /* nothing */
};

struct output {
    int fd; /* -1: closed */
    FILE *to;
    enum output_form form;
    char line[OUTPUT_LINE_BYTES];
    size_t length;
};

/* output_forward reads what the rank has written and prints its complete lines; at the end of the
 * stream it prints the rest and closes fd. */
void output_forward(struct output *output, uint32_t rank);

#endif
