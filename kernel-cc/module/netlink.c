// SPDX-License-Identifier: GPL-2.0-only
/*
 * The generic netlink family "dstcc" (dstcc.yaml): state out, actions and parameters in, a report
 * per slot.
 *
 * Operations run in parallel: what they share is guarded by the lock of a namespace's xarray, by
 * the socket's lock, which nobody here waits for (dstcc.h), and by that of the parameters. All
 * attributes are validated strictly, by policies with ranges, before an operation sees them.
 */
#include <linux/module.h>
#include <net/genetlink.h>
#include <net/mptcp.h>

#include "dstcc.h"
#include "dstcc_netlink.h"

/*
 * A kernel's source has this header, packages for building modules do not: ids and tokens then
 * stay out of the state.
 */
#ifdef DSTCC_MPTCP_PROTOCOL_H
#include "protocol.h"
#endif

/* What a namespace's own root may set; more, or none (0), is for the machine's administrator. */
#define DSTCC_HEADROOM_MAX	4

/* The first subflow whose number is at least *id, with a reference; NULL after the last. */
static struct sock *dstcc_next(struct dstcc_net *own, unsigned long *id)
{
	struct sock *sk;

	xa_lock_bh(&own->subflows);
	sk = xa_find(&own->subflows, id, U32_MAX, XA_PRESENT);
	if (sk)
		sock_hold(sk);
	xa_unlock_bh(&own->subflows);
	return sk;
}

struct sock *dstcc_find(struct dstcc_net *own, u32 id)
{
	unsigned long found = id;
	struct sock *sk = dstcc_next(own, &found);

	if (sk && found != id) {
		sock_put(sk);
		sk = NULL;
	}
	return sk;
}

struct dstcc_identity {
	u32 token;
	u8 local_id, remote_id;
	bool known, backup, joining;
};

/*
 * A subflow's context keeps its connection alive until after our release(), which waits for the
 * xarray's lock that the caller holds.
 */
static struct dstcc_identity dstcc_identify(const struct sock *sk)
{
	struct dstcc_identity identity = {};
#ifdef DSTCC_MPTCP_PROTOCOL_H
	const struct mptcp_subflow_context *context;

	const struct sock *connection;

	context = sk_is_mptcp(sk) ? mptcp_subflow_ctx(sk) : NULL;
	if (!context)
		return identity;
	connection = READ_ONCE(context->conn);
	identity.known = true;
	identity.token = connection ? READ_ONCE(mptcp_sk(connection)->token) : context->token;
	identity.local_id = READ_ONCE(context->local_id);
	identity.remote_id = READ_ONCE(context->remote_id);
	/* The peer's word or ours: the kernel's scheduler heeds either. */
	identity.backup = context->backup || context->request_bkup;
	identity.joining = context->request_join && !context->fully_established;
#endif
	return identity;
}

static int dstcc_put_addresses(struct sk_buff *skb, const struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);

#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		if (nla_put_in6_addr(skb, DSTCC_SUBFLOW_LOCAL_ADDRESS, &sk->sk_v6_rcv_saddr) ||
		    nla_put_in6_addr(skb, DSTCC_SUBFLOW_REMOTE_ADDRESS, &sk->sk_v6_daddr))
			return -EMSGSIZE;
		return 0;
	}
#endif
	return nla_put_in_addr(skb, DSTCC_SUBFLOW_LOCAL_ADDRESS, inet->inet_saddr) ||
	       nla_put_in_addr(skb, DSTCC_SUBFLOW_REMOTE_ADDRESS, inet->inet_daddr) ? -EMSGSIZE : 0;
}

static int dstcc_put_identity(struct sk_buff *skb, const struct sock *sk,
			      const struct dstcc *dstcc, u32 id)
{
	const struct dstcc_identity identity = dstcc_identify(sk);
	u32 flags = READ_ONCE(dstcc->steered) ? DSTCC_FLAG_STEERED : 0;

	if (sk_is_mptcp(sk))
		flags |= DSTCC_FLAG_MPTCP;
	if (identity.backup)
		flags |= DSTCC_FLAG_BACKUP;
	if (identity.joining)
		flags |= DSTCC_FLAG_JOINING;
	if (nla_put_u32(skb, DSTCC_SUBFLOW_ID, id) ||
	    nla_put_u32(skb, DSTCC_SUBFLOW_FLAGS, flags))
		return -EMSGSIZE;
	if (nla_put_u16(skb, DSTCC_SUBFLOW_LOCAL_PORT, sk->sk_num) ||
	    nla_put_u16(skb, DSTCC_SUBFLOW_REMOTE_PORT, ntohs(sk->sk_dport)))
		return -EMSGSIZE;
	if (!identity.known)
		return 0;
	return nla_put_u32(skb, DSTCC_SUBFLOW_TOKEN, identity.token) ||
	       nla_put_u8(skb, DSTCC_SUBFLOW_LOCAL_ID, identity.local_id) ||
	       nla_put_u8(skb, DSTCC_SUBFLOW_REMOTE_ID, identity.remote_id) ? -EMSGSIZE : 0;
}

static int dstcc_put_u64(struct sk_buff *skb, int attribute, u64 value)
{
	return nla_put_u64_64bit(skb, attribute, value, DSTCC_SUBFLOW_PAD);
}

static u64 dstcc_delivery_rate(const struct tcp_sock *tp)
{
	const u64 bytes = (u64)READ_ONCE(tp->rate_delivered) * READ_ONCE(tp->mss_cache);
	const u32 interval_us = READ_ONCE(tp->rate_interval_us);

	return interval_us ? div_u64(bytes * USEC_PER_SEC, interval_us) : 0;
}

static int dstcc_put_path(struct sk_buff *skb, const struct sock *sk, const struct dstcc *dstcc)
{
	const unsigned long pacing = READ_ONCE(sk->sk_pacing_rate);
	const struct tcp_sock *tp = tcp_sk(sk);
	const u32 bdp = dstcc_law_bdp_segments(&dstcc->bdp), min_rtt_us = tcp_min_rtt(tp);
	const u32 unsent = READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_nxt);
	const u32 group = READ_ONCE(dstcc->group);
	const u32 cwnd = group ? READ_ONCE(dstcc->own) : READ_ONCE(tp->snd_cwnd);

	return nla_put_u8(skb, DSTCC_SUBFLOW_CA_STATE, inet_csk(sk)->icsk_ca_state) ||
	       nla_put_u8(skb, DSTCC_SUBFLOW_TCP_STATE, inet_sk_state_load(sk)) ||
	       nla_put_u32(skb, DSTCC_SUBFLOW_MSS, READ_ONCE(tp->mss_cache)) ||
	       nla_put_u32(skb, DSTCC_SUBFLOW_CWND, cwnd) ||
	       nla_put_u32(skb, DSTCC_SUBFLOW_SSTHRESH, READ_ONCE(tp->snd_ssthresh)) ||
	       nla_put_u32(skb, DSTCC_SUBFLOW_IN_FLIGHT, dstcc_in_flight(tp)) ||
	       nla_put_u32(skb, DSTCC_SUBFLOW_SRTT_US, READ_ONCE(tp->srtt_us) >> 3) ||
	       nla_put_u32(skb, DSTCC_SUBFLOW_MIN_RTT_US, min_rtt_us == U32_MAX ? 0 : min_rtt_us) ||
	       dstcc_put_u64(skb, DSTCC_SUBFLOW_UNSENT_BYTES, unsent) ||
	       dstcc_put_u64(skb, DSTCC_SUBFLOW_DELIVERY_RATE, dstcc_delivery_rate(tp)) ||
	       dstcc_put_u64(skb, DSTCC_SUBFLOW_PACING_RATE, pacing == ~0UL ? 0 : pacing) ||
	       nla_put_u32(skb, DSTCC_SUBFLOW_GROUP, group) ||
	       nla_put_u32(skb, DSTCC_SUBFLOW_BDP, bdp) ? -EMSGSIZE : 0;
}

static int dstcc_put_counters(struct sk_buff *skb, const struct sock *sk, const struct dstcc *dstcc)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return nla_put_u32(skb, DSTCC_SUBFLOW_SENT, READ_ONCE(tp->data_segs_out)) ||
	       nla_put_u32(skb, DSTCC_SUBFLOW_DELIVERED, READ_ONCE(tp->delivered)) ||
	       nla_put_u32(skb, DSTCC_SUBFLOW_LOST, READ_ONCE(tp->lost)) ||
	       nla_put_u32(skb, DSTCC_SUBFLOW_RETRANSMITTED, READ_ONCE(tp->total_retrans)) ||
	       dstcc_put_u64(skb, DSTCC_SUBFLOW_ACKED_BYTES, READ_ONCE(tp->bytes_acked)) ||
	       nla_put_u32(skb, DSTCC_SUBFLOW_ACTIONS, READ_ONCE(dstcc->actions)) ||
	       nla_put_u32(skb, DSTCC_SUBFLOW_CLAMPS, READ_ONCE(dstcc->clamps)) ||
	       nla_put_u32(skb, DSTCC_SUBFLOW_FALLBACKS, READ_ONCE(dstcc->fallbacks)) ?
		      -EMSGSIZE : 0;
}

/*
 * The state of the first subflow whose number is at least *id, which it becomes; -ENOENT after the
 * last. Under the xarray's lock, so that the socket is ours for as long, and not under its own,
 * whose holder may sleep: values of one instant are those of neighbouring ones at worst.
 */
static int dstcc_put_next(struct dstcc_net *own, struct sk_buff *skb, unsigned long *id)
{
	const struct dstcc *dstcc;
	int error = -ENOENT;
	struct sock *sk;

	xa_lock_bh(&own->subflows);
	sk = xa_find(&own->subflows, id, U32_MAX, XA_PRESENT);
	if (sk) {
		dstcc = inet_csk_ca(sk);
		error = dstcc_put_identity(skb, sk, dstcc, *id) ?:
			dstcc_put_addresses(skb, sk) ?:
			dstcc_put_path(skb, sk, dstcc) ?:
			dstcc_put_counters(skb, sk, dstcc);
	}
	xa_unlock_bh(&own->subflows);
	return error;
}

/* One message per subflow; args[0] is the number from which on the next call goes on. */
static int dstcc_subflow_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct dstcc_net *own = dstcc_net(sock_net(skb->sk));
	unsigned long id = cb->args[0];
	void *header;
	int error;

	do {
		header = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				     &dstcc_family, NLM_F_MULTI, DSTCC_CMD_SUBFLOW_GET);
		error = header ? dstcc_put_next(own, skb, &id) : -EMSGSIZE;
		if (!error) {
			genlmsg_end(skb, header);
			id++;
		} else if (header) {
			genlmsg_cancel(skb, header);
		}
	} while (!error);
	cb->args[0] = id;
	return skb->len || error == -ENOENT ? skb->len : error;
}

/* What an act message asks of one subflow. */
struct dstcc_request {
	struct sock *sk;
	u32 id;
	struct dstcc_action_request request;
};

static struct netlink_range_validation dstcc_alpha_range = { .max = DSTCC_LAW_ALPHA_MAX };
static struct netlink_range_validation_signed dstcc_beta_range = {
	.min = -DSTCC_LAW_BETA_MAX,
	.max = DSTCC_LAW_BETA_MAX,
};

static const struct nla_policy dstcc_action_policy[DSTCC_ACTION_MAX + 1] = {
	[DSTCC_ACTION_SUBFLOW]	 = NLA_POLICY_MIN(NLA_U32, 1),
	[DSTCC_ACTION_TOKEN]	 = { .type = NLA_U32 },
	[DSTCC_ACTION_ALPHA]	 = NLA_POLICY_FULL_RANGE(NLA_U32, &dstcc_alpha_range),
	[DSTCC_ACTION_BETA]	 = NLA_POLICY_FULL_RANGE_SIGNED(NLA_S32, &dstcc_beta_range),
	[DSTCC_ACTION_FALL_BACK] = { .type = NLA_FLAG },
};

static const struct nla_policy dstcc_act_policy[DSTCC_ACT_MAX + 1] = {
	[DSTCC_ACT_ACTION]  = NLA_POLICY_NESTED(dstcc_action_policy),
	[DSTCC_ACT_APPLIED] = { .type = NLA_REJECT },
};

/* Whether the subflow is of that connection. */
static bool dstcc_has_token(struct dstcc_net *own, const struct sock *sk, u32 id, u32 token)
{
	bool same = false;

	xa_lock_bh(&own->subflows);
	if (xa_load(&own->subflows, id) == sk) {
		const struct dstcc_identity identity = dstcc_identify(sk);

		same = identity.known && identity.token == token;
	}
	xa_unlock_bh(&own->subflows);
	return same;
}

/* Fill in `act` from one action; on success it holds a reference to its socket. */
static int dstcc_parse_action(struct dstcc_net *own, const struct nlattr *nest,
			      struct dstcc_request *act, struct netlink_ext_ack *extack)
{
	struct nlattr *tb[DSTCC_ACTION_MAX + 1], *token, *alpha, *beta;
	int error = nla_parse_nested(tb, DSTCC_ACTION_MAX, nest, dstcc_action_policy, extack);

	if (error)
		return error;
	token = tb[DSTCC_ACTION_TOKEN];
	alpha = tb[DSTCC_ACTION_ALPHA];
	beta = tb[DSTCC_ACTION_BETA];
	if (!tb[DSTCC_ACTION_SUBFLOW]) {
		NL_SET_ERR_MSG_ATTR(extack, nest, "an action names no subflow");
		return -EINVAL;
	}
	act->request.fall_back = tb[DSTCC_ACTION_FALL_BACK];
	if (act->request.fall_back ? alpha || beta : !alpha) {
		NL_SET_ERR_MSG_ATTR(extack, nest, "either alpha and maybe beta, or fall-back");
		return -EINVAL;
	}
	act->request.alpha_q16 = alpha ? nla_get_u32(alpha) : 0;
	act->request.beta = beta ? nla_get_s32(beta) : 0;
	act->id = nla_get_u32(tb[DSTCC_ACTION_SUBFLOW]);
	act->sk = dstcc_find(own, act->id);
	if (!act->sk) {
		NL_SET_ERR_MSG_ATTR(extack, tb[DSTCC_ACTION_SUBFLOW], "no such subflow");
		return -ENOENT;
	}
	if (token && !dstcc_has_token(own, act->sk, act->id, nla_get_u32(token))) {
		NL_SET_ERR_MSG_ATTR(extack, token, "the subflow is of another connection");
		sock_put(act->sk);
		return -ENOENT;
	}
	return 0;
}

static bool dstcc_named_before(const struct dstcc_request *acts, unsigned int count, u32 id)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (acts[i].id == id)
			return true;
	return false;
}

/* All actions of a message; their sockets are held, `count` of them even on an error. */
static int dstcc_parse_actions(struct dstcc_net *own, struct genl_info *info,
			       struct dstcc_request *acts, unsigned int *count)
{
	struct netlink_ext_ack *extack = info->extack;
	const struct nlattr *nest;
	int rest, error;

	nlmsg_for_each_attr(nest, info->nlhdr, GENL_HDRLEN, rest) {
		if (nla_type(nest) != DSTCC_ACT_ACTION)
			continue;
		if (*count == DSTCC_ACTIONS_MAX) {
			NL_SET_ERR_MSG_ATTR(extack, nest, "more actions than one message may have");
			return -E2BIG;
		}
		error = dstcc_parse_action(own, nest, &acts[*count], extack);
		if (error)
			return error;
		++*count;
		if (dstcc_named_before(acts, *count - 1, acts[*count - 1].id)) {
			NL_SET_ERR_MSG_ATTR(extack, nest, "a subflow is named twice");
			return -EINVAL;
		}
	}
	if (!*count) {
		NL_SET_ERR_MSG(extack, "no action");
		return -EINVAL;
	}
	return 0;
}

/* Look after the subflows at a time, unless that is to happen before. */
static void dstcc_tend_at(struct dstcc_net *own, u64 due_us)
{
	const u64 now_us = dstcc_now_us();
	const u64 wait_us = due_us > now_us ? due_us - now_us : 0;
	const unsigned long wait = nsecs_to_jiffies(wait_us * NSEC_PER_USEC) + 1;
	struct delayed_work *tend = &own->tend;

	xa_lock_bh(&own->subflows); /* one at a time */
	if (!READ_ONCE(own->closing) &&
	    !(delayed_work_pending(tend) && time_before(tend->timer.expires, jiffies + wait)))
		mod_delayed_work(system_wq, tend, wait);
	xa_unlock_bh(&own->subflows);
}

/* When to look again after a socket that somebody held. */
static u64 dstcc_retry_us(const struct dstcc_net *own)
{
	return dstcc_now_us() + READ_ONCE(own->slot_us) / 8;
}

/* The socket's holder takes it with its next ACK; of several the last counts. */
static bool dstcc_leave(struct dstcc_net *own, const struct dstcc_request *act)
{
	struct dstcc_action_request *left = kmemdup(&act->request, sizeof(*left), GFP_KERNEL);
	bool there;

	if (!left)
		return false;
	xa_lock_bh(&own->subflows);
	there = xa_load(&own->subflows, act->id) == act->sk;
	if (there) {
		struct dstcc *dstcc = inet_csk_ca(act->sk);

		left = xchg(&dstcc->left, left);
	}
	xa_unlock_bh(&own->subflows);
	kfree(left);
	if (there)
		dstcc_tend_at(own, dstcc_retry_us(own));
	return there;
}

static bool dstcc_apply(struct dstcc_net *own, const struct dstcc_request *act)
{
	bool there;

	if (!dstcc_trylock(act->sk, false))
		return dstcc_leave(own, act);
	there = dstcc_of(act->sk, act->id);
	if (there)
		dstcc_steer(act->sk, &act->request);
	release_sock(act->sk);
	return there;
}

/* How many were applied: a socket may have closed since the message was read. */
static unsigned int dstcc_apply_all(struct dstcc_net *own, const struct dstcc_request *acts,
				    unsigned int count)
{
	unsigned int i, applied = 0;

	for (i = 0; i < count; i++)
		applied += dstcc_apply(own, &acts[i]);
	if (applied)
		dstcc_tend_at(own, dstcc_now_us() + READ_ONCE(own->silence_us));
	return applied;
}

/* An agent's silence is noticed by the clock: where nothing is acknowledged nothing else would. */
void dstcc_netlink_tend(struct work_struct *work)
{
	struct dstcc_net *own = container_of(to_delayed_work(work), struct dstcc_net, tend);
	const u64 now_us = dstcc_now_us();
	u64 next_us = U64_MAX;
	unsigned long id;
	struct sock *sk;

	for (id = 1; (sk = dstcc_next(own, &id)); id++) {
		u64 due_us = dstcc_retry_us(own);

		if (dstcc_trylock(sk, false)) {
			due_us = dstcc_of(sk, id) ? dstcc_tend(sk, now_us) : U64_MAX;
			release_sock(sk);
		}
		sock_put(sk);
		next_us = min(next_us, due_us);
	}
	if (next_us != U64_MAX)
		dstcc_tend_at(own, next_us);
}

int dstcc_reply_u32(struct genl_info *info, u8 command, int attribute, u32 value)
{
	struct sk_buff *skb = genlmsg_new(nla_total_size(sizeof(u32)), GFP_KERNEL);
	void *header;

	if (!skb)
		return -ENOMEM;
	header = genlmsg_put_reply(skb, info, &dstcc_family, 0, command);
	if (!header || nla_put_u32(skb, attribute, value)) {
		nlmsg_free(skb);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return genlmsg_reply(skb, info);
}

/* A message is refused as a whole, before anything of it is applied. */
static int dstcc_act_do(struct sk_buff *skb, struct genl_info *info)
{
	struct dstcc_net *own = dstcc_net(genl_info_net(info));
	unsigned int count = 0, applied = 0, i;
	struct dstcc_request *acts;
	int error;

	acts = kcalloc(DSTCC_ACTIONS_MAX, sizeof(*acts), GFP_KERNEL);
	if (!acts)
		return -ENOMEM;
	error = dstcc_parse_actions(own, info, acts, &count);
	if (!error)
		applied = dstcc_apply_all(own, acts, count);
	for (i = 0; i < count; i++)
		sock_put(acts[i].sk);
	kfree(acts);
	return error ?: dstcc_reply_u32(info, DSTCC_CMD_ACT, DSTCC_ACT_APPLIED, applied);
}

static struct netlink_range_validation dstcc_cwnd_range = {
	.min = DSTCC_LAW_CWND_MIN,
	.max = DSTCC_LAW_CWND_MAX,
};

static const struct nla_policy dstcc_parameter_policy[DSTCC_PARAMETER_MAX + 1] = {
	[DSTCC_PARAMETER_SLOT_US]	= NLA_POLICY_MIN(NLA_U32, 1000),
	[DSTCC_PARAMETER_SILENCE_SLOTS] = NLA_POLICY_RANGE(NLA_U32, 1, 1000),
	[DSTCC_PARAMETER_HEADROOM]	= NLA_POLICY_MAX(NLA_U32, 1024),
	[DSTCC_PARAMETER_REPORTS]	= NLA_POLICY_MAX(NLA_U8, 1),
	[DSTCC_PARAMETER_CWND_MAX]	= { .type = NLA_REJECT },
};

static const struct nla_policy dstcc_limit_policy[DSTCC_PARAMETER_MAX + 1] = {
	[DSTCC_PARAMETER_SLOT_US]	= { .type = NLA_REJECT },
	[DSTCC_PARAMETER_SILENCE_SLOTS] = { .type = NLA_REJECT },
	[DSTCC_PARAMETER_HEADROOM]	= { .type = NLA_REJECT },
	[DSTCC_PARAMETER_REPORTS]	= { .type = NLA_REJECT },
	[DSTCC_PARAMETER_CWND_MAX]	= NLA_POLICY_FULL_RANGE(NLA_U32, &dstcc_cwnd_range),
};

static int dstcc_parameters_get(struct sk_buff *request, struct genl_info *info)
{
	const struct dstcc_net *own = dstcc_net(genl_info_net(info));
	struct sk_buff *skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	void *header;

	if (!skb)
		return -ENOMEM;
	header = genlmsg_put_reply(skb, info, &dstcc_family, 0, DSTCC_CMD_PARAMETERS_GET);
	if (!header || nla_put_u32(skb, DSTCC_PARAMETER_SLOT_US, READ_ONCE(own->slot_us)) ||
	    nla_put_u32(skb, DSTCC_PARAMETER_SILENCE_SLOTS, READ_ONCE(own->silence_slots)) ||
	    nla_put_u32(skb, DSTCC_PARAMETER_HEADROOM, READ_ONCE(own->headroom)) ||
	    nla_put_u8(skb, DSTCC_PARAMETER_REPORTS, READ_ONCE(own->reports)) ||
	    nla_put_u32(skb, DSTCC_PARAMETER_CWND_MAX, READ_ONCE(dstcc_cwnd_max))) {
		nlmsg_free(skb);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return genlmsg_reply(skb, info);
}

static void dstcc_await_slot(struct dstcc_net *own)
{
	const u64 now_us = dstcc_now_us();

	own->due_us += READ_ONCE(own->slot_us);
	if (own->due_us <= now_us) /* behind: slots are left out, not made up for */
		own->due_us = now_us + READ_ONCE(own->slot_us);
	schedule_delayed_work(&own->report, usecs_to_jiffies(own->due_us - now_us));
}

static void dstcc_report_again(struct dstcc_net *own, bool reports)
{
	cancel_delayed_work_sync(&own->report);
	WRITE_ONCE(own->reports, reports && !own->closing);
	if (!own->reports)
		return;
	own->due_us = dstcc_now_us();
	dstcc_await_slot(own);
}

/*
 * The control is for everybody, and a user namespace's root has all rights over its networks: the
 * guard of the network that they lead to is not theirs to lift.
 */
static bool dstcc_may_set(const struct sk_buff *skb, const struct nlattr *headroom)
{
	const u32 wanted = headroom ? nla_get_u32(headroom) : 1;

	return (wanted && wanted <= DSTCC_HEADROOM_MAX) || netlink_capable(skb, CAP_NET_ADMIN);
}

static int dstcc_parameters_set(struct sk_buff *skb, struct genl_info *info)
{
	struct dstcc_net *own = dstcc_net(genl_info_net(info));
	struct nlattr **attrs = info->attrs;
	bool reports;

	if (!dstcc_may_set(skb, attrs[DSTCC_PARAMETER_HEADROOM])) {
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[DSTCC_PARAMETER_HEADROOM],
				    "0 and more than 4 need CAP_NET_ADMIN of the machine");
		return -EPERM;
	}
	mutex_lock(&own->lock);
	reports = own->reports;
	if (attrs[DSTCC_PARAMETER_SLOT_US])
		WRITE_ONCE(own->slot_us, nla_get_u32(attrs[DSTCC_PARAMETER_SLOT_US]));
	if (attrs[DSTCC_PARAMETER_SILENCE_SLOTS])
		WRITE_ONCE(own->silence_slots, nla_get_u32(attrs[DSTCC_PARAMETER_SILENCE_SLOTS]));
	WRITE_ONCE(own->silence_us, (u64)own->silence_slots * own->slot_us);
	if (attrs[DSTCC_PARAMETER_HEADROOM])
		WRITE_ONCE(own->headroom, nla_get_u32(attrs[DSTCC_PARAMETER_HEADROOM]));
	if (attrs[DSTCC_PARAMETER_REPORTS])
		reports = nla_get_u8(attrs[DSTCC_PARAMETER_REPORTS]);
	if (attrs[DSTCC_PARAMETER_REPORTS] || attrs[DSTCC_PARAMETER_SLOT_US])
		dstcc_report_again(own, reports);
	mutex_unlock(&own->lock);
	return 0;
}

static int dstcc_limits_set(struct sk_buff *skb, struct genl_info *info)
{
	if (!info->attrs[DSTCC_PARAMETER_CWND_MAX]) {
		NL_SET_ERR_MSG(info->extack, "no cwnd-max");
		return -EINVAL;
	}
	WRITE_ONCE(dstcc_cwnd_max, nla_get_u32(info->attrs[DSTCC_PARAMETER_CWND_MAX]));
	return 0;
}

/* One report message from subflow *id on; 1 while there are more subflows than fit. */
static int dstcc_report_message(struct dstcc_net *own, unsigned long *id)
{
	struct sk_buff *skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	struct nlattr *more, *nest;
	void *header;
	int error;

	if (!skb)
		return -ENOBUFS;
	header = genlmsg_put(skb, 0, 0, &dstcc_family, 0, DSTCC_CMD_REPORT);
	more = header ? nla_reserve(skb, DSTCC_REPORT_MORE, sizeof(u8)) : NULL;
	if (!more || nla_put_u64_64bit(skb, DSTCC_REPORT_SLOT, own->slot, DSTCC_REPORT_PAD) ||
	    nla_put_u64_64bit(skb, DSTCC_REPORT_TIME_US, dstcc_now_us(), DSTCC_REPORT_PAD)) {
		nlmsg_free(skb);
		return -ENOBUFS;
	}
	do {
		nest = nla_nest_start(skb, DSTCC_REPORT_SUBFLOW);
		error = nest ? dstcc_put_next(own, skb, id) : -EMSGSIZE;
		if (!error) {
			nla_nest_end(skb, nest);
			++*id;
		} else if (nest) {
			nla_nest_cancel(skb, nest);
		}
	} while (!error);
	*(u8 *)nla_data(more) = error == -EMSGSIZE;
	genlmsg_end(skb, header);
	genlmsg_multicast_netns(&dstcc_family, own->net, skb, 0, 0, GFP_KERNEL);
	return error == -EMSGSIZE;
}

/* Reports end with their last listener, so that an agent that died leaves no clock behind. */
void dstcc_netlink_report(struct work_struct *work)
{
	struct dstcc_net *own = container_of(to_delayed_work(work), struct dstcc_net, report);
	unsigned long id = 1;
	int more;

	if (!genl_has_listeners(&dstcc_family, own->net, 0)) {
		WRITE_ONCE(own->reports, false);
		return;
	}
	own->slot++;
	do
		more = dstcc_report_message(own, &id);
	while (more > 0);
	/* The rest of this report is lost: listeners are told, as by a queue that is full. */
	if (more < 0)
		genl_set_err(&dstcc_family, own->net, 0, 0, more);
	dstcc_await_slot(own);
}

void dstcc_netlink_close(struct dstcc_net *own)
{
	mutex_lock(&own->lock);
	WRITE_ONCE(own->closing, true);
	dstcc_report_again(own, false);
	mutex_unlock(&own->lock);
	cancel_delayed_work_sync(&own->tend);
}

static const struct genl_ops dstcc_genl_ops[] = {
	{
		.cmd = DSTCC_CMD_SUBFLOW_GET,
		.dumpit = dstcc_subflow_dump,
	},
	{
		.cmd = DSTCC_CMD_ACT,
		.flags = GENL_UNS_ADMIN_PERM,
		.policy = dstcc_act_policy,
		.maxattr = DSTCC_ACT_MAX,
		.doit = dstcc_act_do,
	},
	{
		.cmd = DSTCC_CMD_PARAMETERS_GET,
		.doit = dstcc_parameters_get,
	},
	{
		.cmd = DSTCC_CMD_PARAMETERS_SET,
		.flags = GENL_UNS_ADMIN_PERM,
		.policy = dstcc_parameter_policy,
		.maxattr = DSTCC_PARAMETER_MAX,
		.doit = dstcc_parameters_set,
	},
	{
		.cmd = DSTCC_CMD_LIMITS_SET,
		.flags = GENL_ADMIN_PERM,
		.policy = dstcc_limit_policy,
		.maxattr = DSTCC_PARAMETER_MAX,
		.doit = dstcc_limits_set,
	},
	{
		.cmd = DSTCC_CMD_TABLE_SET,
		.flags = GENL_UNS_ADMIN_PERM,
		.policy = dstcc_layers_policy,
		.maxattr = DSTCC_LAYERS_MAX,
		.doit = dstcc_table_set,
	},
	{
		.cmd = DSTCC_CMD_ANNOUNCE,
		.flags = GENL_UNS_ADMIN_PERM,
		.policy = dstcc_layers_policy,
		.maxattr = DSTCC_LAYERS_MAX,
		.doit = dstcc_announce,
	},
	{
		.cmd = DSTCC_CMD_LAYERS_GET,
		.policy = dstcc_layers_policy,
		.maxattr = DSTCC_LAYERS_MAX,
		.doit = dstcc_layers_get,
	},
	{
		.cmd = DSTCC_CMD_GROUP_SET,
		.flags = GENL_UNS_ADMIN_PERM,
		.policy = dstcc_group_policy,
		.maxattr = DSTCC_GROUP_MAX,
		.doit = dstcc_group_set,
	},
	{
		.cmd = DSTCC_CMD_GROUP_GET,
		.policy = dstcc_group_policy,
		.maxattr = DSTCC_GROUP_MAX,
		.doit = dstcc_group_get,
	},
};

static const struct genl_multicast_group dstcc_groups[] = {
	{ .name = DSTCC_MCGRP_SLOTS },
};

struct genl_family dstcc_family __ro_after_init = {
	.name = DSTCC_FAMILY_NAME,
	.version = DSTCC_FAMILY_VERSION,
	.module = THIS_MODULE,
	.netnsok = true,
	.parallel_ops = true,
	.ops = dstcc_genl_ops,
	.n_ops = ARRAY_SIZE(dstcc_genl_ops),
	.mcgrps = dstcc_groups,
	.n_mcgrps = ARRAY_SIZE(dstcc_groups),
};

int __init dstcc_netlink_register(void)
{
	return genl_register_family(&dstcc_family);
}

void dstcc_netlink_unregister(void)
{
	genl_unregister_family(&dstcc_family);
}
