/* SPDX-License-Identifier: Apache-2.0 */
/* config: torusd.conf and its drop-ins. Every error has the file, line, column and key, and names
 * the right form. Owns: its strings. Invariant: after TD_OK every field is set and consistent. */
#ifndef TD_IO_CONFIG_CONFIG_H
#define TD_IO_CONFIG_CONFIG_H

#include "config_user.h"
#include "core/core.h"
#include "io/log.h"
#include "security.h"

/* enum td_streams: how the streams of packets over TCP are protected. */
enum td_streams { TD_STREAMS_ENCRYPT, TD_STREAMS_AUTHENTICATE };

struct td_config {
    const char *file, *host;           /* borrowed: what td_config_load read, and for which host */
    const struct td_config_user *user; /* borrowed; NULL: it is no daemon of a user alone */
    char drop_ins[512]; /* names of the files in FILE.d that it read, each after a space */
    char strays[512];   /* the same of other files there, which it did not read: their names do
                         * not end with .conf */
    struct td_topology topology;
    uint32_t node;
    char *endpoints[TD_NODES_MAX]; /* [topology.nodes] control endpoint of each node */
    char listen[256];              /* endpoint that this node binds */
    char socket[108];
    char state_directory[256];
    char observers[64];                  /* group whose members see all jobs; empty: none */
    char key_file[256], peers_file[256]; /* empty: no keys */
    struct td_security security;
    bool keys_wait;      /* after td_config_load_again: the keys fit the node and the shape of the
                          * files, and not the running ones: they wait for the restart */
    uint8_t streams;     /* enum td_streams */
    bool express;        /* tree messages may take a connection without ZeroMQ */
    char congestion[16]; /* TCP's congestion control of streams (tcp(7)), "auto", or "system" */
    bool insecure;       /* TCP without keys is permitted */
    bool segments;       /* processes of groups on one node share memory for short calls */
    struct td_settings settings;
    uint32_t workers;
    char metrics_listen[64]; /* address:port of the metrics; empty: there are none */
    bool metrics_anyone;     /* it need not be an address of loopback */
    bool metrics_jobs;       /* they name jobs, and there is a page for people */
    uint8_t effort;          /* enum td_fft_effort */
    int64_t measure_ns;      /* time limit of measuring one plan */
    enum td_log_level log_level;
    uint64_t set; /* a bit for each key (config_keys.h) that the files set */
};

enum { TD_CONFIG_KEYS_MAX = 64, TD_CONFIG_REFUSALS_MAX = 8, TD_CONFIG_REFUSAL_MAX = 512 };

/* struct td_config_refusals: the settings that a reload refuses, by their index (config_keys.h):
 * they stay as they are. It has the sentences of the first ones. */
struct td_config_refusals {
    bool key[TD_CONFIG_KEYS_MAX];
    bool incomplete; /* a line is of no known key: settings that no line has stay, too */
    uint32_t count;
    char text[TD_CONFIG_REFUSALS_MAX][TD_CONFIG_REFUSAL_MAX];
};

/* td_config_load reads FILE and FILE.d/ *.conf. `host` is this machine's name, which determines the
 * node's place in a host list. Both must live as long as the configuration. On TD_ERR_INVALID *text
 * (of text_bytes) is a sentence. */
td_err td_config_load(struct td_config *config, const char *file, const char *host, char *text,
                      size_t text_bytes);
/* td_config_load_user does the same for the daemon of a user alone: a machine of one node, with the
 * user's places, unless the user's file says otherwise. *user must live as long. */
td_err td_config_load_user(struct td_config *config, const struct td_config_user *user,
                           const char *host, char *text, size_t text_bytes);
/* td_config_load_again reads the files of a running configuration again, into `fresh`. Keys in them
 * must fit the shape and the node of `running`. An error refuses the settings that it is about. On
 * TD_ERR_INVALID a file cannot be read: *text is a sentence, and there is nothing to free. */
td_err td_config_load_again(struct td_config *fresh, const struct td_config *running,
                            struct td_config_refusals *refusals, char *text, size_t text_bytes);
/* td_config_refuse adds a refusal of a setting; TD_CONFIG_KEYS_MAX: of no known one. */
void td_config_refuse(struct td_config_refusals *refusals, size_t key, const char *sentence);
/* td_config_default writes the path of the configuration of this executable: in its prefix if it is
 * installed under one, else in the prefix of the build. */
void td_config_default(const char *executable, char *path, size_t bytes);
void td_config_free(struct td_config *config);
/* td_config_is_open returns true if the daemon serves TCP without keys: every host and user that
 * reaches its ports is trusted. */
bool td_config_is_open(const struct td_config *config);
/* td_config_moves returns true if another configuration makes this daemon another node, or a node
 * of another shape: that needs a restart. */
bool td_config_moves(const struct td_config *running, const struct td_config *fresh);
/* td_config_bulk writes the bulk endpoint of a control endpoint: port + 1, or the path with
 * ".bulk". It returns NULL, or a sentence on what is wrong with the endpoint. */
const char *td_config_bulk(const char *endpoint, char *bulk, size_t bytes);

#endif
