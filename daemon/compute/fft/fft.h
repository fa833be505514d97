/* SPDX-License-Identifier: Apache-2.0 */
/* fft: batches of 1-D transforms by FFTW, and records of their plans.
 *
 * A transform never waits for a measurement. Its plan comes from wisdom if there is wisdom for its
 * shape, else from an estimate. Both touch no data and need no addresses, and usually take
 * microseconds to a few milliseconds; the estimate of a long prime number of points may take
 * minutes. Another process measures (fft_measure.h): the driver asks for the next shape to measure
 * and stores the result.
 *
 * FFTW's planner is one for the process, and has a lock that nothing else shares. These functions
 * call it: td_fft_make_plan and _within, td_fft_sweep, td_fft_prepare, td_fft_run, td_fft_import,
 * td_fft_export and td_fft_fini. A daemon calls them on its planning thread (io/plans/planner.h);
 * td_fft_plan_elsewhere makes a call on its loop abort.
 *
 * The number of records and the bytes of plans are bounded. A plan counts to the user that used it
 * last. When bytes lack, the user with the most bytes loses the plan that was used longest ago: of
 * n users each keeps at least 1/n of the bytes. A plan in use is never evicted: a user without a
 * plan in use gets any plan, beyond the limit too, and keeps it while it is in use. The wisdom that
 * FFTW gathers from estimates is forgotten now and then, that of measurements is bounded. Owns:
 * plans and a record for each shape, process-wide. Thread-safe; execution holds no lock. */
#ifndef TD_COMPUTE_FFT_FFT_H
#define TD_COMPUTE_FFT_FFT_H

#include "fft_plan.h"

enum {
    TD_FFT_RECORDS_MAX = 512,
    TD_FFT_BYTES_DEFAULT = 256 << 20,
    TD_FFT_WISDOM_MAX = 4 << 20 /* bytes of text, for each precision */
};

struct td_fft_plan;

/* Planning effort. WISDOM: use existing wisdom, measure nothing. */
enum td_fft_effort { TD_FFT_ESTIMATE, TD_FFT_MEASURE, TD_FFT_PATIENT, TD_FFT_WISDOM };

enum td_fft_state {
    TD_FFT_ESTIMATED, /* not measured */
    TD_FFT_ASKED,     /* a measurement is pending */
    TD_FFT_MEASURED,
    TD_FFT_FAILED, /* measurement failed; it is not repeated */
    TD_FFT_STATES
};

struct td_fft_record {
    struct td_shape shape;
    uint8_t effort; /* of the measurement, if state is MEASURED */
    uint8_t state;  /* enum td_fft_state */
    uint64_t uses;
    uint64_t
        since_s; /* seconds since 1970: time of the measurement, or of the first use before it */
    /* time of an execution with the estimated and with the measured plan, and time of the
     * measurement; 0: unknown */
    uint64_t estimate_ns, measured_ns, planning_ns;
};

/* td_fft_acquire returns the plan of a shape, or NULL if the shape has no plan yet. The plan stays
 * valid until td_fft_release. *improvable is true if td_fft_make_plan would replace the plan by a
 * faster one. `uid`: the user that uses it. */
struct td_fft_plan *td_fft_acquire(const struct td_shape *shape, uint64_t uid, bool *improvable);
void td_fft_release(struct td_fft_plan *plan);
/* td_fft_is_planned returns true if the shape has a plan, and td_fft_make_plan would make no other.
 * It counts no use. */
bool td_fft_is_planned(const struct td_shape *shape);
/* td_fft_expected_bytes returns how many bytes FFTW may take for the plan of a shape and one
 * execution of it, at most. For a prime factor p above 13 of a complex transform it multiplies
 * transforms of up to 4p points: it keeps one of them, and each execution takes another one. */
uint64_t td_fft_expected_bytes(const struct td_shape *shape);
/* td_fft_make_plan plans a shape that has no plan, or whose plan is improvable. It returns
 * TD_ERR_NO_MEMORY if FFTW returns no plan, all TD_FFT_RECORDS_MAX records are in use, or half of
 * them by the user, or the plans in use have all bytes and some of them are the user's. */
td_err td_fft_make_plan(const struct td_shape *shape, uint64_t uid);
/* td_fft_make_plan_within also returns TD_ERR_NO_MEMORY if a plan that has to be made may take more
 * than so many bytes. */
td_err td_fft_make_plan_within(const struct td_shape *shape, uint64_t uid, uint64_t bytes);
/* td_fft_set_limit sets the bytes of plans. td_fft_bytes returns those of a user, or of all
 * (UINT64_MAX). */
void td_fft_set_limit(uint64_t bytes);
uint64_t td_fft_bytes(uint64_t uid);
/* td_fft_drop gives up the plans of users that were gone at two calls in a row. Records stay. It
 * returns true if td_fft_sweep would return memory to the system: it destroys what is given up. */
bool td_fft_drop(bool (*is_there)(void *context, uint64_t uid), void *context);
void td_fft_sweep(void);
/* td_fft_prepare acquires the plan of a shape, and calls td_fft_make_plan first if the shape has no
 * plan. It returns the errors of td_fft_make_plan. */
td_err td_fft_prepare(const struct td_shape *shape, struct td_fft_plan **plan);
/* td_fft_execute transforms `in` to `out` by the plan of the shape that td_shape_of returns. Out of
 * place it preserves the input. */
void td_fft_execute(const struct td_fft_plan *plan, const struct td_transform *t, void *in,
                    void *out);
/* td_fft_plan_elsewhere(true) forbids FFTW's planner to the calling thread: a call aborts.
 * td_fft_plan_elsewhere(false) permits it again. */
void td_fft_plan_elsewhere(bool elsewhere);
/* td_fft_run prepares, executes and releases. */
td_err td_fft_run(const struct td_transform *t, void *in, void *out);
/* td_fft_set_effort sets the planning effort. The default, ESTIMATE, ignores wisdom. */
void td_fft_set_effort(enum td_fft_effort effort);
/* td_fft_next_shape writes the most used shape without a measurement and marks it TD_FFT_ASKED. It
 * returns false if all shapes are measured or the effort does not measure. */
bool td_fft_next_shape(struct td_shape *shape);
/* td_fft_import imports FFTW's wisdom of measurements, in place of earlier text. It returns false
 * if the text is malformed or from another version of FFTW. */
bool td_fft_import(const char *wisdom, bool is_double);
/* td_fft_update stores a record in place of the shape's old one; uses add up. */
void td_fft_update(const struct td_fft_record *record);
/* td_fft_record copies record number `at`, counted from 0. It returns false if there are fewer
 * records. */
bool td_fft_record(unsigned at, struct td_fft_record *out);
/* td_fft_export returns FFTW's wisdom of measurements as text, which the caller frees, or NULL if
 * memory runs out. If it is longer than TD_FFT_WISDOM_MAX, all shapes of the precision begin anew.
 */
char *td_fft_export(bool is_double);
/* td_fft_fini frees all plans, records and wisdom. No transform may be running. */
void td_fft_fini(void);

#endif
