"""A sender alone, moved by hand: segments and ACKs at named times."""

from __future__ import annotations

from typing import Any

from dstcc.engine import TcpConstants, Transport
from dstcc.engine._testing import parts

MS = 1_000_000


class Sender:
    """A sender with times in ms."""

    def __init__(self, congestion: str = "newreno", *, rtt_ms: float = 1000, **more: Any) -> None:
        # Without ticks: timers run when they are due, not when the wheel comes round.
        constants = TcpConstants(**({"jiffy_s": 1e-9} | more.pop("constants", {})))
        self.engine = parts.Sender(Transport(congestion, "minrtt", constants=constants, **more))
        self.engine.establish(0, round(rtt_ms * MS))

    def send(self, *at_ms: float, starved: bool = False) -> None:
        for at in at_ms:
            self.engine.send(round(at * MS), 1, starved)

    def ack(
        self,
        at_ms: float,
        cumulative: int,
        *blocks: tuple[int, int],
        echo_ms: float = 0,
        duplicate: bool = False,
        more: bool = False,
    ) -> None:
        self.engine.ack(round(at_ms * MS), cumulative, list(blocks), round(echo_ms * MS), duplicate, more)

    def timer(self, at_ms: float) -> str:
        return str(self.engine.timer(round(at_ms * MS)))

    def repeat(self, at_ms: float) -> list[int]:
        return list(self.engine.repeat(round(at_ms * MS)))

    @property
    def next_timer_ms(self) -> float:
        return float(self.engine.next_timer) / MS


def flight(count: int = 10, congestion: str = "newreno", **more: Any) -> Sender:
    """So many segments 1 ms apart, the window just full."""
    sender = Sender(congestion, **more)
    sender.engine.cwnd = count
    sender.send(*range(count))
    return sender


def clean_rounds(sender: Sender, rounds: int, *, rtt_ms: float = 1000) -> tuple[float, int]:
    """Round trips of one segment, so that the RTO comes down; returns the time and the next number."""
    at, number = 0.0, 0
    for _ in range(rounds):
        sender.send(at)
        at += rtt_ms
        number += 1
        sender.ack(at, number)
    return at, number
