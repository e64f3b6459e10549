"""A link's second hop: a relay with a queue of its own, which no sender sees; and its form for the engine."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dstcc.engine.config import Relay as EngineRelay

from .fields import AsTuple, Bytes, DrawableRate, ScenarioTable
from .traffic import CrossTraffic, engine_traffic


class Relay(ScenarioTable):
    """``[link.relay]``: a queue and a line on the way of the data; loss and outages are those in front of it."""

    at: Annotated[float, Field(ge=0, le=1)]
    """The share of the one-way delay in front of it: 0 beside the sender, 1 beside the receiver."""
    rate_bps: DrawableRate
    """Of its line."""
    queue_bytes: Bytes | None = None
    """Drop-tail limit; as a link's unless given, at the relay's rate."""
    cross_traffic: Annotated[tuple[CrossTraffic, ...], AsTuple] = ()
    """Background datagrams that join its queue."""

    def engine(self, rate_bps: float, default_queue_bytes: int) -> EngineRelay:
        """The engine's, at the rate that the seed drew."""
        return EngineRelay(
            at=self.at,
            rate_bps=rate_bps,
            queue_bytes=self.queue_bytes or default_queue_bytes,
            cross_traffic=engine_traffic(self.cross_traffic, None),
        )


def described(relay: EngineRelay) -> dict[str, object]:
    """The record of a drawn relay."""
    return {
        "at": relay.at,
        "rate_bps": relay.rate_bps,
        "queue_bytes": relay.queue_bytes,
        "datagrams_bps": [source.rate_bps for source in relay.cross_traffic],
    }
