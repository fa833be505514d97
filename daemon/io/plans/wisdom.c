/* SPDX-License-Identifier: Apache-2.0 */
#include "wisdom.h"

#include <errno.h>
#include <fcntl.h>
#include <fftw3.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "compute/fft/fft_text.h"

static const char first_line[] = "torusd wisdom 1\n";
enum { BYTES_MAX = 64 << 20, PATH = 512 };

/* ---- the machine ---- */

/* value_of returns the text after "name   : " if the line begins with it, else NULL. */
static const char *value_of(const char *line, const char *name)
{
    size_t length = strlen(name);
    if (strncmp(line, name, length) != 0)
        return NULL;
    const char *colon = line + length + strspn(line + length, " \t");
    return *colon == ':' ? colon + 1 + strspn(colon + 1, " \t") : NULL;
}

/* write_machine writes the second line. Wisdom is valid for one version of FFTW on one processor.
 */
static void write_machine(char *text, size_t size)
{
    char *line = NULL, model[128] = "unknown";
    size_t room = 0;
    uint64_t flags = 0;
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f && getline(&line, &room, f) > 0 && flags == 0) {
        const char *value = value_of(line, "model name");
        value = value ? value : value_of(line, "CPU part");
        if (value)
            snprintf(model, sizeof model, "%.*s", (int)strcspn(value, "\n"), value);
        value = value_of(line, "flags");
        value = value ? value : value_of(line, "Features");
        if (value)
            flags = td_hash_bytes(value, strlen(value));
    }
    free(line);
    if (f)
        fclose(f);
    snprintf(text, size, "%s; %s; flags %016" PRIx64 "\n", fftw_version, model, flags);
}

/* ---- reading ---- */

/* read_file returns the text, or NULL with errno. */
static char *read_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0)
        return NULL;
    size_t size = fstat(fd, &status) == 0 ? (size_t)status.st_size : 0, length = 0;
    char *text = size < BYTES_MAX ? malloc(size + 1) : NULL;
    for (ssize_t received = 1; text && length < size && received > 0;
         length += received > 0 ? (size_t)received : 0)
        received = read(fd, text + length, size - length);
    if (text)
        text[length] = '\0';
    else
        errno = EFBIG;
    close(fd);
    return text;
}

/* skip moves past a line if it equals `line`. */
static bool skip(char **at, const char *line)
{
    size_t length = strlen(line);
    bool same = strncmp(*at, line, length) == 0;
    *at += same ? length : 0;
    return same;
}

static const char damaged[] = "the file is corrupt";

/* import_body reads the part after the header. It returns NULL or an error. */
static const char *import_body(char *text, unsigned records, size_t doubles, size_t floats)
{
    struct td_fft_record record;
    char *at = text;
    for (unsigned i = 0; i < records; i++) {
        char *end = strchr(at, '\n');
        if (!end || !td_fft_record_parse(&record, at))
            return damaged;
        if (record.state == TD_FFT_MEASURED || record.state == TD_FFT_FAILED)
            td_fft_update(&record);
        at = end + 1;
    }
    size_t left = strlen(at);
    if (doubles > left || floats != left - doubles)
        return damaged;
    char *second = strdup(at + doubles);
    at[doubles] = '\0';
    bool good = second && td_fft_import(at, true) && td_fft_import(second, false);
    free(second);
    return good ? NULL : "FFTW rejects the wisdom in it";
}

/* import_text returns NULL, or the reason why the text is unusable. */
static const char *import_text(char *text)
{
    char machine[400];
    unsigned records = 0;
    size_t doubles = 0, floats = 0;
    uint64_t hash = 0;
    write_machine(machine, sizeof machine);
    if (!skip(&text, first_line))
        return damaged;
    if (!skip(&text, machine))
        return "the file is from another FFTW or processor";
    char *end = strchr(text, '\n');
    if (!end || sscanf(text, "hash %" SCNx64, &hash) != 1 ||
        td_hash_bytes(end + 1, strlen(end + 1)) != hash)
        return damaged;
    text = end + 1;
    end = strchr(text, '\n');
    if (!end || sscanf(text, "records %u double %zu float %zu", &records, &doubles, &floats) != 3)
        return damaged;
    return import_body(end + 1, records, doubles, floats);
}

static void path_of(const char *directory, char *path)
{
    snprintf(path, PATH, "%s/wisdom", directory);
}

bool td_wisdom_load(const char *directory, char *why, size_t size)
{
    char path[PATH];
    path_of(directory, path);
    char *text = read_file(path);
    if (!text && (errno == ENOENT || errno == ENOTDIR))
        return true;
    bool read = text != NULL;
    const char *wrong = read ? import_text(text) : strerror(errno);
    free(text);
    if (!wrong)
        return true;
    snprintf(why, size, "%s: %s", path, wrong);
    if (read) /* else the file may be right, such as when descriptors lack */
        unlink(path);
    return false;
}

/* ---- writing ---- */

/* write_records writes the records and returns their number. */
static unsigned write_records(FILE *f)
{
    struct td_fft_record record;
    char line[TD_FFT_LINE_MAX];
    unsigned count = 0;
    for (unsigned i = 0; td_fft_record(i, &record); i++) {
        if (record.state != TD_FFT_MEASURED && record.state != TD_FFT_FAILED)
            continue;
        td_fft_record_print(&record, line, sizeof line);
        fprintf(f, "%s\n", line);
        count++;
    }
    return count;
}

/* compose_body returns the hashed part of the file, or NULL if memory runs out. */
static char *compose_body(const char *doubles, const char *floats)
{
    char *records = NULL, *body = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&records, &size);
    if (!f)
        return NULL;
    unsigned count = write_records(f);
    if (fclose(f) != 0 || asprintf(&body, "records %u double %zu float %zu\n%s%s%s", count,
                                   strlen(doubles), strlen(floats), records, doubles, floats) < 0)
        body = NULL;
    free(records);
    return body;
}

char *td_wisdom_compose(void)
{
    char machine[400], *text = NULL;
    char *doubles = td_fft_export(true), *floats = td_fft_export(false);
    char *body = doubles && floats ? compose_body(doubles, floats) : NULL;
    write_machine(machine, sizeof machine);
    if (!body || asprintf(&text, "%s%shash %016" PRIx64 "\n%s", first_line, machine,
                          td_hash_bytes(body, strlen(body)), body) < 0)
        text = NULL;
    free(doubles);
    free(floats);
    free(body);
    return text;
}

static bool write_all(int fd, const char *text)
{
    for (size_t left = strlen(text); left > 0;) {
        ssize_t written = write(fd, text, left);
        if (written < 0 && errno != EINTR)
            return false;
        left -= written > 0 ? (size_t)written : 0;
        text += written > 0 ? written : 0;
    }
    return fsync(fd) == 0;
}

bool td_wisdom_write(const char *directory, const char *text)
{
    char path[PATH], other[PATH + 16];
    path_of(directory, path);
    snprintf(other, sizeof other, "%s.%ld", path, (long)getpid());
    int fd = open(other, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return false;
    bool good = write_all(fd, text);
    close(fd);
    if (good && rename(other, path) == 0)
        return true;
    int error = errno;
    unlink(other);
    errno = error;
    return false;
}
