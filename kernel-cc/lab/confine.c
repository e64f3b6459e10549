// SPDX-License-Identifier: GPL-2.0
/*
 * What a virtual-time kernel is kept to on its host, whatever code runs in it: a module of a stranger's makes the host's
 * system calls, as the kernel itself does.
 *
 *   user      a user namespace, with the users that there are (an ordinary user: itself alone), so that none of the below
 *             takes root; where the host refuses it, root does without
 *   PIDs      the processes of others have no number here, and all of the guest's end with the first
 *   network   none but a loopback that is down
 *   IPC, UTS  no System V memory, no message queues, no host name of others
 *   mounts    all read-only, without devices and set-user-id, but for two folders: the one it is started in, with its
 *             memory, and the one that "out" there is a link to; of /proc there is cpuinfo, of /sys nothing
 *   Landlock  lets nothing be made, written or removed but below these two, no file system be mounted, no device be
 *             asked, no TCP port be used, no signal be sent to others: the same again, by other code of the host's
 *   rights    no capability is left, nor can one come back; of root's, those over files' permissions stay
 *   limits    the size of a file, addresses, processes (root's by the namespace of PIDs), open files; of the host's memory it is
 *             the first to go
 *
 * host.so has the kernel itself give up all system calls that it does not need (filter.c). What the host has not or
 * forbids is left out, and lacking() told.
 */
#define _GNU_SOURCE
#include "confine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define CANNOT_START 127 /* as a shell says it */
#define PROCESSES 8192 /* of the user, others of whose count, too */
#define OWN_PROCESSES 4096 /* of the namespace: the guest's are 2,048 at most (init.c) */
#define TEXT_OF(number) #number
#define TEXT(macro) TEXT_OF(macro)
#define FILES 16384

/* Headers older than the calls: include/uapi/linux/landlock.h. */
#define READS (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define KEEPS \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG)
#define MAKES \
	(LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | \
	 LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM)
#define REFER (1ull << 13) /* to another folder; of version 2 */
#define TRUNCATE (1ull << 14) /* of version 3 */
#define IOCTL_DEV (1ull << 15) /* of version 5 */
#define BIND_TCP (1ull << 0) /* of version 4 */
#define CONNECT_TCP (1ull << 1)
#define ABSTRACT_UNIX_SOCKET (1ull << 0) /* of version 6 */
#define SIGNAL (1ull << 1)

struct ruleset {
	unsigned long long fs, net, scoped;
};

void (*lacking)(const char *what, int error);

static int go[2]; /* a pipe from the parent */

static void lacks(const char *what)
{
	if (lacking)
		lacking(what, errno);
}

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

/* Each identity that this process's namespace has, as itself: what its map of `kind` begins with. */
static int say_same(pid_t child, const char *kind)
{
	char path[64], text[4096] = "";
	unsigned int first, outside, count;
	size_t used = 0;
	FILE *own;

	snprintf(path, sizeof(path), "/proc/self/%s", kind);
	own = fopen(path, "re");
	if (!own)
		return -1;
	while (used < sizeof(text) - 40 && fscanf(own, "%u %u %u", &first, &outside, &count) == 3)
		used += (size_t)sprintf(text + used, "%u %u %u\n", first, first, count);
	fclose(own);
	snprintf(path, sizeof(path), "/proc/%d/%s", child, kind);
	return say(path, text);
}

/* Who the child's namespace knows: everybody where this is root's to say, else this user alone. */
static int map_users(pid_t child)
{
	char path[64], map[64];

	if (geteuid() == 0 && !say_same(child, "uid_map") && !say_same(child, "gid_map"))
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/setgroups", child);
	say(path, "deny");
	snprintf(path, sizeof(path), "/proc/%d/uid_map", child);
	snprintf(map, sizeof(map), "%u %u 1", geteuid(), geteuid());
	if (say(path, map))
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/gid_map", child);
	snprintf(map, sizeof(map), "%u %u 1", getegid(), getegid());
	return say(path, map);
}

static pid_t fork_into(unsigned long namespaces)
{
	pid_t child = (pid_t)syscall(SYS_clone, namespaces | SIGCHLD, NULL, NULL, NULL, NULL);
	int error;

	if (child <= 0 || !(namespaces & CLONE_NEWUSER) || !map_users(child))
		return child;
	error = errno;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	errno = error;
	return -1;
}

pid_t fork_apart(void)
{
	const unsigned long apart = CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNS;
	pid_t child;

	if (pipe2(go, O_CLOEXEC))
		return -1;
	child = fork_into(CLONE_NEWUSER | apart);
	if (child < 0 && geteuid() == 0)
		child = fork_into(apart);
	if (child < 0) {
		lacks("namespaces");
		child = fork_into(0);
	}
	if (child > 0) {
		close(go[0]);
		if (write(go[1], "", 1) != 1)
			return -1;
	}
	return child; /* go[1] stays open for as long as this process lives */
}

/* End with the parent, whose number means nothing in a namespace of PIDs: while it lives, it holds the pipe open. */
static void end_with_parent(void)
{
	struct pollfd parent = { .fd = go[0] };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	poll(&parent, 1, 0);
	if (parent.revents & POLLHUP)
		_exit(CANNOT_START);
}

void await_go(void)
{
	char byte;

	close(go[1]);
	if (read(go[0], &byte, 1) != 1)
		_exit(CANNOT_START);
	end_with_parent();
}

static int change_mount(const char *path, int recursive, unsigned long long set, unsigned long long clear)
{
	struct mount_attr attributes = { .attr_set = set, .attr_clr = clear };

	return (int)syscall(SYS_mount_setattr, AT_FDCWD, path, recursive ? AT_RECURSIVE : 0, &attributes,
			    sizeof(attributes));
}

/* An empty folder in the place of `path`, with the host's file `kept` if it is given. */
static int hide(const char *path, const char *kept)
{
	int file = kept ? (int)syscall(SYS_open_tree, AT_FDCWD, kept, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC) : -1;

	if (kept && file < 0)
		return -1;
	if (mount("none", path, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k,nr_inodes=8,mode=755"))
		return -1;
	if (kept) {
		int place = open(kept, O_WRONLY | O_CREAT | O_CLOEXEC, 0444);

		if (place < 0)
			return -1;
		close(place);
		if (syscall(SYS_move_mount, file, "", AT_FDCWD, kept, MOVE_MOUNT_F_EMPTY_PATH))
			return -1;
		close(file);
	}
	return 0;
}

static int narrow_mounts(const char *here, const char *out)
{
	const unsigned long long closed = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return -1;
	if (mount(here, here, NULL, MS_BIND, NULL) || mount(out, out, NULL, MS_BIND, NULL) ||
	    mount("/dev/null", "/dev/null", NULL, MS_BIND, NULL))
		return -1;
	if (hide("/proc", "/proc/cpuinfo") || hide("/sys", NULL))
		lacks("/proc and /sys of its own");
	if (change_mount("/", 1, closed, 0))
		return -1;
	/* `here` is no more what it was bound from. */
	if (change_mount(here, 0, 0, MOUNT_ATTR_RDONLY) || change_mount(out, 0, 0, MOUNT_ATTR_RDONLY) ||
	    change_mount("/dev/null", 0, 0, MOUNT_ATTR_NODEV) || chdir(here)) {
		perror("boot: the run's folder");
		_exit(CANNOT_START);
	}
	return 0;
}

static int let(int rules, const char *path, unsigned long long access)
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

/* Of the rules those that the host's version has. */
static struct ruleset rules_of(long version, size_t *bytes)
{
	struct ruleset all = { .fs = KEEPS | MAKES | REFER };

	if (version >= 3)
		all.fs |= TRUNCATE;
	if (version >= 5)
		all.fs |= IOCTL_DEV;
	if (version >= 4)
		all.net = BIND_TCP | CONNECT_TCP;
	if (version >= 6)
		all.scoped = ABSTRACT_UNIX_SOCKET | SIGNAL;
	*bytes = version >= 6 ? sizeof(all) : version >= 4 ? 2 * sizeof(all.fs) : sizeof(all.fs);
	return all;
}

static int narrow_by_landlock(const char *here, const char *out)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct ruleset all;
	size_t bytes;
	int rules, result;

	if (version < 0)
		return -1;
	if (version < 2) { /* which lets no file go to another folder, wherever that is */
		errno = ENOSYS;
		return -1;
	}
	all = rules_of(version, &bytes);
	rules = (int)syscall(SYS_landlock_create_ruleset, &all, bytes, 0);
	if (rules < 0)
		return -1;
	result = let(rules, here, (KEEPS | REFER | TRUNCATE) & all.fs) ||
		 let(rules, out, (KEEPS | REFER | TRUNCATE) & all.fs) ||
		 let(rules, "/dev/null", LANDLOCK_ACCESS_FS_WRITE_FILE) || /* the kernel's consoles */
		 syscall(SYS_landlock_restrict_self, rules, 0);
	close(rules);
	return result ? -1 : 0;
}

/* All capabilities go, and those that root has over files' permissions stay: it sees what it saw. */
static int drop_rights(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct kept[2] = { { 0 }, { 0 } };
	const unsigned int files = 1 << CAP_DAC_OVERRIDE | 1 << CAP_DAC_READ_SEARCH | 1 << CAP_FOWNER;

	for (int right = 0; prctl(PR_CAPBSET_READ, right, 0, 0, 0) >= 0; right++) {
		if (geteuid() == 0 && right < 32 && files >> right & 1)
			continue;
		/* without the right to do this the process has none to lose */
		if (prctl(PR_CAPBSET_DROP, right, 0, 0, 0) && errno != EPERM)
			return -1;
	}
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (geteuid() == 0 && !syscall(SYS_capget, &head, kept)) {
		kept[0].effective &= files;
		kept[1].effective = 0;
	}
	kept[0].permitted = kept[0].effective;
	kept[0].inheritable = kept[1].inheritable = kept[1].permitted = 0;
	if (syscall(SYS_capset, &head, kept))
		return -1;
	prctl(PR_SET_DUMPABLE, 0); /* whose memory and files nobody reads, the guest least */
	return 0;
}

static void limit(int what, unsigned long long most)
{
	struct rlimit now;

	if (getrlimit(what, &now))
		return;
	if (now.rlim_max > most)
		now.rlim_max = most;
	now.rlim_cur = now.rlim_max;
	if (setrlimit(what, &now))
		lacks("limits");
}

/*
 * RLIMIT_NPROC is not for root, whose processes only their namespace bounds. Before Linux 6.14 that number is the whole
 * machine's, and stays as it is.
 */
static int limit_processes(void)
{
	struct utsname own;
	unsigned int major, minor;

	if (getpid() != 1 || uname(&own) || sscanf(own.release, "%u.%u", &major, &minor) != 2 ||
	    major < 6 || (major == 6 && minor < 14)) {
		errno = ENOSYS;
		return -1;
	}
	return say("/proc/sys/kernel/pid_max", TEXT(OWN_PROCESSES));
}

static void set_limits(const struct limits *most)
{
	limit(RLIMIT_CORE, 0); /* a panic aborts the kernel: gigabytes of nothing */
	limit(RLIMIT_FSIZE, most->file_bytes);
	limit(RLIMIT_NPROC, PROCESSES);
	limit(RLIMIT_NOFILE, FILES);
	limit(RLIMIT_MSGQUEUE, 0);
	limit(RLIMIT_RTPRIO, 0);
	if (most->address_bytes)
		limit(RLIMIT_AS, most->address_bytes);
}

void confine(const struct limits *most)
{
	char here[PATH_MAX], out[PATH_MAX];

	if (!realpath(".", here) || !realpath("out", out)) {
		perror("boot: the run's folder");
		_exit(CANNOT_START);
	}
	say("/proc/self/oom_score_adj", "1000");
	if (limit_processes() && geteuid() == 0)
		lacks("limit of processes");
	if (narrow_mounts(here, out))
		lacks("read-only mounts");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		lacks("no new privileges");
	if (narrow_by_landlock(here, out))
		lacks("Landlock");
	if (drop_rights())
		lacks("dropped capabilities");
	set_limits(most);
	end_with_parent(); /* which new rights forget */
}
