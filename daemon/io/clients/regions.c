/* SPDX-License-Identifier: Apache-2.0 */
#include "regions.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/limits.h"
#include "compute/walk.h"
#include "closer.h"
#include "io/log.h"
#include "mapping.h"
#include "system/limits.h"
#include "system/memory_file.h"

enum {
    HUGE_PAGE_BYTES = 1 << 21,
    PIECE_BYTES = 1024,    /* to copy shorter pieces costs less than to name them to the system */
    SHARED_PART = 8,       /* of a user's memory: most of all files made here */
    SPARE_BYTES = 1 << 28, /* of address space */
    KEPT_PART = 4,         /* of the descriptors of this process: most that regions keep; */
    KEPT_UID_PART = 2,     /* of these: most of one user */
};

struct region {
    uint8_t *base; /* NULL: unused, or `reserved` */
    uint64_t bytes, uid;
    int fd; /* -1: none is kept */
    uint32_t holders;
    bool reserved; /* for a file that is being mapped */
    bool released;
    bool shared; /* td_regions_share made it */
    _Atomic bool lost;
    bool lost_reported;
};

struct td_regions {
    uint64_t uid_bytes_max;
    struct td_closer *closer;
    uint32_t kept_max; /* descriptors */
    uint32_t count;    /* entries used so far */
    struct region region[TD_REGIONS_MAX];
    struct td_log_rate unshared_log;
};

/* State of the signal handler. A process has one daemon. */
static struct td_regions *_Atomic watched;
static _Atomic bool any_lost;
static struct sigaction before;

static void on_sigbus(int signal, siginfo_t *info, void *context)
{
    struct td_regions *r = atomic_load(&watched);
    uint8_t *at = info->si_addr;
    int saved = errno;
    for (uint32_t i = 0; r && i < r->count; i++) {
        struct region *g = &r->region[i];
        if (!g->base || at < g->base || at >= g->base + g->bytes)
            continue;
        if (mmap(g->base, g->bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED)
            break;
        atomic_store(&g->lost, true);
        atomic_store(&any_lost, true);
        errno = saved;
        return;
    }
    (void)signal;
    (void)context;
    sigaction(SIGBUS, &before, NULL); /* not in a region: the fault repeats and ends the process */
}

struct td_regions *td_regions_create(uint64_t scratch_bytes, uint64_t uid_bytes_max)
{
    struct td_regions *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    void *scratch = mmap(NULL, scratch_bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (scratch == MAP_FAILED) {
        free(r);
        return NULL;
    }
    /* transposes stride through scratch; with pages of 4 KiB each stride would cost a fault and a
     * TLB entry */
    (void)madvise(scratch, scratch_bytes, MADV_HUGEPAGE);
    struct rlimit limit;
    r->uid_bytes_max = uid_bytes_max;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        r->kept_max = limit.rlim_cur / KEPT_PART < TD_REGIONS_MAX
                          ? (uint32_t)limit.rlim_cur / KEPT_PART
                          : TD_REGIONS_MAX;
    r->region[TD_SCRATCH_HANDLE].base = scratch;
    r->region[TD_SCRATCH_HANDLE].bytes = scratch_bytes;
    r->region[TD_SCRATCH_HANDLE].fd = -1;
    r->count = 1;
    atomic_store(&watched, r);
    struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &before);
    return r;
}

uint32_t td_regions_most(void)
{
    enum { USUAL = 65530, OTHER_MAPS = 16384 }; /* of libraries, threads and buffers */
    unsigned maps = USUAL;
    FILE *f = fopen("/proc/sys/vm/max_map_count", "re");
    if (f && fscanf(f, "%u", &maps) != 1)
        maps = USUAL;
    if (f)
        fclose(f);
    return maps > 2 * OTHER_MAPS ? maps - OTHER_MAPS : maps / 2;
}

uint64_t td_regions_bytes(const struct td_regions *r)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < r->count; i++)
        bytes += r->region[i].base ? r->region[i].bytes : 0;
    return bytes;
}

/* let_go closes the descriptor of a region that is mapped: that frees no memory yet. */
static void let_go(struct region *g)
{
    if (g->fd >= 0)
        close(g->fd);
    g->fd = -1;
}

static void unmap(struct region *g)
{
    let_go(g);
    munmap(g->base, g->bytes);
    *g = (struct region){0};
}

void td_regions_destroy(struct td_regions *r)
{
    if (!r)
        return;
    sigaction(SIGBUS, &before, NULL);
    atomic_store(&watched, NULL);
    for (uint32_t i = 0; i < r->count; i++)
        if (r->region[i].base)
            unmap(&r->region[i]);
    free(r);
}

/* is_taken returns true if an entry is mapped, or kept for a file that is being mapped. */
static bool is_taken(const struct region *g)
{
    return g->base || g->reserved;
}

static uint64_t bytes_of_uid(const struct td_regions *r, uint64_t uid)
{
    uint64_t bytes = 0;
    for (uint32_t i = 1; i < r->count; i++)
        if (is_taken(&r->region[i]) && r->region[i].uid == uid)
            bytes += r->region[i].bytes;
    return bytes;
}

/* may_keep_one returns true if the descriptor of one more region of uid may be kept. */
static bool may_keep_one(const struct td_regions *r, uint64_t uid)
{
    uint32_t kept = 0, own = 0;
    for (uint32_t i = 1; i < r->count; i++) {
        bool keeps = r->region[i].base && r->region[i].fd >= 0;
        kept += keeps;
        own += keeps && r->region[i].uid == uid;
    }
    return kept < r->kept_max && own < r->kept_max / KEPT_UID_PART;
}

int td_regions_descriptor(const struct td_regions *r, uint32_t handle, uint64_t uid)
{
    const struct region *g = &r->region[handle];
    return g->uid == uid && !atomic_load(&g->lost) ? g->fd : -1;
}

void td_regions_prepare_scratch(struct td_regions *r, uint64_t offset, uint64_t bytes)
{
    const struct region *g = &r->region[TD_SCRATCH_HANDLE];
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), begin = offset / page * page;
    if (r->closer && offset <= g->bytes && bytes <= g->bytes - offset)
        td_closer_populate(r->closer, TD_CLOSER_NOBODY, g->base + begin, offset + bytes - begin);
}

void td_regions_return_scratch(struct td_regions *r, uint64_t offset, uint64_t bytes)
{
    const struct region *g = &r->region[TD_SCRATCH_HANDLE];
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), begin = (offset + page - 1) / page * page;
    uint64_t over = (uintptr_t)(g->base + offset + bytes) % HUGE_PAGE_BYTES;
    uint64_t end = offset + bytes + (over ? HUGE_PAGE_BYTES - over : 0);
    end = end < g->bytes ? end : g->bytes;
    if (begin < end)
        (void)madvise(g->base + begin, end - begin, MADV_DONTNEED);
}

void td_regions_return_heap(struct td_regions *r)
{
    if (r->closer)
        td_closer_trim(r->closer);
}

void *td_regions_file(int fd, uint64_t bytes)
{
    uint64_t left = td_limit_space_bytes();
    void *base = MAP_FAILED;
    errno = ENOMEM;
    if (left >= SPARE_BYTES && bytes <= left - SPARE_BYTES)
        base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED || td_limit_space_bytes() >= SPARE_BYTES / 2)
        return base;
    munmap(base, bytes); /* other threads have mapped memory meanwhile */
    errno = ENOMEM;
    return MAP_FAILED;
}

/* free_entry returns an entry that is not used, and counts it, or TD_REGIONS_MAX. */
static uint32_t free_entry(struct td_regions *r)
{
    uint32_t i = 1;
    while (i < r->count && is_taken(&r->region[i]))
        i++;
    if (i == r->count && i < TD_REGIONS_MAX)
        r->count++;
    return i;
}

void td_regions_reserve(struct td_regions *r, struct td_mapping *m)
{
    uint64_t shares = bytes_of_uid(r, m->uid);
    uint32_t i = free_entry(r);
    m->entry = 0;
    m->refusal[0] = '\0';
    if (m->bytes > r->uid_bytes_max || shares > r->uid_bytes_max - m->bytes) {
        snprintf(m->refusal, sizeof m->refusal,
                 "uid %llu already shares %llu bytes; %llu more exceed the limit of %llu: raise "
                 "[limits] region",
                 (unsigned long long)m->uid, (unsigned long long)shares,
                 (unsigned long long)m->bytes, (unsigned long long)r->uid_bytes_max);
    } else if (i == TD_REGIONS_MAX) {
        snprintf(m->refusal, sizeof m->refusal,
                 "the daemon cannot map the memory: too many regions are shared; free some first");
    } else {
        r->region[i] =
            (struct region){.bytes = m->bytes, .uid = m->uid, .fd = -1, .reserved = true};
        m->entry = i;
    }
}

td_err td_regions_add(struct td_regions *r, struct td_mapping *m, bool may_keep, uint32_t *handle)
{
    struct region *g = &r->region[m->entry];
    if (m->error != TD_OK) {
        if (m->entry)
            *g = (struct region){0};
        m->entry = 0;
        return m->error;
    }
    assert(m->entry);
    g->reserved = false;
    if (may_keep && may_keep_one(r, m->uid)) {
        g->fd = m->fd;
        m->fd = -1;
    }
    g->base = m->base;
    m->base = NULL;
    *handle = m->entry;
    if (r->closer && g->bytes > TD_MAPPING_SMALL_BYTES)
        td_closer_populate(r->closer, g->uid, g->base, g->bytes);
    return TD_OK;
}

static uint64_t shared_of_uid(const struct td_regions *r, uint64_t uid)
{
    uint64_t bytes = 0;
    for (uint32_t i = 1; i < r->count; i++)
        if (r->region[i].base && r->region[i].uid == uid && r->region[i].shared)
            bytes += r->region[i].bytes;
    return bytes;
}

void *td_regions_share(struct td_regions *r, uint64_t bytes, uint64_t own, uint64_t uid,
                       uint32_t *handle, int *fd)
{
    /* it must not take the room that the user's own memory needs */
    uint64_t most = r->uid_bytes_max / SHARED_PART;
    uint32_t i = free_entry(r);
    bool refused = i == TD_REGIONS_MAX || bytes > most || shared_of_uid(r, uid) > most - bytes ||
                   bytes_of_uid(r, uid) > r->uid_bytes_max / 2;
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    char why[TD_LIMIT_TEXT];
    *fd = -1;
    if (refused)
        return NULL;
    *fd = td_memory_file("torus segment", bytes, false, seals, why, sizeof why);
    void *base = *fd < 0 ? MAP_FAILED : td_regions_file(*fd, bytes);
    if (base == MAP_FAILED) {
        if (*fd >= 0) {
            td_limit_why(errno, why, sizeof why);
            close(*fd);
            *fd = -1;
        }
        td_log_rated(&r->unshared_log, uv_hrtime(), TD_LOG_WARNING,
                     "cannot make %llu bytes of memory for the ranks of a job, whose calls then "
                     "take requests: %s",
                     (unsigned long long)bytes, why);
        return NULL;
    }
    r->region[i] = (struct region){.bytes = bytes, .uid = uid, .fd = -1, .shared = true};
    r->region[i].base = base;
    if (r->closer)
        td_closer_touch(r->closer, uid, base, own);
    *handle = i;
    return base;
}

static void unmap_if_unused(struct td_regions *r, struct region *g)
{
    if (!g->released || g->holders > 0)
        return;
    if (r->closer) {
        let_go(g);
        td_closer_unmap(r->closer, g->uid, g->base, g->bytes);
        *g = (struct region){0};
    } else {
        unmap(g);
    }
}

void td_regions_work_on(struct td_regions *r, struct td_closer *closer)
{
    r->closer = closer;
}

void td_regions_release(struct td_regions *r, uint32_t handle)
{
    r->region[handle].released = true;
    unmap_if_unused(r, &r->region[handle]);
}

void td_regions_hold(struct td_regions *r, uint32_t handle)
{
    r->region[handle].holders++;
}

void td_regions_drop(struct td_regions *r, uint32_t handle)
{
    r->region[handle].holders--;
    unmap_if_unused(r, &r->region[handle]);
}

static uint8_t *address(const struct td_regions *r, const struct td_memory *m)
{
    return m->handle == TD_NO_MEMORY ? NULL : r->region[m->handle].base + m->offset;
}

void td_regions_bases(const struct td_regions *r, const struct td_view *view, uint8_t **addresses,
                      struct td_bases *bases)
{
    for (uint32_t i = 0; i < view->ranks; i++) {
        addresses[i] = address(r, &view->source[i]);
        addresses[view->ranks + i] = address(r, &view->destination[i]);
    }
    *bases = (struct td_bases){.source = addresses,
                               .destination = addresses + view->ranks,
                               .scratch = r->region[TD_SCRATCH_HANDLE].base + view->scratch_offset};
    td_bases_forms(bases, view);
}

/* owner returns the handle of the region that holds byte `at` of a slice. */
static uint32_t owner(const struct td_slice *s, const struct td_view *view, uint64_t at)
{
    bool destination = s->space == TD_SPACE_DESTINATION;
    if (s->space == TD_SPACE_SCRATCH)
        return TD_SCRATCH_HANDLE;
    return (destination ? view->destination : view->source)[td_compute_rank(s, at)].handle;
}

uint8_t *td_regions_piece(const struct td_regions *r, const struct td_view *view,
                          const struct td_slice *slice, uint64_t offset, uint64_t bytes,
                          uint32_t *handle)
{
    uint8_t *addresses[2 * TD_NODE_RANKS_MAX];
    struct td_bases bases;
    td_regions_bases(r, view, addresses, &bases);
    const uint8_t *piece = td_compute_contiguous(slice, &bases, offset, bytes);
    if (!piece)
        return NULL;
    *handle = owner(slice, view, offset);
    return (uint8_t *)(uintptr_t)piece;
}

/* region_at returns the handle of the region of a slice that has this address: scratch, or one of
 * the view. */
static uint32_t region_at(const struct td_regions *r, const struct td_view *view,
                          const struct td_slice *slice, const uint8_t *at)
{
    if (slice->space == TD_SPACE_SCRATCH)
        return TD_SCRATCH_HANDLE;
    const struct td_memory *memory =
        slice->space == TD_SPACE_DESTINATION ? view->destination : view->source;
    for (uint32_t i = 0; i < view->ranks; i++) {
        const struct region *g =
            memory[i].handle == TD_NO_MEMORY ? NULL : &r->region[memory[i].handle];
        if (g && at >= g->base && at < g->base + g->bytes)
            return memory[i].handle;
    }
    return TD_NO_MEMORY;
}

/* note_region adds the region of a piece; false: there are too many. */
static bool note_region(struct td_pieces *pieces, uint32_t handle)
{
    for (unsigned i = 0; i < pieces->regions; i++)
        if (pieces->region[i] == handle)
            return true;
    if (handle == TD_NO_MEMORY || pieces->regions == TD_PIECES_REGIONS)
        return false;
    pieces->region[pieces->regions++] = handle;
    return true;
}

bool td_regions_pieces(const struct td_regions *r, const struct td_view *view,
                       const struct td_slice *slice, uint64_t offset, uint64_t bytes,
                       struct td_pieces *pieces)
{
    uint8_t *addresses[2 * TD_NODE_RANKS_MAX];
    struct td_bases bases;
    struct td_walk walk;
    int64_t size = 0;
    uint64_t most = bytes / PIECE_BYTES + 2; /* the first and the last one may be shorter */
    most = most < TD_PIECES_MAX ? most : TD_PIECES_MAX;
    pieces->count = pieces->regions = 0;
    uint8_t *whole = td_regions_piece(r, view, slice, offset, bytes, &pieces->region[0]);
    if (whole) {
        pieces->piece[0] = (struct iovec){whole, bytes};
        pieces->count = pieces->regions = 1;
        return true;
    }
    td_regions_bases(r, view, addresses, &bases);
    td_walk_start(&walk, slice, &bases, NULL, 0, offset);
    for (int64_t left = (int64_t)bytes; left > 0; left -= size) {
        uint8_t *at = pieces->count < most ? td_walk_piece(&walk, left, &size) : NULL;
        if (!at || !note_region(pieces, region_at(r, view, slice, at)))
            return false;
        pieces->piece[pieces->count++] = (struct iovec){at, (size_t)size};
    }
    return true;
}

bool td_regions_any_lost(void)
{
    return atomic_load(&any_lost);
}

uint32_t td_regions_lost(struct td_regions *r)
{
    for (uint32_t i = 1; i < r->count; i++)
        if (r->region[i].base && atomic_load(&r->region[i].lost) && !r->region[i].lost_reported) {
            r->region[i].lost_reported = true;
            return i;
        }
    atomic_store(&any_lost, false);
    return 0;
}
