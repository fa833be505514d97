/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl links: the connections between the nodes, and what went over them. */
#include "links.h"

#include <libsmartcols.h>
#include <stdio.h>
#include <string.h>

#include "inspect.h"
#include "rows.h"
#include "torusctl/torusctl.h"

/* One time is told of a link that goes down so soon after its last message. */
#define LATER_NS 1000000000LL

/* state_of returns the state of a link: down if it was up before, or if its node is not heard. */
static const char *state_of(const struct td_row_link *r)
{
    if (r->up)
        return "up";
    if (r->since_ns)
        return "down";
    if (!r->error[0] || strcmp(r->error, "not connected yet") == 0)
        return "unused";
    return r->state == TD_PEER_UP ? "connecting" : "down";
}

static json_t *row_json(const struct td_status_row *row)
{
    json_t *link = ins_row(row, TD_ROW_LINK);
    if (!link)
        return NULL;
    const char *state = state_of(&row->u.link);
    json_object_set_new(link, "state", json_string(state));
    if (strcmp(state, "unused") == 0)
        json_object_set_new(link, "error", json_string(""));
    json_object_del(link, "up");
    return link;
}

json_t *ins_links(struct ins_machine *m)
{
    json_t *rows = ins_machine_rows(m, TD_STATUS_LINKS, row_json), *row = NULL;
    size_t i = 0;
    json_array_foreach(rows, i, row)
    {
        json_object_set(row, "from", json_object_get(row, "at"));
        json_object_del(row, "at");
        if (strcmp(ins_string(row, "state"), "up") == 0 ||
            !ins_machine_lists(m, ins_number(row, "to")))
            continue;
        json_object_set_new(row, "state", json_string("absent"));
        json_object_set_new(row, "error", json_string(""));
    }
    if (rows)
        ins_add_silence(m);
    return rows;
}

bool ins_link_is_dead(const json_t *link)
{
    return strcmp(ins_string(link, "state"), "down") == 0;
}

/* since_text writes " for 4.2s, since 03:12:45", or nothing if the time is not known (0). */
static const char *since_text(char *text, size_t bytes, json_int_t ns)
{
    char age[32], clock[32];
    ins_duration(age, sizeof age, ns);
    ins_clock(clock, sizeof clock, ns);
    snprintf(text, bytes, ns ? " for %s, since %s" : "", age, clock);
    return text;
}

/* print_sentence prints that a link is down or silent, and since when (0: not known). A link is
 * taken down after its far end has not been heard for a time, up to progress_timeout: both are
 * told. */
static void print_sentence(const json_t *l, const char *state, json_int_t ns)
{
    char since[100], unheard[100], nothing[200] = "";
    json_int_t silent = ins_number(l, "silent_ns"), to = ins_number(l, "to");
    if (ns && silent > ns + LATER_NS)
        snprintf(nothing, sizeof nothing, "; nothing has come from node %lld%s", (long long)to,
                 since_text(unheard, sizeof unheard, silent));
    printf("! the link from node %lld to node %lld %s %s%s%s: %s\n",
           (long long)ins_number(l, "from"), (long long)to, ns ? "has been" : "is", state,
           since_text(since, sizeof since, ns), nothing, ins_string(l, "error"));
}

void ins_link_print_dead(const json_t *links)
{
    for (size_t i = 0; i < json_array_size(links); i++) {
        const json_t *l = json_array_get(links, i);
        if (ins_link_is_dead(l))
            print_sentence(l, "down", ins_number(l, "since_ns"));
    }
}

/* says_silent returns true if a link is up, and its near end says that the far end is silent. */
static bool says_silent(const json_t *l)
{
    return strcmp(ins_string(l, "state"), "up") == 0 && *ins_string(l, "error");
}

void ins_link_say_once(struct ins_machine *m, const json_t *links)
{
    for (size_t i = 0; i < json_array_size(m->silent); i++) {
        json_t *s = json_array_get(m->silent, i), *l = NULL;
        size_t k = 0;
        json_array_foreach(links, k, l) if (ins_number(l, "to") == ins_number(s, "node") &&
                                            (ins_link_is_dead(l) || says_silent(l)))
            json_object_del(s, "silent_ns");
    }
}

/* is_silent returns true if a link is up, but its far end does not answer this command, or has sent
 * nothing for long: torusctl status says the same. */
static bool is_silent(const struct ins_machine *m, const json_t *l)
{
    bool is = *ins_string(l, "error") != '\0';
    for (size_t i = 0; i < json_array_size(m->silent); i++)
        is = is || ins_number(json_array_get(m->silent, i), "node") == ins_number(l, "to");
    return is && strcmp(ins_string(l, "state"), "up") == 0;
}

static void add_line(const struct ins_machine *m, struct libscols_table *t, const json_t *l)
{
    static const char *const counts[] = {"packets", NULL, "messages", "repeated_packets",
                                         "resumes"};
    enum { FROM, TO, STATE, SINCE, PACKETS, BYTES, MESSAGES, REPEATED, RESUMES };
    struct ins_cells c = {0};
    snprintf(c.text[FROM], INS_CELL_BYTES, "%lld", (long long)ins_number(l, "from"));
    snprintf(c.text[TO], INS_CELL_BYTES, "%lld", (long long)ins_number(l, "to"));
    snprintf(c.text[STATE], INS_CELL_BYTES, "%s%s",
             ins_link_is_dead(l) || is_silent(m, l) ? "! " : "",
             is_silent(m, l) ? "silent" : ins_string(l, "state"));
    const char *since = is_silent(m, l) ? "silent_ns" : "since_ns";
    if (ins_number(l, since))
        ins_duration(c.text[SINCE], INS_CELL_BYTES, ins_number(l, since));
    for (int i = 0; i <= RESUMES - PACKETS; i++)
        if (counts[i])
            snprintf(c.text[PACKETS + i], INS_CELL_BYTES, "%lld",
                     (long long)ins_number(l, counts[i]));
    ins_bytes_text(c.text[BYTES], INS_CELL_BYTES, ins_number(l, "bytes"));
    ins_table_add(t, &c);
}

/* print_silent prints a sentence of each link whose near end says that the far end is silent. */
static void print_silent(const json_t *links)
{
    for (size_t i = 0; i < json_array_size(links); i++) {
        const json_t *l = json_array_get(links, i);
        if (says_silent(l))
            print_sentence(l, "silent", ins_number(l, "silent_ns"));
    }
}

static void print_links(struct ins_machine *m, const json_t *links)
{
    static const char *const names[] = {">FROM",  ">TO",       "STATE",     ">SINCE",   ">PACKETS",
                                        ">BYTES", ">MESSAGES", ">REPEATED", ">RESUMED", NULL};
    struct libscols_table *t = ins_table(names);
    size_t up = 0, silent = 0;
    char text[96];
    for (size_t i = 0; i < json_array_size(links); i++) {
        const json_t *l = json_array_get(links, i);
        silent += is_silent(m, l);
        up += strcmp(ins_string(l, "state"), "up") == 0 && !is_silent(m, l);
        add_line(m, t, l);
    }
    int length = snprintf(text, sizeof text, "%zu of %zu links up", up, json_array_size(links));
    if (silent)
        snprintf(text + length, sizeof text - (size_t)length, ", %zu silent", silent);
    ins_link_say_once(m, links);
    ins_print_answers(m, text);
    ins_link_print_dead(links);
    print_silent(links);
    if (json_array_size(links))
        putchar('\n');
    ins_table_print(t);
}

static int show(struct ins_machine *m, const struct ins_choices *o, const char *word)
{
    json_t *links = ins_links(m);
    (void)word;
    if (!links)
        return INS_LOST;
    if (o->as_json) {
        json_t *all = ins_begin(m, 1);
        json_object_set(all, "links", links);
        ins_end(m, all);
    } else {
        print_links(m, links);
    }
    json_decref(links);
    return EXIT_WELL;
}

static int run(int argc, char **argv)
{
    return ins_run(argc, argv, false, show);
}

const struct tool_command ctl_command_links = {
    .name = "links",
    .arguments = INS_ARGUMENTS,
    .what = "show each link: its state, since when, and what was sent over it",
    .options = ins_options,
    .run = run,
};
