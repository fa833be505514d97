/* SPDX-License-Identifier: Apache-2.0 */
/* sim: what the files of this folder share. world.c has life and links; drive.c time and what
 * happens to a core; act.c what a core asks for; memory.c regions, scratch and computations;
 * clients.c the processes.
 */
#ifndef TD_SIM_SIM_H
#define TD_SIM_SIM_H

#include <stddef.h>

#include "compute/compute.h"
#include "compute/fft/step.h"
#include "core/action.h"
#include "queue.h"
#include "wire/retransmit.h"
#include "wire/wire.h"
#include "world.h"

enum { TREE, BULK, WAYS };
enum { SIM_SCRATCH_PAGE = 4096, SIM_TOGETHER = 16, SIM_CACHE_LINE = 64 };
/* In hollow worlds a buffer's handle is when it came, cut to these bits. */
#define SIM_AGE_MASK ((uint32_t)0x7fffffff)

/* struct end: a node's end of its link to another. */
struct end {
    bool up, refused; /* refused: it is about to hear that the other cannot be reached */
    uint32_t epoch;
    td_time last[WAYS];                  /* when the latest message to here will come */
    struct td_retransmit unacknowledged; /* tree messages to the other node */
};

struct mapping {
    uint8_t *base;
    uint64_t bytes;
    bool mapped;
};

struct node {
    struct td_core *core;
    bool alive, frozen;
    td_time died_at;
    td_time wake_put; /* the earliest WAKE that is queued for it */
    uint64_t incarnation, arena_used;
    struct end *end; /* [nodes]; modelled: NULL, all links up, until one is torn */
    td_time last_bulk[TD_DIRECTIONS_MAX]; /* modelled: when what went that way comes */
    struct mapping *mapping;
    uint32_t mappings;
    uint8_t **buffer; /* of received packets, by handle */
    uint32_t buffers, buffers_held;
    uint8_t *touched; /* [pages of scratch] */
    uint32_t pages_touched;
    uint64_t under_way;                /* computations and packets the core waits for */
    struct td_span span[TD_SPANS_MAX]; /* of the core, those of more than two cache lines first */
    unsigned spans, long_spans;
};

struct client {
    uint32_t node;
    bool open, closed_by_daemon;
    td_time last; /* when its latest request will come */
    uint64_t next_id;
    uint64_t waiting; /* requests without reply */
    struct shared {
        uint8_t *base;
        uint64_t bytes;
    } * region;
    uint32_t regions;
    struct td_reply *reply;
    uint32_t replies, replies_room;
};

struct td_sim {
    struct td_sim_options options;
    struct td_topology topology;
    uint64_t random, hash, drops, events, landings;
    uint64_t waiting; /* requests of all clients without reply */
    uint32_t epoch;
    td_time now, packet_ns; /* packet_ns: of a whole packet on a modelled link */
    bool instant;           /* modelled and hollow: sends and computations are over at once */
    bool in_order;          /* modelled: a short packet overtakes none of those before it */
    uint8_t cable[TD_DIRECTIONS_MAX]; /* the same for directions with one session */
    struct queue queue;
    struct node *node; /* [nodes] */
    struct client *client;
    uint32_t clients;
    struct answer { /* modelled and hollow: SENT and COMPUTED of the step under way */
        enum td_event_kind kind;
        uint64_t handle;
    } * answer;
    uint32_t answers, answers_room;
    const struct td_event *gathered[SIM_TOGETHER]; /* for one core, that takes them together */
    struct td_message heard[SIM_TOGETHER];         /* what those of them that are messages say */
    uint32_t gathered_count;
    bool replied; /* in the step under way */
    struct td_wire_memory *decoded;
    struct td_actions *actions;
    char text[512];
};

/* struct parcel: a packet on its way, where worlds are not modelled and hollow: SENT and PACKET
 * both have it. */
struct parcel {
    uint32_t bytes, holders;
    bool packed;
    uint8_t *payload;
    uint8_t header[TD_WIRE_PACKET_BYTES];
    struct td_slice slice;
    struct td_view view;
    uint64_t offset;
};

struct computation {
    struct td_compute compute;
    bool done;
    td_err error;
};

/* sim_feed lets a core take what was gathered for it and an event, and does what it asks for.
 * sim_gather lets it take the event later, at the same moment: it must stay where it is. */
void sim_gather(struct td_sim *sim, uint32_t node, const struct td_event *event);
void sim_feed(struct td_sim *sim, uint32_t node, const struct td_event *event);
void sim_act(struct td_sim *sim, uint32_t node);
/* sim_answer feeds an event to the core after the actions of the step under way. */
void sim_answer(struct td_sim *sim, enum td_event_kind kind, uint64_t handle);
/* sim_delay returns now + 1 ... now + most. */
td_time sim_delay(struct td_sim *sim, td_time most);
/* sim_mix puts a number into the history's hash. */
static inline void sim_mix(struct td_sim *sim, uint64_t value)
{
    uint64_t h = (sim->hash ^ value) * 0x9e3779b97f4a7c15u;
    sim->hash = h ^ h >> 29;
}
/* sim_age returns how long ago a hollow buffer came. */
static inline td_time sim_age(const struct td_sim *sim, uint32_t buffer)
{
    return ((uint32_t)sim->now - buffer) & SIM_AGE_MASK;
}
/* sim_lives: whether a node's daemon does anything. */
static inline bool sim_lives(const struct node *n)
{
    return n->alive && !n->frozen;
}
/* sim_trace prints a line; '>' into the core, '<' out of it. Without a trace it is a test. */
#define sim_trace(sim, ...) ((sim)->options.trace ? sim_print(sim, __VA_ARGS__) : (void)0)
void sim_print(struct td_sim *sim, uint32_t node, char direction, const char *format, ...)
    __attribute__((format(printf, 4, 5), cold));
/* sim_drop_parcel: one holder less. */
void sim_drop_parcel(struct parcel *parcel);
/* sim_tear tears a link at both ends, each when it hears of it. */
void sim_tear(struct td_sim *sim, uint32_t a, uint32_t b, const char *text);

/* sim_link_up and sim_link_down: a node hears so. sim_drop_events is the end of events. */
void sim_link_up(struct td_sim *sim, const struct event *e);
void sim_link_down(struct td_sim *sim, const struct event *e);
void sim_drop_events(struct td_sim *sim, struct event *e);

/* ---- memory.c ---- */

bool memory_init(struct td_sim *sim, struct node *n);
void memory_fini(struct td_sim *sim, struct node *n);
/* memory_map returns the handle of a region. */
uint32_t memory_map(struct node *n, uint8_t *base, uint64_t bytes);
void memory_unmap(struct node *n, uint32_t handle);
/* memory_bases resolves a view; room has 2 * view->ranks addresses. */
void memory_bases(const struct node *n, const struct td_view *view, uint8_t **room,
                  struct td_bases *bases);
uint32_t memory_take_buffer(struct node *n, uint8_t *bytes);
void memory_release_buffer(struct node *n, uint32_t handle);
td_err memory_compute(struct td_sim *sim, uint32_t node, const struct td_compute *compute);
/* memory_land writes the first bytes of what would be unpacked there, in one lane. */
void memory_land(struct node *n, const struct td_compute *to, const uint8_t *bytes);
void memory_pack(const struct node *n, const struct td_slice *slice, const struct td_view *view,
                 uint64_t offset, uint64_t bytes, uint8_t *out);
/* memory_poison spoils scratch when none is in use. */
void memory_poison(struct td_sim *sim, struct node *n);

/* ---- clients.c ---- */

void client_opened(struct td_sim *sim, uint32_t client);
void client_request(struct td_sim *sim, uint32_t client, const uint8_t *bytes, size_t size);
void client_closed(struct td_sim *sim, uint32_t client);
/* client_take_reply keeps a copy. */
void client_take_reply(struct td_sim *sim, uint32_t client, const struct td_reply *reply);
void client_cut_off(struct td_sim *sim, uint32_t client);
void clients_fini(struct td_sim *sim);

#endif
