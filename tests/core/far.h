/* SPDX-License-Identifier: Apache-2.0 */
/* far: one link of a node, whose far end the test plays. Built on node.h.
 * Owns: the far end's session, and how it numbers its messages. */
#ifndef TD_TESTS_CORE_FAR_H
#define TD_TESTS_CORE_FAR_H

#include "node.h"

#include "core/net/early.h"
#include "core/net/fabric.h"
#include "core/net/link.h"
#include "core/net/session.h"

enum {
    FAR = 1,     /* the far node of a link with a connection of its own */
    DISTANT = 2, /* the far node of a relayed link */
    DAEMON = 500,
    ANOTHER = 501, /* incarnations of the far daemon */
};

struct far {
    struct td_link *link;
    uint32_t node;
    uint32_t session;           /* the far end's outgoing session */
    uint64_t incarnation;       /* of its daemon, as its RESUMEs say: DAEMON at first */
    uint64_t first;             /* the first message of its session, as its RESUMEs say */
    uint32_t given_up;          /* the session of this node that it gave up, as its RESUMEs say */
    uint64_t question, answers; /* of its RESUMEs */
};

extern struct far far;

/* far_begin makes a node of four in a row, and looks at its link to FAR on the direct fabric.
 * far_begin_relayed looks at its link to DISTANT on the routed fabric, and far_begin_relayed_back
 * at the link from there, of which this node is the far end. */
void far_begin(void (*change)(struct td_settings *));
void far_begin_relayed(void);
void far_begin_relayed_back(void);
/* far_up and far_down report the connection as the driver does. far_meet is the first far_up: it
 * learns the far end's session. far_meet and far_down empty the record of the node. */
void far_up(uint64_t incarnation);
void far_meet(void);
void far_down(bool refused);
/* far_say sends a numbered message to the far end. */
void far_say(void);
/* far_hear receives a message of the far end with that number. It returns true if the message must
 * be handled. */
bool far_hear(uint64_t number);
/* far_resume receives a RESUME of the far end: its counts of `counts_session`. */
void far_resume(uint32_t counts_session, uint64_t messages, uint64_t packets, bool wants_reply);
/* far_pause tells the node that it did not run for so long. far_question returns the question of
 * its latest RESUME, and far_answer the number that this one answers. */
void far_pause(uint64_t ns);
uint64_t far_question(void);
uint64_t far_answer(void);
/* far_pass advances time and runs the timers of sessions. */
void far_pass(uint64_t ns);
/* far_resumes counts the recorded RESUMEs. */
uint32_t far_resumes(void);

#endif
