"""A configuration's fields reach the engine by their names, and the kernel's programs in emulated time."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest

from dstcc.engine import Link, simulate
from dstcc.engine.config import (
    NEVER_NS,
    Coding,
    CrossTraffic,
    Flow,
    FrameSchedule,
    Loss,
    Objects,
    TcpConstants,
    Transport,
    emulated,
    named_values,
)
from tests.engine.net import config, link, live

FRAMES = FrameSchedule(
    frame_bits=1000,
    t_ns=np.array([0, 1]),
    ebn0_db=np.array([1.0, 2.0]),
    scintillation_index=np.array([0.0, 0.1]),
    coherence_ns=10**9,
    curve_from_db=0.0,
    curve_step_db=1.0,
    log10_fer=np.array([-1.0, -2.0]),
)
EVERYTHING = replace(
    link(),
    loss=Loss("frames", frames=FRAMES),
    up_loss=Loss("schedule", t_ns=(0, 3), rates=(0.1, 0.2)),
    cross_traffic=(CrossTraffic(1e3, stop_ns=5),),
    flows=(Flow("cubic", source=CrossTraffic(1e3)),),
)
TRIAL = config("newreno", EVERYTHING, objects=live(3, (3000, 3000)), duration_s=5.0)
OF_PEOPLE = {"name", "first_name", "code", "payloads", "restarts"}
"""What the engine does not look at."""


class Watched:
    """A value of which it is noted which fields are asked for."""

    def __init__(self, value: Any, asked: set[tuple[type, str]]) -> None:
        self.value, self.asked = value, asked

    def __getattr__(self, name: str) -> Any:
        self.asked.add((type(self.value), name))
        return watched(getattr(self.value, name), self.asked)


def watched(value: Any, asked: set[tuple[type, str]]) -> Any:
    if isinstance(value, tuple):
        return tuple(watched(one, asked) for one in value)
    return Watched(value, asked) if is_dataclass(value) else value


@pytest.mark.parametrize(
    "kind", [Link, Loss, FrameSchedule, CrossTraffic, Flow, Transport, TcpConstants, Objects]
)
def test_the_engine_reads_every_field(kind: type) -> None:
    from dstcc.engine import _engine

    asked: set[tuple[type, str]] = set()
    _engine.simulate(watched(TRIAL, asked))
    read = {name for of, name in asked if of is kind} | OF_PEOPLE
    numbers = {"rate", "p", "r", "good", "bad"} if kind is Loss else set()  # as numbers()
    assert {one.name for one in fields(kind)} - numbers <= read


def test_a_word_that_is_none_of_its_kind_is_named_with_them() -> None:
    with pytest.raises(ValueError, match="'tubes' is none of stream, lanes, coded"):
        simulate(replace(TRIAL, transport=replace(TRIAL.transport, mode="tubes")))


def test_columns_are_numbers_of_their_kind() -> None:
    objects = TRIAL.objects
    with pytest.raises(ValueError, match="layer: 256 is out of range"):
        simulate(replace(TRIAL, objects=replace(objects, layer=objects.layer + 256)))
    with pytest.raises(ValueError, match="release_ns must be a flat array of numbers"):
        simulate(replace(TRIAL, objects=replace(objects, release_ns=objects.release_ns[None])))


def test_emulated_time_shortens_times_and_raises_rates_by_their_names() -> None:
    seen = emulated(EVERYTHING, 10.0)
    assert (seen.rate_bps, seen.up_rate_bps) == (10 * EVERYTHING.rate_bps, 10 * EVERYTHING.up_rate_bps)
    assert seen.delay_ns == tuple(round(one / 10) for one in EVERYTHING.delay_ns)
    assert seen.queue_bytes == EVERYTHING.queue_bytes and seen.delay_slope == EVERYTHING.delay_slope
    assert seen.cross_traffic[0].rate_bps == 1e4 and seen.cross_traffic[0].on_ns == NEVER_NS
    assert seen.loss.frames is not None and seen.loss.frames.coherence_ns == 10**8
    assert seen.loss.frames.t_ns.tolist() == [0, 1] and seen.up_loss.t_ns == (0, 1)  # rows stay apart
    assert emulated(EVERYTHING.cross_traffic, 1.0) == EVERYTHING.cross_traffic


def test_an_end_that_never_comes_never_comes() -> None:
    objects = replace(TRIAL.objects, deadline_ns=np.array([NEVER_NS] * len(TRIAL.objects.layer)))
    for scale in (1.0, 7.0):  # at a scale of 1 NEVER_NS is a float that no integer holds
        assert (emulated(objects, scale).deadline_ns == NEVER_NS).all()
    assert emulated(Coding(np.zeros(1, np.int64), 70), 7.0).block_ns == 10


def test_values_have_their_places() -> None:
    lines = dict(named_values(TRIAL, without=("objects",)))
    assert lines["links.0.rate_bps"] == str(EVERYTHING.rate_bps)
    assert lines["links.0.cross_traffic.0.packet_bytes"] == "1500"
    assert lines["links.0.loss.frames.log10_fer"] == "-1.0 -2.0"
    assert lines["transport.drop_late"] in ("0", "1") and lines["transport.constants.jiffy_s"] == "0.004"
    assert lines["links.0.drops"] == "" and "links.0.up_outages_ns" not in lines
    assert not any(name.startswith("objects") for name in lines)


def test_what_is_counted_of_objects_is_none_of_their_values() -> None:
    said = dict(named_values(TRIAL.objects))
    assert TRIAL.objects.layers == 1 + max(TRIAL.objects.layer)
    assert TRIAL.objects.packets(100) is TRIAL.objects.packets(100)
    assert dict(named_values(TRIAL.objects)) == said
