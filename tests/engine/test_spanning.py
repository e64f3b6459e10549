"""Segments of a stream under Linux's schedulers: one ends with a layer only if it leaves before more is written."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstcc.engine import NEVER_NS, EngineResult, Loss, Objects, TcpConstants

from . import net


def layers(bytes_of: list[int], release_s: list[float] | None = None) -> Objects:
    """A layer of each of these sizes, all there from the start unless it is said when."""
    chunk = np.arange(len(bytes_of), dtype=np.int64)
    release = np.array([net.ns(at) for at in release_s or [0.0] * len(bytes_of)], dtype=np.int64)
    return Objects(chunk, 0 * chunk, np.array(bytes_of, dtype=np.int64), release, 0 * chunk + NEVER_NS)


def segments(result: EngineResult) -> list[list[tuple[int, int]]]:
    """The layers and bytes of each segment, in the order of the stream; each segment as it was first sent."""
    trace = result.trace
    assert trace is not None
    found: dict[int, list[tuple[int, int]]] = {}
    for row in np.flatnonzero((trace.event == 0) & (trace.object >= 0)).tolist():
        held = trace.layers_in(row)
        assert sum(size for _, size in held) == trace.bytes[row]
        assert found.setdefault(int(trace.order[row]), held) == held  # whatever repeats it has the same
    assert sorted(found) == list(range(len(found)))
    return [found[order] for order in sorted(found)]


def test_what_waits_is_filled_with_the_next_layers_bytes():
    # A window of two: the first layer's two segments go, its rest of 100 bytes waits with 1,360 of the second layer.
    result = net.run(
        "fixed",
        net.link(12e6, 1.0),
        objects=layers([2 * net.MSS + 100, 2 * net.MSS]),
        scheduler="linux",
        parameters=net.windows(2),
        duration_s=9,
        trace=True,
    )
    assert segments(result) == [[(0, 1460)], [(0, 1460)], [(0, 100), (1, 1360)], [(1, 1460)], [(1, 100)]]
    assert (result.objects.delivered_bytes == [3020, 2920]).all()


def test_one_segment_holds_many_small_layers():
    # Ten segments leave at once; of 73 layers of 40 bytes 36 and a half make a segment.
    result = net.run(
        "fixed",
        net.link(12e6, 1.0),
        objects=layers([10 * net.MSS, *[40] * 73]),
        scheduler="linux",
        parameters=net.windows(10),
        duration_s=9,
        trace=True,
    )
    *_, last_but_one, last = segments(result)
    assert last_but_one == [*((k, 40) for k in range(1, 37)), (37, 20)]
    assert last == [(37, 20), *((k, 40) for k in range(38, 74))]
    assert (result.objects.first_arrival_ns > net.ns(0.5)).all()
    assert (result.objects.complete_ns >= result.objects.first_arrival_ns).all()


def test_what_has_left_does_not_grow():
    # The connection is there after a second, and its window has room for all: each layer leaves when it comes.
    result = net.run(
        "fixed",
        net.link(12e6, 1.0),
        objects=layers([2000] * 3, [1.1, 1.2, 1.3]),
        scheduler="linux",
        parameters=net.windows(20),
        duration_s=9,
        trace=True,
    )
    assert segments(result) == [[(k, size)] for k in range(3) for size in (1460, 540)]


def test_a_write_ends_no_segment_that_waits():
    # 256 KiB are 179 segments of 1,460 and 804 bytes, and the program writes no more at once.
    result = net.run(
        "fixed",
        net.link(12e6, 1.0),
        objects=layers([600_000]),
        scheduler="linux",
        parameters=net.windows(10),
        duration_s=60,
        trace=True,
    )
    assert Counter(size for [(_, size)] in segments(result)) == {1460: 410, 1400: 1}


@pytest.mark.parametrize(
    ("mode", "scheduler"), [("lanes", "minrtt"), ("stream", "minrtt"), ("stream", "layer-pinned")]
)
def test_elsewhere_each_layer_has_segments_of_its_own(mode: str, scheduler: str):
    result = net.run(
        "fixed",
        net.link(12e6, 1.0),
        objects=layers([2 * net.MSS + 100, 2 * net.MSS]),
        scheduler=scheduler,
        mode=mode,
        layer_links=(0,) if scheduler == "layer-pinned" else (),
        parameters=net.windows(2),
        duration_s=9,
        trace=True,
    )
    assert result.trace is not None and len(result.trace.range_row) == 0


def test_a_program_writes_when_it_looks():
    # It looks each 0.4 s, and writes layer by layer. Of three the first leaves at once; what waits for the pace is one
    # segment.
    result = net.run(
        "fixed",
        net.link(12e6, 1.0),
        objects=layers([400] * 5, [1.1, 1.15, 1.3, 1.4, 1.5]),
        scheduler="linux",
        parameters=net.windows(20),
        constants=TcpConstants(look_s=0.4),
        duration_s=9,
        trace=True,
    )
    assert result.objects.first_sent_ns / net.S == pytest.approx([1.2, 1.2, 1.6, 1.6, 1.6], abs=0.04)
    assert segments(result) == [[(0, 400)], [(1, 400)], [(2, 400)], [(3, 400), (4, 400)]]


def test_a_repeat_of_a_shared_segment_counts_for_each_of_its_layers():
    # The third segment is lost: 100 bytes of the first layer, 1,360 of the second.
    result = net.run(
        "fixed",
        net.link(12e6, 1.0, drops=((2, 1),)),
        objects=layers([2 * net.MSS + 100, 2 * net.MSS]),
        scheduler="linux",
        parameters=net.windows(2),
        duration_s=20,
        trace=True,
    )
    of = result.objects
    assert of.retransmissions.tolist() == [1, 1]
    assert of.sent_bytes.tolist() == [3020 + 100, 2920 + 1360]
    assert of.delivered_bytes.tolist() == [3020, 2920]
    assert result.totals.retransmitted_payload_bytes == 1460
    assert of.first_arrival_ns[1] > of.complete_ns[0] - net.ns(1.1) and of.complete_ns[0] > net.ns(2.5)


def test_a_layer_that_two_pieces_bring_to_a_segment_is_repeated_once():
    # A page of 32,768 bytes has room for 32,728 beside a piece's 40: after 32,600 of the first layer for 88 of the
    # second. The 23rd segment has 480 bytes of the one, 88 and 892 of the other.
    result = net.run(
        "fixed",
        net.link(12e6, 1.0, drops=((22, 1),)),
        objects=layers([32_600, 3_000]),
        scheduler="linux",
        parameters=net.windows(2),
        duration_s=60,
        trace=True,
    )
    assert segments(result)[22] == [(0, 480), (1, 980)]
    assert result.objects.retransmissions.tolist() == [1, 1]


@given(
    sizes=st.lists(st.integers(1, 9000), min_size=1, max_size=40),
    links=st.integers(1, 3),
    scheduler=st.sampled_from(["linux", "linux-6.1"]),
    lost=st.sampled_from([0.0, 0.05]),
    live=st.booleans(),
)
def test_every_layers_bytes_are_sent_and_delivered_once(
    sizes: list[int], links: int, scheduler: str, lost: float, live: bool
) -> None:
    paths = tuple(
        net.link(1.2e6, 0.3 * (k + 1), loss=Loss("packet", lost) if lost else None) for k in range(links)
    )
    objects = layers(sizes, [0.05 * k for k in range(len(sizes))] if live else None)
    result = net.run("cubic", paths, objects=objects, scheduler=scheduler, duration_s=300, trace=True)
    sent: Counter[int] = Counter()
    stream = [piece for segment in segments(result) for piece in segment]
    for layer, size in stream:
        sent[layer] += size
    assert [sent[layer] for layer in range(len(sizes))] == sizes
    assert [layer for layer, _ in stream] == sorted(
        layer for layer, _ in stream
    )  # a write is whole before the next
    assert result.objects.delivered_bytes.tolist() == sizes
    trace = result.trace
    assert trace is not None
    put: Counter[int] = Counter()
    for row in np.flatnonzero((trace.event == 0) & (trace.object >= 0)).tolist():
        for layer, size in trace.layers_in(row):
            put[layer] += size
    assert result.objects.sent_bytes.tolist() == [put[layer] for layer in range(len(sizes))]
