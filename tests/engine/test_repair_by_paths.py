"""Repair where paths lose unlike shares: by what those lose that a block went over."""

from __future__ import annotations

import pytest

from dstcc.engine import EngineResult
from dstcc.engine._testing import coding

from .net import MSS, live, ns
from .test_paced import trial, video
from .test_unlike_paths import RTT_S, lossy

LEFT = 0.1
"""Of what repair does not bring back, with a round trip for fresh packets."""


def remembered(result: EngineResult, subflow: int, at_ns: int, length: int) -> tuple[float, float]:
    """Packets of that subflow that a sender held to be lost by then, and all of which it had heard: once those are as
    many as the memory is long, all count half."""
    samples = result.samples
    then = (samples.subflow == subflow) & (samples.t_ns <= at_ns)
    lost = heard = 0.0
    for gone, bytes_there in zip(samples.lost_segments[then], samples.delivered_bytes[then], strict=True):
        for is_lost in (1,) * int(gone) + (0,) * int(bytes_there // MSS):
            lost, heard = lost + is_lost, heard + 1
            if heard >= length:
                lost, heard = lost / 2, heard / 2
    return lost, heard


def planned_for(objects: int, source: int, lost: float, heard: float, *, sure: bool = False) -> int:
    """Repair for single losses by what was heard of a path. Before that it counts as three packets of which a tenth was
    lost; of the Beta distribution's mean p the variance is p (1 - p) v."""
    share, unsure = (lost + 0.1) / (heard + 100 / 30), 1 / (heard + 100 / 30 + 1)
    (planned,) = coding.plan(
        [(objects, source, 1.0)],
        0.0,
        coding.LossHeard(),
        left=LEFT,
        share=share,
        unsure=0.0 if sure else unsure,
    )
    return int(planned)


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_repair_is_planned_by_what_is_known_of_the_path_that_a_block_went_over(seed: int) -> None:
    """One loses nothing and is away from 300 s on, the other loses three tenths. Of 300 packets a block's repair is by
    its path's share, of which it is as unsure as few of its packets were heard; what the first path brought, and blocks
    that lost less over it, count nowhere. In these trials the first blocks lose as single losses do, and no more."""
    away = lossy(0.0, outages_ns=((ns(300), ns(1500)),))
    objects = live(1500, (5 * MSS,), playout_s=2.05 * RTT_S)  # a quarter of a line
    result = trial((away, lossy(0.3)), objects, block_s=60, slot_s=1.0, seed=seed)
    blocks = result.coding
    assert blocks is not None
    for block in range(5, 24):  # from 300 to 1440 s
        assert (result.objects.subflow[blocks.block == block] == 1).all()
        assert blocks.source_packets[block] == 300
        closed_ns = int(result.objects.first_sent_ns[blocks.block == block].max())
        known = [remembered(result, 1, closed_ns, length) for length in (1_250, 5_000, 20_000, 80_000)]
        planned = int(blocks.planned_packets[block])
        expected = [planned_for(60, 300, *one) for one in known]
        assert 0.97 * min(expected) < planned < 1.09 * max(expected), block
        if block < 7:  # before any report of what left after 300 s
            (heard,) = {heard for _, heard in known}
            assert heard < 300
            # v is some 1 / 300, and the deviation of the lost 1.4 times that of single losses; most of it is for fresh
            # packets.
            assert planned > 1.05 * planned_for(60, 300, *known[0], sure=True), block


@pytest.mark.parametrize("seed", [1, 5])
@pytest.mark.parametrize("back_s", [1455, 1470, 1485])
def test_a_block_over_both_paths_loses_as_its_packets_over_each(back_s: int, seed: int) -> None:
    """Of 300 packets from 1440 to 1500 s those until the first path is back went over the one that loses three tenths,
    the others over that; p is the mean by packets, and of its variance each path brings its own."""
    away = lossy(0.0, outages_ns=((ns(300), ns(back_s)),))
    objects = live(1600, (5 * MSS,), playout_s=2.05 * RTT_S)
    result = trial((away, lossy(0.3)), objects, block_s=60, slot_s=1.0, seed=seed)
    blocks = result.coding
    assert blocks is not None
    members = blocks.block == 24
    second = 5 * int((result.objects.subflow[members] == 1).sum())
    assert second == pytest.approx(5 * (back_s - 1440), abs=10)
    share = varies = 0.0
    for subflow, packets in enumerate((300 - second, second)):
        lost, heard = remembered(result, subflow, ns(1500), 20_000)
        loses = (lost + 0.1) / (heard + 100 / 30)
        share += packets / 300 * loses
        varies += (packets / 300) ** 2 * loses * (1 - loses) / (heard + 100 / 30 + 1)
    (expected,) = coding.plan(
        [(60, 300, 1.0)],
        0.0,
        coding.LossHeard(),
        left=LEFT,
        share=share,
        unsure=varies / (share * (1 - share)),
    )
    assert blocks.planned_packets[24] == pytest.approx(expected, abs=4)
    # Then all goes over the first.
    assert blocks.planned_packets[25] < 10


def test_hardly_any_repair_is_planned_while_a_path_that_loses_much_gives_way() -> None:
    """All goes over one that loses nothing, and only that one's share counts."""
    objects = video(0.5, 900, playout_s=2 * RTT_S)
    result = trial((lossy(0.0), lossy(0.3)), objects)
    blocks = result.coding
    assert blocks is not None
    later = slice(3 * 40, 3 * 88)  # from 400 s on
    share = blocks.planned_packets[later] / blocks.source_packets[later]
    assert share.mean() < 0.05
    assert share.max() < 0.3
