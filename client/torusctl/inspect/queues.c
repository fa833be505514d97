/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl queues: the router of the node's daemon, on the routed fabric. */
#include <jansson.h>
#include <libsmartcols.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "model/program.h"
#include "model/settings.h"
#include "libtorus/status.h"
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
    json_t *all = json_pack("{s:i s:i s:s}", "version", 1, "node", (int)row->node, "fabric",
                            routed ? "routed" : "direct");
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

/* collect returns the router and its links; NULL on an error. */
static json_t *collect(torus_context *c)
{
    json_t *all = NULL;
    struct tl_listing listing = {0};
    do {
        static struct td_reply reply;
        if (tl_status_next(c, TD_STATUS_QUEUES, &listing, &reply) != TORUS_OK) {
            json_decref(all);
            return NULL;
        }
        for (uint32_t i = 0; i < reply.u.status.rows; i++) {
            const struct td_status_row *row = &reply.u.status.row[i];
            if (row->kind == TD_ROW_ROUTER && !all)
                all = node_json(&row->u.router);
            else if (row->kind == TD_ROW_DIRECTION && all)
                json_array_append_new(json_object_get(all, "links"), link_json(&row->u.direction));
        }
    } while (listing.cursor);
    return all;
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
    if (!json_object_get(all, "slots")) {
        printf("node %lld is on the direct fabric, which has no queues\n",
               (long long)get(all, "node"));
        return;
    }
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

static bool show(torus_context *c, bool as_json, bool again)
{
    json_t *all = collect(c);
    if (!all) {
        const char *why = torus_last_error(c);
        fprintf(stderr, "torusctl queues: %s\n",
                why && *why ? why : "torusd did not send the state of the router");
        return false;
    }
    if (as_json) {
        json_dumpf(all, stdout, again ? JSON_COMPACT : JSON_INDENT(2));
        putchar('\n');
    } else {
        if (again)
            fputs(isatty(1) ? "\033[H\033[2J" : "\n", stdout);
        print_tables(all);
    }
    json_decref(all);
    return fflush(stdout) == 0;
}

static int run_queues(int argc, char **argv)
{
    const char *socket = NULL;
    bool as_json = false, watch = false;
    int code = EXIT_WELL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            as_json = true;
        else if (strcmp(argv[i], "--watch") == 0)
            watch = true;
        else if (strcmp(argv[i], "--socket") == 0 && i + 1 < argc)
            socket = argv[++i];
        else
            return ctl_usage("queues", ctl_no_option(argv[i]));
    }
    torus_context *c = ctl_open(socket, &code);
    if (!c)
        return code;
    bool good = show(c, as_json, watch);
    while (good && watch) {
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
        good = show(c, as_json, true);
    }
    torus_close(c);
    return good ? EXIT_WELL : EXIT_FAILED;
}

const struct ctl_command ctl_command_queues = {
    .name = "queues",
    .arguments = "[--json] [--watch] [--socket PATH]",
    .what = "show the queues, channels and links of the node's router (routed fabric)",
    .options =
        "  --json               print the result as JSON\n"
        "  --watch              repeat every second; with --json, one object per line\n"
        "  --socket PATH        socket of the daemon (default: the search order of libtorus(3))\n",
    .run = run_queues,
};
