// SPDX-License-Identifier: GPL-2.0
/*
 * boot PRELOAD KERNEL ARGUMENT...: runs the virtual-time kernel and leaves no process behind.
 *
 * A guest's programs are processes of the host that the kernel traces; killing the kernel alone would leave
 * them standing. So the kernel gets a session of its own, in which its programs stay, and this process, to
 * which they fall, ends the whole group: when the kernel ends, on SIGTERM, SIGINT and SIGHUP, and when
 * whoever started it dies in any way.
 *
 * Exit: the kernel's own code, or 128 + the signal that ended it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CANNOT_START 127 /* as a shell says it */

static void start(char **argv, const sigset_t *blocked, pid_t starter)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != starter)
		_exit(CANNOT_START);
	setsid();
	sigprocmask(SIG_UNBLOCK, blocked, NULL);
	personality(ADDR_NO_RANDOMIZE); /* addresses find their way into hashes */
	setenv("LD_PRELOAD", argv[1], 1);
	execv(argv[2], argv + 2);
	perror(argv[2]);
	_exit(CANNOT_START);
}

/* Wait for `kernel` or for a signal to stop; the kernel's wait status, or that of a killed one. */
static int watch(pid_t kernel, const sigset_t *signals)
{
	int status;

	for (;;) {
		int number = sigwaitinfo(signals, NULL);

		if (number < 0)
			continue;
		if (number != SIGCHLD)
			return number; /* as a wait status: ended by this signal */
		for (;;) {
			pid_t ended = waitpid(-1, &status, WNOHANG);

			if (ended == kernel)
				return status;
			if (ended <= 0)
				break;
		}
	}
}

int main(int argc, char **argv)
{
	pid_t parent = getppid(), self = getpid(), kernel;
	struct rlimit no_core = { 0, 0 };
	sigset_t signals;
	int status;

	if (argc < 3) {
		fprintf(stderr, "usage: boot PRELOAD KERNEL ARGUMENT...\n");
		return CANNOT_START;
	}
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent) /* it died before it could be said to tell us */
		return CANNOT_START;
	setrlimit(RLIMIT_CORE, &no_core); /* a panic aborts the kernel: gigabytes of nothing */

	kernel = fork();
	if (kernel < 0) {
		perror("fork");
		return CANNOT_START;
	}
	if (kernel == 0)
		start(argv, &signals, self);
	status = watch(kernel, &signals);
	kill(kernel, SIGKILL); /* it may not have a session yet */
	kill(-kernel, SIGKILL);
	while (wait(NULL) > 0 || errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
