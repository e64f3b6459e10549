"""What ``dstcc links`` says of a profile or a code: JSON documents, and the lines of a budget for people."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from dstcc.errors import InputError

from .codes import Code, code
from .geometry.ephemeris import ephemeris_over
from .geometry.times import utc_of_tdb
from .passes import Pass, passes
from .profiles import Profile, load_profile, profile_names
from .profiles.model import Down
from .states import LinkStates, link_budget, link_states, parts, threshold

BACK_S, AHEAD_S = 86_400.0, 40 * 86_400.0
"""How far back a pass may have begun, and how far ahead the next one is looked for: beyond any conjunction."""
HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Described:
    """A JSON document, its warnings, and the budget line by line (label, figure with unit)."""

    document: dict[str, Any]
    notes: tuple[str, ...]
    lines: tuple[tuple[str, str], ...] = ()


def profile_documents() -> list[dict[str, str]]:
    """The shipped profiles and what each is."""
    return [{"profile": name, "summary": load_profile(name).summary} for name in profile_names()]


def parse_date(text: str) -> datetime:
    """A date or a date and time as ISO 8601 has them; UTC unless it names a zone, or ends in ``TDB``.

    TDB is the time scale of published ephemerides, 69.184 s ahead of UTC since 2017. Raises :class:`InputError` for
    anything else.
    """
    stripped = text.strip()
    plain = stripped.removesuffix("TDB").rstrip()
    try:
        moment = datetime.fromisoformat(plain)
        if plain != stripped:
            return utc_of_tdb(moment)
    except ValueError:
        raise InputError(
            f"date = {text!r}: not ISO 8601; allowed: 2026-11-21, 2026-11-21T06:00:00Z or '2026-11-21 TDB'"
        ) from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def iso(moment: datetime) -> str:
    """A moment as documents have it: ``2026-11-21T00:00:00Z``."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def describe_profile(
    profile: Profile,
    date: datetime,
    *,
    elevation_deg: float | None = None,
    packet_bytes: int,
    up: bool = False,
) -> Described:
    """The state of a profile's link at a date (UTC); of an abstract profile, its keys.

    Raises :class:`InputError` for an elevation of an abstract profile, and as :func:`.link_states` does.
    """
    if profile.link is not None:
        if elevation_deg is not None or up:
            raise InputError(
                f"{profile.name}: an abstract profile has no station, and one budget for none of its ways"
            )
        return _abstract(profile, date)
    state = link_states(profile, date, 0.0, elevation_deg=elevation_deg, packet_bytes=packet_bytes, up=up)
    document = {
        "profile": profile.name,
        "date": iso(date),
        "distance_m": float(state.distance_m),
        "one_way_s": float(state.one_way_s),
        "ebn0_db": float(state.ebn0_db),
        "margin_db": float(state.margin_db),
        "frame_error_rate": float(state.frame_error_rate),
        "packet_loss": float(state.packet_loss),
        "rate_bps": float(state.rate_bps),
        "visible": bool(state.visible),
        "next_pass": None,
    }
    lines = (("date", _utc(date)), *_lines(profile, state, packet_bytes, up))
    if not up:
        found = next_pass(profile, date)
        document["next_pass"] = _pass_document(found, date)
        ahead_s = _looked_at(profile, date)[1]
        lines = (*lines, ("next pass", _pass_text(found, date, ahead_s)))
    return Described(document, _notes(profile, state), (*lines, *_sources(profile)))


def describe_code(name: str, ebn0_db: float, packet_bytes: int) -> Described:
    """Frame error rate and packet loss of a code. Raises :class:`InputError` for an unknown code or no packet."""
    known = code(name)
    if not np.isfinite(ebn0_db):
        raise InputError(f"ebn0 = {ebn0_db:g}: must be a finite number of dB")
    document = {
        "code": name,
        "ebn0_db": ebn0_db,
        "frame_error_rate": float(known.frame_error_rate(ebn0_db)),
        "packet_loss": float(known.packet_loss(ebn0_db, packet_bytes)),
    }
    outside = known.outside(ebn0_db)
    frame = "bit" if known.frame_bits == 1 else f"frame of {known.frame_bits} bits"
    lines = (
        ("code", f"{name}, rate {known.rate:.4f}"),
        ("Eb/N0", f"{ebn0_db:g} dB"),
        (f"{frame} in error", f"{document['frame_error_rate']:.4g}"),
        (f"packet of {packet_bytes} bytes lost", f"{document['packet_loss']:.4g}"),
        ("frames it is in", f"{known.frames(packet_bytes):.4g} on average"),
        *(("source", ref) for ref in dict.fromkeys(known.refs)),
    )
    return Described(document, (outside,) if outside else (), lines)


def _abstract(profile: Profile, date: datetime) -> Described:
    link = profile.link or {}
    document = {
        "profile": profile.name,
        "date": iso(date),
        "distance_m": None,
        "one_way_s": link["delay_s"],
        "ebn0_db": None,
        "margin_db": None,
        "frame_error_rate": None,
        "packet_loss": link.get("loss", {}).get("packet", link.get("loss") or 0.0),
        "rate_bps": link["rate_bps"],
        "visible": True,
        "next_pass": None,
    }
    lines = [(key, str(value)) for key, value in link.items()]
    return Described(document, (), (*lines, *_sources(profile)))


def _notes(profile: Profile, state: LinkStates) -> tuple[str, ...]:
    notes = list(state.notes)
    path = profile.path
    assert path is not None
    if state.elevation_deg < path.mask_deg:
        notes.append(
            f"{path.body} stands {float(state.elevation_deg):.1f} degrees over {path.station}'s horizon, below its "
            f"mask of {path.mask_deg:g}: the budget is that of the mask"
        )
    if state.sun_earth_probe_deg < path.conjunction_deg:
        notes.append(
            f"{float(state.sun_earth_probe_deg):.2f} degrees from the Sun, less than conjunction_deg = "
            f"{path.conjunction_deg:g}: the link is not used"
        )
    return tuple(notes)


def _lines(profile: Profile, state: LinkStates, packet_bytes: int, up: bool) -> tuple[tuple[str, str], ...]:
    path, direction = parts(profile, up)
    budget = link_budget(path, direction, state.distance_m, state.elevation_deg, profile.weather.cd)
    known, threshold_db = threshold(direction)
    fixed = "fixed" if direction.rate_bps is not None else f"highest with {direction.margin_db:g} dB margin"
    figures = [
        ("distance", f"{float(state.distance_m) / 1e9:.4g} Gm"),
        ("one way", f"{float(state.one_way_s):.3f} s"),
        ("Sun-Earth-probe angle", f"{float(state.sun_earth_probe_deg):.2f} degrees"),
        ("elevation", f"{float(state.elevation_deg):.1f} degrees at {path.station}"),
        ("weather", f"no worse in {100 * profile.weather.cd:g} % of the time"),
        *([("circuit loss", _loss(direction.circuit_loss_db))] if isinstance(direction, Down) else []),
        ("EIRP", f"{float(budget.eirp_dbw):.2f} dBW at {direction.frequency_hz / 1e9:g} GHz"),
        ("space loss", f"{float(budget.space_loss_db):.2f} dB"),
        ("atmosphere", f"{float(budget.atmosphere_db):.2f} dB"),
        ("pointing", _loss(direction.pointing_loss_db)),
        ("polarisation", _loss(direction.polarisation_loss_db)),
        ("receiving gain", f"{float(budget.gain_dbi):.2f} dBi"),
        ("noise temperature", f"{float(budget.noise_k):.1f} K"),
        ("C/N0", f"{float(budget.cn0_db):.2f} dB-Hz"),
        (
            "rate",
            f"{float(state.rate_bps) / 1e3:,.1f} kb/s ({fixed}, at most {direction.max_rate_bps / 1e3:,.0f})",
        ),
        ("implementation", f"{budget.implementation_db:.2f} dB"),
        ("Eb/N0", f"{float(state.ebn0_db):.2f} dB"),
        ("threshold", f"{threshold_db:.2f} dB ({known.name} at {direction.frame_error_rate:g})"),
        ("margin", f"{float(state.margin_db):.2f} dB"),
        ("scintillation index", f"{float(state.scintillation_index):.2f}"),
        ("frame error rate", f"{float(state.frame_error_rate):.3g}{_at_floor(known, float(state.ebn0_db))}"),
        (f"packets of {packet_bytes} bytes lost", f"{float(state.packet_loss):.3g}"),
        ("usable", "yes" if state.visible else "no"),
    ]
    return tuple(figures)


def _loss(loss_db: float) -> str:
    """A loss that a profile may leave out."""
    return f"{loss_db:.2f} dB" if loss_db else "left out: the profile gives none"


def next_pass(profile: Profile, date: datetime) -> Pass | None:
    """The whole pass that contains a date or the next one within :data:`AHEAD_S`; ``None`` if there is none.

    Where the ephemeris begins or ends sooner, a pass that contains it is cut off there, and none is looked for beyond.
    """
    back_s, ahead_s = _looked_at(profile, date)
    found = passes(profile, date - timedelta(seconds=back_s), back_s + ahead_s)
    here = next((one for one in found if one.to_s > back_s and one.to_s < back_s + ahead_s), None)
    return None if here is None else replace(here, from_s=here.from_s - back_s, to_s=here.to_s - back_s)


def _looked_at(profile: Profile, date: datetime) -> tuple[float, float]:
    """How far back and ahead of a date passes are looked for: not beyond the ephemeris."""
    path, _ = parts(profile)
    covered = ephemeris_over(path.ephemeris, date, np.zeros(1))
    return (
        min(BACK_S, (date - covered.first).total_seconds()),
        min(AHEAD_S, (covered.last - date).total_seconds()),
    )


def _pass_document(found: Pass | None, date: datetime) -> dict[str, Any] | None:
    if found is None:
        return None
    begin, end = (date + timedelta(seconds=round(at)) for at in (found.from_s, found.to_s))
    return {
        "from": iso(begin),
        "to": iso(end),
        "rate_bps": found.rate_bps,
        "most_bytes": found.most_bytes,
        "least_bytes": found.least_bytes,
    }


def _pass_text(found: Pass | None, date: datetime, ahead_s: float) -> str:
    if found is None:
        return f"none within {ahead_s / 86_400:.3g} days"
    begin, end = (date + timedelta(seconds=found.from_s), date + timedelta(seconds=found.to_s))
    most, least = found.most_bytes / 1e6, found.least_bytes / 1e6
    hidden = (
        f" ({least:,.0f} if the body hides {100 * found.hidden_share:.0f} % of it)"
        if found.hidden_share
        else ""
    )
    return (
        f"{begin:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC, {(end - begin) / HOUR:.1f} h at "
        f"{found.rate_bps / 1e3:,.1f} kb/s: {most:,.0f} MB{hidden}"
    )


def _utc(date: datetime) -> str:
    return f"{date.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _at_floor(known: Code, ebn0_db: float) -> str:
    """A note for Eb/N0 above the table, where the table's last row is used."""
    above_db = ebn0_db - known.range_db[1]
    return f" (floor of the code's table, which ends {above_db:.1f} dB below)" if above_db > 0 else ""


def _sources(profile: Profile) -> list[tuple[str, str]]:
    return [("source", ref) for ref in profile.references] + [("left out", note) for note in profile.notes]
