/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of peers: files that are accepted, and the place and sentence of every error; torusctl
 * keygen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "io/config/config.h"
#include "io/config/config_files.h"
#include "io/config/config_reload.h"

static char folder[64], file[128], key[128], peers[128], text[1024];
static char digits[4][TD_KEY_TEXT]; /* public keys; the first is that of the file `key` */
static struct td_config config;

static void write_file(const char *path, const char *content)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(content, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int setup(void **state)
{
    (void)state;
    umask(022);
    strcpy(folder, "/tmp/torus-security-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(file, sizeof file, "%s/torusd.conf", folder);
    snprintf(key, sizeof key, "%s/key", folder);
    snprintf(peers, sizeof peers, "%s/peers", folder);
    for (int i = 0; i < 4; i++) {
        uint8_t secret[TD_KEY_BYTES], public_key[TD_KEY_BYTES];
        td_key_random(secret, sizeof secret);
        td_key_public(secret, public_key);
        td_key_print(public_key, digits[i]);
        if (i == 0 && !td_key_write(key, secret, false))
            return -1;
    }
    write_file(peers, "");
    memset(&config, 0, sizeof config);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    td_config_free(&config);
    unlink(file);
    unlink(key);
    unlink(peers);
    return rmdir(folder);
}

static void on_unreadable(void *user, const char *path, const char *why)
{
    (void)user;
    fail_msg("%s: %s", path, why);
}

/* load reads a configuration of node 0,1 of a 2x2 torus over TCP, with more lines in [security]. */
static td_err load(const char *more)
{
    char content[1024];
    snprintf(content, sizeof content,
             "[node]\ncoordinates = 0,1\n[torus]\nshape = 2x2\n[peers]\nhosts = a[0-3]\n"
             "[security]\n%s\n",
             more);
    write_file(file, content);
    td_config_free(&config);
    return td_config_load(&config, file, "a1", text, sizeof text);
}

/* with_lists loads the key and a list of peers. */
static td_err with_lists(const char *list)
{
    char more[512];
    write_file(peers, list);
    snprintf(more, sizeof more, "key = %s\npeers = %s", key, peers);
    return load(more);
}

static void refused(const char *list, const char *where, const char *word)
{
    char place[160];
    snprintf(place, sizeof place, "%s%s", peers, where);
    assert_int_equal(with_lists(list), TD_ERR_INVALID);
    if (!strstr(text, place) || !strstr(text, word))
        fail_msg("expected %s ... %s, got: %s", place, word, text);
}

static void keys_make_tcp_possible(void **state)
{
    (void)state;
    char list[512];
    snprintf(list, sizeof list, "# peers\n\n0,0 %s # first\n0,1\t%s\n1,1 %s # old\n1,1 %s\n",
             digits[1], digits[0], digits[2], digits[3]);
    if (with_lists(list) != TD_OK)
        fail_msg("%s", text);
    assert_true(config.security.keyed);
    assert_false(td_config_is_open(&config));
    assert_int_equal(config.streams, TD_STREAMS_ENCRYPT);
    const struct td_security *s = &config.security;
    const uint8_t *of[TD_NODE_KEYS_MAX];
    assert_int_equal(td_security_node(s, s->public_key), 1);
    assert_int_equal(td_security_keys(s, 3, of), 2);
    assert_int_equal(td_security_keys(s, 2, of), 0);
    assert_int_equal(td_security_node(s, s->secret), UINT32_MAX);
}

static void errors_of_the_list_name_file_and_line(void **state)
{
    (void)state;
    char list[512];
    refused("", ": ", "no key");
    refused("# nothing\n0,1\n", ":2: ", "COORDINATES PUBLIC-KEY");
    refused("0,1 12ab\n", ":1: ", "64 hexadecimal digits");
    snprintf(list, sizeof list, "0,1 %s more\n", digits[0]);
    refused(list, ":1: ", "COORDINATES PUBLIC-KEY");
    snprintf(list, sizeof list, "0,1 %s\n0,-2 %s\n", digits[0], digits[1]);
    refused(list, ":2: ", "no coordinates of the torus 2x2");
    snprintf(list, sizeof list, "0,1 %s\n0,2,0 %s\n", digits[0], digits[1]);
    refused(list, ":2: ", "no coordinates of the torus 2x2");
    snprintf(list, sizeof list, "0,1 %s\n0 %s\n", digits[0], digits[1]);
    refused(list, ":2: ", "expected 2 numbers such as 1,1, each below the size");
    snprintf(list, sizeof list, "0,1 %s\nCOORDINATES %s\n", digits[0], digits[1]);
    refused(list,
            ":2: ", "torusctl keygen was run without --coordinates: write the place of the node");
    snprintf(list, sizeof list, "0,1 %s\n0,2 12ab\n", digits[0]);
    refused(list, ":2: ", "64 hexadecimal digits");
    snprintf(list, sizeof list, "0,1 %s\n1,1 %s\n\n1,0 %s\n", digits[0], digits[1], digits[1]);
    refused(list, ":4: ", "same key as in line 2");
    snprintf(list, sizeof list, "0,1 %s\n1,1 %s\n1,1 %s\n1,1 %s\n", digits[0], digits[1], digits[2],
             digits[3]);
    refused(list, ":4: ", "more than 2 keys");
}

static void lines_beyond_the_shape_are_accepted_with_a_note(void **state)
{
    (void)state;
    char list[512], note[300];
    snprintf(list, sizeof list, "0,1 %s\n0,2 %s\n7,7 %s\n", digits[0], digits[1], digits[2]);
    assert_int_equal(with_lists(list), TD_OK);
    assert_int_equal(config.security.peers, 1);
    assert_int_equal(config.security.beyond, 2);
    td_security_note(&config.security, "FILE", note, sizeof note);
    assert_string_equal(note,
                        "2 lines of FILE are of no node of the running shape: a restart with a "
                        "larger shape takes them up");
    snprintf(list, sizeof list, "0,1 %s\n", digits[0]);
    assert_int_equal(with_lists(list), TD_OK);
    assert_string_equal(td_security_note(&config.security, "FILE", note, sizeof note), "");
}

/* reload reads the file of a running configuration again. */
static struct td_config fresh;
static struct td_config_refusals refusals;

static td_err reload(const char *content)
{
    write_file(file, content);
    td_config_free(&fresh);
    return td_config_load_again(&fresh, &config, &refusals, text, sizeof text);
}

static void a_reload_refuses_settings_one_by_one(void **state)
{
    (void)state;
    char list[256], content[1024], changed[200], restart[200];
    static const char form[] = "[node]\ncoordinates = 0,1\n[torus]\nshape = %s\n[peers]\nhosts = "
                               "a[0-3]\n[security]\nkey = %s\npeers = %s\n%s";
    snprintf(list, sizeof list, "0,1 %s\n", digits[0]);
    assert_int_equal(with_lists(list), TD_OK);
    /* the shape does not fit the hosts; the keys are read all the same, for the running shape */
    snprintf(content, sizeof content, form, "3x3", key, peers, "[log]\nlevel = debug\n");
    assert_int_equal(reload(content), TD_OK);
    assert_int_equal(refusals.count, 1);
    assert_non_null(strstr(refusals.text[0], "hosts names 4 nodes, but the shape 3x3 has 9"));
    assert_true(fresh.security.keyed && fresh.security.peers == 1);
    td_config_adopt(&config, &fresh, &refusals, changed, sizeof changed, restart, sizeof restart);
    assert_string_equal(changed, "log.level");
    assert_string_equal(restart, "");
    assert_int_equal(config.log_level, TD_LOG_DEBUG);
    /* an address for everybody does not pass beside a refused permission */
    snprintf(
        content, sizeof content, form, "2x2", key, peers,
        "[metrics]\nlisten = 0.0.0.0:9817\nanyone = maybe\njobs = yes\n[limits]\nclients = 7\n");
    assert_int_equal(reload(content), TD_OK);
    assert_int_equal(refusals.count, 1);
    td_config_adopt(&config, &fresh, &refusals, changed, sizeof changed, restart, sizeof restart);
    assert_string_equal(changed, "log.level, metrics.jobs");
    assert_string_equal(restart, "limits.clients");
    assert_string_equal(config.metrics_listen, "");
    /* a line of no known key may be one of any setting: what no line has, stays */
    snprintf(content, sizeof content, form, "2x2", key, peers, "[metric]\njobs = yes\n");
    assert_int_equal(reload(content), TD_OK);
    assert_int_equal(refusals.count, 2); /* the section, and the key in it */
    td_config_adopt(&config, &fresh, &refusals, changed, sizeof changed, restart, sizeof restart);
    assert_string_equal(changed, "");
    assert_true(config.metrics_jobs);
    /* a wrong list of peers leaves the keys, and nothing else */
    write_file(peers, "0,1 zz\n");
    snprintf(content, sizeof content, form, "2x2", key, peers, "[log]\nlevel = error\n");
    assert_int_equal(reload(content), TD_OK);
    assert_int_equal(refusals.count, 1);
    assert_false(fresh.security.keyed);
    td_config_adopt(&config, &fresh, &refusals, changed, sizeof changed, restart, sizeof restart);
    assert_string_equal(changed, "log.level, metrics.jobs");
    assert_int_equal(config.log_level, TD_LOG_ERROR);
    assert_true(config.security.keyed);
    assert_int_equal(unlink(file), 0);
    td_config_free(&fresh);
    assert_int_equal(td_config_load_again(&fresh, &config, &refusals, text, sizeof text),
                     TD_ERR_INVALID);
    assert_non_null(strstr(text, "cannot open the file"));
    write_file(file, "");
}

static void the_own_key_must_be_in_the_list_at_the_own_place(void **state)
{
    (void)state;
    char list[512];
    snprintf(list, sizeof list, "0,1 %s\n", digits[1]);
    refused(list, ": ", digits[0]);
    snprintf(list, sizeof list, "1,1 %s\n", digits[0]);
    refused(list, ": ", "belongs to node 3, but this is node 1");
}

static void errors_of_the_list_are_at_its_key(void **state)
{
    (void)state;
    char more[512], place[160];
    snprintf(more, sizeof more, "key = %s\npeers = /no/such/list", key);
    snprintf(place, sizeof place, "%s:9:1: /no/such/list: cannot open the list of peers", file);
    assert_int_equal(load(more), TD_ERR_INVALID); /* key is in line 8, peers in line 9 */
    if (strncmp(text, place, strlen(place)) != 0)
        fail_msg("expected %s, got %s", place, text);
    snprintf(more, sizeof more, "key = /no/such/key\npeers = %s", peers);
    snprintf(place, sizeof place, "%s:8:1: /no/such/key: cannot open the secret key", file);
    assert_int_equal(load(more), TD_ERR_INVALID);
    if (strncmp(text, place, strlen(place)) != 0)
        fail_msg("expected %s, got %s", place, text);
}

/* The files make this daemon node 1,1; its key is in the list at that place only. */
static void keys_of_another_place_wait_for_the_restart(void **state)
{
    (void)state;
    char list[256], content[1024], changed[200], restart[200], to_do[200], why[600];
    static const char form[] = "[node]\ncoordinates = %s\n[torus]\nshape = 2x2\n[peers]\nhosts = "
                               "a[0-3]\n[security]\nkey = %s\npeers = %s\n%s";
    snprintf(list, sizeof list, "0,1 %s\n", digits[0]);
    assert_int_equal(with_lists(list), TD_OK);
    snprintf(list, sizeof list, "1,1 %s\n", digits[0]);
    write_file(peers, list);
    snprintf(content, sizeof content, form, "1,1", key, peers, "[log]\nlevel = debug\n");
    assert_int_equal(reload(content), TD_OK);
    assert_int_equal(refusals.count, 0);
    assert_true(fresh.keys_wait);
    td_config_adopt(&config, &fresh, &refusals, changed, sizeof changed, restart, sizeof restart);
    assert_string_equal(changed, "log.level");
    assert_string_equal(restart, "node.coordinates");
    assert_true(
        td_config_to_do(&config, to_do, sizeof to_do, restart, sizeof restart, why, sizeof why));
    assert_string_equal(to_do, "");
    assert_string_equal(restart, "node.coordinates");
    /* without the new place the list is wrong, for a restart, too */
    snprintf(content, sizeof content, form, "0,1", key, peers, "");
    assert_int_equal(reload(content), TD_OK);
    assert_int_equal(refusals.count, 1);
    assert_non_null(strstr(refusals.text[0], "belongs to node 3, but this is node 1"));
    assert_false(
        td_config_to_do(&config, to_do, sizeof to_do, restart, sizeof restart, why, sizeof why));
    assert_string_equal(why, refusals.text[0]);
}

static void a_secret_that_others_can_read_is_refused(void **state)
{
    (void)state;
    char list[512];
    snprintf(list, sizeof list, "0,1 %s\n", digits[0]);
    for (mode_t mode = 0604; mode; mode = mode == 0604 ? 0640 : mode == 0640 ? 0620 : 0) {
        assert_int_equal(chmod(key, mode), 0);
        assert_int_equal(with_lists(list), TD_ERR_INVALID);
        assert_non_null(strstr(text, "chmod 600"));
        assert_non_null(strstr(text, key));
    }
    assert_int_equal(chmod(key, 0600), 0);
    assert_int_equal(with_lists(list), TD_OK);
}

/* refused_with checks that the files are refused with a sentence that names `where`. */
static void refused_with(const char *where, const char *word)
{
    char more[512];
    snprintf(more, sizeof more, "key = %s\npeers = %s", key, peers);
    assert_int_equal(load(more), TD_ERR_INVALID);
    if (!strstr(text, where) || !strstr(text, word))
        fail_msg("expected %s ... %s, got: %s", where, word, text);
}

static void a_list_that_others_can_write_is_refused(void **state)
{
    (void)state;
    char list[512];
    snprintf(list, sizeof list, "0,1 %s\n", digits[0]);
    assert_int_equal(with_lists(list), TD_OK);
    for (mode_t mode = 0602; mode; mode = mode == 0602 ? 0664 : 0) {
        assert_int_equal(chmod(peers, mode), 0);
        refused_with(peers, "other users may write the file");
    }
    assert_int_equal(chmod(peers, 0644), 0);
    for (mode_t mode = 0707; mode; mode = mode == 0707 ? 0770 : 0) {
        assert_int_equal(chmod(folder, mode), 0);
        refused_with(peers, "other users may write its folder");
    }
    assert_int_equal(chmod(folder, 01777), 0); /* each user replaces only what is his */
    assert_int_equal(with_lists(list), TD_OK);
    assert_int_equal(chmod(folder, 0700), 0);
}

/* A link leads to a list in a folder that others may write. */
static void the_folder_behind_a_link_is_checked(void **state)
{
    (void)state;
    char list[512], inner[140], behind[160];
    snprintf(list, sizeof list, "0,1 %s\n", digits[0]);
    snprintf(inner, sizeof inner, "%s/inner", folder);
    snprintf(behind, sizeof behind, "%s/peers", inner);
    assert_int_equal(mkdir(inner, 0755), 0);
    write_file(behind, list);
    unlink(peers);
    assert_int_equal(symlink("inner/peers", peers), 0);
    assert_int_equal(with_lists(list), TD_OK);
    assert_int_equal(chmod(inner, 0777), 0);
    refused_with(peers, "other users may write its folder");
    unlink(behind);
    rmdir(inner);
}

/* The owner of the secret key and root may change the list, and nobody else. */
static void a_list_of_another_user_is_refused(void **state)
{
    (void)state;
    enum { TORUSD = 1234, OTHER = 1235 };
    char list[512];
    if (geteuid() != 0)
        skip();
    snprintf(list, sizeof list, "0,1 %s\n", digits[0]);
    assert_int_equal(chown(key, TORUSD, TORUSD), 0);
    assert_int_equal(chown(peers, TORUSD, TORUSD), 0);
    assert_int_equal(with_lists(list), TD_OK);
    assert_int_equal(chown(peers, OTHER, OTHER), 0);
    refused_with(peers, "uid 1235 owns the file");
    assert_int_equal(chown(peers, 0, 0), 0);
    assert_int_equal(chown(folder, OTHER, OTHER), 0);
    refused_with(peers, "uid 1235 owns its folder");
    assert_int_equal(chown(folder, 0, 0), 0);
}

/* A FIFO would make the daemon wait, a device or a large file read for ever. */
static void other_files_than_small_regular_ones_are_refused(void **state)
{
    (void)state;
    char list[512];
    snprintf(list, sizeof list, "0,1 %s\n", digits[0]);
    assert_int_equal(with_lists(list), TD_OK);
    for (int i = 0; i < 2; i++) {
        char *path = i ? key : peers;
        unlink(path);
        assert_int_equal(mkfifo(path, 0600), 0);
        refused_with(path, "it is not a regular file");
        td_config_unreadable(&config, file, on_unreadable, NULL);
        unlink(path);
        assert_int_equal(mkdir(path, 0700), 0);
        refused_with(path, "it is not a regular file");
        assert_int_equal(rmdir(path), 0);
        assert_int_equal(symlink("/dev/zero", path), 0);
        refused_with(path, "it is not a regular file");
        unlink(path);
        write_file(path, "");
        assert_int_equal(chmod(path, 0600), 0);
        assert_int_equal(truncate(path, INT64_C(10) << 30), 0);
        refused_with(path, "it has 10737418240 bytes");
        write_file(path, list);
    }
}

/* An operator checks the files as root: torusctl doctor. */
static void root_reads_a_secret_of_the_user_that_runs_torusd(void **state)
{
    (void)state;
    enum { TORUSD = 1234 };
    char list[512];
    if (geteuid() != 0)
        skip();
    snprintf(list, sizeof list, "0,1 %s\n", digits[0]);
    assert_int_equal(chown(key, TORUSD, TORUSD), 0);
    if (with_lists(list) != TD_OK)
        fail_msg("%s", text);
}

static void malformed_secrets_are_refused_without_their_digits(void **state)
{
    (void)state;
    /* the file's name is in the sentence, too, and has random characters: the digits are many */
    static const char *const contents[] = {"",
                                           "secret\n",
                                           "secret 12d41f0c\n",
                                           "public 12d41f0c\n",
                                           "secret 12d41f0c 34\n",
                                           "# a\nsekret 12d41f0c\n"};
    char list[512];
    snprintf(list, sizeof list, "0,1 %s\n", digits[0]);
    for (size_t i = 0; i < sizeof contents / sizeof contents[0]; i++) {
        write_file(key, contents[i]);
        assert_int_equal(with_lists(list), TD_ERR_INVALID);
        assert_non_null(strstr(text, key));
        assert_null(strstr(text, "12d41f0c"));
    }
    unlink(key);
    assert_int_equal(with_lists(list), TD_ERR_INVALID);
    assert_non_null(strstr(text, "torusctl keygen"));
}

static void key_and_list_belong_together_and_exclude_insecure(void **state)
{
    (void)state;
    char more[512];
    snprintf(more, sizeof more, "key = %s", key);
    assert_int_equal(load(more), TD_ERR_INVALID);
    assert_non_null(strstr(text, "peers is missing"));
    snprintf(more, sizeof more, "peers = %s", peers);
    assert_int_equal(load(more), TD_ERR_INVALID);
    assert_non_null(strstr(text, "key is missing"));
    snprintf(more, sizeof more, "key = %s\npeers = %s\ninsecure = yes", key, peers);
    assert_int_equal(load(more), TD_ERR_INVALID);
    assert_non_null(strstr(text, "turns the keys off"));
    assert_int_equal(load("streams = sealed"), TD_ERR_INVALID);
    assert_non_null(strstr(text, "encrypt|authenticate"));
    assert_int_equal(load("insecure = yes"), TD_OK);
    assert_true(td_config_is_open(&config));
}

/* run runs torusctl keygen with up to three arguments, and returns its exit code and output. */
static int run(char *out, size_t bytes, const char *a, const char *b, const char *c)
{
    int ends[2], code = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        execl(TORUSCTL, "torusctl", "keygen", a, b, c, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    size_t size = 0;
    for (ssize_t more = 1; more > 0 && size + 1 < bytes; size += more > 0 ? (size_t)more : 0)
        more = read(ends[0], out + size, bytes - 1 - size);
    out[size] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &code, 0), child);
    return WIFEXITED(code) ? WEXITSTATUS(code) : -1;
}

static void keygen_makes_a_pair_that_torusd_accepts(void **state)
{
    (void)state;
    char out[2048], list[512], path[128];
    struct stat st;
    unlink(key);
    assert_int_equal(run(out, sizeof out, "--coordinates", "0,1", key), 0);
    assert_int_equal(stat(key, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    const char *line = strstr(out, "0,1 "); /* stderr may come first */
    assert_non_null(line);
    snprintf(list, sizeof list, "%.*s", (int)strcspn(line, "\n") + 1, line);
    if (with_lists(list) != TD_OK)
        fail_msg("%s", text);
    assert_int_equal(run(out, sizeof out, key, NULL, NULL), 1); /* never replaced without --force */
    assert_non_null(strstr(out, "--force"));
    assert_non_null(strstr(out, "--show"));
    assert_int_equal(with_lists(list), TD_OK);
    assert_int_equal(run(out, sizeof out, "--show", "--coordinates=0,1", key), 2);
    assert_int_equal(run(out, sizeof out, "--show", key, NULL), 0); /* the line of that key */
    assert_memory_equal(out, "COORDINATES ", 12);
    assert_memory_equal(out + 12, list + 4, TD_KEY_TEXT - 1);
    assert_null(strstr(out, "secret"));
    assert_int_equal(run(out, sizeof out, "--show", peers, NULL), 1);
    assert_non_null(strstr(out, "the file has no secret key"));
    assert_int_equal(run(out, sizeof out, "--force", "--json", key), 0);
    assert_non_null(strstr(out, "\"public_key\": \""));
    assert_null(strstr(out, "secret"));
    assert_int_equal(with_lists(list), TD_ERR_INVALID);
    assert_int_equal(stat(key, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(run(out, sizeof out, folder, NULL, NULL), 0);
    snprintf(path, sizeof path, "%s/torusd.key", folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(run(out, sizeof out, NULL, NULL, NULL), 2);
    assert_int_equal(run(out, sizeof out, "/no/such/folder/key", NULL, NULL), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(keys_make_tcp_possible),
        TEST(errors_of_the_list_name_file_and_line),
        TEST(lines_beyond_the_shape_are_accepted_with_a_note),
        TEST(a_reload_refuses_settings_one_by_one),
        TEST(errors_of_the_list_are_at_its_key),
        TEST(keys_of_another_place_wait_for_the_restart),
        TEST(the_own_key_must_be_in_the_list_at_the_own_place),
        TEST(a_secret_that_others_can_read_is_refused),
        TEST(a_list_that_others_can_write_is_refused),
        TEST(the_folder_behind_a_link_is_checked),
        TEST(a_list_of_another_user_is_refused),
        TEST(other_files_than_small_regular_ones_are_refused),
        TEST(root_reads_a_secret_of_the_user_that_runs_torusd),
        TEST(malformed_secrets_are_refused_without_their_digits),
        TEST(key_and_list_belong_together_and_exclude_insecure),
        TEST(keygen_makes_a_pair_that_torusd_accepts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
