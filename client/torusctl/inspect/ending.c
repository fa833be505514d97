/* SPDX-License-Identifier: Apache-2.0 */
#include "ending.h"

#include <stdio.h>
#include <time.h>

#include "base/text.h"
#include "libtorus/deadline.h"
#include "libtorus/socket.h"
#include "libtorus/status.h"
#include "torusctl/torusctl.h"

enum { AGAIN_NS = 5000000 };

/* ask_node asks a node once. It returns the number of calls that end there, -1 with a sentence, or
 * -2 if it is to be asked again. */
static int64_t ask_node(struct ins_machine *m, uint32_t node,
                        const struct td_message_end_calls *end, char *text, size_t bytes)
{
    static struct td_reply reply;
    uint64_t id = 0;
    int error = tl_end_calls(m->c, node, end, &id);
    do {
        if (error == TORUS_OK)
            error = tl_next(m->c, m->deadline_ns, &reply);
        if (error == TORUS_PENDING)
            snprintf(text, bytes, "node %u has not answered within %.1f s", node, m->timeout_s);
        else if (error != TORUS_OK)
            snprintf(text, bytes, "%s", tool_error(m->c));
        if (error != TORUS_OK)
            return -1;
    } while (reply.id != id);
    if (reply.kind == TD_REPLY_STATUS && reply.error == TD_OK)
        return (int64_t)reply.u.status.next;
    td_text_show(reply.text, text, bytes);
    return reply.error == TD_ERR_BUSY && tl_now_ns() < m->deadline_ns ? -2 : -1;
}

int64_t ins_end_calls(struct ins_machine *m, const bool *ask,
                      const struct td_message_end_calls *end, char *text, size_t bytes)
{
    int64_t sum = 0;
    m->deadline_ns = tl_now_ns() + (int64_t)(1e9 * m->timeout_s);
    for (uint32_t n = 0; n < m->nodes; n++) {
        int64_t ended = ask[n] ? -2 : 0;
        while (ended == -2 || ended > 0) {
            ended = ask_node(m, n, end, text, bytes);
            if (ended == -1)
                return -1;
            sum += ended > 0 ? ended : 0;
            if (ended == -2)
                nanosleep(&(struct timespec){.tv_nsec = AGAIN_NS}, NULL);
        }
    }
    return sum;
}
