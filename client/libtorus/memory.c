/* SPDX-License-Identifier: Apache-2.0 */
/* Shared memory. A region is a sealed memfd that the daemon has mapped; small blocks share one,
 * large ones have their own. Blocks of a region are kept in order of address, free ones merged. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

enum { ALIGNMENT = 64, PAGE = 4096 };

struct block {
    struct block *next; /* by address */
    struct region *region;
    size_t offset, bytes;
    bool taken, dirty; /* dirty: was in use before, so it is not zero */
    uint32_t holders;  /* operations in flight */
};

struct region {
    struct region *next;
    uint32_t number;
    uint8_t *base;
    size_t bytes, used;
    struct block *blocks;
};

static int make_file(torus_context *c, size_t bytes)
{
    /* looked at first: populating more than the machine has would end in somebody's death */
    uint64_t most = c->region_bytes_max,
             has = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    if (bytes > most || c->region_bytes > most - bytes || bytes > has) {
        tl_fail(c, TORUS_ERR_NO_MEMORY,
                "%zu more bytes of shared memory cannot be had: this process has %llu of the %llu "
                "that [limits] region allows its user, and the machine has %llu",
                bytes, (unsigned long long)c->region_bytes, (unsigned long long)most,
                (unsigned long long)has);
        return -1;
    }
    int fd = memfd_create("torus", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int error = fd < 0 ? errno : 0;
    /* populate before sealing: the daemon must never find a page missing */
    if (!error && ftruncate(fd, (off_t)bytes) != 0)
        error = errno;
    if (!error && fallocate(fd, 0, 0, (off_t)bytes) != 0)
        error = errno;
    if (!error && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        error = errno;
    if (!error)
        return fd;
    if (fd >= 0)
        close(fd);
    tl_fail(c, TORUS_ERR_NO_MEMORY, "%zu bytes of shared memory cannot be had: %s", bytes,
            strerror(error));
    return -1;
}

static struct region *add_region(torus_context *c, size_t bytes)
{
    struct region *r = calloc(1, sizeof *r);
    struct block *b = calloc(1, sizeof *b);
    int fd = r && b ? make_file(c, bytes) : -1;
    void *base = fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int error = base == MAP_FAILED ? TORUS_ERR_NO_MEMORY : TORUS_OK;
    if (error == TORUS_OK) {
        struct td_reply reply;
        struct td_request q = {.kind = TD_REQUEST_REGION};
        q.u.region.region = c->next_region;
        q.u.region.bytes = bytes;
        error = tl_call(c, &q, fd, -1, &reply);
    } else if (fd >= 0) {
        tl_fail(c, error, "%zu bytes cannot be mapped: %s", bytes, strerror(errno));
    } else if (!r || !b) {
        tl_fail(c, error, "no memory");
    }
    if (fd >= 0)
        close(fd);
    if (error != TORUS_OK) {
        if (base != MAP_FAILED)
            munmap(base, bytes);
        free(r);
        free(b);
        return NULL;
    }
    *b = (struct block){.region = r, .bytes = bytes};
    *r = (struct region){
        .next = c->regions, .number = c->next_region++, .base = base, .bytes = bytes, .blocks = b};
    c->regions = r;
    c->region_bytes += bytes;
    return r;
}

static void drop_region(torus_context *c, struct region *r, bool tell)
{
    struct region **link = &c->regions;
    while (*link != r)
        link = &(*link)->next;
    *link = r->next;
    if (tell && !c->lost) {
        struct td_request q = {.kind = TD_REQUEST_UNREGION};
        q.u.region.region = r->number;
        tl_send(c, &q, -1);
    }
    c->region_bytes -= r->bytes;
    munmap(r->base, r->bytes);
    while (r->blocks) {
        struct block *b = r->blocks;
        r->blocks = b->next;
        free(b);
    }
    free(r);
}

/* carve takes `bytes` from a free block of the region; NULL: there is none that large. */
static struct block *carve(struct region *r, size_t bytes)
{
    for (struct block *b = r->blocks; b; b = b->next) {
        if (b->taken || b->bytes < bytes)
            continue;
        if (b->bytes - bytes >= ALIGNMENT) {
            struct block *rest = malloc(sizeof *rest);
            if (!rest)
                return NULL;
            *rest = (struct block){.next = b->next,
                                   .region = r,
                                   .offset = b->offset + bytes,
                                   .bytes = b->bytes - bytes,
                                   .dirty = b->dirty};
            b->next = rest;
            b->bytes = bytes;
        }
        b->taken = true;
        r->used++;
        return b;
    }
    return NULL;
}

static struct block *take(torus_context *c, size_t bytes)
{
    if (bytes > SIZE_MAX / 2) {
        tl_fail(c, TORUS_ERR_NO_MEMORY, "%zu bytes are more than there can be", bytes);
        return NULL;
    }
    size_t need = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    need = need ? need : ALIGNMENT;
    struct block *b = NULL;
    for (struct region *r = c->regions; r && !b; r = r->next)
        b = carve(r, need);
    if (b)
        return b;
    size_t size = need > c->staging_bytes ? need : c->staging_bytes;
    struct region *r = add_region(c, (size + PAGE - 1) / PAGE * PAGE);
    return r ? carve(r, need) : NULL;
}

static struct region *region_of(torus_context *c, const void *pointer)
{
    const uint8_t *p = pointer;
    struct region *r = c->regions;
    while (r && (p < r->base || p >= r->base + r->bytes))
        r = r->next;
    return r;
}

static struct block *block_of(struct region *r, const void *pointer)
{
    size_t offset = r ? (size_t)((const uint8_t *)pointer - r->base) : 0;
    struct block *b = r ? r->blocks : NULL;
    while (b && (offset < b->offset || offset >= b->offset + b->bytes))
        b = b->next;
    return b && b->taken ? b : NULL;
}

static struct block *find(torus_context *c, const void *pointer)
{
    return block_of(region_of(c, pointer), pointer);
}

static void merge(struct region *r)
{
    for (struct block *b = r->blocks; b && b->next;) {
        struct block *next = b->next;
        if (b->taken || next->taken) {
            b = next;
            continue;
        }
        b->bytes += next->bytes;
        b->dirty = b->dirty || next->dirty;
        b->next = next->next;
        free(next);
    }
}

static void give(torus_context *c, struct block *b)
{
    struct region *r = b->region;
    b->taken = false;
    b->dirty = true;
    r->used--;
    merge(r);
    /* one region is kept for the next plain pointer; large ones go back at once */
    if (r->used == 0 && (r->bytes > c->staging_bytes || r->next || c->regions != r))
        drop_region(c, r, true);
}

uint8_t *tl_memory_take(torus_context *c, size_t bytes)
{
    struct block *b = take(c, bytes);
    return b ? b->region->base + b->offset : NULL;
}

void tl_memory_give(torus_context *c, uint8_t *memory)
{
    struct block *b = find(c, memory);
    if (b)
        give(c, b);
}

int tl_memory_find(torus_context *c, const void *pointer, size_t bytes, struct td_place *place,
                   struct block **block)
{
    struct region *r = region_of(c, pointer);
    struct block *b = block_of(r, pointer);
    *block = b;
    if (!r)
        return TORUS_OK;
    if (!b)
        return tl_fail(c, TORUS_ERR_INVALID,
                       "the buffer at %p is memory of torus_alloc that was freed", pointer);
    size_t offset = (size_t)((const uint8_t *)pointer - r->base);
    if (bytes > b->offset + b->bytes - offset)
        return tl_fail(c, TORUS_ERR_INVALID,
                       "the call needs %zu bytes at %p, but the memory of torus_alloc there ends "
                       "after %zu",
                       bytes, pointer, b->offset + b->bytes - offset);
    *place = (struct td_place){r->number, offset, bytes};
    return TORUS_OK;
}

void tl_memory_hold(struct block *b)
{
    b->holders++;
}

void tl_memory_let_go(struct block *b)
{
    b->holders--;
}

void tl_memory_fini(torus_context *c)
{
    while (c->regions)
        drop_region(c, c->regions, false);
}

void *torus_alloc(torus_context *c, size_t bytes)
{
    int saved = errno;
    struct block *b = tl_ready(c) == TORUS_OK ? take(c, bytes) : NULL;
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
    if (!memory)
        return TORUS_OK;
    if (c->pid != getpid())
        return tl_ready(c);
    struct block *b = find(c, memory);
    if (!b || b->region->base + b->offset != memory)
        return tl_fail(c, TORUS_ERR_INVALID, "%p is not from torus_alloc", memory);
    if (b->holders)
        return tl_fail(c, TORUS_ERR_BUSY, "%u operations in flight use the memory", b->holders);
    give(c, b);
    return TORUS_OK;
}
