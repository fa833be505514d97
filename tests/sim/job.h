/* SPDX-License-Identifier: Apache-2.0 */
/* job: the ranks of a job in a simulated world, as a test plays them. A failure prints the case and
 * the command that repeats it. */
#ifndef TD_TESTS_SIM_JOB_H
#define TD_TESTS_SIM_JOB_H

#include "sim/checker.h"
#include "sim/clients.h"
#include "sim/clock.h"
#include "sim/faults.h"
#include "sim/world.h"

enum { JOB_RANKS_MAX = 1100 };
#define SECOND ((td_time)1000000000)

struct job {
    struct td_sim *sim;
    char name[32];
    uint32_t size;
    uint64_t half_bytes; /* each rank's region: a half for the source, one for the destination */
    struct job_rank {
        uint32_t node, client, group, region;
        uint64_t request; /* the latest */
        uint64_t calls;   /* made in the group */
    } rank[JOB_RANKS_MAX];
};

/* job_case stores the case in the words of the command that repeats it. */
void job_case(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void job_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define EXPECT(condition, ...)                                                                     \
    do {                                                                                           \
        if (!(condition))                                                                          \
            job_fail(__FILE__, __LINE__, __VA_ARGS__);                                             \
    } while (0)
#define CHECK(condition) EXPECT(condition, "%s", #condition)

/* job_world makes a world with delays, packets and credits drawn from the seed, on the routed
 * fabric for odd seeds. In a third of the worlds tree messages take two paths of different speed.
 * TORUS_TEST_TRACE=1 prints its events. */
struct td_sim *job_world(const char *shape, uint64_t seed, void (*change)(struct td_sim_options *));
/* job_reaches writes true for the nodes that a node reaches over connections of live nodes, and
 * returns their number. */
uint32_t job_reaches(const struct td_sim *sim, uint32_t from, const bool *dead, bool *reached);
/* job_world_end closes all clients and checks that nothing is left. */
void job_world_end(struct td_sim *sim);

/* job_spread places `size` ranks in blocks on the nodes. */
void job_spread(const struct td_sim *sim, uint32_t size, uint32_t *nodes);
/* job_begin begins a job without processes; job_start starts the process of rank i, whose region
 * has 2 * half_bytes. job_open starts all processes. */
void job_begin(struct job *job, struct td_sim *sim, const char *name, uint32_t size,
               uint64_t half_bytes);
void job_start(struct job *job, uint32_t i, uint32_t node);
void job_open(struct job *job, struct td_sim *sim, const char *name, const uint32_t *nodes,
              uint32_t size, uint64_t half_bytes);
/* job_join sends a request for a rank; job_joined handles the reply. */
void job_join(struct job *job, uint32_t i, int64_t rank, int64_t timeout_ns);
void job_joined(struct job *job);
/* job_form calls all of these, and checks that they succeed. */
void job_form(struct job *job, struct td_sim *sim, const char *name, const uint32_t *nodes,
              uint32_t size, uint64_t half_bytes);

/* job_call makes rank i call. Its source begins `shift` bytes into the first half of its region,
 * its destination into the second; in place, both are in the second. */
void job_call(struct job *job, uint32_t i, const struct td_call *call, uint64_t shift,
              bool in_place);
/* job_make sends a call that the test has made; group and number are filled in. */
void job_make(struct job *job, uint32_t i, struct td_request *q);
void job_call_all(struct job *job, const struct td_call *call, uint64_t shift, bool in_place);
/* job_agree makes all ranks agree on a plan (PLAN_FFT, PLAN_REDIST), and returns its number.
 * job_plan does so for a complex transform of rows. */
uint64_t job_agree(struct job *job, unsigned kind, const struct td_description *description);
uint64_t job_plan(struct job *job, const struct td_fft *fft);
void job_unplan(struct job *job, uint64_t plan);
void *job_source(struct job *job, uint32_t i, uint64_t shift);
void *job_destination(struct job *job, uint32_t i, uint64_t shift);

/* job_reply returns the reply to a rank's latest request, or NULL. */
const struct td_reply *job_reply(const struct job *job, uint32_t i);
/* job_settle runs until all ranks have replies. */
void job_settle(struct job *job);
/* job_expect checks the outcome of rank i's latest request; the sentence contains `part` (NULL:
 * any). */
void job_expect(const struct job *job, uint32_t i, td_err error, const char *part);
void job_expect_all(const struct job *job, td_err error, const char *part);

#endif
