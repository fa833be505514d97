/* SPDX-License-Identifier: Apache-2.0 */
/* part: OUT.NONCE.part, what an output is called while the ranks of a job write it. Nothing of that
 * name stays: whoever sees the job fail removes it, SIGTERM, SIGINT and SIGHUP do, and when all
 * ranks are killed at once the next job with that output does. Owns: one name a process. */
#ifndef TORUSCTL_PART_H
#define TORUSCTL_PART_H

#include <stdbool.h>
#include <stdint.h>

/* part_begin makes the name; from now on signals remove the file. False: the name is too long. */
bool part_begin(const char *out, uint32_t nonce);
const char *part_name(void);
/* part_hold marks the open file as in use. False when it has been removed. */
bool part_hold(int fd);
/* part_sweep removes what dead jobs have left of this output. */
void part_sweep(const char *out);
/* part_finish gives the file its own name. False with errno. */
bool part_finish(const char *out);
/* part_end removes what is there under the name. */
void part_end(void);

#endif
