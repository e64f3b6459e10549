"""Round moments of UTC on an axis of mission time. Of the figures only this needs matplotlib before it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from typing import Any

from matplotlib.ticker import Formatter, Locator

from dstcc.clock import Clock

DAY_S = 86_400
STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, DAY_S)
"""Between two ticks; each divides a day, so that each midnight has a tick. Longer steps are whole days."""
DAYS = (2, 5, 10, 20, 50, 100, 200, 500)
TICK_IN = 0.85
"""Of an axis, for a tick: a date with its year is the longest label."""


def ticks_s(clock: Clock, begin_s: float, end_s: float, most: float) -> list[int]:
    """Mission times of round moments of UTC from ``begin_s`` to ``end_s``, not many more than ``most``."""
    least_s = max(1.0, (end_s - begin_s) / max(1.0, most))
    steps = (*STEPS_S, *(DAY_S * days for days in DAYS))
    step = next((one for one in steps if one >= least_s), DAY_S * round(least_s / DAY_S))
    date = clock.date(0)
    into_day = 0 if date is None else date.hour * 3600 + date.minute * 60 + date.second
    first = -(-(floor(begin_s) + into_day) // step) * step - into_day
    return [at for at in range(first, int(end_s) + 1, step) if at >= begin_s]


class Moments(Locator):
    """Places the ticks once the axes have their size."""

    def __init__(self, clock: Clock, factor: float) -> None:
        self._clock, self._factor = clock, factor

    def __call__(self) -> Sequence[float]:
        """The ticks of the axis as it is."""
        axes: Any = self.axis.axes  # type: ignore[union-attr]
        width_in = axes.get_position().width * axes.figure.get_figwidth()
        low, high = sorted(self.axis.get_view_interval())  # type: ignore[union-attr]
        found = ticks_s(self._clock, low * self._factor, high * self._factor, width_in / TICK_IN)
        return [at / self._factor for at in found]

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        """Matplotlib asks an axis that is drawn."""
        return self()


class Names(Formatter):
    """``22:14``, with seconds where ticks are closer than a minute; a midnight is its date, ``03-12``, with the year
    where ticks are of several."""

    def __init__(self, clock: Clock, factor: float) -> None:
        self._clock, self._factor = clock, factor

    def __call__(self, x: float, pos: int | None = None) -> str:
        """The label of a tick."""
        return self.format_ticks([x])[0]

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """The labels of all ticks."""
        dates = [self._clock.date(round(value * self._factor)) for value in values]
        known = [date for date in dates if date is not None]
        day = "%Y-%m-%d" if len({date.year for date in known}) > 1 else "%m-%d"
        time = "%H:%M:%S" if any(date.second for date in known) else "%H:%M"
        return [
            "" if date is None else date.strftime(time if date.hour or date.minute or date.second else day)
            for date in dates
        ]
