// SPDX-License-Identifier: GPL-2.0
/*
 * boot FILE_MB ADDRESS_MB PRELOAD KERNEL ARGUMENT...: runs the virtual-time kernel, confined, and leaves no process behind.
 * boot --check: a line for each part of the confinement that this host has not, and why.
 *
 * A guest's programs are processes of the host that the kernel traces; killing the kernel alone would leave them
 * standing, and so might code in it that forks by itself:
 *
 *   boot            waits for SIGTERM, SIGINT, SIGHUP, the end of the keeper, and of whoever started it
 *     keeper        the first process of a PID namespace: when it ends, the host ends all others there
 *       kernel      in a session of its own
 *         programs
 *
 * Where the host has no PID namespaces for it, what was left falls to boot, which goes on ending it for PATIENCE_MS. See
 * confine.c for what the keeper, and all below it, may do. FILE_MB is how large any file may become, ADDRESS_MB how much a
 * process may map, 0 being no limit.
 *
 * Exit: the kernel's own code, or 128 + the signal that ended it.
 */
#define _GNU_SOURCE
#include "confine.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CANNOT_START 127 /* as a shell says it */
#define PATIENCE_MS 1500
#define MB 20 /* as a shift */

static int code_of(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void start_kernel(char **argv, const sigset_t *blocked)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setsid();
	sigprocmask(SIG_UNBLOCK, blocked, NULL);
	personality(ADDR_NO_RANDOMIZE); /* addresses find their way into hashes */
	setenv("LD_PRELOAD", argv[0], 1);
	execv(argv[1], argv + 1);
	perror(argv[1]);
	_exit(CANNOT_START);
}

/* The keeper: starts the kernel, waits for whatever falls to it, ends when the kernel does. */
static void keep(char **argv, const struct limits *most, const sigset_t *blocked)
{
	pid_t kernel;
	int status;

	await_go();
	confine(most);
	kernel = fork();
	if (kernel == 0)
		start_kernel(argv, blocked);
	if (kernel < 0) {
		perror("fork");
		_exit(CANNOT_START);
	}
	for (;;) {
		pid_t ended = wait(&status);

		if (ended == kernel)
			_exit(code_of(status));
		if (ended < 0 && errno != EINTR)
			_exit(CANNOT_START);
	}
}

/* Wait for the keeper or for a signal to stop; the keeper's wait status, or that of a killed one. */
static int watch(pid_t keeper, const sigset_t *signals)
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

			if (ended == keeper)
				return status;
			if (ended <= 0)
				break;
		}
	}
}

static pid_t parent_of(pid_t process)
{
	char path[64], text[512];
	const char *after;
	size_t got;
	FILE *file;
	pid_t parent;

	snprintf(path, sizeof(path), "/proc/%d/stat", process);
	file = fopen(path, "re");
	if (!file)
		return 0;
	got = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[got] = '\0';
	after = strrchr(text, ')'); /* a name may hold anything */
	return after && sscanf(after + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

static void kill_children(void)
{
	DIR *all = opendir("/proc");
	struct dirent *entry;

	while (all && (entry = readdir(all))) {
		pid_t process = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;

		if (process && parent_of(process) == getpid())
			kill(process, SIGKILL);
	}
	if (all)
		closedir(all);
}

/* The keeper first: with a PID namespace all others go with it. Else they fall to us one after the other. */
static void end_all(pid_t keeper)
{
	const struct timespec pause = { 0, 1000000 };

	kill(keeper, SIGKILL);
	for (int turn = 0; turn < PATIENCE_MS; turn++) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (errno == ECHILD)
			return;
		if (turn % 10 == 9)
			kill_children();
		nanosleep(&pause, NULL);
	}
}

static void print_lack(const char *what, int error)
{
	printf("%s: %s\n", what, strerror(error));
	fflush(stdout);
}

/* All of the confinement, around nothing. */
static int check(void)
{
	const struct limits most = { 1ull << 40, 0 };
	unsigned int action = SECCOMP_RET_ERRNO;
	pid_t child;

	lacking = print_lack;
	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action))
		print_lack("seccomp", errno);
	child = fork_apart();
	if (child == 0) {
		await_go();
		confine(&most);
		_exit(0);
	}
	return child < 0 || waitpid(child, NULL, 0) != child;
}

int main(int argc, char **argv)
{
	pid_t parent = getppid(), keeper;
	struct limits most;
	sigset_t signals;
	int status;

	if (argc == 2 && !strcmp(argv[1], "--check"))
		return check();
	if (argc < 5) {
		fprintf(stderr, "usage: boot FILE_MB ADDRESS_MB PRELOAD KERNEL ARGUMENT...\n");
		return CANNOT_START;
	}
	most.file_bytes = strtoull(argv[1], NULL, 10) << MB;
	most.address_bytes = strtoull(argv[2], NULL, 10) << MB;
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

	keeper = fork_apart();
	if (keeper < 0) {
		perror("fork");
		return CANNOT_START;
	}
	if (keeper == 0)
		keep(argv + 3, &most, &signals);
	status = watch(keeper, &signals);
	end_all(keeper);
	return code_of(status);
}
