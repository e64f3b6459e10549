"""Blocks and how many repair packets they get, by themselves: the arithmetic is in the tests."""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import product
from math import comb, exp, prod

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


def test_each_memory_of_losses_halves_when_it_is_full() -> None:
    # 10,000 of 20,000: those of 1,250 and 5,000 packets have forgotten them, 80,000 has forgotten none.
    losses = heard(0, 10_000)
    losses.packets(10_000, 0)
    short, shorter, middle, far = losses.shares()
    assert short == pytest.approx((10_000 * 2**-15 + 3) / 725, abs=0.01)
    assert shorter < 0.1
    assert (middle, far) == (pytest.approx(5003 / 10_100), pytest.approx(10_003 / 20_100))


def test_the_memory_that_foretold_the_blocks_best_is_used() -> None:
    # Losses of a quarter are over: a block of 100 packets of which none was lost has ln L = 100 ln(1 - p), -28.8 for a
    # quarter and -0.4 for 0.004. Of 20 lost it is -110.6 for 0.004 and -50.0 for a fifth.
    losses = heard(3_000, 1_000)
    losses.packets(5_000, 0)
    short, shorter, middle, _ = losses.shares()
    assert short < 0.02 < shorter < middle
    assert losses.share == pytest.approx(middle)
    losses.compare([0.004, 0.2, 0.25, 0.25], 100, 0)
    assert losses.share == pytest.approx(short)
    losses.compare([0.004, 0.2, 0.25, 0.25], 100, 2)
    assert losses.share == pytest.approx(short)
    losses.compare([0.004, 0.2, 0.25, 0.25], 100, 20)
    assert losses.share == pytest.approx(shorter)


def test_a_memory_needs_four_nats_at_first_and_none_is_further_behind_than_eight() -> None:
    # A block of one packet that arrives: ln(1 - p).
    losses = heard(3_000, 1_000)
    losses.packets(1_250, 0)
    short, _, middle, _ = losses.shares()
    less = 1 - exp(-0.5)  # half a nat each, against next to none
    for _ in range(7):
        losses.compare([1e-9, less, less, less], 1, 0)
    assert losses.share == pytest.approx(middle)
    losses.compare([1e-9, less, less, less], 1, 0)
    losses.compare([1e-9, less, less, less], 1, 0)
    assert losses.share == pytest.approx(short)
    for _ in range(100):
        losses.compare([1e-9, less, less, less], 1, 0)
    for _ in range(17):
        losses.compare([less, 1e-9, 1e-9, 1e-9], 1, 0)
    assert losses.share != pytest.approx(short)


def test_bursts_weigh_less_in_what_a_memory_foretold() -> None:
    losses = heard(3_000, 1_000)
    losses.packets(1_250, 0)
    losses.block(100, 100)  # phi is some 100 x 0.8 / 0.2
    _, _, middle, _ = losses.shares()
    for _ in range(10):
        losses.compare([0.004, 0.2, 0.25, 0.25], 100, 0)
    assert losses.share == pytest.approx(middle)


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


@pytest.mark.parametrize(
    ("share", "rarely", "packets"),
    [
        (0.09, 0.01, 2),  # 0.0081
        (0.09, 0.1, 1),
        (0.5, 0.5, 1),
        (0.6, 0.5, 2),  # of two both are lost 0.36 times
    ],
)
def test_fresh_packets_are_too_few_as_rarely_as_is_asked(share: float, rarely: float, packets: int) -> None:
    assert coding.fresh(1, share, rarely) == packets


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


Layers = list[tuple[int, int, float]]
"""Of each: objects, source packets, bytes of a packet."""


def going(layers: Layers, losses: coding.LossHeard, most: int, left: float) -> list[list[float]]:
    """Bytes of each layer with so much repair, and with the fresh packets that follow."""
    p = Fraction(min(losses.share, 0.75))
    lacks = [
        [
            sum(arrive(k + r, lost, p) * (lost - r) for lost in range(r + 1, k + r + 1))
            for r in range(most + 1)
        ]
        for _, k, _ in layers
    ]
    again = Fraction(1 - left) / (1 - p)
    return [
        [float(k + r + again * lacks[m][r]) * octets for r in range(most + 1)]
        for m, (_, k, octets) in enumerate(layers)
    ]


def weight(
    layers: Layers,
    kept: list[list[float]],
    repair: list[int],
    carried: float,
    sizes: list[list[float]] | None = None,
) -> float:
    """E of repair_rule.hpp."""
    total, left, through = 0.0, carried, 1.0
    for m, (_, source, octets) in enumerate(layers):
        if source == 0:
            continue
        needs = source * octets + repair[m] * octets if sizes is None else sizes[m][repair[m]]
        part = min(1.0, max(left, 0.0) / needs) if carried > 0 else 1.0
        left -= needs
        through *= kept[m][repair[m]]
        total += part * (len(layers) - m) * through
    return total


def arriving(layers: Layers, losses: coding.LossHeard, most: int, left: float = 1.0) -> list[list[float]]:
    """1 - q(r) of each layer, up to so many packets of repair."""
    share = min(losses.share, 0.75)
    return [
        [
            1 - left * coding.object_loss(n, k, r, share, bursts=losses.bursts)
            for r in range(most + 1 if k else 1)
        ]
        for n, k, _ in layers
    ]


def step_by_step(
    layers: Layers, carried: float, losses: coding.LossHeard, most: int, left: float = 1.0
) -> list[int]:
    """The rule of repair_rule.hpp: steps that gain the most a byte, then what is worth it where nothing is left."""
    kept, repair = arriving(layers, losses, most, left), [0] * len(layers)
    sizes = going(layers, losses, most, left)
    all_weight = sum(len(layers) - m for m, (_, source, _) in enumerate(layers) if source)
    while True:
        now, best = weight(layers, kept, repair, carried, sizes), (0.0, 0, 0)
        for m, (_, _, octets) in enumerate(layers):
            for r in range(repair[m] + 1, len(kept[m])):
                step = r - repair[m]
                changed = [*repair[:m], r, *repair[m + 1 :]]
                gain = weight(layers, kept, changed, carried, sizes) - now
                if gain > 1e-4 * all_weight * step and gain / (step * octets) > best[0]:
                    best = gain / (step * octets), m, r
        if best[0] <= 0:
            break
        repair[best[1]] = best[2]
    left, through, price = carried, 1.0, 0.0
    for m, (_, source, octets) in enumerate(layers):
        if source == 0 or carried <= 0:
            continue
        worth = [(len(layers) - m) * through * one - price * r * octets for r, one in enumerate(kept[m])]
        if left <= 0 and max(worth) > worth[repair[m]]:
            repair[m] = worth.index(max(worth))
        through *= kept[m][repair[m]]
        needs = sizes[m][repair[m]]
        if left > 0:
            price = (len(layers) - m) * through / needs
        left -= needs
    return repair


@pytest.mark.parametrize("left", [1.0, 0.1])
@pytest.mark.parametrize("lost", [0, 6, 60])
@pytest.mark.parametrize(
    "layers",
    [
        [(1, 1, 1.0)],
        [(3, 12, 1.0)],
        [(4, 12, 1000.0), (4, 9, 300.0)],
        [(4, 10, 1.0), (4, 0, 1.0), (4, 10, 3.0)],
        [(2, 6, 100.0), (2, 9, 100.0), (2, 7, 40.0)],
    ],
)
def test_auto_goes_by_the_steps_that_gain_the_most_a_byte(layers: Layers, lost: int, left: float) -> None:
    """With any bytes to carry, 0 for no bound among them; and with just those that a base layer and repair take."""
    losses = heard(100 - lost, lost)
    source = sum(k * octets for _, k, octets in layers)
    base = [(layers[0][1] + r) * layers[0][2] for r in range(12)]
    for carried in (0.0, *(source * part for part in (0.1, 0.4, 0.7, 1.0, 1.3, 3.0)), *base):
        expected = step_by_step(layers, carried, losses, 40, left)
        assert coding.plan(layers, carried, losses, left) == expected, carried


@pytest.mark.parametrize("packets", [60, 66, 72, 100])
@pytest.mark.parametrize("lost", [0, 30])
def test_auto_finds_the_most_weight_that_there_is(packets: int, lost: int) -> None:
    layers: Layers = [(5, 30, 1.0), (5, 20, 1.0), (5, 10, 1.0)]
    losses = heard(300 - lost, lost)
    chosen, kept = coding.plan(layers, packets, losses), arriving(layers, losses, 40)
    best = max(weight(layers, kept, list(one), packets) for one in product(range(14), range(12), range(10)))
    assert weight(layers, kept, chosen, packets) >= 0.998 * best


TWO: Layers = [(10, 100, 1.0), (10, 100, 1.0)]


def test_auto_takes_what_is_spare_and_protects_the_base_layer_more() -> None:
    layers, losses = TWO, heard(9_700, 300)
    base, above = coding.plan(layers, 1_000.0, losses)
    assert base >= above > 3
    # 3 of 100 lost: with spare rate it goes on until a packet gains less than a ten-thousandth of all.
    kept = arriving(layers, losses, 40)
    reached = weight(layers, kept, [base, above], 1_000)
    assert reached > 0.9995 * 3
    for more in ([base + 1, above], [base, above + 1]):
        assert 0 < weight(layers, kept, more, 1_000) - reached < 1e-4 * 3


def test_auto_pays_for_the_base_layer_with_the_highest() -> None:
    layers, losses = TWO, heard(9_700, 300)
    base, above = coding.plan(layers, 200.0, losses)  # the links carry the source packets and nothing else
    assert base > 3
    kept = arriving(layers, losses, 40)
    assert weight(layers, kept, [base, above], 200) > weight(layers, kept, [0, 0], 200)


def test_auto_protects_what_goes_though_nothing_is_left_for_it() -> None:
    # The base layer alone is more than there is. A byte of the other's repair costs what a byte of the base layer
    # brings: its weight over its packets, repair included.
    layers, losses = TWO, heard(9_700, 300)
    base, above = coding.plan(layers, 90.0, losses)
    kept = [1 - coding.object_loss(10, 100, r, losses.share) for r in range(40)]
    price = 2 * kept[base] / (100 + base)
    assert above == max(range(40), key=lambda r: kept[base] * kept[r] - price * r)
    assert 0 < above < base
    assert (
        coding.plan(layers, 150.0, losses)[1] > above
    )  # where it is carried in part, its own bytes are the price


def test_auto_insures_a_probability_of_which_it_is_not_sure() -> None:
    # k = 200, p = (3 + 27) / (100 + 900) = 0.03, a = 1/2: phi = 1 + 199 / (0.5 / 0.03 + 1) = 1 + 199 x 3 / 53. What is
    # chosen gains as the last packets of a Beta(a, a (1 - p) / p) do: no step is left that gains 1e-4 a packet.
    losses = heard(873, 27)
    bursts = 1 + 199 * 3 / 53
    (sure,), (unsure,) = (coding.plan([(10, 200, 1.0)], 1e6, losses, sure=a) for a in (float("inf"), 0.5))
    kept = [1 - coding.object_loss(10, 200, r, losses.share, bursts=bursts) for r in range(201)]
    assert sure < 20 < 3 * sure < unsure
    assert all(kept[r] - kept[unsure] <= 1e-4 * (r - unsure) for r in range(unsure + 1, 201))
    assert kept[unsure] - kept[unsure - 1] > 0
    # The surer, the less.
    found = [coding.plan([(10, 200, 1.0)], 1e6, losses, sure=a)[0] for a in (0.5, 2.0, 8.0, 1e9)]
    assert found == sorted(found, reverse=True)
    assert found[-1] == sure
    # Where more is lost, here 0.2, a / p stays that of 0.03.
    often, same = heard(797, 217), 1 + 199 / (0.5 / 0.03 + 1)
    (many,) = coding.plan([(10, 200, 1.0)], 1e6, often, sure=0.5)
    kept = [1 - coding.object_loss(10, 200, r, often.share, bursts=same) for r in range(201)]
    assert many < 200
    assert all(kept[r] - kept[many] <= 1e-4 * (r - many) for r in range(many + 1, 201))


@pytest.mark.parametrize(("share", "unsure"), [(0.1, 0.02), (0.3, 0.05), (0.3, 0.005), (0.05, 1 / 120)])
def test_auto_insures_a_share_of_which_few_packets_were_heard(share: float, unsure: float) -> None:
    """k = 200: phi = 1 + 199 v, so that no step is left that gains 1e-4 a packet of what such bursts lose; and as a
    plan for blocks that lost in such bursts."""
    bursts = 1 + 199 * unsure
    (sure,), (found,) = (
        coding.plan([(10, 200, 1.0)], 1e6, heard(0, 0), share=share, unsure=v) for v in (0.0, unsure)
    )
    kept = [1 - coding.object_loss(10, 200, r, share, bursts=bursts) for r in range(401)]
    assert sure < found < 400
    assert all(kept[r] - kept[found] <= 1e-4 * (r - found) for r in range(found + 1, 401))
    assert kept[found] - kept[found - 1] > 0.5e-4
    bursty = heard(0, 0)
    bursty.block(1000, 1000 * share + (bursts * 1000 * share * (1 - share)) ** 0.5, share)
    assert bursty.bursts == pytest.approx(bursts)
    assert coding.plan([(10, 200, 1.0)], 1e6, bursty, share=share) == [found]
    # What was heard to come in longer bursts is no surer.
    bursty.block(1000, 1000 * share + (50 * bursts * 1000 * share * (1 - share)) ** 0.5, share)
    both = [coding.plan([(10, 200, 1.0)], 1e6, bursty, share=share, unsure=v) for v in (0.0, unsure)]
    assert both[0] == both[1] > [found]


def test_a_single_packet_is_as_sure_as_its_share() -> None:
    """(k - 1) v is nothing: the block varies no more than one packet does."""
    assert coding.plan([(1, 1, 1.0)], 1e6, heard(0, 0), share=0.1, unsure=0.9) == coding.plan(
        [(1, 1, 1.0)], 1e6, heard(0, 0), share=0.1
    )


def test_auto_sends_nothing_beyond_what_the_code_has_room_for() -> None:
    assert coding.plan([(10, 0, 1.0), (10, 100, 1.0)], 1_000.0, heard(0, 0))[0] == 0  # nothing to repair


def test_auto_looks_at_as_many_packets_as_a_large_block_loses() -> None:
    """Of k / (1 - p) packets k p / (1 - p) are lost on average, with a standard deviation of the root of that."""
    losses = heard(900, 100)
    for source in (1500, 6_000, 20_000):
        (repair,) = coding.plan([(10, source, 1.0)], 1e6, losses)
        mean = source * losses.share / (1 - losses.share)
        assert mean + 2 * mean**0.5 < repair < mean + 5 * mean**0.5


def test_auto_looks_at_as_many_packets_as_bursts_lose() -> None:
    """Of 25 each: more than eight such bursts and eight standard deviations of single losses."""
    losses = heard(900, 100)
    expected = 1000 * losses.share
    losses.block(1000, expected + (25 * expected * (1 - losses.share)) ** 0.5)
    assert losses.bursts == pytest.approx(25)
    (repair,) = coding.plan([(10, 18_000, 1.0)], 1e6, losses)
    mean = 18_000 * losses.share / (1 - losses.share)
    assert mean + 8 * mean**0.5 + 8 * 25 + 4 < repair < mean + 5 * 5 * mean**0.5


def test_words_are_planned_as_the_longest_of_them() -> None:
    word = coding.object_loss(1, 2, 0, 0.1)
    assert coding.object_loss(1, 3, 0, 0.1, words=2) == pytest.approx(1 - (1 - word) ** 2)


def test_beyond_three_quarters_of_losses_auto_plans_as_for_as_many() -> None:
    # (297 + 3) / (300 + 100) are three quarters, (895 + 3) / (900 + 100) nine tenths.
    known = coding.plan([(2, 10, 1.0)], 1e6, heard(3, 297))
    assert coding.plan([(2, 10, 1.0)], 1e6, heard(5, 895)) == known
    assert known[0] > 10 * 3


def test_a_burst_longer_than_two_blocks_hits_all_of_one_or_nothing() -> None:
    # 3 packets, losses in groups of 10: one group, and one packet of repair is too few for it.
    assert coding.object_loss(2, 2, 1, 0.1, bursts=10.0) == pytest.approx(0.1 * (1 - (2 / 3) ** 3))


def test_all_that_is_sent_may_be_lost() -> None:
    # One packet, and one of repair: both are, in one of a hundred cases; each spares the object by 1 / 2.
    assert coding.object_loss(1, 1, 1, 0.1) == pytest.approx(0.01 * (1 - 1 / 4))


@pytest.mark.parametrize("bursts", [1.0, 4.0])
def test_what_a_large_block_loses_is_no_less_for_being_certain(bursts: float) -> None:
    # 2,000 packets of which half are lost, without repair: hardly ever none of the first object's 500.
    assert 1 - 1e-9 < coding.object_loss(4, 2000, 0, 0.5, bursts=bursts) <= 1.0


def test_no_more_than_all_is_lost() -> None:
    assert max(coding.object_loss(10, 6000, repair, 103 / 1100) for repair in range(0, 200, 10)) <= 1.0


def test_losses_that_vary_a_little_are_not_a_binomials() -> None:
    """phi = 1.05, by exact sums."""
    source, repair, share, phi = 36, 4, Fraction(1, 20), Fraction(21, 20)
    n = source + repair
    both = (n - 1) / (phi - 1) - 1
    a, b = share * both, (1 - share) * both
    chances = [comb(n, x) * rising(a, x) * rising(b, n - x) / rising(both, n) for x in range(n + 1)]
    expected = sum(chances[x] * (1 - Fraction(n - source, n) ** x) for x in range(repair + 1, n + 1))
    found = coding.object_loss(1, source, repair, float(share), bursts=float(phi))
    assert found == pytest.approx(float(expected), rel=1e-6)
