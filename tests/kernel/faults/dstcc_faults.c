// SPDX-License-Identifier: GPL-2.0
/*
 * Makes the mistake that its parameter names, so that a test sees whether the debug kernel notices. Loading it always
 * fails with ENODEV after that: there is nothing to unload.
 */
#include <linux/errno.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>

static char *fault = "none";
module_param(fault, charp, 0);
MODULE_PARM_DESC(fault, "which mistake to make: none, freed, beyond, leak, locks, shift");

static DEFINE_MUTEX(one);
static DEFINE_MUTEX(other);

static void use_freed(void)
{
	int *number = kmalloc(sizeof(*number), GFP_KERNEL);

	kfree(number);
	WRITE_ONCE(*number, 1);
}

static void use_beyond(void)
{
	char *bytes = kmalloc(16, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(bytes);
	WRITE_ONCE(bytes[16], 1);
	kfree(bytes);
}

static void leak(void)
{
	for (int i = 0; i < 10; i++) {
		char *bytes = kmalloc(1000, GFP_KERNEL);

		OPTIMIZER_HIDE_VAR(bytes);
	}
}

static void lock_both_ways(void)
{
	mutex_lock(&one);
	mutex_lock(&other);
	mutex_unlock(&other);
	mutex_unlock(&one);

	mutex_lock(&other);
	mutex_lock(&one);
	mutex_unlock(&one);
	mutex_unlock(&other);
}

static void shift_too_far(void)
{
	int width = 40;

	OPTIMIZER_HIDE_VAR(width);
	pr_info("dstcc_faults: %d\n", 1 << width);
}

static int __init faults_init(void)
{
	if (!strcmp(fault, "freed"))
		use_freed();
	else if (!strcmp(fault, "beyond"))
		use_beyond();
	else if (!strcmp(fault, "leak"))
		leak();
	else if (!strcmp(fault, "locks"))
		lock_both_ways();
	else if (!strcmp(fault, "shift"))
		shift_too_far();
	return -ENODEV;
}

module_init(faults_init);
MODULE_DESCRIPTION("Mistakes for a kernel that looks for them");
MODULE_LICENSE("GPL");
