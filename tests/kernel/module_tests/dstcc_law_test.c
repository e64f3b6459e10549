// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loads only where the window law gives the results of dstcc_law_cases.h; each that differs is
 * named in the log. `digest` is what it gives for 100,000 drawn arguments, to be compared with the
 * simulator's (tests/kernel/test_law_cases.py).
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>

#include "dstcc_law.h"

#define DRAWS 100000

static unsigned long digest;
module_param(digest, ulong, 0444);
MODULE_PARM_DESC(digest, "of the results for drawn arguments");

static unsigned int wrong;

static void check(const char *call, u64 result, u64 expected)
{
	if (result == expected)
		return;
	wrong++;
	pr_err("%s is %llu, not %llu\n", call, result, expected);
}

/* Not inlined: the compiler would work the cases out, and the kernel should. */
static noinline u32 window(u32 cwnd, u32 alpha_q16, s32 beta, u32 cap)
{
	return dstcc_law_window(cwnd, alpha_q16, beta, cap);
}

static noinline u32 cap(u32 bdp, u32 initial, u32 headroom)
{
	return dstcc_law_cap(bdp, initial, headroom);
}

static noinline u64 pace(u32 cwnd, u32 wire, u64 srtt_us)
{
	return dstcc_law_pace(cwnd, wire, srtt_us);
}

static struct dstcc_law_bdp history;

static noinline u32 sample(u64 delivered, u64 interval_us, u64 min_rtt_us, unsigned int rounds)
{
	dstcc_law_sample(&history, delivered, interval_us, min_rtt_us);
	while (rounds--)
		dstcc_law_round(&history);
	return dstcc_law_bdp_segments(&history);
}

#define CASE(call, result) check(#call, call, result)

static void check_cases(void)
{
#include "dstcc_law_cases.h"
}

/* SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), cut to 0 to `bits` bits: small ones come up too. */
static u64 draw(u64 *state, unsigned int bits)
{
	u64 z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	z ^= z >> 31;
	return (z >> 8) & ((1ull << ((z & 0xff) % (bits + 1))) - 1);
}

static u64 fold(u64 sum, u64 value)
{
	return (sum ^ value) * 0x100000001b3ull;
}

static u64 draw_all(void)
{
	u64 state = 1, sum = 0xcbf29ce484222325ull, a, b, c;
	struct dstcc_law_bdp bdp = {};
	u32 most;
	int i;

	for (i = 0; i < DRAWS; i++) {
		a = draw(&state, 28);
		b = draw(&state, 33);
		c = draw(&state, 33);
		dstcc_law_sample(&bdp, a, b, c);
		if (draw(&state, 2) == 1)
			dstcc_law_round(&bdp);
		sum = fold(sum, dstcc_law_bdp_segments(&bdp));
		a = draw(&state, 10);
		b = draw(&state, 10);
		most = dstcc_law_cap(dstcc_law_bdp_segments(&bdp), a, b);
		sum = fold(sum, most);
		a = draw(&state, 28);
		b = draw(&state, 22);
		c = draw(&state, 29);
		sum = fold(sum, dstcc_law_window(a, b, (s32)c - (1 << 28), most));
		b = draw(&state, 16);
		c = draw(&state, 33);
		sum = fold(sum, dstcc_law_pace(a, b, c));
	}
	return sum;
}

static int __init dstcc_law_test_init(void)
{
	check_cases();
	digest = draw_all();
	pr_info("%u wrong, digest %lu\n", wrong, digest);
	return wrong ? -EINVAL : 0;
}

static void __exit dstcc_law_test_exit(void)
{
}

module_init(dstcc_law_test_init);
module_exit(dstcc_law_test_exit);

MODULE_DESCRIPTION("The window law's test inside the kernel");
MODULE_LICENSE("GPL");
