"""What a profile file may say: each table's keys, their units and their bounds.

A profile is *abstract* (``[link]`` holds keys of a scenario's ``[[link]]``, draws included) or *physical* (``[path]``
and ``[down]``, with ``[up]`` for the other way): never both.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError

from dstcc.errors import InputError

from ..codes import CODE_NAMES, code
from ..data import nearest
from ..geometry import BODIES, EPHEMERIDES, CircularOrbit
from ..terminals import Terminal, terminal
from .abstract import LOSSES, check_link

BANDS_HZ = {"x": (7e9, 9e9), "k": (18e9, 27e9), "ka": (27e9, 40e9)}
"""K and Ka of IEEE 521; X with deep space's 7.1 GHz up and 8.4 GHz down. The tables of stations, weather and
scintillation are valid in these bands."""
BANDS = tuple(BANDS_HZ)


def broken(rule: str) -> PydanticCustomError:
    """The error for a value that breaks ``rule``; the loader puts file and key before it."""
    return PydanticCustomError("rule", "{rule}", {"rule": rule})


class ProfileTable(BaseModel):
    """Strict types, finite numbers, no unknown key."""

    model_config = ConfigDict(strict=True, frozen=True, allow_inf_nan=False, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        for key in data if isinstance(data, dict) else ():
            if key not in cls.model_fields:
                raise broken(f"unknown key '{key}'; {nearest(key, cls.model_fields)}")
        return data


def _one_of(names: Any) -> BeforeValidator:
    def check(value: Any) -> Any:
        if not isinstance(value, str):
            raise broken(f"a name, not {value!r}")
        if value not in names:
            raise broken(f"{value!r} is not known; {nearest(value, names)}")
        return value

    return BeforeValidator(check)


Db = Annotated[float, Field(ge=0, le=100)]
"""A loss."""
Gain = Annotated[float, Field(ge=-50, le=200)]
RateBps = Annotated[float, Field(ge=1, le=1e12)]
CodeName = Annotated[str, _one_of(CODE_NAMES)]


class Orbit(ProfileTable):
    """A circular orbit around ``[path] body``, for occultations; angles as in :class:`.CircularOrbit`."""

    altitude_m: Annotated[float, Field(gt=0, le=1e9)]
    inclination_deg: Annotated[float, Field(ge=0, le=180)] = 0.0
    node_deg: Annotated[float, Field(ge=-360, le=360)] | None = None
    """Drawn per seed unless given."""
    phase_deg: Annotated[float, Field(ge=-360, le=360)] | None = None
    """Drawn per seed unless given."""


class PathTable(ProfileTable):
    """``[path]``: from where to where."""

    body: Annotated[str, _one_of(BODIES)]
    """Where the spacecraft is."""
    station: str
    band: Annotated[str, _one_of(BANDS)]
    ephemeris: Annotated[str, _one_of(EPHEMERIDES)] = "kepler"
    mask_deg: Annotated[float, Field(ge=6, lt=90)] = 10.0
    """The station's least elevation; the handbook's gain model starts at 6."""
    conjunction_deg: Annotated[float, Field(ge=0, le=20)] = 0.0
    """Below this Sun-Earth-probe angle the link is not used."""
    orbit: Orbit | None = None
    body_noise_k: Annotated[float, Field(ge=0, le=1e4)] = 0.0
    """Noise that the body adds at the station when it fills the beam."""
    extra_m: Annotated[float, Field(ge=0, le=1e12)] = 0.0
    """Distance added to that between the bodies, for instance from the ground to a relay."""

    @model_validator(mode="after")
    def _terminal_exists(self) -> PathTable:
        if self.body in ("earth", "sun"):
            raise broken(f"body: the spacecraft is not at the {self.body}")
        terminal(self.station, self.band)
        if self.orbit is not None:
            try:
                CircularOrbit(self.body, self.orbit.altitude_m)
            except InputError as error:
                raise broken(f"orbit: {error}") from None
        return self

    @property
    def terminal(self) -> Terminal:
        """The station's figures in this band."""
        return terminal(self.station, self.band)


class Weather(ProfileTable):
    """``[weather]``: what the rate is planned for."""

    cd: Annotated[float, Field(ge=0, lt=1)] = 0.9
    """The share of time in which the weather is no worse."""


class Direction(ProfileTable):
    """What ``[down]`` and ``[up]`` share."""

    frequency_hz: Annotated[float, Field(ge=1e8, le=1e12)]
    gain_dbi: Gain
    """Of the spacecraft's antenna."""
    pointing_loss_db: Db = 0.0
    polarisation_loss_db: Db = 0.0
    implementation_loss_db: Db = 0.0
    code: CodeName
    frame_error_rate: Annotated[float, Field(gt=0, lt=1)] = 1e-4
    """Frame error rate at the threshold; the margin counts from there."""
    margin_db: Annotated[float, Field(ge=-50, le=50)] = 3.0
    """Margin that the chosen rate keeps; unused where ``rate_bps`` is given."""
    max_rate_bps: RateBps
    """Highest rate of the equipment, whatever the budget allows."""
    rate_bps: RateBps | None = None
    """A fixed information rate; the highest that keeps the margin unless given."""

    @model_validator(mode="after")
    def _rates_agree(self) -> Direction:
        if unknown := code(self.code).unknown_rate(self.frame_error_rate):
            raise broken(unknown)
        if self.rate_bps is not None and self.rate_bps > self.max_rate_bps:
            raise broken(f"rate_bps = {self.rate_bps:g} is above max_rate_bps = {self.max_rate_bps:g}")
        return self


class Down(Direction):
    """``[down]``: spacecraft to Earth."""

    power_w: Annotated[float, Field(gt=0, le=1e6)]
    circuit_loss_db: Db = 0.0
    """Between the amplifier and the antenna."""


class Up(Direction):
    """``[up]``: Earth to spacecraft, from the station's own transmitter."""

    noise_k: Annotated[float, Field(gt=0, le=1e5)]
    """System noise temperature of the spacecraft's receiver."""


class FixedUp(ProfileTable):
    """``[up]`` of a link whose uplink has no published budget: a rate without loss."""

    rate_bps: RateBps


def _kind_of_up(value: Any) -> str:
    # decided by its keys, so that an error in one kind is not reported for the other kind too
    fixed = set(value) <= {"rate_bps"} if isinstance(value, dict) else isinstance(value, FixedUp)
    return "<rate>" if fixed else "<budget>"


AnyUp = Annotated[
    Annotated[Up, Tag("<budget>")] | Annotated[FixedUp, Tag("<rate>")], Discriminator(_kind_of_up)
]


class Profile(ProfileTable):
    """A profile file."""

    name: str
    """The file's name without its ending."""
    file: Path
    summary: Annotated[str, Field(min_length=1)]
    references: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)]
    """Where the numbers come from."""
    notes: list[str] = []
    link: dict[str, Any] | None = None
    path: PathTable | None = None
    down: Down | None = None
    up: AnyUp | None = None
    weather: Weather = Weather()

    @property
    def kind(self) -> Literal["abstract", "physical"]:
        """``abstract`` with ``[link]``, else ``physical``."""
        return "physical" if self.link is None else "abstract"

    def by_ephemeris(self, name: str) -> Profile:
        """The same with another ephemeris. Raises :class:`InputError` for an abstract profile or an unknown name."""
        if self.path is None:
            raise InputError(f"{self.name}: an abstract profile has no bodies, and so no ephemeris")
        if name not in EPHEMERIDES:
            raise InputError(f"ephemeris: {name!r} is none: {nearest(name, EPHEMERIDES)}")
        return self.model_copy(update={"path": self.path.model_copy(update={"ephemeris": name})})

    @model_validator(mode="after")
    def _one_kind(self, losses: ValidationInfo) -> Profile:
        given = [key for key in ("path", "down", "up") if getattr(self, key) is not None]
        if self.link is not None:
            if given:
                raise broken(f"[link] makes the profile abstract; it cannot have [{given[0]}] too")
            try:
                check_link(self.link, losses.context or LOSSES)
            except InputError as error:
                raise broken(str(error)) from None
        elif missing := [key for key in ("path", "down", "up") if key not in given]:
            raise broken(f"{missing[0]}: missing; a profile has [link], or [path], [down] and [up]")
        else:
            self._in_band()
        if isinstance(self.up, Up) and self.path is not None and self.path.terminal.up_g0_dbi is None:
            raise broken(
                f"up: {self.path.station} has no {self.path.band}-band transmitter in our tables; "
                "allowed: up = {rate_bps = ..}"
            )
        return self

    def _in_band(self) -> None:
        assert self.path is not None  # held before
        low, high = BANDS_HZ[self.path.band]
        for way, direction in (("down", self.down), ("up", self.up)):
            if isinstance(direction, Direction) and not low <= direction.frequency_hz <= high:
                raise broken(
                    f"{way}.frequency_hz = {direction.frequency_hz:g}: band {self.path.band!r} lies from {low:g} to "
                    f"{high:g} Hz"
                )
