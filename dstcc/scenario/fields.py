"""The types that a scenario's keys have: bounded numbers, seeded draws, delay tables, loss processes.

The bounds are wide. They keep a mistake (a rate in place of a delay, a day in milliseconds) from causing an endless
run, and they keep times in nanoseconds from overflowing an int64.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import pairwise
from typing import Annotated, Any, ClassVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)
from pydantic_core import PydanticCustomError

from dstcc.errors import near_or_known

MAX_TIME_S = 1e9
"""31 years; an int64 holds nine times that in nanoseconds."""
MIN_RATE_BPS, MAX_RATE_BPS = 1.0, 1e12
MIN_DELAY_S, MAX_DELAY_S = 1e-6, 1e6
"""A microsecond; eleven days, the light time of 2,000 astronomical units."""
MAX_BYTES = 1 << 40


NS_PER_S = 1_000_000_000


def ns(seconds: float) -> int:
    """Seconds as whole nanoseconds."""
    return round(seconds * NS_PER_S)


def broken(rule: str, **context: Any) -> PydanticCustomError:
    """The error for a value that breaks ``rule``; the loader puts file, key and value before it."""
    return PydanticCustomError("rule", "{rule}", {"rule": rule, **context})


class ScenarioTable(BaseModel):
    """A TOML table: strict types, finite numbers, no unknown key; immutable once read."""

    model_config = ConfigDict(
        strict=True,
        frozen=True,
        allow_inf_nan=False,
        extra="forbid",
        serialize_by_alias=True,
        defer_build=True,
    )

    gone: ClassVar[dict[str, str]] = {}
    """Keys that there were, and what to write instead."""

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        known = [field.alias or name for name, field in cls.model_fields.items()]
        for key in data:
            if key in cls.gone:
                raise broken(f"this key is gone: {cls.gone[key]}", key=key)
            if key not in known:
                raise broken(f"unknown key; {near_or_known(str(key), known)}", key=str(key))
        return data


def _to_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


AsTuple = BeforeValidator(_to_tuple)
"""TOML arrays arrive as lists; models hold tuples."""


def _to_texts(value: Any) -> Any:
    return (value,) if isinstance(value, str) else _to_tuple(value)


AsTexts = BeforeValidator(_to_texts)
"""A text alone stands for a list of one."""


def _flatten(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    flat: dict[str, Any] = {}
    for key, item in value.items():
        inner = _flatten(item)
        below = (
            {f"{key}.{name}": one for name, one in inner.items()} if isinstance(inner, dict) else {key: inner}
        )
        flat |= below
    return flat


WithDots = BeforeValidator(_flatten)
"""TOML reads ``cubic.startup_s = "< 9"`` without quotes around the key as a table in a table: this joins the keys."""

Seconds = Annotated[float, Field(gt=0, le=MAX_TIME_S)]
Instant = Annotated[float, Field(ge=0, le=MAX_TIME_S)]
Bytes = Annotated[int, Field(gt=0, le=MAX_BYTES)]
Probability = Annotated[float, Field(ge=0, le=1)]
Pair = Annotated[tuple[float, float], AsTuple]


class Draw(ScenarioTable):
    """``{uniform = [a, b]}`` or ``{log_uniform = [a, b]}``: drawn once per seed, the same for every
    algorithm."""

    uniform: Pair | None = None
    """Uniform between the two bounds."""
    log_uniform: Pair | None = None
    """Uniform in the logarithm between the two bounds; both above 0."""

    @model_validator(mode="after")
    def _one_range(self) -> Draw:
        if (self.uniform is None) == (self.log_uniform is None):
            raise broken("needs exactly one of uniform and log_uniform")
        low, high = self.bounds
        if low > high:
            raise broken(f"the range [{low}, {high}] is out of order")
        if self.log_uniform is not None and low <= 0:
            raise broken(f"log_uniform needs bounds above 0, not {low}")
        return self

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest value that can be drawn."""
        bounds = self.uniform or self.log_uniform
        assert bounds is not None
        return bounds


def given_of(table: ScenarioTable, keys: Iterable[str]) -> str:
    """Which of these keys a table gives; raises unless it is exactly one."""
    given = [key for key in keys if getattr(table, key) is not None]
    if len(given) != 1:
        raise broken(f"needs exactly one of {', '.join(keys)}, not {' and '.join(given) or 'none'}")
    return given[0]


def _kind(value: Any) -> str:
    if isinstance(value, (dict, Draw)):
        return "<draw>"
    return "<table>" if isinstance(value, (list, tuple)) else "<number>"


def _choice(rule: str) -> Discriminator:
    return Discriminator(_kind, custom_error_type="rule", custom_error_message=rule)


def _numbers(value: Any) -> tuple[float, ...]:
    """The numbers that a bound must hold for: a number, both ends of a draw, every delay of a table."""
    if isinstance(value, BodyPair):
        return ()
    if isinstance(value, Draw):
        return value.bounds
    return tuple(delay for _time, delay in value) if isinstance(value, tuple) else (value,)


def _check_range(low: float, high: float) -> AfterValidator:
    def check(value: Any) -> Any:
        for number in _numbers(value):
            if not low <= number <= high:
                raise broken(f"must be between {low:g} and {high:g}, not {number:g}")
        return value

    return AfterValidator(check)


_Number = Annotated[float, Tag("<number>")]
_Drawn = Annotated[Draw, Tag("<draw>")]
_Drawable = Annotated[
    _Number | _Drawn, _choice("must be a number, {uniform = [a, b]} or {log_uniform = [a, b]}")
]

Rate = Annotated[float, _check_range(MIN_RATE_BPS, MAX_RATE_BPS)]
"""Bits per second."""
DrawableRate = Annotated[_Drawable, _check_range(MIN_RATE_BPS, MAX_RATE_BPS)]
"""Bits per second, or a draw of them."""
AS_DOWN = "rate_bps"
"""A rate of the way up that is said to be that of the way down, whatever that is or is drawn to be."""
DrawableProbability = Annotated[_Drawable, _check_range(0, 1)]
DrawableDb = Annotated[_Drawable, _check_range(-50, 100)]
"""Decibels, or a draw of them."""
DrawableInstant = Annotated[_Drawable, _check_range(0, MAX_TIME_S)]
"""A time in seconds, or a draw of it."""


def rising(rows: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
    """Refuse a table whose times do not rise."""
    for number, (before, after) in enumerate(pairwise(rows), 1):
        if after[0] <= before[0]:
            raise broken(f"times must rise, but row {number} is at {after[0]:g} s after {before[0]:g} s")
        if ns(after[0]) == ns(before[0]):
            raise broken(
                f"rows are a nanosecond apart at least, but row {number} is at {after[0]!r} s after {before[0]!r} s"
            )
    return rows


class BodyPair(ScenarioTable):
    """``{bodies = ["mars", "earth"], ephemeris = "kepler"}``: the light time between two bodies' centres."""

    bodies: Annotated[tuple[str, str], AsTuple]
    """The two bodies; the one that is not Earth sends the data."""
    ephemeris: str = "kepler"

    @model_validator(mode="after")
    def _known(self) -> BodyPair:
        from dstcc_channels.geometry import BODIES, EPHEMERIDES

        for name in self.bodies:
            if name not in BODIES:
                raise broken(f"no body '{name}'; {near_or_known(name, BODIES)}", key="bodies")
        if self.bodies[0] == self.bodies[1]:
            raise broken("needs two different bodies", key="bodies")
        if self.ephemeris not in EPHEMERIDES:
            raise broken(
                f"no '{self.ephemeris}'; {near_or_known(self.ephemeris, EPHEMERIDES)}", key="ephemeris"
            )
        return self


def _kind_of_delay(value: Any) -> str:
    if isinstance(value, BodyPair):
        return "<bodies>"
    drawn = Draw.model_fields
    if isinstance(value, dict) and value and not any(get_close_matches(str(key), drawn, 1) for key in value):
        return "<bodies>"
    return _kind(value)


_DelayTable = Annotated[
    tuple[Annotated[tuple[Instant, float], AsTuple], ...],
    AsTuple,
    Field(min_length=1),
    AfterValidator(rising),
    Tag("<table>"),
]
Delay = Annotated[
    _Number | _Drawn | _DelayTable | Annotated[BodyPair, Tag("<bodies>")],
    Discriminator(
        _kind_of_delay,
        custom_error_type="rule",
        custom_error_message="must be a number, [[t_s, delay_s], ..], a draw or {bodies = [..]}",
    ),
    _check_range(MIN_DELAY_S, MAX_DELAY_S),
]
"""One-way delay in seconds: constant, drawn per seed, a table over mission time (linear between rows), or the light
time between two bodies."""
