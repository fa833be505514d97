/* SPDX-License-Identifier: Apache-2.0 */
#include "inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "libtorus/status.h"

enum { DAY_S = 86400 };
static const json_int_t SECOND_NS = 1000000000;

json_t *ins_text(const char *text)
{
    char plain[2 * TD_TEXT_MAX];
    return json_string(td_text_show(text ? text : "", plain, sizeof plain));
}

json_t *ins_ranks(const struct td_bitmap *set, uint32_t size, bool value)
{
    json_t *list = json_array();
    for (uint32_t r = 0; r < size && r / 8 < set->bytes; r++)
        if ((set->bits[r / 8] >> r % 8 & 1) == value)
            json_array_append_new(list, json_integer(r));
    return list;
}

json_t *ins_rows(torus_context *c, uint32_t section,
                 json_t *(*row_json)(const struct td_status_row *row))
{
    json_t *list = json_array();
    struct tl_listing listing = {0};
    do {
        static struct td_reply reply;
        if (tl_status_next(c, section, &listing, &reply) != TORUS_OK) {
            json_decref(list);
            return NULL;
        }
        for (uint32_t i = 0; i < reply.u.status.rows; i++) {
            json_t *row = row_json(&reply.u.status.row[i]);
            if (row)
                json_array_append_new(list, row);
        }
    } while (listing.cursor);
    return list;
}

json_int_t ins_number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

const char *ins_string(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

json_t *ins_find(const json_t *list, const char *key, json_int_t value)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *found = json_object_get(json_array_get(list, i), key);
        if (found && json_integer_value(found) == value)
            return json_array_get(list, i);
    }
    return NULL;
}

bool ins_has(const json_t *list, const json_t *value)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_equal(json_array_get(list, i), value))
            return true;
    return false;
}

json_t *ins_numbers(const char *text, json_int_t end, size_t most)
{
    json_t *list = json_array();
    for (char *behind = NULL;; text = behind + 1) {
        json_int_t first = strtoll(text, &behind, 10), last = first;
        if (behind == text)
            return list;
        if (*behind == '-')
            last = strtoll(behind + 1, &behind, 10);
        for (; first <= last && first < end && json_array_size(list) < most; first++)
            json_array_append_new(list, json_integer(first));
        if (*behind != ',')
            return list;
    }
}

bool ins_has_number(const json_t *list, json_int_t number)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_integer_value(json_array_get(list, i)) == number)
            return true;
    return false;
}

bool ins_is_rank(const json_t *client)
{
    return ins_number(client, "seat") == 0 && ins_number(client, "rank") >= 0 &&
           !json_is_true(json_object_get(client, "joining"));
}

bool ins_is_stopped(const json_t *process)
{
    char state = ins_string(process, "process_state")[0];
    return state == 'T' || state == 't';
}

void ins_print(const json_t *all)
{
    json_dumpf(all, stdout, JSON_INDENT(2));
    putchar('\n');
}

json_t *ins_host(const json_t *peers, json_int_t node)
{
    char host[INS_HOST_BYTES] = "";
    const json_t *peer = ins_find(peers, "node", node);
    const char *endpoint = ins_string(peer ? peer : json_array_get(peers, 0), "endpoint");
    const char *from = strstr(endpoint, "tcp://") == endpoint ? endpoint + 6 : endpoint;
    bool bracketed = *from == '['; /* an address of IPv6 */
    const char *end = strrchr(from, bracketed ? ']' : ':');
    from += bracketed;
    if (from > endpoint && end > from) {
        if (peer)
            snprintf(host, sizeof host, "%.*s", (int)(end - from), from);
        else if (gethostname(host, sizeof host - 1) != 0)
            host[0] = '\0';
    }
    return ins_text(host);
}

const char *ins_node_name(char *text, size_t bytes, const json_t *peers, json_int_t node)
{
    json_t *host = ins_host(peers, node);
    const char *name = json_string_value(host);
    snprintf(text, bytes, name && *name ? "node %lld (host %.100s)" : "node %lld", (long long)node,
             name);
    json_decref(host);
    return text;
}

void ins_duration(char *text, size_t bytes, json_int_t ns)
{
    double s = 1e-9 * (double)ns;
    if (s < 1e-3)
        snprintf(text, bytes, "%.0fus", 1e6 * s);
    else if (s < 1)
        snprintf(text, bytes, "%.0fms", 1e3 * s);
    else if (s < 60)
        snprintf(text, bytes, "%.1fs", s);
    else if (s < 3600)
        snprintf(text, bytes, "%.1fm", s / 60);
    else
        snprintf(text, bytes, "%.1fh", s / 3600);
}

json_int_t ins_unix_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (json_int_t)now.tv_sec * SECOND_NS + now.tv_nsec;
}

void ins_moment(char *text, size_t bytes, json_int_t unix_ns, int digits)
{
    static const char *const format[] = {"%H:%M:%S", "%F %H:%M:%S"};
    time_t at = (time_t)(unix_ns / SECOND_NS);
    struct tm tm;
    bool old = ins_unix_ns() - unix_ns >= DAY_S * SECOND_NS;
    if (!localtime_r(&at, &tm) || !strftime(text, bytes, format[old], &tm)) {
        snprintf(text, bytes, "?");
        return;
    }
    char part[16];
    size_t length = strlen(text);
    snprintf(part, sizeof part, "%09lld", (long long)(unix_ns % SECOND_NS));
    if (digits)
        snprintf(text + length, bytes - length, ".%.*s", digits, part);
}

void ins_ago(char *text, size_t bytes, json_int_t unix_ns, json_int_t ns)
{
    char age[32], clock[40];
    ins_duration(age, sizeof age, ns);
    ins_moment(clock, sizeof clock, unix_ns - ns, 3);
    snprintf(text, bytes, "%s ago, at %s", age, clock);
}

void ins_clock(char *text, size_t bytes, json_int_t ns)
{
    ins_moment(text, bytes, ins_unix_ns() - ns, 0);
}

const char *ins_scope(char *text, size_t bytes, json_int_t uid)
{
    snprintf(text, bytes, uid == 0 ? "" : " that user %lld may see", (long long)uid);
    return text;
}

void ins_rank_runs(char *text, size_t bytes, const json_t *list)
{
    enum { MOST = 40 };
    size_t count = json_array_size(list), length = 0;
    for (size_t i = 0, end = 0; i < count; i = end) {
        json_int_t first = json_integer_value(json_array_get(list, i)), last = first;
        for (end = i + 1; end < count && json_integer_value(json_array_get(list, end)) == last + 1;
             end++)
            last++;
        if (length > MOST) {
            snprintf(text + length, bytes - length, " and %zu more", count - i);
            return;
        }
        snprintf(text + length, bytes - length, first == last ? "%s%lld" : "%s%lld-%lld",
                 i ? "," : "", (long long)first, (long long)last);
        length = strlen(text);
    }
}

const char *ins_rank_word(const char *ranks)
{
    return strpbrk(ranks, "-, ") ? "ranks" : "rank";
}

void ins_missing_ranks(char *text, size_t bytes, const json_t *job)
{
    const json_t *list = json_object_get(job, "missing");
    json_int_t left = json_integer_value(json_object_get(job, "size")) -
                      json_integer_value(json_object_get(job, "joined"));
    text[0] = '\0';
    if (left > 0 && (size_t)left < json_array_size(list))
        snprintf(text, bytes, "%lld rank%s of ", (long long)left, left == 1 ? "" : "s");
    size_t length = strlen(text);
    ins_rank_runs(text + length, bytes - length, list);
}

void ins_missing_words(char *text, size_t bytes, const json_t *job)
{
    char ranks[256];
    ins_missing_ranks(ranks, sizeof ranks, job);
    snprintf(text, bytes, strstr(ranks, " of ") || !*ranks ? "%.0s%s" : "%s %s",
             ins_rank_word(ranks), ranks);
}

bool ins_is_one_missing(const json_t *job)
{
    return ins_number(job, "size") - ins_number(job, "joined") == 1 ||
           json_array_size(json_object_get(job, "missing")) == 1;
}
