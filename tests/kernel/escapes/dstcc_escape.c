// SPDX-License-Identifier: GPL-2.0
/*
 * Code in the guest's kernel that wants out: it makes the host's system calls as the kernel itself does, the one that its
 * parameter names. It says what came of it, and fails to load after that, as a rule: there is nothing to unload.
 */
#include "host_calls.h"

#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/module.h>
#include <linux/string.h>

static char *what = "nothing";
module_param(what, charp, 0);
MODULE_PARM_DESC(what, "which call to make");

static char *path = "";
module_param(path, charp, 0);
MODULE_PARM_DESC(path, "a path of the host");

static long number;
module_param(number, long, 0);
MODULE_PARM_DESC(number, "a process, port or key of the host, or how much");

#define H_RDONLY (1ull << 0) /* MOUNT_ATTR_RDONLY */
#define H_NEWUSER 0x10000000
#define H_ATTACH 16
#define H_FIFO 0010644
#define H_SETLK 6
#define H_FILE_SIZE 1 /* RLIMIT_FSIZE */
#define H_NORESERVE 0x4000
#define LEAST_DESCRIPTORS 16500
#define PIECES 64
#define PIECE (1L << 20)

static long spawn_and_wait(void (*body)(void))
{
	long child = spawn(body);

	return child < 0 ? child : call(H_WAIT4, child, 0, 0, 0, 0, 0);
}

/* Away from the kernel's group and session, and there for twenty seconds. */
static void stay(void)
{
	const long pause[2] = { 0, 100000000 };

	CALL(H_SETSID, 0, 0, 0);
	for (int turn = 0; turn < 200; turn++) {
		CALL(H_CLOSE, CALL(H_OPEN, path, O_WRONLY | O_CREAT, 0644), 0, 0);
		CALL(H_NANOSLEEP, pause, 0, 0);
	}
	CALL(H_EXIT, 0, 0, 0);
}

static void become_shell(void)
{
	static const char name[] = "/bin/sh", flag[] = "-c";
	const char *const words[] = { name, flag, path, NULL };

	CALL(H_EXECVE, name, words, 0);
	CALL(H_EXIT, 1, 0, 0);
}

static long connect_to(long family, const void *address, long bytes)
{
	long handle = CALL(H_SOCKET, family, 1, 0);
	long result;

	if (handle < 0)
		return handle;
	result = CALL(H_CONNECT, handle, address, bytes);
	if (result == 0)
		CALL(H_WRITE, handle, "out", 3);
	CALL(H_CLOSE, handle, 0, 0);
	return result;
}

static long connect_tcp(void)
{
	unsigned char address[16] = { 2, 0, number >> 8, number & 255, 127, 0, 0, 1 };

	return connect_to(2, address, sizeof(address));
}

/* `first` is 0 for an abstract name, which begins with that byte. */
static long connect_unix(int abstract)
{
	char address[110] = { 1, 0 };
	long bytes = 2 + abstract + strscpy(address + 2 + abstract, path, sizeof(address) - 3);

	return connect_to(1, address, abstract ? bytes : bytes + 1);
}

static long write_to(long flags)
{
	long handle = CALL(H_OPEN, path, O_WRONLY | flags, 0644);

	if (handle < 0)
		return handle;
	CALL(H_WRITE, handle, "out", 3);
	return CALL(H_CLOSE, handle, 0, 0);
}

static long read_from(void)
{
	static char text[64];
	long handle = CALL(H_OPEN, path, O_RDONLY, 0);
	long got;

	if (handle < 0)
		return handle;
	got = CALL(H_READ, handle, text, sizeof(text) - 1);
	CALL(H_CLOSE, handle, 0, 0);
	return got;
}

static long remount(void)
{
	const u64 attributes[4] = { 0, H_RDONLY, 0, 0 };

	call(H_MOUNT_SETATTR, -100, (long)"/", 0, (long)attributes, sizeof(attributes), 0);
	call(H_MOUNT_SETATTR, -100, (long)"/tmp", 0, (long)attributes, sizeof(attributes), 0); /* where it is one */
	return write_to(O_CREAT);
}

/* A lock that nobody else can write beside, of a file that can only be read. */
static long lock(void)
{
	const struct { short type, whence; long start, length; int pid; } whole = { 0 /* F_RDLCK */ };
	long handle = CALL(H_OPEN, path, O_RDONLY, 0);

	return handle < 0 ? handle : CALL(H_FCNTL, handle, H_SETLK, &whole);
}

static long limit_another(void)
{
	const unsigned long none[2] = { 0, 0 };

	return call(H_PRLIMIT, number, H_FILE_SIZE, (long)none, 0, 0, 0);
}

static long peek(void)
{
	static char text[8];
	const long here[2] = { (long)text, sizeof(text) }, there[2] = { 0x400000, sizeof(text) };
	long got = call(H_VM_READV, number, (long)here, 1, (long)there, 1, 0);

	return got == -EFAULT ? 0 : got; /* it looked, and nothing is there */
}

static long chmod_new(void)
{
	write_to(O_CREAT);
	return CALL(H_CHMOD, path, 04755, 0);
}

static long write_far(void)
{
	long handle = CALL(H_OPEN, path, O_WRONLY | O_CREAT, 0644);

	return handle < 0 ? handle : call(H_PWRITE, handle, (long)"out", 3, number, 0, 0);
}

/* Many files, each no larger than files may be. */
static long fill(void)
{
	static char data[1 << 16];
	char name[128];

	for (int i = 0; i < PIECES; i++) {
		long handle;

		snprintf(name, sizeof(name), "%s/piece%d", path, i);
		handle = CALL(H_OPEN, name, O_WRONLY | O_CREAT, 0644);
		for (long at = 0; handle >= 0 && at < PIECE; at += sizeof(data))
			call(H_PWRITE, handle, (long)data, sizeof(data), at, 0, 0);
		CALL(H_CLOSE, handle, 0, 0);
	}
	return 0;
}

static long dup_many(void)
{
	long handle = 0;

	while (handle >= 0 && handle < LEAST_DESCRIPTORS)
		handle = CALL(H_DUP, 1, 0, 0);
	return handle < 0 ? handle : 0;
}

static void wait_a_while(void)
{
	const long pause[2] = { 20, 0 };

	CALL(H_NANOSLEEP, pause, 0, 0);
	CALL(H_EXIT, 0, 0, 0);
}

static long fork_many(void)
{
	long child = 0;

	for (long made = 0; child >= 0 && made < number; made++)
		child = spawn(wait_a_while);
	return child < 0 ? child : 0;
}

static long attempt(void)
{
	if (!strcmp(what, "kill"))
		return CALL(H_KILL, number, 9, 0);
	if (!strcmp(what, "tcp"))
		return connect_tcp();
	if (!strcmp(what, "unix"))
		return connect_unix(0);
	if (!strcmp(what, "abstract"))
		return connect_unix(1);
	if (!strcmp(what, "stay"))
		return spawn(stay);
	if (!strcmp(what, "create"))
		return write_to(O_CREAT);
	if (!strcmp(what, "overwrite"))
		return write_to(O_TRUNC);
	if (!strcmp(what, "remove"))
		return CALL(H_UNLINK, path, 0, 0);
	if (!strcmp(what, "execute"))
		return spawn_and_wait(become_shell);
	if (!strcmp(what, "remount"))
		return remount();
	if (!strcmp(what, "unshare"))
		return CALL(H_UNSHARE, H_NEWUSER, 0, 0);
	if (!strcmp(what, "trace"))
		return call(H_PTRACE, H_ATTACH, number, 0, 0, 0, 0);
	if (!strcmp(what, "lock"))
		return lock();
	if (!strcmp(what, "limits"))
		return limit_another();
	if (!strcmp(what, "peek"))
		return peek();
	if (!strcmp(what, "read"))
		return read_from();
	if (!strcmp(what, "setuid"))
		return chmod_new();
	if (!strcmp(what, "fifo"))
		return CALL(H_MKNOD, path, H_FIFO, 0);
	if (!strcmp(what, "symlink"))
		return CALL(H_SYMLINK, "/etc/passwd", path, 0);
	if (!strcmp(what, "far"))
		return write_far();
	if (!strcmp(what, "fill"))
		return fill();
	if (!strcmp(what, "memory"))
		return call(H_MMAP, 0, number, 3, H_PRIVATE | H_NORESERVE, -1, 0);
	if (!strcmp(what, "forks"))
		return fork_many();
	if (!strcmp(what, "descriptors"))
		return dup_many();
	if (!strcmp(what, "inotify"))
		return CALL(H_INOTIFY_INIT, 0, 0, 0);
	if (!strcmp(what, "shared"))
		return CALL(H_SHMGET, number, 0, 0);
	return -EINVAL;
}

static int __init escape_init(void)
{
	long result = attempt();

	pr_warn("dstcc_escape: %s: %s %ld\n", what, result < 0 ? "refused" : "DONE", result);
	/* a process that stays runs this module's code, in memory that is the guest's */
	return strcmp(what, "stay") ? -ENODEV : 0;
}

module_init(escape_init);
MODULE_DESCRIPTION("Calls to the host, for a guest that holds");
MODULE_LICENSE("GPL");
