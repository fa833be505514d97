/* SPDX-License-Identifier: Apache-2.0 */
/* collectives: the public collectives. Each entry maps arguments to struct tl_collective. */
#include "persistent.h"
#include "start.h"

/* FORMS defines the three forms of a collective: blocking, non-blocking and persistent. */
/* clang-format would read the pointers as products. */
/* clang-format off */
#define ARGUMENTS(...) __VA_ARGS__
#define FORMS(name, arguments, ...)                                                                \
    int torus_##name(ARGUMENTS arguments)                                                          \
    {                                                                                              \
        const struct tl_collective what = {__VA_ARGS__};                                           \
        return tl_run(&what);                                                                      \
    }                                                                                              \
    int torus_i##name(ARGUMENTS arguments, torus_request **request)                                \
    {                                                                                              \
        const struct tl_collective what = {__VA_ARGS__};                                           \
        return tl_start(&what, request);                                                           \
    }                                                                                              \
    int torus_##name##_init(ARGUMENTS arguments, torus_persistent **persistent)                    \
    {                                                                                              \
        const struct tl_collective what = {__VA_ARGS__};                                           \
        return tl_persistent_new(&what, persistent);                                                         \
    }

FORMS(barrier, (torus_group *group), .group = group, .kind = TD_KIND_BARRIER)

FORMS(broadcast, (torus_group *group, void *buffer, size_t count, int type, uint32_t root),
      .group = group, .kind = TD_KIND_BROADCAST, .destination = buffer, .count = count,
      .type = type, .root = root)

/* ---- reductions ---- */

FORMS(reduce,
      (torus_group *group, const void *source, void *destination, size_t count, int type, int op,
       uint32_t root),
      .group = group, .kind = TD_KIND_REDUCE, .source = source, .destination = destination,
      .count = count, .type = type, .op = op, .root = root)

FORMS(allreduce,
      (torus_group *group, const void *source, void *destination, size_t count, int type, int op),
      .group = group, .kind = TD_KIND_ALLREDUCE, .source = source, .destination = destination,
      .count = count, .type = type, .op = op)

FORMS(reduce_scatter,
      (torus_group *group, const void *source, void *destination, size_t count, int type, int op),
      .group = group, .kind = TD_KIND_REDUCE_SCATTER, .source = source, .destination = destination,
      .count = count, .type = type, .op = op)

FORMS(reduce_scatterv,
      (torus_group *group, const void *source, void *destination, const size_t *counts, int type,
       int op),
      .group = group, .kind = TD_KIND_REDUCE_SCATTERV, .source = source, .destination = destination,
      .to = {.count = counts}, .type = type, .op = op)

FORMS(scan,
      (torus_group *group, const void *source, void *destination, size_t count, int type, int op),
      .group = group, .kind = TD_KIND_SCAN, .source = source, .destination = destination,
      .count = count, .type = type, .op = op)

FORMS(exscan,
      (torus_group *group, const void *source, void *destination, size_t count, int type, int op),
      .group = group, .kind = TD_KIND_EXSCAN, .source = source, .destination = destination,
      .count = count, .type = type, .op = op)

FORMS(prefix,
      (torus_group *group, const void *source, void *destination, size_t count, int type, int op),
      .group = group, .kind = TD_KIND_PREFIX, .source = source, .destination = destination,
      .count = count, .type = type, .op = op)

/* ---- gather, scatter, allgather ---- */

FORMS(gather,
      (torus_group *group, const void *source, void *destination, size_t count, int type,
       uint32_t root),
      .group = group, .kind = TD_KIND_GATHER, .source = source, .destination = destination,
      .count = count, .type = type, .root = root)

FORMS(gatherv,
      (torus_group *group, const void *source, size_t count, void *destination,
       const size_t *counts, const size_t *places, int type, uint32_t root),
      .group = group, .kind = TD_KIND_GATHERV, .source = source, .destination = destination,
      .count = count, .to = {counts, places}, .type = type, .root = root)

FORMS(scatter,
      (torus_group *group, const void *source, void *destination, size_t count, int type,
       uint32_t root),
      .group = group, .kind = TD_KIND_SCATTER, .source = source, .destination = destination,
      .count = count, .type = type, .root = root)

FORMS(scatterv,
      (torus_group *group, const void *source, const size_t *counts, const size_t *places,
       void *destination, size_t count, int type, uint32_t root),
      .group = group, .kind = TD_KIND_SCATTERV, .source = source, .destination = destination,
      .count = count, .from = {counts, places}, .type = type, .root = root)

FORMS(allgather,
      (torus_group *group, const void *source, void *destination, size_t count, int type),
      .group = group, .kind = TD_KIND_ALLGATHER, .source = source, .destination = destination,
      .count = count, .type = type)

FORMS(allgatherv,
      (torus_group *group, const void *source, size_t count, void *destination,
       const size_t *counts, const size_t *places, int type),
      .group = group, .kind = TD_KIND_ALLGATHERV, .source = source, .destination = destination,
      .count = count, .to = {counts, places}, .type = type)

/* ---- all-to-all and neighbours ---- */

FORMS(alltoall,
      (torus_group *group, const void *source, void *destination, size_t count, int type),
      .group = group, .kind = TD_KIND_ALLTOALL, .source = source, .destination = destination,
      .count = count, .type = type)

FORMS(alltoallv,
      (torus_group *group, const void *source, const size_t *source_counts,
       const size_t *source_places, void *destination, const size_t *destination_counts,
       const size_t *destination_places, int type),
      .group = group, .kind = TD_KIND_ALLTOALLV, .source = source, .destination = destination,
      .from = {source_counts, source_places}, .to = {destination_counts, destination_places},
      .type = type)

FORMS(neighbour_alltoall,
      (torus_group *group, const struct torus_grid *grid, const void *source, void *destination,
       size_t count, int type),
      .group = group, .kind = TD_KIND_NEIGHBOUR_ALLTOALLV, .grid = grid, .source = source,
      .destination = destination, .count = count, .uniform = true, .type = type)

FORMS(neighbour_alltoallv,
      (torus_group *group, const struct torus_grid *grid, const void *source,
       const size_t *source_counts, const size_t *source_places, void *destination,
       const size_t *destination_counts, const size_t *destination_places, int type),
      .group = group, .kind = TD_KIND_NEIGHBOUR_ALLTOALLV, .grid = grid, .source = source,
      .destination = destination, .from = {source_counts, source_places},
      .to = {destination_counts, destination_places}, .type = type)
