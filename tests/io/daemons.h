/* SPDX-License-Identifier: Apache-2.0 */
/* daemons: real daemons for a test, in a folder of their own, and ranks in this process, each with
 * its own context. A failure ends the test. */
#ifndef TD_TESTS_DAEMONS_H
#define TD_TESTS_DAEMONS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <cmocka.h>

#include "torus/torus.h"
#include "wire/key.h"

enum { NODES_MAX = 16, SECOND = 1000000000 };

extern char folder[64];
extern uint32_t nodes, columns; /* 0 columns: one dimension */
extern pid_t daemon_pid[NODES_MAX];
extern rlim_t descriptors; /* limit of a daemon's descriptors; 0: that of this process */
extern char status_line[400];
extern bool keyless;   /* daemons get no keys */
extern bool wants_tcp; /* node n is at tcp://127.0.0.1:base_port + 2 n */
extern unsigned base_port;
/* cabled returns true if a node reaches another one at r<from>.<to> instead of its endpoint; NULL:
 * never */
extern bool (*cabled)(uint32_t from, uint32_t to);

double seconds(void);
/* descriptors_of counts the open descriptors of a process. */
int descriptors_of(pid_t pid);

/* start starts `count` daemons with the configuration `more` and waits until they serve; at most
 * TORUS_TEST_NODES, on the fabric TORUS_TEST_FABRIC, with [node] segments as in TORUS_TEST_SEGMENTS
 * and [network] express as in TORUS_TEST_EXPRESS, if the environment has them. prepare makes the
 * folder, start_all does the rest. */
void start(uint32_t count, const char *more);
void prepare(uint32_t count);
void start_all(const char *more);
void start_daemon(uint32_t node);
/* start_daemon_with passes it the socket `listener`, as systemd does; -1: none. */
void start_daemon_with(uint32_t node, int listener);
void write_config(uint32_t node, const char *more);
/* make_key makes a key pair for a node, with its secret in the file NAME<node> of the folder, and
 * writes the digits of the public key. print_place writes the coordinates of a node. */
void make_key(uint32_t node, const char *name, char digits[TD_KEY_TEXT]);
void print_place(FILE *f, uint32_t node);
/* heard receives one notification. It returns true if it reports readiness. */
bool heard(void);
/* hears receives one notification within `ms`, or returns false. `line` (may be NULL): *told is
 * true if it is one of its lines. */
bool hears(int ms, const char *line, bool *told);
void wait_ready(uint32_t count);
void wait_status(const char *line);
/* stop ends the daemons and checks that each exited cleanly and left no socket. */
void stop(void);
/* clean_up is the teardown of every test: a failed test has not stopped its daemons. */
int clean_up(void **state);
/* logged counts the lines of a daemon's log that contain the words. */
int logged(uint32_t node, const char *words);
void wait_logged(uint32_t node, const char *words);

torus_context *open_at(uint32_t node);
struct torus_join_options as(uint32_t ranks, int32_t rank);
/* join_all joins `count` ranks, rank i on node i % nodes. */
void join_all(torus_context **c, torus_group **g, uint32_t count);
void barrier_all(torus_group **g, uint32_t count);
void close_all(torus_context **c, uint32_t count);
void assert_says(torus_context *c, const char *part);

#endif
