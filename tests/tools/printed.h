/* SPDX-License-Identifier: Apache-2.0 */
/* printed: what a function prints to the standard output. */
#ifndef TD_TESTS_TOOLS_PRINTED_H
#define TD_TESTS_TOOLS_PRINTED_H

/* printed_begin begins to catch what is printed. printed_end returns it; it is valid until the next
 * call. */
void printed_begin(void);
const char *printed_end(void);

#endif
