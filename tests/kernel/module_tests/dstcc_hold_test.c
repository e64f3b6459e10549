// SPDX-License-Identifier: GPL-2.0-only
/*
 * Holds a socket's lock for a time, as a program does that sends from memory which is slow to come.
 * Loading takes as long, and then fails: nothing stays loaded.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/net.h>
#include <net/sock.h>

static int fd = -1;
module_param(fd, int, 0444);
MODULE_PARM_DESC(fd, "the loading process's file descriptor of the socket");

static unsigned int ms;
module_param(ms, uint, 0444);
MODULE_PARM_DESC(ms, "how long, in milliseconds");

static int __init dstcc_hold_init(void)
{
	struct socket *sock;
	int error;

	sock = sockfd_lookup(fd, &error);
	if (!sock)
		return error;
	lock_sock(sock->sk);
	msleep(ms);
	release_sock(sock->sk);
	sockfd_put(sock);
	return -ENODEV;
}

module_init(dstcc_hold_init);

MODULE_DESCRIPTION("Holds a socket's lock");
MODULE_AUTHOR("dstcc");
MODULE_LICENSE("GPL");
