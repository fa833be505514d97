/* SPDX-License-Identifier: Apache-2.0 */
#include "passed.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

/* is_fixed returns true for a memfd with small pages that cannot shrink. Pages of hugetlb may be
 * missing when they are needed. */
static bool is_fixed(int fd, struct stat *st)
{
    struct statfs fs;
    int seals = fcntl(fd, F_GET_SEALS); /* first: it asks no file system */
    return seals >= 0 && (seals & F_SEAL_SHRINK) && fstat(fd, st) == 0 && S_ISREG(st->st_mode) &&
           fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

int tl_passed_map(torus_context *c, int protection, size_t *bytes, void **memory)
{
    struct stat st;
    int saved = errno;
    *memory = NULL;
    if (c->passed < 0)
        return TORUS_OK;
    if (!is_fixed(c->passed, &st)) {
        errno = saved;
        return tl_malformed(c, "its file is no memfd that is sealed against shrinking");
    }
    if (*bytes == 0)
        *bytes = (size_t)st.st_size;
    void *base = *bytes && *bytes == (size_t)st.st_size
                     ? mmap(NULL, *bytes, protection, MAP_SHARED, c->passed, 0)
                     : MAP_FAILED;
    if (base != MAP_FAILED) {
        (void)madvise(base, *bytes, MADV_DONTFORK);
        *memory = base;
    }
    errno = saved;
    return TORUS_OK;
}
