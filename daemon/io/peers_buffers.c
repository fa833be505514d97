/* SPDX-License-Identifier: Apache-2.0 */
#include "peers_internal.h"

#include <stdlib.h>

struct buffer {
    zmq_msg_t message;
    uint32_t next_free;
    bool used;
};

uint32_t td_peers_keep_buffer(struct td_peers *peers, zmq_msg_t *message)
{
    if (peers->buffer_free == UINT32_MAX) {
        uint32_t more = peers->buffers ? peers->buffers : 64;
        /* zmq_msg_t may not be moved in memory by realloc: move them one by one */
        struct buffer *grown = calloc(peers->buffers + more, sizeof *grown);
        if (!grown)
            return UINT32_MAX;
        for (uint32_t i = 0; i < peers->buffers; i++) {
            zmq_msg_init(&grown[i].message);
            zmq_msg_move(&grown[i].message, &peers->buffer[i].message);
            zmq_msg_close(&peers->buffer[i].message);
            grown[i].used = peers->buffer[i].used;
        }
        for (uint32_t i = peers->buffers; i < peers->buffers + more; i++) {
            zmq_msg_init(&grown[i].message);
            grown[i].next_free = peers->buffer_free;
            peers->buffer_free = i;
        }
        free(peers->buffer);
        peers->buffer = grown;
        peers->buffers += more;
    }
    uint32_t handle = peers->buffer_free;
    struct buffer *b = &peers->buffer[handle];
    peers->buffer_free = b->next_free;
    b->used = true;
    zmq_msg_move(&b->message, message);
    return handle;
}

void td_peers_share_buffer(struct td_peers *peers, uint32_t buffer, zmq_msg_t *message)
{
    zmq_msg_init(message);
    zmq_msg_copy(message, &peers->buffer[buffer].message);
}

const uint8_t *td_peers_buffer(struct td_peers *peers, uint32_t buffer)
{
    return zmq_msg_data(&peers->buffer[buffer].message);
}

void td_peers_release_buffer(struct td_peers *peers, uint32_t buffer)
{
    if (buffer >= peers->buffers || !peers->buffer[buffer].used)
        return;
    struct buffer *b = &peers->buffer[buffer];
    zmq_msg_close(&b->message);
    zmq_msg_init(&b->message);
    b->used = false;
    b->next_free = peers->buffer_free;
    peers->buffer_free = buffer;
}

void td_peers_free_buffers(struct td_peers *peers)
{
    for (uint32_t i = 0; i < peers->buffers; i++)
        zmq_msg_close(&peers->buffer[i].message);
    free(peers->buffer);
}
