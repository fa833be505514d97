/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the machine while a node does not answer: inspect/collect.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "inspect/collect.h"
#include "inspect/inspect.h"
#include "libtorus/status.h"
#include "torusctl/torusctl.h"

#define SECOND 1000000000LL
#define TIMEOUT (3 * SECOND)

/* ---- a machine of two nodes: node 1 has stopped at time 0; node 0 answers at once ---- */

static json_int_t now;

uint32_t torus_node(const torus_context *c)
{
    (void)c;
    return 0;
}

int torus_shape(const torus_context *c, uint32_t size[TORUS_DIMENSIONS_MAX],
                int wrap[TORUS_DIMENSIONS_MAX])
{
    (void)c;
    size[0] = 2;
    wrap[0] = 0;
    return 1;
}

int torus_coords(const torus_context *c, uint32_t place[TORUS_DIMENSIONS_MAX])
{
    (void)c;
    place[0] = 0;
    return 1;
}

void torus_close(torus_context *c)
{
    (void)c;
}

/* The daemon of this node says when it has heard node 1. */
int tl_status_next(torus_context *c, uint32_t section, struct tl_listing *listing,
                   struct td_reply *reply)
{
    (void)c;
    assert_int_equal(section, TD_STATUS_PEERS);
    listing->cursor = 0;
    reply->u.status.rows = 1;
    reply->u.status.row[0] = (struct td_status_row){.kind = TD_ROW_PEER};
    reply->u.status.row[0].u.peer.node = 1;
    reply->u.status.row[0].u.peer.state = TD_PEER_UP;
    reply->u.status.row[0].u.peer.silent_ns = (uint64_t)now;
    return TORUS_OK;
}

/* The first section waits for node 1 until the time is over. */
json_t *ins_machine_rows(struct ins_machine *m, uint32_t section,
                         json_t *(*row_json)(const struct td_status_row *row))
{
    json_t *rows = json_array();
    if (json_array_size(m->silent) == 0) {
        now += TIMEOUT;
        json_array_append_new(m->silent, json_pack("{s:i}", "node", 1));
    }
    if (section == TD_STATUS_OPERATIONS) {
        struct td_status_row row = {.kind = TD_ROW_OPERATION};
        row.u.operation.age_ns = (uint64_t)now;
        json_t *o = row_json(&row);
        json_object_set_new(o, "at", json_integer(0));
        json_array_append_new(rows, o);
    }
    return rows;
}

/* what the commands use, which are not under test */

bool ins_machine_lists(struct ins_machine *m, json_int_t node)
{
    (void)m;
    (void)node;
    return false;
}

bool ins_machine_seconds(const char *text, double *seconds)
{
    (void)text;
    (void)seconds;
    return false;
}

void ins_machine_begin(struct ins_machine *m, torus_context *c, double timeout_s, bool here)
{
    (void)m;
    (void)c;
    (void)timeout_s;
    (void)here;
}

void ins_machine_end(struct ins_machine *m)
{
    (void)m;
}

torus_context *tool_open(const char *socket, double patience_s, int *code)
{
    (void)socket;
    (void)patience_s;
    (void)code;
    return NULL;
}

int tool_usage(const char *name, const char *wrong)
{
    (void)name;
    (void)wrong;
    return 0;
}

const char *tool_no_option(const char *name)
{
    return name;
}

const char *tool_error(const torus_context *c)
{
    (void)c;
    return "";
}

/* ---- tests ---- */

/* Both ages are those after the wait for the answers, when they are printed: an operation that
 * began when the node fell silent has waited for as long as the node is silent. */
static void ages_are_of_one_moment_after_the_wait_for_answers(void **state)
{
    (void)state;
    struct ins_machine m = {.nodes = 2, .silent = json_array()};
    now = SECOND;
    json_t *all = ins_collect(&m);
    assert_non_null(all);
    const json_t *o = json_array_get(json_object_get(all, "operations"), 0);
    assert_int_equal(ins_number(o, "age_ns"), SECOND + TIMEOUT);
    assert_int_equal(ins_number(json_array_get(m.silent, 0), "silent_ns"), SECOND + TIMEOUT);
    json_decref(all);
    json_decref(m.silent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ages_are_of_one_moment_after_the_wait_for_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
