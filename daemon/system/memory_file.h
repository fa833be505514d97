/* SPDX-License-Identifier: Apache-2.0 */
/* memory_file: files in memory that processes share. Owns: nothing. */
#ifndef TD_SYSTEM_MEMORY_FILE_H
#define TD_SYSTEM_MEMORY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* td_memory_file returns the descriptor, above 2 and closed on exec, of a new file of `bytes` with
 * these seals (F_SEAL_*). `populated`: all its pages are present. It returns -1 with a sentence in
 * why if a limit of the system forbids that; the process gets no SIGXFSZ. */
int td_memory_file(const char *name, uint64_t bytes, bool populated, int seals, char *why,
                   size_t why_bytes);

#endif
