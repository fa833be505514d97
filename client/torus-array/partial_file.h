/* SPDX-License-Identifier: Apache-2.0 */
/* partial_file: OUT.NONCE.part, the name of an output while the ranks of a job write it.
 *
 * The file never remains. A rank removes it if the job fails, or on SIGTERM, SIGINT and SIGHUP. If
 * all ranks are killed at once, the next job with the same output removes it. Owns: one name per
 * process.
 */
#ifndef TORUSCTL_PARTIAL_FILE_H
#define TORUSCTL_PARTIAL_FILE_H

#include <stdbool.h>
#include <stdint.h>

/* partial_file_begin sets the name and the signal handlers. It returns false if the name is too
 * long.
 */
bool partial_file_begin(const char *out, uint32_t nonce);
const char *partial_file_name(void);
/* partial_file_hold marks the open file as in use. It returns false if it has been removed. */
bool partial_file_hold(int fd);
/* partial_file_sweep removes partial files of this output that dead jobs have left. */
void partial_file_sweep(const char *out);
/* partial_file_finish renames the file to `out`. It returns false with errno. */
bool partial_file_finish(const char *out);
/* partial_file_end removes the file, if it still exists. */
void partial_file_end(void);

#endif
