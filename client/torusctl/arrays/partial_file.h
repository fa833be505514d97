/* SPDX-License-Identifier: Apache-2.0 */
/* part: OUT.NONCE.part, what an output is called while the ranks of a job write it. Nothing of that
 * name stays: whoever sees the job fail removes it, SIGTERM, SIGINT and SIGHUP do, and when all
 * ranks are killed at once the next job with that output does. Owns: one name a process. */
#ifndef TORUSCTL_PARTIAL_FILE_H
#define TORUSCTL_PARTIAL_FILE_H

#include <stdbool.h>
#include <stdint.h>

/* partial_file_begin makes the name; from now on signals remove the file. False: the name is too
 * long. */
bool partial_file_begin(const char *out, uint32_t nonce);
const char *partial_file_name(void);
/* partial_file_hold marks the open file as in use. False when it has been removed. */
bool partial_file_hold(int fd);
/* partial_file_sweep removes what dead jobs have left of this output. */
void partial_file_sweep(const char *out);
/* partial_file_finish gives the file its own name. False with errno. */
bool partial_file_finish(const char *out);
/* partial_file_end removes what is there under the name. */
void partial_file_end(void);

#endif
