/* SPDX-License-Identifier: Apache-2.0 */
/* log: lines for the operator, with fields. Under systemd they go to the journal with their fields,
 * which journalctl selects by: journalctl JOB=x ERROR=TIMEOUT. Otherwise they go to stderr as text.
 * A line whose fields the journal does not take at once goes to stderr, without them: the daemon
 * never waits for its log. */
#ifndef TD_IO_LOG_H
#define TD_IO_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum td_log_level { TD_LOG_ERROR = 3, TD_LOG_WARNING = 4, TD_LOG_INFO = 6, TD_LOG_DEBUG = 7 };

/* struct td_log_fields: facts of a line. td_log_no_fields has none of them. */
struct td_log_fields {
    const char *job;   /* NULL: none */
    const char *error; /* such as TIMEOUT; NULL: none */
    int64_t rank;      /* in the job; -1: none */
    int64_t group;     /* 0: the world of the job; -1: none */
    int64_t operation; /* as ranks count their calls; -1: none */
    int64_t node;      /* that the line is about; -1: none */
};
extern const struct td_log_fields td_log_no_fields;

/* td_log_init sets the highest level that is printed, and the name at the beginning of lines. If
 * stderr is a stream to the journal, lines go to the journal's socket. */
void td_log_init(enum td_log_level most, const char *name);
/* td_log_level changes that level. */
void td_log_level(enum td_log_level most);
/* td_log_journal sends lines to the socket of a journal at this path from now on; NULL: to none. */
void td_log_journal(const char *path);
void td_log(enum td_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* td_log_with prints a line with fields. The sentence says the same facts. */
void td_log_with(enum td_log_level level, const struct td_log_fields *fields, const char *format,
                 ...) __attribute__((format(printf, 3, 4)));
/* td_log_entry writes a line in the journal's native protocol: FIELD=value lines. It returns its
 * bytes, or 0 if it does not fit. */
size_t td_log_entry(char *entry, size_t size, enum td_log_level level,
                    const struct td_log_fields *fields, const char *line);

/* struct td_log_rate: a token bucket for lines with one cause. It holds TD_LOG_RATE_LINES tokens, a
 * line takes one, and one comes back every TD_LOG_TOKEN_NS. Zeroed: none was printed. */
struct td_log_rate {
    uint64_t since_ns; /* time of the last token that came back, or of the first line */
    uint32_t lines;    /* tokens that are taken */
    uint64_t suppressed;
};
enum { TD_LOG_RATE_LINES = 10 };
#define TD_LOG_TOKEN_NS ((uint64_t)2000000000)

/* td_log_rated prints a line unless the bucket of its cause is empty. The next line that is printed
 * says how many were not. It returns false if it does not print. */
bool td_log_rated(struct td_log_rate *rate, uint64_t now_ns, enum td_log_level level,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));
bool td_log_rated_with(struct td_log_rate *rate, uint64_t now_ns, enum td_log_level level,
                       const struct td_log_fields *fields, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* td_log_rate_tick prints how many lines were suppressed, once the bucket has half of its tokens
 * again; `what`: such as "failed calls". */
void td_log_rate_tick(struct td_log_rate *rate, uint64_t now_ns, enum td_log_level level,
                      const char *what);
/* td_log_rate_end prints how many lines were suppressed since the last one, if any; `what`: such as
 * "clients were turned away". */
void td_log_rate_end(const struct td_log_rate *rate, enum td_log_level level, const char *what);

#endif
