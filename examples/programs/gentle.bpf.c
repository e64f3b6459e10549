// SPDX-License-Identifier: GPL-2.0
/*
 * A congestion control as BPF struct_ops: after slow start the window grows by an eighth a round trip, up to a limit, and
 * a loss takes an eighth of it.
 *
 *	dstcc run examples/programs/mars.toml -o runs/gentle --bpf examples/programs/gentle.bpf.c \
 *		--earth "iperf3 -s -1" -- iperf3 -c earth -t 600
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define BIGGEST 4096

char _license[] SEC("license") = "GPL";

struct gentle {
	__u32 round_acked;
};

extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

static inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static inline struct gentle *inet_csk_ca(const struct sock *sk)
{
	return (struct gentle *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

SEC("struct_ops/gentle_init")
void BPF_PROG(gentle_init, struct sock *sk)
{
	inet_csk_ca(sk)->round_acked = 0;
}

SEC("struct_ops/gentle_ssthresh")
__u32 BPF_PROG(gentle_ssthresh, struct sock *sk)
{
	__u32 window = tcp_sk(sk)->snd_cwnd * 7 / 8;

	return window > 2 ? window : 2;
}

SEC("struct_ops/gentle_cong_avoid")
void BPF_PROG(gentle_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (tp->snd_cwnd < tp->snd_ssthresh) {
		tcp_slow_start(tp, acked);
		return;
	}
	inet_csk_ca(sk)->round_acked += acked;
	if (inet_csk_ca(sk)->round_acked >= 8 && tp->snd_cwnd < BIGGEST) {
		tp->snd_cwnd += inet_csk_ca(sk)->round_acked / 8;
		inet_csk_ca(sk)->round_acked %= 8;
	}
}

SEC("struct_ops/gentle_undo_cwnd")
__u32 BPF_PROG(gentle_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops gentle = {
	.init = (void *)gentle_init,
	.ssthresh = (void *)gentle_ssthresh,
	.cong_avoid = (void *)gentle_cong_avoid,
	.undo_cwnd = (void *)gentle_undo_cwnd,
	.name = "gentle",
};
