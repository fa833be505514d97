/* SPDX-License-Identifier: Apache-2.0 */
/* npy: NumPy's array files, versions 1 to 3, of up to 6 axes; integers, floats and complex numbers
 * in either byte order, or elements of any kind that are not looked into. Arrays are seen in the
 * order of the file: a Fortran-order file is the C-order array of the axes in reverse. */
#ifndef TORUSCTL_NPY_H
#define TORUSCTL_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NPY_TYPE_MAX = 1024 };

struct npy {
    int version;
    char type[NPY_TYPE_MAX]; /* as written in the file: '<f8' */
    char kind;               /* i u f c b; V: not looked at */
    size_t item;             /* bytes of an element */
    bool swapped;            /* not this machine's byte order */
    bool fortran;
    int axes;
    uint64_t shape[6]; /* as written in the file */
    uint64_t size[6];  /* in the order of the file: reversed for Fortran order */
    uint64_t count;
    size_t data;    /* where the elements begin */
    char text[512]; /* the sentence of the last error */
};

/* struct npy_form: numbers as they are computed with. */
struct npy_form {
    bool real, single;
};

/* npy_open reads the header; returns a descriptor, or -1 with the sentence in npy->text.
 * npy_open_any takes elements that are no numbers too: records, strings, dates. */
int npy_open(const char *path, struct npy *npy);
int npy_open_any(const char *path, struct npy *npy);
/* npy_read reads elements [first, first + count) as complex numbers (float or double). False with a
 * sentence. */
bool npy_read(int fd, struct npy *npy, uint64_t first, uint64_t count, bool single, void *out);
/* npy_take makes numbers of such a form of `count` elements; of complex ones to be real, the real
 * part. npy_give makes elements of complex or real numbers as wide as the file's; in a file of real
 * ones complex numbers leave their real part. */
void npy_take(const struct npy *npy, const void *elements, uint64_t count, struct npy_form form,
              void *out);
void npy_give(const struct npy *npy, const void *numbers, uint64_t count, struct npy_form form,
              void *elements);
size_t npy_form_bytes(struct npy_form form);
/* npy_become makes it one of such numbers, to be created. */
void npy_become(struct npy *npy, struct npy_form form);
/* npy_create makes a file of such elements and shape and writes its header. */
int npy_create(const char *path, struct npy *npy);
/* npy_write writes complex numbers as elements [first, ...) of the file. */
bool npy_write(int fd, struct npy *npy, uint64_t first, uint64_t count, bool single,
               const void *in);
/* npy_is_single: float32 and complex64 stay single. */
bool npy_is_single(const struct npy *npy);
/* npy_load reads the whole file as complex doubles, to be freed by the caller; NULL with a
 * sentence. */
double *npy_load(const char *path, struct npy *npy);

#endif
