// SPDX-License-Identifier: GPL-2.0
/*
 * boot PRELOAD KERNEL ARGUMENT...: runs the virtual-time kernel and leaves no process behind.
 *
 * A guest's programs are processes of the host that the kernel traces; killing the kernel alone would leave
 * them standing. So the kernel gets a session of its own, in which its programs stay, and this process, to
 * which they fall, ends the whole group: when the kernel ends, on SIGTERM, SIGINT and SIGHUP, and when
 * whoever started it dies in any way.
 *
 * The kernel gets a view of the host in which two folders alone can be written: the one it is started in, with its memory, and
 * the one that "out" there is a link to. The guest's root could undo what the guest mounted read-only; it cannot undo this:
 *
 *   mounts     a mount namespace of its own (and where the user has not the right to one, a user namespace around it) whose
 *              mounts are all read-only but for these two
 *   Landlock   lets nothing be made, written or removed but below these two, and no file system be mounted
 *
 * Each is left out where the host has it not or forbids it.
 *
 * Exit: the kernel's own code, or 128 + the signal that ended it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CANNOT_START 127 /* as a shell says it */

/* Headers older than the calls: include/uapi/linux/landlock.h, mount.h. */
#define WRITES_1 \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | \
	 LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | \
	 LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | \
	 LANDLOCK_ACCESS_FS_MAKE_SYM)
#define REFER (1ull << 13) /* to another folder; of version 2 */
#define TRUNCATE (1ull << 14) /* of version 3 */

static int say(const char *path, const char *text)
{
	int handle = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t length = (ssize_t)strlen(text);

	if (handle < 0)
		return -1;
	ssize_t written = write(handle, text, (size_t)length);

	close(handle);
	return written == length ? 0 : -1;
}

/* A mount namespace, as the user one is. */
static int own_mounts(void)
{
	char map[64];
	uid_t user = geteuid();
	gid_t group = getegid();

	if (!unshare(CLONE_NEWNS))
		return 0;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return -1;
	say("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "%u %u 1", user, user);
	if (say("/proc/self/uid_map", map))
		return -1;
	snprintf(map, sizeof(map), "%u %u 1", group, group);
	return say("/proc/self/gid_map", map);
}

static int set_read_only(const char *path, int recursive, int read_only)
{
	struct mount_attr attributes = { 0 };

	if (read_only)
		attributes.attr_set = MOUNT_ATTR_RDONLY;
	else
		attributes.attr_clr = MOUNT_ATTR_RDONLY;
	return (int)syscall(SYS_mount_setattr, AT_FDCWD, path, recursive ? AT_RECURSIVE : 0, &attributes,
			    sizeof(attributes));
}

static void narrow_mounts(const char *here, const char *out)
{
	if (own_mounts() || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return;
	if (mount(here, here, NULL, MS_BIND, NULL) || mount(out, out, NULL, MS_BIND, NULL))
		return;
	if (set_read_only("/", 1, 1))
		return;
	/* `here` is no more what it was bound from. */
	if (set_read_only(here, 0, 0) || set_read_only(out, 0, 0) || chdir(here)) {
		perror("boot: the run's folder");
		_exit(CANNOT_START);
	}
}

static int let_write(int rules, const char *path, unsigned long long access)
{
	struct landlock_path_beneath_attr below = { .allowed_access = access };
	int result;

	below.parent_fd = open(path, O_PATH | O_CLOEXEC);
	if (below.parent_fd < 0)
		return -1;
	result = (int)syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0);
	close(below.parent_fd);
	return result;
}

static void narrow_by_landlock(const char *here, const char *out)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct landlock_ruleset_attr attributes = { .handled_access_fs = WRITES_1 | REFER };
	int rules;

	if (version < 2) /* version 1 lets no file go to another folder, wherever that is */
		return;
	if (version >= 3)
		attributes.handled_access_fs |= TRUNCATE;
	rules = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes.handled_access_fs), 0);
	if (rules < 0)
		return;
	if (!let_write(rules, here, attributes.handled_access_fs) &&
	    !let_write(rules, out, attributes.handled_access_fs) &&
	    !let_write(rules, "/dev/null", LANDLOCK_ACCESS_FS_WRITE_FILE) && /* the kernel's consoles */
	    !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		syscall(SYS_landlock_restrict_self, rules, 0);
	close(rules);
}

static void narrow(void)
{
	char here[PATH_MAX], out[PATH_MAX];

	if (!realpath(".", here) || !realpath("out", out))
		return;
	narrow_mounts(here, out);
	narrow_by_landlock(here, out);
}

static void start(char **argv, const sigset_t *blocked, pid_t starter)
{
	narrow();
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* which new rights forget */
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
