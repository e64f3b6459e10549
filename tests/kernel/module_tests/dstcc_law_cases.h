/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Cases of the window law with their results, worked out by hand from its formulas: read by
 * tests/kernel/test_law.py for the simulator and by module/test/dstcc_law_test.c in the kernel.
 *
 *	window(cwnd, alpha in 1/65536, beta, cap)
 *	cap(bdp, initial window, headroom)
 *	pace(cwnd, bytes, srtt in us), in bytes a second
 *	sample(delivered, interval in us, least rtt in us, rounds that end after it): the estimate
 *
 * The samples are one history: each finds what the ones before it left.
 */
CASE(window(10, 65536, 0, 1000), 10);
CASE(window(10, 65536, 10, 1000), 20);
CASE(window(2, 81920, 0, 1000), 3);		/* 1.25 * 2 = 2.5, half up */
CASE(window(3, 81920, 0, 1000), 4);		/* 3.75 */
CASE(window(4, 52429, 0, 1000), 3);		/* 0.8 * 4 = 3.2 */
CASE(window(5, 32768, 0, 1000), 3);		/* 0.5 * 5 = 2.5 */
CASE(window(1, 32768, 0, 1000), 2);		/* the least */
CASE(window(10, 0, 77, 1000), 77);		/* alpha = 0 sets it */
CASE(window(10, 0, 77, 50), 50);		/* the cap */
CASE(window(10, 65536, -20, 1000), 2);
CASE(window(0, 65536, 0, 1000), 2);
CASE(window(268435456, 4194304, 268435456, 268435456), 268435456);
CASE(window(268435456, 4194304, -268435456, 268435456), 268435456);
CASE(window(268435456, 65536, -268435456, 268435456), 2);
CASE(window(268435455, 65536, 0, 268435456), 268435455);
CASE(window(4000000000, 65536, 0, 268435456), 268435456);	/* beyond its range */
CASE(window(10, 4000000000, 0, 100000), 640);			/* alpha as 64 */
CASE(window(10, 65536, 2000000000, 268435456), 268435456);
CASE(cap(0, 10, 2), 20);
CASE(cap(100, 10, 2), 200);
CASE(cap(100, 10, 0), 268435456);
CASE(cap(0, 0, 2), 2);
CASE(cap(268435456, 10, 1024), 268435456);
CASE(cap(134217728, 10, 2), 268435456);
CASE(cap(134217727, 10, 2), 268435454);
CASE(pace(10, 1500, 100000), 150000);
CASE(pace(1000, 1448, 536870911), 2697);	/* 1,448,000 B over 536.87 s */
CASE(pace(10, 1500, 0), 0);			/* no round trip yet */
CASE(pace(2, 1, 8589934592), 1);		/* at least one */
CASE(pace(268435456, 65535, 1), 17591917608960000000ull);
CASE(pace(268435457, 1500, 1000), 0);		/* out of range */
CASE(pace(10, 65536, 1000), 0);
CASE(sample(0, 1000, 1000, 0), 0);		/* passed over, as the next four */
CASE(sample(10, 0, 1000, 0), 0);
CASE(sample(268435457, 1000, 1000, 0), 0);
CASE(sample(10, 1000, 8589934593, 0), 0);
CASE(sample(18446744073709551615ull, 1000, 1000, 0), 0);
CASE(sample(10, 1000000, 1000000, 0), 11);
CASE(sample(9, 1000000, 1000000, 0), 11);	/* less than is known */
CASE(sample(25, 2000000, 1000000, 0), 13);	/* 12.5 */
CASE(sample(1, 1, 8589934592, 7), 268435456);	/* the largest; seven rounds end */
CASE(sample(20, 1000000, 1000000, 1), 268435456);	/* the eighth: an epoch ends */
CASE(sample(20, 1000000, 1000000, 7), 268435456);
CASE(sample(30, 1000000, 1000000, 1), 31);	/* the sixteenth: the largest is forgotten */
CASE(sample(1, 18446744073709551615ull, 1000, 8), 1);	/* a round trip's worth of nothing */
