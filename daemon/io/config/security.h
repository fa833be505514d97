/* SPDX-License-Identifier: Apache-2.0 */
/* security: this node's key pair, and the list of peers: which keys may be which node.
 *
 * A line of the list is COORDINATES PUBLIC-KEY. A node may have two keys while they are exchanged;
 * a key belongs to one node. Without keys (`keyed` is false) the struct is all zeros. Owns: the
 * list. Invariant: the list is sorted by key, and the node's own key is in it. */
#ifndef TD_IO_CONFIG_SECURITY_H
#define TD_IO_CONFIG_SECURITY_H

#include "model/topology.h"
#include "wire/key.h"

enum {
    TD_NODE_KEYS_MAX = 2, /* public keys of a node */
};

struct td_peer_key {
    uint8_t key[TD_KEY_BYTES];
    uint32_t node;
};

struct td_security {
    bool keyed;
    uint8_t secret[TD_KEY_BYTES], public_key[TD_KEY_BYTES]; /* of this node */
    struct td_peer_key *peer;
    uint32_t peers;
    uint32_t beyond; /* lines of the list that are of no node of the shape: for a larger one */
};

/* td_security_load reads the two files. On an error it returns false with a sentence in `text`, and
 * `s` is not changed. */
bool td_security_load(struct td_security *s, const char *key_file, const char *peers_file,
                      const struct td_topology *topology, uint32_t node, char *text,
                      size_t text_bytes);
/* td_security_form writes the form that the coordinates of a node have, and returns it: "one
 * number, 0 to 2" or "2 numbers such as 2,3, each below the size of its dimension". */
const char *td_security_form(const struct td_topology *topology, char *text, size_t text_bytes);
void td_security_free(struct td_security *s);
/* td_security_node returns the node that a public key belongs to, or UINT32_MAX. */
uint32_t td_security_node(const struct td_security *s, const uint8_t key[TD_KEY_BYTES]);
/* td_security_keys writes the public keys of a node and returns their number. */
uint32_t td_security_keys(const struct td_security *s, uint32_t node,
                          const uint8_t *key[TD_NODE_KEYS_MAX]);
/* td_security_note writes that lines of the list wait for a larger shape, and returns the text; ""
 * if none does. */
const char *td_security_note(const struct td_security *s, const char *peers_file, char *text,
                             size_t text_bytes);
/* td_security_same returns true if the public key of this node and the lists of peers are equal. */
bool td_security_same(const struct td_security *a, const struct td_security *b);

#endif
