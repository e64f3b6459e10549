/* SPDX-License-Identifier: GPL-2.0 */
/* The host's system calls, made by code in the guest's kernel as the kernel itself makes them. */
#ifndef DSTCC_HOST_CALLS_H
#define DSTCC_HOST_CALLS_H

/* arch/x86/entry/syscalls/syscall_64.tbl: ARCH=um has numbers of its own names only for the guest's calls. */
enum {
	H_READ = 0, H_WRITE = 1, H_OPEN = 2, H_CLOSE = 3, H_MMAP = 9, H_PWRITE = 18, H_SHMGET = 29, H_DUP = 32,
	H_NANOSLEEP = 35, H_SOCKET = 41, H_CONNECT = 42, H_CLONE = 56, H_EXECVE = 59, H_EXIT = 60, H_WAIT4 = 61, H_KILL = 62,
	H_FCNTL = 72, H_FTRUNCATE = 77, H_MKDIR = 83, H_UNLINK = 87, H_SYMLINK = 88, H_CHMOD = 90, H_PTRACE = 101,
	H_SETSID = 112, H_MKNOD = 133, H_MOUNT = 165, H_INOTIFY_INIT = 253, H_UNSHARE = 272, H_PRLIMIT = 302,
	H_VM_READV = 310, H_MOUNT_SETATTR = 442,
};

#define H_PRIVATE 0x22 /* MAP_PRIVATE | MAP_ANONYMOUS */

static long call(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 asm("r10") = d;
	register long r8 asm("r8") = e;
	register long r9 asm("r9") = f;
	long result;

	asm volatile("syscall"
		     : "=a"(result)
		     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
		     : "rcx", "r11", "memory");
	return result;
}

#define CALL(nr, a, b, c) call(nr, (long)(a), (long)(b), (long)(c), 0, 0, 0)

/*
 * A process of its own on a stack of its own: the guest's memory, its kernel's stacks in it, is one file that both have
 * mapped.
 */
static inline long spawn(void (*body)(void))
{
	long stack = call(H_MMAP, 0, 65536, 3, H_PRIVATE, -1, 0), result;

	if (stack < 0)
		return stack;
	asm volatile("syscall\n\ttest %%rax, %%rax\n\tjnz 1f\n\txor %%ebp, %%ebp\n\tcall *%[body]\n\tud2\n1:"
		     : "=a"(result)
		     : "a"((long)H_CLONE), "D"(17L), "S"(stack + 65536 - 64), "d"(0L), [body] "r"(body)
		     : "rcx", "r11", "r10", "r8", "memory");
	return result;
}

#endif
