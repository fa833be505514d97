/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl: its commands. The file of a command defines ctl_command_NAME; torusctl.c has the table.
 */
#ifndef TORUSCTL_H
#define TORUSCTL_H

#include "tool/tool.h"

extern const struct tool_command ctl_command_status, ctl_command_ops, ctl_command_stragglers,
    ctl_command_why, ctl_command_trace, ctl_command_jobs, ctl_command_groups, ctl_command_topology,
    ctl_command_links, ctl_command_ping, ctl_command_doctor, ctl_command_cancel, ctl_command_config,
    ctl_command_queues, ctl_command_plans, ctl_command_emulate, ctl_command_bench,
    ctl_command_keygen, ctl_command_reload, ctl_command_run;

#endif
