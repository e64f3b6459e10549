/* Preloaded into a dstcc process: counts what it does to files below one folder, and at one of these calls ends the process, or
 * lets the call fail. Armed from Python (tests/crash/points.py) by crash_arm(), so that the processes of many points are forks
 * of one that has imported everything.
 *
 * Calls that count: opening a file to write, mkdir, write, pwrite, writev, ftruncate, fsync, fdatasync, rename, renameat2. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static char folder[PATH_MAX];
static size_t folder_length;
static long at, error, count;
static int log_handle = -1;

void crash_arm(const char *below, long point, long number, int log)
{
	snprintf(folder, sizeof folder, "%s/", below);
	folder_length = strlen(folder);
	at = point;
	error = number;
	count = 0;
	log_handle = log;
}

long crash_count(void)
{
	return count;
}

static void note(const char *what, const char *path, const char *other)
{
	char line[2 * PATH_MAX + 16];

	if (log_handle < 0)
		return;
	int length = snprintf(line, sizeof line, "%s\t%s\t%s\n", what, path, other);
	syscall(SYS_write, log_handle, line, (size_t)length);
}

/* Whether the call fails now. */
static int struck(const char *what, const char *path, const char *other)
{
	if (folder_length == 0 || strncmp(path, folder, folder_length) != 0)
		return 0;
	note(what, path, other);
	if (__atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST) != at)
		return 0;
	if (error == 0)
		kill(getpid(), SIGKILL);
	errno = (int)error;
	return 1;
}

static int struck_at(const char *what, int handle)
{
	char link[64], path[PATH_MAX];

	if (folder_length == 0)
		return 0;
	snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
	ssize_t length = readlink(link, path, sizeof path - 1);
	if (length < 0)
		return 0;
	path[length] = '\0';
	return struck(what, path, "");
}

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))

#define OPENS(name) \
	int name(const char *path, int flags, ...) \
	{ \
		va_list rest; \
		va_start(rest, flags); \
		mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0; \
		va_end(rest); \
		if ((flags & O_ACCMODE) != O_RDONLY && struck("open", path, "")) \
			return -1; \
		return REAL(name)(path, flags, mode); \
	}
OPENS(open)
OPENS(open64)

#define OPENS_AT(name) \
	int name(int where, const char *path, int flags, ...) \
	{ \
		va_list rest; \
		va_start(rest, flags); \
		mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0; \
		va_end(rest); \
		if ((flags & O_ACCMODE) != O_RDONLY && struck("open", path, "")) \
			return -1; \
		return REAL(name)(where, path, flags, mode); \
	}
OPENS_AT(openat)
OPENS_AT(openat64)

int mkdir(const char *path, mode_t mode)
{
	return struck("mkdir", path, "") ? -1 : REAL(mkdir)(path, mode);
}

ssize_t write(int handle, const void *from, size_t size)
{
	return struck_at("write", handle) ? -1 : REAL(write)(handle, from, size);
}

ssize_t pwrite(int handle, const void *from, size_t size, off_t place)
{
	return struck_at("write", handle) ? -1 : REAL(pwrite)(handle, from, size, place);
}

ssize_t pwrite64(int handle, const void *from, size_t size, off_t place)
{
	return struck_at("write", handle) ? -1 : REAL(pwrite64)(handle, from, size, place);
}

ssize_t writev(int handle, const struct iovec *from, int parts)
{
	return struck_at("write", handle) ? -1 : REAL(writev)(handle, from, parts);
}

int ftruncate64(int handle, off_t size)
{
	return struck_at("write", handle) ? -1 : REAL(ftruncate64)(handle, size);
}

int fsync(int handle)
{
	return struck_at("fsync", handle) ? -1 : REAL(fsync)(handle);
}

int fdatasync(int handle)
{
	return struck_at("fsync", handle) ? -1 : REAL(fdatasync)(handle);
}

int rename(const char *from, const char *to)
{
	return struck("rename", from, to) ? -1 : REAL(rename)(from, to);
}

int renameat2(int from_where, const char *from, int to_where, const char *to, unsigned int flags)
{
	return struck("rename", from, to) ? -1 : REAL(renameat2)(from_where, from, to_where, to, flags);
}
