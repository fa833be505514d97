/* SPDX-License-Identifier: Apache-2.0 */
#include "players.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

pid_t player[PLAYERS];
torus_context *context;
torus_group *world;
struct told *told;

void open_and_join(const char *job, uint32_t rank, uint32_t ranks)
{
    char path[128];
    snprintf(path, sizeof path, "%s/s0", folder);
    const struct torus_open_options o = {.size = sizeof o, .socket = path};
    struct torus_join_options j = as(ranks, (int32_t)rank);
    j.name = job;
    WELL(torus_open(&context, &o));
    WELL(torus_join(context, &j, &world));
}

void begin(uint32_t ranks, void (*play)(uint32_t rank))
{
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(told != MAP_FAILED);
    for (uint32_t r = 0; r < ranks; r++) {
        player[r] = fork();
        assert_true(player[r] >= 0);
        if (player[r] == 0) {
            alarm(60);
            open_and_join("job", r, ranks);
            play(r);
            _exit(GOOD);
        }
    }
}

void finish(uint32_t ranks)
{
    for (uint32_t r = 0; r < ranks; r++) {
        int code = 0;
        if (!player[r])
            continue;
        assert_int_equal(waitpid(player[r], &code, 0), player[r]);
        if (!WIFEXITED(code) || WEXITSTATUS(code) != GOOD)
            fail_msg("rank %u ended with %#x", r, (unsigned)code);
    }
    munmap(told, sizeof *told);
}

void pause_ms(long ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

void await(const _Atomic uint32_t *count, uint32_t wanted)
{
    for (double end = seconds() + 30; *count < wanted;) {
        if (seconds() > end)
            abort();
        pause_ms(1);
    }
}

void report(uint32_t rank, int error)
{
    told->at[rank] = seconds();
    snprintf(told->text[rank], sizeof told->text[rank], "%s", torus_last_error(context));
    told->error[rank] = error;
}

void assert_ended(uint32_t but, double since, int error, const char *words)
{
    for (uint32_t r = 0; r < PLAYERS; r++) {
        if (r == but)
            continue;
        while (told->error[r] == TORUS_OK && seconds() < since + 10)
            pause_ms(1);
        if (told->error[r] != error || !strstr(told->text[r], words))
            fail_msg("rank %u: %d, '%s'", r, told->error[r], told->text[r]);
        if (told->at[r] > since + 1)
            fail_msg("rank %u learned it after %.1f s", r, told->at[r] - since);
    }
}

void kill_player(uint32_t victim)
{
    char words[80];
    kill(player[victim], SIGKILL);
    double since = seconds();
    waitpid(player[victim], NULL, 0);
    snprintf(words, sizeof words, "rank %u of job job died: process %d", victim,
             (int)player[victim]);
    player[victim] = 0;
    assert_ended(victim, since, TORUS_ERR_RANK_FAILED, words);
    told->go = 1;
    finish(PLAYERS);
}
