// SPDX-License-Identifier: GPL-2.0
/*
 * Code in the guest's kernel that makes processes of the host which leave its group and session and never end, and then
 * keeps the kernel's own processor busy for good.
 */
#include "host_calls.h"

#include <linux/module.h>

#define HERMITS 3800 /* nearly all that there may be: the guest's own processes need some */

static void hermit(void)
{
	const long pause[2] = { 1000, 0 };

	CALL(H_SETSID, 0, 0, 0);
	for (;;)
		CALL(H_NANOSLEEP, pause, 0, 0);
}

static int __init hermits_init(void)
{
	for (int made = 0; made < HERMITS && spawn(hermit) > 0; made++)
		;
	for (;;)
		cpu_relax();
	return 0;
}

module_init(hermits_init);
MODULE_DESCRIPTION("Processes of the host that stay, for a run that ends");
MODULE_LICENSE("GPL");
