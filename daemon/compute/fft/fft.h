/* SPDX-License-Identifier: Apache-2.0 */
/* fft: batches of 1-D transforms by FFTW, and what is known of their plans.
 *
 * A transform never waits for a measurement. Its plan comes from wisdom, when there is some for its
 * shape, or by estimate; both take microseconds to a few milliseconds and touch no data. Another
 * process measures (fft_measure.h); the driver asks what is wanted and brings back what was learnt.
 * Owns: process-wide, plans and a record of each shape; bounded, the longest unused goes first.
 * Thread-safe; execution holds no lock. */
#ifndef TD_COMPUTE_FFT_FFT_H
#define TD_COMPUTE_FFT_FFT_H

#include "fft_plan.h"

enum { TD_FFT_RECORDS_MAX = 512 };

/* How hard plans are tried for. WISDOM: with what is known, but nothing is measured. */
enum td_fft_effort { TD_FFT_ESTIMATE, TD_FFT_MEASURE, TD_FFT_PATIENT, TD_FFT_WISDOM };

enum td_fft_state {
    TD_FFT_ESTIMATED, /* nobody has measured it */
    TD_FFT_ASKED,     /* is being measured */
    TD_FFT_MEASURED,
    TD_FFT_FAILED, /* could not be; not to be tried again */
    TD_FFT_STATES
};

struct td_fft_record {
    struct td_shape shape;
    uint8_t effort; /* MEASURED: with which */
    uint8_t state;  /* enum td_fft_state */
    uint64_t uses;
    uint64_t since_s; /* since 1970: when measured, before that, when first used */
    /* of an execution: by estimate, as measured; and how long the measuring took; 0: not known */
    uint64_t estimate_ns, measured_ns, planning_ns;
};

/* td_fft_run transforms in -> out (the same address: in place). Out of place the input stays as it
 * is. TD_ERR_NO_MEMORY when FFTW makes no plan. */
td_err td_fft_run(const struct td_transform *t, void *in, void *out);
/* td_fft_set_effort: ESTIMATE, the default, does not look at wisdom. */
void td_fft_set_effort(enum td_fft_effort effort);
/* td_fft_wanted returns the shape that is used most among those nobody has measured, and notes that
 * it was asked for. False: there is none, or nothing is to be measured. */
bool td_fft_wanted(struct td_shape *shape);
/* td_fft_learn takes in FFTW's wisdom; false: it is none, or another version's. */
bool td_fft_learn(const char *wisdom, bool is_double);
/* td_fft_note keeps what was found out of a shape; uses add up. */
void td_fft_note(const struct td_fft_record *record);
/* td_fft_record copies record number `at`, from 0 on; false: there are no more. */
bool td_fft_record(unsigned at, struct td_fft_record *out);
/* td_fft_wisdom returns FFTW's wisdom as text, to be freed; NULL: no memory. */
char *td_fft_wisdom(bool is_double);
/* td_fft_fini forgets everything. */
void td_fft_fini(void);

#endif
