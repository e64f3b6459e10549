// SPDX-License-Identifier: GPL-2.0-only
/*
 * dstcc as BPF struct_ops, for kernels with BTF where no module may be loaded: the window rule, the
 * states and the guard of ../module/control.c, with maps in the place of netlink.
 *
 * What BPF may not do makes the differences: an action is applied with the subflow's next ACK, not
 * at once; and Reno, where the agent is silent, cuts a window to ssthresh at once (RFC 5681), as
 * the counts of proportional rate reduction may not be written.
 *
 * vmlinux.h is made from the running kernel's BTF; reads of MPTCP's records are relocated (CO-RE).
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "dstcc_law.h"

#define SUBFLOWS_MAX 4096
#define INITIAL_CWND 10
#define INFINITE_SSTHRESH 0x7fffffff
#define FLAG_STEERED 1
#define FLAG_MPTCP 2
#define FLAG_BACKUP 4
#define AF_INET6 10

char _license[] SEC("license") = "GPL";

struct parameters {
	__u64 silence_us;
	__u32 headroom;
	__u32 cwnd_max;
};

struct window_action {
	__u32 sequence;		/* each is applied once */
	__u32 alpha_q16;
	__s32 beta;
	__u32 fall_back;
};

struct subflow_state {
	__u64 acked_bytes, unsent_bytes, delivery_rate, pacing_rate;
	__u32 id, token, local_id, remote_id;
	__u32 flags, ca_state, mss, cwnd, ssthresh, in_flight, srtt_us, min_rtt_us;
	__u32 sent, delivered, lost, retransmitted, bdp, actions, clamps, fallbacks;
	__u32 identified, local_port, remote_port;
	__u16 inet6, tcp_state;
	__u8 local_address[16], remote_address[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct parameters);
} dstcc_params SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SUBFLOWS_MAX);
	__type(key, __u32);
	__type(value, struct window_action);
} dstcc_actions SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SUBFLOWS_MAX);
	__type(key, __u32);
	__type(value, struct subflow_state);
} dstcc_states SEC(".maps");

__u32 next_id = 1;

/* In the socket's private area for congestion control. */
struct record {
	struct dstcc_law_bdp bdp;
	__u32 id, round_end, window, initial_cwnd;
	__u32 actions, clamps, fallbacks, applied;
	__u32 steered;
	__u64 silent_us;
};

extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

static __always_inline struct tcp_sock *tcp(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline struct inet_connection_sock *icsk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}

static __always_inline struct record *record(const struct sock *sk)
{
	return (struct record *)icsk(sk)->icsk_ca_priv;
}

static __always_inline const struct parameters *parameters(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&dstcc_params, &zero);
}

static __always_inline __u32 in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

static __always_inline __u32 least_rtt(const struct tcp_sock *tp)
{
	return tp->rtt_min.s[0].v;
}

static __always_inline void pace(struct sock *sk, __u32 window)
{
	const struct tcp_sock *tp = tcp(sk);
	__u32 mss = tp->mss_cache;
	__u64 rate;

	if (mss > DSTCC_LAW_WIRE_MAX)
		mss = DSTCC_LAW_WIRE_MAX;
	rate = dstcc_law_pace(window, mss, tp->srtt_us >> 3);
	if (rate)
		sk->sk_pacing_rate = rate < sk->sk_max_pacing_rate ? rate : sk->sk_max_pacing_rate;
}

static __always_inline void fall_back(struct sock *sk, struct record *r)
{
	struct tcp_sock *tp = tcp(sk);

	if (!r->steered)
		return;
	r->steered = 0;
	r->fallbacks++;
	tp->snd_ssthresh = r->window;
	if (icsk(sk)->icsk_ca_state != TCP_CA_Open && r->window >= 2 * DSTCC_LAW_CWND_MIN)
		tp->snd_ssthresh = r->window / 2;
	if (icsk(sk)->icsk_ca_state == TCP_CA_Loss)
		tp->snd_cwnd = 1; /* RFC 5681's loss window */
	tp->snd_cwnd_cnt = 0;
}

static __always_inline void heed_silence(struct sock *sk, struct record *r)
{
	if (r->steered && tcp(sk)->tcp_mstamp > r->silent_us)
		fall_back(sk, r);
}

static __always_inline void act(struct sock *sk, struct record *r)
{
	const struct parameters *p = parameters();
	struct tcp_sock *tp = tcp(sk);
	const struct window_action *action;
	__u32 id = r->id, cap, before, wanted;

	action = bpf_map_lookup_elem(&dstcc_actions, &id);
	if (!action || !p || action->sequence == r->applied)
		return;
	r->applied = action->sequence;
	if (action->fall_back) {
		fall_back(sk, r);
		return;
	}
	cap = dstcc_law_cap(dstcc_law_bdp_segments(&r->bdp), r->initial_cwnd, p->headroom);
	if (cap > p->cwnd_max)
		cap = p->cwnd_max;
	if (cap > tp->snd_cwnd_clamp)
		cap = tp->snd_cwnd_clamp;
	if (cap < DSTCC_LAW_CWND_MIN)
		cap = DSTCC_LAW_CWND_MIN;
	before = r->steered ? r->window : tp->snd_cwnd;
	wanted = dstcc_law_window(before, action->alpha_q16, action->beta, DSTCC_LAW_CWND_MAX);
	r->window = dstcc_law_window(before, action->alpha_q16, action->beta, cap);
	r->clamps += r->window != wanted;
	r->actions++;
	r->silent_us = tp->tcp_mstamp + p->silence_us;
	r->steered = 1;
}

static __always_inline void measure(const struct tcp_sock *tp, struct record *r,
				    const struct rate_sample *rs)
{
	if (rs->interval_us <= 0 || rs->delivered <= 0 || least_rtt(tp) == ~0u)
		return;
	if ((__s32)(rs->prior_delivered - r->round_end) >= 0) {
		r->round_end = tp->delivered;
		dstcc_law_round(&r->bdp);
	}
	dstcc_law_sample(&r->bdp, rs->delivered, rs->interval_us, least_rtt(tp));
}

static __always_inline void identify(const struct sock *sk, struct subflow_state *s)
{
	struct mptcp_subflow_context *context = (void *)icsk(sk)->icsk_ulp_data;
	struct mptcp_sock *connection;

	if (!tcp(sk)->is_mptcp)
		return;
	s->flags |= FLAG_MPTCP;
	if (!context)
		return;
	connection = (void *)BPF_CORE_READ(context, conn);
	s->token = connection ? BPF_CORE_READ(connection, token) : BPF_CORE_READ(context, token);
	s->local_id = (__u8)BPF_CORE_READ(context, local_id);
	s->remote_id = BPF_CORE_READ(context, remote_id);
	s->identified = 1;
}

/* By the peer's word or ours, which may change: the kernel's scheduler heeds either. */
static __always_inline int is_backup(const struct sock *sk)
{
	struct mptcp_subflow_context *context = (void *)icsk(sk)->icsk_ulp_data;

	return BPF_CORE_READ_BITFIELD_PROBED(context, backup) ||
	       BPF_CORE_READ_BITFIELD_PROBED(context, request_bkup);
}

static __always_inline void address(const struct sock *sk, struct subflow_state *s)
{
	const struct sock_common *common = &sk->__sk_common;

	s->local_port = common->skc_num;
	s->remote_port = bpf_ntohs(common->skc_dport);
	s->inet6 = common->skc_family == AF_INET6;
	if (s->inet6) {
		BPF_CORE_READ_INTO(&s->local_address, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO(&s->remote_address, sk, __sk_common.skc_v6_daddr);
	} else {
		*(__u32 *)s->local_address = common->skc_rcv_saddr;
		*(__u32 *)s->remote_address = common->skc_daddr;
	}
}

static __always_inline void tell(const struct sock *sk, const struct record *r)
{
	const struct tcp_sock *tp = tcp(sk);
	__u32 id = r->id, interval_us = tp->rate_interval_us;
	struct subflow_state *s;

	s = bpf_map_lookup_elem(&dstcc_states, &id);
	if (!s)
		return;
	if (!s->identified)
		identify(sk, s);
	s->flags = r->steered ? s->flags | FLAG_STEERED : s->flags & ~FLAG_STEERED;
	if (s->identified)
		s->flags = is_backup(sk) ? s->flags | FLAG_BACKUP : s->flags & ~FLAG_BACKUP;
	s->ca_state = icsk(sk)->icsk_ca_state;
	s->tcp_state = sk->__sk_common.skc_state;
	s->mss = tp->mss_cache;
	s->cwnd = tp->snd_cwnd;
	s->ssthresh = tp->snd_ssthresh;
	s->in_flight = in_flight(tp);
	s->srtt_us = tp->srtt_us >> 3;
	s->min_rtt_us = least_rtt(tp) == ~0u ? 0 : least_rtt(tp);
	s->sent = tp->data_segs_out;
	s->delivered = tp->delivered;
	s->lost = tp->lost;
	s->retransmitted = tp->total_retrans;
	s->acked_bytes = tp->bytes_acked;
	s->unsent_bytes = (__u32)(tp->write_seq - tp->snd_nxt);
	if (interval_us)
		s->delivery_rate = (__u64)tp->rate_delivered * tp->mss_cache *
				   DSTCC_LAW_US_PER_S / interval_us;
	s->pacing_rate = sk->sk_pacing_rate == ~0ul ? 0 : sk->sk_pacing_rate;
	s->bdp = dstcc_law_bdp_segments(&r->bdp);
	s->actions = r->actions;
	s->clamps = r->clamps;
	s->fallbacks = r->fallbacks;
}

SEC("struct_ops/dstcc_init")
void BPF_PROG(dstcc_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp(sk);
	struct record *r = record(sk);
	struct subflow_state fresh = {};
	__u32 id = __sync_fetch_and_add(&next_id, 1);

	r->id = id;
	r->round_end = tp->delivered;
	/* Lost SYNs cut the window to 1, and one in mid-connection says nothing of the first. */
	r->initial_cwnd = INITIAL_CWND;
	if (!tp->data_segs_out && tp->snd_cwnd > INITIAL_CWND)
		r->initial_cwnd = tp->snd_cwnd;
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	fresh.id = id;
	address(sk, &fresh);
	bpf_map_update_elem(&dstcc_states, &id, &fresh, BPF_ANY);
	tell(sk, r);
}

SEC("struct_ops/dstcc_release")
void BPF_PROG(dstcc_release, struct sock *sk)
{
	__u32 id = record(sk)->id;

	bpf_map_delete_elem(&dstcc_states, &id);
	bpf_map_delete_elem(&dstcc_actions, &id);
}

static __always_inline void reno(struct sock *sk, const struct rate_sample *rs)
{
	const __u8 state = icsk(sk)->icsk_ca_state;
	struct tcp_sock *tp = tcp(sk);

	if (state == TCP_CA_CWR || state == TCP_CA_Recovery) {
		if (tp->snd_ssthresh < INFINITE_SSTHRESH && tp->snd_cwnd > tp->snd_ssthresh)
			tp->snd_cwnd = tp->snd_ssthresh;
	} else if (rs->acked_sacked > 0) {
		tcp_reno_cong_avoid(sk, 0, rs->acked_sacked);
	}
	pace(sk, tp->snd_cwnd < DSTCC_LAW_CWND_MAX / 2 ? 2 * tp->snd_cwnd : DSTCC_LAW_CWND_MAX);
}

static __always_inline void ack(struct sock *sk, const struct rate_sample *rs)
{
	struct record *r = record(sk);

	measure(tcp(sk), r, rs);
	act(sk, r);
	heed_silence(sk, r);
	if (r->steered) {
		tcp(sk)->snd_cwnd = r->window;
		pace(sk, r->window);
	} else {
		reno(sk, rs);
	}
	tell(sk, r);
}

/* Linux 6.10 gave cong_control two more arguments; the builder looks into vmlinux.h. */
SEC("struct_ops/dstcc_cong_control")
#ifdef DSTCC_ACK_LONG
void BPF_PROG(dstcc_cong_control, struct sock *sk, __u32 ack_number, int flag,
	      const struct rate_sample *rs)
#else
void BPF_PROG(dstcc_cong_control, struct sock *sk, const struct rate_sample *rs)
#endif
{
	ack(sk, rs);
}

SEC("struct_ops/dstcc_ssthresh")
__u32 BPF_PROG(dstcc_ssthresh, struct sock *sk)
{
	struct record *r = record(sk);

	heed_silence(sk, r);
	return r->steered ? r->window : tcp_reno_ssthresh(sk);
}

SEC("struct_ops/dstcc_undo_cwnd")
__u32 BPF_PROG(dstcc_undo_cwnd, struct sock *sk)
{
	const struct record *r = record(sk);

	return r->steered ? r->window : tcp_reno_undo_cwnd(sk);
}

/* A timeout has just cut the window to one segment: the agent's comes back. */
SEC("struct_ops/dstcc_set_state")
void BPF_PROG(dstcc_set_state, struct sock *sk, __u8 state)
{
	const struct record *r = record(sk);

	if (r->steered && state == TCP_CA_Loss)
		tcp(sk)->snd_cwnd = r->window;
}

SEC(".struct_ops")
struct tcp_congestion_ops dstcc = {
	.init = (void *)dstcc_init,
	.release = (void *)dstcc_release,
	.cong_control = (void *)dstcc_cong_control,
	.ssthresh = (void *)dstcc_ssthresh,
	.undo_cwnd = (void *)dstcc_undo_cwnd,
	.set_state = (void *)dstcc_set_state,
	.name = "dstcc",
};
