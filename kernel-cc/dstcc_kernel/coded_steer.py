"""Who decides once a slot of a coded trial in a guest: a policy of coded packets, as in the simulator.

The program of ``kernel-cc/coded`` (``controller.hpp`` has the lines, too) tells a slot's end in a line: the slot's
number, 0 before the first; the time; for each subflow the values of ``CODED_SUBFLOW_VALUES``; for each layer those of
``CODED_LAYER_VALUES`` but :data:`EARTHS`. All is in emulated time.

The answer: the same number, the place of repair (``CodedStepper.place``), and for each layer its share of repair and
whether it is left out (0, 1). A number alone leaves all as it is.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.coded.seen import Blocks, Mission, RepairDecision
from dstcc.engine.coded_stepper import CODED_LAYER_VALUES, CODED_SUBFLOW_VALUES
from dstcc.errors import KernelError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dstcc.arrays import Float64Array
    from dstcc.engine.config import EngineConfig
    from dstcc.learn.policies.controller import Controller

EARTHS = ("played",)
"""Values of the simulator's steps that no sender has; 0 here."""
_LINES = tuple(name for name in CODED_LAYER_VALUES if name not in EARTHS)


@dataclass(frozen=True)
class Slot:
    """What a line says: one trial's numbers at a slot's end, in mission time (:class:`dstcc.engine.stepper.Shown`)."""

    number: int
    subflow_values: Float64Array
    """(1, subflows, ``CODED_SUBFLOW_VALUES``)."""
    layer_values: Float64Array
    """(1, layers, ``CODED_LAYER_VALUES``)."""
    episode_values: Float64Array
    """(1, 1): the time."""


def read_slot(line: str, subflows: int, layers: int, scale: float) -> Slot:
    """Read a slot's line. Raises :class:`KernelError` for one that is not of so many subflows and layers."""
    number, *words = line.split() or [""]
    sizes = 1, subflows * len(CODED_SUBFLOW_VALUES), layers * len(_LINES)
    try:
        slot, values = int(number), np.array([float(word) for word in words])
    except ValueError as error:
        raise KernelError(f"a slot's line of the program for coded packets: {error}") from None
    if len(values) != sum(sizes) or np.isnan(values).any():
        raise KernelError(
            f"a slot's line of the program for coded packets has {len(values)} numbers, of which "
            f"{int(np.isnan(values).sum())} are none; {sum(sizes)} are those of {subflows} subflows and {layers} layers"
        )
    time_s, by_subflow, by_layer = np.split(values, np.cumsum(sizes)[:-1])
    rows = by_layer.reshape(1, layers, len(_LINES)) * _factors(_LINES, scale)
    whole = np.zeros((1, layers, len(CODED_LAYER_VALUES)))
    whole[..., [CODED_LAYER_VALUES.index(name) for name in _LINES]] = rows
    return Slot(
        slot,
        by_subflow.reshape(1, subflows, len(CODED_SUBFLOW_VALUES)) * _factors(CODED_SUBFLOW_VALUES, scale),
        whole,
        time_s.reshape(1, 1) * scale,
    )


def _factors(names: Sequence[str], scale: float) -> Float64Array:
    """From emulated time to the mission's: seconds become more, rates less."""
    units = {"s": scale, "bps": 1 / scale}
    return np.array([units.get(name.rpartition("_")[2], 1.0) for name in names])


def answer_of(number: int, decision: RepairDecision) -> str:
    """The answer's line, without its end."""
    layers = (
        f"{float(share)!r} {int(layer in decision.left_out)}"
        for layer, share in enumerate(decision.repair[0])
    )
    return " ".join([str(number), str(decision.place), *layers])


class CodedController:
    """A policy of coded packets that drives a trial."""

    def __init__(self, *, policy: str, mission: dict[str, Any], scale: float, own: bool) -> None:
        """Read the policy; ``own``: a part of this project's transport."""
        from dstcc.forecast.own import decider_of

        self.scale = scale
        self.decider = decider_of(policy, mission_of_document(mission), own=own)

    def __call__(self, line: str) -> str:
        """Decide on a slot's line."""
        mission = self.decider.mission
        slot = read_slot(line, mission.subflows, len(mission.layers), self.scale)
        return answer_of(slot.number, self.decider.decide(slot))

    @property
    def totals(self) -> dict[str, int]:
        """What the policy's own guard did, by the simulator's names; the program counts answers that are none."""
        return {"guard_clamps": 0, "guard_fallbacks": self.decider.fallen}


def coded_steer(config: EngineConfig, policy: Controller, folder: Path) -> dict[str, Any]:
    """Arguments of :class:`CodedController` for a trial; the policy is put into its folder."""
    from dstcc.forecast.own import Own, part_of
    from dstcc.learn.policies.controller import SUFFIX

    part, mission = part_of(policy, config)
    path = folder / f"{part.name}{SUFFIX}"
    part.save(path)
    scale = config.transport.scale
    return {
        "policy": str(path),
        "mission": mission_document(mission),
        "scale": scale,
        "own": isinstance(policy, Own),
    }


def mission_document(mission: Mission) -> dict[str, Any]:
    """A mission for JSON."""
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in asdict(mission).items()
    }


def mission_of_document(document: dict[str, Any]) -> Mission:
    """The mission that :func:`mission_document` wrote."""
    arrays = {name: np.array(document[name]) for name in ("playout_s", "light_s", "rate_bytes")}
    layers = tuple(Blocks(**blocks) for blocks in document["layers"])
    return Mission(**{**document, **arrays, "layers": layers})
