/* SPDX-License-Identifier: Apache-2.0 */
#include "zap.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "io/control/peer.h"
#include "target.h"

static const char domain[] = "torusd";

/* the frames of a request; a key is the only credential of CURVE */
enum { VERSION, REQUEST, DOMAIN, ADDRESS, IDENTITY, MECHANISM, KEY, FRAMES };

static bool is(zmq_msg_t *frame, const char *text)
{
    return zmq_msg_size(frame) == strlen(text) &&
           memcmp(zmq_msg_data(frame), text, strlen(text)) == 0;
}

/* refuse logs the rejection and returns the reason. */
static const char *refuse(struct td_peers *peers, zmq_msg_t frame[FRAMES], const char *digits)
{
    char address[80], key[TD_KEY_PREFIX + 1];
    size_t length = zmq_msg_size(&frame[ADDRESS]);
    snprintf(address, sizeof address, "%.*s", length > 70 ? 70 : (int)length,
             (const char *)zmq_msg_data(&frame[ADDRESS]));
    snprintf(key, sizeof key, "%s", digits);
    td_reject(&peers->rejections, address[0] ? address : "this machine", key,
              "its key is not in the list of peers");
    if (address[0])
        td_peers_note_stranger(peers, address, key);
    return "unknown key";
}

/* hold returns the index of a key that may connect, or UINT32_MAX if memory runs out. */
static uint32_t hold(struct td_peers *peers, const uint8_t *key, uint32_t node)
{
    uint32_t i = 0;
    while (i < peers->holders && memcmp(peers->holder[i].key, key, TD_KEY_BYTES) != 0)
        i++;
    if (i == peers->holders) {
        struct td_holder *grown = realloc(peers->holder, (i + 1) * sizeof *grown);
        if (!grown)
            return UINT32_MAX;
        peers->holder = grown;
        peers->holders++;
        memcpy(grown[i].key, key, TD_KEY_BYTES);
    }
    peers->holder[i].node = node;
    return i;
}

static void reply(struct td_peers *peers, void *socket, zmq_msg_t frame[FRAMES])
{
    char digits[TD_KEY_TEXT] = "", user[16] = "";
    const char *why = "unknown request";
    if (is(&frame[VERSION], "1.0") && is(&frame[DOMAIN], domain) &&
        is(&frame[MECHANISM], "CURVE") && zmq_msg_size(&frame[KEY]) == TD_KEY_BYTES) {
        const uint8_t *key = zmq_msg_data(&frame[KEY]);
        uint32_t node = td_security_node(peers->security, key);
        uint32_t index = node == UINT32_MAX ? UINT32_MAX : hold(peers, key, node);
        td_key_print(key, digits);
        why = node == UINT32_MAX    ? refuse(peers, frame, digits)
              : index == UINT32_MAX ? "no memory"
                                    : NULL;
        snprintf(user, sizeof user, "%u", index);
    }
    zmq_send(socket, "1.0", 3, ZMQ_SNDMORE);
    zmq_send(socket, zmq_msg_data(&frame[REQUEST]), zmq_msg_size(&frame[REQUEST]), ZMQ_SNDMORE);
    zmq_send(socket, why ? "400" : "200", 3, ZMQ_SNDMORE);
    zmq_send(socket, why ? why : "", why ? strlen(why) : 0, ZMQ_SNDMORE);
    zmq_send(socket, user, why ? 0 : strlen(user), ZMQ_SNDMORE);
    zmq_send(socket, "", 0, 0);
}

/* receive_request answers one request. */
static bool receive_request(void *user, void *socket)
{
    struct td_peers *peers = user;
    zmq_msg_t frame[FRAMES];
    int count = td_zsocket_parts(socket, frame, FRAMES);
    if (count > 0)
        reply(peers, socket, frame);
    for (int i = 0; i < FRAMES; i++)
        zmq_msg_close(&frame[i]);
    return count > 0;
}

bool td_peers_start_zap(struct td_peers *peers)
{
    if (!peers->security->keyed)
        return true;
    void *socket = zmq_socket(peers->context, ZMQ_REP);
    int none = 0;
    if (!socket)
        return false;
    zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none);
    if (zmq_bind(socket, "inproc://zeromq.zap.01") != 0) {
        zmq_close(socket);
        return false;
    }
    peers->zap = td_zsocket_create(&peers->zloop, socket, receive_request, peers);
    return peers->zap != NULL;
}

struct td_origin td_peers_origin(const struct td_peers *peers, zmq_msg_t *message)
{
    struct td_origin o = {.node = UINT32_MAX};
    if (!peers->security->keyed)
        return o;
    const char *user = zmq_msg_gets(message, "User-Id");
    unsigned long index = user ? strtoul(user, NULL, 10) : ULONG_MAX;
    if (index < peers->holders) {
        o.node = peers->holder[index].node;
        o.public_key = peers->holder[index].key;
    }
    o.revoked = o.node == UINT32_MAX;
    return o;
}

void td_origin_key(const struct td_origin *o, char text[TD_KEY_PREFIX + 1])
{
    char digits[TD_KEY_TEXT] = "";
    if (o->public_key)
        td_key_print(o->public_key, digits);
    snprintf(text, TD_KEY_PREFIX + 1, "%s", digits);
}

void td_peers_renew_holders(struct td_peers *peers)
{
    for (uint32_t i = 0; i < peers->holders; i++)
        peers->holder[i].node = td_security_node(peers->security, peers->holder[i].key);
}

const char *td_peers_address(zmq_msg_t *message)
{
    /* for a Unix socket it is ":UID:GID:PID", or empty */
    const char *address = zmq_msg_gets(message, "Peer-Address");
    bool local = !address || !address[0] || (address[0] == ':' && address[1] != ':');
    return local ? "this machine" : address;
}

/* keep_others_away admits processes of this user and of root to a Unix socket, and no others. */
static bool keep_others_away(void *socket)
{
    uid_t own = geteuid(), root = 0;
    return zmq_setsockopt(socket, ZMQ_IPC_FILTER_UID, &own, sizeof own) == 0 &&
           zmq_setsockopt(socket, ZMQ_IPC_FILTER_UID, &root, sizeof root) == 0;
}

bool td_peers_set_keys(const struct td_peers *peers, void *socket, const uint8_t *server)
{
    const struct td_security *s = peers->security;
    int one = 1;
    if (!server && !keep_others_away(socket))
        return false;
    if (!s->keyed)
        return true;
    if (zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, s->secret, TD_KEY_BYTES) != 0)
        return false;
    if (server)
        return zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, s->public_key, TD_KEY_BYTES) == 0 &&
               zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, server, TD_KEY_BYTES) == 0;
    return zmq_setsockopt(socket, ZMQ_CURVE_SERVER, &one, sizeof one) == 0 &&
           zmq_setsockopt(socket, ZMQ_ZAP_DOMAIN, domain, strlen(domain)) == 0;
}
