// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded into the programs of `dstcc run` (LD_PRELOAD):
 *
 * stdout    is written line by line, as on a terminal: a line's time in the log is when it was printed, and not when
 *           4096 bytes of lines were.
 * select() and its like: a program that asks over and over, and never waits, would keep time standing, as computing
 *           takes none. After PATIENT calls in a row each takes a millisecond, until one waits by itself. iperf3 asks so
 *           for the round trip before its test starts.
 * socket()  with $DSTCC_MPTCP: (AF_INET or AF_INET6, SOCK_STREAM, 0 or IPPROTO_TCP) asks for IPPROTO_MPTCP, and for TCP
 *           where the kernel has none. A program that asks for another protocol gets that.
 *
 * A program that is linked statically is not reached.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#define FLAGS (SOCK_CLOEXEC | SOCK_NONBLOCK)
#define PATIENT 1000 /* calls of a microsecond: as long as a processor takes for them */
#define AT_ONCE_NS 100000 /* between two calls of which the second did not wait */
#define PAUSE_NS 1000000

__attribute__((constructor)) static void by_lines(void)
{
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
}

static void *real(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* Called when a call has come back. */
static void came_back(void)
{
	static __thread long long last_ns;
	static __thread unsigned int calls;
	int error = errno;
	struct timespec now;
	long long now_ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	now_ns = now.tv_sec * 1000000000LL + now.tv_nsec;
	calls = now_ns - last_ns < AT_ONCE_NS ? calls + 1 : 0;
	if (calls > PATIENT) {
		struct timespec pause = { 0, PAUSE_NS };

		nanosleep(&pause, NULL);
		now_ns += PAUSE_NS;
	}
	last_ns = now_ns;
	errno = error;
}

/* A function of the C library after which came_back() is called: its name, parameters and their names. */
#define WAITING(name, parameters, names) \
	int name parameters \
	{ \
		static int (*call) parameters; \
		int ready; \
\
		if (!call) \
			call = real(#name); \
		ready = call names; \
		came_back(); \
		return ready; \
	}

WAITING(select, (int count, fd_set *in, fd_set *out, fd_set *other, struct timeval *limit),
	(count, in, out, other, limit))
WAITING(pselect,
	(int count, fd_set *in, fd_set *out, fd_set *other, const struct timespec *limit, const sigset_t *mask),
	(count, in, out, other, limit, mask))
WAITING(poll, (struct pollfd *watched, nfds_t count, int limit), (watched, count, limit))
WAITING(ppoll, (struct pollfd *watched, nfds_t count, const struct timespec *limit, const sigset_t *mask),
	(watched, count, limit, mask))
WAITING(epoll_wait, (int set, struct epoll_event *events, int count, int limit), (set, events, count, limit))

int socket(int family, int kind, int protocol)
{
	static int (*call)(int, int, int);

	if (!call)
		call = real("socket");
	if (getenv("DSTCC_MPTCP") && (family == AF_INET || family == AF_INET6) && (kind & ~FLAGS) == SOCK_STREAM &&
	    (protocol == 0 || protocol == IPPROTO_TCP)) {
		int made = call(family, kind, IPPROTO_MPTCP);

		if (made >= 0)
			return made;
	}
	return call(family, kind, protocol);
}
