// SPDX-License-Identifier: GPL-2.0-only
/*
 * dstcc: a window that an agent sets once per slot and that is held in between.
 *
 *	action    W <- clamp(alpha * W + beta)	pace = W * mss / srtt		(dstcc_law.h)
 *
 *	steered   loss and timeouts are repaired by TCP, but move no window
 *	fallback  Reno (RFC 5681) with proportional rate reduction (RFC 6937): before the first
 *		  action, after silence_slots without one, or when the agent says so; from W with
 *		  ssthresh = W (W / 2 amid a reduction; amid a timeout's repair from one segment).
 *		  The next action takes the window back.
 *
 * The states and the times of their changes are those of dstcc/engine/src/congestion/agent.cpp, but
 * that the simulator restarts from W amid a timeout's repair, too.
 * Pacing counts payload, as the kernel's own does.
 */
#include "dstcc.h"

u32 dstcc_cwnd_max = DSTCC_LAW_CWND_MAX;

static u32 dstcc_ceiling(const struct tcp_sock *tp)
{
	return min(READ_ONCE(dstcc_cwnd_max), tp->snd_cwnd_clamp);
}

static void dstcc_pace_over(struct sock *sk, u32 window, u64 rtt_us)
{
	const u32 mss = min(tcp_sk(sk)->mss_cache, DSTCC_LAW_WIRE_MAX);
	const u64 rate = dstcc_law_pace(window, mss, rtt_us);

	if (rate)
		WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate)));
}

static void dstcc_set_pace(struct sock *sk, u32 window)
{
	dstcc_pace_over(sk, window, tcp_sk(sk)->srtt_us >> 3);
}

u32 dstcc_own_window(const struct sock *sk)
{
	const struct dstcc *dstcc = inet_csk_ca(sk);
	const u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	if (dstcc->steered)
		return dstcc->window;
	return dstcc->member && cwnd == dstcc->lent ? dstcc->own : cwnd;
}

void dstcc_restore(struct sock *sk)
{
	struct dstcc *dstcc = inet_csk_ca(sk);

	if (likely(!dstcc->member))
		return;
	dstcc->own = dstcc_own_window(sk);
	dstcc->lent = dstcc->own;
	tcp_snd_cwnd_set(tcp_sk(sk), dstcc->own);
}

/* The agent's window, paced; srtt moves with most ACKs, so a division for each of these. */
static void dstcc_hold(struct sock *sk, struct dstcc *dstcc)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (tcp_snd_cwnd(tp) == dstcc->window && dstcc->paced_srtt_us == tp->srtt_us)
		return;
	tcp_snd_cwnd_set(tp, dstcc->window);
	dstcc->paced_srtt_us = tp->srtt_us;
	dstcc_set_pace(sk, dstcc->window);
}

static void dstcc_fall_back(struct sock *sk, struct dstcc *dstcc)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const u32 window = dstcc->window;

	if (!dstcc->steered)
		return;
	dstcc_restore(sk);
	dstcc->steered = false;
	dstcc->fallbacks++;
	/* Amid a timeout's repair Reno would be at RFC 5681's loss window. */
	tcp_snd_cwnd_set(tp, inet_csk(sk)->icsk_ca_state == TCP_CA_Loss ? 1 : window);
	tp->snd_ssthresh = window;
	if (inet_csk(sk)->icsk_ca_state != TCP_CA_Open)
		tp->snd_ssthresh = max(window / 2, DSTCC_LAW_CWND_MIN);
	tp->prior_cwnd = window;
	tp->prr_delivered = 0;
	tp->prr_out = 0;
	tp->snd_cwnd_cnt = 0;
	if (dstcc->member)
		dstcc_group_tell(sk);
}

/* On a locked socket, or in its softirq. */
static void dstcc_apply(struct sock *sk, struct dstcc *dstcc,
			const struct dstcc_action_request *action)
{
	const struct dstcc_net *own = dstcc_net(sock_net(sk));
	struct tcp_sock *tp = tcp_sk(sk);
	u32 before, cap, wanted, window;

	if (action->fall_back) {
		dstcc_fall_back(sk, dstcc);
		return;
	}
	dstcc_restore(sk);
	before = dstcc->steered ? dstcc->window : tcp_snd_cwnd(tp);
	cap = dstcc_law_cap(dstcc_law_bdp_segments(&dstcc->bdp), dstcc->initial_cwnd,
			    READ_ONCE(own->headroom));
	cap = max(min(cap, dstcc_ceiling(tp)), DSTCC_LAW_CWND_MIN);
	wanted = dstcc_law_window(before, action->alpha_q16, action->beta, DSTCC_LAW_CWND_MAX);
	window = dstcc_law_window(before, action->alpha_q16, action->beta, cap);
	dstcc->clamps += window != wanted;
	dstcc->actions++;
	dstcc->silent_us = dstcc_now_us() + READ_ONCE(own->silence_us);
	dstcc->window = window;
	dstcc->steered = true;
	tcp_snd_cwnd_set(tp, window);
	dstcc->paced_srtt_us = tp->srtt_us;
	dstcc_set_pace(sk, window);
	if (dstcc->member)
		dstcc_group_tell(sk);
}

static void dstcc_heed_silence(struct sock *sk, struct dstcc *dstcc, u64 now_us)
{
	if (dstcc->steered && unlikely(now_us > dstcc->silent_us))
		dstcc_fall_back(sk, dstcc);
}

static void dstcc_take_left(struct sock *sk, struct dstcc *dstcc)
{
	struct dstcc_action_request *left;

	if (likely(!READ_ONCE(dstcc->left)))
		return;
	left = xchg(&dstcc->left, NULL);
	if (left)
		dstcc_apply(sk, dstcc, left);
	kfree(left);
}

static void dstcc_measure(const struct tcp_sock *tp, struct dstcc *dstcc,
			  const struct rate_sample *rs)
{
	const u32 min_rtt_us = tcp_min_rtt(tp);

	if (rs->interval_us <= 0 || rs->delivered <= 0 || min_rtt_us == U32_MAX)
		return;
	if (!before(rs->prior_delivered, dstcc->round_end)) {
		dstcc->round_end = tp->delivered;
		dstcc_law_round(&dstcc->bdp);
	}
	dstcc_law_sample(&dstcc->bdp, rs->delivered, rs->interval_us, min_rtt_us);
}

/*
 * RFC 6937 section 3: while more is in flight than ssthresh, send in proportion to what is
 * delivered; below it, catch up by at most one segment per delivered one, and one more while
 * nothing else is lost. At least one goes out at first.
 */
static void dstcc_reduce(struct tcp_sock *tp, const struct rate_sample *rs)
{
	const s32 in_flight = tcp_packets_in_flight(tp);
	const s32 below = (s32)tp->snd_ssthresh - in_flight;
	s32 owed, send;

	if (rs->acked_sacked <= 0 || !tp->prior_cwnd)
		return;
	tp->prr_delivered += rs->acked_sacked;
	owed = tp->prr_delivered - tp->prr_out;
	if (below < 0)
		send = DIV_ROUND_UP_ULL((u64)tp->prr_delivered * tp->snd_ssthresh, tp->prior_cwnd) -
		       tp->prr_out;
	else
		send = min_t(s32, below, max_t(s32, owed, rs->acked_sacked) + !rs->losses);
	tcp_snd_cwnd_set(tp, in_flight + max_t(s32, send, !tp->prr_out));
}

static void dstcc_reno(struct sock *sk, const struct rate_sample *rs)
{
	const u8 state = inet_csk(sk)->icsk_ca_state;
	struct tcp_sock *tp = tcp_sk(sk);

	if (state == TCP_CA_CWR || state == TCP_CA_Recovery)
		dstcc_reduce(tp, rs);
	else if (rs->acked_sacked > 0)
		tcp_reno_cong_avoid(sk, 0, rs->acked_sacked);
	/*
	 * Twice a window per round trip, as the kernel paces slow start: bounds bursts, not the
	 * rate.
	 */
	dstcc_set_pace(sk, min(2 * tcp_snd_cwnd(tp), DSTCC_LAW_CWND_MAX));
}

static void dstcc_ack(struct sock *sk, const struct rate_sample *rs)
{
	struct dstcc *dstcc = inet_csk_ca(sk);

	dstcc_restore(sk);
	dstcc_measure(tcp_sk(sk), dstcc, rs);
	dstcc_take_left(sk, dstcc);
	dstcc_heed_silence(sk, dstcc, tcp_sk(sk)->tcp_mstamp);
	if (dstcc->steered)
		dstcc_hold(sk, dstcc);
	else
		dstcc_reno(sk, rs);
	if (dstcc->member)
		dstcc_group_tell(sk);
}

/*
 * Linux 6.10 gave cong_control two more arguments; both shapes are here, and the compiler takes
 * the one that fits.
 */
typedef void (*dstcc_ack_short)(struct sock *sk, const struct rate_sample *rs);

static void __maybe_unused dstcc_ack_long(struct sock *sk, u32 ack, int flag,
					  const struct rate_sample *rs)
{
	dstcc_ack(sk, rs);
}

#define DSTCC_IS_SHORT	\
	__builtin_types_compatible_p(typeof(dstcc_ops.cong_control), dstcc_ack_short)
#define DSTCC_ACK	__builtin_choose_expr(DSTCC_IS_SHORT, dstcc_ack, dstcc_ack_long)

/* TCP has just noted the window as the one before a reduction: a group may have lent less of it. */
static u32 dstcc_ssthresh(struct sock *sk)
{
	struct dstcc *dstcc = inet_csk_ca(sk);

	dstcc_restore(sk);
	if (dstcc->member)
		tcp_sk(sk)->prior_cwnd = dstcc->own;
	dstcc_heed_silence(sk, dstcc, tcp_sk(sk)->tcp_mstamp);
	return dstcc->steered ? dstcc->window : tcp_reno_ssthresh(sk);
}

static u32 dstcc_undo_cwnd(struct sock *sk)
{
	const struct dstcc *dstcc = inet_csk_ca(sk);

	dstcc_restore(sk);
	return dstcc->steered ? dstcc->window : tcp_reno_undo_cwnd(sk);
}

/*
 * A timeout has just cut the window to one segment: the agent's comes back. A reduction that ends
 * without being undone leaves Reno at ssthresh; the kernel sees to that only where there is no
 * cong_control.
 */
static void dstcc_set_state(struct sock *sk, u8 state)
{
	const u8 before = inet_csk(sk)->icsk_ca_state;
	struct dstcc *dstcc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	dstcc_restore(sk);
	if (dstcc->steered) {
		if (state == TCP_CA_Loss)
			tcp_snd_cwnd_set(tp, dstcc->window);
		return;
	}
	if (state == TCP_CA_Open && tp->snd_ssthresh < TCP_INFINITE_SSTHRESH &&
	    (before == TCP_CA_CWR || (before == TCP_CA_Recovery && tp->undo_marker)))
		tcp_snd_cwnd_set(tp, max(tp->snd_ssthresh, DSTCC_LAW_CWND_MIN));
}

/* TCP asks before each time that it sends: a member of a group gets its part of the window then. */
static u32 dstcc_min_tso_segs(struct sock *sk)
{
	const struct dstcc *dstcc = inet_csk_ca(sk);

	if (dstcc->member)
		dstcc_group_ask(sk);
	return READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_min_tso_segs);
}

/* The route's or the standard one. What init() finds says less: lost SYNs cut the window to 1. */
static u32 dstcc_initial_window(struct sock *sk)
{
	const struct dst_entry *dst = __sk_dst_get(sk);
	const u32 metric = dst ? dst_metric(dst, RTAX_INITCWND) : 0;

	return metric ?: TCP_INIT_CWND;
}

/*
 * A receiver lets its window grow with what arrives, from 64 KiB twofold a round trip, lest small
 * packets fill its memory. Where a round trip takes minutes, missions wait for that. A receiver
 * under this control offers what its buffer holds from the first ACK on.
 */
static void dstcc_open_window(const struct sock *sk, struct tcp_sock *tp)
{
	const u32 room = min_t(u32, max(tcp_full_space(sk), 0), tp->window_clamp);

	tp->rcv_ssthresh = max(tp->rcv_ssthresh, room);
}

static void dstcc_init(struct sock *sk)
{
	struct dstcc_net *own = dstcc_net(sock_net(sk));
	struct dstcc *dstcc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 id;

	memset(dstcc, 0, sizeof(*dstcc));
	dstcc->round_end = tp->delivered;
	dstcc->initial_cwnd = dstcc_initial_window(sk);
	dstcc_open_window(sk, tp);
	/*
	 * The SYN's answer came through cong_control() before this. A SYN that was repeated, as it
	 * is if a round trip is longer than the first timeout, may have left srtt unknown, and no
	 * pace, which is ~0. MPTCP makes a mean of that and later paces (avg_pacing_rate), and for
	 * hundreds of round trips one subflow had all data.
	 */
	dstcc_pace_over(sk, min(2 * tcp_snd_cwnd(tp), DSTCC_LAW_CWND_MAX),
			tp->srtt_us >> 3 ?: USEC_PER_SEC);
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	if (xa_alloc_cyclic_bh(&own->subflows, &id, sk, XA_LIMIT(1, U32_MAX), &own->next_id,
			       GFP_ATOMIC | __GFP_NOWARN) >= 0)
		dstcc->id = id;
}

static void dstcc_release(struct sock *sk)
{
	struct dstcc *dstcc = inet_csk_ca(sk);

	dstcc_group_leave(sk);
	if (dstcc->id)
		xa_erase_bh(&dstcc_net(sock_net(sk))->subflows, dstcc->id);
	dstcc->id = 0;
	kfree(xchg(&dstcc->left, NULL));
}

/*
 * Have release_sock() send what the new window lets out, which would else wait for the next ACK,
 * a round trip at worst. This is the flag (and the reference that goes with it) by which the
 * kernel's own deferred transmission asks for it.
 */
void dstcc_push(struct sock *sk)
{
	if (!test_and_set_bit(TCP_TSQ_DEFERRED, &sk->sk_tsq_flags))
		sock_hold(sk);
}

bool dstcc_trylock(struct sock *sk, bool push)
{
	bool taken;

	spin_lock_bh(&sk->sk_lock.slock);
	taken = !sk->sk_lock.owned;
	if (taken)
		sk->sk_lock.owned = 1;
	else if (push)
		dstcc_push(sk);
	spin_unlock_bh(&sk->sk_lock.slock);
	if (taken)
		mutex_acquire(&sk->sk_lock.dep_map, 0, 1, _RET_IP_);
	return taken;
}

void dstcc_steer(struct sock *sk, const struct dstcc_action_request *action)
{
	struct dstcc *dstcc = inet_csk_ca(sk);

	sock_owned_by_me(sk);
	dstcc_take_left(sk, dstcc);
	dstcc_apply(sk, dstcc, action);
	if (dstcc->steered)
		dstcc_push(sk);
}

u64 dstcc_tend(struct sock *sk, u64 now_us)
{
	struct dstcc *dstcc = inet_csk_ca(sk);

	sock_owned_by_me(sk);
	if (READ_ONCE(dstcc->left)) {
		dstcc_take_left(sk, dstcc);
		dstcc_push(sk);
	}
	dstcc_heed_silence(sk, dstcc, now_us);
	return dstcc->steered ? dstcc->silent_us : U64_MAX;
}

struct tcp_congestion_ops dstcc_ops __read_mostly = {
	.name		= "dstcc",
	.owner		= THIS_MODULE,
	.flags		= TCP_CONG_NON_RESTRICTED,
	.init		= dstcc_init,
	.release	= dstcc_release,
	.cong_control	= DSTCC_ACK,
	.ssthresh	= dstcc_ssthresh,
	.undo_cwnd	= dstcc_undo_cwnd,
	.set_state	= dstcc_set_state,
	.min_tso_segs	= dstcc_min_tso_segs,
};
