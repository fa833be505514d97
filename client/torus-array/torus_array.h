/* SPDX-License-Identifier: Apache-2.0 */
/* torus_array: the commands of torus-array. The file of a command defines array_command_NAME;
 * torus_array.c has the table. */
#ifndef TORUS_ARRAY_TORUS_ARRAY_H
#define TORUS_ARRAY_TORUS_ARRAY_H

#include "tool/tool.h"

extern const struct tool_command array_command_fft, array_command_redist, array_command_compare,
    array_command_filter, array_command_picture;

#endif
