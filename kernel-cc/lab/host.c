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

long ptrace(enum __ptrace_request request, ...)
{
	static ptrace_call real;
	static char whole[STATE_BYTES]; /* the kernel calls from one thread */
	static size_t size;
	__builtin_va_list list;
	pid_t pid;
	void *address, *data;
	struct iovec *part;

	__builtin_va_start(list, request);
	pid = __builtin_va_arg(list, pid_t);
	address = __builtin_va_arg(list, void *);
	data = __builtin_va_arg(list, void *);
	__builtin_va_end(list);
	if (!real)
		real = (ptrace_call)dlsym(RTLD_NEXT, "ptrace");
	if (request != PTRACE_SETREGSET || address != (void *)NT_X86_XSTATE)
		return real(request, pid, address, data);

	part = data;
	if (!size)
		size = whole_state(real, pid, whole);
	if (size <= part->iov_len)
		return real(request, pid, address, data);
	memcpy(whole, part->iov_base, part->iov_len);
	memset(whole + part->iov_len, 0, size - part->iov_len);
	return real(request, pid, address, &(struct iovec){ .iov_base = whole, .iov_len = size });
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
