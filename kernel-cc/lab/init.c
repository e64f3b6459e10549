// SPDX-License-Identifier: GPL-2.0
/*
 * The guest's first process: makes the host's file tree its own, runs one job, says how it ended, powers off.
 *
 * The kernel starts it in a small folder of the host (linked statically: nothing else is there) that holds
 *   job    strings, each ended by NUL: the run's folder, the job's working folder, the number of its
 *          arguments, the arguments, its environment
 *   tree   a link to the host's root, which becomes the guest's, read-only
 *   out    a link to the run's folder, which is the one writable place
 *   host   an empty folder
 *   said   a folder for the file "ended", which says how the job ended: "CODE SECONDS", virtual ones since boot
 * so that the kernel's command line, which goes into its entropy, is the same for every run.
 *
 * On the console it says "dstcc: the job starts" before it, and how it ended: for who reads the log, as programs may print
 * there, too. The file is this process's alone: nobody sees the folder it is in.
 *
 * What a program may do as the guest's root is bounded for all: no more tasks than TASKS, and what the kernel itself starts
 * (modprobe) has no rights.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define JOB_BYTES (1 << 20)
#define JOB_STRINGS 4096
#define TASKS "2048" /* each process is one of the host's */

static void off(void)
{
	sync();
	reboot(RB_POWER_OFF);
}

static void die(const char *what)
{
	printf("dstcc: the guest cannot start: %s: %s\n", what, strerror(errno));
	fflush(stdout);
	off();
}

static void mount_on(const char *kind, const char *where, unsigned long flags, const char *options)
{
	if (mount(kind, where, kind, flags, options))
		die(where);
}

/* Make the folder `path` and those above it; those that are there, or cannot be made, are left to mount(). */
static void make_folder(const char *path)
{
	char part[4096];

	snprintf(part, sizeof(part), "%s", path);
	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(part, 0755);
		*slash = '/';
	}
	mkdir(part, 0755);
}

/* The file that says how the job ended, where nobody else finds it. */
static int open_ended(void)
{
	int file;

	mount_on("hostfs", "/host", MS_NODEV, "said");
	file = open("/host/ended", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (file < 0 || umount2("/host", MNT_DETACH))
		die("/said");
	return file;
}

static void set_up(const char *path, const char *value)
{
	int file = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t length = (ssize_t)strlen(value);

	if (file < 0 || write(file, value, (size_t)length) != length)
		die(path);
	close(file);
}

/* The host's tree as root, as switch_root does it: moved over what the kernel mounted. */
static void take_tree(void)
{
	mount_on("hostfs", "/host", MS_RDONLY | MS_NODEV, "tree");
	if (chdir("/host") || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/"))
		die("the host's file tree");
	mount_on("proc", "/proc", 0, NULL);
	mount_on("sysfs", "/sys", 0, NULL);
	mount_on("devtmpfs", "/dev", 0, NULL);
	mount_on("tmpfs", "/run", 0, NULL);
}

/* The kernel opened the console for us; a log wants lines that end with a newline alone, and a job no input. */
static void set_console(void)
{
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct termios mode;

	if (nothing < 0 || dup2(nothing, 0) || tcgetattr(1, &mode))
		die("the console");
	mode.c_oflag &= ~OPOST;
	tcsetattr(1, TCSANOW, &mode);
}

/* Run the job; its exit code, or 128 + the signal that ended it. */
static int run(const char *folder, char **arguments, char **environment)
{
	int status;
	pid_t job = fork();

	if (job == 0) {
		setsid();
		if (chdir(folder) == 0)
			execvpe(arguments[0], arguments, environment);
		fprintf(stderr, "dstcc: %s: %s\n", arguments[0], strerror(errno));
		_exit(127);
	}
	if (job < 0)
		die("fork");
	for (;;) {
		pid_t ended = wait(&status); /* whatever the job left behind falls to us, too */

		if (ended == job)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		if (ended < 0 && errno != EINTR)
			die("wait");
	}
}

int main(void)
{
	static char text[JOB_BYTES];
	static char *strings[JOB_STRINGS];
	struct timespec now;
	ssize_t size = 0, got;
	int count = 0, arguments, code, ended;
	int job = open("/job", O_RDONLY | O_CLOEXEC);

	while (job >= 0 && (got = read(job, text + size, sizeof(text) - 1 - size)) > 0)
		size += got;
	for (char *at = text; at < text + size && count < JOB_STRINGS - 2; at += strlen(at) + 1)
		strings[count++] = at;
	if (count < 4)
		die("/job");
	/* the arguments move down by one: the place of their number becomes that of the NULL after them */
	arguments = atoi(strings[2]);
	memmove(strings + 2, strings + 3, arguments * sizeof(*strings));
	strings[2 + arguments] = NULL;

	ended = open_ended();
	take_tree();
	set_console();
	set_up("/proc/sys/kernel/threads-max", TASKS);
	set_up("/proc/sys/kernel/usermodehelper/bset", "0 0");
	make_folder(strings[0]);
	mount_on("hostfs", strings[0], MS_NODEV, "out");
	setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);

	/* The debug kernel complains once of User-Mode Linux's own fork; that is not the job's doing. */
	if (fork() == 0)
		_exit(0);
	wait(NULL);
	puts("dstcc: the job starts");
	fflush(stdout);
	code = run(strings[1], strings + 2, strings + 3 + arguments);
	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("dstcc: the job ended with %d after %lld.%09ld s\n", code, (long long)now.tv_sec, now.tv_nsec);
	fflush(stdout);
	if (dprintf(ended, "%d %lld.%09ld\n", code, (long long)now.tv_sec, now.tv_nsec) < 0 || close(ended))
		die("/said/ended");
	off();
	return 0;
}
