/* SPDX-License-Identifier: Apache-2.0 */
#include "torusctl.h"

static const struct tool_command *const commands[] = {
    &ctl_command_status, &ctl_command_ops,    &ctl_command_stragglers, &ctl_command_why,
    &ctl_command_jobs,   &ctl_command_groups, &ctl_command_cancel,     &ctl_command_trace,
    &ctl_command_doctor, &ctl_command_ping,   &ctl_command_topology,   &ctl_command_links,
    &ctl_command_config, &ctl_command_reload, &ctl_command_run,        &ctl_command_emulate,
    &ctl_command_queues, &ctl_command_plans,  &ctl_command_bench,      &ctl_command_keygen,
};

/* until the next release */
static const struct tool_moved moved[] = {
    {"explain", "torus-plan"},        {"fft", "torus-array fft"},
    {"redist", "torus-array redist"}, {"compare", "torus-array compare"},
    {"filter", "torus-array filter"}, {"picture", "torus-array picture"}};

int main(int argc, char **argv)
{
    static const struct tool tool = {.name = "torusctl",
                                     .command = commands,
                                     .commands = sizeof commands / sizeof commands[0],
                                     .moved = moved,
                                     .moves = sizeof moved / sizeof moved[0],
                                     .package = "torus-tools"};
    return tool_main(&tool, argc, argv);
}
