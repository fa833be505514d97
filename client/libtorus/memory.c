/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "socket.h"
#include "lock.h"
#include "system/limits.h"
#include "system/memory_file.h"

enum {
    ALIGNMENT = 64,
    PAGE = 4096,
    SPARE_BYTES = 64 << 20, /* of empty regions that are kept for the next copies */
};

struct tl_block {
    struct tl_block *next; /* by address */
    struct tl_region *region;
    size_t offset, bytes;
    bool used, dirty; /* dirty: used before, so its bytes are not zero */
    uint32_t pins;    /* operations in flight that use it */
};

struct tl_region {
    struct tl_region *next;
    uint32_t number;
    bool copies; /* it has copies of the library only */
    uint8_t *base;
    size_t bytes, blocks_used;
    struct tl_block *blocks;
};

/* make_file writes the descriptor of a sealed memfd of `bytes` with all its pages present; -1 on an
 * error. The daemon must never fault on a missing page, and adds F_SEAL_FUTURE_WRITE when both
 * sides have mapped the file. */
static int make_file(torus_context *c, size_t bytes, int *file)
{
    char why[TD_LIMIT_TEXT];
    bool cgroup = false;
    *file = -1;
    /* check first: populating more pages than there are would start the OOM killer */
    uint64_t most = c->region_bytes_max, has = td_limit_memory_bytes(&cgroup);
    if (bytes > most || c->region_bytes > most - bytes || c->region_bytes + bytes > has)
        return tl_fail(
            c, TORUS_ERR_NO_MEMORY,
            "cannot allocate %zu bytes of shared memory: this process has %llu bytes, [limits] "
            "region allows its user %llu, and the %s %llu: raise the limit, or free memory with "
            "torus_free",
            bytes, (unsigned long long)c->region_bytes, (unsigned long long)most,
            cgroup ? "memory cgroup allows" : "machine has", (unsigned long long)has);
    *file = td_memory_file("torus", bytes, true, F_SEAL_SHRINK | F_SEAL_GROW, why, sizeof why);
    return *file >= 0 ? TORUS_OK
                      : tl_fail(c, TORUS_ERR_NO_MEMORY,
                                "cannot allocate %zu bytes of shared memory: %s", bytes, why);
}

static const char NO_RECORDS[] = "no memory for the records of shared memory";

/* add_region maps a new region here and in the daemon. */
static int add_region(torus_context *c, size_t bytes, bool copies)
{
    char why[TD_LIMIT_TEXT];
    struct tl_region *r = calloc(1, sizeof *r);
    struct tl_block *b = calloc(1, sizeof *b);
    void *base = MAP_FAILED;
    int fd = -1;
    if (!r || !b) {
        free(r);
        free(b);
        return tl_fail(c, TORUS_ERR_NO_MEMORY, NO_RECORDS);
    }
    int error = make_file(c, bytes, &fd);
    if (error == TORUS_OK)
        base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (error == TORUS_OK && base == MAP_FAILED)
        error = tl_fail(c, TORUS_ERR_NO_MEMORY, "cannot map %zu bytes of shared memory: %s", bytes,
                        td_limit_why(errno, why, sizeof why));
    if (error == TORUS_OK) {
        struct td_reply reply;
        struct td_request q = {.kind = TD_REQUEST_REGION};
        q.u.region.region = c->next_region;
        q.u.region.bytes = bytes;
        error = tl_call(c, &q, fd, -1, &reply);
    }
    if (fd >= 0)
        close(fd);
    if (error != TORUS_OK) {
        if (base != MAP_FAILED)
            munmap(base, bytes);
        free(r);
        free(b);
        return error;
    }
    *b = (struct tl_block){.region = r, .bytes = bytes};
    *r = (struct tl_region){.next = c->regions,
                            .number = c->next_region++,
                            .copies = copies,
                            .base = base,
                            .bytes = bytes,
                            .blocks = b};
    c->regions = r;
    c->region_bytes += bytes;
    return TORUS_OK;
}

/* drop_region unmaps a region; `notify`: the daemon is told to unmap it too. */
static void drop_region(torus_context *c, struct tl_region *r, bool notify)
{
    struct tl_region **link = &c->regions;
    while (*link != r)
        link = &(*link)->next;
    *link = r->next;
    if (notify && !c->lost) {
        struct td_request q = {.kind = TD_REQUEST_UNREGION};
        q.u.unregion.region = r->number;
        tl_send(c, &q, -1);
    }
    c->regions_dropped++;
    c->region_bytes -= r->bytes;
    munmap(r->base, r->bytes);
    while (r->blocks) {
        struct tl_block *b = r->blocks;
        r->blocks = b->next;
        free(b);
    }
    free(r);
}

/* allocate_in returns a block of `bytes` from an unused block of the region; NULL: none is large
 * enough. */
static struct tl_block *allocate_in(struct tl_region *r, size_t bytes)
{
    for (struct tl_block *b = r->blocks; b; b = b->next) {
        if (b->used || b->bytes < bytes)
            continue;
        if (b->bytes - bytes >= ALIGNMENT) {
            struct tl_block *rest = malloc(sizeof *rest);
            if (!rest)
                return NULL;
            *rest = (struct tl_block){.next = b->next,
                                      .region = r,
                                      .offset = b->offset + bytes,
                                      .bytes = b->bytes - bytes,
                                      .dirty = b->dirty};
            b->next = rest;
            b->bytes = bytes;
        }
        b->used = true;
        r->blocks_used++;
        return b;
    }
    return NULL;
}

/* drop_spare unmaps the empty regions for copies. */
static void drop_spare(torus_context *c)
{
    for (struct tl_region *r = c->regions, *next = NULL; r; r = next) {
        next = r->next;
        if (r->copies && r->blocks_used == 0)
            drop_region(c, r, true);
    }
}

/* allocate writes a used block of at least `bytes`; NULL on an error. `copies`: of a region for
 * copies. */
static int allocate(torus_context *c, size_t bytes, bool copies, struct tl_block **block)
{
    *block = NULL;
    if (bytes > SIZE_MAX / 2)
        return tl_fail(c, TORUS_ERR_NO_MEMORY,
                       "cannot allocate %zu bytes: more than the address space", bytes);
    size_t need = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    need = need ? need : ALIGNMENT;
    struct tl_block *b = NULL;
    for (struct tl_region *r = c->regions; r && !b; r = r->next)
        if (r->copies == copies)
            b = allocate_in(r, need);
    for (struct tl_region *r = c->regions; r && !b && copies; r = r->next)
        b = allocate_in(r, need); /* a copy leaves soon, and needs no new region */
    *block = b;
    if (b)
        return TORUS_OK;
    size_t size = need > c->staging_bytes ? need : c->staging_bytes;
    size = (size + PAGE - 1) / PAGE * PAGE;
    if (copies || c->region_bytes + size > c->region_bytes_max)
        drop_spare(c); /* too small, or in the way */
    int error = add_region(c, size, copies);
    if (error != TORUS_OK)
        return error;
    *block = allocate_in(c->regions, need);
    return *block ? TORUS_OK : tl_fail(c, TORUS_ERR_NO_MEMORY, NO_RECORDS);
}

static struct tl_region *region_of(torus_context *c, const void *pointer)
{
    const uint8_t *p = pointer;
    struct tl_region *r = c->regions;
    while (r && (p < r->base || p >= r->base + r->bytes))
        r = r->next;
    return r;
}

static struct tl_block *block_of(struct tl_region *r, const void *pointer)
{
    size_t offset = r ? (size_t)((const uint8_t *)pointer - r->base) : 0;
    struct tl_block *b = r ? r->blocks : NULL;
    while (b && (offset < b->offset || offset >= b->offset + b->bytes))
        b = b->next;
    return b && b->used ? b : NULL;
}

static struct tl_block *find(torus_context *c, const void *pointer)
{
    return block_of(region_of(c, pointer), pointer);
}

/* merge joins neighbouring unused blocks. */
static void merge(struct tl_region *r)
{
    struct tl_block *b = r->blocks;
    for (struct tl_block *next = b ? b->next : NULL; next; next = b->next) {
        if (b->used || next->used) {
            b = next;
            continue;
        }
        b->bytes += next->bytes;
        b->dirty = b->dirty || next->dirty;
        b->next = next->next;
        free(next);
    }
}

/* is_spare returns true if an empty region is kept. Making and unmapping one costs as much as
 * several copies of its size: 1.6 ms for 1 MiB. A program that returns memory gets rid of it, but
 * for one small region. */
static bool is_spare(const torus_context *c, const struct tl_region *empty)
{
    size_t others = 0;
    for (const struct tl_region *r = c->regions; r; r = r->next)
        if (r != empty && r->copies == empty->copies && (!r->copies || r->blocks_used == 0))
            others += r->bytes;
    return empty->copies ? others + empty->bytes <= SPARE_BYTES
                         : others == 0 && empty->bytes <= c->staging_bytes;
}

/* release marks a block as unused, and unmaps its region if that is empty and not needed. */
static void release(torus_context *c, struct tl_block *b)
{
    struct tl_region *r = b->region;
    b->used = false;
    b->dirty = true;
    r->blocks_used--;
    merge(r);
    if (r->blocks_used == 0 && !is_spare(c, r))
        drop_region(c, r, true);
}

int tl_memory_allocate(torus_context *c, size_t bytes, uint8_t **memory)
{
    struct tl_block *b = NULL;
    int error = allocate(c, bytes, true, &b);
    *memory = b ? b->region->base + b->offset : NULL;
    return error;
}

void tl_memory_free(torus_context *c, uint8_t *memory)
{
    struct tl_block *b = find(c, memory);
    if (b)
        release(c, b);
}

const char *tl_memory_check(torus_context *c, const char *buffer, const void *pointer, size_t bytes)
{
    struct tl_region *r = region_of(c, pointer);
    const struct tl_block *b = block_of(r, pointer);
    if (!r)
        return NULL;
    if (!b)
        return tl_sentence("the %s at %p is memory of torus_alloc that has been freed", buffer,
                           pointer);
    size_t offset = (size_t)((const uint8_t *)pointer - r->base);
    size_t left = b->offset + b->bytes - offset;
    return bytes <= left ? NULL
                         : tl_sentence("the %s needs %zu bytes at %p, but the memory of "
                                       "torus_alloc ends after %zu bytes",
                                       buffer, bytes, pointer, left);
}

int tl_memory_find(torus_context *c, const struct tl_role *role, const void *pointer, size_t bytes,
                   struct td_place *place, struct tl_block **block)
{
    struct tl_region *r = region_of(c, pointer);
    struct tl_block *b = block_of(r, pointer);
    *block = b;
    if (!r)
        return TORUS_OK;
    size_t offset = (size_t)((const uint8_t *)pointer - r->base);
    if (!b || bytes > b->offset + b->bytes - offset)
        return tl_fail(c, TORUS_ERR_INVALID, "%s: %s", role->call,
                       tl_memory_check(c, role->buffer, pointer, bytes));
    *place = (struct td_place){r->number, offset, bytes, NULL};
    return TORUS_OK;
}

void tl_memory_pin(struct tl_block *b)
{
    b->pins++;
}

void tl_memory_unpin(struct tl_block *b)
{
    b->pins--;
}

void tl_memory_fini(torus_context *c)
{
    while (c->regions)
        drop_region(c, c->regions, false);
}

void *torus_alloc(torus_context *c, size_t bytes)
{
    TL_GUARD_ELSE(c, NULL);
    int saved = errno;
    struct tl_block *b = NULL;
    if (!c)
        (void)tl_null(NULL, "torus_alloc", "context");
    else if (tl_ready(c) == TORUS_OK)
        (void)allocate(c, bytes, false, &b); /* its sentence is recorded */
    errno = saved;
    if (!b)
        return NULL;
    uint8_t *memory = b->region->base + b->offset;
    if (b->dirty)
        memset(memory, 0, b->bytes);
    return memory;
}

int torus_free(torus_context *c, void *memory)
{
    TL_GUARD(c);
    if (!memory)
        return TORUS_OK;
    if (!c)
        return tl_null(NULL, "torus_free", "context");
    if (c->pid != getpid())
        return tl_ready(c);
    struct tl_block *b = find(c, memory);
    if (!b || b->region->base + b->offset != memory)
        return tl_fail(c, TORUS_ERR_INVALID, "%p was not returned by torus_alloc", memory);
    if (b->pins)
        return tl_fail(c, TORUS_ERR_BUSY,
                       "operations in flight use the memory (%u): wait for them first", b->pins);
    release(c, b);
    return TORUS_OK;
}
