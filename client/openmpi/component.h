/* SPDX-License-Identifier: Apache-2.0 */
/* component: coll/torus of Open MPI. It makes the collectives of unmodified MPI programs with
 * torusd.
 *
 * The files form layers; each calls those below it:
 *
 *   module            a communicator's functions; forms of the calls
 *   request           a non-blocking or persistent call
 *   call              one call: buffers, the function of libtorus, the end
 *   lower_*           the arguments of MPI's calls in terms of libtorus
 *   fold              user-defined operators
 *   side types        bytes of a buffer; types and operators that libtorus has
 *   group             torus groups, made without waiting; calls that wait for them
 *   decide pace caller
 *                     which calls are taken
 *   membership        which ranks take part
 *   waiting rest      progress of Open MPI and of torusd
 *   component error   parameters, counters, the context; errors
 *
 * Owns: the context of this process. Invariant: the decision to take a call depends only on values
 * that MPI makes equal on all ranks of the communicator. */
#ifndef TORUS_OPENMPI_COMPONENT_H
#define TORUS_OPENMPI_COMPONENT_H

#include "ompi_config.h"

#include "ompi/mca/coll/coll.h"
#include "torus/torus.h"

#include "kinds.h"

/* The version of the rules by which calls are taken and made; ranks compare it. */
enum { TM_VERSION = 5 };

/* struct tm_parameters: the values of coll_torus_*. */
struct tm_parameters {
    int priority;
    int verbose;
    char *leave;   /* names of operations, with commas between them */
    char *machine; /* compared among ranks */
    bool all;      /* take also calls that Open MPI makes faster */
    unsigned communicators, persistent, list_ranks;
    int after;                       /* calls; negative: tm_after chooses */
    unsigned rest_us, rest_after_us; /* rest.h */
    size_t short_bytes;              /* broadcasts and reductions of fewer bytes follow pace.h */
    size_t least[TM_KINDS], most[TM_KINDS];
    bool left[TM_KINDS]; /* `leave` names it */
};

/* struct tm_counters: calls since MPI_Init. */
struct tm_counters {
    unsigned long long taken[TM_KINDS];
    unsigned long long all_taken;
    unsigned long long fell[TM_REASON_COUNT]; /* by reason; index TM_TAKEN is unused */
};

/* Open MPI finds this name in the shared object. */
extern OMPI_MODULE_DECLSPEC mca_coll_base_component_t mca_coll_torus_component;
extern const char *const tm_kind_names[TM_KINDS]; /* as allreduce */
extern struct tm_parameters tm_parameters;
extern struct tm_counters tm_counters;
extern torus_context *tm_context; /* NULL: no daemon */
extern bool tm_threads;           /* MPI_THREAD_MULTIPLE */

/* tm_verbose prints a line if coll_torus_verbose is at least `level`. */
void tm_verbose(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* tm_after returns how many calls make a communicator a group of torusd; 0: the first one does. */
unsigned tm_after(void);

/* tm_parameters_hash returns a hash of all parameters that decide whether calls are taken. */
uint64_t tm_parameters_hash(void);

/* tm_hash_add continues an FNV-1a hash. TM_HASH_START begins one. */
#define TM_HASH_START 0xcbf29ce484222325u
uint64_t tm_hash_add(uint64_t hash, const void *bytes, size_t count);

/* tm_count counts a call. */
void tm_count(enum tm_kind kind, enum tm_reason reason);

#endif
