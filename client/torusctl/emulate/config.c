/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "options.h"
#include "wire/key.h"

bool config_make_folder(struct emulation *e)
{
    snprintf(e->folder, sizeof e->folder, "/tmp/torus.XXXXXX");
    if (!mkdtemp(e->folder))
        return false;
    snprintf(e->job, sizeof e->job, "emulate%s", strchr(e->folder, '.'));
    return true;
}

static bool port_is_unused(unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    bool unused = bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
    close(fd);
    return unused;
}

bool config_choose_ports(struct emulation *e)
{
    enum { FIRST = 10000, END = 32768, TRIES = 100 };
    unsigned ports = 2 * e->topology.nodes, random = 0;
    for (int i = 0; i < TRIES; i++) {
        if (getrandom(&random, sizeof random, 0) != sizeof random)
            random = (unsigned)getpid() + (unsigned)i * 1000;
        e->base_port = FIRST + random % (END - FIRST - ports);
        unsigned port = 0;
        while (port < ports && port_is_unused(e->base_port + port))
            port++;
        if (port == ports)
            return true;
    }
    errno = EADDRINUSE;
    return false;
}

static void endpoint(const struct emulation *e, uint32_t node, char *text, size_t bytes)
{
    if (e->tcp)
        snprintf(text, bytes, "tcp://127.0.0.1:%u", e->base_port + 2 * node);
    else
        snprintf(text, bytes, "ipc://%s/p%u", e->folder, node);
}

/* has_keys returns true if the daemons get keys: unless the command line turns them off. */
static bool has_keys(const struct emulation *e)
{
    return !options_is_set(e, "security.insecure") && !options_is_set(e, "security.key");
}

/* write_keys makes a key pair for each node, and the list of peers. */
static bool write_keys(const struct emulation *e)
{
    char path[128], text[TD_KEY_TEXT];
    snprintf(path, sizeof path, "%s/peers", e->folder);
    FILE *f = fopen(path, "we");
    bool good = f && fchmod(fileno(f), 0644) == 0; /* whatever the umask */
    for (uint32_t n = 0; good && n < e->topology.nodes; n++) {
        uint8_t secret[TD_KEY_BYTES], public_key[TD_KEY_BYTES];
        uint32_t c[TD_DIMENSIONS_MAX];
        td_key_random(secret, sizeof secret);
        td_key_public(secret, public_key);
        td_key_print(public_key, text);
        td_topology_coordinates(&e->topology, n, c);
        for (uint32_t d = 0; d < e->topology.dimensions; d++)
            fprintf(f, "%s%u", d ? "," : "", c[d]);
        fprintf(f, " %s\n", text);
        snprintf(path, sizeof path, "%s/k%u", e->folder, n);
        good = td_key_write(path, secret, false);
        td_key_wipe(secret, sizeof secret);
    }
    return f && fclose(f) == 0 && good;
}

/* write_settings writes the settings of the command line, and defaults for an emulation: daemons on
 * one machine would disturb each other's measurements. */
static void write_settings(const struct emulation *e, uint32_t node, FILE *f)
{
    if (!options_is_set(e, "node.state_directory"))
        fprintf(f, "[node]\nstate_directory = %s\n", e->folder);
    if (!options_is_set(e, "fft.effort"))
        fprintf(f, "[fft]\neffort = estimate\n");
    /* nodes of one machine share its processors: messages cost more than bytes */
    if (!options_is_set(e, "network.message_overhead"))
        fprintf(f, "[network]\nmessage_overhead = 128KiB\n");
    if (e->metrics_port)
        fprintf(f, "[metrics]\nlisten = 127.0.0.1:%u\n", e->metrics_port + node);
    if (has_keys(e))
        fprintf(f, "[security]\nkey = %s/k%u\npeers = %s/peers\n", e->folder, node, e->folder);
    for (int i = 0; i < e->settings_count; i++) {
        const char *dot = strchr(e->settings[i], '.');
        fprintf(f, "[%.*s]\n%s\n", (int)(dot - e->settings[i]), e->settings[i], dot + 1);
    }
}

static bool write_config(const struct emulation *e, uint32_t node)
{
    char path[128], text[128], shape[128];
    uint32_t c[TD_DIMENSIONS_MAX];
    snprintf(path, sizeof path, "%s/c%u", e->folder, node);
    FILE *f = fopen(path, "we");
    if (!f)
        return false;
    td_topology_print(&e->topology, shape, sizeof shape);
    td_topology_coordinates(&e->topology, node, c);
    fprintf(f, "[node]\nsocket = %s/s%u\ncoordinates = ", e->folder, node);
    for (uint32_t d = 0; d < e->topology.dimensions; d++)
        fprintf(f, "%s%u", d ? "," : "", c[d]);
    fprintf(f, "\n[torus]\nshape = %s\n[peers]\nendpoints =\n", shape);
    for (uint32_t n = 0; n < e->topology.nodes; n++) {
        endpoint(e, n, text, sizeof text);
        fprintf(f, "  %s\n", text);
    }
    write_settings(e, node, f);
    return fclose(f) == 0;
}

bool config_write_all(const struct emulation *e)
{
    if (has_keys(e) && !write_keys(e))
        return false;
    for (uint32_t n = 0; n < e->topology.nodes; n++)
        if (!write_config(e, n))
            return false;
    return true;
}
