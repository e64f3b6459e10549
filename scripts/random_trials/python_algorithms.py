"""A congestion control and a scheduler in Python, for trials under users' algorithms."""

from __future__ import annotations

from typing import Any


class HalfWindow:
    """A control in Python: it grows by a segment a round trip and halves at a loss."""

    def __init__(self, setup: Any) -> None:
        self.window = 10.0

    def on_ack(self, view: Any) -> Any:
        """A segment more each time, half after a loss."""
        self.window = max(2.0, self.window / 2) if view.lost_segments else self.window + 1 / self.window
        return self.window


class MostRoom:
    """A scheduler in Python: the path with most room, and now and then it waits."""

    def __init__(self, setup: Any) -> None:
        self.asked = 0

    def pick(self, paths: Any, ready: tuple[int, ...], item: Any, busy: tuple[int, ...]) -> int | None:
        """The most room; every seventh time wait, if there is something to wait for."""
        self.asked += 1
        if busy and self.asked % 7 == 0:
            return None
        return max(ready, key=lambda i: (paths[i].cwnd_segments - paths[i].inflight_segments, -i))
