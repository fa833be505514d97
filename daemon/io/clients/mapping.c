/* SPDX-License-Identifier: Apache-2.0 */
#include "mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "regions.h"
#include "system/limits.h"

enum { HUGE_PAGE_BYTES = 1 << 21 };

/* check_pages returns NULL, or a sentence if the file is not exactly `bytes` long, has no page for
 * some byte, or pages of more than `beyond` bytes behind its end. The system counts the pages of a
 * file wherever they are. */
static const char *check_pages(struct td_mapping *m, uint64_t beyond)
{
    struct stat st;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (fstat(m->fd, &st) != 0)
        return "the daemon cannot examine the memory";
    uint64_t present = (uint64_t)st.st_blocks * 512, size = (uint64_t)st.st_size;
    uint64_t whole = size + (page - size % page) % page;
    if (m->bytes == 0 || size != m->bytes)
        snprintf(m->text, sizeof m->text,
                 "the memory has %llu bytes, not the %llu announced: announce exactly its size",
                 (unsigned long long)size, (unsigned long long)m->bytes);
    else if (present < whole)
        snprintf(m->text, sizeof m->text,
                 "only %llu of %llu bytes are populated: call fallocate before sharing the memory",
                 (unsigned long long)present, (unsigned long long)m->bytes);
    else if (present > whole + beyond)
        snprintf(m->text, sizeof m->text,
                 "the memory has %llu bytes of pages beyond its end at %llu: allocate pages inside "
                 "of it only",
                 (unsigned long long)(present - whole), (unsigned long long)m->bytes);
    else
        return NULL;
    return m->text;
}

/* fix seals a file that is mapped here, so that nobody can change its size or take pages out of it:
 * the daemon would fault them anew, at the expense of its own memory. The seals leave writable
 * mappings as they are. Pages beyond the end go, because they would count for missing ones: with
 * huge pages a file may have some. It returns NULL, or a sentence. */
static const char *fix(struct td_mapping *m)
{
    if (fcntl(m->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE) != 0)
        return "the memory is sealed against more seals: share it without F_SEAL_SEAL, so that the "
               "daemon can forbid holes in it";
    const char *wrong = check_pages(m, HUGE_PAGE_BYTES);
    if (wrong || ftruncate(m->fd, (off_t)m->bytes) != 0) /* to the size that it has */
        return wrong ? wrong : "the daemon cannot remove pages beyond the end of the memory";
    return check_pages(m, 0);
}

/* check returns NULL, or a sentence with the reason why the file is refused. */
static const char *check(struct td_mapping *m)
{
    struct stat st;
    struct statfs fs;
    /* first, because it asks no file system: fstat on a file of FUSE may sleep */
    int seals = fcntl(m->fd, F_GET_SEALS);
    if (seals < 0 || fstat(m->fd, &st) != 0 || !S_ISREG(st.st_mode) || fstatfs(m->fd, &fs) != 0 ||
        fs.f_type != TMPFS_MAGIC)
        return "shared memory must be a memfd with small pages (memfd_create, not hugetlb)";
    if (!(seals & F_SEAL_SHRINK))
        return "the memory is not sealed against shrinking: add F_SEAL_SHRINK before sharing it";
    if (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE))
        return "the memory is sealed against new mappings: map it, share it once, and leave the "
               "seals F_SEAL_WRITE and F_SEAL_FUTURE_WRITE to the daemon";
    return check_pages(m, HUGE_PAGE_BYTES);
}

/* map_file maps the file if it can be one of a region. It returns TD_OK, or an error with *text. */
static td_err map_file(struct td_mapping *m, const char **text)
{
    char why[TD_LIMIT_TEXT];
    if ((*text = check(m)))
        return TD_ERR_INVALID;
    if (m->refusal[0]) {
        *text = m->refusal;
        return TD_ERR_NO_MEMORY;
    }
    void *base = td_regions_file(m->fd, m->bytes);
    if (base == MAP_FAILED) {
        snprintf(m->text, sizeof m->text, "the daemon cannot map the memory: %s",
                 td_limit_why(errno, why, sizeof why));
        *text = m->text;
        return TD_ERR_NO_MEMORY;
    }
    m->base = base;
    if ((*text = fix(m)))
        return TD_ERR_INVALID;
    /* the first operation would wait for each page; the file has them already (fix) */
    if (m->bytes <= TD_MAPPING_SMALL_BYTES)
        (void)madvise(m->base, m->bytes, MADV_POPULATE_WRITE);
    return TD_OK;
}

void td_mapping_make(struct td_mapping *m)
{
    const char *text = NULL;
    m->error = map_file(m, &text);
    if (m->error == TD_OK)
        return;
    if (text != m->text)
        snprintf(m->text, sizeof m->text, "%s", text);
    if (m->base)
        munmap(m->base, m->bytes);
    m->base = NULL;
}

void td_mapping_fini(struct td_mapping *m)
{
    if (m->base)
        munmap(m->base, m->bytes);
    if (m->fd >= 0)
        close(m->fd);
    m->base = NULL;
    m->fd = -1;
}
