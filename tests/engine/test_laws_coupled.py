"""LIA, OLIA and BALIA step by step: the papers' increases written out, ACK by ACK, beside the laws.

Windows count whole segments (RFC 6356 section 4.1 allows it, and Linux does): what an increase brings beyond them is
kept until it makes a segment.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .law import Law

Increase = Callable[[list[int], int], float]


def connection(name: str, windows: list[int], rtts_s: list[float]) -> Law:
    law = Law(name, *rtts_s)
    for path, window in enumerate(windows):
        law.send(20_000, path)
        law.set(path, cwnd=window)
    return law


def expected(windows: list[int], path: int, increase: Increase, acks: int, acked: int = 1) -> list[int]:
    """Windows of a path after each of its ACKs."""
    windows, rest, seen = list(windows), 0.0, []
    for _ in range(acks):
        rest += increase(windows, path) * acked
        whole = int(rest)
        rest -= whole
        windows[path] = max(windows[path] + whole, 1)
        seen.append(windows[path])
    return seen


def simulated(law: Law, path: int, acks: int, acked: int = 1) -> list[int]:
    seen = []
    for _ in range(acks):
        law.ack(acked, path)
        seen.append(law.cwnd(path))
    return seen


def lia(rtts_s: list[float]) -> Increase:
    """RFC 6356 section 3, equations (1) and (2), in segments."""

    def increase(w: list[int], i: int) -> float:
        total = sum(w)
        best = max(wp / rtt**2 for wp, rtt in zip(w, rtts_s, strict=True))
        rate = sum(wp / rtt for wp, rtt in zip(w, rtts_s, strict=True))
        alpha = total * best / rate**2
        return min(alpha / total, 1 / w[i])

    return increase


def balia(rtts_s: list[float]) -> Increase:
    """Peng et al. 2016, section V: x = w / RTT, α_r = max x / x_r."""

    def increase(w: list[int], r: int) -> float:
        x = [wp / rtt for wp, rtt in zip(w, rtts_s, strict=True)]
        alpha = max(x) / x[r]
        return x[r] / rtts_s[r] / sum(x) ** 2 * ((1 + alpha) / 2) * ((4 + alpha) / 5)

    return increase


def olia(rtts_s: list[float], between: list[int]) -> Increase:
    """Khalili et al. 2012, section IV, equations (5) and (6): ``between`` are the ℓ of the paths."""

    def increase(w: list[int], r: int) -> float:
        paths = range(len(w))
        rate = sum(w[p] / rtts_s[p] for p in paths)
        largest = {p for p in paths if w[p] == max(w)}
        quality = [between[p] / rtts_s[p] ** 2 for p in paths]
        collected = {p for p in paths if quality[p] == max(quality)} - largest
        epsilon = 0.0
        if collected and r in collected:
            epsilon = 1 / len(w) / len(collected)
        elif collected and r in largest:
            epsilon = -1 / len(w) / len(largest)
        return w[r] / rtts_s[r] ** 2 / rate**2 + epsilon / w[r]

    return increase


CASES = [
    ([10, 20], [0.1, 0.4]),  # α / ΣW = 0.044 < 1 / 20: the coupled part binds on both
    ([2, 100], [0.1, 1.0]),  # on the second path 1 / W binds
    ([10, 10], [0.2, 0.2]),
    ([3, 8, 30], [0.05, 0.2, 1.0]),
    ([50], [0.3]),
    ([1, 2], [600.0, 1100.0]),
]


@pytest.mark.parametrize("acked", [1, 2, 9])
@pytest.mark.parametrize(("windows", "rtts_s"), CASES)
@pytest.mark.parametrize(("name", "law_of"), [("lia", lia), ("balia", balia)])
def test_each_ack_adds_the_papers_increase(name, law_of, windows, rtts_s, acked):
    for path in range(len(windows)):
        law = connection(name, windows, rtts_s)
        acks = min(1200 // acked, 400)
        assert simulated(law, path, acks, acked) == expected(windows, path, law_of(rtts_s), acks, acked)


def lost_between(law: Law, path: int, segments: int, since: int = 0) -> None:
    """So many segments between the last two losses, so many since; these find the window unused, so it does not
    grow."""
    law.ack(segments, path)
    law.lose(path)
    law.state.set_is_cwnd_limited(path, False)
    law.state.set_max_packets_out(path, 0)
    if since:
        law.ack(since, path)
    law.state.set_is_cwnd_limited(path, True)


OLIA_CASES = [
    # windows, RTTs, segments between losses and since the last
    ([10, 40], [1.0, 1.0], [(900, 0), (100, 0)]),  # B \ M = {0}: +1/2 and -1/2
    ([10, 40], [1.0, 1.0], [(100, 0), (900, 0)]),  # the best is the largest: ε = 0
    ([10, 40], [0.1, 1.0], [(900, 0), (900, 0)]),  # the largest shrinks
    ([10, 40], [1.0, 2.0], [(100, 0), (390, 0)]),  # by RTT², not RTT: 100 > 390 / 4, so path 0 is best
    ([10, 40], [1.0, 1.0], [(100, 600), (500, 0)]),  # ℓ is the larger of both counts: 600 > 500
    ([10, 40], [1.0, 1.0], [(600, 100), (500, 0)]),
    ([40, 40, 8], [1.0, 1.0, 1.0], [(3000, 0), (3000, 0), (9000, 0)]),  # |M| = 2 share what path 2 collects
    ([30, 8, 8], [1.0, 1.0, 1.0], [(50, 0), (700, 0), (700, 0)]),  # |B \ M| = 2: a sixth each
    ([12, 7, 5], [0.2, 0.5, 1.0], [(100, 0), (100, 0), (4000, 0)]),
]


@pytest.mark.parametrize(("windows", "rtts_s", "losses"), OLIA_CASES)
def test_olias_increase_and_its_sets(windows, rtts_s, losses):
    for path in range(len(windows)):
        law = connection("olia", windows, rtts_s)
        for p, (segments, since) in enumerate(losses):
            lost_between(law, p, segments, since)
        for p, window in enumerate(windows):
            law.set(p, cwnd=window)
        between = [max(pair) for pair in losses]
        # So few ACKs that no ℓ changes: fewer than were ever acknowledged between losses.
        acks = min(between[path] - losses[path][1], 2500)
        assert simulated(law, path, acks) == expected(windows, path, olia(rtts_s, between), acks)


def test_olias_losses_where_nothing_was_acknowledged_are_one():
    # 900 between two losses; the next, a round trip's own, finds nothing new: ℓ stays 900, and path 0 collects.
    law = connection("olia", [10, 40], [1.0, 1.0])
    lost_between(law, 0, 900)
    law.lose(0)
    law.lose(0)
    lost_between(law, 1, 500)
    for path, window in enumerate((10, 40)):
        law.set(path, cwnd=window)
    assert simulated(law, 0, 40) == expected([10, 40], 0, olia([1.0, 1.0], [900, 500]), 40)


def test_olia_counts_timeouts_as_losses():
    # 900 segments, a timeout, 100 segments, a timeout: between the last two 100, so that path 1 with 500 is best.
    law = connection("olia", [10, 40], [1.0, 1.0])
    for segments in (900, 100):
        law.ack(segments, 0)
        law.time_out(0)
    lost_between(law, 1, 500)
    for path, window in enumerate((10, 40)):
        law.set(path, cwnd=window)
    assert simulated(law, 0, 40) == expected([10, 40], 0, olia([1.0, 1.0], [100, 500]), 40)


@pytest.mark.parametrize(("name", "law_of"), [("lia", lia), ("balia", balia)])
def test_the_others_windows_are_looked_at_once_a_round_trip(name, law_of):
    # At W = (100, 100) the first ACK fixes the increase until what is in flight now is acknowledged. The other window
    # triples at once; this one notices after 120 segments, its round trip.
    rtts_s = [1.0, 1.0]
    law = Law(name, *rtts_s)
    for path in (0, 1):
        law.set(path, cwnd=100)
        law.send(120, path)
    law.ack(1, 0)
    law.send(5000, 0)
    law.set(1, cwnd=300)
    old, new = (law_of(rtts_s)([100, other], 0) for other in (100, 300))
    rest, windows = old, []
    for k in range(2, 2000):
        rest += old if k <= 120 else new
        windows.append(100 + int(rest))
        if rest >= 1:
            break
    assert simulated(law, 0, len(windows)) == windows
    assert windows[-1] == 101


def test_a_window_in_recovery_counts_as_what_it_is_reduced_to():
    # Path 1 is amid a recovery from 40 to 20: path 0 grows as beside 20.
    law = connection("lia", [10, 40], [0.2, 0.4])
    law.lose_and_stay(1)
    assert law.cwnd(1) == 40
    assert simulated(law, 0, 100) == expected([10, 20], 0, lia([0.2, 0.4]), 100)


@pytest.mark.parametrize("name", ["lia", "olia", "balia"])
def test_what_had_grown_short_of_a_segment_goes_with_a_loss(name):
    # 45 of 50 ACKs at W = 50; the loss leaves 25, which take 25 ACKs for the next segment.
    law = connection(name, [50], [0.3])
    simulated(law, 0, 45)
    law.lose()
    assert law.cwnd() == 25
    assert simulated(law, 0, 26).index(26) in (24, 25)


@pytest.mark.parametrize("name", ["lia", "olia"])
@pytest.mark.parametrize(("window", "after"), [(41, 20), (5, 2), (3, 2), (2, 2)])
def test_a_loss_halves_and_leaves_two(name, window, after):
    law = connection(name, [window, 30], [0.2, 0.3])
    law.lose(0)
    assert law.cwnd(0) == after


@pytest.mark.parametrize(
    ("windows", "rtts_s"),
    [([10, 30], [0.1, 0.2]), ([100, 30], [0.1, 0.4]), ([4, 400], [0.5, 0.1]), ([1, 9], [1.0, 1.0])],
)
@pytest.mark.parametrize("path", [0, 1])
def test_balias_decrease(windows, rtts_s, path):
    # w_r ← w_r - w_r / 2 · min(α_r, 3/2), at least a segment.
    x = [w / rtt for w, rtt in zip(windows, rtts_s, strict=True)]
    alpha = max(x) / x[path]
    law = connection("balia", windows, rtts_s)
    law.lose(path)
    assert law.cwnd(path) == max(int(windows[path] - windows[path] / 2 * min(alpha, 1.5)), 1)


@pytest.mark.parametrize(("window", "after"), [(50, 25), (3, 2), (2, 2)])
def test_balia_alone_reduces_as_reno(window, after):
    law = connection("balia", [window], [0.3])
    law.lose()
    assert law.cwnd() == after


@pytest.mark.parametrize("name", ["lia", "olia", "balia"])
def test_slow_start_is_not_coupled(name):
    # Up to the threshold of 20 a segment for each acknowledged, whatever the other path does; what is acknowledged
    # beyond it counts for avoidance.
    law = connection(name, [10, 1000], [0.1, 0.1])
    law.set(0, cwnd=10, ssthresh=20)
    assert simulated(law, 0, 3, acked=3) == [13, 16, 19]
    law.ack(3, 0)
    assert law.cwnd(0) == 20


@pytest.mark.parametrize("name", ["lia", "olia", "balia"])
def test_an_unused_window_does_not_grow(name):
    law = connection(name, [4], [0.1])
    law.state.set_is_cwnd_limited(0, False)
    law.state.set_max_packets_out(0, 0)
    assert set(simulated(law, 0, 100)) == {4}
