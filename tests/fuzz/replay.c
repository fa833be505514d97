/* SPDX-License-Identifier: Apache-2.0 */
/* replay: runs a fuzz target without libFuzzer: on each file of each folder that is named, then on
 * pseudo-random inputs. `fuzz_NAME [--random COUNT] [--seed SEED] FOLDER|FILE ...` */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "random.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 65536, RANDOM_MAX = 600 };

static char current[600];

static void on_abort(int number)
{
    static const char before[] = "aborted; input: ";
    ssize_t written = write(STDERR_FILENO, before, sizeof before - 1);
    written += write(STDERR_FILENO, current, strlen(current));
    written += write(STDERR_FILENO, "\n", 1);
    (void)written;
    signal(number, SIG_DFL);
}

/* run passes a copy of exactly this size, so that a sanitizer finds reads beyond it. */
static void run(const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size ? size : 1);
    if (!exact)
        exit(1);
    memcpy(exact, data, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

static unsigned run_file(const char *path)
{
    static uint8_t bytes[INPUT_MAX];
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(2);
    }
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    snprintf(current, sizeof current, "%s", path);
    run(bytes, size);
    return 1;
}

static unsigned run_path(const char *path)
{
    struct stat s;
    if (stat(path, &s) == 0 && !S_ISDIR(s.st_mode))
        return run_file(path);
    struct dirent **entry = NULL;
    int entries = scandir(path, &entry, NULL, alphasort);
    unsigned runs = 0;
    if (entries < 0) {
        perror(path);
        exit(2);
    }
    for (int i = 0; i < entries; i++) {
        char file[600];
        snprintf(file, sizeof file, "%s/%s", path, entry[i]->d_name);
        if (entry[i]->d_name[0] != '.')
            runs += run_file(file);
        free(entry[i]);
    }
    free(entry);
    return runs;
}

static void run_random(unsigned long long seed)
{
    uint8_t bytes[RANDOM_MAX];
    uint64_t state = seed;
    size_t size = random_below(&state, sizeof bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)random_below(&state, 256);
    snprintf(current, sizeof current, "--random 1 --seed %llu", seed);
    run(bytes, size);
}

int main(int argc, char **argv)
{
    unsigned long long count = 0, seed = 1;
    unsigned files = 0;
    signal(SIGABRT, on_abort);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--random") == 0 && i + 1 < argc)
            count = strtoull(argv[++i], NULL, 0);
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 0);
        else
            files += run_path(argv[i]);
    }
    for (unsigned long long i = 0; i < count; i++)
        run_random(seed + i);
    printf("%u files and %llu random inputs\n", files, count);
    return 0;
}
