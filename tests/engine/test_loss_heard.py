"""What is lost of all packets and of each path's, by memories of several lengths, and how sure that is."""

from __future__ import annotations

import pytest

from dstcc.engine import _engine  # noqa: F401 - the errors of _testing are registered there
from dstcc.engine._testing import coding

from .test_coding_rules import heard

MEMORIES = (1_250, 5_000, 20_000, 80_000)
"""Packets; when so many were heard of, all of them count half."""
PRIOR, PRIOR_LOST = 100 / 30, 0.1
"""Of a path: a thirtieth of the hundred packets, three lost, that count of all before any feedback."""
SETTLED, SETTLED_LOST = 100 / 3, 1.0
"""A third of them, where paths are told apart."""


def remembered(reports: list[tuple[int, int]], length: int) -> tuple[float, float]:
    """What such a memory holds, packet by packet: lost, and heard of. Of a report those lost come first."""
    lost = known = 0.0
    for arrived, missing in reports:
        for gone in (1,) * missing + (0,) * arrived:
            lost, known = lost + gone, known + 1
            if known >= length:
                lost, known = lost / 2, known / 2
    return lost, known


def test_each_memory_of_a_path_halves_when_it_is_full() -> None:
    """Of 115,900 packets, with more lost in the beginning; 80,000 is the longest."""
    reports = [(70, 30)] * 169 + [(980, 10)] * 100
    path = coding.PathLosses()
    for report in reports:
        path.take(*report)
    found = []
    for memory, length in enumerate(MEMORIES):
        lost, known = remembered(reports, length)
        share = (lost + PRIOR_LOST) / (known + PRIOR)
        assert path.share(memory) == pytest.approx(share), length
        # The variance of Beta(a, b) is a b / ((a + b)^2 (a + b + 1)), here of what was lost and of what arrived.
        a, b = lost + PRIOR_LOST, known - lost + PRIOR - PRIOR_LOST
        assert path.variance(memory) == pytest.approx(a * b / ((a + b) ** 2 * (a + b + 1))), length
        found.append(share)
    lost, known = remembered(reports, 5_000)
    assert path.settled == pytest.approx((lost + SETTLED_LOST) / (known + SETTLED))
    assert found == sorted(found), "the longer, the more it knows of the beginning"
    assert found[-1] > 4 * found[0]


def test_reports_that_many_arrived_are_remembered_as_each_of_them() -> None:
    path, at_once = coding.PathLosses(), [(19, 2), (4_000, 0), (19, 2), (9_000, 0), (70_000, 0)]
    for arrived, missing in at_once:
        if missing:
            path.take(arrived, missing)
        else:
            path.take_arrived(arrived)
    for memory, length in enumerate(MEMORIES):
        lost, known = remembered(at_once, length)
        assert path.share(memory) == pytest.approx((lost + PRIOR_LOST) / (known + PRIOR)), length


def test_of_a_path_a_thirtieth_as_much_is_known_before_any_feedback() -> None:
    path = coding.PathLosses()
    for memory in range(len(MEMORIES)):
        assert path.share(memory) == pytest.approx(0.03)
        assert path.variance(memory) == pytest.approx(0.03 * 0.97 / (PRIOR + 1))


def test_a_few_packets_tell_no_path_apart_but_give_its_share() -> None:
    """Four of ten are lost: a share of three tenths, and of a tenth where paths are compared."""
    path = coding.PathLosses()
    path.take(6, 4)
    assert path.share(0) == pytest.approx((4 + 0.1) / (10 + 100 / 30))
    assert path.settled == pytest.approx((4 + 1) / (10 + 100 / 3))


@pytest.mark.parametrize(
    ("reports", "counts"),
    [
        ([(5, 32)], True),  # 32 in a row, though 5 arrive with them
        ([(5, 33)], False),  # more than 32 and than 4 x 5
        ([(10, 40)], True),
        ([(10, 41)], False),
        ([(0, 20), (0, 20), (5, 0)], False),  # 40 in a row
        ([(0, 16), (0, 16), (5, 0)], True),
        ([(0, 32), (1, 0)], True),
    ],
)
def test_an_outage_is_not_what_a_path_loses(reports: list[tuple[int, int]], counts: bool) -> None:
    """By no memory. What arrived with the report that ends it did."""
    path = coding.PathLosses()
    for arrived, lost in reports:
        path.take(arrived, lost)
    came, went = (sum(column) for column in zip(*reports, strict=True))
    known, lost = (came + went, went) if counts else (came, 0)
    for memory in range(len(MEMORIES)):
        assert path.share(memory) == pytest.approx((lost + PRIOR_LOST) / (known + PRIOR))


@pytest.mark.parametrize(("lost", "counts"), [(32, True), (33, False)])
def test_nor_where_only_arrivals_are_reported_behind_it(lost: int, counts: bool) -> None:
    path = coding.PathLosses()
    path.take(0, lost)
    path.take_arrived(100)
    known, gone = (100 + lost, lost) if counts else (100, 0)
    for memory in range(len(MEMORIES)):
        assert path.share(memory) == pytest.approx((gone + PRIOR_LOST) / (known + PRIOR))


@pytest.mark.parametrize("times", [1.0, 1 / 3, 0.01])
def test_a_memory_is_as_unsure_of_its_share_as_so_few_packets_are(times: float) -> None:
    """Of a Beta distribution's mean p the variance is p (1 - p) / (a + b + 1)."""
    memory = coding.LossMemory()
    memory.add(1, 1, 1_000)
    memory.add_arrived(39, 1_000)
    a, b = 1 + 3 * times, 39 + 97 * times
    variance = a * b / ((a + b) ** 2 * (a + b + 1))
    p = memory.share(times)
    assert p == pytest.approx(a / (a + b))
    assert memory.unsure(times) * p * (1 - p) == pytest.approx(variance)


def test_losses_over_unlike_paths_are_no_bursts() -> None:
    """Of 100 packets each go over a path that loses three tenths, or over one that loses a hundredth: each block loses
    its mean and a standard deviation more or less, as single losses do."""
    by_path, by_all = heard(845, 155), heard(845, 155)
    squares = variance = 0.0
    for share in (0.3, 0.01):
        for sign in (1, -1):
            lost = 100 * share + sign * (100 * share * (1 - share)) ** 0.5
            by_path.block(100, lost, share)
            by_all.block(100, lost)
            squares += (lost - 100 * by_all.share) ** 2
            variance += 100 * by_all.share * (1 - by_all.share)
    assert by_path.bursts == pytest.approx(1.0)
    assert by_all.bursts == pytest.approx(squares / variance)
    assert by_all.bursts > 15


def test_bursts_over_a_path_are_held_against_its_own_share() -> None:
    losses = heard(845, 155)
    losses.block(100, 60, 0.3)  # (60 - 30)^2 / (100 x 0.3 x 0.7)
    losses.block(200, 8, 0.01)  # (8 - 2)^2 / (200 x 0.01 x 0.99)
    assert losses.bursts == pytest.approx((900 + 36) / (21 + 1.98))


def test_the_best_memory_is_named() -> None:
    losses = heard(0, 0)
    assert MEMORIES[losses.best] == 20_000
    losses.compare([0.004, 0.2, 0.25, 0.25], 100, 0)
    assert MEMORIES[losses.best] == 1_250
