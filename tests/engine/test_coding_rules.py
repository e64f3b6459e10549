"""Blocks and how many repair packets they get, by themselves: the arithmetic is in the tests."""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import product
from math import comb, prod

import pytest

from dstcc.engine import _engine  # noqa: F401 - the errors of _testing are registered there
from dstcc.engine._testing import coding


def heard(arrived: int, lost: int):
    losses = coding.LossHeard()
    losses.packets(arrived, lost)
    return losses


def test_any_k_packets_bring_an_mds_block_back() -> None:
    assert not coding.brings_back(False, 9, 10, 1e-9)
    assert coding.brings_back(False, 10, 10, 1e-9)


@pytest.mark.parametrize(("extra", "failure"), [(0, 1e-2), (1, 1e-4), (2, 1e-6), (3, 1e-8)])
def test_raptorq_fails_as_seldom_as_rfc_6330_says(extra: int, failure: float) -> None:
    assert not coding.brings_back(True, 10 + extra, 10, 0.999 * failure)
    assert coding.brings_back(True, 10 + extra, 10, 1.001 * failure)
    assert not coding.brings_back(True, 9, 10, 1.0)


def test_losses_heard_begin_at_three_in_a_hundred() -> None:
    assert heard(0, 0).share == 0.03  # (0 + 3) / (0 + 100)
    assert heard(900, 0).share == 0.003  # 3 / 1,000
    assert heard(82, 18).share == 0.105  # 21 / 200


def test_losses_heard_forget() -> None:
    # 10,000 of 20,000 are lost; the 20,000th halves both: 5,003 / 10,100. Then 9,999 more arrive.
    losses = heard(0, 10_000)
    losses.packets(10_000, 0)
    assert losses.share == pytest.approx(5003 / 10_100)
    losses.packets(9_999, 0)
    assert losses.share == pytest.approx(5003 / 20_099)


def test_losses_that_come_together_count_as_bursts() -> None:
    losses = heard(0, 0)
    losses.block(100, 10)  # 3 expected: (10 - 3)^2 / (100 x 0.03 x 0.97)
    assert losses.bursts == pytest.approx(49 / 2.91)
    even = heard(0, 0)
    even.block(100, 3)
    assert even.bursts == 1.0


def test_the_chance_that_a_part_is_lost() -> None:
    # 2 packets of an object each, none of repair: 1 of 2 lost (0.18) hits half, both (0.01) three quarters.
    assert coding.object_loss(2, 2, 0, 0.1) == pytest.approx(0.18 / 2 + 0.01 * 3 / 4)
    # One of repair: only 2 of 3 (3 x 0.01 x 0.9) and 3 of 3 (0.001) are too many; each spares a packet by 2/3.
    assert coding.object_loss(2, 2, 1, 0.1) == pytest.approx(0.027 * (1 - 4 / 9) + 0.001 * (1 - 8 / 27))
    # An object of both packets: 1 - (2 / 3) is spared by each of the lost.
    assert coding.object_loss(1, 2, 1, 0.1) == pytest.approx(0.027 * (1 - 1 / 9) + 0.001 * (1 - 1 / 27))


def test_bursts_are_lost_as_one() -> None:
    # 4 packets in 2 groups of 2, one of them repair: a single group lost (2 x 0.1 x 0.9) is too many, as 2 > 1
    # packets are.
    expected = 0.18 * (1 - (3 / 4) ** 2) + 0.01 * (1 - (3 / 4) ** 4)
    assert coding.object_loss(3, 3, 1, 0.1, bursts=2.0) == pytest.approx(expected)
    # Two of repair for 2 of source are enough for one group, not for both.
    assert coding.object_loss(2, 2, 2, 0.1, bursts=2.0) == pytest.approx(0.01 * (1 - (3 / 4) ** 4))


def rising(a: Fraction, n: int) -> Fraction:
    """a (a + 1) .. (a + n - 1)."""
    return prod((a + i for i in range(n)), start=Fraction(1))


@pytest.mark.parametrize("repair", [0, 3, 12])
def test_the_probability_of_loss_varies_from_block_to_block(repair: int) -> None:
    """By exact sums: of more than 8 phi packets the lost are beta-binomial, with phi times the binomial's variance."""
    objects, source, share, phi = 4, 40, Fraction(1, 10), Fraction(3)
    n = source + repair
    both = (n - 1) / (phi - 1) - 1
    a, b = share * both, (1 - share) * both
    chances = [comb(n, x) * rising(a, x) * rising(b, n - x) / rising(both, n) for x in range(n + 1)]
    assert sum(chances) == 1
    assert sum(x * c for x, c in enumerate(chances)) == n * share
    spread = sum((x - n * share) ** 2 * c for x, c in enumerate(chances))
    assert spread == phi * n * share * (1 - share)
    spared = 1 - Fraction(source, objects) / n
    expected = sum(chances[x] * (1 - spared**x) for x in range(repair + 1, n + 1))
    found = coding.object_loss(objects, source, repair, float(share), bursts=float(phi))
    assert found == pytest.approx(float(expected), rel=1e-9)


def test_few_bursts_in_a_block_are_lost_as_one_each() -> None:
    """24 packets are 8 bursts of 3: 3 of repair are enough for one. 25 packets and more are not few."""
    two_and_more = 1 - 0.9**8 - 8 * 0.1 * 0.9**7
    assert coding.object_loss(1, 21, 3, 0.1, bursts=3.0) == pytest.approx(two_and_more, rel=1e-2)
    assert coding.object_loss(1, 24, 3, 0.1, bursts=3.0) != pytest.approx(
        1 - 0.9**9 - 9 * 0.1 * 0.9**8, rel=1e-2
    )


@pytest.mark.parametrize(
    ("missing", "share", "packets"),
    [
        (1, 0.009, 1),  # lost once in 111 times
        (1, 0.03, 2),  # one is lost 3 times in a hundred, both 9 times in 10,000
        (3, 0.1, 5),  # 2 or more of 4: 0.0523; 3 or more of 5: 0.0081 + 0.00045 + 0.00001
    ],
)
def test_fresh_packets_are_too_few_once_in_a_hundred_times(missing: int, share: float, packets: int) -> None:
    assert coding.fresh(missing, share) == packets


def arrive(n: int, lost: int, share: Fraction) -> Fraction:
    """The probability that so many of n are lost."""
    return comb(n, lost) * share**lost * (1 - share) ** (n - lost)


@pytest.mark.parametrize(
    "share", [Fraction(0), Fraction(1, 50), Fraction(1, 4), Fraction(3, 5), Fraction(9, 10)]
)
@pytest.mark.parametrize("missing", [0, 1, 2, 5, 17, 40])
def test_fresh_packets_are_the_least_of_all_numbers(missing: int, share: Fraction) -> None:
    """By exact sums, number by number; beyond a share of three quarters as at that, and four times and 16 at most."""
    most, known = 4 * missing + 16, min(share, Fraction(3, 4))
    least = next(
        (
            n
            for n in range(missing, most)
            if sum(arrive(n, lost, known) for lost in range(n - missing + 1, n + 1)) <= Fraction(1, 100)
        ),
        most,
    )
    assert coding.fresh(missing, float(share)) == least


def test_fresh_packets_of_a_large_block_are_found_at_once() -> None:
    """Of n packets n p arrive with a standard deviation of sqrt(n p q): 2.326 of them lie above ``missing``."""
    begins = time.process_time()
    for missing, share in ((44_000, 0.3), (1_000_000, 0.05), (300_000, 0.6)):
        n = coding.fresh(missing, share)
        spread = (n * (1 - share) * share) ** 0.5
        assert n * (1 - share) - 2.326 * spread == pytest.approx(missing, abs=0.02 * spread + 1)
    assert time.process_time() - begins < 10


def weight(layers, repair, packets, share):
    """E of repair_rule.hpp, packets of one byte each."""
    total, left, through = 0.0, packets, 1.0
    for m, ((objects, source), extra) in enumerate(zip(layers, repair, strict=True)):
        carried = min(1.0, max(left, 0.0) / (source + extra))
        left -= source + extra
        through *= 1 - coding.object_loss(objects, source, extra, share)
        total += carried * (len(layers) - m) * through
    return total


@pytest.mark.parametrize("packets", [60, 66, 72, 100])
@pytest.mark.parametrize("lost", [0, 30])
def test_auto_finds_the_most_weight_that_there_is(packets: int, lost: int) -> None:
    layers, losses = [(5, 30), (5, 20), (5, 10)], heard(300 - lost, lost)
    chosen = coding.plan(layers, packets, losses)
    best = max(weight(layers, one, packets, losses.share) for one in product(range(14), range(12), range(10)))
    assert weight(layers, chosen, packets, losses.share) >= 0.998 * best


def test_auto_takes_what_is_spare_and_protects_the_base_layer_more() -> None:
    layers, losses = [(10, 100), (10, 100)], heard(9_700, 300)
    base, above = coding.plan(layers, 1_000.0, losses)
    assert base >= above > 3
    # 3 of 100 lost: with spare rate it goes on until a packet gains less than a ten-thousandth of all.
    reached = weight(layers, (base, above), 1_000, losses.share)
    assert reached > 0.9995 * 3
    for more in ((base + 1, above), (base, above + 1)):
        assert 0 < weight(layers, more, 1_000, losses.share) - reached < 1e-4 * 3


def test_auto_pays_for_the_base_layer_with_the_highest() -> None:
    layers, losses = [(10, 100), (10, 100)], heard(9_700, 300)
    base, above = coding.plan(layers, 200.0, losses)  # the links carry the source packets and nothing else
    assert base > 3
    assert weight(layers, (base, above), 200, losses.share) > weight(layers, (0, 0), 200, losses.share)


def test_auto_protects_what_goes_though_nothing_is_left_for_it() -> None:
    # The base layer alone is more than there is. A byte of the other's repair costs what a byte of the base layer
    # brings: its weight over its packets, repair included.
    layers, losses = [(10, 100), (10, 100)], heard(9_700, 300)
    base, above = coding.plan(layers, 90.0, losses)
    kept = [1 - coding.object_loss(10, 100, r, losses.share) for r in range(40)]
    price = 2 * kept[base] / (100 + base)
    assert above == max(range(40), key=lambda r: kept[base] * kept[r] - price * r)
    assert 0 < above < base
    assert (
        coding.plan(layers, 150.0, losses)[1] > above
    )  # where it is carried in part, its own bytes are the price


def test_auto_sends_nothing_beyond_what_the_code_has_room_for() -> None:
    assert coding.plan([(10, 0), (10, 100)], 1_000.0, heard(0, 0))[0] == 0  # nothing to repair
