"""The loss processes of ``[[link]]``: their keys, and what each becomes in the engine, in records and on a kernel.

A kind is a field of :class:`LossModel` and a row of :data:`KINDS`, both here, and a process of its own in
``engine/src/link/loss_*.cpp``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, model_validator

from dstcc.engine.config import Loss

from .fields import DrawableDb, DrawableProbability, Probability, Table, broken


class GilbertElliott(Table):
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


class LossModel(Table):
    """Exactly one loss process of a link direction."""

    packet: DrawableProbability | None = None
    """Probability that a packet is lost, whatever its size."""
    ber: DrawableProbability | None = None
    """Probability that a bit is wrong; a packet with a wrong bit is lost."""
    gilbert_elliott: GilbertElliott | None = None

    ebn0_db: DrawableDb | None = None
    """Energy per information bit over the noise density; with ``code``."""
    code: Annotated[str, AfterValidator(_known_code)] | None = None

    @model_validator(mode="after")
    def _one_process(self) -> LossModel:
        given = [name for name in LOSSES if getattr(self, name) is not None]
        if len(given) != 1:
            raise broken(f"needs exactly one of {', '.join(LOSSES)}, not {' and '.join(given) or 'none'}")
        if (self.ebn0_db is None) != (self.code is None):
            raise broken("ebn0_db and code need each other", key="code" if self.code is None else "ebn0_db")
        return self

    def engine(self, draw: Callable[[str, Any], float]) -> Loss:
        """In the engine's form; ``draw`` gives the value of a key that may be drawn."""
        (key,) = (name for name in LOSSES if getattr(self, name) is not None)
        return KINDS[key].make(self, draw)


Chain = tuple[float, float, float, float]
"""p, r, good and bad of Gilbert and Elliott's two states."""


@dataclass(frozen=True)
class LossKind:
    """What a key of :class:`LossModel` stands for."""

    name: str
    """The engine's name of its process."""
    make: Callable[[LossModel, Callable[[str, Any], float]], Loss]
    document: Callable[[Loss], object] = lambda loss: loss.rate
    """The key's value in a run's record."""
    packets: Callable[[Loss, int], float | Chain] | None = None
    """The loss of packets of so many bytes: a probability, or a chain. ``None``: it changes with the code's frames."""


def _coded(model: LossModel, draw: Callable[[str, Any], float]) -> Loss:
    from .physics import coded_loss

    return coded_loss(model.code or "", draw("ebn0_db", model.ebn0_db))


def _bursts(model: LossModel, _draw: Callable[[str, Any], float]) -> Loss:
    states = model.gilbert_elliott or GilbertElliott(p=0, r=1)
    return Loss("gilbert-elliott", p=states.p, r=states.r, good=states.good, bad=states.bad)


KINDS = {
    "packet": LossKind(
        "packet",
        lambda model, draw: Loss("packet", rate=draw("packet", model.packet)),
        packets=lambda loss, _bytes: loss.rate,
    ),
    "ber": LossKind(
        "ber",
        lambda model, draw: Loss("ber", rate=draw("ber", model.ber)),
        packets=lambda loss, packet_bytes: float(1 - (1 - loss.rate) ** (8 * packet_bytes)),
    ),
    "gilbert_elliott": LossKind(
        "gilbert-elliott",
        _bursts,
        document=lambda loss: {"p": loss.p, "r": loss.r, "good": loss.good, "bad": loss.bad},
        packets=lambda loss, _bytes: (loss.p, loss.r, loss.good, loss.bad),
    ),
    "ebn0_db": LossKind("frames", _coded),
}
"""By key, in the order of messages."""
LOSSES = tuple(KINDS)
"""The keys of which a loss process has exactly one."""
_BY_NAME = {kind.name: (key, kind) for key, kind in KINDS.items()}


def document_of(loss: Loss) -> dict[str, object]:
    """A loss process other than a code's frames with the key of a scenario; empty when nothing is lost."""
    if loss.kind == "none":
        return {}
    if loss.kind not in _BY_NAME:
        return {loss.kind: loss.rate}
    key, kind = _BY_NAME[loss.kind]
    return {key: kind.document(loss)}


def packets_of(loss: Loss, packet_bytes: int) -> float | Chain | None:
    """The loss of such packets, a probability or a chain; ``None`` where a code's frames decide.

    A process that is no scenario's, as the textbook's ``periodic``, counts by its rate.
    """
    if loss.kind == "none":
        return 0.0
    if loss.kind not in _BY_NAME:
        return loss.rate
    packets = _BY_NAME[loss.kind][1].packets
    return None if packets is None else packets(loss, packet_bytes)
