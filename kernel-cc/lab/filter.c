// SPDX-License-Identifier: GPL-2.0
/*
 * The host's system calls that the virtual-time kernel keeps, and with it the processes of the guest, which it makes:
 * preloaded with host.c, this gives up all others before the kernel's first line runs. Code in the guest's kernel (a module
 * is one) makes calls of the host as the kernel does; there is no socket among them, no program to run, no mount, no other
 * namespace, no other process to trace.
 *
 * A program of the guest reaches none of them: the kernel stops each of its calls before the host looks at it (SYSEMU).
 *
 * A call that is not here fails with EPERM. The list is what User-Mode Linux 6.1 and 6.12 import and call
 * (nm -D linux; strace), on x86-64, where alone they run.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#define CANNOT_START 127 /* as a shell says it */

static const uint16_t kept[] = {
	/* memory: the guest's, a file in the run's folder, mapped into the kernel and each of the guest's processes */
	SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise, SYS_brk,
	/* the guest's processes, made by clone() below; all that are there are its own */
	SYS_wait4, SYS_kill, SYS_tkill, SYS_tgkill, SYS_getpid, SYS_getppid, SYS_gettid, SYS_getpgrp, SYS_setsid,
	SYS_exit, SYS_exit_group,
	/* interrupts: signals and their stacks */
	SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigsuspend, SYS_sigaltstack, SYS_pause,
	SYS_restart_syscall,
	/* the clock, and waiting: real time, which virtual time does without but for its first moments */
	SYS_clock_gettime, SYS_clock_getres, SYS_gettimeofday, SYS_nanosleep, SYS_clock_nanosleep, SYS_timer_create,
	SYS_timer_settime, SYS_timer_gettime, SYS_timer_getoverrun, SYS_timer_delete,
	/* file descriptors: consoles, and files of hostfs */
	SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_lseek, SYS_close, SYS_dup, SYS_dup2,
	SYS_poll, SYS_epoll_create, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_wait, SYS_epoll_pwait,
	/* hostfs: to look */
	SYS_access, SYS_faccessat, SYS_stat, SYS_lstat, SYS_fstat, SYS_newfstatat, SYS_statx, SYS_statfs, SYS_fstatfs,
	SYS_readlink, SYS_getdents, SYS_getdents64, SYS_getcwd,
	/* hostfs: to change, where mounts and Landlock let it; links and special files are not for a run's folder */
	SYS_rename, SYS_renameat, SYS_renameat2, SYS_unlink, SYS_unlinkat, SYS_rmdir, SYS_truncate, SYS_ftruncate,
	SYS_fsync, SYS_fdatasync, SYS_utime, SYS_utimes, SYS_utimensat, SYS_futimesat,
	/* owners: an ordinary user may not, and root's right to it is gone; hostfs hears the host's own no */
	SYS_chown, SYS_lchown, SYS_fchown, SYS_fchownat,
	/* itself: its limits, which only sink, its users, the machine's name, which is the namespace's */
	SYS_getrlimit, SYS_setrlimit, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_uname,
	/* the C library: locks, and a child's list of them */
	SYS_futex, SYS_set_robust_list, SYS_getrandom,
};

/* Calls that are kept in part: the bits of one argument that must not be set. */
static const struct part {
	uint16_t call;
	uint8_t argument;
	uint32_t never;
} parts[] = {
	/* processes, and no namespaces of theirs */
	{ SYS_clone, 0,
	  CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET },
	/* its own limits, and no other process's */
	{ SYS_prlimit64, 0, UINT32_MAX },
	/* files, and none that would give others the user's rights */
	{ SYS_open, 2, S_ISUID | S_ISGID },
	{ SYS_openat, 3, S_ISUID | S_ISGID },
	{ SYS_creat, 1, S_ISUID | S_ISGID },
	{ SYS_mkdir, 1, S_ISUID | S_ISGID },
	{ SYS_mkdirat, 2, S_ISUID | S_ISGID },
	{ SYS_chmod, 1, S_ISUID | S_ISGID },
	{ SYS_fchmod, 1, S_ISUID | S_ISGID },
	{ SYS_fchmodat, 2, S_ISUID | S_ISGID },
};

/* And those of which some requests are kept: all but these for ptrace(), none but these for ioctl() and fcntl(). */
static const uint32_t others[] = { PTRACE_ATTACH, PTRACE_SEIZE }; /* processes that are not its children */
static const uint32_t asks[] = { TCGETS }; /* is this a terminal? */
/* flags, and whom a descriptor wakes; no lock or lease that others would wait for, and no notice of what they do */
static const uint32_t sets[] = { F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_SETOWN, F_SETSIG };

#define LENGTH(list) (sizeof(list) / sizeof(*(list)))
#define CALL offsetof(struct seccomp_data, nr)
#define ARCH offsetof(struct seccomp_data, arch)
#define ARGUMENT(n) (offsetof(struct seccomp_data, args) + 8 * (n)) /* its lower half */
#define NO (SECCOMP_RET_ERRNO | EPERM)

static struct sock_filter program[2 * LENGTH(kept) + 5 * LENGTH(parts) + 32];
static size_t length;

static void add(uint16_t code, uint32_t value, uint8_t yes, uint8_t no)
{
	program[length++] = (struct sock_filter){ code, yes, no, value };
}

static void load(uint32_t place)
{
	add(BPF_LD | BPF_W | BPF_ABS, place, 0, 0);
}

static void answer(uint32_t what)
{
	add(BPF_RET | BPF_K, what, 0, 0);
}

/* Unless the call is `number`, leave out the next `count` instructions. */
static void only_for(uint32_t number, uint8_t count)
{
	add(BPF_JMP | BPF_JEQ | BPF_K, number, 0, count);
}

static void add_requests(uint32_t call, uint32_t argument, const uint32_t *list, size_t count, uint32_t listed,
			 uint32_t unlisted)
{
	only_for(call, (uint8_t)(2 * count + 2));
	load(ARGUMENT(argument));
	for (size_t i = 0; i < count; i++) {
		only_for(list[i], 1);
		answer(listed);
	}
	answer(unlisted);
}

static void write_program(void)
{
	load(ARCH);
	only_for(AUDIT_ARCH_X86_64, 1);
	add(BPF_JMP | BPF_JA, 1, 0, 0);
	answer(SECCOMP_RET_KILL_PROCESS); /* another machine's numbers */
	load(CALL);
	add_requests(SYS_ptrace, 0, others, LENGTH(others), NO, SECCOMP_RET_ALLOW);
	for (size_t i = 0; i < LENGTH(kept); i++) {
		only_for(kept[i], 1);
		answer(SECCOMP_RET_ALLOW);
	}
	for (size_t i = 0; i < LENGTH(parts); i++) {
		only_for(parts[i].call, 4);
		load(ARGUMENT(parts[i].argument));
		add(BPF_JMP | BPF_JSET | BPF_K, parts[i].never, 0, 1);
		answer(NO);
		answer(SECCOMP_RET_ALLOW);
	}
	add_requests(SYS_ioctl, 1, asks, LENGTH(asks), SECCOMP_RET_ALLOW, NO);
	add_requests(SYS_fcntl, 1, sets, LENGTH(sets), SECCOMP_RET_ALLOW, NO);
	only_for(SYS_clone3, 1);
	answer(SECCOMP_RET_ERRNO | ENOSYS); /* its flags lie in memory; the C library then calls clone() */
	answer(NO);
}

__attribute__((constructor)) static void give_up(void)
{
	struct sock_fprog all = { .filter = program };

	write_program();
	all.len = (unsigned short)length;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all)) {
		if (errno == EINVAL || errno == ENOSYS) /* a host without it, as `boot --check` says */
			return;
		perror("seccomp");
		_exit(CANNOT_START);
	}
}
