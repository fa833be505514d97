/* SPDX-License-Identifier: Apache-2.0 */
#include "config_host.h"

#include <errno.h>
#include <grp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "io/descriptors.h"
#include "system/limits.h"

#include "address.h"
#include "config_keys.h"

#define MADE_BY_UNIT "/run/torusd"
#define OWN_BYTES ((uint64_t)1 << 30) /* of address space: programs, threads, packets, regions */

enum { OWN_THREADS = 16 }; /* beside the workers */

/* is_made_by_unit returns true if torusd.service or torusd@.service makes a directory
 * (RuntimeDirectory=): /run/torusd, or /run/torusd/NAME. */
static bool is_made_by_unit(const char *directory)
{
    static const char own[] = MADE_BY_UNIT;
    const char *rest = directory + sizeof own - 1;
    return strncmp(directory, own, sizeof own - 1) == 0 &&
           (!*rest || (*rest == '/' && rest[1] && !strchr(rest + 1, '/')));
}

/* has_directory returns true if the directory of a socket exists, or is made by the unit. */
static bool has_directory(const char *key, const char *path, char *text, size_t text_bytes)
{
    char directory[256];
    struct stat status;
    const char *slash = strrchr(path, '/');
    size_t length = !slash ? 1 : slash == path ? 1 : (size_t)(slash - path);
    snprintf(directory, sizeof directory, "%.*s", (int)length, slash ? path : ".");
    if (is_made_by_unit(directory))
        return true;
    if (stat(directory, &status) == 0 && S_ISDIR(status.st_mode))
        return true;
    snprintf(text, text_bytes,
             "%s = %s: there is no directory %s on this host: create it, or name "
             "another one",
             key, path, directory);
    return false;
}

/* has_address returns true if a socket can be bound to HOST:PORT of a value of listen: a numeric
 * address, or as ZeroMQ has it * or the name of an interface. */
static bool has_address(const char *listen, const char *text, char *why, size_t why_bytes)
{
    struct td_address address;
    struct sockaddr_storage at;
    if (td_address_read(text, &address))
        return true; /* the configuration is checked: it cannot be */
    if (address.family == AF_UNSPEC) {
        if (strcmp(address.host, "*") == 0 || if_nametoindex(address.host) != 0)
            return true;
        snprintf(
            why, why_bytes,
            "listen = %s: %s is neither an address nor an interface of this host: set listen = "
            "tcp://*:%u in [peers]",
            listen, address.host, address.port);
        return false;
    }
    address.port = 0;
    socklen_t bytes = td_address_socket(&address, &at);
    if (bytes == 0) {
        snprintf(why, why_bytes, "listen = %s: this host has no interface %s (see ip link)", listen,
                 strchr(address.host, '%') + 1);
        return false;
    }
    int fd = socket(address.family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return true;
    bool foreign = bind(fd, (const struct sockaddr *)&at, bytes) != 0 && errno == EADDRNOTAVAIL;
    close(fd);
    if (foreign)
        snprintf(why, why_bytes,
                 "listen = %s: this host has no address %s (see ip address): set listen or node in "
                 "the configuration of this host",
                 listen, address.host);
    return !foreign;
}

/* bbr, which some kernels have as their default, sends no more than four segments a round trip for
 * 200 ms about every 10 s: an idle link of 1 Gbit/s then takes 70 ms for 1 MiB. */
const char *td_config_congestion_name(const struct td_config *config)
{
    if (strcmp(config->congestion, "system") == 0)
        return NULL;
    return strcmp(config->congestion, "auto") == 0 ? "cubic" : config->congestion;
}

bool td_config_congestion(const struct td_config *config, char *text, size_t text_bytes)
{
    const char *name =
        strcmp(config->congestion, "auto") ? td_config_congestion_name(config) : NULL;
    int fd = name ? socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    if (fd < 0)
        return true;
    int failed = setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name));
    close(fd);
    if (failed)
        snprintf(text, text_bytes,
                 "congestion = %s: this host's kernel does not offer it to torusd, whose streams "
                 "have the kernel's default: name one of "
                 "/proc/sys/net/ipv4/tcp_allowed_congestion_control, or system",
                 name);
    return !failed;
}

static void wait_for_end(void *end)
{
    uv_sem_wait(end);
}

/* has_threads returns true if this process can start `count` more threads. Else errno has the
 * error. */
static bool has_threads(unsigned count)
{
    enum { MOST = 1024 };
    uv_thread_t thread[MOST];
    uv_sem_t end;
    unsigned started = 0;
    int error = uv_sem_init(&end, 0);
    for (count = count < MOST ? count : MOST; error == 0 && started < count; started += !error)
        error = uv_thread_create(&thread[started], wait_for_end, &end);
    for (unsigned i = 0; i < started; i++)
        uv_sem_post(&end);
    for (unsigned i = 0; i < started; i++)
        uv_thread_join(&thread[i]);
    if (started > 0 || error == 0)
        uv_sem_destroy(&end);
    errno = -error;
    return error == 0;
}

bool td_config_limits(const struct td_config *config, char *text, size_t text_bytes)
{
    const struct td_settings *s = &config->settings;
    uint64_t space = td_limit_space_bytes(), descriptors = td_descriptors_limit();
    uint64_t need = s->arena_bytes + s->scratch_bytes + OWN_BYTES;
    char why[TD_LIMIT_TEXT];
    if (descriptors < TD_DESCRIPTORS_OWN)
        snprintf(text, text_bytes, "torusd needs at least %d descriptors: %s", TD_DESCRIPTORS_OWN,
                 td_limit_why(EMFILE, why, sizeof why));
    else if (space < need)
        snprintf(text, text_bytes,
                 "torusd needs to map %llu bytes, for [limits] memory and scratch and 1 GiB beside "
                 "them, which may be lowered: %s",
                 (unsigned long long)need, td_limit_why(ENOMEM, why, sizeof why));
    else if (!has_threads(config->workers + OWN_THREADS))
        snprintf(text, text_bytes,
                 "torusd needs %u threads: %s: raise ulimit -u (RLIMIT_NPROC), or LimitNPROC= and "
                 "TasksMax= of its unit",
                 config->workers + OWN_THREADS, strerror(errno));
    else
        return true;
    return false;
}

bool td_config_memory(const struct td_config *config, char *text, size_t text_bytes)
{
    bool cgroup = false;
    uint64_t has = td_limit_memory_bytes(&cgroup);
    uint64_t most = config->settings.arena_bytes + config->settings.scratch_bytes;
    if (!cgroup || most <= has)
        return true;
    snprintf(text, text_bytes,
             "the memory cgroup of torusd allows %llu bytes, but [limits] memory and scratch %llu: "
             "the kernel kills torusd if it uses them; raise MemoryMax= of the unit, or lower them",
             (unsigned long long)has, (unsigned long long)most);
    return false;
}

bool td_config_places(const struct td_config *config, char *text, size_t text_bytes)
{
    if (!config->user && !has_directory("socket", config->socket, text, text_bytes))
        return false;
    if (config->metrics_listen[0] &&
        !has_address(config->metrics_listen, config->metrics_listen, text, text_bytes))
        return false;
    if (config->topology.nodes == 1)
        return true; /* it has no peers, and listens to none */
    if (strncmp(config->listen, "tcp://", strlen("tcp://")) == 0)
        return has_address(config->listen, config->listen + strlen("tcp://"), text, text_bytes);
    if (strncmp(config->listen, "ipc://", strlen("ipc://")) == 0)
        return has_directory("listen", config->listen + strlen("ipc://"), text, text_bytes);
    return true;
}

bool td_config_host(const struct td_config *config, char *text, size_t text_bytes)
{
    bool streams =
        config->topology.nodes > 1 && strncmp(config->listen, "tcp://", strlen("tcp://")) == 0;
    return td_config_places(config, text, text_bytes) &&
           (!streams || td_config_congestion(config, text, text_bytes));
}

bool td_config_observers(const struct td_config *config, char *text, size_t text_bytes)
{
    size_t key = td_config_key_index(td_config_key("node", "observers"));
    bool is_set = config->set >> key & 1;
    text[0] = '\0';
    if (!is_set || !config->observers[0] || getgrnam(config->observers))
        return true;
    snprintf(text, text_bytes, "observers = %s: there is no group %s on this host",
             config->observers, config->observers);
    return false;
}
