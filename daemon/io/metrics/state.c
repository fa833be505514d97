/* SPDX-License-Identifier: Apache-2.0 */
#include "state.h"

#include <stdio.h>
#include <string.h>

#include "io/config/address.h"
#include "rows.h"

enum { VERSION = 1 };

/* host_json returns the host in an endpoint such as tcp://host:7117, or "". */
static json_t *host_json(const char *endpoint)
{
    struct td_address address = {.host = ""};
    if (strncmp(endpoint, "tcp://", strlen("tcp://")) == 0)
        td_address_read(endpoint + strlen("tcp://"), &address);
    return td_rows_text(address.host);
}

static json_t *torus_json(const struct td_config *config)
{
    const struct td_topology *t = &config->topology;
    json_t *size = json_array(), *wrap = json_array(), *hosts = json_array();
    char shape[128];
    td_topology_print(t, shape, sizeof shape);
    for (uint32_t d = 0; d < t->dimensions; d++) {
        json_array_append_new(size, json_integer(t->size[d]));
        json_array_append_new(wrap, json_boolean(t->wrap[d]));
    }
    for (uint32_t n = 0; n < t->nodes; n++)
        json_array_append_new(hosts, host_json(config->endpoints[n]));
    bool routed = config->settings.tuning.fabric == TD_FABRIC_ROUTED;
    return json_pack("{s:s s:o s:o s:s s:I s:o}", "shape", shape, "size", size, "wrap", wrap,
                     "fabric", routed ? "routed" : "direct", "link_rate",
                     (json_int_t)config->settings.link_rate, "hosts", hosts);
}

char *td_state_print(const struct td_loop *loop, const struct td_tour *tour, size_t *bytes)
{
    const struct td_config *config = loop->config;
    json_t *state =
        json_pack("{s:i s:i s:s s:I s:o s:o}", "version", VERSION, "node", (int)config->node,
                  "release", TORUS_VERSION, "now_ns", (json_int_t)td_loop_now(), "torus",
                  torus_json(config), "nodes", td_tour_nodes(tour));
    char *text = state ? json_dumps(state, JSON_COMPACT) : NULL;
    json_decref(state);
    *bytes = text ? strlen(text) : 0;
    return text;
}
