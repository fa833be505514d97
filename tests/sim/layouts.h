/* SPDX-License-Identifier: Apache-2.0 */
/* layouts: random layouts of arrays, and the elements that a rank has by them. */
#ifndef TD_TESTS_SIM_LAYOUTS_H
#define TD_TESTS_SIM_LAYOUTS_H

#include "model/layout.h"

enum { LAYOUT_TEXT = 1500 };

/* layouts_draw returns a random number below `below`: the next one from the seed. */
void layouts_seed(uint64_t seed);
uint64_t layouts_draw(uint64_t below);
/* layouts_some writes a random layout of an array over some of `ranks` ranks. */
void layouts_some(char *text, uint32_t dimensions, const uint64_t *size, uint32_t ranks);
/* layouts_most returns the greatest number of elements of a rank. */
uint64_t layouts_most(const struct td_layout *layout);

/* struct layouts_element: visits the elements of a rank. */
struct layouts_element {
    bool valid;
    uint64_t index[TD_DIMENSIONS_MAX]; /* in the whole array */
    uint64_t place;                    /* in the rank's array */
    const struct td_layout *layout;
    uint32_t owner;
    uint64_t number, elements, count[TD_DIMENSIONS_MAX], stride[TD_DIMENSIONS_MAX];
};
void layouts_first(struct layouts_element *e, const struct td_layout *layout, uint32_t rank);
void layouts_next(struct layouts_element *e);

#endif
