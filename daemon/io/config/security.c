/* SPDX-License-Identifier: Apache-2.0 */
#include "security.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guarded.h"

enum {
    WORDS_MAX = 2,
    KEY_FILE_BYTES_MAX = 64 << 10,
    WHY_MAX = 400,
    LIST_BYTES_MAX = 4 << 20, /* the largest torus has lines of less than 1 MiB */
};

/* struct source: a file that is being read, line by line. */
struct source {
    const char *file;
    unsigned line;
    char *text;
    size_t text_bytes;
    bool failed;
};

/* fail stores the first error with its place, and returns false. */
static bool fail(struct source *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool fail(struct source *s, const char *format, ...)
{
    if (s->failed)
        return false;
    s->failed = true;
    int length = s->line ? snprintf(s->text, s->text_bytes, "%s:%u: ", s->file, s->line)
                         : snprintf(s->text, s->text_bytes, "%s: ", s->file);
    va_list arguments;
    va_start(arguments, format);
    if (length >= 0 && (size_t)length < s->text_bytes)
        vsnprintf(s->text + length, s->text_bytes - (size_t)length, format, arguments);
    va_end(arguments);
    return false;
}

/* words splits a line before # into words, and returns their number; more than WORDS_MAX count as
 * WORDS_MAX + 1. */
static int words(char *line, char *word[WORDS_MAX])
{
    char *rest = NULL;
    int count = 0;
    line[strcspn(line, "#")] = '\0';
    for (char *at = strtok_r(line, " \t\r\n", &rest); at; at = strtok_r(NULL, " \t\r\n", &rest)) {
        if (count == WORDS_MAX)
            return WORDS_MAX + 1;
        word[count++] = at;
    }
    return count;
}

/* read_lines calls `take` for each line that has words, until it fails. */
static bool read_lines(struct source *s, FILE *f,
                       bool (*take)(struct source *, char *word[WORDS_MAX], int count, void *user),
                       void *user)
{
    char *line = NULL, *word[WORDS_MAX] = {NULL};
    size_t room = 0;
    while (!s->failed && getline(&line, &room, f) >= 0) {
        s->line++;
        int count = words(line, word);
        if (count)
            take(s, word, count, user);
    }
    if (line)
        td_key_wipe(line, room);
    free(line);
    if (!s->failed)
        s->line = 0;
    return !s->failed && (!ferror(f) || fail(s, "cannot read the file: %s", strerror(errno)));
}

/* ---- the secret key ---- */

struct secret {
    uint8_t key[TD_KEY_BYTES];
    bool found;
};

static bool take_secret(struct source *s, char *word[WORDS_MAX], int count, void *user)
{
    struct secret *secret = user;
    if (count != 2 || strcmp(word[0], "secret") != 0)
        return fail(s, "expected \"secret KEY\", as torusctl keygen writes it");
    if (secret->found)
        return fail(s, "a second secret key: a file has one");
    if (!td_key_read(word[1], strlen(word[1]), secret->key))
        return fail(s, "the secret key must be %d hexadecimal digits", TD_KEY_TEXT - 1);
    return secret->found = true;
}

static bool is_private(struct source *s, const struct stat *st)
{
    /* only its owner can have opened it, or root, who checks it for the user that runs torusd */
    if (st->st_mode & 077)
        return fail(s, "other users may read or write the secret key (mode %04o): chmod 600 it",
                    (unsigned)st->st_mode & 07777);
    return true;
}

/* read_secret reads the secret key. *owner: the user of the file. */
static bool read_secret(struct source *s, uint8_t secret[TD_KEY_BYTES], uid_t *owner)
{
    struct secret found = {.found = false};
    struct stat st;
    char why[WHY_MAX];
    FILE *f = td_guarded_open(s->file, KEY_FILE_BYTES_MAX, &st, why, sizeof why);
    if (!f)
        return fail(s, "cannot open the secret key: %s%s", why,
                    access(s->file, F_OK) != 0 ? "; torusctl keygen makes one" : "");
    *owner = st.st_uid;
    setvbuf(f, NULL, _IONBF, 0); /* no copy of the key in a buffer of stdio */
    bool good = is_private(s, &st) && read_lines(s, f, take_secret, &found) &&
                (found.found || fail(s, "the file has no secret key; torusctl keygen makes one"));
    fclose(f);
    memcpy(secret, found.key, TD_KEY_BYTES);
    td_key_wipe(&found, sizeof found);
    return good;
}

/* ---- the list of peers ---- */

const char *td_security_form(const struct td_topology *topology, char *text, size_t text_bytes)
{
    uint32_t last = topology->nodes - 1, place[TD_DIMENSIONS_MAX];
    if (topology->dimensions == 1) {
        snprintf(text, text_bytes, last ? "one number, 0 to %u" : "the number %u", last);
        return text;
    }
    td_topology_coordinates(topology, last, place);
    size_t length = (size_t)snprintf(text, text_bytes, "%u numbers such as ", topology->dimensions);
    for (uint32_t d = 0; d < topology->dimensions && length < text_bytes; d++)
        length +=
            (size_t)snprintf(text + length, text_bytes - length, "%s%u", d ? "," : "", place[d]);
    if (length < text_bytes)
        snprintf(text + length, text_bytes - length, ", each below the size of its dimension");
    return text;
}

struct list {
    const struct td_topology *topology;
    struct td_peer_key *peer;
    unsigned *line; /* [peers] where each key is */
    uint32_t peers, room;
    uint8_t *keys_of; /* [nodes] number of keys */
    uint32_t beyond;  /* lines of nodes that the torus does not have */
};

enum place { MALFORMED, BEYOND, WITHIN };

/* read_place reads coordinates such as 0,2. WITHIN: *node is their node; BEYOND: the torus has no
 * such place, but a larger one of as many dimensions may. */
static enum place read_place(const struct td_topology *t, const char *text, uint32_t *node)
{
    uint32_t place[TD_DIMENSIONS_MAX] = {0}, d = 0;
    bool within = true;
    for (const char *p = text; *p; d++) {
        char *end = NULL;
        if (!isdigit((unsigned char)*p) || d == t->dimensions)
            return MALFORMED;
        unsigned long value = strtoul(p, &end, 10);
        if ((*end && (*end != ',' || !end[1])) || value >= TD_NODES_MAX)
            return MALFORMED;
        within = within && value < t->size[d];
        place[d] = (uint32_t)value;
        p = *end ? end + 1 : end;
    }
    if (d != t->dimensions)
        return MALFORMED;
    if (!within)
        return BEYOND;
    *node = td_topology_node(t, place);
    return WITHIN;
}

static bool grow(struct list *l)
{
    uint32_t room = l->room ? 2 * l->room : 64;
    struct td_peer_key *peer = realloc(l->peer, room * sizeof *peer);
    if (peer)
        l->peer = peer;
    unsigned *line = realloc(l->line, room * sizeof *line);
    if (line)
        l->line = line;
    if (!peer || !line)
        return false;
    l->room = room;
    return true;
}

static bool take_peer(struct source *s, char *word[WORDS_MAX], int count, void *user)
{
    struct list *l = user;
    struct td_peer_key p;
    char shape[128], form[200];
    td_security_form(l->topology, form, sizeof form);
    if (count != 2)
        return fail(s, "expected COORDINATES PUBLIC-KEY: %s, and %d hexadecimal digits", form,
                    TD_KEY_TEXT - 1);
    if (strcmp(word[0], "COORDINATES") == 0)
        return fail(s,
                    "torusctl keygen was run without --coordinates: write the place of the node "
                    "instead of COORDINATES: %s",
                    form);
    enum place place = read_place(l->topology, word[0], &p.node);
    if (place == MALFORMED) {
        td_topology_print(l->topology, shape, sizeof shape);
        return fail(s, "%.40s are no coordinates of the torus %s: expected %s", word[0], shape,
                    form);
    }
    if (!td_key_read(word[1], strlen(word[1]), p.key))
        return fail(s, "the public key must be %d hexadecimal digits", TD_KEY_TEXT - 1);
    if (place == BEYOND) {
        l->beyond++;
        return true;
    }
    if (l->keys_of[p.node]++ == TD_NODE_KEYS_MAX)
        return fail(s, "%s has more than %d keys: remove the oldest", word[0], TD_NODE_KEYS_MAX);
    if (l->peers == l->room && !grow(l))
        return fail(s, "no memory for the list of peers");
    l->line[l->peers] = s->line;
    l->peer[l->peers++] = p;
    return true;
}

static int compare(const void *a, const void *b)
{
    return memcmp(((const struct td_peer_key *)a)->key, ((const struct td_peer_key *)b)->key,
                  TD_KEY_BYTES);
}

/* check_unique finds a key that is in the list twice: a key has one place. */
static bool check_unique(struct source *s, const struct list *l, const struct td_security *sorted)
{
    for (uint32_t i = 0; i + 1 < sorted->peers; i++) {
        if (compare(&sorted->peer[i], &sorted->peer[i + 1]) != 0)
            continue;
        unsigned first = 0;
        for (uint32_t k = 0; k < l->peers; k++)
            if (compare(&l->peer[k], &sorted->peer[i]) == 0) {
                s->line = l->line[k];
                if (!first)
                    first = s->line;
            }
        return fail(s, "the same key as in line %u: each node needs a key of its own", first);
    }
    return true;
}

/* read_list reads the lines of the list. Only root and the owner of the secret key may change it:
 * whoever can, gives himself the rights of a node. */
static bool read_list(struct source *s, uid_t owner, struct list *l)
{
    struct stat st;
    char why[WHY_MAX];
    FILE *f = td_guarded_open(s->file, LIST_BYTES_MAX, &st, why, sizeof why);
    if (!f)
        return fail(s, "cannot open the list of peers: %s", why);
    bool good = td_guarded_by(s->file, &st, owner, why, sizeof why) ? read_lines(s, f, take_peer, l)
                                                                    : fail(s, "%s", why);
    fclose(f);
    return good;
}

/* read_peers reads the list into `into`, sorted. */
static bool read_peers(struct source *s, const struct td_topology *t, uid_t owner,
                       struct td_security *into)
{
    struct list l = {.topology = t, .keys_of = calloc(t->nodes, 1)};
    bool good = l.keys_of && read_list(s, owner, &l);
    if (good && l.peer) {
        into->peer = malloc(l.peers * sizeof *l.peer);
        into->peers = into->peer ? l.peers : 0;
    }
    if (into->peers && l.peer) {
        memcpy(into->peer, l.peer, l.peers * sizeof *l.peer);
        qsort(into->peer, into->peers, sizeof *into->peer, compare);
        good = check_unique(s, &l, into);
    } else if (good) {
        good = fail(s, "the list of peers has no key");
    }
    into->beyond = l.beyond;
    free(l.peer);
    free(l.line);
    free(l.keys_of);
    return good || fail(s, "no memory for the list of peers");
}

bool td_security_load(struct td_security *s, const char *key_file, const char *peers_file,
                      const struct td_topology *topology, uint32_t node, char *text,
                      size_t text_bytes)
{
    struct td_security fresh = {.keyed = true};
    struct source key = {.file = key_file, .text = text, .text_bytes = text_bytes};
    struct source peers = {.file = peers_file, .text = text, .text_bytes = text_bytes};
    uid_t user = 0;
    bool good =
        read_secret(&key, fresh.secret, &user) && read_peers(&peers, topology, user, &fresh);
    if (good) {
        char digits[TD_KEY_TEXT];
        td_key_public(fresh.secret, fresh.public_key);
        td_key_print(fresh.public_key, digits);
        uint32_t owner = td_security_node(&fresh, fresh.public_key);
        if (owner == UINT32_MAX)
            good = fail(&peers, "the public key of %s is not in the list: add %s for node %u",
                        key_file, digits, node);
        else if (owner != node)
            good = fail(&peers,
                        "the public key of %s, %s, belongs to node %u, but this is node %u: each "
                        "node needs a key of its own",
                        key_file, digits, owner, node);
    }
    if (good) {
        td_security_free(s);
        *s = fresh;
    } else {
        td_security_free(&fresh);
    }
    td_key_wipe(fresh.secret, sizeof fresh.secret);
    return good;
}

void td_security_free(struct td_security *s)
{
    free(s->peer);
    td_key_wipe(s, sizeof *s);
}

uint32_t td_security_node(const struct td_security *s, const uint8_t key[TD_KEY_BYTES])
{
    struct td_peer_key wanted = {.node = UINT32_MAX};
    memcpy(wanted.key, key, TD_KEY_BYTES);
    const struct td_peer_key *found =
        s->peers ? bsearch(&wanted, s->peer, s->peers, sizeof *s->peer, compare) : NULL;
    return found ? found->node : UINT32_MAX;
}

uint32_t td_security_keys(const struct td_security *s, uint32_t node,
                          const uint8_t *key[TD_NODE_KEYS_MAX])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->peers && count < TD_NODE_KEYS_MAX; i++)
        if (s->peer[i].node == node)
            key[count++] = s->peer[i].key;
    return count;
}

const char *td_security_note(const struct td_security *s, const char *peers_file, char *text,
                             size_t text_bytes)
{
    text[0] = '\0';
    if (s->beyond)
        snprintf(
            text, text_bytes,
            "%u line%s of %s %s of no node of the running shape: a restart with a larger shape "
            "takes %s up",
            s->beyond, s->beyond == 1 ? "" : "s", peers_file, s->beyond == 1 ? "is" : "are",
            s->beyond == 1 ? "it" : "them");
    return text;
}

bool td_security_same(const struct td_security *a, const struct td_security *b)
{
    bool good = a->peers == b->peers && memcmp(a->public_key, b->public_key, TD_KEY_BYTES) == 0;
    for (uint32_t i = 0; good && i < a->peers; i++)
        good = a->peer[i].node == b->peer[i].node &&
               memcmp(a->peer[i].key, b->peer[i].key, TD_KEY_BYTES) == 0;
    return good;
}
