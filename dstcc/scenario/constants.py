"""``[transport] constants``: TCP constants of Linux that a scenario may set, in mission seconds."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dstcc.engine.config import TcpConstants
from dstcc.errors import InputError

from .fields import ScenarioTable, Seconds


class Constants(ScenarioTable):
    """A constant that is not given is Linux's times the time scale; a given constant is used unscaled."""

    rto_initial_s: Seconds | None = None
    """The retransmission timeout before the first RTT sample, of SYNs too."""
    rto_min_s: Seconds | None = None
    """The least retransmission timeout."""
    rto_max_s: Seconds | None = None
    """The largest retransmission timeout, at which doubling ends."""
    delayed_ack_s: Seconds | None = None
    """How long a receiver waits for a second segment at first."""
    delayed_ack_max_s: Seconds | None = None
    """How long it waits at most once it has adapted to the gaps between segments; at least ``delayed_ack_s``."""
    compressed_ack_s: Seconds | None = None
    """The time within which segments that arrive out of order share an ACK."""
    quick_acks: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    """Segments acknowledged one by one at the start of a connection."""
    tlp_min_s: Seconds | None = None
    """The least slack of a tail loss probe."""
    hystart: bool | None = None
    """Whether CUBIC leaves slow start by HyStart."""
    hystart_ack_delta_s: Seconds | None = None
    hystart_delay_min_s: Seconds | None = None
    hystart_delay_max_s: Seconds | None = None
    """HyStart's longest gap within a train of ACKs, and the bounds of the delay that ends slow start."""
    bbr_min_rtt_window_s: Seconds | None = None
    bbr_probe_rtt_s: Seconds | None = None
    """How long BBR uses a least RTT, and how long it probes for a new one."""
    westwood_rtt_min_s: Seconds | None = None
    """The least time between two of Westwood's samples."""
    ledbat_target_s: Seconds | None = None
    ledbat_minute_s: Seconds | None = None
    """The queueing delay that LEDBAT keeps, and the spacing of its ten base delays."""

    @property
    def given(self) -> tuple[str, ...]:
        """The names of the given constants."""
        return tuple(name for name in type(self).model_fields if getattr(self, name) is not None)


ORDERED = (("rto_min_s", "rto_max_s"), ("hystart_delay_min_s", "hystart_delay_max_s"))
"""Constants of which the first must not be above the second."""


def engine_constants(given: Constants | None, scale: float) -> TcpConstants:
    """The engine's constants in emulated seconds: those that the scenario gives, and Linux's for the others.

    Raises :class:`InputError` where a least value would be above its largest one; either may be Linux's at this scale.
    """
    if given is None:
        return TcpConstants()
    values = {name: getattr(given, name) for name in given.given}
    made = TcpConstants(
        **{name: value / scale if name.endswith("_s") else value for name, value in values.items()}
    )
    for low, high in ORDERED:
        least, most = getattr(made, low) * scale, getattr(made, high) * scale
        if least > most:
            key = low if low in given.given else high
            raise InputError(f"transport.constants.{key}: {low} = {least:g} s is above {high} = {most:g} s")
    return made
