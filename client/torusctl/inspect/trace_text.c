/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect.h"

static bool begins(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* is_shown returns true for the call of a rank, a late rank, a failure, or what happened to a node:
 * not for parts of calls. */
static bool is_shown(const json_t *event)
{
    const char *name = ins_string(event, "name");
    const json_t *args = json_object_get(event, "args");
    return json_object_get(args, "rank") || json_object_get(args, "about_node") ||
           begins(name, "ERROR") || begins(name, "CULPRIT");
}

/* is_rare returns true for what is shown also if many calls have ended since: what happened to a
 * node or a process, and failures. */
static bool is_rare(const json_t *event)
{
    const char *name = ins_string(event, "name");
    return json_object_get(json_object_get(event, "args"), "about_node") || begins(name, "ERROR") ||
           begins(name, "CULPRIT") || begins(name, "process ");
}

static double time_of(const json_t *event)
{
    return json_number_value(json_object_get(event, "ts"));
}

static double end_of(const json_t *event)
{
    return time_of(event) + json_number_value(json_object_get(event, "dur"));
}

static int earlier(const void *a, const void *b)
{
    double x = time_of(*(const json_t *const *)a), y = time_of(*(const json_t *const *)b);
    return (x > y) - (x < y);
}

static int earlier_end(const void *a, const void *b)
{
    double x = end_of(*(const json_t *const *)a), y = end_of(*(const json_t *const *)b);
    return (x > y) - (x < y);
}

/* print_ranks prints a clause about the ranks of a list, if there are any. */
static void print_ranks(const char *before, const json_t *list, const char *after)
{
    char ranks[200] = "";
    ins_rank_runs(ranks, sizeof ranks, list);
    if (ranks[0])
        printf("; %s%s %s %s", before, ins_rank_word(ranks), ranks, after);
}

/* print_failure prints what is known of an operation that has failed: when it began, which ranks
 * were missing, and the sentence that its ranks have read. */
static void print_failure(const json_t *event, const struct ins_axis *axis)
{
    const json_t *args = json_object_get(event, "args");
    json_int_t took = ins_number(args, "failed_after_ns");
    int64_t at = (int64_t)(1e3 * time_of(event)) - took;
    char clock[40], duration[32] = "";
    ins_moment(clock, sizeof clock, axis->begin_ns + at, 6);
    ins_duration(duration, sizeof duration, took);
    printf("%16s began at %s, failed %s%s", "", clock, took ? "after " : "at once",
           took ? duration : "");
    print_ranks("", json_object_get(args, "missing"), "had not called");
    print_ranks("", json_object_get(args, "missing_gave_up"),
                "gave torusd up, as it did not run, or died");
    print_ranks("it is not known whether ", json_object_get(args, "missing_unknown"),
                "had called: torusd there did not run");
    if (*ins_string(args, "sentence"))
        printf("; %s", ins_string(args, "sentence"));
    putchar('\n');
}

static bool is_failure(const json_t *event)
{
    return json_object_get(json_object_get(event, "args"), "failed_after_ns") != NULL;
}

/* is_told returns true if an event before `at` is the failure of the same operation, as another
 * node tells it. */
static bool is_told(const json_t *list, size_t at)
{
    const json_t *args = json_object_get(json_array_get(list, at), "args");
    for (size_t i = 0; i < at; i++) {
        const json_t *e = json_array_get(list, i), *a = json_object_get(e, "args");
        if (is_failure(e) && ins_number(a, "operation") == ins_number(args, "operation") &&
            ins_number(a, "group") == ins_number(args, "group"))
            return true;
    }
    return false;
}

static void print_event(const json_t *event, const struct ins_axis *axis)
{
    const json_t *args = json_object_get(event, "args"), *rank = json_object_get(args, "rank");
    const json_t *over = json_object_get(args, "is_over"), *dur = json_object_get(event, "dur");
    char age[32], clock[40], took[32] = "", who[40] = "";
    int64_t at = (int64_t)(1e3 * time_of(event));
    ins_duration(age, sizeof age, axis->now_ns - at);
    ins_moment(clock, sizeof clock, axis->begin_ns + at, 6);
    ins_duration(took, sizeof took, (json_int_t)(1e3 * json_number_value(dur)));
    if (rank)
        snprintf(who, sizeof who, "rank %lld", (long long)json_integer_value(rank));
    printf("%s %7s ago  node %-4lld %-9s %s", clock, age, (long long)ins_number(event, "pid"), who,
           ins_string(event, "name"));
    /* a rank that has given its daemon up: the daemon knows neither when, nor when it had called */
    if (json_is_false(over))
        printf(": waits, for %s so far", took);
    else if (over && !json_object_get(args, "gave_up"))
        printf(": took %s%s", took,
               json_object_get(args, "after_pause") ? " since torusd ran again" : "");
    if (json_object_get(args, "waited_for")) {
        ins_duration(took, sizeof took, ins_number(args, "silent_ns"));
        printf("; %s of it for %s", took, ins_string(args, "waited_for"));
    }
    putchar('\n');
}

enum { RARE = 16 };

/* rare_before moves the rare ones among the first events of a list to the end of these, in their
 * order, RARE at most, and returns how many they are. */
static size_t rare_before(json_t **list, size_t first)
{
    size_t count = 0;
    for (size_t i = first; i-- > 0 && count < RARE;) {
        json_t *event = list[i];
        if (!is_rare(event))
            continue;
        size_t to = first - ++count;
        memmove(&list[i], &list[i + 1], (to - i) * sizeof *list);
        list[to] = event;
    }
    return count;
}

/* latest returns the `lines` events that ended last of those that are shown, and some rare ones
 * before, in the order of their beginnings, and sets *all to the number of those that are shown.
 * The caller owns the list. */
static json_t *latest(const json_t *events, size_t lines, size_t *all)
{
    size_t count = json_array_size(events), shown = 0;
    json_t **list = calloc(count + 1, sizeof *list), *result = json_array();
    for (size_t i = 0; list && i < count; i++)
        if (is_shown(json_array_get(events, i)))
            list[shown++] = json_array_get(events, i);
    size_t first = shown > lines ? shown - lines : 0;
    if (list) {
        qsort(list, shown, sizeof *list, earlier_end);
        first -= rare_before(list, first);
        qsort(list + first, shown - first, sizeof *list, earlier);
    }
    for (size_t i = first; i < shown; i++)
        json_array_append(result, list[i]);
    free(list);
    *all = shown;
    return result;
}

size_t ins_trace_text(const json_t *events, const struct ins_axis *axis)
{
    size_t all = 0;
    json_t *list = latest(events, axis->lines, &all);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *event = json_array_get(list, i);
        print_event(event, axis);
        if (is_failure(event) && !is_told(list, i))
            print_failure(event, axis);
    }
    if (json_array_size(list) == 0)
        puts("no call is on record");
    size_t left = all - json_array_size(list);
    json_decref(list);
    return left;
}

static json_t *event_json(const json_t *event, const struct ins_axis *axis)
{
    int64_t at = (int64_t)(1e3 * time_of(event));
    const json_t *args = json_object_get(event, "args"), *dur = json_object_get(event, "dur");
    json_t *e = json_pack("{s:I s:I s:I s:s}", "age_ns", (json_int_t)(axis->now_ns - at), "unix_ns",
                          (json_int_t)(axis->begin_ns + at), "node", ins_number(event, "pid"),
                          "name", ins_string(event, "name"));
    if (dur && !json_object_get(args, "gave_up"))
        json_object_set_new(e, "took_ns", json_integer((json_int_t)(1e3 * json_number_value(dur))));
    json_object_update_missing(e, (json_t *)(uintptr_t)args);
    return e;
}

json_t *ins_trace_json(const json_t *events, const struct ins_axis *axis)
{
    size_t shown = 0;
    json_t *list = latest(events, axis->lines, &shown), *all = json_array();
    for (size_t i = 0; i < json_array_size(list); i++)
        json_array_append_new(all, event_json(json_array_get(list, i), axis));
    json_decref(list);
    return all;
}
