/* SPDX-License-Identifier: Apache-2.0 */
#include "peers_zap.h"

#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "peers_internal.h"

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
              "its key is not in the list of peers", true);
    return "unknown key";
}

static void reply(struct td_peers *peers, void *socket, zmq_msg_t frame[FRAMES])
{
    char digits[TD_KEY_TEXT] = "";
    const char *why = "unknown request";
    if (is(&frame[VERSION], "1.0") && is(&frame[DOMAIN], domain) &&
        is(&frame[MECHANISM], "CURVE") && zmq_msg_size(&frame[KEY]) == TD_KEY_BYTES) {
        const uint8_t *key = zmq_msg_data(&frame[KEY]);
        td_key_print(key, digits);
        why = td_security_node(peers->security, key) == UINT32_MAX ? refuse(peers, frame, digits)
                                                                   : NULL;
    }
    zmq_send(socket, "1.0", 3, ZMQ_SNDMORE);
    zmq_send(socket, zmq_msg_data(&frame[REQUEST]), zmq_msg_size(&frame[REQUEST]), ZMQ_SNDMORE);
    zmq_send(socket, why ? "400" : "200", 3, ZMQ_SNDMORE);
    zmq_send(socket, why ? why : "", why ? strlen(why) : 0, ZMQ_SNDMORE);
    zmq_send(socket, digits, why ? 0 : strlen(digits), ZMQ_SNDMORE);
    zmq_send(socket, "", 0, 0);
}

/* receive_request answers one request. */
static bool receive_request(void *user, void *socket)
{
    struct td_peers *peers = user;
    zmq_msg_t frame[FRAMES];
    int count = 0;
    bool more = true, any = false;
    for (int i = 0; i < FRAMES; i++)
        zmq_msg_init(&frame[i]);
    while (more) {
        zmq_msg_t *m = &frame[count < FRAMES ? count : FRAMES - 1];
        if (zmq_msg_recv(m, socket, ZMQ_DONTWAIT) < 0)
            break;
        any = true;
        more = zmq_msg_more(m);
        count++;
    }
    if (any)
        reply(peers, socket, frame);
    for (int i = 0; i < FRAMES; i++)
        zmq_msg_close(&frame[i]);
    return any;
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
    const char *digits = zmq_msg_gets(message, "User-Id");
    uint8_t key[TD_KEY_BYTES];
    o.revoked = true;
    if (digits && td_key_read(digits, strlen(digits), key)) {
        o.node = td_security_node(peers->security, key);
        o.revoked = o.node == UINT32_MAX;
        memcpy(o.public_key, key, sizeof key);
        memcpy(o.key, digits, TD_KEY_PREFIX);
    }
    return o;
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
