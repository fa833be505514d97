/* SPDX-License-Identifier: Apache-2.0 */
/* peer_fields: types of fields that are more than a number or a string. A function td_wire_get_TYPE
 * returns false if the field is beyond a limit. */
#ifndef TD_WIRE_PEER_FIELDS_H
#define TD_WIRE_PEER_FIELDS_H

#include <stdbool.h>

#include "model/message.h"
#include "peer.pb-c.h"

ProtobufCBinaryData td_wire_put_bitmap(const struct td_bitmap *bitmap);
bool td_wire_get_bitmap(const ProtobufCBinaryData *bytes, size_t limit, struct td_bitmap *bitmap);
ProtobufCBinaryData td_wire_put_payload(const struct td_message_payload *payload);
bool td_wire_get_payload(const ProtobufCBinaryData *bytes, size_t limit,
                         struct td_message_payload *payload);
/* td_wire_put_terms sets *values and returns their number; it copies nothing. */
size_t td_wire_put_terms(const struct td_term_list *list, uint64_t **values);
bool td_wire_get_terms(const uint64_t *values, size_t count, struct td_term_list *list);
/* td_wire_get_ending reads an error, or TD_OK, and its sentence. */
bool td_wire_get_ending(int32_t number, const char *from, td_err *error, const char **text);
Torus__Peer__Witness *td_wire_put_witness(const struct td_witness *w, Torus__Peer__Witness *m);
bool td_wire_get_witness(const Torus__Peer__Witness *m, struct td_witness *w);
Torus__Peer__Survey *td_wire_put_survey(const struct td_survey *s, Torus__Peer__Survey *m);
/* td_wire_get_survey reads an absent survey as zero. */
void td_wire_get_survey(const Torus__Peer__Survey *m, struct td_survey *s);
Torus__Peer__Outcome *td_wire_put_outcome(const struct td_outcome *o, Torus__Peer__Outcome *m);
bool td_wire_get_outcome(const Torus__Peer__Outcome *m, struct td_outcome *o);

#endif
