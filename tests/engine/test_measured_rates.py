"""The engine's rates of a learner's paths, bit by bit against the same arithmetic in numpy, over random slots."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dstcc.engine import _engine
from dstcc.engine.stepper import EPISODE_VALUES, SUBFLOW_VALUES
from dstcc.learn.paths.measure import Rates
from tests.made_results import objects

from .rates_reference import ReferenceRates

EPISODES = 5
MSS, HEADER = 1448.0, 52.0


class Told:
    """A source that has captured what it was told."""

    payload_bytes = per_s = 0.0

    def by(self, _time_s: float) -> tuple[float, float]:
        return self.payload_bytes, self.per_s


class Sides:
    """The same slots for the engine and for the reference."""

    def __init__(self, subflows: int, seed: int) -> None:
        self.draws, self.subflows = np.random.default_rng(seed), subflows
        self.rates, self.reference = Rates(EPISODES, subflows), ReferenceRates(EPISODES, subflows)
        self.sources = [Told() for _ in range(EPISODES)]
        self.paths = np.zeros(EPISODES, dtype=int)
        shape = (EPISODES, subflows)
        self.light_s, self.line = np.ones(shape), np.ones(shape)
        for episode in range(EPISODES):
            self.begin(episode)

    def begin(self, episode: int) -> None:
        """A trial of some of the paths; some sources have a rate, some are stored."""
        draws = self.draws
        paths = int(draws.integers(1, self.subflows + 1))
        config: Any = SimpleNamespace(
            transport=SimpleNamespace(mss_bytes=MSS, header_bytes=HEADER),
            objects=objects(1, [100], [0], [10]),
            links=[SimpleNamespace(subflows=1)] * paths,
        )
        self.paths[episode] = paths
        self.light_s[episode], self.line[episode] = (
            draws.uniform(20, 60, self.subflows),
            draws.uniform(2e3, 2e4, self.subflows),
        )
        self.sources[episode].payload_bytes = draws.uniform(1e5, 1e6)
        self.sources[episode].per_s = draws.choice([0.0, draws.uniform(5e3, 3e4)])
        self.rates.begin(episode, config, self.sources[episode])
        self.reference.begin(episode, paths=paths, mss_bytes=MSS, packet_bytes=MSS + HEADER)

    def slot(self, slot_s: float) -> Any:
        """Random values that now and then fill, drain or drop a queue, here or further on."""
        draws, shape = self.draws, (EPISODES, self.subflows)
        allowed = np.minimum(self.rates.rate, self.rates.limit)
        pace = np.where(np.isfinite(allowed) & (allowed > 0), allowed, 5e3) * draws.uniform(0.7, 1.6, shape)
        sent = np.floor(pace * slot_s * draws.choice([0.5, 0.95, 1.0], shape) / (MSS + HEADER))
        excess = np.maximum(sent * (MSS + HEADER) - self.line * slot_s, 0) * draws.choice([0, 0.1, 1], shape)
        beyond_s = self.light_s * draws.choice([0.0, 0.02, 0.3], shape)
        present = np.arange(self.subflows) < self.paths[:, None]
        named = {
            "established": draws.random(shape) > 0.05,
            "cwnd_segments": draws.integers(2, 500, shape),
            "srtt_s": (self.light_s + beyond_s + excess / self.line) * (draws.random(shape) > 0.03),
            "sent_segments": sent,
            "lost_segments": np.floor(sent * draws.choice([0.0, 0.0, 0.02, 0.3], shape)),
            "delivered_bytes": np.floor(sent * draws.choice([0.0, 0.5, 0.9, 1.0], shape)) * MSS,
            "queue_bytes": excess,
            "pacing_bps": 8 * pace,
            "one_way_s": self.light_s / 2,
            "link_up": draws.random(shape) > 0.05,
        }
        values = np.zeros((*shape, len(SUBFLOW_VALUES)))
        for name, column in named.items():
            values[..., SUBFLOW_VALUES.index(name)] = column * present
        own = np.zeros((EPISODES, len(EPISODE_VALUES)))
        own[:, EPISODE_VALUES.index("slot_s")] = slot_s
        return SimpleNamespace(subflow_values=values, episode_values=own)

    def take(self, slot: Any, rows: slice) -> None:
        self.rates.update(slot, rows)
        told = np.array([source.by(0.0) for source in self.sources])
        self.reference.update(slot, told, rows)

    def check(self, slot: Any) -> None:
        """Every number, to its last bit."""
        rates, reference = self.rates, self.reference
        for name in ("rate", "limit", "used", "known", "source_rate"):
            np.testing.assert_array_equal(getattr(rates, name), getattr(reference, name), err_msg=name)
        for name in ("deep", "probed", "gain"):
            np.testing.assert_array_equal(
                getattr(rates.probing, name), getattr(reference.probing, name), name
            )
        np.testing.assert_array_equal(rates.further_on.state["carried"], reference.further_on.carried)
        np.testing.assert_array_equal(rates.loss(), reference.loss())
        units, wanted = rates.units(slot), reference.units(slot)
        for name in ("window", "queue", "round_trip_s", "lossiest", "limit"):
            np.testing.assert_array_equal(getattr(units, name), getattr(wanted, name), err_msg=name)


@pytest.mark.parametrize(
    "subflows", [1, 8, *(pytest.param(count, marks=pytest.mark.slow) for count in (3, 7))]
)
def test_rates_are_those_of_the_arithmetic_in_numpy(subflows: int) -> None:
    """Of eight numbers numpy adds pairs; so do the sums over eight paths."""
    sides = Sides(subflows, seed=subflows)
    known = limited = further = 0
    for number in range(400):
        slot_s = float(sides.draws.choice([0.0, 3.0, 10.0], p=[0.02, 0.08, 0.9]))
        slot = sides.slot(slot_s)
        if number % 25 == 7:
            sides.begin(int(sides.draws.integers(EPISODES)))
        first = int(sides.draws.integers(EPISODES)) if number % 5 == 0 else 0
        sides.take(slot, slice(first, None) if first else slice(None))
        sides.check(slot)
        known += int(sides.rates.known.sum())
        limited += int(np.isfinite(sides.rates.limit).sum())
        further += int((sides.rates.further_on.state["carried"] > 0).sum())
    # The slots show something of each kind, of 400 times five episodes' paths.
    assert min(known, limited, further) > 50


def given(rates: Rates, slot: Any) -> dict[str, Any]:
    return {
        "sources": rates._sources,
        "limits": rates.pacing_limits,
        "rates": rates._state,
        "probes": rates.probing.state,
        "further_on": rates.further_on.state,
        "source_rate": rates.source_rate,
        "packet": rates.packet_bytes,
        "overhead": rates._overhead,
        "trial_paths": rates._paths,
        "values": slot.subflow_values,
        "episode_values": slot.episode_values,
    }


@pytest.mark.parametrize(
    ("name", "wrong", "error", "message"),
    [
        ("values", lambda values: values[..., :3], ValueError, "a stepper's values"),
        ("values", lambda values: values[:3], ValueError, "a row for each"),
        ("episode_values", lambda values: values[:3], ValueError, "a row for each"),
        ("episode_values", lambda values: values[:, :3], ValueError, "a row for each"),
        ("rates", lambda states: states[:, :1], TypeError, "incompatible"),
        ("rates", lambda states: states[:3], ValueError, "a row for each"),
        ("rates", lambda states: np.zeros(states.shape), TypeError, "incompatible"),
        ("probes", lambda states: states[:3], ValueError, "a row for each"),
        ("further_on", lambda states: states[:3], ValueError, "a row for each"),
        ("source_rate", lambda values: values[:3], ValueError, "a row for each"),
        ("packet", lambda values: values[:3], ValueError, "a row for each"),
        ("sources", lambda sources: sources[:3], ValueError, "a row for each"),
        ("limits", lambda limits: limits[:3], ValueError, "a row for each"),
        ("limits", lambda limits: [[*paths] * 9 for paths in limits], ValueError, "more paths than subflows"),
    ],
)
def test_what_does_not_belong_together_is_refused(
    name: str, wrong: Callable[[Any], Any], error: type[Exception], message: str
) -> None:
    """A state that is not whole rows would be copied, and the copy be brought up to date."""
    sides = Sides(2, seed=1)
    right = given(sides.rates, sides.slot(1.0))
    _engine.update_paths(**right)
    with pytest.raises(error, match=message):
        _engine.update_paths(**{**right, name: wrong(right[name])})


def test_more_paths_than_a_policy_knows_are_refused() -> None:
    slot = Sides(9, seed=1).slot(1.0)
    with pytest.raises(ValueError, match="more subflows than a policy knows"):
        Rates(EPISODES, 9).update(slot)


def test_queues_further_on_may_be_left_out() -> None:
    """What a script compares: the same but for these queues."""
    sides = Sides(2, seed=3)
    for _ in range(200):
        right = given(sides.rates, sides.slot(10.0))
        _engine.update_paths(**{**right, "further_on": None})
    assert not sides.rates.further_on.state["carried"].any() and sides.rates.rate.any()
