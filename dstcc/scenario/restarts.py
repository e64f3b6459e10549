"""Restarts of machines; ``[transport] restart``: the sender's restarts, with what it has on disk or without."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, model_validator

from dstcc.clock import Clock
from dstcc.engine.config import Restarts

from .fields import AsTuple, Instant, ScenarioTable, Seconds, broken, ns

if TYPE_CHECKING:
    from .model import Transport
    from .network import Way


class Boots(ScenarioTable):
    """When a machine restarts."""

    at_s: Annotated[tuple[Seconds, ...], AsTuple, Field(min_length=1, max_length=1_000)]
    """When, each after the boot before it."""
    boot_s: Instant
    """How long it takes until the machine sends again."""

    @model_validator(mode="after")
    def _check_order(self) -> Boots:
        for at, after in pairwise(self.at_s):
            if after <= at + self.boot_s:
                raise broken(
                    f"{after:g} s comes before the boot that begins at {at:g} s is over ({at + self.boot_s:g} s)",
                    key="at_s",
                )
        return self


class Restart(Boots):
    """At each of these times all state of the transport is lost; see docs/simulator.md."""

    spool: bool
    """Whether layers stay on disk until they are acknowledged; without, what is not at Earth then is lost."""


def engine_restarts(restart: Restart | None) -> Restarts | None:
    """As the engine takes it."""
    if restart is None:
        return None
    return Restarts(tuple(map(ns, restart.at_s)), ns(restart.boot_s), restart.spool)


def check_restart(transport: Transport, ways: Sequence[Way]) -> None:
    """Raise :class:`PydanticCustomError` for a restart of what is not modelled."""
    if transport.restart is None:
        return
    key = "transport.restart"
    if transport.ltp_green_from_layer is not None:
        raise broken(
            "cannot be combined with ltp_green_from_layer: nobody acknowledges a green layer", key=key
        )
    shared = next((way.name for way in ways if way.flows or way.mix), None)
    if shared is not None:
        raise broken(f"'{shared}' has TCP flows of others on it, which would go on; not modelled", key=key)


def note_on_restart(restart: Restart | None, clock: Clock) -> tuple[str, ...]:
    """What a reader of a dry run must know of it."""
    if restart is None:
        return ()
    seconds = (f"{at:,.6g}" for at in restart.at_s)
    times = f"{', '.join(map(clock.moment, restart.at_s))} UTC" if clock.dated else f"{', '.join(seconds)} s"
    kept = "sends what was not acknowledged then" if restart.spool else "has lost what it had then"
    return (f"the sender restarts at {times}, boots for {restart.boot_s:,.6g} s and {kept}",)
