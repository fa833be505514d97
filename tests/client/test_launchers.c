/* SPDX-License-Identifier: Apache-2.0 */
/* The job, rank and size that torus_join takes from the variables of launchers. */
#include "daemons.h"

#include <stdlib.h>
#include <string.h>

static const char *const variables[] = {"TORUS_JOB",
                                        "TORUS_RANK",
                                        "TORUS_SIZE",
                                        "OMPI_COMM_WORLD_RANK",
                                        "PMIX_NAMESPACE",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "PMI_JOBID",
                                        "RANK",
                                        "WORLD_SIZE",
                                        "TORCHELASTIC_RUN_ID",
                                        "SLURM_JOB_ID",
                                        "SLURM_STEP_ID",
                                        "SLURM_PROCID",
                                        "SLURM_NTASKS",
                                        "SLURM_STEP_NUM_TASKS"};

/* launched replaces the variables of launchers by the NAME=VALUE words of `text`. */
static void launched(const char *text)
{
    char words[400], *rest = words, *word = NULL;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        unsetenv(variables[i]);
    assert_true(strlen(text) < sizeof words);
    strcpy(words, text);
    while ((word = strtok_r(rest, " ", &rest))) {
        char *value = strchr(word, '=');
        assert_non_null(value);
        *value = '\0';
        setenv(word, value + 1, 1);
    }
}

/* join_as joins one process for each environment, and asserts the common size, and that process i
 * has rank i. */
static void join_as(const char *const *environment, uint32_t count)
{
    torus_context *c[2] = {NULL};
    torus_group *g[2] = {NULL};
    torus_request *r[2] = {NULL};
    for (uint32_t i = 0; i < count; i++) {
        launched(environment[i]);
        c[i] = open_at(0);
        assert_int_equal(torus_ijoin(c[i], NULL, &g[i], &r[i]), TORUS_OK);
    }
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(torus_wait(r[i], 20 * (int64_t)SECOND), TORUS_OK);
        assert_int_equal(torus_size(g[i]), count);
        assert_int_equal(torus_rank(g[i]), i);
    }
    close_all(c, count);
}

/* join_pairs forms a job of two ranks from each pair of environments, on one node. */
static void join_pairs(const char *const pairs[][2], size_t count)
{
    start(1, "");
    for (size_t i = 0; i < count; i++)
        join_as(pairs[i], 2);
    launched("");
    stop();
}

static void every_launcher_gives_name_rank_and_size(void **state)
{
    static const char *const pairs[][2] = {
        {"TORUS_JOB=j TORUS_RANK=0 TORUS_SIZE=2", "TORUS_JOB=j TORUS_RANK=1 TORUS_SIZE=2"},
        {"PMIX_NAMESPACE=n OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2",
         "PMIX_NAMESPACE=n OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2"},
        {"PMI_JOBID=7.0 PMI_RANK=0 PMI_SIZE=2", "PMI_JOBID=7.0 PMI_RANK=1 PMI_SIZE=2"},
        {"SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2",
         "SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2"},
        {"TORCHELASTIC_RUN_ID=t RANK=0 WORLD_SIZE=2", "TORCHELASTIC_RUN_ID=t RANK=1 WORLD_SIZE=2"},
        {"TORUS_JOB=k RANK=0 WORLD_SIZE=2", "TORUS_JOB=k RANK=1 WORLD_SIZE=2"},
        /* the job is named by the step, which both launchers of Slurm tell */
        {"PMI_JOBID=7.0 PMI_RANK=0 PMI_SIZE=2 SLURM_JOB_ID=7 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2",
         "SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2"},
    };
    (void)state;
    join_pairs(pairs, sizeof pairs / sizeof pairs[0]);
}

/* srun starts torchrun, or an agent of mpirun, once on each node. The ranks that it starts inherit
 * its variables of Slurm, which are equal for all ranks of a node. */
static void the_innermost_launcher_is_used(void **state)
{
#define AGENT "SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 "
    static const char *const pairs[][2] = {
        {AGENT "TORCHELASTIC_RUN_ID=t RANK=0 WORLD_SIZE=2",
         AGENT "TORCHELASTIC_RUN_ID=t RANK=1 WORLD_SIZE=2"},
        {AGENT "PMIX_NAMESPACE=n OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2",
         AGENT "PMIX_NAMESPACE=n OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2"},
        /* a script that sets what torch.distributed wants, and no name */
        {"SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 RANK=0 WORLD_SIZE=2",
         "SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 RANK=1 "
         "WORLD_SIZE=2"},
    };
    (void)state;
    join_pairs(pairs, sizeof pairs / sizeof pairs[0]);
}

/* sbatch and salloc tell a script the tasks that it may start. The script itself is not one. */
static void a_batch_script_is_no_rank_of_its_tasks(void **state)
{
    static const char *const script[] = {
        "SLURM_JOB_ID=7 SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_NPROCS=4 SLURM_LOCALID=0"};
    (void)state;
    start(1, "");
    join_as(script, 1);
    launched("");
    stop();
}

static void a_value_that_is_no_number_is_named(void **state)
{
    torus_group *g = NULL;
    (void)state;
    start(1, "");
    launched("SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2(x2)");
    torus_context *c = open_at(0);
    assert_int_equal(torus_join(c, NULL, &g), TORUS_ERR_INVALID);
    assert_says(c, "SLURM_STEP_NUM_TASKS=2(x2): expected a number");
    launched("");
    close_all(&c, 1);
    stop();
}

/* Without its size a rank would be a job of its own, and compute with its own data alone. */
static void a_rank_without_a_size_is_refused(void **state)
{
    static const struct {
        const char *environment, *said; /* NULL: it joins */
        bool always;                    /* also with the size in the options */
    } cases[] = {
        {"TORUS_JOB=x TORUS_RANK=1", "TORUS_RANK=1 is set, but TORUS_SIZE is not", true},
        {"TORUS_RANK=0", "TORUS_RANK=0 is set, but TORUS_SIZE is not", false},
        {"TORUS_JOB=x", "TORUS_JOB=x is set, but TORUS_SIZE is not: set TORUS_SIZE to the number",
         false},
        {"TORUS_JOB=x TORUS_SIZES=2",
         "TORUS_SIZE is not (TORUS_SIZES is set: did you mean TORUS_SIZE?): set", false},
        {"TORUS_JOB= TORUS_SIZE=1", "TORUS_JOB is empty: a job needs a name", true},
        {"TORUS_JOB=x TORUS_RANK=a TORUS_SIZE=2", "TORUS_RANK=a: expected a number from 0 to 16383",
         true},
        {"TORUS_JOB=x SLURM_NTASKS=2 SLURM_PROCID=1", "TORUS_JOB=x is set, but TORUS_SIZE is not",
         false},
        {"TORUS_JOB=x TORUS_SIZE=", "TORUS_SIZE=: expected a number", false},
        {"TORUS_JOB=x TORUS_SIZE=1", NULL, false},
        {"TORUS_JOB=x SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1", NULL, false},
        {"TORUS_SOCKETS=a", NULL, false},
    };
    const struct torus_join_options alone = {.size = sizeof alone, .ranks = 1};
    (void)state;
    start(1, "");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        torus_group *g = NULL;
        launched(cases[i].environment);
        torus_context *c = open_at(0);
        assert_int_equal(torus_join(c, NULL, &g), cases[i].said ? TORUS_ERR_INVALID : TORUS_OK);
        if (cases[i].said) {
            assert_says(c, cases[i].said);
            assert_int_equal(torus_join(c, &alone, &g), /* its options have the size */
                             cases[i].always ? TORUS_ERR_INVALID : TORUS_OK);
        }
        close_all(&c, 1);
    }
    launched("");
    unsetenv("TORUS_SIZES");
    unsetenv("TORUS_SOCKETS");
    stop();
}

static char warned[2][200];
static int warnings;

static void note_warning(int code, const char *text, void *user)
{
    (void)user;
    assert_int_equal(code, TORUS_OK);
    assert_true(warnings < 2);
    snprintf(warned[warnings++], sizeof warned[0], "%s", text);
}

static void unknown_variables_are_told_to_the_log(void **state)
{
    (void)state;
    start(1, "");
    setenv("TORUS_SIZES", "2", 1);
    setenv("TORUS_JOBNAME", "a", 1);
    torus_context *c = open_at(0);
    torus_set_log(c, note_warning, NULL);
    assert_int_equal(warnings, 2);
    const char *of_size = strncmp(warned[0], "TORUS_SIZES", 11) == 0 ? warned[0] : warned[1];
    assert_string_equal(of_size, "TORUS_SIZES is in the environment, but torusd has no such "
                                 "variable: the nearest is TORUS_SIZE");
    close_all(&c, 1);
    unsetenv("TORUS_SIZES");
    unsetenv("TORUS_JOBNAME");
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_launcher_gives_name_rank_and_size, clean_up),
        cmocka_unit_test_teardown(the_innermost_launcher_is_used, clean_up),
        cmocka_unit_test_teardown(a_rank_without_a_size_is_refused, clean_up),
        cmocka_unit_test_teardown(unknown_variables_are_told_to_the_log, clean_up),
        cmocka_unit_test_teardown(a_batch_script_is_no_rank_of_its_tasks, clean_up),
        cmocka_unit_test_teardown(a_value_that_is_no_number_is_named, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
