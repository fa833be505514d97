/* SPDX-License-Identifier: Apache-2.0 */
/* sim: the shared state of the files of this folder. world.c has life, links and faults; drive.c
 * time and the events of a core; act.c the actions of a core; memory.c regions, scratch and
 * computations; clients.c the processes. */
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
/* In timing-only worlds the handle of a buffer is its time of arrival, cut to these bits. */
#define SIM_AGE_MASK ((uint32_t)0x7fffffff)

/* struct end: a node's end of its link to another node. */
struct end {
    bool up, refused; /* refused: it is about to learn that the other node cannot be reached */
    uint32_t epoch;
    td_time last[WAYS];                  /* arrival of the latest message here, per connection */
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
    td_time wake_put; /* the earliest WAKE queued for it */
    uint64_t incarnation, arena_used;
    struct end *end;                      /* [nodes]; modelled: NULL while all links are up */
    td_time last_bulk[TD_DIRECTIONS_MAX]; /* modelled: arrival of the last packet in a direction */
    struct mapping *mapping;
    uint32_t mappings;
    uint8_t **buffer; /* received packets, by handle */
    uint32_t buffers, buffers_held;
    uint8_t *touched; /* [pages of scratch] */
    uint32_t pages_touched;
    uint64_t under_way;                /* computations and packets that the core waits for */
    struct td_span span[TD_SPANS_MAX]; /* memory of the core; first those above two lines */
    unsigned spans, long_spans;
};

struct client {
    uint32_t node;
    bool open, closed_by_daemon;
    td_time last; /* arrival of its latest request */
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
    td_time now, packet_ns; /* packet_ns: time of a full packet on a modelled link */
    bool instant;           /* modelled and timing-only: sends and computations complete at once */
    bool in_order;          /* modelled: a short packet does not overtake earlier packets */
    uint8_t cable[TD_DIRECTIONS_MAX]; /* equal for directions that share a session */
    struct queue queue;
    struct node *node; /* [nodes] */
    struct client *client;
    uint32_t clients;
    struct answer { /* modelled and timing-only: SENT and COMPUTED of the current step */
        enum td_event_kind kind;
        uint64_t handle;
    } * answer;
    uint32_t answers, answers_room;
    const struct td_event *gathered[SIM_TOGETHER]; /* for one core, handled together */
    struct td_message heard[SIM_TOGETHER];         /* the messages among them */
    uint32_t gathered_count;
    bool replied; /* the current step has replied */
    struct td_wire_memory *decoded;
    struct td_actions *actions;
    char text[512];
};

/* struct parcel: a packet in flight, unless the world is modelled and timing-only. SENT and PACKET
 * share it. */
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

/* sim_feed passes the gathered events and one more to a core, and executes the core's actions.
 * sim_gather defers an event to the next sim_feed at the same time; the event must stay in place.
 */
void sim_gather(struct td_sim *sim, uint32_t node, const struct td_event *event);
void sim_feed(struct td_sim *sim, uint32_t node, const struct td_event *event);
void sim_act(struct td_sim *sim, uint32_t node);
/* sim_answer feeds an event to the core after the actions of the current step. */
void sim_answer(struct td_sim *sim, enum td_event_kind kind, uint64_t handle);
/* sim_delay returns a random time in [now + 1, now + most]. */
td_time sim_delay(struct td_sim *sim, td_time most);
/* sim_mix adds a number to the hash of the history. */
static inline void sim_mix(struct td_sim *sim, uint64_t value)
{
    uint64_t h = (sim->hash ^ value) * 0x9e3779b97f4a7c15u;
    sim->hash = h ^ h >> 29;
}
/* sim_age returns the time since the arrival of a timing-only buffer. */
static inline td_time sim_age(const struct td_sim *sim, uint32_t buffer)
{
    return ((uint32_t)sim->now - buffer) & SIM_AGE_MASK;
}
/* sim_lives returns true if a node's daemon is alive and not frozen. */
static inline bool sim_lives(const struct node *n)
{
    return n->alive && !n->frozen;
}
/* sim_trace prints a line; '>' is into the core, '<' out of it. Without a trace it costs one test.
 */
#define sim_trace(sim, ...) ((sim)->options.trace ? sim_print(sim, __VA_ARGS__) : (void)0)
void sim_print(struct td_sim *sim, uint32_t node, char direction, const char *format, ...)
    __attribute__((format(printf, 4, 5), cold));
/* sim_drop_parcel removes one holder. */
void sim_drop_parcel(struct parcel *parcel);
/* sim_tear cuts a link at both ends. Each end learns of it at a time of its own. */
void sim_tear(struct td_sim *sim, uint32_t a, uint32_t b, const char *text);

/* sim_link_up and sim_link_down notify a node. sim_drop_events frees a list of events. */
void sim_link_up(struct td_sim *sim, const struct event *e);
void sim_link_down(struct td_sim *sim, const struct event *e);
void sim_drop_events(struct td_sim *sim, struct event *e);

/* ---- memory.c ---- */

bool memory_init(struct td_sim *sim, struct node *n);
void memory_fini(struct td_sim *sim, struct node *n);
/* memory_map returns the handle of a region. */
uint32_t memory_map(struct node *n, uint8_t *base, uint64_t bytes);
void memory_unmap(struct node *n, uint32_t handle);
/* memory_bases writes the addresses of a view; room has 2 * view->ranks. */
void memory_bases(const struct node *n, const struct td_view *view, uint8_t **room,
                  struct td_bases *bases);
uint32_t memory_take_buffer(struct node *n, uint8_t *bytes);
void memory_release_buffer(struct node *n, uint32_t handle);
td_err memory_compute(struct td_sim *sim, uint32_t node, const struct td_compute *compute);
/* memory_land writes the first bytes of an unpack, in one lane. */
void memory_land(struct node *n, const struct td_compute *to, const uint8_t *bytes);
void memory_pack(const struct node *n, const struct td_slice *slice, const struct td_view *view,
                 uint64_t offset, uint64_t bytes, uint8_t *out);
/* memory_poison overwrites scratch if the node uses none. */
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
