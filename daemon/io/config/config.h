/* SPDX-License-Identifier: Apache-2.0 */
/* config: torusd.conf and its drop-ins. Every error says file, line, column, key and what would be
 * right. Owns: its strings. Invariant: after TD_OK every field is set and consistent. */
#ifndef TD_IO_CONFIG_CONFIG_H
#define TD_IO_CONFIG_CONFIG_H

#include "core/core.h"
#include "io/log.h"

struct td_config {
    struct td_topology topology;
    uint32_t node;
    char *endpoints[TD_NODES_MAX]; /* [topology.nodes] control endpoint of every node */
    char listen[256];              /* what this node binds */
    char socket[108];
    char state_directory[256];
    bool insecure;
    struct td_settings settings;
    uint32_t workers;
    uint8_t effort;     /* enum td_fft_effort */
    int64_t measure_ns; /* that measuring a plan may take */
    enum td_log_level log_level;
};

/* td_config_load reads FILE and FILE.d/ *.conf. host is this machine's name, for the node's place
 * in a host list. On TD_ERR_INVALID *text (of text_bytes) is the sentence. */
td_err td_config_load(struct td_config *config, const char *file, const char *host, char *text,
                      size_t text_bytes);
/* td_config_default writes the path of the configuration that goes with this executable: that of
 * its prefix when it is installed under one, else that of the prefix the build was configured with.
 */
void td_config_default(const char *executable, char *path, size_t bytes);
void td_config_free(struct td_config *config);
/* td_config_bulk writes the bulk endpoint that belongs to a control endpoint: port + 1, or the path
 * with ".bulk". False when it has none. */
bool td_config_bulk(const char *endpoint, char *bulk, size_t bytes);

#endif
