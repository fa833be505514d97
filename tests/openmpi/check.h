/* SPDX-License-Identifier: Apache-2.0 */
/* check: what the MPI programs of this folder share. They are plain MPI programs: they pass under
 * Open MPI alone, too. */
#ifndef TESTS_OPENMPI_CHECK_H
#define TESTS_OPENMPI_CHECK_H

#include <mpi.h>
#include <mpi-ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int rank, ranks;
extern const char *now; /* the case under test; CHECK prints it */

/* CHECK ends the program if a condition does not hold. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "rank %d of %d: %s:%d: %s: %s\n", rank, ranks, __FILE__, __LINE__,     \
                    now, #condition);                                                              \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                          \
        }                                                                                          \
    } while (0)
#define WELL(call) CHECK((call) == MPI_SUCCESS)

/* finish waits for a request. */
void finish(MPI_Request *request);

/* The three forms of a collective. */
enum { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };

/* CALL makes a collective in the form `form` on `comm`. */
#define CALL(form, Name, Iname, comm, ...)                                                         \
    do {                                                                                           \
        MPI_Request request_ = MPI_REQUEST_NULL;                                                   \
        if ((form) == BLOCKING) {                                                                  \
            WELL(MPI_##Name(__VA_ARGS__, comm));                                                   \
        } else if ((form) == NONBLOCKING) {                                                        \
            WELL(MPI_##Iname(__VA_ARGS__, comm, &request_));                                       \
            finish(&request_);                                                                     \
        } else {                                                                                   \
            WELL(MPIX_##Name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, &request_));                 \
            WELL(MPI_Start(&request_));                                                            \
            finish(&request_);                                                                     \
            WELL(MPI_Request_free(&request_));                                                     \
        }                                                                                          \
    } while (0)

/* struct layout: a datatype whose basic elements are `ints` integers. */
struct layout {
    const char *name;
    MPI_Datatype type;
    int ints;
    MPI_Aint extent, true_lb, true_extent;
};
enum { LAYOUTS = 5, UNIT = 4, RANKS_MAX = 16 }; /* every layout's ints divide UNIT */
extern struct layout layouts[LAYOUTS];

/* struct room: a buffer of blocks of a layout, with room for gaps before and after. */
struct room {
    const struct layout *layout;
    char *memory, *base;
    size_t bytes;
};

/* room_new makes a buffer of `elements` elements, filled with a pattern. */
struct room room_new(const struct layout *layout, int elements);
void room_free(struct room *room);
/* room_put writes `ints` integers from element `at` on; room_same is true if both buffers have the
 * same bytes, gaps included. */
void room_put(struct room *room, int at, const int *values, int ints);
int room_same(const struct room *a, const struct room *b);

/* values fills in `ints` integers that name their sender, receiver and index. */
void values(int *to, int sender, int receiver, int ints);

void begin(int *argc, char ***argv);
/* end prints that all is well, once, and finalizes. */
int end(void);

#endif
