/* SPDX-License-Identifier: Apache-2.0 */
#include "cma.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    READ_MAX = 1 << 30, /* bytes of a call; the kernel copies a little less than 2 GiB */
    REFUSALS_MAX = 3,   /* then no more attempts: hosts may log each */
    VAIN_CALLS = 8,     /* that were not DONE, one after the other; then */
    PAUSE_CALLS = 256,  /* the next ones lend no plain memory */
};

struct peer {
    struct tl_cma_told told; /* process 0: nothing yet */
    bool read;               /* its mark was found */
};

struct tl_cma {
    uint64_t *mark; /* a page, which is empty in a forked child */
    uint32_t rank, ranks;
    uint32_t refusals, vain, pause;
    struct peer peer[];
};

struct tl_cma *tl_cma_new(uint32_t rank, uint32_t ranks)
{
    int saved = errno;
    struct tl_cma *c = calloc(1, sizeof *c + ranks * sizeof c->peer[0]);
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!c || page == MAP_FAILED) {
        if (page != MAP_FAILED)
            munmap(page, PAGE);
        free(c);
        errno = saved;
        return NULL;
    }
    (void)madvise(page, PAGE, MADV_WIPEONFORK);
    c->mark = page;
    c->rank = rank;
    c->ranks = ranks;
    if (getrandom(c->mark, sizeof *c->mark, GRND_NONBLOCK) != sizeof *c->mark)
        c->refusals = REFUSALS_MAX; /* it tells that it sees nobody, so nobody lends */
    errno = saved;
    return c;
}

void tl_cma_free(struct tl_cma *c)
{
    if (c)
        munmap(c->mark, PAGE);
    free(c);
}

/* sees returns true if this rank has found the marks of all others. */
static bool sees(const struct tl_cma *c)
{
    bool all = true;
    for (uint32_t i = 0; i < c->ranks && all; i++)
        all = i == c->rank || c->peer[i].read;
    return all;
}

void tl_cma_tell(const struct tl_cma *c, struct tl_cma_told *told)
{
    *told = (struct tl_cma_told){
        .process = (uint32_t)getpid(), .sees = sees(c), .at = (uintptr_t)c->mark, .mark = *c->mark};
}

/* read_some copies bytes, at most READ_MAX, and the mark with them, in one system call. It returns
 * how many; 0 if they cannot be read, or are not of the process that told the mark. */
static size_t read_some(const struct peer *p, void *to, uint64_t from, size_t bytes)
{
    uint64_t mark = 0;
    size_t most = bytes < READ_MAX ? bytes : READ_MAX;
    struct iovec here[] = {{to, most}, {&mark, sizeof mark}};
    struct iovec there[] = {{(void *)(uintptr_t)from, most}, /* NOLINT(performance-no-int-to-ptr) */
                            {(void *)(uintptr_t)p->told.at,  /* NOLINT(performance-no-int-to-ptr) */
                             sizeof mark}};
    ssize_t got = process_vm_readv((pid_t)p->told.process, here, 2, there, 2, 0);
    return got == (ssize_t)(most + sizeof mark) && mark == p->told.mark ? most : 0;
}

static bool read_all(const struct peer *p, void *to, uint64_t from, size_t bytes)
{
    int saved = errno;
    size_t done = 0, got = 1;
    for (; done < bytes && got > 0; done += got)
        got = read_some(p, (uint8_t *)to + done, from + done, bytes - done);
    errno = saved;
    return done == bytes;
}

static bool is_known(const struct peer *p, const struct tl_cma_told *told)
{
    return p->told.process == told->process && p->told.at == told->at && p->told.mark == told->mark;
}

void tl_cma_hear(struct tl_cma *c, uint32_t rank, const struct tl_cma_told *told)
{
    struct peer *p = &c->peer[rank];
    uint64_t mark = 0;
    bool known = is_known(p, told);
    p->told = *told;
    if (known || c->refusals >= REFUSALS_MAX)
        return;
    p->read = read_all(p, &mark, told->at, sizeof mark);
    c->refusals += !p->read;
}

bool tl_cma_may_lend(struct tl_cma *c)
{
    if (c->pause > 0) {
        c->pause--;
        return false;
    }
    bool all = sees(c);
    for (uint32_t i = 0; i < c->ranks && all; i++)
        all = i == c->rank || c->peer[i].told.sees;
    return all;
}

void tl_cma_lent(struct tl_cma *c, bool done)
{
    c->vain = done ? 0 : c->vain + 1;
    if (c->vain < VAIN_CALLS)
        return;
    c->vain = 0;
    c->pause = PAUSE_CALLS;
}

bool tl_cma_read(const struct tl_cma *c, uint32_t rank, void *to, uint64_t from, size_t bytes)
{
    const struct peer *p = &c->peer[rank];
    return p->read && read_all(p, to, from, bytes);
}
