"""The schedulers' decisions against the published arithmetic, on both sides of each threshold."""

from __future__ import annotations

import numpy as np
import pytest

from dstcc.engine import NEVER_NS, SCHEDULER_NAMES, EngineResult, Link, Loss, Objects, TcpConstants
from dstcc.engine._testing import rules

from . import net

MS = 10**6
MINUTE = 60 * net.S
INFINITE = 2.0**40


OWN_WAY = {"layer-pinned", "linux", "linux-6.1", "po-mptcp", "redundant"}
"""Schedulers with an order of layers, or a way to bind them, of their own."""


@pytest.mark.parametrize("mode", ["stream", "lanes"])
@pytest.mark.parametrize("scheduler", sorted({*SCHEDULER_NAMES} - OWN_WAY))
def test_of_one_path_nothing_is_to_be_chosen(scheduler: str, mode: str):
    # Those that want feedback are asked for every segment, the others for as many as the window takes.
    objects = net.live(40, (30_000, 20_000), chunk_s=0.25, playout_s=2.0)
    way = net.link(2.4e6, 0.3, loss=Loss("packet", 0.01))
    result, minrtt = (
        net.run("cubic", way, objects=objects, scheduler=name, mode=mode, duration_s=14)
        for name in (scheduler, "minrtt")
    )
    np.testing.assert_array_equal(result.objects.complete_ns, minrtt.objects.complete_ns)
    np.testing.assert_array_equal(result.objects.sent_bytes, minrtt.objects.sent_bytes)
    np.testing.assert_array_equal(result.samples.srtt_ns, minrtt.samples.srtt_ns)


# ---------------------------------------------------------------------------------------------- BLEST


def fast_bytes(*, cwnd: float, ssthresh: float, rtt: int, linger: int, lam: float = 1.0) -> float:
    return rules.blest_fast_bytes(cwnd, ssthresh, rtt, linger, net.MSS, lam)


def test_blest_counts_a_window_a_round_in_congestion_avoidance():
    # 20 ms against 100 ms: n = 100 / 20 + 1 = 6 rounds; (10 + floor(5 / 2)) × 6 = 72 segments.
    assert fast_bytes(cwnd=10, ssthresh=5, rtt=20 * MS, linger=100 * MS) == 72 * net.MSS
    # Below the threshold it is as if slow start were over: cwnd = ssthresh + 1 = 21, so (21 + 2) × 6.
    assert fast_bytes(cwnd=10, ssthresh=20, rtt=20 * MS, linger=100 * MS) == 138 * net.MSS


def test_blest_doubles_the_window_a_round_before_the_first_loss():
    # n = 3 rounds: 10 + 20 + 40; at most 16 rounds, and λ on top.
    assert fast_bytes(cwnd=10, ssthresh=INFINITE, rtt=20 * MS, linger=50 * MS) == 70 * net.MSS
    capped = 10 * (2**16 - 1) * net.MSS
    assert fast_bytes(cwnd=10, ssthresh=INFINITE, rtt=1 * MS, linger=100 * MS) == capped
    assert fast_bytes(cwnd=10, ssthresh=5, rtt=20 * MS, linger=100 * MS, lam=1.2) == pytest.approx(
        72 * 1.2 * net.MSS
    )


def test_blest_needs_more_than_32_bits_at_deep_space_round_trips():
    # 8.5 against 40 minutes, 100,000 segments: n = 5, (100000 + 2) × 5 × 1460 bytes = 730,014,600.
    large = fast_bytes(cwnd=100_000, ssthresh=50_000, rtt=int(8.5 * MINUTE), linger=40 * MINUTE)
    assert large == 100_002 * 5 * net.MSS
    assert rules.blest_linger_ns(40 * MINUTE, 30 * MINUTE, 50 * MINUTE, 99_999, 100_000) == 50 * MINUTE


def test_blest_expects_a_segment_to_linger_as_long_as_its_window_is_full():
    # Halfway up its window, halfway between the least and the largest RTT; never less than the smoothed one.
    assert rules.blest_linger_ns(100 * MS, 100 * MS, 200 * MS, 4, 10) == 150 * MS
    assert rules.blest_linger_ns(180 * MS, 100 * MS, 200 * MS, 4, 10) == 180 * MS
    assert rules.blest_linger_ns(100 * MS, 100 * MS, 200 * MS, 10, 10) == 200 * MS


def test_blest_lambda_follows_what_went_wrong_within_its_range():
    assert rules.blest_lambda(1.2, True) == pytest.approx(1.24)
    assert rules.blest_lambda(1.2, False) == pytest.approx(1.19)
    assert rules.blest_lambda(1.29, True) == 1.3
    assert rules.blest_lambda(1.005, False) == 1.0


def first_on(result, path: int) -> float:
    """When that subflow first put data on its link, in seconds."""
    samples = result.samples
    used = (samples.subflow == path) & (samples.sent_segments > 0)
    return float(samples.t_ns[used][0]) / net.S if used.any() else float("inf")


def carried(result) -> np.ndarray:
    """Payload acknowledged per subflow."""
    return np.bincount(result.samples.subflow, weights=result.samples.delivered_bytes)


@pytest.mark.parametrize(("buffer_segments", "uses_slow"), [(75, False), (2_000, True)])
def test_blest_waits_when_the_slow_path_would_block_the_send_window(buffer_segments: int, uses_slow: bool):
    # Fixed windows of 10 and 10 segments at RTTs of 0.2 and 1 s: n = 6 rounds, X = 10 (2⁶ − 1) segments as
    # ssthresh is infinite. 630 λ > 75, so every segment on the slow path would block; 630 × 1.3 < 2000: none would.
    links = (net.link(12e6, 0.2), net.link(12e6, 1.0))
    result = net.run(
        "fixed",
        links,
        objects=net.bulk(2_000_000),
        scheduler="blest",
        parameters=net.windows(10, 10),
        receive_buffer_bytes=buffer_segments * net.MSS,
    )
    assert (carried(result)[1] > 0) == uses_slow


def test_blest_is_minrtt_where_nothing_limits_the_send_window():
    links = (net.link(12e6, 0.2), net.link(12e6, 1.0))
    blest, minrtt = (
        net.run("cubic", links, objects=net.bulk(5_000_000), scheduler=name) for name in ("blest", "minrtt")
    )
    np.testing.assert_array_equal(blest.samples.delivered_bytes, minrtt.samples.delivered_bytes)


# ------------------------------------------------------------------------------------------------ ECF


def ecf(unsent: float, *, delta: float = 0.0, waiting: bool = False, fast=(10, 20.0), slow=(10, 100.0)):
    return rules.ecf(unsent, *fast, *slow, delta, waiting)


def test_ecf_waits_while_the_fast_path_would_be_done_first():
    # (1 + k / 10) × 20 < 100 up to k = 40; and 100 × max(k, 10) / 10 ≥ 2 × 20.
    assert ecf(39) == rules.Ecf.WAIT
    assert ecf(40) == rules.Ecf.SEND


def test_ecf_keeps_waiting_a_quarter_longer():
    # β = 1/4: (1 + k / 10) × 20 < 125 up to k = 52.5.
    assert ecf(52, waiting=True) == rules.Ecf.WAIT
    assert ecf(53, waiting=True) == rules.Ecf.SEND


def test_ecf_does_not_wait_for_a_path_twice_as_fast_or_less():
    # RTT_s × x_s / cwnd_s ≥ 2 RTT_f + δ: 39 < 2 × 20, 40 is enough; with δ = 5 it takes 45.
    assert ecf(5, slow=(10, 39.0)) == rules.Ecf.SEND_FOR_NOW
    assert ecf(5, slow=(10, 40.0)) == rules.Ecf.WAIT
    assert ecf(5, slow=(10, 44.0), delta=5) == rules.Ecf.SEND_FOR_NOW
    assert ecf(5, slow=(10, 45.0), delta=5) == rules.Ecf.WAIT


def test_ecf_counts_what_is_unsent_beyond_the_slow_window():
    # (1 + 15 / 100) × 20 < 30; all over the slow path takes 30 × 15 / 10 = 45 ≥ 2 × 20, a window of it 30.
    assert ecf(15, fast=(100, 20.0), slow=(10, 30.0)) == rules.Ecf.WAIT
    assert ecf(13, fast=(100, 20.0), slow=(10, 30.0)) == rules.Ecf.SEND_FOR_NOW


def test_ecf_allows_for_how_much_the_rtts_vary():
    # δ = 20: (1 + k / 10) × 20 < 120 up to k = 50.
    assert ecf(49, delta=20) == rules.Ecf.WAIT
    assert ecf(50, delta=20) == rules.Ecf.SEND


def test_ecf_at_deep_space_round_trips():
    # 8.5 and 40 minutes in nanoseconds, windows of 100,000: (1 + k/10⁵) × 8.5 < 40 up to k = 370,588.
    fast, slow = (1e5, 8.5 * MINUTE), (1e5, 40.0 * MINUTE)
    assert ecf(370_588, fast=fast, slow=slow) == rules.Ecf.WAIT
    assert ecf(370_589, fast=fast, slow=slow) == rules.Ecf.SEND


@pytest.mark.parametrize(("segments", "uses_slow"), [(30, False), (200, True)])
def test_ecf_uses_the_slow_path_only_for_what_the_fast_one_would_take_too_long_over(
    segments: int, uses_slow: bool
):
    # Windows of 10 at RTTs of 0.2 and 1.2 s: the fast path is done first with up to 50 unsent.
    links = (net.link(12e6, 0.2), net.link(12e6, 1.2))
    objects = net.live(6, (segments * net.MSS,), chunk_s=30)
    result = net.run(
        "fixed", links, objects=objects, scheduler="ecf", parameters=net.windows(10, 10), slot_s=1
    )
    assert (carried(result)[1] > 0) == uses_slow


# ----------------------------------------------------------------------------------------------- DAPS


def test_daps_gives_each_path_a_window_per_delay_over_their_lcm():
    # RTTs 20 and 50: delays of 4 and 10 quarters, LCM 20. At t = 4, 8, .. 20 the fast path, at 10 and 20 the slow one.
    f, s = (0, 7), (1, 3)
    assert rules.daps_schedule([20, 50], [7, 3]) == [f, f, s, f, f, f, s]
    # Equal delays take turns.
    assert rules.daps_schedule([20, 20], [7, 3]) == [f, s]
    # Whatever the order of the paths.
    assert rules.daps_schedule([50, 20], [3, 7]) == [(1, 7), (1, 7), (0, 3), (1, 7), (1, 7), (1, 7), (0, 3)]


def test_daps_quantises_the_delays_of_mars():
    # 8.5 and 25.001 minutes in nanoseconds have an LCM of months; in quarters of the shorter they are 4 and 12.
    runs = rules.daps_schedule([int(8.5 * MINUTE), int(25.001 * MINUTE)], [1, 1])
    assert runs == [(0, 1), (0, 1), (0, 1), (1, 1)]
    # Three paths of 20, 21 and 30 are 4, 4 and 6; eight primes would have no period worth the name.
    assert [path for path, _ in rules.daps_schedule([20, 21, 30], [1, 1, 1])] == [0, 1, 2, 0, 1, 0, 1, 2]
    assert len(rules.daps_schedule([1_009 * k for k in (2, 3, 5, 7, 11, 13, 17, 19)], [1] * 8)) < 200
    assert len(rules.daps_schedule([1, 10**12], [1, 1])) < 20_000


@pytest.mark.parametrize(("slow_rtt_s", "share"), [(1.0, 1 / 6), (0.5, 2 / 7)])
def test_daps_lets_data_arrive_in_order_over_unequal_paths(slow_rtt_s: float, share: float):
    # Paced windows of 10 at RTTs of 0.2 and 1 s: 50 and 10 segments a second. minrtt gives the slow path what the fast
    # one would send now; it arrives 0.4 s later, and all behind it waits. DAPS gives it what that one reaches by then.
    links = (net.link(12e6, 0.2), net.link(12e6, slow_rtt_s))
    wait = {}
    for name in ("minrtt", "daps"):
        result = net.run(
            "fixed", links, objects=net.bulk(5_000_000), scheduler=name, parameters=net.windows(10, 10)
        )
        wait[name] = result.totals.hol_wait_byte_s / 5e6
        assert carried(result)[1] / carried(result).sum() == pytest.approx(share, rel=0.1)
    assert wait["daps"] < 0.6 * wait["minrtt"]


# --------------------------------------------------------------------------------------------- QAware


def test_qaware_weighs_queue_against_service_time():
    # An empty path of 100 ms beats one of 20 ms with 5 in its queue (6 × 20 = 120), not with 3 (80).
    slow = rules.qaware_cost(0, 100.0, 0.0)
    assert rules.qaware_cost(5, 20.0, 0.0) > slow > rules.qaware_cost(3, 20.0, 0.0)


def test_qaware_takes_the_wait_in_its_own_queue_out_of_the_round_trip():
    # SRTT 50 of which 30 were spent in the queue: service 20, and 2 packets ahead.
    assert rules.qaware_cost(2, 50.0, 30.0) == 60.0


def test_qaware_balances_what_minrtt_piles_up():
    # Two alike paths with deep queues and windows of four bandwidth-delay products, unpaced: minrtt fills one queue and
    # learns of it a round trip later, QAware sees both queues and keeps them level.
    links = (net.link(1.2e6, 0.2, queue_bdp=10), net.link(1.2e6, 0.201, queue_bdp=10))
    objects = net.live(20, (120_000,), chunk_s=1.0)  # 0.96 of 2.4 Mbit/s
    queues = {}
    for name in ("qaware", "minrtt"):
        result = net.run("newreno", links, objects=objects, scheduler=name, initial_cwnd=80, slot_s=0.05)
        both = result.samples.t_ns > 3 * net.S  # the first chunk has the first path to itself
        queue = result.samples.queue_bytes[both].reshape(-1, 2)
        queues[name] = np.abs(queue[:, 0] - queue[:, 1]).max()
    # 20 packets were measured; no arithmetic of ours says how many.
    assert queues["qaware"] < 22 * net.WIRE
    assert queues["minrtt"] > 70 * net.WIRE


# ------------------------------------------------------------------------------------------- PO-MPTCP


def test_po_mptcp_sorts_by_round_trip_then_by_window():
    assert rules.po_mptcp_before(10, 5, 20, 50)
    assert not rules.po_mptcp_before(20, 50, 10, 5)
    assert rules.po_mptcp_before(10, 50, 10, 5)
    assert not rules.po_mptcp_before(10, 5, 10, 50)
    assert not rules.po_mptcp_before(10, 5, 10, 5)


def test_po_mptcp_sends_every_base_layer_before_any_other():
    # Three chunks there from the start, a slow link: base layers leave first, and on the shorter path.
    links = (net.link(1.2e6, 1.0), net.link(1.2e6, 0.2))
    objects = net.live(3, (100_000, 100_000), chunk_s=1e-6)
    result = net.run("fixed", links, objects=objects, scheduler="po-mptcp", mode="lanes", slot_s=1)
    first = result.objects.first_sent_ns.reshape(3, 2)
    assert first[:, 0].max() < first[:, 1].min()


def test_po_mptcp_takes_the_shortest_of_three_for_base_layers():
    # Each of the 20 chunks is one segment, and 30 s apart all subflows are free.
    links = tuple(net.link(1.2e6, rtt_s) for rtt_s in (1.0, 0.6, 0.2))
    objects = net.live(20, (1_000,), chunk_s=30.0)
    result = net.run("fixed", links, objects=objects, scheduler="po-mptcp", mode="lanes", slot_s=1)
    assert set(result.objects.subflow[1:].tolist()) == {2}


# -------------------------------------------------------------------------------- policies of paper 2


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_probabilistic_shares_are_binomial(share: float):
    # The share on path 1 within 3.3 standard deviations, √(p (1 − p) / n).
    links = (net.link(12e6, 0.2), net.link(12e6, 0.3))
    result = net.run("fixed", links, objects=net.bulk(8_000 * net.MSS), scheduler=f"probabilistic-{share}")
    # The second subflow joins after two round trips of each; the first has sent alone until then.
    both = result.samples.t_ns > 2 * net.S
    alone = result.samples.sent_segments[~both].reshape(-1, 2).sum(axis=0)
    sent = result.samples.sent_segments.reshape(-1, 2).sum(axis=0) - alone
    assert sent.sum() > 1_000
    assert sent[0] / sent.sum() == pytest.approx(share, abs=3.3 * np.sqrt(share * (1 - share) / sent.sum()))


def test_probabilistic_draws_belong_to_the_seed():
    links = (net.link(12e6, 0.2), net.link(12e6, 0.3))

    def sent(seed: int) -> np.ndarray:
        result = net.run(
            "fixed", links, objects=net.bulk(5_000_000), seed=seed, scheduler="probabilistic-0.5", slot_s=0.01
        )
        return result.samples.sent_segments

    np.testing.assert_array_equal(sent(1), sent(1))
    assert sent(1).shape != sent(2).shape or (sent(1) != sent(2)).any()


def test_fast_only_never_touches_the_slower_path():
    links = (net.link(12e6, 1.0), net.link(1.2e6, 0.2))
    result = net.run("fixed", links, objects=net.live(40, (150_000,)), scheduler="fast-only", mode="lanes")
    assert carried(result)[0] == 0


@pytest.mark.parametrize(("name", "part"), [("minrtt-then-fast-15", 0.3), ("minrtt-then-fast-30", 0.6)])
def test_minrtt_then_fast_uses_the_slow_path_in_the_first_part_of_each_slot(name: str, part: float):
    # Slots of 10 s, samples of the same length cannot tell; so look at layers: one a second, each too much for the
    # fast path's second, sent on release. Those of a slot's later part stay on the fast path.
    fast, slow = net.link(12e6, 0.01), net.link(12e6, 0.2)
    objects = net.live(100, (3_000_000,), chunk_s=1.0)
    result = net.run("fixed", (fast, slow), objects=objects, scheduler=name, slot_s=10.0, duration_s=95)
    sent = result.samples.sent_segments.reshape(-1, 2)[1:]
    # The slow path runs at its full window in that part of the time, give or take a round trip a slot.
    full = 12e6 / 8 / net.WIRE * 10
    np.testing.assert_allclose(sent[:, 1] / full, part, atol=0.05)


# ------------------------------------------------------------------------------------------- Peekaboo


def test_linucb_two_steps_by_hand():
    arm = rules.LinearArm()
    # A = I, b = 0: nothing known, bound = α √(x'x).
    assert arm.bound([3, 4], 0.75) == 0.75 * 5
    # x = (1, 0), r = 1: A = diag(2, 1), b = (1, 0), θ = A⁻¹ b = (1/2, 0).
    arm.update([1, 0], 1)
    np.testing.assert_allclose(arm.inverse, [[1 / 2, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(arm.theta, [1 / 2, 0])
    # x = (1, 1), r = 1: A = (3 1; 1 2), b = (2, 1), A⁻¹ = (2 −1; −1 3) / 5, θ = (3, 1) / 5.
    arm.update([1, 1], 1)
    np.testing.assert_allclose(arm.inverse, [[2 / 5, -1 / 5], [-1 / 5, 3 / 5]])
    np.testing.assert_allclose(arm.theta, [3 / 5, 1 / 5])
    # x = (0, 1): θ'x + α √(x' A⁻¹ x) = 1/5 + 0.75 √(3/5).
    assert arm.bound([0, 1], 0.75) == pytest.approx(0.2 + 0.75 * np.sqrt(0.6))
    assert arm.mean([0, 1]) == pytest.approx(0.2)


def test_peekaboo_sees_shares_of_the_rate_of_both_paths():
    # 10 segments in 100 ms and 20 in 200 ms are 100 a second each. Per RTT of f and of s: cwnd, in flight, and a send
    # window of 60 segments; without a limit the window is both paths', 30.
    paths = (10, 4, 100 * MS, 20, 5, 200 * MS)
    shares = np.array([10 / 0.1, 4 / 0.1, 60 / 0.1, 20 / 0.2, 5 / 0.2, 60 / 0.2]) / 200
    np.testing.assert_allclose(rules.peekaboo_features(*paths, 60 * net.MSS, net.MSS), shares)
    shares[[2, 5]] /= 2
    np.testing.assert_allclose(rules.peekaboo_features(*paths, 2**63 - 1, net.MSS), shares)


def on_slow(scheduler: str, slow_rtt_s: float, *, seed: int = 1) -> float:
    """Share of the segments that leave on the slower of two paths, both with room for 40, in the first 12 s."""
    links = (net.link(4.8e6, 0.1), net.link(4.8e6 * 0.1 / slow_rtt_s, slow_rtt_s))
    result = net.run("newreno", links, scheduler=scheduler, seed=seed, duration_s=12)
    sent = result.samples.sent_segments.reshape(-1, 2).sum(axis=0)
    return float(sent[1] / sent.sum())


def test_peekaboo_learns_to_leave_a_much_slower_path_alone():
    # A segment waits a few milliseconds for the fast path and 0.1 s for its ACK: a reward near 1; the slow path
    # pays 0.1 / 2. After its first window of 10 the slow path, there since 0.2 + 4 s, gets nothing.
    assert on_slow("peekaboo", 2.0) < 0.6 * on_slow("minrtt", 2.0)


def test_peekaboo_uses_a_path_that_is_nearly_as_fast_more_than_one_that_is_not():
    assert on_slow("peekaboo", 0.11) > 10 * on_slow("peekaboo", 2.0)


def test_peekaboo_is_deterministic_by_seed():
    # 20 s are more than the 500 rewards after which draws matter.
    links = (net.link(4.8e6, 0.1), net.link(1.6e6, 0.3))

    def sent(seed: int) -> list[int]:
        result = net.run("newreno", links, scheduler="peekaboo", seed=seed, duration_s=20)
        return result.samples.sent_segments.tolist()

    assert sent(1) == sent(1)
    assert sent(1) != sent(2)


# --------------------------------------------------------------------------------------------- QLE-DS


def test_qle_ds_learns_to_save_energy():
    # The second path costs 20 times the energy a byte and adds a twentieth of the rate. `all` pays 1 − ½ e with
    # e = (20 + 20) / 21 − 1 = 0.90, hence 0.55; `fast` 20 / 21 = 0.95.
    links = (net.link(12e6, 0.1), net.link(0.6e6, 0.15))

    def dear_bytes(scheduler: str) -> float:
        result = net.run("newreno", links, objects=net.bulk(150_000_000), scheduler=scheduler, slot_s=1)
        return float(carried(result)[1])

    assert dear_bytes("qle-ds") < 0.5 * dear_bytes("minrtt")


def test_qle_ds_uses_all_paths_where_energy_is_the_same():
    # Equal rates: no action wastes energy, `all` has twice the rate of the others.
    links = (net.link(12e6, 0.1), net.link(12e6, 0.12))
    share = carried(net.run("newreno", links, objects=net.bulk(150_000_000), scheduler="qle-ds", slot_s=1))
    assert share.min() > 0.3 * share.sum()


# ---------------------------------------------------------------------------------------------- Linux


def test_linux_thinks_a_subflow_sends_twice_its_window_a_round_trip_in_slow_start():
    """tcp_update_pacing_rate(): 200 % below half of ssthresh, 120 % from there on; the larger of window and flight."""
    s = net.S
    assert rules.linux_rate(40, 100, 30, 1000, s) == pytest.approx(2 * 40 * 1000 / s)
    assert rules.linux_rate(49, 100, 0, 1000, s) == pytest.approx(2 * 49 * 1000 / s)
    assert rules.linux_rate(50, 100, 0, 1000, s) == pytest.approx(1.2 * 50 * 1000 / s)
    assert rules.linux_rate(50, 100, 70, 1000, 2 * s) == pytest.approx(1.2 * 70 * 1000 / (2 * s))


def test_linux_takes_the_mean_pace_of_what_is_queued_and_what_is_added():
    assert rules.linux_pace(2.0, 30_000, 8.0, 10_000) == (2 * 3 + 8 * 1) / 4
    assert rules.linux_pace(2.0, 0, 8.0, 10_000) == 8


def test_linux_levels_queueing_times_and_not_windows():
    """Windows of 600 segments at RTTs of 0.3 and 0.9 s. Paces are as 3 to 1, so lingers are level with 3 segments on
    the first for each on the second; the writer has 150 segments (1200 / 8) beside what is under way. The first is all
    in use, and 600 + 150 on it are level with 250 on the second, within a burst of 45: 42 to 49 % of its window (what
    is in flight alone would be level at 200, 33 to 41 %).
    `minrtt` uses all of both."""
    links = (net.link(60e6, 0.3), net.link(60e6, 0.9))

    def in_use(scheduler: str) -> tuple[float, float]:
        objects = net.live(1000, (30 * net.MSS,), chunk_s=0.01, playout_s=60)
        knobs = {
            "scheduler": scheduler,
            "parameters": net.windows(600, 600),
            "drop_late": True,
            "duration_s": 10,
        }
        result = net.run("fixed", links, objects=objects, **knobs)
        samples = result.samples
        late = samples.t_ns > 6 * net.S
        shares = [samples.inflight_segments[late & (samples.subflow == s)].mean() / 600 for s in (0, 1)]
        return shares[0], shares[1]

    quick, slow = in_use("minrtt")
    assert quick > 0.9 and slow > 0.9
    quick, slow = in_use("linux")
    assert quick > 0.95
    assert 0.39 < slow < 0.49


def test_linux_61_gives_a_subflow_64_kib_at_a_time():
    """65,428 bytes are 44.8 segments of 1,460: a run of 45 on one subflow, then those of the other. A layer that a page
    of 32 KiB divides may go on both."""
    links = (net.link(12e6, 0.5), net.link(12e6, 0.5))
    segments = net.live(
        4000, (net.MSS,), chunk_s=1.2e-3
    )  # 9.7 of 24 Mbit/s: neither subflow's buffer is ever full
    knobs = {"scheduler": "linux-6.1", "parameters": net.windows(400, 400), "duration_s": 60}
    on = net.run("fixed", links, objects=segments, **knobs).objects.subflow
    turns = np.flatnonzero(np.diff(on)) + 1
    runs = np.diff(turns)
    assert len(runs) > 20
    assert (np.abs((runs + 22) % 45 - 22) <= 1).all() and np.mean(runs == 45) > 0.5


def test_linux_61_leaves_each_subflow_as_much_unsent_as_the_longest_link_holds():
    """tcp_notsent_lowat: of endless data a subflow is given a bandwidth-delay product (100 packets) beyond what it has
    sent, so that both slow starts find all that they can send, overflow their queues and repeat one or two hundred."""
    links = (net.link(1.2e6, 1.0), net.link(1.2e6, 1.0))
    result = net.run("newreno", links, objects=net.bulk(), scheduler="linux-6.1", duration_s=40, trace=True)
    trace = result.trace
    assert trace is not None
    data = (trace.event == 0) & (trace.object >= 0)
    for subflow in (0, 1):
        numbers = trace.number[data & (trace.sender == subflow)]
        assert 80 <= len(numbers) - len(np.unique(numbers)) <= 250


def sent_by(result: EngineResult) -> dict[int, list[tuple[float, int]]]:
    """By place in the stream: when which subflow sent that segment."""
    trace = result.trace
    assert trace is not None
    data = (trace.event == 0) & (trace.object >= 0)
    found: dict[int, list[tuple[float, int]]] = {}
    columns = trace.order[data], trace.t_ns[data] / 1e9, trace.sender[data]
    for order, at_s, subflow in zip(*(column.tolist() for column in columns), strict=True):
        found.setdefault(order, []).append((at_s, subflow))
    return found


@pytest.mark.parametrize("scheduler", ["linux", "linux-6.1"])
def test_what_linux_gave_a_subflow_stays_with_it_when_tcp_times_out(scheduler):
    # The first link's ACKs of 6 s are lost: TCP's timeouts go off before the next one comes, and MPTCP, whose timer
    # counts the 20 s of the second link's round trip, hears nothing of it. No segment is ever sent on both subflows.
    links = (net.link(1.2e6, 1.0, up_outages_ns=((net.ns(90), net.ns(96)),)), net.link(1.2e6, 20.0))
    knobs = {"scheduler": scheduler, "parameters": net.windows(90, 1_800), "duration_s": 150}
    result = net.run("fixed", links, objects=net.bulk(), trace=True, **knobs)
    assert result.totals.timeouts >= 1
    assert all(len({subflow for _, subflow in sent}) == 1 for sent in sent_by(result).values())


@pytest.mark.parametrize(("rtt_s", "ends"), [(2.0, 10), (4.0, 20)])
def test_a_subflow_is_stale_for_linux_after_a_round_trip_of_mptcps_timer(rtt_s, ends):
    # The second link is dark from 20.3 s on. MPTCP's timer counts silence: it ends once, and as many times more as
    # 0.2 s go into a round trip, each time after 0.2 s or, where more was written meanwhile, the first subflow's timer.
    # Then that one repeats what the other had, and all is there.
    links = (net.link(1.2e6, rtt_s), net.link(1.2e6, rtt_s, outages_s=((20.3, 1e6),)))
    window = round(90 * rtt_s)
    knobs = {"scheduler": "linux", "parameters": net.windows(window, window), "duration_s": 120}
    result = net.run("fixed", links, objects=net.live(2000, (net.MSS,), chunk_s=0.02), trace=True, **knobs)
    both = [sent[1:] for sent in sent_by(result).values() if len({subflow for _, subflow in sent}) > 1]
    assert 20.3 + 0.2 * ends < min(at_s for later in both for at_s, _ in later) < 20.3 + 10 * rtt_s
    assert result.totals.delivered_payload_bytes == 2000 * net.MSS


def carriers(scheduler: str) -> list[set[int]]:
    """Of layers of 30 segments, a hundred a second: the subflows that sent some of each for the first time, from when
    both are there, after twice two round trips of 0.5 s, on."""
    links = (net.link(60e6, 0.5), net.link(60e6, 0.5))
    layers = net.live(500, (30 * net.MSS,), chunk_s=0.01, playout_s=60)
    knobs = {"parameters": net.windows(2000, 2000), "scheduler": scheduler}
    trace = net.run("fixed", links, objects=layers, trace=True, **knobs).trace
    assert trace is not None
    sent = (trace.event == 0) & (trace.object > 220)
    found: dict[tuple[int, int], int] = {}
    for layer, order, subflow in zip(trace.object[sent], trace.order[sent], trace.sender[sent], strict=True):
        found.setdefault((int(layer), int(order)), int(subflow))
    by_layer: dict[int, set[int]] = {}
    for (layer, _), subflow in found.items():
        by_layer.setdefault(layer, set()).add(subflow)
    return list(by_layer.values())


def test_linux_chooses_a_subflow_for_each_write_and_linux_61_for_each_64_kib():
    """A layer of 30 segments is a write. 6.12 calls mptcp_sched_get_send() for it, so it stays whole; 6.1 fills a
    burst of 45, of which every second one ends amid a layer."""
    whole, bursts = carriers("linux"), carriers("linux-6.1")
    assert {0} in whole and {1} in whole and {0, 1} not in whole
    assert {0, 1} in bursts


def test_linux_binds_all_that_a_send_buffer_holds():
    """Before the second subflow is there the first takes all 4,000 segments of 1,460 + 896 bytes: its buffer of four
    times what two links of 12 Mbit/s hold in a second and in their queues, 24 MB, holds 10,186. 6.1 leaves what is
    beyond 1,027 unsent ones (tcp_notsent_lowat)."""
    links = (net.link(12e6, 1.0), net.link(12e6, 1.0))
    on = {}
    for scheduler in ("linux", "linux-6.1"):
        knobs = {"scheduler": scheduler, "parameters": net.windows(400, 400), "slot_s": 1}
        trace = net.run("fixed", links, objects=net.bulk(4000 * net.MSS), trace=True, **knobs).trace
        assert trace is not None
        second = (trace.event == 0) & (trace.sender == 1) & (trace.bytes > 0)
        on[scheduler] = len(np.unique(trace.order[second]))
    assert on["linux"] <= 30 and on["linux-6.1"] > 800


def test_mptcps_own_timer_repeats_on_an_idle_subflow_what_another_has_in_flight():
    """Round trips of 4 and 6 s, a layer of 20 segments every 10 s. When a layer comes nothing is in flight, so that it
    begins an interval of 200 ms (TCP_RTO_MIN), within which no ACK comes: what one subflow has in flight the other,
    idle one repeats (__mptcp_retrans()). The simulator's own schedulers do not."""
    links = (net.link(12e6, 4.0), net.link(12e6, 6.0))
    layers = net.live(20, (20 * net.MSS,), chunk_s=10.0, playout_s=60)
    repeated = {}
    for scheduler in ("linux", "linux-6.1", "minrtt"):
        result = net.run(
            "fixed", links, objects=layers, scheduler=scheduler, parameters=net.windows(40, 40), slot_s=1
        )
        assert (result.objects.complete_ns > 0).all()
        repeated[scheduler] = result.totals.retransmitted_payload_bytes
        # nothing was lost, and what was repeated last may be on its way at the end
        twice = result.totals.duplicate_payload_bytes
        assert repeated[scheduler] - 20 * net.MSS <= twice <= repeated[scheduler]
    assert repeated["linux"] > 0 and repeated["linux-6.1"] > 0
    assert repeated["minrtt"] == 0


def overtaken_s(
    playout_s: float | None, *links: Link, window: int, scheduler: str = "linux", layers: int = 1
) -> float:
    """How long the lowest layer waits for what was written ahead of it: enhancement layers of so many chunks go since
    0 s, at 10 s a basis comes, which is first among what is not written yet."""
    enhancement = 80_000 * net.MSS // layers
    objects = Objects(
        chunk=np.array([0, *range(layers), layers]),
        layer=np.array([0, *[1] * layers, 0]),
        payload_bytes=np.array([net.MSS, *[enhancement] * layers, net.MSS]),
        release_ns=np.array([0] * (layers + 1) + [10 * net.S]),
        deadline_ns=np.full(layers + 2, NEVER_NS if playout_s is None else net.ns(playout_s)),
    )
    knobs = {
        "scheduler": scheduler,
        "layer_first": True,
        "drop_late": playout_s is not None,
        "parameters": net.windows(*(window,) * len(links)),
    }
    result = net.run("fixed", links, objects=objects, duration_s=30, **knobs)
    return (int(result.objects.complete_ns[-1]) - 10 * net.S) / net.S - 0.5


def test_a_program_that_writes_ahead_keeps_an_eighth_of_the_windows():
    """A window of 400 segments in a second: 50 are written beside it, and the one that stands at the bound, where
    each is a write:
    they take 51 / 400 s. Two windows of 3,200: 800 of 6,400 a second, within a burst of 45 on either. A layer of
    256 KiB, 179.6 segments, is a write, and is begun as a whole."""
    narrow, wide = net.link(12e6, 1.0), net.link(120e6, 1.0)
    assert overtaken_s(600.0, narrow, window=400, layers=80_000) == pytest.approx(51 / 400, abs=0.006)
    both = overtaken_s(600.0, wide, wide, window=3200, layers=80_000)
    assert both == pytest.approx(1 / 8, abs=45 / 3200 + 0.006)
    assert 51 / 400 <= overtaken_s(600.0, narrow, window=400, layers=446) <= (51 + 180) / 400 + 0.006


@pytest.mark.parametrize("scheduler", ["linux", "linux-6.1"])
def test_a_program_writes_nothing_before_there_is_a_connection(scheduler):
    # The handshake takes 10 s. What is written cannot be given up, and the first layer is due before.
    objects = net.live(3, (5_000,), chunk_s=1.0, playout_s=7.0)
    result = net.run(
        "cubic",
        net.link(1e6, 10.0),
        objects=objects,
        scheduler=scheduler,
        mode="stream",
        drop_late=True,
        duration_s=60,
    )
    assert result.objects.sent_bytes.tolist() == [0, 0, 0]


def test_a_program_writes_a_layer_whole_before_it_looks_for_another():
    # A layer is begun on an idle subflow, and its first segment ends BBR's PROBE_RTT: with the larger window an older
    # layer would be in time. It waits until the one that is begun is written, so each has its places in a row.
    links = (net.link(96e3, 25.0), net.link(64e3, 37.5))
    objects = net.live(300, (4 * net.MSS,), playout_s=2.5 * 37.5)
    trace = net.run("bbr", links, objects=objects, scheduler="linux", duration_s=300, trace=True).trace
    assert trace is not None
    sent = (trace.event == 0) & (trace.bytes > 0)
    for layer in np.unique(trace.object[sent]):
        places = np.unique(trace.order[sent & (trace.object == layer)])
        assert np.ptp(places) + 1 == len(places)


def test_without_deadlines_it_writes_what_the_largest_link_holds():
    """12 Mbit/s for a second are 1,500,000 bytes, 1,027.4 segments (tcp_notsent_lowat): 2.57 s at 400 a second under
    6.1. Under
    6.12 the send buffer, four times that and a queue of as much: 12 MB, segments of 1,460 + 832 bytes, the 400 in
    flight among them: 4,836 more, and what the last burst of 45 had left."""
    link = net.link(12e6, 1.0)
    former = overtaken_s(None, link, window=400, layers=80_000, scheduler="linux-6.1")
    assert former == pytest.approx(1028 / 400, abs=0.02)
    held_s = (12e6 / 2292 - 400) / 400
    assert held_s <= overtaken_s(None, link, window=400, layers=80_000) <= held_s + 45 / 400 + 0.02


def test_linux_gives_what_a_syns_answer_offers_until_the_first_ack():
    # 65,535 bytes are 44 segments and a short one. The handshake ends at 1 s, the first ACK comes at 2 s.
    for scheduler in ("linux", "linux-6.1"):
        samples = net.run(
            "fixed",
            net.link(12e6, 1.0),
            objects=net.bulk(2_000_000),
            scheduler=scheduler,
            parameters=net.windows(200),
            slot_s=1.75,
            duration_s=3.5,
        ).samples
        assert samples.inflight_segments.tolist() == pytest.approx([45, 200], abs=1)


def test_a_connections_send_buffer_bounds_what_its_subflows_hold():
    """Of 24 MB, four times what two links and their queues hold, each subflow's own would have room for 10,471
    segments of 1,460 + 832 bytes. The connection's has the payload of 16,438 for both, of which 800 are in flight:
    (16,438 - 800) / 800 = 19.5 s, less what an ACK that is on its way has told of, for 25.2 s."""
    link = net.link(12e6, 1.0)
    held_s = (24e6 / net.MSS - 800) / 800
    assert held_s - 0.5 <= overtaken_s(None, link, link, window=400, layers=80_000) <= held_s


def test_between_two_looks_linux_is_given_what_tcp_notsent_lowat_allows():
    """The program looks every 5 s. At 20 s it has filled the subflow's buffer (12 MB: 4,836 segments of 1,460 + 832
    bytes beside the 400 in flight) and then, by mptcp_send_limit(), tcp_notsent_lowat more, here 1,500,000 bytes,
    1,027.4 segments. These go on as ACKs make room, 400 a second, until 22.57 s; then nothing is there to give. A base
    layer of 24.5 s is written at 25 s, behind 4,836 - 400 (5 - 2.57) = 3,863 segments, 9.66 s. Without the bound it
    would stand behind all 4,836, with nothing written beyond the buffer behind 2,836."""
    layers = 20_000
    objects = Objects(
        chunk=np.arange(layers + 1),
        layer=np.array([1] * layers + [0]),
        payload_bytes=np.full(layers + 1, net.MSS),
        release_ns=np.array([0] * layers + [net.ns(24.5)]),
        deadline_ns=np.full(layers + 1, NEVER_NS),
    )
    result = net.run(
        "fixed",
        net.link(12e6, 1.0),
        objects=objects,
        scheduler="linux",
        layer_first=True,
        parameters=net.windows(400),
        constants=TcpConstants(look_s=5.0),
        duration_s=40,
    )
    held = 12e6 / (net.MSS + 832) - 400
    gone_s = 5 - 1.5e6 / net.MSS / 400
    arrives_s = 25 + held / 400 - gone_s + 0.5
    assert result.objects.complete_ns[-1] / net.S == pytest.approx(arrives_s, abs=0.03)


def test_linux_chooses_a_subflow_at_each_look_of_the_program():
    """Both links bring 180 segments a second: 13,140 bytes from look to look, 0.05 s, less than a page of 32 KiB
    (32,728 bytes beside its head). A look writes no more, to the subflow that has less: the one that had the last page
    does not have the next. Only where a hole closed there is room for several pages. 6.1 goes on with its 64 KiB."""
    links = (net.link(1.2e6, 1.0), net.link(1.2e6, 1.0))
    pages = {}
    for scheduler in ("linux", "linux-6.1"):
        trace = net.run(
            "fixed",
            links,
            objects=net.bulk(),
            scheduler=scheduler,
            parameters=net.windows(90, 90),
            constants=TcpConstants(look_s=0.05),
            duration_s=80,
            trace=True,
        ).trace
        assert trace is not None
        sent = (trace.event == 0) & (trace.syn == 0)
        _, first = np.unique(trace.order[sent], return_index=True)
        turns = np.flatnonzero(np.diff(trace.sender[sent][first])) + 1
        runs = [part.sum() for part in np.split(trace.bytes[sent][first], turns)]
        pages[scheduler] = np.mean([32_680 < run <= 32_728 for run in runs])
    assert pages["linux"] > 0.7 and pages["linux-6.1"] < 0.1


def test_linux_gives_segments_to_a_path_that_brings_them_too_late():
    """The second path's 4 s are more than the 2 s until a chunk is due; the kernel does not know."""
    links = (net.link(12e6, 0.3), net.link(12e6, 8.0))
    objects = net.live(200, (30 * net.MSS,), chunk_s=0.1, playout_s=2)
    late = {}
    for scheduler in ("linux", "minrtt"):
        knobs = {
            "scheduler": scheduler,
            "parameters": net.windows(50, 50),
            "drop_late": True,
            "duration_s": 30,
        }
        samples = net.run("fixed", links, objects=objects, **knobs).samples
        late[scheduler] = int(samples.inflight_segments[samples.subflow == 1].max())
    assert late["linux"] > 0
    assert late["minrtt"] == 0


# ------------------------------------------------------------------------------------- deep-space RTTs


@pytest.mark.parametrize("scheduler", SCHEDULER_NAMES)
def test_every_scheduler_stands_round_trips_of_forty_minutes(scheduler: str):
    # 8.5 and 40 minutes at 10 packets a second, windows of 5,100 and 24,000 segments: 200 MB, 137,000 segments, take
    # the first path alone 228 minutes and a round trip, both together 181. A scheduler at its worst is a single path,
    # and Linux's has the 64 KiB that a SYN's answer offers for the first round trip.
    links = tuple(net.link(120e3, minutes * 60.0, loss=Loss("packet", 1e-4)) for minutes in (8.5, 40.0))
    result = net.run("fixed", links, objects=net.bulk(200_000_000), scheduler=scheduler, slot_s=600, scale=60)
    assert 180 * MINUTE < result.objects.complete_ns[0] < (228 + 17 + 17) * MINUTE


# ------------------------------------------------------------------------------------------ redundant


def test_redundant_sends_everything_once_more_on_every_other_path():
    # Three equal lossless paths: each segment leaves three times, before any ACK can tell.
    links = (net.link(12e6, 1.0),) * 3
    objects = net.live(50, (10 * net.MSS,))
    result = net.run("fixed", links, objects=objects, scheduler="redundant", mode="lanes", slot_s=1)
    settled = objects.release_ns > 10 * net.S
    np.testing.assert_array_equal(result.objects.sent_bytes[settled], 3 * objects.payload_bytes[settled])


def test_redundant_stops_copying_what_is_known_to_have_arrived():
    # Five seconds' light time against five: the slower path hears in time of less and less.
    near, far = net.link(12e6, 0.1), net.link(1.2e5, 0.2, loss=Loss())
    result = net.run("fixed", (near, far), objects=net.bulk(3_000_000), scheduler="redundant", slot_s=1)
    # The far one could carry 3 MB in 200 s, but the near one is done after 2 s.
    assert result.totals.sent_payload_bytes < 1.1 * 3_000_000
