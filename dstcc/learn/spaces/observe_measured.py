"""The observation ``measured``: paths and layers in units that do not depend on rates, distances or lengths.

Times are in slots, round trips or playout delays, rates relative to what the paths were measured to carry
(:mod:`dstcc.learn.paths.measure`) or to what the source needs, so that what is learned on one mission holds on another.
A queue at the sender shows what an action did within the slot; that is why there is no history here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dstcc.engine.stepper import EPISODE_VALUES, LAYER_VALUES
from dstcc.learn.paths.measure import ALL, VALUE, Rates, Units

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.engine import Stepper

    from .observe import ObservationSpec

    FloatArray = NDArray[np.float64]

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
LEAST_LOSS = 1e-5
"""The least loss share that is told apart."""


def names(subflows: int, layers: int) -> tuple[str, ...]:
    """What each place holds."""
    return (
        *EPISODE,
        *(f"subflow{s}.{name}" for s in range(subflows) for name in SUBFLOW),
        *(f"layer{m}.{name}" for m in range(layers) for name in LAYER),
    )


class MeasuredObserver:
    """As :class:`dstcc.learn.spaces.observe.Observer`; ``rates`` is what it found out about the paths."""

    def __init__(self, spec: ObservationSpec, episodes: int) -> None:
        self.spec = spec
        self.rates = Rates(episodes, spec.subflows)
        self._counts = np.ones((episodes, 2), dtype=np.int64)

    def begin(self, episode: int, *, subflows: int, layers: int, mss_bytes: int) -> None:
        """Forget what was; a trial with so many subflows and layers begins in this place."""
        self._counts[episode] = subflows, layers

    def note(self, layer_subflow: NDArray[np.int32], copied: NDArray[np.uint8]) -> None:
        """Actions are not remembered."""

    def units(self, stepper: Stepper) -> Units:
        """What the next actions are relative to."""
        return self.rates.units(stepper)

    def observe(self, stepper: Stepper, rows: slice = ALL) -> NDArray[np.float32]:
        """Observations of shape (K, size) of the episodes in ``rows``, once after each of their steps."""
        rates = self.rates
        rates.update(stepper, rows)
        values, episode_values = stepper.subflow_values[rows], stepper.episode_values[rows]
        rate, wire, need = rates.rate[rows], rates.wire[rows], rates.need[rows]

        def of(name: str) -> FloatArray:
            return values[..., VALUE[name]]

        def per_episode(name: str) -> FloatArray:
            return episode_values[:, EPISODE_VALUES.index(name)][:, None]

        light, slot = of("one_way_s"), np.maximum(per_episode("slot_s"), 1e-9)
        present = np.arange(self.spec.subflows) < self._counts[rows, :1]
        longest = np.maximum(light.max(axis=1, keepdims=True), 1e-9)
        total = np.maximum(rate.sum(axis=1, keepdims=True), 1e-9)
        delay = np.minimum(rates.delay_s[rows][:, None], 1e3 * longest)
        needed = np.where(need > 0, need, total)
        per_subflow = [
            present,
            of("established"),
            of("link_up"),
            np.exp(-of("change_s") / (2 * longest)),
            rates.seen[rows],
            rate / total,
            np.log2(1 + of("queue_bytes") / np.maximum(rate * slot, wire)),
            rates.used[rows],
            self._loss(rows),
            light / longest,
            (delay - light) / np.maximum(2 * light, 1e-9),
            of("inflight_segments") / np.maximum(of("cwnd_segments"), 1.0),
        ]
        layers = stepper.layer_values[rows]
        backlog = layers[..., LAYER_VALUES.index("backlog_bytes")]
        slack = layers[..., LAYER_VALUES.index("slack_s")]
        deepest = needed * delay
        single = [
            np.arange(self.spec.layers) < self._counts[rows, 1:],
            backlog / deepest * 4,
            np.minimum(slack / delay, 1.0),
        ]
        whole = [
            delay / (2 * longest) / 2,
            need / total,
            backlog.sum(axis=1, keepdims=True) / deepest * 4,
            per_episode("time_s") / (2 * longest) / 4,
        ]
        blocks = np.stack(per_subflow, axis=2) * present[..., None]
        below = np.stack(single, axis=2)
        count = len(values)
        flat = np.concatenate([*whole, blocks.reshape(count, -1), below.reshape(count, -1)], axis=1)
        clipped: NDArray[np.float32] = np.clip(flat, -1.0, 4.0).astype(np.float32)
        return clipped

    def _loss(self, rows: slice) -> FloatArray:
        """0 at 1e-5 and below or while nothing is known, 1 at 1."""
        share = self.rates.loss()[rows]
        scaled: FloatArray = 1 + np.log10(np.clip(share, LEAST_LOSS, 1.0)) / -np.log10(LEAST_LOSS)
        return scaled
