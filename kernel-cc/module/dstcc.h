/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the three halves of dstcc_cc share: the law (control.c), the messages (netlink.c), and who
 * owns what (main.c).
 *
 * A subflow's record is its socket's private area for congestion control; nothing is allocated
 * per subflow but its place in its network namespace's xarray. A socket stands there from init to
 * release, both under its lock, and release waits for the xarray's: whoever holds that one may read
 * the records of all sockets in it, and of MPTCP's that go with them.
 *
 * Nobody who comes from outside waits for a socket's lock: its holder may sleep for as long as user
 * space lets it. To write, one takes a reference to the socket under the xarray's lock, then the
 * socket's own if it is free, and then asks dstcc_of() whether the socket is still ours. An action
 * that finds it held is left in the record, for the holder's next ACK or until the next look.
 * Order: the socket's lock, then the xarray's. Groups have locks of their own (group.c).
 */
#ifndef DSTCC_H
#define DSTCC_H

#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/tcp.h>

#include "dstcc_law.h"

struct dstcc {
	struct dstcc_law_bdp bdp;
	u32 id;			/* in the namespace's xarray; 0: no room there, no agent sees it */
	u32 round_end;		/* in tcp_sock.delivered: a round trip is over when it gets there */
	u32 window;		/* the agent's; holds while steered */
	u32 initial_cwnd;
	u32 paced_srtt_us;	/* that the pacing rate was computed from, 8-fold as in tcp_sock */
	u32 actions, clamps, fallbacks;
	bool steered;
	u64 silent_us;		/* in tcp_sock.tcp_mstamp: the agent counts as silent from then */
	struct dstcc_action_request *left;	/* while somebody held the socket; exchanged */
	struct dstcc_member *member;	/* of a group; NULL: of none */
	u32 group;		/* its number, 0: none */
	u32 own, lent;		/* the member's window, and what the group had TCP have of it */
};

struct dstcc_net {
	struct net *net;
	struct xarray subflows;	/* id -> struct sock */
	struct xarray groups;	/* id -> struct dstcc_group */
	u32 next_id;
	u32 slot_us, silence_slots, headroom;
	u64 silence_us;		/* their product */
	struct mutex lock;	/* among those who set parameters; readers take single values */
	bool reports, closing;
	u64 slot, due_us;	/* reports so far, and when the next is due; the work's own */
	struct delayed_work report;
	struct delayed_work tend;	/* silence that no ACK notices, actions that were left */
};

struct dstcc_action_request {
	u32 alpha_q16;
	s32 beta;
	bool fall_back;
};

extern struct tcp_congestion_ops dstcc_ops;
extern u32 dstcc_cwnd_max;	/* for the whole module, whatever agents ask for */

struct dstcc_net *dstcc_net(const struct net *net);

/* The record of a locked socket that may have left us in the meantime: NULL then. */
static inline struct dstcc *dstcc_of(struct sock *sk, u32 id)
{
	struct dstcc *dstcc = inet_csk_ca(sk);

	sock_owned_by_me(sk);
	return inet_csk(sk)->icsk_ca_ops == &dstcc_ops && dstcc->id == id ? dstcc : NULL;
}

/* The counts of a socket that nobody here has locked move meanwhile. */
static inline u32 dstcc_in_flight(const struct tcp_sock *tp)
{
	const u32 left = READ_ONCE(tp->sacked_out) + READ_ONCE(tp->lost_out);
	const s32 in_flight = READ_ONCE(tp->packets_out) - left + READ_ONCE(tp->retrans_out);

	return max(in_flight, 0);
}

static inline u64 dstcc_now_us(void)
{
	return div_u64(ktime_get_ns(), NSEC_PER_USEC);
}

/* Act on a locked socket of ours. */
void dstcc_steer(struct sock *sk, const struct dstcc_action_request *action);

/*
 * What is due to a locked socket of ours at a time: the action that was left for it, Reno after a
 * silence. Returns when the agent will count as silent, U64_MAX without an agent's window.
 */
u64 dstcc_tend(struct sock *sk, u64 now_us);

/*
 * lock_sock() for who may not wait. Where somebody holds the socket, its holder may be asked to
 * have TCP send as it lets go.
 */
bool dstcc_trylock(struct sock *sk, bool push);
void dstcc_push(struct sock *sk);

/* The window that is the subflow's own: its group may have lent TCP less. Then TCP has it again. */
u32 dstcc_own_window(const struct sock *sk);
void dstcc_restore(struct sock *sk);

/* Subflows that share a window (group.c). All but look() and set_beside() on a locked socket. */
struct dstcc_group_state {
	u32 window, beside, in_flight, members, waiting;
	u64 unsent_bytes;
};

void dstcc_group_ask(struct sock *sk);
void dstcc_group_tell(struct sock *sk);
int dstcc_group_join(struct dstcc_net *own, struct sock *sk, u32 id);
void dstcc_group_leave(struct sock *sk);
int dstcc_group_set_beside(struct dstcc_net *own, u32 id, u32 beside);
int dstcc_group_look(struct dstcc_net *own, u32 id, struct dstcc_group_state *state);
int dstcc_group_init(void);
void dstcc_group_exit(void);

struct genl_family;
struct genl_info;
struct sk_buff;

/* What a connection's scheduler gets and reports (layers.c). */
extern const struct nla_policy dstcc_layers_policy[];
int dstcc_table_set(struct sk_buff *skb, struct genl_info *info);
int dstcc_announce(struct sk_buff *skb, struct genl_info *info);
int dstcc_layers_get(struct sk_buff *skb, struct genl_info *info);

/* Groups in messages (groups_netlink.c). */
extern const struct nla_policy dstcc_group_policy[];
int dstcc_group_set(struct sk_buff *skb, struct genl_info *info);
int dstcc_group_get(struct sk_buff *skb, struct genl_info *info);

extern struct genl_family dstcc_family;

/* Answers with a number. */
int dstcc_reply_u32(struct genl_info *info, u8 command, int attribute, u32 value);

/* The subflow of a number, with a reference; NULL where there is none. */
struct sock *dstcc_find(struct dstcc_net *own, u32 id);

int dstcc_netlink_register(void);
void dstcc_netlink_unregister(void);
void dstcc_netlink_report(struct work_struct *work);
void dstcc_netlink_tend(struct work_struct *work);
void dstcc_netlink_close(struct dstcc_net *own);

#endif /* DSTCC_H */
