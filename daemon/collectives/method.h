/* SPDX-License-Identifier: Apache-2.0 */
/* method: one algorithm, which describes itself: the calls that it serves, whether it applies, its
 * predicted cost, its programs. A method is one file and one line in registry.c (CONTRIBUTING.md).
 *
 * A cost is an integer, the same on every node. It has a class, and within the class the predicted
 * time in 1 / 65536 slots (a slot is the time of a full packet on a link). Classes stand for
 * comparisons that no prediction covers yet: every cost of a lower class is less than every cost of
 * a higher one. Owns: nothing. Borrows: the call and all that belongs to it. Pure: no I/O, clock,
 * or globals. */
#ifndef TD_COLLECTIVES_METHOD_H
#define TD_COLLECTIVES_METHOD_H

#include "grid.h"
#include "model/plan.h"
#include "model/program.h"

/* enum td_setting: the settings of struct td_tuning that request a method. */
enum td_setting {
    TD_SETTING_NONE,
    TD_SETTING_ALLTOALL,    /* enum td_alltoall */
    TD_SETTING_PREFIX,      /* enum td_prefix */
    TD_SETTING_ROOTED_TREE, /* enum td_rooted_tree */
    TD_SETTING_RINGS,       /* enum td_rings */
};

enum td_cost_class {
    TD_COST_GATE,     /* the payload travels with arrival and release */
    TD_COST_TORUS,    /* data moves along links of the group's own torus, mesh or tree */
    TD_COST_STRAIGHT, /* data moves directly from node to node, or by relays */
};

#define TD_COST_SLOT ((uint64_t)1 << 16)
/* TD_COST_UNKNOWN: no prediction; more than every predicted cost of its class. TD_COST_LAST: the
 * method works, but every other one that applies is preferred. */
#define TD_COST_CLASS_BITS 60 /* the class is above them */
#define TD_COST_UNKNOWN (((uint64_t)1 << TD_COST_CLASS_BITS) - 1)
#define TD_COST_LAST ((uint64_t)1 << 62)

/* struct td_query: a call for which a method is to be chosen. */
struct td_query {
    const struct td_program
        *program;           /* filled in by td_program_begin: all but method, families and ride */
    bool surveyed;          /* program->survey is known */
    uint8_t setting, asked; /* enum td_setting of the call's kind; its value, 0: any method */
    bool has_grid;
    struct td_grid grid; /* td_query_grid */
    const char *reason;  /* set by applies and cost: a static clause */
    uint64_t least;      /* set by td_select_method: td_method_cost of the method; 0 before */
};

/* struct td_method: static and constant. Functions may be NULL unless noted. */
struct td_method {
    const char *name;
    const char *why; /* a clause: the advantage of the method */
    uint32_t kinds;  /* TD_KIND_BIT of each kind of call that it serves */
    uint8_t class;   /* enum td_cost_class of its costs below TD_COST_LAST */
    uint8_t setting; /* enum td_setting; `values`: the values of it that request the method
                        (TD_VALUE_BIT) */
    uint8_t values;
    bool on_request; /* chosen only on request */
    bool fallback;   /* also used if another method was requested that does not apply */
    /* applies returns false with q->reason if the method cannot do the call. NULL: it always
     * applies. */
    bool (*applies)(struct td_query *q);
    /* cost returns slots times TD_COST_SLOT, TD_COST_UNKNOWN, or TD_COST_LAST with q->reason. NULL:
     * 0. It is called only if the method applies. */
    uint64_t (*cost)(struct td_query *q);
    /* compile adds families, scratch and ride to the program, which is q->program. Never NULL. */
    void (*compile)(struct td_query *q, struct td_program *p);
    /* plan makes the transform plan of a call that executes a plan. It returns false if the arena
     * is full. */
    bool (*plan)(const struct td_plan_input *in, struct td_arena *arena,
                 struct td_transform_plan **out);
    td_step_fn *step_at; /* never NULL */
};

#define TD_KIND_BIT(kind) ((uint32_t)1 << (kind))
#define TD_VALUE_BIT(value) ((uint8_t)(1u << (value)))
_Static_assert(TD_KIND_MAX <= 32 && TD_ALLTOALLS <= 8 && TD_ROOTED_TREES <= 8, "bits are enough");

/* TD_KINDS_WITH_COUNTS: the all-to-alls whose counts differ by rank. */
#define TD_KINDS_WITH_COUNTS                                                                       \
    (TD_KIND_BIT(TD_KIND_ALLTOALLV) | TD_KIND_BIT(TD_KIND_GATHERV) |                               \
     TD_KIND_BIT(TD_KIND_SCATTERV) | TD_KIND_BIT(TD_KIND_ALLGATHERV) |                             \
     TD_KIND_BIT(TD_KIND_NEIGHBOUR_ALLTOALLV))

/* TD_PARAMETERS gives a method's file two functions: parameters(p) reads the parameters of a
 * program, set(p) gives access to write them. `type` is the method's own struct, defined with
 * TD_STORED: it is stored in bytes of the program, so accesses to it may alias others. */
#define TD_STORED __attribute__((may_alias))
#define TD_PARAMETERS(type)                                                                        \
    _Static_assert(sizeof(type) <= TD_PARAMETERS_BYTES && _Alignof(type) <= _Alignof(int64_t),     \
                   "the parameters have room in a program");                                       \
    static inline const type *parameters(const struct td_program *p)                               \
    {                                                                                              \
        return (const type *)(const void *)p->parameters;                                          \
    }                                                                                              \
    static inline type *set(struct td_program *p)                                                  \
    {                                                                                              \
        return (type *)(void *)p->parameters;                                                      \
    }

/* td_program_begin fills in the inputs of a program. td_query_begin begins the choice of a method
 * for it. `surveyed`: the input has a survey. */
void td_program_begin(const struct td_compile_input *in, struct td_program *out);
void td_query_begin(struct td_query *q, const struct td_program *program, bool surveyed);
/* td_query_grid returns the grid of the call's group. The first call makes it. */
const struct td_grid *td_query_grid(struct td_query *q);
/* td_query_refuse stores the reason and returns false, for `applies`. td_query_last stores it and
 * returns TD_COST_LAST, for `cost`. */
bool td_query_refuse(struct td_query *q, const char *reason);
uint64_t td_query_last(struct td_query *q, const char *reason);
/* td_method_allowed returns false with q->reason if the setting of the call excludes the method.
 * *asked: the setting requests the method. */
bool td_method_allowed(const struct td_method *method, struct td_query *q, bool *asked);
/* td_method_cost returns the cost of a method that applies, class included. */
uint64_t td_method_cost(const struct td_method *method, struct td_query *q);
/* td_method_compile compiles the program by this method. */
void td_method_compile(const struct td_method *method, struct td_query *q, struct td_program *p);
/* td_method_alltoall returns the value of the setting `alltoall` that requests the method, or
 * TD_ALLTOALL_AUTO. */
enum td_alltoall td_method_alltoall(const struct td_method *method);

/* td_cost_bytes returns the cost of bytes that pass a link one after the other: a partial packet
 * takes the time of its bytes. */
uint64_t td_cost_bytes(const struct td_program *p, uint64_t bytes);

/* ---- what several methods need to know of a call ---- */

/* td_program_bytes returns the bytes of the call's count: of a vector, of a block, or of a message.
 */
uint64_t td_program_bytes(const struct td_program *p);
/* td_program_packets returns the number of packets that carry `bytes`. */
uint64_t td_program_packets(const struct td_program *p, uint64_t bytes);
/* td_program_hop returns the bytes of the largest packet of a message: a hop takes their time. */
uint64_t td_program_hop(const struct td_program *p, uint64_t bytes);
/* td_program_is_routed returns true if packets use links of a torus between several nodes. */
bool td_program_is_routed(const struct td_program *p);
/* td_program_brackets_any returns true if the result must not depend on the placement of ranks. */
bool td_program_brackets_any(const struct td_program *p);
/* td_ranks_here returns the number of ranks of the group on this node. td_ranks_most returns the
 * largest number on any node. */
uint32_t td_ranks_here(const struct td_program *p);
uint32_t td_ranks_most(const struct td_program *p);

#endif
