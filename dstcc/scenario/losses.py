"""The loss processes of ``[[link]]``: their keys, and what each becomes in the engine, in records and on a kernel.

A kind is a field of :class:`LossModel` and a row of :data:`KINDS`, both here, and a process of its own in
``engine/src/link/loss_*.cpp``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, model_validator

from dstcc.engine.config import FrameSchedule, Loss
from dstcc.frozen import dataclass

from .changing import Chain as StateChain
from .changing import Ramp, Rows, States, lines, walk
from .fields import DrawableDb, DrawableProbability, Probability, ScenarioTable, broken, given_of, ns


@dataclass(frozen=True)
class Drawing:
    """What a seed gives the losses of a link's direction."""

    number: Callable[[str, Any], float]
    """The value of a key that may be drawn."""
    generator: Callable[[str], np.random.Generator] | None = None
    """The random generator of a key."""
    until_s: float = 0.0
    """How far a channel that changes is drawn."""


class GilbertElliott(ScenarioTable):
    """Two-state loss: ``p`` good→bad and ``r`` bad→good per packet slot, and the loss probability in each
    state."""

    p: Probability
    r: Probability
    good: Probability = 0.0
    bad: Probability = 1.0


def _known_code(name: str) -> str:
    from dstcc_channels.codes import CODE_NAMES
    from dstcc_channels.data import nearest

    if name not in CODE_NAMES:
        raise broken(f"no such code; {nearest(name, CODE_NAMES)}")
    return name


class LossModel(ScenarioTable):
    """Exactly one loss process of a link direction."""

    packet: DrawableProbability | None = None
    """Probability that a packet is lost, whatever its size."""
    ber: DrawableProbability | None = None
    """Probability that a bit is wrong; a packet with a wrong bit is lost."""
    gilbert_elliott: GilbertElliott | None = None
    table: Rows | None = None
    """``[[t_s, p], ..]``: a loss probability over mission time, in straight lines between the rows."""
    ramp: Ramp | None = None
    """A loss probability that goes from one value to another at a time that may be drawn."""
    states: States | None = None
    """Hidden states, each with its loss probability and its mean dwell time, of which a chain is drawn from the
    seed."""

    ebn0_db: DrawableDb | None = None
    """Energy per information bit over the noise density; with ``code``."""
    code: Annotated[str, AfterValidator(_known_code)] | None = None

    @model_validator(mode="after")
    def _one_process(self) -> LossModel:
        given_of(self, LOSSES)
        if (self.ebn0_db is None) != (self.code is None):
            raise broken("ebn0_db and code need each other", key="code" if self.code is None else "ebn0_db")
        return self

    def engine(self, drawing: Drawing) -> Loss:
        """In the engine's form."""
        return KINDS[given_of(self, LOSSES)].make(self, drawing)

    def chain(self, drawing: Drawing) -> StateChain | None:
        """The hidden states that a seed draws; ``None`` for a loss without any."""
        if self.states is None:
            return None
        assert drawing.generator is not None
        return walk(self.states, drawing.generator("states"), drawing.until_s)

    def rate_steps(self, drawing: Drawing) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """Times and shares of the link's rate that its hidden states leave; nothing where they leave all."""
        chain = self.chain(drawing)
        if chain is None or self.states is None or all(state.rate == 1 for state in self.states):
            return (), ()
        return chain.t_ns, tuple(self.states[state].rate for state in chain.state)


Chain = tuple[float, float, float, float]
"""p, r, good and bad of Gilbert and Elliott's two states."""


@dataclass(frozen=True)
class LossKind:
    """What a key of :class:`LossModel` stands for."""

    name: str
    """The engine's name of its process."""
    make: Callable[[LossModel, Drawing], Loss]
    document: Callable[[Loss], object] = lambda loss: loss.rate
    """The key's value in a run's record."""
    packets: Callable[[Loss, int], float | Chain] | None = None
    """The loss of packets of so many bytes: a probability, or a chain. ``None``: it changes over time."""


def _coded(model: LossModel, drawing: Drawing) -> Loss:
    """A code at a constant Eb/N0: whole frames, or (``uncoded``) independent bits."""
    from dstcc_channels.codes import UNCODED, code

    known, ebn0_db = code(model.code or ""), drawing.number("ebn0_db", model.ebn0_db)
    if model.code == UNCODED:
        return Loss("ber", rate=float(known.frame_error_rate(ebn0_db)))
    grid, log10_fer = known.curve()
    return Loss(
        "frames",
        frames=FrameSchedule(
            frame_bits=known.frame_bits,
            t_ns=np.zeros(1, dtype=np.int64),
            ebn0_db=np.array([ebn0_db]),
            scintillation_index=np.zeros(1),
            coherence_ns=ns(1.0),
            curve_from_db=float(grid[0]),
            curve_step_db=float(grid[1] - grid[0]),
            log10_fer=log10_fer,
            code=model.code or "",
        ),
    )


def _table(model: LossModel, _drawing: Drawing) -> Loss:
    rows = model.table or ()
    return Loss(SCHEDULE, t_ns=tuple(ns(t) for t, _ in rows), rates=tuple(p for _, p in rows))


def _ramp(model: LossModel, drawing: Drawing) -> Loss:
    ramp = model.ramp
    assert ramp is not None
    start = ns(drawing.number("ramp.start_s", ramp.start_s))
    length = max(1, ns(drawing.number("ramp.length_s", ramp.length_s)))
    return Loss(SCHEDULE, t_ns=(start, start + length), rates=(ramp.before, ramp.after))


def _states(model: LossModel, drawing: Drawing) -> Loss:
    chain = model.chain(drawing)
    assert chain is not None and model.states is not None
    t_ns, rates = lines(chain.t_ns, tuple(model.states[state].packet for state in chain.state))
    return Loss(SCHEDULE, t_ns=t_ns, rates=rates)


def _describe_schedule(loss: Loss) -> object:
    return {"rows": len(loss.t_ns), "min": min(loss.rates), "max": max(loss.rates)}


def _bursts(model: LossModel, _drawing: Drawing) -> Loss:
    states = model.gilbert_elliott or GilbertElliott(p=0, r=1)
    return Loss("gilbert-elliott", p=states.p, r=states.r, good=states.good, bad=states.bad)


SCHEDULE = "schedule"
"""The engine's name of a loss probability over time."""
KINDS = {
    "packet": LossKind(
        "packet",
        lambda model, drawing: Loss("packet", rate=drawing.number("packet", model.packet)),
        packets=lambda loss, _bytes: loss.rate,
    ),
    "ber": LossKind(
        "ber",
        lambda model, drawing: Loss("ber", rate=drawing.number("ber", model.ber)),
        packets=lambda loss, packet_bytes: float(1 - (1 - loss.rate) ** (8 * packet_bytes)),
    ),
    "gilbert_elliott": LossKind(
        "gilbert-elliott",
        _bursts,
        document=lambda loss: {"p": loss.p, "r": loss.r, "good": loss.good, "bad": loss.bad},
        packets=lambda loss, _bytes: (loss.p, loss.r, loss.good, loss.bad),
    ),
    "ebn0_db": LossKind("frames", _coded),
    "table": LossKind(SCHEDULE, _table, document=_describe_schedule),
    "ramp": LossKind(SCHEDULE, _ramp, document=_describe_schedule),
    "states": LossKind(SCHEDULE, _states, document=_describe_schedule),
}
"""By key, in the order of messages."""
LOSSES = tuple(KINDS)
"""The keys of which a loss process has exactly one."""
SCHEDULED = tuple(key for key, kind in KINDS.items() if kind.name == SCHEDULE)
"""Of these, the ones that give a loss probability over time."""
_BY_NAME = {kind.name: (SCHEDULE if key in SCHEDULED else key, kind) for key, kind in KINDS.items()}


def document_of(loss: Loss) -> dict[str, object]:
    """A loss process other than a code's frames with the key of a scenario; empty when nothing is lost."""
    if loss.kind == "none":
        return {}
    if loss.kind not in _BY_NAME:
        return {loss.kind: loss.rate}
    key, kind = _BY_NAME[loss.kind]
    return {key: kind.document(loss)}


def packets_of(loss: Loss, packet_bytes: int) -> float | Chain | None:
    """The loss of such packets, a probability or a chain; ``None`` where it changes over time.

    A process that is no scenario's, as the textbook's ``periodic``, counts by its rate.
    """
    if loss.kind == "none":
        return 0.0
    if loss.kind not in _BY_NAME:
        return loss.rate
    packets = _BY_NAME[loss.kind][1].packets
    return None if packets is None else packets(loss, packet_bytes)
