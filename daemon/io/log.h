/* SPDX-License-Identifier: Apache-2.0 */
/* log: lines on stderr. Under the journal each line carries its priority. */
#ifndef TD_IO_LOG_H
#define TD_IO_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum td_log_level { TD_LOG_ERROR = 3, TD_LOG_WARNING = 4, TD_LOG_INFO = 6, TD_LOG_DEBUG = 7 };

/* td_log_init sets the highest level that is printed, and the name at the beginning of lines. */
void td_log_init(enum td_log_level most, const char *name);
void td_log(enum td_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* struct td_log_rate: lines with one cause. Zeroed: none was printed. */
struct td_log_rate {
    uint64_t since_ns; /* begin of the present interval */
    uint32_t lines;    /* in it */
    uint64_t suppressed;
};
enum { TD_LOG_RATE_LINES = 5 };
#define TD_LOG_RATE_NS ((uint64_t)10000000000)

/* td_log_rated prints a line unless TD_LOG_RATE_LINES with its cause were printed in the present
 * interval of TD_LOG_RATE_NS. The first line of the next interval says how many were not. It
 * returns false if it does not print. */
bool td_log_rated(struct td_log_rate *rate, uint64_t now_ns, enum td_log_level level,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));
/* td_log_rate_end prints how many lines were suppressed since the last one, if any; `what`: such as
 * "clients were turned away". */
void td_log_rate_end(const struct td_log_rate *rate, enum td_log_level level, const char *what);

#endif
