"""The physics of a link for the engine: profiles, light times between bodies, contact plans, codes.

A key of the scenario takes precedence over a profile and a contact plan. Where a link has both, it is up when the plan
has a contact and the profile a view, at the lesser rate; ``contacts_override`` says otherwise. The delay of a plan is
used if no profile gives one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from math import log10
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.engine.config import FrameSchedule
from dstcc.engine.config import Loss as EngineLoss
from dstcc.errors import InputError
from dstcc.frozen import dataclass

from .changing import Steps
from .contacts import Obstacles, clipped, dark_windows, planned_delay, planned_rate
from .fields import BodyPair, broken, ns
from .losses import LOSSES
from .places import light, seen

if TYPE_CHECKING:
    from dstcc_channels.profiles import Profile
    from dstcc_channels.realise import LossSchedule, Realisation
    from numpy.typing import NDArray

    from .model import About, Link, Scenario

ROW_S = 600.0
"""Step between rows of a light time: the cubic between them is within a nanosecond for any pair of planets."""
MAX_ROWS = 50_000
"""A year at ten minutes per row; longer runs have wider steps, and the spline stays within microseconds."""
WAYS = ("down", "up")
"""The directions of a link: of the data, and of the acknowledgements."""
Outages = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class DelayColumns:
    """A delay over time, in the engine's form."""

    t_ns: tuple[int, ...]
    delay_ns: tuple[int, ...]
    slope: tuple[float, ...] = ()


@dataclass(frozen=True)
class Physics:
    """The values from a link's profile, bodies and contact plan; ``None`` where they give none."""

    delay: DelayColumns | None = None
    rate_bps: float | None = None
    """A physical profile's; its losses are those at this rate."""
    up_rate_bps: float | None = None
    plan_rate: Steps | None = None
    """The plan's rate over time, bit/s."""
    up_plan_rate: Steps | None = None
    loss: EngineLoss | None = None
    up_loss: EngineLoss | None = None
    outages: Outages | None = None
    up_outages: Outages | None = None
    notes: tuple[str, ...] = ()


def physics(link: Link, about: About, seed: int) -> Physics:
    """Resolve one link of a scenario under a seed."""
    properties = Physics()
    if is_physical(link):
        properties = _of_profile(link, about, seed)
    if link.contacts is not None:
        properties = _with_plan(properties, link, about, seed)
    if link.ends is not None:
        properties = _of_places(link, about)
    if isinstance(link.delay_s, BodyPair):
        properties = replace(properties, delay=_body_delays(link.delay_s, *_when(about)))
    return properties


def clipped_contacts(link: Link, about: About, seed: int) -> list[str]:
    """A sentence for each contact of a link's plan that its profile clips, or takes whole, and for a plan that has none
    in the run; none where the link says its outages itself."""
    if link.contacts is None or link.given("outages"):
        return []
    return [said for way in WAYS for said in clipped(link, about, way, _obstacles(link, about, seed, way))]


def is_physical(link: Link) -> bool:
    """Whether a link has a profile that is computed, and not one that holds keys."""
    return link.profile is not None and profile_of(link.profile).kind == "physical"


def at_rate(loss: EngineLoss, planned_bps: float, rate: Steps) -> EngineLoss:
    """A profile's frame loss at another rate: the energy per bit is proportional to the duration of a bit.

    Where the rate changes, two rows a nanosecond apart have Eb/N0 before and after.
    """
    frames = loss.frames
    if frames is None or rate == ((0,), (planned_bps,)):
        return loss
    changes = np.array(rate[0][1:], dtype=np.int64)
    t_ns = np.unique(np.concatenate([frames.t_ns, changes - 1, changes]))
    if len(changes) == 0:
        t_ns = frames.t_ns
    row = np.searchsorted(np.array(rate[0], dtype=np.int64), t_ns, side="right") - 1
    ebn0_db, index = (
        values if t_ns is frames.t_ns else np.interp(t_ns, frames.t_ns, values)
        for values in (frames.ebn0_db, frames.scintillation_index)
    )
    gain_db = np.array([10 * log10(planned_bps / given_bps) for given_bps in rate[1]])
    return replace(
        loss,
        frames=replace(frames, t_ns=t_ns, ebn0_db=ebn0_db + gain_db[row], scintillation_index=index),
    )


def clamped(name: str, ebn0_db: float) -> str | None:
    """A note on the value used for an Eb/N0 outside a code's table; ``None`` inside."""
    from dstcc_channels.codes import code

    return code(name).outside(ebn0_db)


@lru_cache(maxsize=64)
def profile_of(name_or_path: str) -> Profile:
    """A profile, read once."""
    from dstcc_channels.profiles import load_profile

    return load_profile(name_or_path, LOSSES)


def abstract_keys(name_or_path: object) -> dict[str, Any]:
    """The keys of ``[[link]]`` in an abstract profile; none for a physical one."""
    if not isinstance(name_or_path, str):
        return {}
    with _named_by_key("profile"):
        return dict(profile_of(name_or_path).link or {})


def sun_earth_probe_deg(link: Link, about: About, t_s: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The angle between the Sun and a link's far end, as seen from the Earth, of what leaves it at ``t_s``, in degrees.

    ``None`` where the scenario does not say where that end is, or where both ends are elsewhere.
    """
    from dstcc_channels import geometry

    path = profile_of(link.profile).path if link.profile is not None else None
    if path is not None:
        body, ephemeris = path.body, path.ephemeris
    elif isinstance(link.delay_s, BodyPair) and "earth" in link.delay_s.bodies:
        body = next(name for name in link.delay_s.bodies if name != "earth")
        ephemeris = link.delay_s.ephemeris
    else:
        return None
    assert about.start is not None  # held by check
    light_s = geometry.light_time_s(body, "earth", about.start, t_s, ephemeris=ephemeris, sent=True)
    angle = geometry.sun_earth_probe_deg(body, about.start, t_s + light_s, ephemeris=ephemeris)
    return np.asarray(angle, dtype=np.float64)


def check(scenario: Scenario) -> None:
    """Raise pydantic's error for links that could not be drawn."""
    about = scenario.scenario
    for i, link in enumerate(scenario.link):
        physical = is_physical(link)
        for key, needed in (("profile", physical), ("delay_s", isinstance(link.delay_s, BodyPair))):
            for what, value in (("start", about.start), ("duration_s", about.duration_s)):
                if needed and value is None:
                    raise broken(f"needs {what} in [scenario]", key=f"link.{i}.{key}")
        for what, value in (("start", about.start), ("duration_s", about.duration_s)):
            if link.ends is not None and value is None:
                raise broken(f"nodes with places need {what} in [scenario]", key=f"link.{i}.ends")
        if link.contacts_override and (link.contacts is None or link.profile is None):
            raise broken("needs contacts and a profile", key=f"link.{i}.contacts_override")
        if link.contacts is not None:
            with _named_by_key(f"link.{i}.contacts"):
                for way in WAYS:
                    planned_rate(link, about, way)
                _planned_delay(link, about)
        with _named_by_key(f"link.{i}.{'profile' if physical else 'ends' if link.ends else 'delay_s'}"):
            if physical or link.ends is not None or isinstance(link.delay_s, BodyPair):
                physics(link, about, scenario.run.seed)


@contextmanager
def _named_by_key(key: str) -> Iterator[None]:
    """Turn an input error into one that names its key."""
    try:
        yield
    except InputError as error:
        raise broken(str(error), key=key) from None


def curve(t_s: NDArray[np.float64], delay_s: NDArray[np.float64]) -> DelayColumns:
    """The spline through a delay's rows: its values and slopes at the rows."""
    from scipy.interpolate import CubicSpline

    slopes = CubicSpline(t_s, delay_s)(t_s, 1)
    return DelayColumns(
        tuple(map(ns, t_s.tolist())), tuple(map(ns, delay_s.tolist())), tuple(slopes.tolist())
    )


def _when(about: About) -> tuple[datetime, float]:
    assert about.start is not None and about.duration_s is not None  # held by check
    return about.start, about.duration_s


@lru_cache(maxsize=64)
def _realised(name_or_path: str, start: datetime, duration_s: float, seed: int) -> Realisation:
    """A physical profile realised for a run; cached, as it is the same for every algorithm of a seed."""
    from dstcc_channels.realise import realise

    return realise(profile_of(name_or_path), start, duration_s, seed)


@lru_cache(maxsize=64)
def _body_delays(pair: BodyPair, start: datetime, duration_s: float) -> DelayColumns:
    from dstcc_channels.geometry import light_time_s

    sender, receiver = pair.bodies if pair.bodies[0] != "earth" else pair.bodies[::-1]
    rows = min(int(np.ceil(duration_s / ROW_S)) + 1, MAX_ROWS)
    t_s = np.linspace(0.0, duration_s, max(rows, 3))
    return curve(t_s, light_time_s(sender, receiver, start, t_s, ephemeris=pair.ephemeris, sent=True))


def _of_places(link: Link, about: About) -> Physics:
    """When the nodes at a link's ends see each other, and how far they are."""
    from dstcc_channels.geometry import complement

    assert link.ends is not None
    start, duration_s = _when(about)
    sight = seen(link.ends, link.mask_deg, start, duration_s)
    outages, up_outages = (
        _windows(complement(windows, 0.0, duration_s)) for windows in (sight.there, sight.back)
    )
    return Physics(delay=curve(*light(link.ends, start, duration_s)), outages=outages, up_outages=up_outages)


def _of_profile(link: Link, about: About, seed: int) -> Physics:
    """What a physical profile gives."""
    assert link.profile is not None
    realisation = _realised(link.profile, *_when(about), seed)
    return Physics(
        delay=curve(realisation.delay_t_s, realisation.delay_s),
        rate_bps=realisation.rate_bps,
        up_rate_bps=realisation.up_rate_bps,
        loss=_schedule(realisation.down, _code_of(link.profile, up=False)),
        up_loss=_schedule(realisation.up, _code_of(link.profile, up=True)),
        outages=_windows(realisation.outages_s),
        up_outages=_windows(realisation.up_outages_s),
        notes=tuple(f"link {link.name}: {note}" for note in realisation.notes),
    )


def _with_plan(known: Physics, link: Link, about: About, seed: int) -> Physics:
    """What a profile gives, if there is one, within a plan's contacts."""
    outages, up_outages = (
        _windows(dark_windows(link, about, way, _obstacles(link, about, seed, way))) for way in WAYS
    )
    return replace(
        known,
        delay=known.delay or _planned_delay(link, about),
        plan_rate=planned_rate(link, about, "down"),
        up_plan_rate=planned_rate(link, about, "up"),
        outages=outages,
        up_outages=up_outages,
    )


def _planned_delay(link: Link, about: About) -> DelayColumns | None:
    """The plan's light times, for a link that has no delay of its own."""
    if link.delay_s is not None or is_physical(link):
        return None
    rows = planned_delay(link, about)
    return DelayColumns(tuple(ns(t) for t, _ in rows), tuple(ns(delay) for _, delay in rows))


def _obstacles(link: Link, about: About, seed: int, way: str) -> Obstacles:
    """What a profile has in the way of a plan's contacts."""
    if link.profile is None or "geometry" in link.contacts_override or link.given("outages"):
        return {}
    if is_physical(link):
        return _seen(link.profile, *_when(about), seed, way)
    if link.outages is None:
        return {}
    return {f"an outage of profile {profile_of(link.profile).name}": list(link.outages)}


@lru_cache(maxsize=64)
def _seen(name_or_path: str, start: datetime, duration_s: float, seed: int, way: str) -> Obstacles:
    from dstcc_channels.realise import obstacles

    return obstacles(profile_of(name_or_path), start, duration_s, seed, way)


def _windows(windows: Any) -> Outages:
    """Windows in whole nanoseconds, without those that become empty."""
    rounded = ((ns(start), ns(end)) for start, end in windows)
    return tuple((start, end) for start, end in rounded if end > start)


def _code_of(name_or_path: str, *, up: bool) -> str:
    way = profile_of(name_or_path).up if up else profile_of(name_or_path).down
    return str(getattr(way, "code", ""))


def _schedule(loss: LossSchedule, name: str) -> EngineLoss:
    if loss.kind == "none":
        return EngineLoss()
    return EngineLoss(
        "frames",
        frames=FrameSchedule(
            frame_bits=loss.frame_bits,
            t_ns=np.round(loss.t_s * 1e9).astype(np.int64),
            ebn0_db=loss.ebn0_db,
            scintillation_index=loss.scintillation_index,
            coherence_ns=max(1, ns(loss.coherence_s)),
            curve_from_db=float(loss.curve_ebn0_db[0]),
            curve_step_db=float(loss.curve_ebn0_db[1] - loss.curve_ebn0_db[0]),
            log10_fer=loss.curve_log10_fer,
            code=name,
        ),
    )
