"""`paced` over paths of which some lose much more than others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dstcc.engine import EngineResult, Link, Loss, Objects
from dstcc.engine._testing import coding

from .net import MSS, WIRE, live, ns
from .test_paced import TOLD, far, in_time, trial, video

RATE_BPS, RTT_S = 240e3, 120.0


def lossy(share: float, rate_bps: float = RATE_BPS, **changes: Any) -> Link:
    return far(rate_bps, RTT_S, loss=Loss("packet", share), **changes)


def sent(result: EngineResult, subflow: int, from_s: float, to_s: float = 1e6) -> float:
    """Of all packets of that time, its."""
    samples = result.samples
    then = (samples.t_ns > ns(from_s)) & (samples.t_ns <= ns(to_s))
    return float(samples.sent_segments[then & (samples.subflow == subflow)].sum()) / float(
        samples.sent_segments[then].sum()
    )


@pytest.mark.parametrize("parameters", [{}, TOLD])
def test_a_path_that_loses_much_gives_way_while_others_bring_all(parameters: dict[str, float]) -> None:
    objects = video(0.8, 900, playout_s=2 * RTT_S)
    result = trial((lossy(0.0), lossy(0.4)), objects, parameters=parameters)
    assert in_time(result, objects) > 0.995
    assert sent(result, 1, 2 * RTT_S) < 0.02


def test_a_path_that_loses_a_little_more_goes_on() -> None:
    objects = video(0.8, 900, playout_s=2 * RTT_S)
    result = trial((lossy(0.0), lossy(0.05)), objects)
    assert sent(result, 1, 2 * RTT_S) > 0.2


def test_a_path_that_loses_much_is_used_where_others_do_not_bring_all() -> None:
    """One brings 1, the other 0.6, of 1.4 that are asked."""
    objects = video(1.3, 900, playout_s=2 * RTT_S)
    result = trial((lossy(0.0), lossy(0.4)), objects)
    assert in_time(result, objects) > 0.95
    assert sent(result, 1, 2 * RTT_S) > 0.3


def test_repair_is_for_the_paths_that_a_block_went_over() -> None:
    """While the good path is away all goes over one that loses a fifth."""
    objects = live(500, (int(0.6 * RATE_BPS / 8 * MSS / WIRE * 2),), chunk_s=2.0, playout_s=2.4 * RTT_S)
    away = lossy(0.01, outages_ns=((ns(400), ns(700)),))
    result = trial((away, lossy(0.2, 0.8 * RATE_BPS)), objects)
    done = result.objects.complete_ns
    meanwhile = (objects.release_ns > ns(400)) & (objects.release_ns < ns(650))
    assert np.mean((done >= 0) & (done <= objects.deadline_ns), where=meanwhile) > 0.98


def test_a_path_that_was_dark_loses_no_more_than_it_did() -> None:
    """All over it was lost from 300 to 500 s. Back, it carries its half again."""
    dark = lossy(0.001, unannounced_ns=((ns(300), ns(500)),))
    objects = video(0.8, 1500, playout_s=2.5 * RTT_S)
    result = trial((dark, lossy(0.001)), objects)
    assert sent(result, 0, 700, 1400) > 0.4


def share_of_weight(result: EngineResult, objects: Objects) -> float:
    """Of three layers that build on one another, by chunks."""
    done = result.objects.complete_ns
    there = ((done >= 0) & (done <= objects.deadline_ns)).reshape(-1, 3)
    return float(np.minimum.accumulate(there, axis=1).mean())


def test_whole_chunks_go_where_base_layers_do_not_fit_in_the_long_run() -> None:
    """Of a video of 8 : 1 : 1 a link carries 0.95 of the base layers: a byte of whole chunks is worth 1.6 times as
    much. 0.76 of all chunks would fit."""
    line = int(RATE_BPS / 8 * MSS / WIRE * 4 / 0.95)
    objects = live(400, (line, line // 8, line // 8), chunk_s=4.0, playout_s=4 * RTT_S)
    assert share_of_weight(trial(far(RATE_BPS, RTT_S), objects, drop_late=True), objects) > 0.65


@pytest.mark.parametrize("loss", [0.05, 0.1])
def test_repair_is_insured_where_answers_wait_for_their_contact(loss: float) -> None:
    """Nothing comes back for 600 s, and a third of the line is to spare."""
    deaf = replace(lossy(loss), up_outages_ns=((0, ns(600)),))
    objects = video(0.75, 600, playout_s=2 * RTT_S)
    assert in_time(trial(deaf, objects), objects) > 0.97


@pytest.mark.parametrize("parameters", [{}, TOLD])
@pytest.mark.parametrize("share", [0.01, 0.1, 0.4])
def test_repair_waits_for_no_better_path_that_has_no_room_for_it(
    share: float, parameters: dict[str, float]
) -> None:
    """Three tenths are lost of what carries twice the video; the path that loses nothing is the shorter one."""
    objects = video(0.45, 900, playout_s=1.9 * RTT_S)
    thin = far(share * RATE_BPS, 0.8 * RTT_S, loss=Loss("packet", 1e-4))
    result = trial((lossy(0.3), thin), objects, parameters=parameters)
    assert in_time(result, objects) > 0.97


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
    """Repair for single losses by what was heard of a path. Before that it counts as 33 packets of which one was lost;
    of the Beta distribution's mean p the variance is p (1 - p) v."""
    share, unsure = (lost + 1) / (heard + 100 / 3), 1 / (heard + 100 / 3 + 1)
    (planned,) = coding.plan(
        [(objects, source, 1.0)], 0.0, coding.LossHeard(), share=share, unsure=0.0 if sure else unsure
    )
    return int(planned)


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_repair_is_planned_by_what_is_known_of_the_path_that_a_block_went_over(seed: int) -> None:
    """One loses nothing and is away from 300 s on, the other loses three tenths. Of 300 packets a block's repair is by
    its path's share, of which it is as unsure as few of its packets were heard; what the first path brought, and blocks
    that lost less over it, count nowhere. In these trials the first blocks lose as single losses do, and no more."""
    away = lossy(0.0, outages_ns=((ns(300), ns(1500)),))
    objects = live(1500, (5 * MSS,), playout_s=1.6 * RTT_S)  # a quarter of a line
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
            # v is some 1 / 300, and the deviation of the lost 1.4 times that of single losses.
            assert planned > 1.1 * planned_for(60, 300, *known[0], sure=True), block


def test_repair_is_planned_by_where_a_block_will_go() -> None:
    """Over a path that loses nothing, while one that loses three tenths gives way. With its base layer a chunk's upper
    layers are planned, of which nothing has left."""
    objects = video(0.5, 900, playout_s=2 * RTT_S)
    result = trial((lossy(0.0), lossy(0.3)), objects)
    blocks = result.coding
    assert blocks is not None
    later = slice(3 * 40, 3 * 88)  # from 400 s on
    share = blocks.planned_packets[later] / blocks.source_packets[later]
    assert share.mean() < 0.05
    assert share.max() < 0.3
