/* Preloaded: a process that makes an internet socket ends. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int socket(int family, int kind, int protocol)
{
	static const char said[] = "a socket to the network\n";

	if (family == AF_INET || family == AF_INET6) {
		(void)!write(2, said, sizeof said - 1);
		_exit(99);
	}
	return ((int (*)(int, int, int))dlsym(RTLD_NEXT, "socket"))(family, kind, protocol);
}
