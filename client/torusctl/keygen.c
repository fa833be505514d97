/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl keygen: makes the key pair of a daemon. */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "torusctl.h"
#include "wire/key.h"

struct options {
    const char *path, *coordinates;
    bool json, force, show;
};

/* parse returns NULL or the error. */
static const char *parse(struct options *o, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            o->json = true;
        else if (strcmp(argv[i], "--force") == 0)
            o->force = true;
        else if (strcmp(argv[i], "--show") == 0)
            o->show = true;
        else if (strcmp(argv[i], "--coordinates") == 0 && i + 1 < argc)
            o->coordinates = argv[++i];
        else if (argv[i][0] == '-')
            return tool_no_option(argv[i]);
        else if (o->path)
            return "expected one directory or file";
        else
            o->path = argv[i];
    }
    if (o->show && o->force)
        return "--show makes no key: leave out --force";
    return o->path ? NULL : "missing directory or file";
}

static int complain(const char *path, int error)
{
    if (error == EEXIST)
        fprintf(stderr,
                "torusctl keygen: %s exists: a new key would lock its daemon out; give --show to "
                "print its line, or --force to replace it\n",
                path);
    else
        fprintf(stderr, "torusctl keygen: cannot write %s: %s\n", path, strerror(error));
    return EXIT_FAILED;
}

static void print_json(const char *path, const struct options *o, const char *public_key,
                       const char *host)
{
    json_t *out = json_pack("{s:i s:s s:s s:s*}", "version", 1, "file", path, "public_key",
                            public_key, "coordinates", o->coordinates);
    json_object_set_new(out, "host", json_string(host));
    json_dumpf(out, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(out);
}

/* print_line prints the line of a key for the list of peers, or JSON. */
static void print_line(const char *path, const struct options *o,
                       const uint8_t public_key[TD_KEY_BYTES])
{
    char text[TD_KEY_TEXT], host[256] = "";
    gethostname(host, sizeof host - 1);
    td_key_print(public_key, text);
    if (o->json)
        print_json(path, o, text, host);
    else
        printf("%s %s # %s\n", o->coordinates ? o->coordinates : "COORDINATES", text, host);
}

/* read_secret reads the secret key of a file. It returns NULL, or what is wrong. */
static const char *read_secret(const char *path, uint8_t secret[TD_KEY_BYTES])
{
    static const char word[] = "secret";
    char line[256];
    bool found = false;
    FILE *f = fopen(path, "re");
    if (!f)
        return strerror(errno);
    setvbuf(f, NULL, _IONBF, 0); /* no copy of the key in a buffer of stdio */
    while (!found && fgets(line, sizeof line, f)) {
        const char *at = line + strspn(line, " \t");
        if (strncmp(at, word, sizeof word - 1) != 0)
            continue;
        at += sizeof word - 1;
        at += strspn(at, " \t");
        found = td_key_read(at, strcspn(at, " \t\r\n#"), secret);
    }
    td_key_wipe(line, sizeof line);
    fclose(f);
    return found ? NULL : "the file has no secret key";
}

/* show prints the line of an existing key. */
static int show(const char *path, const struct options *o)
{
    uint8_t secret[TD_KEY_BYTES], public_key[TD_KEY_BYTES];
    const char *wrong = read_secret(path, secret);
    if (wrong) {
        fprintf(stderr, "torusctl keygen: cannot read %s: %s\n", path, wrong);
        return EXIT_FAILED;
    }
    td_key_public(secret, public_key);
    td_key_wipe(secret, sizeof secret);
    print_line(path, o, public_key);
    return EXIT_WELL;
}

static int run_keygen(int argc, char **argv)
{
    struct options o = {NULL};
    const char *wrong = parse(&o, argc, argv);
    if (wrong)
        return tool_usage("keygen", wrong);
    char path[PATH_MAX];
    struct stat st;
    bool folder = stat(o.path, &st) == 0 && S_ISDIR(st.st_mode);
    snprintf(path, sizeof path, "%s%s", o.path, folder ? "/torusd.key" : "");
    if (o.show)
        return show(path, &o);
    uint8_t secret[TD_KEY_BYTES], public_key[TD_KEY_BYTES];
    td_key_random(secret, sizeof secret);
    td_key_public(secret, public_key);
    bool good = td_key_write(path, secret, o.force);
    int error = errno;
    td_key_wipe(secret, sizeof secret);
    if (!good)
        return complain(path, error);
    print_line(path, &o, public_key);
    if (fflush(stdout) != 0) { /* main says why */
        fprintf(stderr, "torusctl keygen: removed %s, as its public key was not printed\n", path);
        unlink(path);
        return EXIT_WELL;
    }
    if (!o.json)
        fprintf(stderr,
                "%s has the secret key. Add the printed line%s to the file of [security] peers on "
                "every node.\n",
                path, o.coordinates ? "" : ", with the coordinates of its node,");
    return EXIT_WELL;
}

const struct tool_command ctl_command_keygen = {
    .name = "keygen",
    .arguments = "[--json] [--force|--show] [--coordinates C] DIRECTORY|FILE",
    .what = "make the key pair of a daemon and print its line for the list of peers",
    .options =
        "  --coordinates C  the place of the daemon, such as 0,2, for the line\n"
        "  --force          replace the key in an existing file\n"
        "  --show           make no key: print the line of the key in an existing file\n"
        "  --json           print the public key and the file as JSON\n"
        "\n"
        "In a directory, the file is torusd.key. Only its owner can read it: run this as the "
        "user\n"
        "that runs torusd.\n",
    .run = run_keygen,
};
