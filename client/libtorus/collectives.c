/* SPDX-License-Identifier: Apache-2.0 */
/* collectives: the public collectives. Each entry maps arguments to struct tl_collective. */
#include "persistent.h"
#include "start.h"

/* FORMS defines the three forms of a collective: blocking, non-blocking and persistent. */
/* clang-format would read the pointers as products. */
/* clang-format off */
#define ARGUMENTS(...) __VA_ARGS__
#define FORMS(form, arguments, ...)                                                                \
    int torus_##form(ARGUMENTS arguments)                                                          \
    {                                                                                              \
        const struct tl_collective what = {.name = #form, __VA_ARGS__};                            \
        return tl_run(&what);                                                                      \
    }                                                                                              \
    int torus_i##form(ARGUMENTS arguments, torus_request **request)                                \
    {                                                                                              \
        const struct tl_collective what = {.name = #form, __VA_ARGS__};                            \
        return tl_start(&what, request);                                                           \
    }                                                                                              \
    int torus_##form##_init(ARGUMENTS arguments, torus_persistent **persistent)                    \
    {                                                                                              \
        const struct tl_collective what = {.name = #form, __VA_ARGS__};                            \
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
       const size_t *counts, const ptrdiff_t *places, int type, uint32_t root),
      .group = group, .kind = TD_KIND_GATHERV, .source = source, .destination = destination,
      .count = count, .to = {.count = counts, .at = places}, .type = type, .root = root)

FORMS(scatter,
      (torus_group *group, const void *source, void *destination, size_t count, int type,
       uint32_t root),
      .group = group, .kind = TD_KIND_SCATTER, .source = source, .destination = destination,
      .count = count, .type = type, .root = root)

FORMS(scatterv,
      (torus_group *group, const void *source, const size_t *counts, const ptrdiff_t *places,
       void *destination, size_t count, int type, uint32_t root),
      .group = group, .kind = TD_KIND_SCATTERV, .source = source, .destination = destination,
      .count = count, .from = {.count = counts, .at = places}, .type = type, .root = root)

FORMS(allgather,
      (torus_group *group, const void *source, void *destination, size_t count, int type),
      .group = group, .kind = TD_KIND_ALLGATHER, .source = source, .destination = destination,
      .count = count, .type = type)

FORMS(allgatherv,
      (torus_group *group, const void *source, size_t count, void *destination,
       const size_t *counts, const ptrdiff_t *places, int type),
      .group = group, .kind = TD_KIND_ALLGATHERV, .source = source, .destination = destination,
      .count = count, .to = {.count = counts, .at = places}, .type = type)

/* ---- all-to-all and neighbours ---- */

FORMS(alltoall,
      (torus_group *group, const void *source, void *destination, size_t count, int type),
      .group = group, .kind = TD_KIND_ALLTOALL, .source = source, .destination = destination,
      .count = count, .type = type)

FORMS(alltoallv,
      (torus_group *group, const void *source, const size_t *source_counts,
       const ptrdiff_t *source_places, void *destination, const size_t *destination_counts,
       const ptrdiff_t *destination_places, int type),
      .group = group, .kind = TD_KIND_ALLTOALLV, .source = source, .destination = destination,
      .from = {.count = source_counts, .at = source_places},
      .to = {.count = destination_counts, .at = destination_places}, .type = type)

FORMS(alltoallw,
      (torus_group *group, const void *source, const size_t *source_counts,
       const ptrdiff_t *source_places, const int *source_types, void *destination,
       const size_t *destination_counts, const ptrdiff_t *destination_places,
       const int *destination_types),
      .group = group, .kind = TD_KIND_ALLTOALLV, .digest_kind = TD_DIGEST_ALLTOALLW,
      .source = source, .destination = destination, .typed = true,
      .from = {source_counts, NULL, source_types, source_places},
      .to = {destination_counts, NULL, destination_types, destination_places})

/* NEIGHBOUR_FORMS defines the exchanges with neighbours: those on a grid, or by the edges of a
 * graph. */
#define NEIGHBOUR_FORMS(name, of, v, w, gather)                                                    \
    FORMS(name##_alltoall,                                                                         \
          (torus_group *group, const struct torus_##of *of, const void *source, void *destination, \
           size_t count, int type),                                                                \
          .group = group, .kind = TD_KIND_NEIGHBOUR_ALLTOALLV, .digest_kind = v,                   \
          .neighbours = {.of = of}, .source = source, .destination = destination, .count = count,  \
          .uniform = true, .type = type)                                                           \
    FORMS(name##_alltoallv,                                                                        \
          (torus_group *group, const struct torus_##of *of, const void *source,                    \
           const size_t *source_counts, const ptrdiff_t *source_places, void *destination,            \
           const size_t *destination_counts, const ptrdiff_t *destination_places, int type),          \
          .group = group, .kind = TD_KIND_NEIGHBOUR_ALLTOALLV, .digest_kind = v,                   \
          .neighbours = {.of = of}, .source = source, .destination = destination,                  \
          .from = {.count = source_counts, .at = source_places},                                   \
          .to = {.count = destination_counts, .at = destination_places}, .type = type)             \
    FORMS(name##_alltoallw,                                                                        \
          (torus_group *group, const struct torus_##of *of, const void *source,                    \
           const size_t *source_counts, const ptrdiff_t *source_places, const int *source_types,   \
           void *destination, const size_t *destination_counts,                                    \
           const ptrdiff_t *destination_places, const int *destination_types),                     \
          .group = group, .kind = TD_KIND_NEIGHBOUR_ALLTOALLV, .digest_kind = w,                   \
          .neighbours = {.of = of}, .source = source, .destination = destination, .typed = true,   \
          .from = {source_counts, NULL, source_types, source_places},                              \
          .to = {destination_counts, NULL, destination_types, destination_places})                 \
    FORMS(name##_allgather,                                                                        \
          (torus_group *group, const struct torus_##of *of, const void *source, void *destination, \
           size_t count, int type),                                                                \
          .group = group, .kind = TD_KIND_NEIGHBOUR_ALLTOALLV, .digest_kind = gather,              \
          .neighbours = {.of = of}, .source = source, .destination = destination, .count = count,  \
          .uniform = true, .shared = true, .type = type)                                           \
    FORMS(name##_allgatherv,                                                                       \
          (torus_group *group, const struct torus_##of *of, const void *source, size_t count,      \
           void *destination, const size_t *counts, const ptrdiff_t *places, int type),               \
          .group = group, .kind = TD_KIND_NEIGHBOUR_ALLTOALLV, .digest_kind = gather,              \
          .neighbours = {.of = of}, .source = source, .destination = destination, .count = count,  \
          .shared = true, .to = {.count = counts, .at = places}, .type = type)

NEIGHBOUR_FORMS(neighbour, grid, 0, TD_DIGEST_NEIGHBOUR_ALLTOALLW, TD_DIGEST_NEIGHBOUR_ALLGATHERV)
NEIGHBOUR_FORMS(graph, graph, TD_DIGEST_GRAPH_ALLTOALLV, TD_DIGEST_GRAPH_ALLTOALLW,
                TD_DIGEST_GRAPH_ALLGATHERV)
