/* SPDX-License-Identifier: Apache-2.0 */
#include "cma.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

enum { READ_MAX = 1 << 30 }; /* bytes of a call; the kernel copies a little less than 2 GiB */

struct peer {
    struct tl_cma_told told; /* process 0: nothing yet */
    bool read;               /* its mark was found */
};

struct tl_cma {
    uint64_t mark;
    uint32_t rank, ranks;
    bool failed; /* a read, later than the first */
    struct peer peer[];
};

struct tl_cma *tl_cma_new(uint32_t rank, uint32_t ranks)
{
    struct tl_cma *c = calloc(1, sizeof *c + ranks * sizeof c->peer[0]);
    if (!c)
        return NULL;
    c->rank = rank;
    c->ranks = ranks;
    int saved = errno;
    c->failed = getrandom(&c->mark, sizeof c->mark, GRND_NONBLOCK) != sizeof c->mark;
    errno = saved;
    return c;
}

void tl_cma_free(struct tl_cma *c)
{
    free(c);
}

/* sees returns true if this rank has found the marks of all others. */
static bool sees(const struct tl_cma *c)
{
    bool all = !c->failed;
    for (uint32_t i = 0; i < c->ranks && all; i++)
        all = i == c->rank || c->peer[i].read;
    return all;
}

void tl_cma_tell(const struct tl_cma *c, struct tl_cma_told *told)
{
    *told = (struct tl_cma_told){
        .process = (uint32_t)getpid(), .sees = sees(c), .at = (uintptr_t)&c->mark, .mark = c->mark};
}

/* take copies some of the bytes, and the mark with them. It returns how many: 0: none, or not of
 * that process. */
static size_t take(const struct peer *p, void *to, uint64_t from, size_t bytes)
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
        got = take(p, (uint8_t *)to + done, from + done, bytes - done);
    errno = saved;
    return done == bytes;
}

void tl_cma_hear(struct tl_cma *c, uint32_t rank, const struct tl_cma_told *told)
{
    struct peer *p = &c->peer[rank];
    uint64_t mark = 0;
    bool first = p->told.process == 0;
    p->told = *told;
    if (first)
        p->read = read_all(p, &mark, told->at, sizeof mark);
}

bool tl_cma_open(const struct tl_cma *c)
{
    bool all = sees(c);
    for (uint32_t i = 0; i < c->ranks && all; i++)
        all = i == c->rank || c->peer[i].told.sees;
    return all;
}

bool tl_cma_read(struct tl_cma *c, uint32_t rank, void *to, uint64_t from, size_t bytes)
{
    const struct peer *p = &c->peer[rank];
    bool good = p->read && read_all(p, to, from, bytes);
    c->failed = c->failed || !good;
    return good;
}
