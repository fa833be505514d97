/* SPDX-License-Identifier: Apache-2.0 */
/* explain: the command of torus-plan, which calls the file of the operation. */
#ifndef TORUS_PLAN_EXPLAIN_H
#define TORUS_PLAN_EXPLAIN_H

#include "tool/tool.h"

extern const struct tool_command explain_command;

#endif
