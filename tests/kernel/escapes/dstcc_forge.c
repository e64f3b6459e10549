// SPDX-License-Identifier: GPL-2.0
/*
 * Code in the guest's kernel that puts something else in the place of what the run leaves, when all has been written: as the
 * machine is switched off. "forged.h" says what: PLACE, a path from the folder that the guest boots from; PUT, one of these
 * functions; LENGTH, how long a hole; BYTES, what a file holds.
 */
#include "host_calls.h"

#include <linux/fcntl.h>
#include <linux/module.h>
#include <linux/reboot.h>

static const char passwd[] = "/etc/passwd";

#include "forged.h"

static long __maybe_unused put_file(void)
{
	long handle = CALL(H_OPEN, PLACE, O_WRONLY | O_CREAT | O_EXCL, 0644);
	long result = handle;

	for (long at = 0; result >= 0 && at < (long)sizeof(BYTES); at += result)
		result = CALL(H_WRITE, handle, BYTES + at, sizeof(BYTES) - at);
	CALL(H_CLOSE, handle, 0, 0);
	return result;
}

static long __maybe_unused put_hole(void)
{
	long handle = CALL(H_OPEN, PLACE, O_WRONLY | O_CREAT | O_EXCL, 0644);
	long result = handle < 0 ? handle : CALL(H_FTRUNCATE, handle, LENGTH, 0);

	CALL(H_CLOSE, handle, 0, 0);
	return result;
}

static long __maybe_unused put_folder(void)
{
	return CALL(H_MKDIR, PLACE, 0755, 0);
}

static long __maybe_unused put_pipe(void)
{
	return CALL(H_MKNOD, PLACE, 0010644, 0);
}

static long __maybe_unused put_link(void)
{
	return CALL(H_SYMLINK, passwd, PLACE, 0);
}

static int forge(struct notifier_block *block, unsigned long action, void *data)
{
	CALL(H_UNLINK, PLACE, 0, 0);
	pr_warn("dstcc_forge: %ld\n", (long)PUT());
	return NOTIFY_DONE;
}

static struct notifier_block last = { .notifier_call = forge };

static int __init forge_init(void)
{
	return register_reboot_notifier(&last);
}

module_init(forge_init);
MODULE_DESCRIPTION("Forgeries of what a run leaves, for a host that reads with care");
MODULE_LICENSE("GPL");
