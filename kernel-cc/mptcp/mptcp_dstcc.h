/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * MPTCP's packet scheduler "dstcc" (net/mptcp/dstcc.c): what the module dstcc_cc asks of it, and
 * what net/mptcp/protocol.c does.
 */
#ifndef MPTCP_DSTCC_H
#define MPTCP_DSTCC_H

#include <linux/types.h>
#include <net/net_namespace.h>

/* Of a connection; scenarios have at most 8. */
#define MPTCP_DSTCC_LAYERS	64
/* In the place of a local id: the layer may go on any subflow. */
#define MPTCP_DSTCC_ANY		(-1)
/* Pairs of a layer and a subflow that a connection counts. */
#define MPTCP_DSTCC_ROWS	128

/* Bytes that are written next, after those of the announcement before it in the same message. */
struct mptcp_dstcc_announcement {
	u64 bytes;
	u64 deadline_ns;	/* of CLOCK_MONOTONIC; 0: none */
	s16 local_id;		/* of the subflow; MPTCP_DSTCC_ANY: the table says */
	u8 layer;
};

/* What a subflow carried of a layer, in bytes. */
struct mptcp_dstcc_row {
	u8 layer, local_id;
	u64 carried;		/* for the first time */
	u64 strayed;		/* of these: assigned to another subflow, which was not there */
	u64 moved;		/* again, as the subflow that had them failed */
	u64 late;		/* of `carried`, after the deadline */
};

#if IS_ENABLED(CONFIG_MPTCP_DSTCC)

/* All take the connection's token and sleep; -ENOENT: none of it, -EOPNOTSUPP: other scheduler. */
int mptcp_dstcc_set_table(struct net *net, u32 token, const s16 *local_ids, unsigned int layers);
int mptcp_dstcc_announce(struct net *net, u32 token, const struct mptcp_dstcc_announcement *list,
			 unsigned int count);
/* How many rows were written, at most MPTCP_DSTCC_ROWS. */
int mptcp_dstcc_rows(struct net *net, u32 token, struct mptcp_dstcc_row *rows);
/* The local ids of subflows that can carry data now; how many were written, at most `most`. */
int mptcp_dstcc_living(struct net *net, u32 token, u8 *local_ids, unsigned int most);

#endif

struct mptcp_sock;
struct mptcp_data_frag;

#if IS_ENABLED(CONFIG_MPTCP_DSTCC)

void mptcp_dstcc_init(void);
u16 mptcp_dstcc_limit(struct mptcp_sock *msk, struct sock *ssk, const struct mptcp_data_frag *head);
void mptcp_dstcc_sent(struct mptcp_sock *msk, struct sock *ssk, u64 from, u32 bytes);

#endif

#endif /* MPTCP_DSTCC_H */
