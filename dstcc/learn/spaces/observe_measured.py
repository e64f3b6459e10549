"""The observation ``measured``: paths and layers in units that do not depend on rates, distances or lengths.

Times are in slots, round trips or playout delays, rates relative to what the paths were measured to carry
(:mod:`dstcc.learn.paths.measure`) or to what the source needs, so that what is learned on one mission holds on another.
A queue at the sender shows what an action did within the slot; that is why there is no history here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dstcc.arrays import Float64Array
from dstcc.engine.stepper import EPISODE_VALUES, LAYER_VALUES, SUBFLOW_VALUES, Shown
from dstcc.learn.paths.measure import ALL, Rates, Units

from .scales import clip

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.engine import EngineConfig
    from dstcc.learn.paths.captured import Source

    from .observe import ObservationSpec


EPISODE = ("delay", "load", "backlog", "age")
SUBFLOW = (
    "present",
    "established",
    "link_up",
    "change",
    "seen",
    "share",
    "queue",
    "used",
    "loss",
    "light",
    "margin",
    "inflight",
)
LAYER = ("present", "backlog", "slack")
VALUE = {name: place for place, name in enumerate(SUBFLOW_VALUES)}
EPISODE_VALUE = {name: place for place, name in enumerate(EPISODE_VALUES)}
LEAST_LOSS = 1e-5
"""The least loss share that differs from none."""


def names(subflows: int, layers: int) -> tuple[str, ...]:
    """What each place holds."""
    return (
        *EPISODE,
        *(f"subflow{s}.{name}" for s in range(subflows) for name in SUBFLOW),
        *(f"layer{m}.{name}" for m in range(layers) for name in LAYER),
    )


class MeasuredObserver:
    """As :class:`dstcc.learn.spaces.observe.Observer`; ``rates`` holds what was learned of the paths."""

    def __init__(self, spec: ObservationSpec, episodes: int) -> None:
        self.spec = spec
        self.rates = Rates(episodes, spec.subflows)
        self._counts = np.ones((episodes, 2), dtype=np.int64)

    def begin(self, episode: int, *, subflows: int, layers: int, mss_bytes: int) -> None:
        """Forget what was. A trial with so many subflows and layers begins in this place."""
        self._counts[episode] = subflows, layers

    def measure(self, episode: int, config: EngineConfig, source: Source | None = None) -> None:
        """Begin to measure the paths of a trial, after :meth:`begin`."""
        self.rates.begin(episode, config, source)

    def note(self, layer_subflow: NDArray[np.int32], copied: NDArray[np.uint8]) -> None:
        """Actions are not remembered."""

    def units(self, stepper: Shown) -> Units:
        """What the next actions are relative to."""
        return self.rates.units(stepper)

    def believed(self, episode: int) -> dict[str, Float64Array]:
        """Of each subflow's path: ``loss`` (share), ``rate_bps`` (on the wire), ``rate_known`` (1 once a queue has
        shown the rate)."""
        rates = self.rates
        known = rates.known[episode].astype(np.float64)
        return {"loss": rates.loss()[episode], "rate_bps": rates.rate[episode] * 8, "rate_known": known}

    def pass_by(self, stepper: Shown) -> None:
        """Take in a step after which nobody decides, in the place of :meth:`observe`."""
        self.rates.update(stepper)

    def observe(self, stepper: Shown, rows: slice = ALL) -> NDArray[np.float32]:
        """Observations of shape (K, size) of the episodes in ``rows``, once after each of their steps."""
        rates, spec = self.rates, self.spec
        rates.update(stepper, rows)
        values, episode_values = stepper.subflow_values[rows], stepper.episode_values[rows]
        rate, packet, source_rate = rates.rate[rows], rates.packet_bytes[rows], rates.source_rate[rows]

        def of(name: str) -> Float64Array:
            return values[..., VALUE[name]]

        def per_episode(name: str) -> Float64Array:
            return episode_values[:, EPISODE_VALUE[name], None]

        light, slot = of("one_way_s"), np.maximum(per_episode("slot_s"), 1e-9)
        present = np.arange(spec.subflows) < self._counts[rows, :1]
        longest = np.maximum(light.max(axis=1, keepdims=True), 1e-9)
        round_trip = 2 * longest
        total = np.maximum(rate.sum(axis=1, keepdims=True), 1e-9)
        delay = np.minimum(rates.delay_s[rows][:, None], 1e3 * longest)
        needed = np.where(source_rate > 0, source_rate, total)
        per_subflow = (
            present,
            of("established"),
            of("link_up"),
            np.exp(-of("change_s") / round_trip),
            rates.known[rows],
            rate / total,
            np.log2(1 + of("queue_bytes") / np.maximum(rate * slot, packet)),
            rates.used[rows],
            self._loss(rows),
            light / longest,
            (delay - light) / np.maximum(2 * light, 1e-9),
            of("inflight_segments") / np.maximum(of("cwnd_segments"), 1.0),
        )
        layers = stepper.layer_values[rows]
        backlog = layers[..., LAYER_VALUES.index("backlog_bytes")]
        slack = layers[..., LAYER_VALUES.index("slack_s")]
        deepest = needed * delay
        per_layer = (
            np.arange(spec.layers) < self._counts[rows, 1:],
            backlog / deepest * 4,
            np.minimum(slack / delay, 1.0),
        )
        episode = (
            delay / round_trip / 2,
            source_rate / total,
            backlog.sum(axis=1, keepdims=True) / deepest * 4,
            per_episode("time_s") / round_trip / 4,
        )
        seen = np.empty((len(values), spec.size))
        first = len(EPISODE) + spec.subflows * len(SUBFLOW)
        subflows = seen[:, len(EPISODE) : first].reshape(-1, spec.subflows, len(SUBFLOW))
        below = seen[:, first:].reshape(-1, spec.layers, len(LAYER))
        for place, column in enumerate(episode):
            seen[:, place] = column[:, 0]
        for place, part in enumerate(per_subflow):
            np.multiply(part, present, out=subflows[..., place])
        for place, part in enumerate(per_layer):
            below[..., place] = part
        return clip(seen)

    def _loss(self, rows: slice) -> Float64Array:
        """0 at 1e-5 and below or while nothing is known, 1 at 1."""
        share = self.rates.loss()[rows]
        scaled: Float64Array = 1 + np.log10(np.clip(share, LEAST_LOSS, 1.0)) / -np.log10(LEAST_LOSS)
        return scaled
