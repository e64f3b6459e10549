"""Moments of a mission as people read them: UTC where the scenario has ``start``, else mission time.

Machine formats (JSON, CSV, Parquet, logs) have mission seconds; tables, figures, captions and sentences use this.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

from dstcc.frozen import dataclass

SECONDS_BELOW_S = 600.0
"""Moments of a span shorter than this are shown with seconds."""


@dataclass(frozen=True)
class Clock:
    """The clock of one mission."""

    start: datetime | None = None
    """The date of mission time 0; without a zone it is UTC."""

    @classmethod
    def of(cls, scenario: Mapping[str, Any]) -> Clock:
        """The clock of a scenario's document, as ``scenario.toml`` has it."""
        start = (scenario.get("scenario") or {}).get("start")
        return cls(start if isinstance(start, datetime) else None)

    @property
    def dated(self) -> bool:
        """Whether moments are UTC."""
        return self.start is not None

    def date(self, t_s: float | Fraction) -> datetime | None:
        """The date of mission time ``t_s``, in whole seconds; ``None`` without one, or after the year 9999."""
        if self.start is None:
            return None
        start = self.start.replace(tzinfo=UTC) if self.start.tzinfo is None else self.start.astimezone(UTC)
        try:
            return start.replace(microsecond=0) + timedelta(seconds=t_s // 1)
        except OverflowError:
            return None

    def moment(self, t_s: float, span_s: float = SECONDS_BELOW_S) -> str:
        """``2028-03-11 22:14``, with seconds where ``span_s``, the span of what is shown, is short; or
        ``1,234 s``."""
        date = self.date(t_s)
        if date is None:
            return f"{_seconds(t_s)} s"
        return _text(date, span_s)

    def between(self, from_s: float, to_s: float, span_s: float = SECONDS_BELOW_S) -> str:
        """``2028-03-11 22:14–23:40``, the second date only where it is another; else ``1,234–5,678 s``."""
        begin, end = self.date(from_s), self.date(to_s)
        if begin is None or end is None:
            return f"{_seconds(from_s)}–{_seconds(to_s)} s"
        last = _text(end, span_s)
        return f"{_text(begin, span_s)}–{last.partition(' ')[2] if begin.date() == end.date() else last}"

    def reading(self, t_s: float | Fraction, beside_s: float | Fraction | None = None) -> str:
        """To the second: ``2028-03-11 22:14:05 UTC``, or ``T+2d 03:04:05``; beside the reading at ``beside_s`` only
        what differs: ``22:13:58``."""
        date, beside = self.date(t_s), None if beside_s is None else self.date(beside_s)
        if date is None:
            return _mission_clock(t_s)
        if beside is None:
            return f"{date:%Y-%m-%d %H:%M:%S} UTC"
        return f"{date:%H:%M:%S}" if beside.date() == date.date() else f"{date:%Y-%m-%d %H:%M:%S}"

    @property
    def name(self) -> str:
        """What moments are called: ``UTC`` or ``mission time``."""
        return "UTC" if self.dated else "mission time"


MISSION_TIME = Clock()
"""Of a mission without a date."""


def _text(date: datetime, span_s: float) -> str:
    return f"{date:%Y-%m-%d %H:%M:%S}" if span_s < SECONDS_BELOW_S else f"{date:%Y-%m-%d %H:%M}"


def _seconds(t_s: float) -> str:
    return f"{t_s:,.0f}" if t_s >= 100 else f"{t_s:.3g}"


def _mission_clock(t_s: float | Fraction) -> str:
    """``T+2d 03:04:05``: whole seconds, days only where there are any."""
    minutes, seconds = divmod(int(t_s), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"T+{f'{days}d ' if days else ''}{hours:02}:{minutes:02}:{seconds:02}"
