/* SPDX-License-Identifier: Apache-2.0 */
/* Files: torusd.conf, .npy arrays, the list of peers' keys, stored plans. The first byte chooses.
 * The files are in memory. */
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/hash.h"
#include "io/config/config.h"
#include "io/config/security.h"
#include "io/plans/wisdom.h"
#include "npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ELEMENTS_MAX = 1024 };

/* A file of these bytes, at the path /proc/self/fd/FD. */
static int file_of(const uint8_t *data, size_t size, char path[64])
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    assert(fd >= 0);
    ssize_t written = write(fd, data, size);
    assert(written == (ssize_t)size && fchmod(fd, 0600) == 0);
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static void feed_config(const char *path)
{
    struct td_config config;
    char text[1024] = "";
    td_err error = td_config_load(&config, path, "node03", text, sizeof text);
    if (error == TD_OK) {
        assert(config.node < config.topology.nodes);
        td_config_free(&config);
    } else {
        assert(text[0]);
    }
}

static void feed_npy(const char *path)
{
    static double numbers[2 * ELEMENTS_MAX];
    struct npy npy;
    int fd = npy_open(path, &npy);
    if (fd < 0) {
        assert(npy.text[0]);
        return;
    }
    uint64_t count = npy.count < ELEMENTS_MAX ? npy.count : ELEMENTS_MAX;
    (void)npy_read(fd, &npy, npy.count - count, count, false, numbers);
    close(fd);
}

static void feed_peers(const char *path)
{
    static char key_path[64];
    static int key = -1;
    struct td_security security = {0};
    struct td_topology t;
    size_t position = 0;
    const char *why = NULL;
    char text[512] = "";
    if (key < 0)
        key = file_of((const uint8_t *)"0123456789abcdef", 16, key_path);
    assert(td_topology_parse(&t, "2x2", &position, &why) == TD_OK);
    /* each file once as the list and once as the secret key */
    if (!td_security_load(&security, key_path, path, &t, 1, text, sizeof text))
        assert(text[0]);
    td_security_free(&security);
    if (!td_security_load(&security, path, path, &t, 1, text, sizeof text))
        assert(text[0]);
    td_security_free(&security);
}

/* write_wisdom writes a file of these bytes, or, if the first one is odd, one whose header and hash
 * are those of this machine. Without them nothing else would be read. */
static void write_wisdom(int fd, const uint8_t *data, size_t size)
{
    static char *text;
    bool whole = size > 0 && data[0] % 2;
    char hash[32];
    struct iovec part[3] = {{.iov_base = (void *)(uintptr_t)data, .iov_len = size}};
    size_t parts = 1, all = size;
    if (!text && !(text = td_wisdom_compose()))
        abort();
    if (whole) {
        char *body = strndup((const char *)data + 1, size - 1);
        assert(body);
        int length = snprintf(hash, sizeof hash, "hash %016llx\n",
                              (unsigned long long)td_hash_bytes(body, strlen(body)));
        part[0] = (struct iovec){text, (size_t)(strstr(text, "\nhash ") + 1 - text)};
        part[1] = (struct iovec){hash, (size_t)length};
        part[2] = (struct iovec){(void *)(uintptr_t)(data + 1), size - 1};
        parts = 3;
        all = part[0].iov_len + part[1].iov_len + part[2].iov_len;
        free(body);
    }
    ssize_t written = writev(fd, part, (int)parts);
    assert(written == (ssize_t)all);
}

static void feed_wisdom(const uint8_t *data, size_t size)
{
    static char directory[] = "/dev/shm/fuzz.XXXXXX";
    static bool made;
    char path[64], why[512] = "";
    if (!made && !mkdtemp(directory))
        abort();
    made = true;
    snprintf(path, sizeof path, "%s/wisdom", directory);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert(fd >= 0);
    write_wisdom(fd, data, size);
    close(fd);
    if (!td_wisdom_load(directory, why, sizeof why))
        assert(why[0]);
    unlink(path);
    rmdir(directory);
    memcpy(directory + sizeof directory - 7, "XXXXXX", 6);
    made = false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    if (size == 0)
        return 0;
    unsigned which = data[0] % 4;
    data++;
    size--;
    if (which == 3) {
        feed_wisdom(data, size);
        return 0;
    }
    int fd = file_of(data, size, path);
    if (which == 0)
        feed_config(path);
    else if (which == 1)
        feed_npy(path);
    else
        feed_peers(path);
    close(fd);
    return 0;
}
