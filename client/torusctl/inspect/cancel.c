/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl cancel: end the calls of a job, or one operation, for all of its ranks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ending.h"
#include "groups.h"
#include "inspect.h"
#include "merge.h"
#include "libtorus/deadline.h"
#include "torusctl/torusctl.h"
#include "wanted.h"

enum { LOOK_NS = 20000000 };

/* struct wish: what is to be cancelled. */
struct wish {
    struct ins_wanted wanted;
    const char *operation, *group, *why; /* NULL: not given */
    json_int_t owner;
    uint64_t number, instance;
    bool *ask;     /* [nodes] */
    int64_t ended; /* calls and joins that ended, summed over the nodes */
    json_t *asked; /* the operations to be cancelled; NULL: all that are in flight now */
};

static int fail(const char *text)
{
    fprintf(stderr, "torusctl cancel: %s\n", text);
    return EXIT_FAILED;
}

/* find_owner finds the user of the job among groups (name "job") or jobs (name "name"). It returns
 * false, with a sentence, if there are several. */
static bool find_owner(struct wish *w, const json_t *rows, const char *key, bool *found)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *r = json_array_get(rows, i);
        json_int_t uid = ins_number(r, "uid");
        if (!ins_is_wanted(&w->wanted, ins_string(r, key), uid))
            continue;
        if (*found && uid != w->owner) {
            fail("several users have a job of this name: give --user UID");
            return false;
        }
        w->owner = uid;
        *found = true;
    }
    return true;
}

/* is_wanted returns true if a row of an operation belongs to the wish. */
static bool is_wanted(const struct wish *w, const json_t *row)
{
    char id[24];
    bool asked = !w->asked;
    for (size_t i = 0; i < json_array_size(w->asked) && !asked; i++)
        asked = ins_is_same_operation(json_array_get(w->asked, i), row);
    if (!asked)
        return false; /* it began later */
    snprintf(id, sizeof id, "%016llx", (unsigned long long)ins_number(row, "instance"));
    bool shrink = strcmp(ins_string(row, "kind"), "shrink") == 0;
    return strcmp(ins_string(row, "job"), w->wanted.job) == 0 &&
           (!w->operation || (!shrink && (uint64_t)ins_number(row, "sequence") == w->number)) &&
           (!w->group || strncmp(id, w->group, strlen(w->group)) == 0);
}

/* count_wanted returns how many operations are in flight that belong to the wish; -1 if the
 * connection is lost. It notes their nodes, and the group; *groups is the number of groups. */
static int count_wanted(struct ins_machine *m, struct wish *w, int *groups)
{
    json_t *rows = ins_machine_rows(m, TD_STATUS_OPERATIONS, ins_state_json), *seen = json_array();
    int count = 0;
    *groups = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        bool known = false, known_group = false;
        if (!is_wanted(w, row) || json_is_true(json_object_get(row, "nobody_waits")))
            continue; /* nothing would end on that node */
        for (size_t k = 0; k < json_array_size(seen); k++) {
            const json_t *s = json_array_get(seen, k);
            bool same = ins_number(s, "instance") == ins_number(row, "instance");
            known_group = known_group || same;
            known = known || ins_is_same_operation(s, row);
        }
        count += !known;
        *groups += !known_group;
        json_array_append(seen, (json_t *)(uintptr_t)row);
        w->instance = (uint64_t)ins_number(row, "instance");
        w->ask[ins_number(row, "at")] = true;
    }
    bool lost = rows == NULL;
    if (w->asked)
        json_decref(seen);
    else
        w->asked = seen;
    json_decref(rows);
    return lost ? -1 : count;
}

/* wait_end waits until the operations are over, and returns how many are left. */
static int wait_end(struct ins_machine *m, struct wish *w)
{
    int64_t until = tl_now_ns() + (int64_t)(1e9 * m->timeout_s);
    int left = 0, groups = 0;
    do {
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
        left = count_wanted(m, w, &groups);
    } while (left > 0 && tl_now_ns() < until);
    return left;
}

/* joining returns how many processes wait for a job to form. */
static json_int_t joining(const json_t *jobs, const json_t *groups, const struct wish *w)
{
    json_int_t count = 0;
    for (size_t i = 0; i < json_array_size(jobs); i++) {
        const json_t *j = json_array_get(jobs, i);
        if (strcmp(ins_string(j, "name"), w->wanted.job) == 0 && ins_number(j, "uid") == w->owner &&
            ins_is_forming(jobs, groups, j))
            count += ins_number(j, "joined");
    }
    return count;
}

static void report(const struct ins_machine *m, const struct ins_choices *o, const struct wish *w,
                   int operations, int left, json_int_t joins)
{
    if (o->as_json) {
        json_t *all = ins_begin(m, 1);
        json_object_set_new(all, "job", ins_text(w->wanted.job));
        json_object_set_new(all, "uid", json_integer(w->owner));
        json_object_set_new(all, "operations", json_integer(operations));
        json_object_set_new(all, "joins", json_integer(joins));
        json_object_set_new(all, "left", json_integer(left));
        ins_end(m, all);
        return;
    }
    printf("job %s of user %lld: cancelled", w->wanted.job, (long long)w->owner);
    if (operations)
        printf(" %d operation%s", operations - left, operations - left == 1 ? "" : "s");
    else if (!joins)
        printf(" calls that had just begun");
    if (joins)
        printf("%s %lld join%s", operations ? " and" : "", (long long)joins, joins == 1 ? "" : "s");
    putchar('\n');
    if (left)
        printf("! %d operation%s still in flight: an operation that makes progress completes\n",
               left, left == 1 ? " is" : "s are");
    ins_machine_print_silent(m);
}

/* is_possible returns false, with a sentence, if there is nothing to cancel, or too much. */
static bool is_possible(const struct wish *w, bool found, int operations, int groups, char *text,
                        size_t bytes)
{
    char owner[40];
    if (!found)
        snprintf(text, bytes, "no node has a job %s of %s", w->wanted.job,
                 ins_wanted_owner(&w->wanted, owner, sizeof owner));
    else if (w->operation && operations == 0)
        snprintf(text, bytes, "no operation %s of job %s is in flight (torusctl ops)", w->operation,
                 w->wanted.job);
    else if (w->operation && groups > 1)
        snprintf(text, bytes,
                 "%d groups of job %s have an operation %s: give --group ID (torusctl groups)",
                 groups, w->wanted.job, w->operation);
    else
        return true;
    return false;
}

/* tell asks the nodes to end the calls. It returns false with a sentence. */
static bool tell(struct ins_machine *m, struct wish *w, char *text, size_t bytes)
{
    struct td_message_end_calls end = {.job = w->wanted.job,
                                       .owner = (uint64_t)w->owner,
                                       .all = !w->operation,
                                       .instance = w->instance,
                                       .number = w->number,
                                       .why = w->why ? w->why : ""};
    for (uint32_t n = 0; end.all && n < m->nodes; n++)
        w->ask[n] = !m->here || n == torus_node(m->c);
    for (size_t i = 0; i < json_array_size(m->silent); i++)
        w->ask[ins_number(json_array_get(m->silent, i), "node")] = false;
    w->ended = ins_end_calls(m, w->ask, &end, text, bytes);
    return w->ended >= 0;
}

/* end_jobs ends what the wish says, with the jobs and groups of the machine. It returns the exit
 * code, or INS_LOST. */
static int end_jobs(struct ins_machine *m, const struct ins_choices *o, struct wish *w,
                    const json_t *jobs, const json_t *groups)
{
    char text[TD_TEXT_MAX];
    int several = 0, left = 0;
    bool found = false;
    if (!find_owner(w, groups, "job", &found) || !find_owner(w, jobs, "name", &found))
        return EXIT_FAILED;
    int operations = count_wanted(m, w, &several);
    json_int_t joins = w->operation ? 0 : joining(jobs, groups, w);
    if (operations < 0)
        return INS_LOST;
    if (!is_possible(w, found, operations, several, text, sizeof text) ||
        !tell(m, w, text, sizeof text))
        return fail(text);
    if (operations + joins == 0 && w->ended == 0) {
        snprintf(text, sizeof text,
                 "no call of job %s was in flight, so nothing was cancelled: cancel during a call, "
                 "or end its processes (torusctl status lists them)",
                 w->wanted.job);
        return fail(text);
    }
    if (operations)
        left = wait_end(m, w);
    report(m, o, w, operations, left < 0 ? 0 : left, joins);
    return left ? EXIT_FAILED : EXIT_WELL;
}

static int cancel(struct ins_machine *m, const struct ins_choices *o, struct wish *w)
{
    json_t *state = ins_collect(m), *groups = state ? ins_groups(m) : NULL;
    int code = groups ? end_jobs(m, o, w, json_object_get(state, "jobs"), groups) : INS_LOST;
    json_decref(groups);
    json_decref(state);
    return code;
}

static int run(int argc, char **argv)
{
    struct ins_choices o;
    struct ins_machine m;
    struct wish w = {.operation = tool_take_option(&argc, argv, "--operation"),
                     .group = tool_take_option(&argc, argv, "--group"),
                     .why = tool_take_option(&argc, argv, "--why")};
    char *end = NULL;
    int code = EXIT_WELL;
    bool is_user = ins_wanted_take(&w.wanted, &argc, argv);
    const char *wrong = ins_read_choices(argc, argv, &o, &w.wanted.job);
    if (wrong)
        return tool_usage("cancel", tool_no_option(wrong));
    if (!is_user)
        return tool_usage("cancel", INS_USER_WRONG);
    if (!w.wanted.job)
        return tool_usage("cancel", "expected the name of a job (torusctl jobs)");
    if (o.watch)
        return tool_usage("cancel", "--watch: a cancellation happens once; torusctl ops --watch "
                                    "shows what is left");
    w.number = w.operation ? strtoull(w.operation, &end, 10) : 0;
    if (w.operation && (w.operation[0] < '0' || w.operation[0] > '9' || *end))
        return tool_usage("cancel", "--operation takes a number (torusctl ops)");
    torus_context *c = tool_open(o.socket, o.patience_s, &code);
    if (!c)
        return code;
    ins_machine_begin(&m, c, o.timeout_s, o.here);
    w.ask = calloc(m.nodes, sizeof *w.ask);
    code = w.ask ? cancel(&m, &o, &w) : fail("no memory");
    if (code == INS_LOST)
        code = fail(tool_error(c));
    free(w.ask);
    json_decref(w.asked);
    ins_machine_end(&m);
    torus_close(c);
    return code;
}

const struct tool_command ctl_command_cancel = {
    .name = "cancel",
    .arguments = "JOB [--operation N] [--group ID] [--user UID] [--why TEXT] [--timeout SECONDS] "
                 "[--json] [--socket PATH]",
    .what = "end the calls of a job, or one operation, with an error for all of its ranks",
    .options =
        "  JOB                  the job; a job that forms ends, too\n"
        "  --operation N        only the operation of this number (torusctl ops)\n"
        "  --group ID           of this group (torusctl groups); needed if several have a number "
        "N\n" INS_USER_OPTION
        "  --why TEXT           a reason, for the sentence that the ranks get\n"
        "  --timeout SECONDS    time for the answers, and for the end of the operations (0.8)\n"
        "  --json               print the result as JSON\n"
        "  --socket PATH        socket of the daemon (default: the search order of libtorus(3))\n",
    .run = run,
};
