/* SPDX-License-Identifier: Apache-2.0 */
#include "reasons.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "interfaces.h"
#include "io/control/peer.h"

struct td_reason td_reason(enum td_cause cause, const char *text, unsigned after_ms)
{
    struct td_reason r = {.cause = cause, .after_ms = after_ms};
    snprintf(r.text, sizeof r.text, "%s", text);
    return r;
}

bool td_reason_is_absence(enum td_cause cause)
{
    return cause == TD_CAUSE_REFUSED || cause == TD_CAUSE_ELSEWHERE;
}

/* is_elsewhere returns true if a daemon of the peer that never was reached has been connected to
 * this one for some time: it is at another address; perhaps an earlier one was here. */
static bool is_elsewhere(const struct td_peer *p, unsigned ms)
{
    return p->in.channel && p->in.incarnation != p->last.incarnation &&
           td_loop_now() - p->in.at >= ms * UINT64_C(1000000);
}

/* closed is for a connection that was closed before the handshake, perhaps by something else than
 * the daemon of the peer. */
static struct td_reason closed(const struct td_peer *p, const char *text)
{
    if (is_elsewhere(p, STREAM_MS))
        return td_reason(TD_CAUSE_ELSEWHERE,
                         "its daemon runs, but what answers at this address ends the handshake: "
                         "compare [peers] here with its listen",
                         0);
    return td_reason(TD_CAUSE_OTHER, text, 0);
}

struct td_reason td_reason_unanswered(const struct td_peer *p, const char *text)
{
    if (!is_elsewhere(p, 0))
        return td_reason(TD_CAUSE_OTHER, text, 0);
    if (p->in.at <= p->out.began_at)
        return td_reason(TD_CAUSE_ELSEWHERE,
                         "its daemon runs, but nothing answers at this address: correct [peers] "
                         "here, or open its port",
                         0);
    /* it may have started after the requests to connect were lost */
    return td_reason(TD_CAUSE_RUNS,
                     "its daemon runs and has connected to this node, but this address has not "
                     "answered yet: compare [peers] here with its listen",
                     RETRY_MS);
}

struct td_reason td_reason_nameless(const struct td_peer *p, const char *why)
{
    const char *name = p->peers->loop->config->endpoints[p->node] + strlen("tcp://");
    struct td_reason r = {.cause = TD_CAUSE_NAMELESS};
    snprintf(r.text, sizeof r.text, "the name %.*s cannot be resolved: %s", (int)strcspn(name, ":"),
             name, why);
    return r;
}

bool td_reason_is_of_names(int error, const char **why)
{
    if (error > UV_EAI_ADDRFAMILY || error < UV_EAI_PROTOCOL)
        return false; /* uv_strerror would allocate a text for 0, and nobody frees it */
    *why = error == UV_EAI_AGAIN    ? gai_strerror(EAI_AGAIN)
           : error == UV_EAI_FAIL   ? gai_strerror(EAI_FAIL)
           : error == UV_EAI_NONAME ? gai_strerror(EAI_NONAME)
                                    : uv_strerror(error);
    return true;
}

struct td_reason td_reason_probed(const struct td_peer *p, int error)
{
    const char *why = NULL;
    if (error == UV_ECONNREFUSED && is_elsewhere(p, 0))
        return td_reason(TD_CAUSE_ELSEWHERE,
                         "its daemon runs, but not at this address: correct [peers] here, or "
                         "listen there",
                         0);
    if (error == UV_ECONNREFUSED)
        return td_reason(TD_CAUSE_REFUSED, "connection refused", 0);
    if (error == UV_ENETUNREACH || error == UV_ENETDOWN || error == UV_EADDRNOTAVAIL)
        return td_reason(TD_CAUSE_OTHER,
                         "this node has no route to it: look at its own interfaces and routes", 0);
    if (td_reason_is_of_names(error, &why))
        return td_reason_nameless(p, why);
    if (error)
        return td_reason_unanswered(p, uv_strerror(error));
    return closed(p, p->last.incarnation
                         ? "the connection was closed"
                         : "what listens there closed the connection: is it torusd? compare "
                           "[peers] here with its listen");
}

struct td_reason td_reason_broken_off(const struct td_peer *p, bool *certain)
{
    bool keyed = p->peers->security->keyed;
    struct td_reason r = {.cause = TD_CAUSE_OTHER};
    *certain = p->target.stranger[0] != '\0';
    if (!*certain && !keyed && strncmp(p->peers->loop->config->listen, "tcp://", 6) != 0)
        return td_reason(TD_CAUSE_OTHER, "the connection was closed", 0);
    if (!*certain) /* without keys: a peer with a key may close it before its greeting is read */
        return closed(p, keyed
                             ? "it ended the handshake: does it run, with the key of the list of "
                               "peers?"
                             : "it ended the handshake: does it run, without a key as this node?");
    snprintf(r.text, sizeof r.text,
             "it ended the handshake, and its host connects with key %s, which is not in the list "
             "of peers: compare the keys",
             p->target.stranger);
    return r;
}

bool td_peer_own_fault(const struct td_peer *p, char *text, size_t bytes)
{
    struct ifaddrs *list = NULL;
    if (!p->last.interface[0] || getifaddrs(&list) != 0)
        return false;
    bool is =
        td_interfaces_fault(list, p->last.interface, p->peers->loop->config->node, text, bytes);
    freeifaddrs(list);
    return is;
}
