/* SPDX-License-Identifier: Apache-2.0 */
/* regions: memory that the daemon has mapped: scratch (handle 0) and the memory that clients share.
 *
 * A file is mapped only if it is exactly as large as announced and can neither change its size nor
 * allocate memory later: a memfd on tmpfs, sealed against shrinking, whose pages its client has
 * populated. After mapping it the daemon adds F_SEAL_GROW and F_SEAL_FUTURE_WRITE, with which Linux
 * refuses holes. Then it removes pages beyond the end, and all pages that the file has are those of
 * the region. So a client maps its memory before it shares it, and shares it once. The descriptor
 * is kept, as long as others are left, so that other processes of the user can map the memory; they
 * can only read it. If a page is lost all the same (SIGBUS), zeroes replace the region and the
 * region is marked as lost. Owns: the mappings. Invariant: a region stays mapped while it has
 * holders, even if it is released. The loop's thread changes the table; the signal handler and
 * workers only read it. */
#ifndef TD_IO_CLIENTS_REGIONS_H
#define TD_IO_CLIENTS_REGIONS_H

#include <sys/uio.h>

#include "base/errors.h"
#include "compute/compute.h"
#include "model/compute.h"

struct td_closer;
struct td_mapping;
struct td_regions;

/* td_regions_create maps scratch and installs the signal handler. It returns NULL if memory runs
 * out.
 */
struct td_regions *td_regions_create(uint64_t scratch_bytes, uint64_t uid_bytes_max);
/* td_regions_work_on sets the threads that populate large regions and unmap any. NULL: the caller
 * unmaps, and only small regions of clients are populated (mapping.h). */
void td_regions_work_on(struct td_regions *regions, struct td_closer *closer);
/* td_regions_most returns how many regions the kernel's limit of maps (vm.max_map_count) allows. */
uint32_t td_regions_most(void);
/* td_regions_bytes returns the bytes of all regions that are mapped, scratch included. */
uint64_t td_regions_bytes(const struct td_regions *regions);
void td_regions_destroy(struct td_regions *regions);
/* td_regions_reserve counts a file, with its bytes, to its user from now on. If the user may share
 * no more, that is the mapping's refusal. After td_mapping_make td_regions_add makes the file a
 * region and writes its handle, or counts it no more and returns the mapping's error. may_keep: the
 * region may take the descriptor. */
void td_regions_reserve(struct td_regions *regions, struct td_mapping *mapping);
td_err td_regions_add(struct td_regions *regions, struct td_mapping *mapping, bool may_keep,
                      uint32_t *handle);
/* td_regions_file maps a file. It leaves address space to the libraries of the daemon, which end
 * the process if they get none. It returns MAP_FAILED with errno. Any thread may call it. */
void *td_regions_file(int fd, uint64_t bytes);
/* td_regions_share makes and maps a file of zeroes that processes of uid are to map too, as often
 * as they like. The pages of its first `own` bytes, which the daemon uses, are allocated on a
 * thread: the system may have to look for a page, and take milliseconds for it. Those of the rest
 * are allocated as they are used. It returns the memory and sets *fd, which the caller closes;
 * NULL: no memory, no descriptor, or too much for uid. */
void *td_regions_share(struct td_regions *regions, uint64_t bytes, uint64_t own, uint64_t uid,
                       uint32_t *handle, int *fd);
/* td_regions_descriptor returns the descriptor of a region of uid, for another of its processes; it
 * stays open until the region is unmapped. -1: none was kept. */
int td_regions_descriptor(const struct td_regions *regions, uint32_t handle, uint64_t uid);
/* td_regions_prepare_scratch has the pages of a part of scratch memory made, which the first user
 * of each would wait for. */
void td_regions_prepare_scratch(struct td_regions *regions, uint64_t offset, uint64_t bytes);
/* td_regions_return_scratch gives the whole pages of a part of scratch memory back to the system.
 * No byte behind the part may be in use: its last huge page goes, too. */
void td_regions_return_scratch(struct td_regions *regions, uint64_t offset, uint64_t bytes);
/* td_regions_return_heap has a thread return the pages that malloc keeps: of packets, and FFTW's.
 */
void td_regions_return_heap(struct td_regions *regions);
/* td_regions_release unmaps the region once it has no holders. */
void td_regions_release(struct td_regions *regions, uint32_t handle);
/* td_regions_hold adds a holder; td_regions_drop removes one. */
void td_regions_hold(struct td_regions *regions, uint32_t handle);
void td_regions_drop(struct td_regions *regions, uint32_t handle);
/* td_regions_bases fills in addresses. `addresses` is an array of 2 * view->ranks. */
void td_regions_bases(const struct td_regions *regions, const struct td_view *view,
                      uint8_t **addresses, struct td_bases *bases);
/* td_regions_piece returns the address of bytes [offset, offset + bytes) of a slice and writes the
 * handle of their region, if they are contiguous; else NULL. */
uint8_t *td_regions_piece(const struct td_regions *regions, const struct td_view *view,
                          const struct td_slice *slice, uint64_t offset, uint64_t bytes,
                          uint32_t *handle);
/* struct td_pieces: memory of a slice in pieces, and the regions that it is in. */
enum { TD_PIECES_MAX = 256, TD_PIECES_REGIONS = 8 };
struct td_pieces {
    unsigned count, regions;
    struct iovec piece[TD_PIECES_MAX];
    uint32_t region[TD_PIECES_REGIONS];
};
/* td_regions_pieces writes the pieces of bytes [offset, offset + bytes) of a slice. It returns
 * false if they are too many, too short, or in too many regions. */
bool td_regions_pieces(const struct td_regions *regions, const struct td_view *view,
                       const struct td_slice *slice, uint64_t offset, uint64_t bytes,
                       struct td_pieces *pieces);
/* td_regions_lost returns the handle of a region that was lost since the last call, or 0. */
uint32_t td_regions_lost(struct td_regions *regions);
/* td_regions_any_lost returns true if td_regions_lost may return a handle. Workers may call it. */
bool td_regions_any_lost(void);

#endif
