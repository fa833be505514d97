/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl queues: the routers of the nodes, on the routed fabric. */
#include <jansson.h>
#include <libsmartcols.h>
#include <stdio.h>
#include <string.h>

#include "model/program.h"
#include "model/settings.h"
#include "rounds.h"
#include "torusctl/torusctl.h"
#include "base/quantity.h"

enum { DIRECTION_BYTES = 16, CHANNELS = TD_CHANNELS };
static const char *const channels[CHANNELS] = {"adaptive 0", "adaptive 1", "escape"};

/* direction_text writes a direction: 0+ is up in dimension 0. */
static void direction_text(char *text, uint32_t direction)
{
    snprintf(text, DIRECTION_BYTES, "%u%c", direction / 2, direction % 2 ? '-' : '+');
}

static json_t *number(const uint64_t *number, uint32_t which)
{
    return json_integer((json_int_t)number[which]);
}

static json_t *three(const uint64_t *row, uint32_t which)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < CHANNELS; i++)
        json_array_append_new(list, number(row, which + i));
    return list;
}

static json_t *node_json(const struct td_row_router *row)
{
    static const struct {
        const char *name;
        uint32_t which;
    } fields[] = {{"packet_bytes", TD_QUEUES_PACKET_BYTES},
                  {"link_rate", TD_QUEUES_LINK_RATE},
                  {"slots", TD_QUEUES_SLOTS},
                  {"fifo_slots", TD_QUEUES_FIFO_SLOTS},
                  {"queues", TD_QUEUES_QUEUES},
                  {"queue_slots", TD_QUEUES_QUEUE_SLOTS},
                  {"queued", TD_QUEUES_QUEUED},
                  {"queued_max", TD_QUEUES_QUEUED_MAX},
                  {"fifo_max", TD_QUEUES_FIFO_MAX}};
    bool routed =
        row->numbers == TD_QUEUES_NUMBERS && row->number[TD_QUEUES_FABRIC] == TD_FABRIC_ROUTED;
    json_t *all =
        json_pack("{s:i s:s}", "node", (int)row->node, "fabric", routed ? "routed" : "direct");
    for (size_t i = 0; routed && i < sizeof fields / sizeof fields[0]; i++)
        json_object_set_new(all, fields[i].name, number(row->number, fields[i].which));
    if (routed)
        json_object_set_new(all, "held_max", three(row->number, TD_QUEUES_HELD_MAX));
    json_object_set_new(all, "links", json_array());
    return all;
}

static json_t *link_json(const struct td_row_direction *row)
{
    char direction[DIRECTION_BYTES];
    direction_text(direction, row->direction);
    return json_pack(
        "{s:s s:i s:s s:o s:o s:o s:o s:o s:o s:o}", "direction", direction, "neighbour",
        (int)row->neighbour, "state", row->up ? "up" : "down", "fifo",
        number(row->number, TD_WAY_FIFO), "held", three(row->number, TD_WAY_HELD), "credits",
        three(row->number, TD_WAY_CREDITS), "packets", number(row->number, TD_WAY_PACKETS), "bytes",
        number(row->number, TD_WAY_BYTES), "retries", number(row->number, TD_WAY_RETRIES),
        "resumes", number(row->number, TD_WAY_RESUMES));
}

static json_t *row_json(const struct td_status_row *row)
{
    if (row->kind == TD_ROW_ROUTER)
        return node_json(&row->u.router);
    return row->kind == TD_ROW_DIRECTION ? link_json(&row->u.direction) : NULL;
}

/* collect returns the routers of all nodes, each with its links; NULL on an error. */
static json_t *collect(struct ins_machine *m)
{
    json_t *rows = ins_machine_rows(m, TD_STATUS_QUEUES, row_json), *nodes = json_array();
    json_t *row = NULL, *router = NULL;
    size_t i = 0;
    json_array_foreach(rows, i, row) /* the rows of a node are adjacent, its router the first */
    {
        json_object_del(row, "at");
        if (json_object_get(row, "links"))
            json_array_append(nodes, router = row);
        else if (router)
            json_array_append(json_object_get(router, "links"), row);
    }
    if (rows)
        ins_add_silence(m);
    else
        json_decref(nodes);
    json_decref(rows);
    return rows ? nodes : NULL;
}

/* ---- tables ---- */

static json_int_t get(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

/* list_text writes a list of numbers as 2 0 1. */
static void list_text(char *text, size_t bytes, const json_t *list)
{
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < json_array_size(list) && length < bytes; i++)
        length += (size_t)snprintf(text + length, bytes - length, "%s%lld", i ? " " : "",
                                   (long long)json_integer_value(json_array_get(list, i)));
}

static void print_links(const json_t *links)
{
    static const char *const keys[] = {"direction", "neighbour", "state", "fifo",    "held",
                                       "credits",   "packets",   "bytes", "retries", "resumes"};
    struct libscols_table *t = scols_new_table();
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
        scols_table_new_column(t, keys[k], 0, 0);
    for (size_t i = 0; i < json_array_size(links); i++) {
        struct libscols_line *line = scols_table_new_line(t, NULL);
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
            char text[64] = "";
            const json_t *value = json_object_get(json_array_get(links, i), keys[k]);
            if (strcmp(keys[k], "bytes") == 0)
                td_quantity_print((uint64_t)json_integer_value(value), text, sizeof text);
            else if (json_is_array(value))
                list_text(text, sizeof text, value);
            else if (json_is_integer(value))
                snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
            else
                snprintf(text, sizeof text, "%s", json_string_value(value));
            scols_line_set_data(line, k, text);
        }
    }
    scols_print_table(t);
    scols_unref_table(t);
}

static void print_tables(const json_t *all)
{
    char packet[32], rate[32];
    td_quantity_print((uint64_t)get(all, "packet_bytes"), packet, sizeof packet);
    td_quantity_print_rate((double)get(all, "link_rate"), rate, sizeof rate);
    printf("node %lld: packets of %s, links of %s\n", (long long)get(all, "node"), packet,
           get(all, "link_rate") ? rate : "any rate");
    printf("%-26s %5s %5s %6s\n", "", "now", "most", "bound");
    printf("%-26s %5lld %5lld %6lld\n", "fullest output queue", (long long)get(all, "queued"),
           (long long)get(all, "queued_max"), (long long)get(all, "queue_slots"));
    const json_t *links = json_object_get(all, "links"), *most = json_object_get(all, "held_max");
    json_int_t fifo = 0;
    for (size_t i = 0; i < json_array_size(links); i++)
        if (get(json_array_get(links, i), "fifo") > fifo)
            fifo = get(json_array_get(links, i), "fifo");
    printf("%-26s %5lld %5lld %6lld\n", "fullest injection FIFO", (long long)fifo,
           (long long)get(all, "fifo_max"), (long long)get(all, "fifo_slots"));
    for (size_t c = 0; c < CHANNELS; c++) {
        json_int_t held = 0;
        for (size_t i = 0; i < json_array_size(links); i++) {
            const json_t *list = json_object_get(json_array_get(links, i), "held");
            json_int_t here = json_integer_value(json_array_get(list, c));
            held = here > held ? here : held;
        }
        char name[64];
        snprintf(name, sizeof name, "fullest channel, %s", channels[c]);
        printf("%-26s %5lld %5lld %6lld\n", name, (long long)held,
               (long long)json_integer_value(json_array_get(most, c)),
               (long long)get(all, "slots"));
    }
    printf("\nLINKS (held and credits: %s, %s, %s)\n", channels[0], channels[1], channels[2]);
    print_links(links);
}

/* print_nodes prints the tables of the nodes; those on the direct fabric share a line. */
static void print_nodes(const json_t *nodes)
{
    size_t routed = 0;
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        const json_t *node = json_array_get(nodes, i);
        if (!json_object_get(node, "slots"))
            continue;
        if (routed++)
            putchar('\n');
        print_tables(node);
    }
    if (routed == 0)
        puts("the machine is on the direct fabric, which has no queues");
}

static int show(struct ins_machine *m, const struct ins_choices *o, const char *word)
{
    json_t *nodes = collect(m), *all = NULL;
    (void)word;
    if (!nodes)
        return INS_LOST;
    if (o->as_json) {
        all = ins_begin(m, 2);
        json_object_set(all, "nodes", nodes);
        ins_end(m, all);
    } else {
        ins_machine_print_silent(m);
        print_nodes(nodes);
    }
    json_decref(nodes);
    return EXIT_WELL;
}

static int run_queues(int argc, char **argv)
{
    return ins_run(argc, argv, false, show);
}

const struct tool_command ctl_command_queues = {
    .name = "queues",
    .arguments = INS_ARGUMENTS,
    .what = "show the queues, channels and links of the routers (routed fabric)",
    .options = ins_options,
    .run = run_queues,
};
