"""What an agent sees: the engine's values, scaled to the order of 1 and clipped, for K episodes at once.

Only what a sender can know is in an observation: its own counters, what acknowledgements report, its queue, light
times and contact plans.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dstcc.arrays import Float64Array
from dstcc.engine import EngineConfig
from dstcc.engine.stepper import EPISODE_VALUES, LAYER_VALUES, SUBFLOW_VALUES, Shown
from dstcc.frozen import dataclass
from dstcc.learn.paths.captured import Source

from . import published
from .actions import MAX_LAYERS, MAX_SUBFLOWS
from .observe_measured import MeasuredObserver
from .observe_measured import names as measured_names
from .scales import HIGH, clip, column, flat, log_time, log_window, loss_share

KINDS = ("paper", "full", "measured", *published.PER_SUBFLOW)
PAPER = ("cwnd", "loss", "utilisation", "rtt")
"""Equation 3 of Ha et al., ICT Express 2023: Cw, Lr, Bw, Rtt."""
SUBFLOW = (
    *PAPER,
    "present",
    "established",
    "min_rtt",
    "rtt_trend",
    "queueing",
    "rate",
    "rate_share",
    "inflight",
    "queue",
    "assigned",
    "light",
    "link_up",
    "change",
    "steered",
)
LAYER = ("present", "backlog", "slack")
EPISODE = ("slot", "copying")
ALL = slice(None)


@dataclass(frozen=True)
class ObservationSpec:
    """The observation space for N = ``subflows`` and M = ``layers``, a flat vector.

    ``paper``: :data:`PAPER` for each subflow. ``pbq``, ``drl-cc``, ``mpquic-rl``: those papers' values
    (:mod:`dstcc.learn.spaces.published`). ``full``: :data:`EPISODE`; for each subflow :data:`SUBFLOW` and the
    window changes of the last ``history`` slots, newest first; for each layer :data:`LAYER`, the subflow it is on
    (one place each, the last for automatic) and the subflows of the ``history`` slots before. With a history as
    long as the longest round trip in slots, every action whose effect is still to be seen is in it.
    ``measured``: see :mod:`dstcc.learn.spaces.observe_measured`.
    """

    kind: str
    subflows: int
    layers: int
    history: int = 8

    def __post_init__(self) -> None:
        """Raise ValueError for a space that makes no sense."""
        if self.kind not in KINDS:
            raise ValueError(f"observation '{self.kind}': one of {', '.join(KINDS)}")
        if not (1 <= self.subflows <= MAX_SUBFLOWS and 1 <= self.layers <= MAX_LAYERS):
            raise ValueError(f"1 to {MAX_SUBFLOWS} subflows and 1 to {MAX_LAYERS} layers")
        if not 0 <= self.history <= 256:
            raise ValueError("history is 0 to 256 slots")

    @property
    def names(self) -> tuple[str, ...]:
        """What each place holds."""
        if self.kind in published.PER_SUBFLOW:
            return published.names(self.kind, self.subflows)
        if self.kind == "paper":
            return tuple(f"subflow{s}.{name}" for s in range(self.subflows) for name in PAPER)
        if self.kind == "measured":
            return measured_names(self.subflows, self.layers)
        past = range(1, self.history + 1)
        places = (*(f"on{s}" for s in range(self.subflows)), "automatic")
        per_subflow = (*SUBFLOW, *(f"change-{k}" for k in past))
        per_layer = (*LAYER, *places, *(f"was-{k}" for k in past))
        return (
            *EPISODE,
            *(f"subflow{s}.{name}" for s in range(self.subflows) for name in per_subflow),
            *(f"layer{m}.{name}" for m in range(self.layers) for name in per_layer),
        )

    @cached_property
    def size(self) -> int:
        """Length of the vector."""
        return len(self.names)

    def document(self) -> dict[str, Any]:
        """As it stands in a policy's file."""
        return asdict(self)

    @classmethod
    def parse(cls, document: dict[str, Any]) -> ObservationSpec:
        """Back from :meth:`document`; raises ValueError or TypeError for what is none."""
        return cls(**document)


class Observer:
    """Turns a stepper's values into observations and remembers what they need of the slots before."""

    def __init__(self, spec: ObservationSpec, episodes: int) -> None:
        self.spec = spec
        n, m, h = spec.subflows, spec.layers, spec.history
        self._cwnd = np.zeros((episodes, n))
        self._srtt = np.zeros((episodes, n))
        self._changes = np.zeros((episodes, n, h))
        self._table = np.full((episodes, m), -1)
        self._tables = np.zeros((episodes, m, h))
        self._copying = np.zeros((episodes, 1))
        self._counts = np.ones((episodes, 2), dtype=np.int64)
        self._mss = np.ones((episodes, 1))

    def begin(self, episode: int, *, subflows: int, layers: int, mss_bytes: int) -> None:
        """Forget what was; a new trial with so many subflows and layers begins in this place."""
        for memory in (self._cwnd, self._srtt, self._changes, self._tables, self._copying):
            memory[episode] = 0
        self._table[episode] = -1
        self._counts[episode] = subflows, layers
        self._mss[episode] = mss_bytes

    def units(self, stepper: Shown) -> None:
        """Actions are relative to nothing that is measured here."""

    def measure(self, episode: int, config: EngineConfig, source: Source | None = None) -> None:
        """Of what a trial sends, its video unless another ``source`` is given, nothing is measured here."""

    def believed(self, episode: int) -> dict[str, Float64Array]:
        """What is held to be true of each subflow's path: nothing, by who only looks."""
        return {}

    def note(self, layer_subflow: NDArray[np.int32], copied: NDArray[np.uint8]) -> None:
        """Remember the layers' subflows that the next step will use."""
        h = self.spec.history
        if h:
            self._tables[..., 1:] = self._tables[..., :-1]
            self._tables[..., 0] = (self._table + 1) / self.spec.subflows
        self._table[:] = np.where(layer_subflow < self._counts[:, :1], layer_subflow, -1)
        self._copying[:, 0] = copied.any(axis=1)

    def pass_by(self, stepper: Shown) -> None:
        """Take in a step after which nobody decides, in the place of :meth:`observe`."""
        self.observe(stepper)

    def observe(self, stepper: Shown, rows: slice = ALL) -> NDArray[np.float32]:
        """Observations of shape (K, size) of the episodes in ``rows``, once after each of their steps."""
        subflow_values, layer_values = stepper.subflow_values[rows], stepper.layer_values[rows]
        episode_values, mss, counts = stepper.episode_values[rows], self._mss[rows], self._counts[rows]
        if self.spec.kind in published.PER_SUBFLOW:
            return published.observe(self.spec.kind, subflow_values, episode_values, mss)
        before = self._srtt[rows].copy()

        def of(name: str) -> Float64Array:
            return column(subflow_values, SUBFLOW_VALUES, name)

        cwnd, srtt, least = of("cwnd_segments"), of("srtt_s"), of("min_rtt_s")
        window, bdp = np.maximum(cwnd, 1.0), of("bdp_segments")
        paper = [
            log_window(cwnd),
            loss_share(subflow_values, mss),
            np.where(bdp > 0, cwnd / np.maximum(bdp, 1.0), 0.0),
            log_time(srtt),
        ]
        if self.spec.kind == "paper":
            return flat(paper)
        slot = np.maximum(column(episode_values, EPISODE_VALUES, "slot_s"), 1e-9)[:, None]
        light, some = of("one_way_s"), of("min_rtt_s") > 0
        rate_bps = 8 * of("delivered_bytes") / slot
        allowed_bps = 8 * window * mss / np.maximum(srtt, 1e-9)
        present = np.arange(self.spec.subflows) < counts[:, :1]
        per_subflow = [
            *paper,
            present,
            of("established"),
            log_time(least),
            np.where(before > 0, (srtt - before) / np.maximum(least, 1e-9), 0.0),
            np.where(some, srtt / np.maximum(least, 1e-9) - 1, 0.0),
            np.log10(1 + rate_bps) / 10,
            np.where(some, rate_bps / allowed_bps, 0.0),
            of("inflight_segments") / window,
            of("queue_bytes") / (window * mss),
            np.log2(1 + of("assigned_bytes") / (window * mss)) / 4,
            light / np.maximum(light.max(axis=1, keepdims=True), 1e-9),
            of("link_up"),
            np.exp(-of("change_s") / np.maximum(2 * light, 1e-9)),
            of("steered"),
        ]
        self._remember(cwnd, srtt, rows)
        blocks = (
            np.concatenate([np.stack(per_subflow, axis=2), self._changes[rows]], axis=2) * present[..., None]
        )
        return np.concatenate(
            [
                flat([self._slot_share(slot, light, present), self._copying[rows]]),
                clip(blocks.reshape(len(cwnd), -1)),
                clip(self._layers(layer_values, (window * mss).sum(axis=1, keepdims=True), light, rows)),
            ],
            axis=1,
        )

    def _remember(self, cwnd: Float64Array, srtt: Float64Array, rows: slice) -> None:
        last, changes = self._cwnd[rows], self._changes[rows]
        if self.spec.history:
            changes[..., 1:] = changes[..., :-1]
            known = (last > 0) & (cwnd > 0)
            ratio = np.maximum(cwnd, 1.0) / np.maximum(last, 1.0)
            changes[..., 0] = np.where(known, np.log2(ratio) / 2, 0.0)
        self._cwnd[rows], self._srtt[rows] = cwnd, srtt

    @staticmethod
    def _slot_share(slot: Float64Array, light: Float64Array, present: NDArray[np.bool_]) -> Float64Array:
        shortest = np.where(present, light, np.inf).min(axis=1, keepdims=True)
        share: Float64Array = slot / np.maximum(2 * shortest, 1e-9)
        return share

    def _layers(
        self, values: Float64Array, windows_bytes: Float64Array, light: Float64Array, rows: slice
    ) -> Float64Array:
        backlog, slack = (column(values, LAYER_VALUES, name) for name in ("backlog_bytes", "slack_s"))
        present = np.arange(self.spec.layers) < self._counts[rows, 1:]
        round_trip = np.maximum(2 * light.max(axis=1, keepdims=True), 1e-9)
        places = self._table[rows][..., None] == (*range(self.spec.subflows), -1)
        single = [present, np.log2(1 + backlog / windows_bytes) / 4, np.minimum(slack / round_trip, HIGH)]
        blocks = np.concatenate([np.stack(single, axis=2), places, self._tables[rows]], axis=2)
        flat: Float64Array = (blocks * present[..., None]).reshape(len(values), -1)
        return flat


def make_observer(spec: ObservationSpec, episodes: int) -> Observer | MeasuredObserver:
    """What makes observations of that kind for so many episodes side by side."""
    return MeasuredObserver(spec, episodes) if spec.kind == "measured" else Observer(spec, episodes)
