/* SPDX-License-Identifier: Apache-2.0 */
#include "npy.h"
#include "system/limits.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER_MAX = 65536, HEADER_WRITTEN = NPY_TYPE_MAX + 512, PIECE = 65536 };

static bool fail(struct npy *n, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool fail(struct npy *n, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(n->text, sizeof n->text, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- header ---- */

/* after returns the position after a string or a single character. */
static const char *after(const char *p)
{
    const char *end = *p == '\'' || *p == '"' ? strchr(p + 1, *p) : p;
    return end ? end + 1 : p + strlen(p);
}

/* value returns the position after 'key': in the dictionary of the header, skipping nested values.
 */
static const char *value(const char *header, const char *key)
{
    size_t length = strlen(key);
    int depth = 0;
    for (const char *p = header, *next; *p; p = next) {
        next = after(p);
        depth += *p == '{' || *p == '[' || *p == '(';
        depth -= *p == '}' || *p == ']' || *p == ')';
        const char *colon = next + strspn(next, " ");
        if (depth == 1 && next - p == (ptrdiff_t)length + 2 && *colon == ':' &&
            memcmp(p + 1, key, length) == 0)
            return colon + 1 + strspn(colon + 1, " ");
    }
    return NULL;
}

/* keep_type stores the text of the type, up to the next key. */
static bool keep_type(struct npy *n, const char *at)
{
    int depth = 0;
    const char *end = at;
    while (*end && depth >= 0 && (depth || *end != ',')) {
        depth += *end == '[' || *end == '(';
        depth -= *end == ']' || *end == ')' || *end == '}';
        end = depth < 0 ? end : after(end);
    }
    if (end - at >= (ptrdiff_t)sizeof n->type)
        return fail(n, "the element type is too long");
    memcpy(n->type, at, (size_t)(end - at));
    n->type[end - at] = '\0';
    return true;
}

/* scalar_bytes reads a type such as '<f8' and returns its size; 0 with the sentence on an error. */
static size_t scalar_bytes(struct npy *n, const char *at)
{
    char order = 0, kind = 0;
    unsigned item = 0;
    if (*at == '[')
        fail(n, "the elements have nested fields (fields in fields)");
    else if (sscanf(at, "'%c%c%u", &order, &kind, &item) < 2 || !strchr("<>|=", order))
        fail(n, "the element type cannot be read");
    else if (kind == 'O')
        fail(n, "the elements are Python objects, which cannot be moved");
    else if (!strchr("biufcSaUVmM", kind) || item == 0 || item > 1 << 30)
        fail(n, "unknown element type %c%u", kind, item);
    else
        return kind == 'U' ? 4 * (size_t)item : item;
    return 0;
}

/* field_bytes reads ('name', '<f8') or ('name', '<f8', (3,)) and returns its size; it moves *at
 * past the field. */
static size_t field_bytes(struct npy *n, const char **at)
{
    const char *p = *at;
    if (*p == '(')
        p += 1 + strspn(p + 1, " ");
    if (p == *at || (*p != '\'' && *p != '"')) {
        fail(n, "the fields of the elements cannot be read");
        return 0;
    }
    p = after(p);
    p += strspn(p, " ,");
    size_t bytes = scalar_bytes(n, p);
    if (bytes == 0)
        return 0;
    p = after(p);
    p += strspn(p, " ,(");
    for (; *p >= '0' && *p <= '9' && bytes; p += strspn(p, " ,")) {
        char *end = NULL;
        unsigned long long times = strtoull(p, &end, 10);
        bytes = times > 0 && times <= ((size_t)1 << 30) / bytes ? bytes * times : 0;
        p = end;
    }
    *at = p + strspn(p, " ,)");
    if (bytes == 0)
        fail(n, "a field of the elements has an invalid size");
    return bytes;
}

/* read_size reads the size of opaque elements. */
static bool read_size(struct npy *n)
{
    const char *p = n->type;
    n->kind = 'V';
    n->swapped = false;
    if (*p != '[')
        return (n->item = scalar_bytes(n, p)) > 0;
    n->item = 0;
    for (p += 1 + strspn(p + 1, " "); *p != ']';) {
        size_t bytes = field_bytes(n, &p);
        if (bytes == 0)
            return false;
        n->item += bytes;
    }
    return n->item > 0 || fail(n, "the elements have no bytes");
}

/* read_number reads the type of elements that are numbers. */
static bool read_number(struct npy *n)
{
    static const struct {
        char kind;
        size_t item;
    } known[] = {{'i', 1}, {'i', 2}, {'i', 4}, {'i', 8}, {'u', 1},  {'u', 2}, {'u', 4},
                 {'u', 8}, {'f', 4}, {'f', 8}, {'c', 8}, {'c', 16}, {'b', 1}};
    char order = 0, kind = 0;
    unsigned item = 0;
    if (sscanf(n->type, "'%c%c%u'", &order, &kind, &item) != 3 || !strchr("<>|=", order))
        return fail(n, "the element type is not one number");
    n->kind = kind;
    n->item = item;
    n->swapped = order == '>' && item > 1;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].kind == kind && known[i].item == item)
            return true;
    return fail(n,
                "elements of type %c%u are not supported: expected integers, float32, float64, "
                "complex64 or complex128",
                kind, item);
}

static bool read_type(struct npy *n, const char *at, bool numbers)
{
    if (!at)
        return fail(n, "the header has no element type");
    return keep_type(n, at) && (numbers ? read_number(n) : read_size(n));
}

static bool read_shape(struct npy *n, const char *at)
{
    n->count = 1;
    if (!at || *at++ != '(')
        return fail(n, "the header has no shape");
    while (*at && *at != ')') {
        char *end = NULL;
        errno = 0;
        unsigned long long size = strtoull(at, &end, 10);
        if (at[0] < '0' || at[0] > '9' || errno || n->axes == 6)
            return fail(n, "the shape cannot be read, or has more than 6 axes");
        if (size && n->count > (uint64_t)INT64_MAX / n->item / size)
            return fail(n, "the shape overflows");
        n->shape[n->axes++] = size;
        n->count *= size;
        at = end + strspn(end, " ,L"); /* 3L: written by Python 2 */
    }
    if (*at != ')')
        return fail(n, "the shape has no closing parenthesis");
    for (int d = 0; d < n->axes; d++)
        n->size[d] = n->shape[n->fortran ? n->axes - 1 - d : d];
    return true;
}

static bool read_header(int fd, struct npy *n, bool numbers)
{
    unsigned char start[12];
    if (pread(fd, start, sizeof start, 0) != (ssize_t)sizeof start ||
        memcmp(start, "\x93NUMPY", 6) != 0)
        return fail(n, "not a .npy file");
    size_t before = start[6] == 1 ? 10 : 12;
    size_t length = start[8] | (size_t)start[9] << 8;
    if (start[6] > 1)
        length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    if (start[6] < 1 || start[6] > 3 || length > HEADER_MAX)
        return fail(n, "version %d of the format is not supported", start[6]);
    char *header = malloc(length + 1);
    if (!header || pread(fd, header, length, (off_t)before) != (ssize_t)length) {
        free(header);
        return fail(n, "the header is truncated");
    }
    header[length] = '\0';
    n->data = before + length;
    n->version = start[6];
    const char *order = value(header, "fortran_order");
    n->fortran = order && strncmp(order, "True", 4) == 0;
    bool known = n->fortran || (order && strncmp(order, "False", 5) == 0);
    bool good = read_type(n, value(header, "descr"), numbers) &&
                read_shape(n, value(header, "shape")) &&
                (known || fail(n, "the header has no memory order (fortran_order)"));
    free(header);
    off_t size = lseek(fd, 0, SEEK_END);
    if (good && (uint64_t)size < n->data + n->count * n->item)
        return fail(n, "the file has %lld bytes, but its shape needs %llu", (long long)size,
                    (unsigned long long)(n->data + n->count * n->item));
    return good;
}

static int open_file(const char *path, struct npy *n, bool numbers)
{
    char why[200];
    memset(n, 0, sizeof *n);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        fail(n, "%s: %s", path, strerror(errno));
        return -1;
    }
    struct stat st;
    bool folder = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
    if (folder ? fail(n, "this is a directory") : read_header(fd, n, numbers))
        return fd;
    snprintf(why, sizeof why, "%.190s", n->text);
    fail(n, "%.255s: %s", path, why);
    close(fd);
    return -1;
}

int npy_open(const char *path, struct npy *n)
{
    return open_file(path, n, true);
}

int npy_open_any(const char *path, struct npy *n)
{
    return open_file(path, n, false);
}

/* ---- elements ---- */

bool npy_is_single(const struct npy *n)
{
    return (n->kind == 'f' && n->item == 4) || (n->kind == 'c' && n->item == 8);
}

/* number reads one real number of `item` bytes. */
static double number(const struct npy *n, const unsigned char *at, size_t item)
{
    unsigned char b[8] = {0};
    assert(item > 0);
    for (size_t i = 0; i < item; i++)
        b[i] = n->swapped ? at[item - 1 - i] : at[i];
    float f = 0;
    double d = 0;
    uint64_t bits = 0;
    memcpy(&bits, b, item);
    switch (n->kind) {
    case 'f':
    case 'c':
        memcpy(&f, b, sizeof f);
        memcpy(&d, b, item == 8 ? sizeof d : 0);
        return item == 4 ? (double)f : d;
    case 'i':
        if (item < 8 && bits >> (8 * item - 1))
            bits |= ~(uint64_t)0 << (8 * item);
        return (double)(int64_t)bits;
    default:
        return (double)bits;
    }
}

size_t npy_form_bytes(struct npy_form form)
{
    return (form.single ? 4u : 8u) * (form.real ? 1 : 2);
}

void npy_decode(const struct npy *n, const void *elements, uint64_t count, struct npy_form form,
                void *out)
{
    size_t part = n->kind == 'c' ? n->item / 2 : n->item, numbers = form.real ? 1 : 2;
    const unsigned char *in = elements;
    for (uint64_t i = 0; i < count; i++)
        for (size_t k = 0; k < numbers; k++) {
            bool there = k == 0 || n->kind == 'c';
            double x = there ? number(n, in + i * n->item + k * part, part) : 0;
            if (form.single)
                ((float *)out)[numbers * i + k] = (float)x;
            else
                ((double *)out)[numbers * i + k] = x;
        }
}

void npy_encode(const struct npy *n, const void *numbers, uint64_t count, struct npy_form form,
                void *elements)
{
    size_t bytes = npy_form_bytes(form);
    const unsigned char *from = numbers;
    unsigned char *to = elements;
    if (bytes == n->item)
        memcpy(to, from, count * bytes);
    for (uint64_t i = 0; i < count && bytes != n->item; i++)
        memcpy(to + i * n->item, from + i * bytes, n->item);
}

bool npy_read(int fd, struct npy *n, uint64_t first, uint64_t count, bool single, void *out)
{
    unsigned char piece[PIECE];
    const struct npy_form form = {.single = single};
    uint64_t most = PIECE / n->item;
    for (uint64_t done = 0; done < count;) {
        uint64_t now = count - done < most ? count - done : most;
        ssize_t got = pread(fd, piece, now * n->item, (off_t)(n->data + (first + done) * n->item));
        if (got < (ssize_t)n->item)
            return fail(n, "reading: %s", got < 0 ? strerror(errno) : "the file is truncated");
        now = (uint64_t)got / n->item;
        npy_decode(n, piece, now, form, (unsigned char *)out + done * npy_form_bytes(form));
        done += now;
    }
    return true;
}

void npy_become(struct npy *n, struct npy_form form)
{
    n->kind = form.real ? 'f' : 'c';
    n->item = npy_form_bytes(form);
    n->swapped = false;
    snprintf(n->type, sizeof n->type, "'<%c%zu'", n->kind, n->item);
}

int npy_create(const char *path, struct npy *n)
{
    char header[HEADER_WRITTEN], shape[200] = "", why[TD_LIMIT_TEXT];
    for (int d = 0; d < n->axes; d++)
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%llu,%s",
                 (unsigned long long)n->shape[d], d + 1 < n->axes ? " " : "");
    if (n->axes > 1)
        shape[strlen(shape) - 1] = '\0';
    size_t before = n->version == 3 ? 12 : 10; /* version 3: names of fields are UTF-8 */
    int length = snprintf(header + before, sizeof header - before,
                          "{'descr': %s, 'fortran_order': %s, 'shape': (%s), }", n->type,
                          n->fortran ? "True" : "False", shape);
    size_t total = before + (size_t)length + 1;
    size_t padded = (total + 63) / 64 * 64;
    memset(header + total - 1, ' ', padded - total);
    header[padded - 1] = '\n';
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    memset(header + 8, 0, before - 8);
    header[6] = before == 12 ? 3 : 1;
    header[8] = (char)((padded - before) & 0xff);
    header[9] = (char)((padded - before) >> 8);
    n->data = padded;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd >= 0 && n->count > (uint64_t)INT64_MAX / 2 / n->item)
        errno = EFBIG;
    else if (fd >= 0 && pwrite(fd, header, padded, 0) == (ssize_t)padded &&
             ftruncate(fd, (off_t)(padded + n->count * n->item)) == 0)
        return fd;
    fail(n, "%.200s: %s", path, td_limit_why(errno, why, sizeof why));
    if (fd >= 0) {
        close(fd);
        unlink(path);
    }
    return -1;
}

bool npy_write(int fd, struct npy *n, uint64_t first, uint64_t count, bool single, const void *in)
{
    char why[TD_LIMIT_TEXT];
    unsigned char piece[PIECE];
    const struct npy_form form = {.single = single};
    uint64_t most = PIECE / n->item;
    for (uint64_t done = 0; done < count;) {
        uint64_t now = count - done < most ? count - done : most;
        npy_encode(n, (const unsigned char *)in + done * npy_form_bytes(form), now, form, piece);
        ssize_t put = pwrite(fd, piece, now * n->item, (off_t)(n->data + (first + done) * n->item));
        if (put < (ssize_t)n->item) /* write a partial element again */
            return fail(n, "writing: %s",
                        put < 0 ? td_limit_why(errno, why, sizeof why) : "the disk is full");
        done += (uint64_t)put / n->item;
    }
    return true;
}

double *npy_load(const char *path, struct npy *n)
{
    int fd = npy_open(path, n);
    if (fd < 0)
        return NULL;
    double *out = malloc((n->count ? n->count : 1) * 2 * sizeof *out);
    if (!out)
        fail(n, "%.100s: %s", path, td_limit_no_memory("the elements"));
    else if (!npy_read(fd, n, 0, n->count, false, out)) {
        free(out);
        out = NULL;
    }
    close(fd);
    return out;
}
