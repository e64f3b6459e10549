// SPDX-License-Identifier: GPL-2.0
/*
 * A congestion control to start from: the window grows by a quarter of itself a round trip, whatever the round trip, and
 * falls by a quarter at a loss. An eight-minute round trip has no time for a segment at a time.
 *
 *	dstcc run examples/programs/mars.toml -o runs/steady --module examples/programs/steady \
 *		--earth "iperf3 -s -1" -- iperf3 -c earth -t 600
 */
#include <linux/module.h>
#include <net/tcp.h>

static u32 steady_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tcp_snd_cwnd(tp) * 3 / 4, 2U);
}

static void steady_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	/* a segment for every four that were acknowledged */
	tcp_cong_avoid_ai(tp, 4, acked);
}

static struct tcp_congestion_ops steady __read_mostly = {
	.name = "steady",
	.owner = THIS_MODULE,
	.ssthresh = steady_ssthresh,
	.cong_avoid = steady_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
};

static int __init steady_begin(void)
{
	return tcp_register_congestion_control(&steady);
}

static void __exit steady_end(void)
{
	tcp_unregister_congestion_control(&steady);
}

module_init(steady_begin);
module_exit(steady_end);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Grows by a quarter a round trip");
