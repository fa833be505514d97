/* SPDX-License-Identifier: Apache-2.0 */
/* torus-plan: an operation explained without running it. */
#include "explain.h"

int main(int argc, char **argv)
{
    static const struct tool_command *const commands[] = {&explain_command};
    static const struct tool tool = {.name = "torus-plan", .command = commands, .commands = 1};
    return tool_main(&tool, argc, argv);
}
