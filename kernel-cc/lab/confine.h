/* SPDX-License-Identifier: GPL-2.0 */
/* What keeps a virtual-time kernel to itself on its host; see confine.c. */
#ifndef DSTCC_CONFINE_H
#define DSTCC_CONFINE_H

#include <sys/types.h>

struct limits {
	unsigned long long file_bytes; /* that any file may grow to */
	unsigned long long address_bytes; /* of a process; 0: no limit */
};

/* Tells of what the host has not or forbids; NULL: nobody asks. */
extern void (*lacking)(const char *what, int error);

/* fork() into namespaces of its own, where the host lets it; -1 on an error. The child calls await_go() first. */
pid_t fork_apart(void);

/* In the child: its namespaces are ready, and it ends with its parent. */
void await_go(void);

/* Narrow this process, for good, to the folder it is in and to the one that "out" there is a link to. */
void confine(const struct limits *most);

#endif
