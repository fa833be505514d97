/* SPDX-License-Identifier: Apache-2.0 */
/* torus-array: arrays in .npy files, transformed and moved by the ranks of a job. */
#include "torus_array.h"

static const struct tool_command *const commands[] = {
    &array_command_fft,    &array_command_redist,  &array_command_compare,
    &array_command_filter, &array_command_picture,
};

int main(int argc, char **argv)
{
    static const struct tool tool = {.name = "torus-array",
                                     .command = commands,
                                     .commands = sizeof commands / sizeof commands[0]};
    return tool_main(&tool, argc, argv);
}
