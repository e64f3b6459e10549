"""Trials of a scenario side by side under one sender: what is played of each, and who looks on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dstcc.coded.fleet import Fleet, Step, check
from dstcc.coded.rules import Automatic, Constant
from dstcc.coded.shown import mission_of
from dstcc.engine.coded_stepper import CONFIGURED
from dstcc.errors import InputError
from dstcc.layers import layer_weights

from .missions import short


def played(complete_s: list[int], due_s: list[int]) -> float:
    """Of two chunks of two layers, by a fleet of them; -1 where a layer never comes."""
    fleet: Any = SimpleNamespace(layers=2, _weights=layer_weights(np.array([0, 1, 0, 1]), 2))
    objects = SimpleNamespace(
        layers=2,
        chunk=np.array([0, 0, 1, 1]),
        layer=np.array([0, 1, 0, 1]),
        payload_bytes=np.ones(4),
        deadline_ns=np.array(due_s),
    )
    result = SimpleNamespace(objects=SimpleNamespace(complete_ns=np.array(complete_s)))
    return Fleet.value(fleet, SimpleNamespace(objects=objects), result)  # type: ignore[arg-type]


def test_a_layer_counts_by_its_deadline_and_with_all_below_it() -> None:
    base, top = layer_weights(np.array([0, 1]), 2).tolist()
    due = [5, 5, 9, 9]
    for complete, layers in (
        ([0, 5, 9, 1], 2 * (base + top)),
        ([6, 1, 9, 10], base),
        ([-1, 1, 0, -1], base),
        ([5, 6, -1, 0], base),
        ([-1, -1, -1, -1], 0),
    ):
        assert played(complete, due) == pytest.approx(layers / (2 * (base + top)))


def test_a_fleet_is_run_and_watched(tmp_path: Path) -> None:
    fleet = Fleet(short(tmp_path), (1, 2, 3), threads=1)
    assert (fleet.layers, list(fleet.links), fleet.automatic, fleet.seeds) == (3, [0], True, (1, 2, 3))
    steps: list[Step] = []
    done: list[float] = []
    shares = fleet.run(Constant((0.3, 0.3, 0.3)), watch=steps.append, advance=done.append)
    assert shares.shape == (3,) and ((shares > 0.2) & (shares <= fleet.clairvoyant() + 1e-9)).all()
    assert (fleet.run(Constant((0.3, 0.3, 0.3))) == shares).all()
    assert fleet.run(Constant((0.0, 0.0, 0.0))).sum() < shares.sum()
    # each trial is reported once, as it ends
    assert sum(done) == 3 and all(one >= 1 for one in done)
    running = np.array([step.running for step in steps])
    assert (running[0] == 1).all() and (np.diff(running, axis=0) <= 0).all()
    times = np.array([step.seen.time_s for step in steps])
    assert times[0] == pytest.approx(0, abs=5) and np.diff(times[:5, 0]) == pytest.approx(5)
    assert all((step.decision.repair == 0.3).all() for step in steps)
    # the transport's own rule: nothing is decided
    steps.clear()
    own = fleet.run(Automatic(), watch=steps.append)
    assert all((step.decision.repair == CONFIGURED).all() for step in steps) and (own != shares).any()
    given = Fleet(short(tmp_path, "coding.repair=[0.1]"), (1,))
    assert not given.automatic


def test_blocks_are_means_over_those_that_begin_until_then(tmp_path: Path) -> None:
    """Five chunks of 3 packets a block, 6 in the second. What is captured as the first block's time is over, at 6 s, is
    of the second; at 11 s of the third."""
    fleet = Fleet(short(tmp_path), (1,))
    config = fleet.configs[0]
    assert config.coding is not None
    twice = np.where(config.coding.period == 1, 2, 1) * config.objects.payload_bytes
    one = replace(config, objects=replace(config.objects, payload_bytes=twice))
    for captured_s, packets in ((0, (15 + 30) / 2), (10.9, (15 + 30) / 2), (11, (15 + 30 + 15) / 3)):
        of = mission_of([one], 3, fleet.links, captured_ns=round(captured_s * 1e9))
        assert [(layer.objects, layer.source) for layer in of.layers] == [(5, packets)] * 3


def test_clairvoyance_is_a_share_of_all_weight(tmp_path: Path) -> None:
    """Without losses, and with three times the rate, all is in time; in a second nothing is."""
    easy = Fleet(short(tmp_path, "link.0.loss={packet = 0.0}", "link.0.rate_bps=300_000"), (1, 2))
    assert easy.clairvoyant() == pytest.approx([1, 1])
    assert easy.run(Constant((0.0, 0.0, 0.0))) == pytest.approx([1, 1])


@pytest.mark.parametrize(
    ("table", "key", "value", "rule"),
    [
        ("transport", "mode", "lanes", 'transport.mode: a ladder steers coded packets: mode = "coded"'),
        ("transport", "congestion", ("paced", "open-loop"), "transport.congestion: a ladder has one"),
        ("transport", "controller", ("dstcc",), "transport.controller: give controllers with --controller"),
        ("video", "source", "file", 'video.source: blocks end with what is captured: source = "live"'),
        ("playout", "mode", "stall", "playout.mode = 'stall', but dstcc ladder plans repair by deadlines"),
    ],
)
def test_what_no_ladder_can_be_made_of_is_refused(
    tmp_path: Path, table: str, key: str, value: object, rule: str
) -> None:
    scenario = short(tmp_path)
    check(scenario)
    changed = getattr(scenario, table).model_copy(update={key: value})
    with pytest.raises(InputError) as error:
        check(scenario.model_copy(update={table: changed}))
    assert str(error.value).startswith(f"short: {rule}")
