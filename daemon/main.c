/* SPDX-License-Identifier: Apache-2.0 */
/* torusd: command line, configuration, start of the driver. */
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "compute/fft/fft_measure.h"
#include "io/config/config_host.h"
#include "io/config/config.h"
#include "io/config/config_facts.h"
#include "io/config/config_files.h"
#include "io/driver.h"
#include "system/heap.h"
#include "system/standard.h"
#include "system/written.h"
#include "wire/wire.h"

#define SERVICE_USER "torusd" /* of the units */

static const char help[] =
    "usage: torusd [--config FILE | --user] [--check-config] [--show-config] [--help] [--version]\n"
    "\n"
    "The collectives service of one node: collectives and Fourier transforms for local processes,\n"
    "over a torus of such daemons.\n"
    "\n"
    "  --config FILE    read FILE and FILE.d/*.conf (default %s)\n"
    "  --user           serve this user, on this host alone, without a file: the socket\n"
    "                   and the state are in the user's folders, where libtorus looks first\n"
    "  --check-config   check the configuration, print the first error and all files that cannot\n"
    "                   be read, and exit; root checks that of the service as its user\n"
    "  --show-config    print all settings: name, value, unit, and set or default, and exit\n";

/* default_file returns the path of the configuration without --config. */
static const char *default_file(void)
{
    static char path[1024];
    char self[1024];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    td_config_default(self, path, sizeof path);
    return path;
}

/* raise_descriptors raises the limit of descriptors to the hard limit. The soft limit, usually
 * 1024, exists for programs that use select(). */
static void raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* print_valid says what --check-config has read, so that a forgotten drop-in or key is seen. */
static void print_valid(const struct td_config *config, const char *file)
{
    unsigned settings = 0;
    for (uint64_t set = config->set; set; set &= set - 1)
        settings++;
    if (config->user && !td_config_user_has_file(config->user))
        printf("no file ");
    printf("%s: valid: node %u of %u; %u setting%s", file, config->node, config->topology.nodes,
           settings, settings == 1 ? "" : "s");
    if (config->drop_ins[0])
        printf(", also of %s.d:%s", file, config->drop_ins);
    if (config->security.keyed)
        printf("; %u key%s of peers", config->security.peers,
               config->security.peers == 1 ? "" : "s");
    char note[400];
    putchar('\n');
    if (td_security_note(&config->security, config->peers_file, note, sizeof note)[0])
        printf("! %s\n", note);
    if (!td_config_observers(config, note, sizeof note))
        printf("! %s\n", note);
    if (config->strays[0])
        printf("! files in %s.d that were not read, since their names do not end with .conf:%s\n",
               file, config->strays);
}

/* become_service makes this process the user of the service if root checks the configuration of the
 * service: root can read files that the service cannot. */
static void become_service(void)
{
    const struct passwd *user = geteuid() == 0 ? getpwnam(SERVICE_USER) : NULL;
    if (user && (initgroups(user->pw_name, user->pw_gid) != 0 || setgid(user->pw_gid) != 0 ||
                 setuid(user->pw_uid) != 0))
        fprintf(stderr, "torusd: cannot check as user " SERVICE_USER ": %s\n", strerror(errno));
}

/* is_about returns true if a sentence is about a file: "PATH: ...", or "PATH:LINE:COLUMN: ...". */
static bool is_about(const char *text, const char *path)
{
    size_t length = strlen(path);
    for (const char *at = strstr(text, path); at; at = strstr(at + 1, path))
        if ((at == text || at[-1] == ' ') && at[length] == ':')
            return true;
    return false;
}

/* print_unreadable prints a file that cannot be read, unless the sentence `text` is about it. */
static void print_unreadable(void *text, const char *path, const char *why)
{
    if (!is_about(text, path))
        fprintf(stderr, "torusd: cannot read %s: %s\n", path, why);
}

/* print_wrong prints why the configuration is refused, and all of its files that cannot be read. A
 * file that only the user of the service may read, such as a key, is no error of the file. */
static void print_wrong(const struct td_config *config, const char *file, char *text)
{
    const struct passwd *user = getpwuid(geteuid());
    bool is_service = user && strcmp(user->pw_name, SERVICE_USER) == 0;
    fprintf(stderr, "torusd: %s", text);
    if (strstr(text, strerror(EACCES)) && is_service)
        fputs(": user " SERVICE_USER ", as which the service runs, may not read it: chown it",
              stderr);
    else if (strstr(text, strerror(EACCES)))
        fprintf(stderr,
                ": user %s may not read it; check as the user of the service, such as: sudo "
                "-u " SERVICE_USER " torusd --check-config",
                user ? user->pw_name : "of this process");
    fputc('\n', stderr);
    td_config_unreadable(config, file, print_unreadable, text);
}

/* struct command: what the command line asks for. */
struct command {
    const char *file; /* of --config; NULL: the default */
    bool user, check, show;
    int watch_fd;
};

/* parse reads the command line. It returns the exit status if there is nothing else to do, or -1.
 */
static int parse(struct command *c, int argc, char **argv)
{
    static const struct option options[] = {
        {"config", required_argument, NULL, 'c'},   {"user", no_argument, NULL, 'u'},
        {"check-config", no_argument, NULL, 'k'},   {"show-config", no_argument, NULL, 's'},
        {"watch-fd", required_argument, NULL, 'w'}, {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},        {NULL, 0, NULL, 0}};
    int option = 0;
    while ((option = getopt_long(argc, argv, "c:h", options, NULL)) != -1) {
        switch (option) {
        case 'c':
            c->file = optarg;
            break;
        case 'u':
            c->user = true;
            break;
        case 'k':
            c->check = true;
            break;
        case 's':
            c->show = true;
            break;
        case 'w':
            c->watch_fd = atoi(optarg);
            break;
        case 'h':
            printf(help, default_file());
            return 0;
        case 'v':
            printf("torusd %s (peer protocol %d.%d, local protocol %d.%d)\n", TORUS_VERSION,
                   TD_WIRE_PEER_MAJOR, TD_WIRE_PEER_MINOR, TD_WIRE_MAJOR, TD_WIRE_MINOR);
            return 0;
        default:
            fprintf(stderr, help, default_file());
            return 2;
        }
    }
    if (optind < argc)
        fprintf(stderr, "torusd: unexpected argument: %s\n", argv[optind]);
    else if (c->user && c->file)
        fputs("torusd: --user has a file of its own: leave out --config\n", stderr);
    else
        return -1;
    return 2;
}

/* load reads the configuration that the command line asks for. It prints what is wrong. */
static bool load(struct td_config *config, const struct command *c)
{
    static struct td_config_user user;
    static char host[256];
    char text[1024];
    if (c->user && !td_config_user(&user, text, sizeof text)) {
        fprintf(stderr, "torusd: %s\n", text);
        return false;
    }
    if (c->check && !c->user && !c->file)
        become_service();
    const char *file = c->user ? user.file : c->file ? c->file : default_file();
    gethostname(host, sizeof host - 1);
    td_err error = c->user ? td_config_load_user(config, &user, host, text, sizeof text)
                           : td_config_load(config, file, host, text, sizeof text);
    if (error != TD_OK)
        print_wrong(config, file, text);
    return error == TD_OK;
}

/* serve runs the daemon, and returns its exit status. */
static int serve(struct td_config *config, int watch_fd)
{
    char text[1024];
    setenv("UV_THREADPOOL_SIZE", "2", 1); /* plans are saved, and names of hosts looked up */
    raise_descriptors();
    td_heap_keep();
    if (!td_config_congestion(config, text, sizeof text))
        td_log(TD_LOG_WARNING, "%s: %s", config->file, text);
    if (!td_config_memory(config, text, sizeof text))
        td_log(TD_LOG_WARNING, "%s", text);
    bool has_places =
        !config->user || td_config_user_begin(config->user, config->socket, config->state_directory,
                                              text, sizeof text);
    if (has_places && td_config_limits(config, text, sizeof text))
        return td_driver_run(config, watch_fd);
    td_log(TD_LOG_ERROR, "%s", text);
    return 1;
}

static int run(int argc, char **argv)
{
    static struct td_config config;
    struct command c = {.watch_fd = -1};
    char text[1024], name[64];
    if (argc == 2 &&
        strcmp(argv[1], "--measure") == 0) /* a daemon starts this process: io/plans/plans.h */
        return td_fft_measure_main();
    int code = parse(&c, argc, argv);
    if (code >= 0)
        return code;
    if (!load(&config, &c))
        return 2;
    code = 0;
    snprintf(name, sizeof name, "torusd[%u]", config.node);
    td_log_init(config.log_level, name);
    if (c.check && !td_config_host(&config, text, sizeof text)) {
        fprintf(stderr, "torusd: %s: %s\n", config.file, text);
        code = 2;
    } else if (c.show) {
        td_config_print_facts(&config);
    } else if (c.check) {
        print_valid(&config, config.file);
    } else {
        code = serve(&config, c.watch_fd);
    }
    td_config_free(&config);
    return code;
}

int main(int argc, char **argv)
{
    td_standard_start();
    return td_written_end("torusd", run(argc, argv));
}
