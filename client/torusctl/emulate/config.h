/* SPDX-License-Identifier: Apache-2.0 */
/* config: the folder of an emulation, and the configuration of each daemon in it: sK is the socket
 * of node K, cK its configuration, lK its log, pK its endpoint. */
#ifndef TORUSCTL_EMULATE_CONFIG_H
#define TORUSCTL_EMULATE_CONFIG_H

#include "emulation.h"

/* config_make_folder creates the folder and names the job after it. It returns false with errno. */
bool config_make_folder(struct emulation *e);
/* config_choose_ports finds consecutive unused ports, two per node, below the kernel's ephemeral
 * ports. It returns false with errno. */
bool config_choose_ports(struct emulation *e);
/* config_write_all returns false with errno. */
bool config_write_all(const struct emulation *e);

#endif
