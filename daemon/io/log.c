/* SPDX-License-Identifier: Apache-2.0 */
#include "log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text.h"

enum { LINE_MAX_BYTES = 1024, ENTRY_MAX = LINE_MAX_BYTES + 512 };

const struct td_log_fields td_log_no_fields = {
    .rank = -1, .group = -1, .operation = -1, .node = -1};

static enum td_log_level level_max = TD_LOG_INFO;
static char name[64] = "torusd";
static struct sockaddr_un journal = {.sun_family = AF_UNIX};
static int journal_fd = -1;

/* ---- the journal ---- */

/* stderr_is_journal returns true if systemd has connected stderr to the journal, and nobody has
 * redirected it since. */
static bool stderr_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long device = 0, inode = 0;
    struct stat s;
    return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
           fstat(STDERR_FILENO, &s) == 0 && s.st_dev == device && s.st_ino == inode;
}

void td_log_journal(const char *path)
{
    if (journal_fd >= 0)
        close(journal_fd);
    journal_fd = -1;
    if (!path || strlen(path) >= sizeof journal.sun_path)
        return;
    strcpy(journal.sun_path, path);
    journal_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

void td_log_init(enum td_log_level level, const char *line_name)
{
    level_max = level;
    snprintf(name, sizeof name, "%s", line_name);
    td_log_journal(stderr_is_journal() ? "/run/systemd/journal/socket" : NULL);
}

void td_log_level(enum td_log_level most)
{
    level_max = most;
}

/* add_field appends FIELD=value, shown as plain text: a value has no newline in this form of the
 * protocol. It returns false if it does not fit. */
static bool add_field(char *entry, size_t size, size_t *length, const char *field,
                      const char *value)
{
    char plain[LINE_MAX_BYTES];
    int more = snprintf(entry + *length, size - *length, "%s=%s\n", field,
                        td_text_show(value, plain, sizeof plain));
    if (more < 0 || (size_t)more >= size - *length)
        return false;
    *length += (size_t)more;
    return true;
}

static bool add_number(char *entry, size_t size, size_t *length, const char *field, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return value < 0 || add_field(entry, size, length, field, text);
}

size_t td_log_entry(char *entry, size_t size, enum td_log_level level,
                    const struct td_log_fields *f, const char *line)
{
    size_t length = 0;
    bool fits = add_field(entry, size, &length, "MESSAGE", line) &&
                add_number(entry, size, &length, "PRIORITY", (int64_t)level) &&
                add_field(entry, size, &length, "SYSLOG_IDENTIFIER", name) &&
                (!f->job || add_field(entry, size, &length, "JOB", f->job)) &&
                (!f->error || add_field(entry, size, &length, "ERROR", f->error)) &&
                add_number(entry, size, &length, "RANK", f->rank) &&
                add_number(entry, size, &length, "GROUP", f->group) &&
                add_number(entry, size, &length, "OP", f->operation) &&
                add_number(entry, size, &length, "NODE", f->node);
    return fits ? length : 0;
}

/* ---- lines ---- */

/* put prints a line as plain text. */
static void put(enum td_log_level level, const struct td_log_fields *fields, const char *line)
{
    char entry[ENTRY_MAX], plain[LINE_MAX_BYTES];
    if (level > level_max)
        return;
    size_t size = journal_fd >= 0 ? td_log_entry(entry, sizeof entry, level, fields, line) : 0;
    if (size && sendto(journal_fd, entry, size, MSG_DONTWAIT | MSG_NOSIGNAL,
                       (const struct sockaddr *)&journal, sizeof journal) >= 0)
        return;
    td_text_show(line, plain, sizeof plain);
    if (getenv("JOURNAL_STREAM"))
        fprintf(stderr, "<%d>%s\n", (int)level, plain);
    else
        fprintf(stderr, "%s: %s\n", name, plain);
}

static void print(enum td_log_level level, const struct td_log_fields *fields, const char *format,
                  va_list arguments)
{
    char line[LINE_MAX_BYTES];
    if (level > level_max)
        return;
    vsnprintf(line, sizeof line, format, arguments);
    put(level, fields, line);
}

void td_log(enum td_log_level level, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print(level, &td_log_no_fields, format, arguments);
    va_end(arguments);
}

void td_log_with(enum td_log_level level, const struct td_log_fields *fields, const char *format,
                 ...)
{
    va_list arguments;
    va_start(arguments, format);
    print(level, fields, format, arguments);
    va_end(arguments);
}

/* ---- rates ---- */

/* refill gives the bucket back the tokens of the time that has passed. */
static void refill(struct td_log_rate *rate, uint64_t now_ns)
{
    uint64_t tokens = (now_ns - rate->since_ns) / TD_LOG_TOKEN_NS;
    rate->lines = tokens < rate->lines ? rate->lines - (uint32_t)tokens : 0;
    rate->since_ns = rate->lines ? rate->since_ns + tokens * TD_LOG_TOKEN_NS : now_ns;
}

static bool rated(struct td_log_rate *rate, uint64_t now_ns, enum td_log_level level,
                  const struct td_log_fields *fields, char *line)
{
    refill(rate, now_ns);
    if (level > level_max)
        return false;
    if (rate->lines == TD_LOG_RATE_LINES) {
        rate->suppressed++;
        return false;
    }
    rate->lines++;
    size_t length = strlen(line);
    if (rate->suppressed)
        snprintf(line + length, LINE_MAX_BYTES - length, "; %llu such lines were suppressed",
                 (unsigned long long)rate->suppressed);
    rate->suppressed = 0;
    put(level, fields, line);
    return true;
}

bool td_log_rated(struct td_log_rate *rate, uint64_t now_ns, enum td_log_level level,
                  const char *format, ...)
{
    char line[LINE_MAX_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line - 100, format, arguments); /* the number of lines follows */
    va_end(arguments);
    return rated(rate, now_ns, level, &td_log_no_fields, line);
}

bool td_log_rated_with(struct td_log_rate *rate, uint64_t now_ns, enum td_log_level level,
                       const struct td_log_fields *fields, const char *format, ...)
{
    char line[LINE_MAX_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line - 100, format, arguments);
    va_end(arguments);
    return rated(rate, now_ns, level, fields, line);
}

void td_log_rate_tick(struct td_log_rate *rate, uint64_t now_ns, enum td_log_level level,
                      const char *what)
{
    if (!rate->suppressed)
        return;
    refill(rate, now_ns);
    if (rate->lines > TD_LOG_RATE_LINES / 2)
        return;
    td_log_rate_end(rate, level, what);
    rate->suppressed = 0;
}

void td_log_rate_end(const struct td_log_rate *rate, enum td_log_level level, const char *what)
{
    if (rate->suppressed)
        td_log(level, "%s: %llu such lines were suppressed", what,
               (unsigned long long)rate->suppressed);
}
