/* SPDX-License-Identifier: Apache-2.0 */
/* The rate of log lines, and their fields in the journal: io/log.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/clients/events.h"
#include "io/log.h"

static char text[4096];

/* begin_capture sends stderr to a file; end_capture puts it back and reads the last line of the
 * file to `text`, and returns the number of lines. */
static int kept = -1;
static FILE *captured;

static void begin_capture(void)
{
    captured = tmpfile();
    assert_non_null(captured);
    kept = dup(STDERR_FILENO);
    dup2(fileno(captured), STDERR_FILENO);
}

static uint32_t end_capture(void)
{
    uint32_t lines = 0;
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(captured);
    while (fgets(text, sizeof text, captured))
        lines++;
    fclose(captured);
    return lines;
}

/* say tries to print `count` lines at a time, and returns how many were printed. `text` has the
 * last of them. */
static uint32_t say(struct td_log_rate *rate, uint64_t now_ns, uint32_t count)
{
    uint32_t printed = 0;
    begin_capture();
    for (uint32_t i = 0; i < count; i++)
        printed += td_log_rated(rate, now_ns, TD_LOG_WARNING, "process %u does not read", i);
    assert_int_equal(end_capture(), printed);
    return printed;
}

static uint32_t tick(struct td_log_rate *rate, uint64_t now_ns)
{
    begin_capture();
    td_log_rate_tick(rate, now_ns, TD_LOG_WARNING, "lines of clients");
    return end_capture();
}

static void a_flood_of_lines_is_counted(void **state)
{
    (void)state;
    struct td_log_rate rate = {0};
    assert_int_equal(say(&rate, 1, 54884), TD_LOG_RATE_LINES);
    assert_int_equal(say(&rate, TD_LOG_TOKEN_NS, 10), 0);
    assert_int_equal(say(&rate, TD_LOG_TOKEN_NS + 1, 1), 1);
    assert_non_null(strstr(text, "process 0 does not read; 54884 such lines were suppressed"));
    assert_int_equal(say(&rate, 3 * TD_LOG_TOKEN_NS + 1, 3), 2); /* one for each token */
    assert_null(strstr(text, "suppressed"));
    assert_int_equal(say(&rate, 100 * TD_LOG_TOKEN_NS, 100), TD_LOG_RATE_LINES); /* the most */
}

/* The number of suppressed lines is logged though no such line comes any more. */
static void the_count_does_not_wait_for_a_line(void **state)
{
    (void)state;
    struct td_log_rate rate = {0};
    say(&rate, 1, TD_LOG_RATE_LINES + 7);
    assert_int_equal(tick(&rate, 2), 0);
    assert_int_equal(tick(&rate, 1 + TD_LOG_RATE_LINES * TD_LOG_TOKEN_NS), 1);
    assert_non_null(strstr(text, "lines of clients: 7 such lines were suppressed"));
    assert_int_equal(tick(&rate, 2 + TD_LOG_RATE_LINES * TD_LOG_TOKEN_NS), 0);
}

static void a_line_is_plain_text(void **state)
{
    (void)state;
    begin_capture();
    td_log(TD_LOG_WARNING, "process 7 (%s) is lost", "p\x1b[31m\ntorusd: forged\xc2\x9b\xff");
    assert_int_equal(end_capture(), 1);
    assert_non_null(
        strstr(text, "process 7 (p\\u001b[31m\\u000atorusd: forged\\u009b\\377) is lost\n"));
}

/* ---- the journal ---- */

static const struct td_log_fields fields = {
    .job = "heat", .error = "TIMEOUT", .rank = 3, .group = 0, .operation = 17, .node = 2};

/* Fields that a line does not have are left out; a value cannot forge another field. */
static void an_entry_has_the_fields_of_its_line(void **state)
{
    char entry[400];
    struct td_log_fields forged = td_log_no_fields;
    (void)state;
    size_t size = td_log_entry(entry, sizeof entry, TD_LOG_INFO, &fields, "rank 3 is late");
    assert_int_equal(size, strlen(entry));
    assert_string_equal(entry, "MESSAGE=rank 3 is late\nPRIORITY=6\nSYSLOG_IDENTIFIER=test\n"
                               "JOB=heat\nERROR=TIMEOUT\nRANK=3\nGROUP=0\nOP=17\nNODE=2\n");
    forged.job = "a\nPRIORITY=0";
    assert_true(td_log_entry(entry, sizeof entry, TD_LOG_WARNING, &forged, "two\nlines") > 0);
    assert_string_equal(entry, "MESSAGE=two\\u000alines\nPRIORITY=4\nSYSLOG_IDENTIFIER=test\n"
                               "JOB=a\\u000aPRIORITY=0\n");
    assert_int_equal(td_log_entry(entry, 20, TD_LOG_INFO, &fields, "rank 3 is late"), 0);
}

/* begin_journal makes a journal, and read_entry reads its next entry. */
static struct sockaddr_un address;
static char entry[2048], directory[32];
static int journal;

static void begin_journal(void)
{
    snprintf(directory, sizeof directory, "/tmp/test_log.XXXXXX");
    assert_non_null(mkdtemp(directory));
    address.sun_family = AF_UNIX;
    snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", directory);
    journal = socket(AF_UNIX, SOCK_DGRAM, 0);
    assert_int_equal(bind(journal, (const struct sockaddr *)&address, sizeof address), 0);
    td_log_journal(address.sun_path);
}

static void read_entry(void)
{
    memset(entry, 0, sizeof entry);
    assert_true(recv(journal, entry, sizeof entry - 1, MSG_DONTWAIT) > 0);
}

static void end_journal(void)
{
    close(journal);
    unlink(address.sun_path);
    rmdir(directory);
}

static void a_journal_gets_the_fields(void **state)
{
    struct td_log_rate rate = {0};
    (void)state;
    begin_journal();
    td_log_rated_with(&rate, 1, TD_LOG_INFO, &fields, "rank %d is late", 3);
    read_entry();
    assert_non_null(strstr(entry, "MESSAGE=rank 3 is late\n"));
    assert_non_null(strstr(entry, "\nJOB=heat\nERROR=TIMEOUT\nRANK=3\n"));
    end_journal();
    assert_int_equal(say(&rate, 1, 1), 1); /* without a reader, the line goes to stderr */
    assert_non_null(strstr(text, "process 0 does not read"));
    td_log_journal(NULL);
}

static void the_line_of_an_error_names_the_call_that_failed(void **state)
{
    static struct td_events events;
    const struct td_failed_call failed = {.job = "heat", .group = 1, .operation = 17};
    struct td_reply reply = {.kind = TD_REPLY_ERROR,
                             .error = TD_ERR_RANK_FAILED,
                             .text = "rank 3 of job heat died",
                             .failed = &failed};
    (void)state;
    begin_journal();
    td_events_reply(&events, 1, 4711, 1000, &reply);
    read_entry();
    assert_non_null(strstr(entry, "MESSAGE=RANK_FAILED, told to process 4711 of user 1000: "));
    assert_non_null(strstr(entry, "\nJOB=heat\nERROR=RANK_FAILED\nGROUP=1\nOP=17\n"));
    reply.failed = NULL;
    reply.text = "of no call";
    td_events_reply(&events, 2, 4711, 1000, &reply);
    read_entry();
    assert_non_null(strstr(entry, "\nERROR=RANK_FAILED\n"));
    assert_null(strstr(entry, "\nJOB="));
    assert_null(strstr(entry, "\nOP="));
    end_journal();
    td_log_journal(NULL);
}

/* The line has the time of the day at which the silence began. */
static void the_lines_of_a_silence_name_the_node_and_the_time(void **state)
{
    static struct td_events events;
    struct td_note note = {
        .kind = TD_NOTE_NODE_SILENT, .rank = -1, .node = 2, .age_ns = 2012345678};
    char since[32];
    (void)state;
    begin_journal();
    td_events_note(&events, 1, &note, 0);
    read_entry();
    const char *line = strstr(entry, "MESSAGE=node 2 has been silent for 2.012 s, since ");
    assert_non_null(line);
    assert_int_equal(
        sscanf(line, "MESSAGE=node 2 has been silent for 2.012 s, since %31[0-9:.]", since), 1);
    assert_int_equal(strlen(since), strlen("14:05:11.123:"));
    assert_non_null(strstr(entry, "\nNODE=2\n"));
    assert_null(strstr(entry, "\nJOB="));
    assert_null(strstr(entry, "\nRANK="));
    note.kind = TD_NOTE_NODE_HEARD;
    note.age_ns = 12345678901;
    td_events_note(&events, 2, &note, 0);
    read_entry();
    assert_non_null(
        strstr(entry, "MESSAGE=node 2 is heard again: it was silent for 12.345 s, since "));
    assert_non_null(strstr(entry, "\nNODE=2\n"));
    end_journal();
    td_log_journal(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flood_of_lines_is_counted),
        cmocka_unit_test(the_count_does_not_wait_for_a_line),
        cmocka_unit_test(a_line_is_plain_text),
        cmocka_unit_test(an_entry_has_the_fields_of_its_line),
        cmocka_unit_test(a_journal_gets_the_fields),
        cmocka_unit_test(the_line_of_an_error_names_the_call_that_failed),
        cmocka_unit_test(the_lines_of_a_silence_name_the_node_and_the_time),
    };
    td_log_init(TD_LOG_INFO, "test");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
