"""`paced` over paths that say nothing until it is too late, by the plan, and over links too far for any deadline."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dstcc.engine import Link, Loss

from .net import MSS, WIRE, live, ns
from .test_paced import TOLD, far, in_time, trial, video
from .test_small_storage import asks, over_node, sent_while_away

RATE_BPS, RTT_S = 240e3, 200.0
NEVER = ((0, ns(10**5)),)


def mute(
    rate_bps: float = RATE_BPS, *, loss: float = 0.03, away: tuple[tuple[int, int], ...] = NEVER
) -> Link:
    """Nothing comes back over it in these times, and everybody knows."""
    return replace(far(rate_bps, RTT_S, up_bps=4e3, loss=Loss("packet", loss)), up_outages_ns=away)


@pytest.mark.parametrize("away", [NEVER, tuple((ns(2000 * k + 300), ns(2000 * k + 2000)) for k in range(4))])
def test_repair_is_planned_whole_where_answers_come_too_late(away: tuple[tuple[int, int], ...]) -> None:
    objects = video(0.7, 2500, playout_s=1500.0)
    result = trial(mute(away=away), objects)
    assert in_time(result, objects) > 0.99
    # Where nothing is ever heard, of the 0.43 that are to spare.
    most = 0.43 if away == NEVER else 0.25
    assert 0.03 < result.totals.repair_payload_bytes / objects.payload_bytes.sum() < most


@pytest.mark.parametrize("stored", [False, True])
def test_nothing_goes_where_nothing_is_heard_while_others_bring_all(stored: bool) -> None:
    objects = video(0.6, 1500, playout_s=1000.0)
    if stored:
        objects = replace(objects, release_ns=0 * objects.release_ns)
    result = trial((mute(loss=0.3), far(RATE_BPS, RTT_S)), objects)
    samples = result.samples
    assert in_time(result, objects) > 0.995
    assert samples.sent_segments[samples.subflow == 0].sum() < 0.01 * samples.sent_segments.sum()


@pytest.mark.parametrize(("from_s", "loss"), [(0, 0.03), (1000, 0.12)])
def test_what_goes_there_is_repaired_by_what_was_ever_heard_of_it(from_s: int, loss: float) -> None:
    """Both are needed. Of the other, of which all is heard, nothing is lost."""
    objects = video(1.4, 4000, playout_s=1500.0)
    paths = (mute(loss=loss, away=((ns(from_s), ns(10**5)),)), far(RATE_BPS, RTT_S))
    result = trial(paths, objects)
    samples = result.samples
    assert in_time(result, objects) > 0.97
    assert samples.sent_segments[samples.subflow == 0].sum() > 0.2 * samples.sent_segments.sum()


@pytest.mark.parametrize("told", [False, True])
def test_a_link_that_is_too_far_for_all_deadlines_carries_nothing_of_what_is_planned(told: bool) -> None:
    """The near one carries two thirds of it, and half of the layers whole: a layer that is begun is brought."""
    layer = int(1.5 * RATE_BPS / 8 * MSS / WIRE * 10)
    objects = live(200, (layer,), chunk_s=10.0, playout_s=140.0)
    paths = (far(2 * RATE_BPS, 400.0), far(RATE_BPS, 240.0))
    result = trial(paths, objects, parameters=TOLD if told else {})
    assert in_time(result, objects) > 0.45


def test_told_who_goes_on_has_the_line_of_those_that_rest() -> None:
    """After 300 s one of four paths is open at a time, and the video asks for most of what it carries."""
    gaps = []
    for own in range(4):
        spans = [(400.0 * k + 100 * own - 300, 400.0 * k + 100 * own) for k in range(9)]
        gaps.append(tuple((max(a, 300.0), b) for a, b in spans if b > 300))
    paths = over_node(2_000_000, *gaps)
    objects = asks(0.9, 2500, 1500.0)
    result = trial(paths, objects, parameters=TOLD)
    assert in_time(result, objects) > 0.95
    assert sent_while_away(result, tuple(gaps)) < 0.3


def test_live_sources_that_ask_for_more_than_others_bring_go_over_both() -> None:
    """However little waits: a pass is not spared for a slow link."""
    layer = int(0.5 * RATE_BPS / 8 * MSS / WIRE)
    objects = live(1500, (layer,), playout_s=1500.0)
    result = trial((mute(loss=0.0), far(RATE_BPS / 8, RTT_S)), objects)
    assert in_time(result, objects) == 1
