/* SPDX-License-Identifier: Apache-2.0 */
/* peer_form: the protobuf messages that a tree message is encoded from, and the form of the two
 * functions of a kind. */
#ifndef TD_WIRE_PEER_FORM_H
#define TD_WIRE_PEER_FORM_H

#include <stdbool.h>

#include "model/message.h"
#include "peer.pb-c.h"

/* struct td_wire_form: the protobuf messages that a tree message is encoded from. */
struct td_wire_form {
    union {
#define BODY(number, NAME, name) __typeof__(*((Torus__Peer__Tree *)0)->name) name;
        TD_MESSAGE_KINDS(BODY)
#undef BODY
    };
    Torus__Peer__Witness witness[2];
    Torus__Peer__Survey survey;
    Torus__Peer__Outcome outcome;
    Torus__Peer__Run run[TD_MEMBERS_PER_MESSAGE], *runs[TD_MEMBERS_PER_MESSAGE];
};

/* TD_WIRE_CODEC declares td_wire_put_x, which fills in the protobuf message of kind X, and
 * td_wire_get_x, which reads it and returns false if it is beyond a limit. */
#define TD_WIRE_CODEC(Name, name)                                                                  \
    void td_wire_put_##name(const struct td_message_##name *f, struct td_wire_form *form);         \
    bool td_wire_get_##name(const Torus__Peer__##Name *m, struct td_message_##name *f);

#endif
