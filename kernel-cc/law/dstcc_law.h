/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The window rule that an agent steers from outside, in integers. The simulator, the kernel module
 * and the BPF program compile this file.
 *
 *	W  <-  clamp(alpha * W + beta, MIN, headroom * max(BDP, W0))	once per action
 *	pace = W * wire / srtt						between actions
 *	BDP  = max over 8 to 16 round trips of delivered * min_rtt / interval
 *
 * (Ha et al., ICT Express 2023, eq. 2.) W in segments, W0 the initial window; alpha in 1/65536.
 * The cap doubles at most once per round trip from what was measured, so an agent that asks for too
 * much probes as slow start does. Since the pace follows the window, the cap bounds the rate as
 * well: by headroom times the largest delivery rate seen.
 *
 * Freestanding: no library, no floating point. Ranges are stated at each function and hold for
 * every window up to 2^28 segments, round trips up to 2^33 us (2.4 h) and packets up to 65,535
 * bytes; the asserts below show that no product leaves 64 bits.
 */
#ifndef DSTCC_LAW_H
#define DSTCC_LAW_H

#ifdef __KERNEL__
#include <linux/math64.h>
#include <linux/types.h>
#define DSTCC_LAW_DIV(a, b) div64_u64(a, b)
#else
#ifndef __bpf__	/* there the types come with vmlinux.h */
#include <stdint.h>
#endif
#define DSTCC_LAW_DIV(a, b) ((a) / (b))
#endif

#ifdef __cplusplus
#define DSTCC_LAW_ASSERT(condition, rule) static_assert(condition, rule)
#else
#define DSTCC_LAW_ASSERT(condition, rule) _Static_assert(condition, rule)
#endif

#define DSTCC_LAW_ONE 65536u		/* alpha = 1 */
#define DSTCC_LAW_ALPHA_MAX (64u << 16)	/* alpha <= 64 */
#define DSTCC_LAW_BETA_MAX (1 << 28)	/* |beta| <= the largest window: alpha = 0 sets it */
#define DSTCC_LAW_CWND_MIN 2u		/* one would wait for the delayed-ACK timer each time */
#define DSTCC_LAW_CWND_MAX (1u << 28)	/* 0.4 TB in flight at 1,460 bytes */
#define DSTCC_LAW_RTT_MAX_US ((uint64_t)1 << 33)
#define DSTCC_LAW_WIRE_MAX 65535u
#define DSTCC_LAW_US_PER_S 1000000u
#define DSTCC_LAW_EPOCH_ROUNDS 8	/* as long as BBR's gain cycle: one probe falls into each */

#define DSTCC_LAW_U64_MAX (~(uint64_t)0)

DSTCC_LAW_ASSERT(((uint64_t)DSTCC_LAW_CWND_MAX * DSTCC_LAW_ALPHA_MAX >> 16) + DSTCC_LAW_BETA_MAX <=
			 DSTCC_LAW_U64_MAX >> 1 &&
			 DSTCC_LAW_U64_MAX / DSTCC_LAW_ALPHA_MAX > DSTCC_LAW_CWND_MAX,
		 "alpha * W fits 64 bits, and with beta a signed 64");
DSTCC_LAW_ASSERT(DSTCC_LAW_U64_MAX / DSTCC_LAW_RTT_MAX_US > DSTCC_LAW_CWND_MAX,
		 "delivered * min_rtt and BDP * interval fit 64 bits");
DSTCC_LAW_ASSERT(DSTCC_LAW_U64_MAX / DSTCC_LAW_US_PER_S / DSTCC_LAW_WIRE_MAX >= DSTCC_LAW_CWND_MAX,
		 "W * wire * 1e6 fits 64 bits");

/* The largest BDP of this epoch and of the one before, in segments. Starts zeroed. */
struct dstcc_law_bdp {
	uint32_t now, before;
	uint32_t rounds;
};

static inline uint32_t dstcc_law_bdp_segments(const struct dstcc_law_bdp *bdp)
{
	return bdp->now > bdp->before ? bdp->now : bdp->before;
}

/* A round trip has gone by. */
static inline void dstcc_law_round(struct dstcc_law_bdp *bdp)
{
	if (++bdp->rounds < DSTCC_LAW_EPOCH_ROUNDS)
		return;
	bdp->rounds = 0;
	bdp->before = bdp->now;
	bdp->now = 0;
}

/*
 * `delivered` segments came through in `interval_us`; min_rtt_us is the shortest round trip. The
 * product is rounded up, or to one more. Out of range (nothing delivered, no interval, too large)
 * the sample is passed over. A sample that the application limited shows less than the path
 * carries; it counts only where it is more than is known, which the maximum sees to. Most samples
 * are not: a multiplication finds that out without the division.
 */
static inline void dstcc_law_sample(struct dstcc_law_bdp *bdp, uint64_t delivered,
				    uint64_t interval_us, uint64_t min_rtt_us)
{
	uint64_t product, segments;

	if (delivered == 0 || interval_us == 0)
		return;
	if (delivered > DSTCC_LAW_CWND_MAX || min_rtt_us > DSTCC_LAW_RTT_MAX_US)
		return;
	product = delivered * min_rtt_us;
	if (interval_us <= DSTCC_LAW_RTT_MAX_US && product < bdp->now * interval_us)
		return;
	segments = DSTCC_LAW_DIV(product, interval_us) + 1;
	if (segments > DSTCC_LAW_CWND_MAX)
		segments = DSTCC_LAW_CWND_MAX;
	if (segments > bdp->now)
		bdp->now = (uint32_t)segments;
}

/* The largest window that the guard allows; headroom 0 lifts it to DSTCC_LAW_CWND_MAX. */
static inline uint32_t dstcc_law_cap(uint32_t bdp_segments, uint32_t initial_cwnd,
				     uint32_t headroom)
{
	const uint64_t base = bdp_segments > initial_cwnd ? bdp_segments : initial_cwnd;
	const uint64_t cap = base * headroom;

	if (headroom == 0 || cap > DSTCC_LAW_CWND_MAX)
		return DSTCC_LAW_CWND_MAX;
	return cap < DSTCC_LAW_CWND_MIN ? DSTCC_LAW_CWND_MIN : (uint32_t)cap;
}

/* alpha * W + beta, rounded half up and clamped to [MIN, cap]; alpha and beta are clamped first. */
static inline uint32_t dstcc_law_window(uint32_t cwnd, uint32_t alpha_q16, int32_t beta,
					uint32_t cap)
{
	int64_t window;

	if (cwnd > DSTCC_LAW_CWND_MAX)
		cwnd = DSTCC_LAW_CWND_MAX;
	if (alpha_q16 > DSTCC_LAW_ALPHA_MAX)
		alpha_q16 = DSTCC_LAW_ALPHA_MAX;
	if (beta > DSTCC_LAW_BETA_MAX)
		beta = DSTCC_LAW_BETA_MAX;
	if (beta < -DSTCC_LAW_BETA_MAX)
		beta = -DSTCC_LAW_BETA_MAX;
	window = (int64_t)(((uint64_t)cwnd * alpha_q16 + (DSTCC_LAW_ONE >> 1)) >> 16) + beta;
	if (window < (int64_t)DSTCC_LAW_CWND_MIN)
		return DSTCC_LAW_CWND_MIN;
	return window > (int64_t)cap ? cap : (uint32_t)window;
}

/* Bytes per second: a window per round trip, at least 1; 0 (no pacing) while srtt_us is unknown. */
static inline uint64_t dstcc_law_pace(uint32_t cwnd, uint32_t wire_bytes, uint64_t srtt_us)
{
	uint64_t rate;

	if (srtt_us == 0 || cwnd > DSTCC_LAW_CWND_MAX || wire_bytes > DSTCC_LAW_WIRE_MAX)
		return 0;
	rate = DSTCC_LAW_DIV((uint64_t)cwnd * wire_bytes * DSTCC_LAW_US_PER_S, srtt_us);
	return rate > 0 ? rate : 1;
}

#endif /* DSTCC_LAW_H */
