// SPDX-License-Identifier: GPL-2.0
/*
 * What the virtual-time kernel sees of its host, preloaded into it (LD_PRELOAD):
 *
 * getrandom()  a function of $DSTCC_SEED and of how many bytes were asked for before: the guest's
 *              entropy, its sequence numbers and netem's losses repeat from run to run. SplitMix64
 *              (Steele, Lea, Flood 2014), eight bytes a step.
 * ptrace()     passes a processor state larger than the kernel knows. User-Mode Linux 6.1 keeps
 *              2,696 bytes per thread (everything up to AVX-512 and protection keys), but since Linux
 *              6.x a host with AMX accepts nothing short of its whole 11,008 bytes. The part beyond
 *              belongs to features that a process must ask for first, so for a guest it is zero.
 *              And it does not write back what it has just read: the kernel reads a process's state
 *              when it stops and writes it before it goes on, the same one unless threads, a signal
 *              or exec changed it. Each write has the host allocate its 11,008 bytes anew.
 * statx()      finds relative paths. User-Mode Linux 6.12 asks for files below the folder it runs in
 *              with -1 in the place of AT_FDCWD, which works for absolute paths only.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#define STATE_BYTES 65536 /* several times what any processor has */
#define SEEN_BYTES 16384 /* User-Mode Linux reads 2,696 of them, all of a processor without AMX */
#define SEEN 64

ssize_t getrandom(void *buffer, size_t bytes, unsigned int flags)
{
	static uint64_t state;
	static int seeded;
	unsigned char *to = buffer;

	(void)flags;
	if (!seeded) {
		const char *seed = getenv("DSTCC_SEED");

		state = seed ? strtoull(seed, NULL, 10) : 0;
		seeded = 1;
	}
	for (size_t done = 0; done < bytes; done += sizeof(state)) {
		uint64_t z = state += 0x9E3779B97F4A7C15u;

		z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
		z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
		z ^= z >> 31;
		memcpy(to + done, &z, bytes - done < sizeof(z) ? bytes - done : sizeof(z));
	}
	return (ssize_t)bytes;
}

typedef long (*ptrace_call)(int request, pid_t pid, void *address, void *data);

/* The whole state of a stopped process, into `whole`; its size, or 0 on an error (errno is set). */
static size_t whole_state(ptrace_call real, pid_t pid, char *whole)
{
	struct iovec all = { .iov_base = whole, .iov_len = STATE_BYTES };

	return real(PTRACE_GETREGSET, pid, (void *)NT_X86_XSTATE, &all) < 0 ? 0 : all.iov_len;
}

/*
 * A process's state as it was last read; processes are few, and one whose place another takes is
 * written once more, no worse.
 */
static struct seen {
	pid_t pid; /* 0: nothing is known */
	size_t bytes;
	char state[SEEN_BYTES];
} seen[SEEN];

static struct seen *seen_of(pid_t pid)
{
	return &seen[(unsigned int)pid % SEEN];
}

/* Requests that leave the state as it is: what is not known to do so forgets it. */
static int is_harmless(enum __ptrace_request request)
{
	return request == PTRACE_GETREGS || request == PTRACE_SETREGS || request == PTRACE_GETREGSET ||
	       request == PTRACE_GETSIGINFO;
}

static long read_state(ptrace_call real, pid_t pid, void *address, struct iovec *part)
{
	struct seen *it = seen_of(pid);
	long result = real(PTRACE_GETREGSET, pid, address, part);

	if (address != (void *)NT_X86_XSTATE)
		return result;
	it->pid = 0;
	if (result == 0 && part->iov_len <= sizeof(it->state)) {
		it->pid = pid;
		it->bytes = part->iov_len;
		memcpy(it->state, part->iov_base, part->iov_len);
	}
	return result;
}

static long write_state(ptrace_call real, pid_t pid, void *address, struct iovec *part)
{
	static char whole[STATE_BYTES]; /* the kernel calls from one thread */
	static size_t size;
	struct seen *it = seen_of(pid);

	/* The host has no more than it gave, and takes no more. */
	if (it->pid == pid && it->bytes <= part->iov_len &&
	    !memcmp(it->state, part->iov_base, it->bytes))
		return 0;
	it->pid = 0;
	if (!size)
		size = whole_state(real, pid, whole);
	if (size <= part->iov_len)
		return real(PTRACE_SETREGSET, pid, address, part);
	memcpy(whole, part->iov_base, part->iov_len);
	memset(whole + part->iov_len, 0, size - part->iov_len);
	return real(PTRACE_SETREGSET, pid, address, &(struct iovec){ .iov_base = whole, .iov_len = size });
}

long ptrace(enum __ptrace_request request, ...)
{
	static ptrace_call real;
	__builtin_va_list list;
	pid_t pid;
	void *address, *data;

	__builtin_va_start(list, request);
	pid = __builtin_va_arg(list, pid_t);
	address = __builtin_va_arg(list, void *);
	data = __builtin_va_arg(list, void *);
	__builtin_va_end(list);
	if (!real)
		real = (ptrace_call)dlsym(RTLD_NEXT, "ptrace");
	if (request == PTRACE_SETREGSET && address == (void *)NT_X86_XSTATE)
		return write_state(real, pid, address, data);
	if (request == PTRACE_GETREGSET)
		return read_state(real, pid, address, data);
	if (!is_harmless(request) && seen_of(pid)->pid == pid)
		seen_of(pid)->pid = 0;
	return real(request, pid, address, data);
}

typedef int (*statx_call)(int folder, const char *path, int flags, unsigned int mask,
			  struct statx *found);

int statx(int folder, const char *restrict path, int flags, unsigned int mask,
	  struct statx *restrict found)
{
	static statx_call real;

	if (!real)
		real = (statx_call)dlsym(RTLD_NEXT, "statx");
	return real(folder == -1 && path[0] != '/' ? AT_FDCWD : folder, path, flags, mask, found);
}
