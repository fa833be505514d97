/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "config_checks.h"
#include "config_keys.h"
#include "config_text.h"

static void set_defaults(struct td_config *config, const char *file, const char *host,
                         const struct td_config_user *user)
{
    memset(config, 0, sizeof *config);
    config->file = file;
    config->host = host;
    config->user = user;
    td_settings_default(&config->settings);
    td_config_keys_default(config);
    strcpy(config->congestion, "auto");
    config->log_level = TD_LOG_INFO;
    strcpy(config->socket, user ? user->socket : "/run/torusd/torusd.sock");
    strcpy(config->state_directory, user ? user->state_directory : "/var/lib/torusd");
    strcpy(config->observers, "torus");
    size_t position = 0;
    const char *why = NULL;
    if (user)
        (void)td_topology_parse(&config->topology, "1", &position, &why);
}

/* load reads the files of a configuration that has its defaults. */
static td_err load(struct td_config *config, const struct td_config *running,
                   struct td_config_refusals *refusals, char *text, size_t text_bytes)
{
    struct td_config_reader *r = calloc(1, sizeof *r);
    if (!r) {
        snprintf(text, text_bytes, "%s: no memory", config->file);
        return TD_ERR_NO_MEMORY;
    }
    *r = (struct td_config_reader){.config = config,
                                   .text = text,
                                   .text_bytes = text_bytes,
                                   .running = running,
                                   .refusals = refusals,
                                   .key = TD_CONFIG_KEYS_MAX};
    bool has_file = !config->user || td_config_user_has_file(config->user);
    bool good =
        (!has_file || td_config_read(r, config->file)) && td_config_read_drop_ins(r, config->file);
    if (!config->express) /* by ZeroMQ longer messages take more time than packets do */
        config->settings.carry_bytes = 4096;
    if (good) {
        r->file = config->file;
        r->line = r->line ? r->line : 1;
        r->column = 1;
        good = td_config_check(r);
    }
    for (size_t i = 0; i < TD_CONFIG_KEYS_MAX; i++)
        free(r->value[i]);
    free(r);
    if (!good)
        td_config_free(config);
    return good ? TD_OK : TD_ERR_INVALID;
}

td_err td_config_load(struct td_config *config, const char *file, const char *host, char *text,
                      size_t text_bytes)
{
    set_defaults(config, file, host, NULL);
    return load(config, NULL, NULL, text, text_bytes);
}

td_err td_config_load_user(struct td_config *config, const struct td_config_user *user,
                           const char *host, char *text, size_t text_bytes)
{
    set_defaults(config, user->file, host, user);
    return load(config, NULL, NULL, text, text_bytes);
}

td_err td_config_load_again(struct td_config *fresh, const struct td_config *running,
                            struct td_config_refusals *refusals, char *text, size_t text_bytes)
{
    memset(refusals, 0, sizeof *refusals);
    set_defaults(fresh, running->file, running->host, running->user);
    return load(fresh, running, refusals, text, text_bytes);
}

void td_config_refuse(struct td_config_refusals *refusals, size_t key, const char *sentence)
{
    if (key < TD_CONFIG_KEYS_MAX)
        refusals->key[key] = true;
    else
        refusals->incomplete = true;
    if (refusals->count < TD_CONFIG_REFUSALS_MAX)
        snprintf(refusals->text[refusals->count], TD_CONFIG_REFUSAL_MAX, "%s", sentence);
    refusals->count++;
}

void td_config_default(const char *executable, char *path, size_t bytes)
{
    static const char tail[] = "/" TORUS_SBINDIR "/torusd", folder[] = TORUS_SYSCONFDIR;
    static const char name[] = "torusd/torusd.conf";
    char prefix[512] = TORUS_PREFIX;
    size_t length = strlen(executable), before = length - (sizeof tail - 1);
    if (length >= sizeof tail - 1 && strcmp(executable + before, tail) == 0)
        snprintf(prefix, sizeof prefix, "%.*s", (int)before, executable);
    /* places.cmake applies the same rule */
    bool usual = strcmp(folder, "etc") == 0;
    if (folder[0] == '/')
        snprintf(path, bytes, "%s/%s", folder, name);
    else if (usual && (strcmp(prefix, "/usr") == 0 || strcmp(prefix, "/usr/local") == 0))
        snprintf(path, bytes, "/etc/%s", name);
    else if (usual && strncmp(prefix, "/opt/", 5) == 0)
        snprintf(path, bytes, "/etc%s/%s", prefix, name);
    else
        snprintf(path, bytes, "%s/%s/%s", prefix, folder, name);
}

void td_config_free(struct td_config *config)
{
    for (uint32_t n = 0; n < TD_NODES_MAX; n++) {
        free(config->endpoints[n]);
        config->endpoints[n] = NULL;
    }
    td_security_free(&config->security);
}

static bool is_tcp(const char *endpoint)
{
    return strncmp(endpoint, "tcp://", 6) == 0;
}

bool td_config_is_open(const struct td_config *config)
{
    if (config->topology.nodes == 1 || config->security.keyed)
        return false;
    bool open = is_tcp(config->listen);
    for (uint32_t n = 0; n < config->topology.nodes; n++)
        open = open || is_tcp(config->endpoints[n]);
    return open;
}

bool td_config_moves(const struct td_config *running, const struct td_config *fresh)
{
    const struct td_topology *a = &running->topology, *b = &fresh->topology;
    bool same = running->node == fresh->node && a->dimensions == b->dimensions;
    for (uint32_t d = 0; same && d < a->dimensions; d++)
        same = a->size[d] == b->size[d] && a->wrap[d] == b->wrap[d];
    return !same;
}

const char *td_config_bulk(const char *endpoint, char *bulk, size_t bytes)
{
    struct td_address address;
    if (strncmp(endpoint, "ipc:///", 7) == 0 && endpoint[7])
        return (size_t)snprintf(bulk, bytes, "%s.bulk", endpoint) < bytes ? NULL
                                                                          : "the path is too long";
    if (!is_tcp(endpoint))
        return "expected tcp://HOST:PORT or ipc:///PATH";
    const char *wrong = td_address_read(endpoint + strlen("tcp://"), &address);
    if (wrong)
        return wrong;
    if (++address.port == 0)
        return "the port must be at most 65534: bulk data uses the next port";
    strcpy(bulk, "tcp://");
    td_address_print(&address, bulk + strlen("tcp://"), bytes - strlen("tcp://"));
    return NULL;
}
