/* SPDX-License-Identifier: Apache-2.0 */
/* guarded: files that say whom this daemon trusts. They are regular files of bounded size, so that
 * neither a start nor a reload waits or reads for ever; and only root and one user may change them.
 * Owns: nothing. */
#ifndef TD_IO_CONFIG_GUARDED_H
#define TD_IO_CONFIG_GUARDED_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

/* td_guarded_open opens a file for reading, and fills in *st. It returns NULL with a sentence in
 * `why` if it cannot, or if the file is not a regular one of at most bytes_max bytes. */
FILE *td_guarded_open(const char *path, size_t bytes_max, struct stat *st, char *why,
                      size_t why_bytes);
/* td_guarded_by returns true if only root and `user` can change the file, or replace it: they own
 * it and its folder, and nobody else may write there. Else it returns false with a sentence. A
 * folder where users replace only what is theirs (mode 1777), or that is mounted read-only, is
 * accepted. */
bool td_guarded_by(const char *path, const struct stat *st, uid_t user, char *why,
                   size_t why_bytes);

#endif
