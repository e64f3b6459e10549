"""`paced` over paths of which some lose much more than others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dstcc.engine import EngineResult, Link, Loss, Objects

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
