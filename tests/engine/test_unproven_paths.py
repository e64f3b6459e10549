"""Paths over nodes, whose next lines may be slower than the own one: until enough was heard of them, lower layers go
ahead of higher ones by more; and they are slower without a queue."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dstcc.engine import EngineResult, Link, Loss, Objects

from .net import MSS, WIRE, live, ns, relayed
from .test_paced import CARRIED, RATE_BPS, RTT_S, S, far, in_time, trial, video, wire_rate

BLOCK_S = 10
AHEAD_S = 4 * RTT_S / 2
"""Of the lowest of stored layers: four light times."""


def over_a_node(rate_bps: float = 2 * RATE_BPS, own_bps: float = RATE_BPS) -> Link:
    """By default the next line is the faster one: nothing waits there."""
    return relayed(far(own_bps), rate_bps, 375_000)


def stored(chunks: int, layer_bytes: int, layers: int = 3) -> Objects:
    """All of it is there from the start, a chunk is due each second from 400 s on."""
    objects = live(chunks, (layer_bytes,) * layers, playout_s=400.0)
    return replace(objects, release_ns=np.zeros_like(objects.release_ns))


THIRD = round(0.1 * CARRIED / MSS) * MSS
"""Payload bytes of each of three layers a second, in full packets: three tenths of what the own line carries."""


def sent(links: Link | tuple[Link, ...], objects: Objects) -> EngineResult:
    return trial(links, objects, slot_s=1.0, drop_late=True, layer_first=False, block_s=BLOCK_S)


def fronts(result: EngineResult, objects: Objects, at_s: float) -> list[int]:
    """Of each layer the last chunk that has left by then, at least in part."""
    first, layers = result.objects.first_sent_ns, range(int(objects.layer.max()) + 1)
    left = (first >= 0) & (first <= ns(at_s))
    return [int(objects.chunk[left & (objects.layer == layer)].max(initial=-1)) for layer in layers]


def heard_at(result: EngineResult, packets: int) -> float:
    """By when reports told of so many full packets that arrived, or that were lost."""
    samples = result.samples
    told = samples.delivered_bytes / MSS + samples.lost_segments
    times = np.unique(samples.t_ns)
    sums = np.cumsum([told[samples.t_ns == at].sum() for at in times])
    return float(times[np.searchsorted(sums, packets)] / S)


@pytest.mark.parametrize("layers", [2, 3])
def test_the_lowest_of_stored_layers_is_ahead_by_four_light_times_before_anything_is_heard(
    layers: int,
) -> None:
    """Of the highest; and by equal parts of that of those between. Else layers are a block's 10 s apart."""
    objects = stored(1500, THIRD * 3 // layers // MSS * MSS, layers)
    result = sent(over_a_node(), objects)
    for at_s in (60.0, 75.0, 90.0):
        assert np.diff(fronts(result, objects, at_s)) == pytest.approx(
            [-AHEAD_S / (layers - 1)] * (layers - 1), abs=2
        )
    alone = sent(far(), objects)
    for at_s in (30.0, 60.0, 90.0):
        assert np.diff(fronts(alone, objects, at_s)) == pytest.approx([-BLOCK_S] * (layers - 1), abs=2)


def test_once_512_packets_were_heard_of_stored_layers_go_closer_together() -> None:
    """Those sent from 0 to 26 s, long before a round trip of reports: what is ahead waits for the others then."""
    objects = stored(1500, THIRD)
    result = sent(over_a_node(), objects)
    proven_s = heard_at(result, 512)
    assert RTT_S + 20 < proven_s < 1.5 * RTT_S
    before, then, later = (fronts(result, objects, proven_s + s) for s in (-2.0, 2.0, 10.0))
    assert np.diff(before) == pytest.approx([-AHEAD_S / 2] * 2, abs=2)
    assert later[:2] == then[:2] == pytest.approx(before[:2], abs=8)
    # In 8 s the own line brings 160 packets, of which a layer of a chunk has two: 80 less what is repair.
    assert 0.75 * 80 < later[2] - then[2] <= 80
    assert np.diff(fronts(result, objects, proven_s + 40)) == pytest.approx([-BLOCK_S] * 2, abs=2)


def test_a_round_trip_of_reports_is_enough_where_packets_are_few() -> None:
    """Of 340 bytes and 8 kbit/s three leave in a second: the 512th is heard of at 274 s, and at 212 a round trip of
    them, which with reports takes 106."""
    objects = stored(600, 300)
    result = sent(over_a_node(own_bps=8e3), objects)
    by_number_s = RTT_S + 512 * 340 * 8 / 8e3
    assert by_number_s > 2.7 * RTT_S
    proven_s = float(2 * result.samples.srtt_ns[-1] / S)
    assert 2 * RTT_S < proven_s < 2.2 * RTT_S
    for at_s in (1.5 * RTT_S, proven_s - 5):
        base, middle, highest = fronts(result, objects, at_s)
        assert base - middle == pytest.approx(AHEAD_S / 2, abs=2)
        assert base - max(highest, 0) > 1.5 * AHEAD_S / 2
    then, later = fronts(result, objects, proven_s + 5), fronts(result, objects, proven_s + 25)
    assert later[:2] == then[:2]
    assert later[2] - then[2] > 20


@pytest.mark.parametrize("rate_bps", [RATE_BPS / 2, RATE_BPS / 4])
def test_before_a_slower_next_line_the_lower_layers_are_there_first(rate_bps: float) -> None:
    """No middle layer leaves before a hundred base layers have, no highest one before another hundred."""
    objects = stored(1500, THIRD)
    result = sent(over_a_node(rate_bps), objects)
    left = result.objects.first_sent_ns
    starts_s = [float(left[(objects.layer == layer) & (left >= 0)].min() / S) for layer in range(3)]
    first, second = (fronts(result, objects, at_s) for at_s in starts_s[1:])
    assert first == pytest.approx([AHEAD_S / 2, 0, -1], abs=2)
    assert second == pytest.approx([AHEAD_S, AHEAD_S / 2, 0], abs=2)
    assert starts_s[2] < heard_at(result, 1)
    done, base = result.objects.complete_ns, objects.layer == 0
    assert np.mean((done >= 0) & (done <= objects.deadline_ns), where=base) == 1


@pytest.mark.parametrize("paths", [(far(), over_a_node()), (over_a_node(), far())])
def test_one_unproven_path_is_enough(paths: tuple[Link, ...]) -> None:
    objects = stored(1500, THIRD)
    assert np.diff(fronts(sent(paths, objects), objects, 60.0)) == pytest.approx([-AHEAD_S / 2] * 2, abs=2)


def test_a_single_stored_layer_goes_as_it_comes() -> None:
    objects = stored(600, THIRD, layers=1)
    result = sent(over_a_node(), objects)
    assert in_time(result, objects) == 1
    assert (np.diff(result.objects.first_sent_ns) >= 0).all()


def waits(result: EngineResult, objects: Objects, from_s: float, to_s: float) -> list[float]:
    """How long what left then had waited, by layers, on average."""
    first = result.objects.first_sent_ns
    waited, then = (first - objects.release_ns) / S, (first >= ns(from_s)) & (first < ns(to_s))
    return [float(waited[then & (objects.layer == layer)].mean()) for layer in range(3)]


@pytest.mark.parametrize(
    "paths",
    [over_a_node(), (far(RATE_BPS / 2), relayed(far(RATE_BPS / 2), 2 * RATE_BPS, 375_000))],
    ids=["one", "two"],
)
def test_live_layers_are_a_third_of_their_time_apart_before_anything_is_heard(
    paths: Link | tuple[Link, ...],
) -> None:
    """Layers have 200 s, of which light takes 50. Of three a third more is asked for than the line carries: the base
    layer never waits, the highest waits for 50 s longer than the middle one. Else that is a block's 10 s."""
    objects = video(1.5, 600, playout_s=2 * RTT_S)
    result = trial(paths, objects, slot_s=1.0, repair=(), drop_late=True)
    base, middle, highest = waits(result, objects, 60, RTT_S)
    assert base < 1
    assert highest - middle == pytest.approx(150 / 3, rel=0.05)


def test_live_layers_are_a_block_apart_over_a_path_without_nodes_and_once_it_is_proven() -> None:
    objects = video(1.5, 600, playout_s=2 * RTT_S)
    for path, from_s in ((far(), 60), (over_a_node(), 2.5 * RTT_S)):
        result = trial(path, objects, slot_s=1.0, repair=(), drop_late=True)
        assert np.diff(waits(result, objects, from_s, from_s + RTT_S / 2)) == pytest.approx(
            [BLOCK_S] * 2, abs=1.5
        )


@pytest.mark.parametrize("loss", [0.1, 0.15])
@pytest.mark.parametrize("rate_bps", [20e3, 30e3])
def test_behind_a_slow_line_each_packet_waits_and_no_queue_stands(rate_bps: float, loss: float) -> None:
    """It takes 0.4 or 0.6 s for each, more than a 512th of a round trip. Seven tenths of it are asked for, and what is
    lost before it is of a channel."""
    assert WIRE * 8 / rate_bps > RTT_S / 512
    layer = int(0.7 * rate_bps / 8 * 8 / WIRE) * MSS
    objects = live(250, (layer,), chunk_s=8.0, playout_s=2.5 * RTT_S)
    slow = relayed(far(loss=Loss("packet", loss)), rate_bps, 375_000)
    result = trial(slow, objects, block_s=5)
    assert in_time(result, objects) > 0.99
    # With repair more is sent than is asked for, to the end.
    asked = 0.7 * rate_bps
    assert wire_rate(result, 1600, 2000) > asked
