// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an ACK costs under dstcc and under CUBIC, in cycles of the time stamp counter: the least of
 * many rounds, read from the parameters after loading; the loop around them is in each, and alone
 * in the parameter loop. Needs both controls.
 *
 * Each call is what tcp_ack() does for that control. A control with cong_control is called once;
 * for one without, the kernel calls pkts_acked and cong_avoid, and computes the pacing rate itself
 * (tcp_update_pacing_rate), which the parameter cubic counts and cubic_alone does not. dstcc is
 * steered, with samples and round trips that move with each ACK.
 */
#include <asm/msr.h>
#include <linux/module.h>
#include <linux/sockptr.h>
#include <net/tcp.h>

#include "../dstcc.h"

#define ACKS 1000
#define ROUNDS 500

static unsigned int ours, cubic, cubic_alone, loop;
module_param(ours, uint, 0444);
MODULE_PARM_DESC(ours, "cycles per 1,000 ACKs under dstcc");
module_param(cubic, uint, 0444);
MODULE_PARM_DESC(cubic, "cycles per 1,000 ACKs under CUBIC, the kernel's pacing included");
module_param(cubic_alone, uint, 0444);
MODULE_PARM_DESC(cubic_alone, "the same without pacing");
module_param(loop, uint, 0444);
MODULE_PARM_DESC(loop, "the same with nothing called");

typedef void (*ack_short)(struct sock *sk, const struct rate_sample *rs);
typedef void (*ack_long)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);

/* Linux 6.10 gave cong_control two more arguments. */
static void control(struct sock *sk, const struct tcp_congestion_ops *ops,
		    const struct rate_sample *rs)
{
	if (__builtin_types_compatible_p(typeof(ops->cong_control), ack_short))
		((ack_short)(void *)ops->cong_control)(sk, rs);
	else
		((ack_long)(void *)ops->cong_control)(sk, 0, 0, rs);
}

/* The arithmetic of tcp_update_pacing_rate(), which the kernel does not export. */
static noinline void pace(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 rate = (u64)tp->mss_cache * ((USEC_PER_SEC / 100) << 3) * 120;

	rate *= max(tcp_snd_cwnd(tp), tp->packets_out);
	if (likely(tp->srtt_us))
		do_div(rate, tp->srtt_us);
	WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate)));
}

enum what { NOTHING, CONTROL, CONTROL_AND_PACE };

static void one_ack(struct sock *sk, const struct tcp_congestion_ops *ops, u32 i, enum what what)
{
	const struct ack_sample acked = { .pkts_acked = 2, .rtt_us = 100000 + i % 64 };
	struct tcp_sock *tp = tcp_sk(sk);
	struct rate_sample rs = {
		.delivered = 90 + i % 16,
		.interval_us = 100000 + i % 64,
		.prior_delivered = tp->delivered - 100,
		.acked_sacked = 2,
		.rtt_us = 100000 + i % 64,
	};

	tp->delivered += 2;
	tp->srtt_us = (100000 + i % 64) << 3;
	barrier_data(&rs);
	barrier_data(&acked);
	if (what == NOTHING)
		return;
	if (ops->cong_control) {
		control(sk, ops, &rs);
		return;
	}
	ops->pkts_acked(sk, &acked);
	ops->cong_avoid(sk, 0, 2);
	if (what == CONTROL_AND_PACE)
		pace(sk);
}

static void prepare(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->mss_cache = 1448;
	tcp_snd_cwnd_set(tp, 100);
	tp->snd_ssthresh = 50;
	tp->packets_out = 100;
	tp->is_cwnd_limited = 1;
	tp->max_packets_out = 100;
	tp->delivered = 1000;
	tp->srtt_us = 100000 << 3;
	tp->tcp_mstamp = 1;
	minmax_reset(&tp->rtt_min, 0, 100000);
}

/* As an action leaves it. */
static void steer(struct sock *sk)
{
	struct dstcc *record = inet_csk_ca(sk);

	record->steered = true;
	record->window = 100;
	record->silent_us = U64_MAX;
}

static unsigned int least_cycles(struct sock *sk, enum what what)
{
	const struct tcp_congestion_ops *ops = inet_csk(sk)->icsk_ca_ops;
	u64 began, least = U32_MAX;
	int round;
	u32 i;

	for (round = 0; round < ROUNDS; round++) {
		began = rdtsc_ordered();
		for (i = 0; i < ACKS; i++)
			one_ack(sk, ops, i, what);
		least = min(least, rdtsc_ordered() - began);
	}
	return least;
}

/* On a socket that is not connected, in states that its control takes for a connected one's. */
static int measure(char *name, enum what what, unsigned int *cycles)
{
	struct socket *socket;
	struct sock *sk;
	int error;

	error = sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &socket);
	if (error)
		return error;
	sk = socket->sk;
	error = sock_common_setsockopt(socket, SOL_TCP, TCP_CONGESTION, KERNEL_SOCKPTR(name),
				       strlen(name));
	if (error)
		goto out;
	lock_sock(sk);
	prepare(sk);
	inet_csk(sk)->icsk_ca_ops->init(sk);
	inet_csk(sk)->icsk_ca_initialized = 1;
	if (!strcmp(name, "dstcc"))
		steer(sk);
	local_bh_disable();
	*cycles = least_cycles(sk, what);
	local_bh_enable();
	tcp_sk(sk)->packets_out = 0;
	release_sock(sk);
out:
	sock_release(socket);
	return error;
}

static int __init dstcc_ack_bench_init(void)
{
	return measure("cubic", NOTHING, &loop) ?:
	       measure("dstcc", CONTROL, &ours) ?:
	       measure("cubic", CONTROL_AND_PACE, &cubic) ?:
	       measure("cubic", CONTROL, &cubic_alone);
}

static void __exit dstcc_ack_bench_exit(void)
{
}

module_init(dstcc_ack_bench_init);
module_exit(dstcc_ack_bench_exit);

MODULE_DESCRIPTION("Cost of an ACK under dstcc and CUBIC");
MODULE_LICENSE("GPL");
