"""Pictures: a link's rate and light time over a synodic period, and a code's error rate with its table on it.

Deterministic: the same input gives the same bytes of SVG.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.atomic import atomic_file
from dstcc.errors import InputError
from dstcc.outputs import MARK_BYTES, Kind
from dstcc.version import __version__

from . import geometry
from .codes import UNCODED, code, of_frames
from .data import nearest, rows
from .passes import passes
from .profiles import Profile
from .states import PACKET_BYTES, link_states, parts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".svg", ".png")
MARK = "dstcc links "
"""Creator in a picture's metadata; the version follows."""
SYNODIC_DAYS = {
    "mercury": 116,
    "venus": 584,
    "moon": 29.5,
    "mars": 780,
    "jupiter": 399,
    "saturn": 378,
}
"""From one conjunction to the next, as seen from the Earth (NSSDC planetary fact sheet)."""
POINTS = 1500
MINUTES_FROM_S = 120.0
"""Light times of less are in seconds."""
ELEVATIONS_DEG = (10, 20, 45)
"""The middle one is the line, the others bound its band."""
DAY_S = 86_400.0
MOON = {"inferior conjunction": "new moon", "opposition": "full moon"}
NEAR_DEG = 5.0
"""Angle from the Sun at which scintillation begins."""
# Okabe and Ito (2008): colours that colour-blind readers tell apart
BLUE, ORANGE, GREEN, GREY, INK = "#0072b2", "#d55e00", "#009e73", "#676d78", "#1b2430"
STYLES: dict[str, dict[str, Any]] = {
    "rate": {"color": BLUE, "lw": 1.6},
    "light time": {"color": ORANGE, "lw": 1.6},
    "losses": {"color": GREEN, "lw": 1.6},
    "band": {"color": BLUE, "alpha": 0.18, "lw": 0},
    "cap": {"color": GREY, "lw": 1, "ls": (0, (4, 3))},
    "hidden": {"color": BLUE, "alpha": 0.35, "lw": 1},
    "passes": {"color": BLUE, "ls": "", "marker": ".", "ms": 2},
    "frames": {"color": BLUE, "lw": 1.6},
    "packets": {"color": BLUE, "lw": 1.2, "ls": (0, (4, 2))},
    "clamped": {"color": GREY, "lw": 1.6, "ls": (0, (1.5, 1.5))},
    "rows": {"ms": 5, "capsize": 2, "lw": 1},
    "near the Sun": {"color": "#e69f00", "alpha": 0.22, "lw": 0},
    "alignment": {"color": GREY, "lw": 0.8, "ls": (0, (2, 2))},
    "name": {"va": "top", "color": INK, "fontsize": 8},
    "title": {"loc": "left", "fontsize": 10, "color": INK},
    "caption": {"fontsize": 8, "color": GREY},
}
"""What each thing looks like."""
BEYOND = 0.12
"""Of a table's range is drawn on either side, in which it is clamped."""
OUTWARDS = (-1, 0, 0, 0, 1)
HEIGHTS = (3, 2, 1.6, 1.6)
"""Of a link's panels, in shares."""
RC: dict[Any, Any] = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 9.0,
    "grid.color": "#e4e8ec",
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "dstcc",
    "savefig.dpi": 144,
}


def plot_profile(profile: Profile, start: datetime, path: Path, *, force: bool = False) -> None:
    """Draw rate and light time of a physical profile from ``start`` (UTC) on for a synodic period, as SVG or PNG.

    Raises :class:`InputError` for another ending, an abstract profile, or dates outside the ephemeris.
    """
    check_picture(path)
    where, down = parts(profile)
    days = SYNODIC_DAYS.get(where.body, 780)
    t_s = np.linspace(0, days * DAY_S, POINTS)
    states = [link_states(profile, start, t_s, elevation_deg=float(angle)) for angle in ELEVATIONS_DEG]
    _, state, _ = states
    dates: Any = [start + timedelta(seconds=float(at)) for at in t_s]
    near = geometry.conjunction_windows(
        where.body, start, days * DAY_S, [NEAR_DEG, where.conjunction_deg], ephemeris=where.ephemeris
    )
    alignments = geometry.alignments(where.body, start, days * DAY_S, ephemeris=where.ephemeris)

    from matplotlib.dates import ConciseDateFormatter

    with _figure(path, (9, 7.2), force) as figure:
        top, volume, middle, bottom = figure.subplots(len(HEIGHTS), sharex=True, height_ratios=HEIGHTS)
        used = state.sun_earth_probe_deg >= where.conjunction_deg
        low, line, high = (np.where(used, one.rate_bps / 1e3, np.nan) for one in states)
        top.fill_between(dates, low, high, **STYLES["band"])
        top.plot(dates, line, **STYLES["rate"])
        top.axhline(down.max_rate_bps / 1e3, **STYLES["cap"])
        highest = max(float(one.rate_bps.max()) for one in states) / 1e3
        top.set_ylim(bottom=0, top=1.15 * highest)  # room for the names of conjunctions above the cap
        top.set_ylabel("rate down, kb/s")
        top.yaxis.set_major_formatter("{x:,.0f}")
        top.set_title(f"{profile.name}: {profile.summary}", **STYLES["title"])
        angles = f"elevation {ELEVATIONS_DEG[1]}° (band {ELEVATIONS_DEG[0]}° to {ELEVATIONS_DEG[2]}°)"
        caption = (
            f"{angles}; dashed: what the equipment can do; shaded: Sun within {NEAR_DEG:g}°, darker: not used\n"
            f"a pass: from rise to set, at the rate that holds for all of it{_hidden(profile)}"
        )
        figure.supxlabel(caption, **STYLES["caption"])
        _volumes(volume, profile, start, days * DAY_S)
        unit, seconds = ("min", 60.0) if state.one_way_s.max() > MINUTES_FROM_S else ("s", 1.0)
        middle.plot(dates, state.one_way_s / seconds, **STYLES["light time"])
        middle.set_ylabel(f"one way, {unit}")
        middle.set_ylim(bottom=0)
        lost = np.maximum(state.frame_error_rate, 1e-12)
        bottom.plot(dates, np.where(used, lost, np.nan), **STYLES["losses"])
        bottom.set_ylim(1e-6, 2)
        bottom.set_yscale("log")
        bottom.yaxis.set_major_formatter("{x:g}")
        bottom.set_ylabel("frames lost")
        _mark(figure.axes, start, list(near.values()), alignments, moon=where.body == "moon")
        locator = bottom.xaxis.get_major_locator()
        bottom.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
        figure.align_ylabels()


def _volumes(axes: Axes, profile: Profile, start: datetime, duration_s: float) -> None:
    """A bar a pass: from what fits if the body hides the orbiter as long as it can to what fits if it never does."""
    found = passes(profile, start, duration_s)
    whole = [one for one in found if one.from_s > 0 and one.to_s < duration_s]
    dates: Any = [start + timedelta(seconds=(one.from_s + one.to_s) / 2) for one in whole]
    most = np.array([one.most_bytes for one in whole]) / 1e6
    least = np.array([one.least_bytes for one in whole]) / 1e6
    scale, unit = (1e3, "GB") if most.max(initial=0.0) > 2000 else (1.0, "MB")
    if (least < most).any():
        axes.vlines(dates, least / scale, most / scale, **STYLES["hidden"])
    axes.plot(dates, most / scale, **STYLES["passes"])
    axes.set_ylim(bottom=0)
    axes.set_ylabel(f"a pass, {unit}")


def plot_code(name: str, path: Path, packet_bytes: int = PACKET_BYTES, *, force: bool = False) -> None:
    """Draw a code's frame error rate over Eb/N0 with the rows of its table, and what packets of a size lose, as SVG or
    PNG."""
    check_picture(path)
    known = code(name)
    low, high = known.range_db if name != UNCODED else (0.0, 12.0)
    room = BEYOND * (high - low)
    with _figure(path, (7.5, 5), force) as figure:
        axes = figure.subplots()
        at = np.linspace(low, high, 800)
        what = "bit errors" if known.frame_bits == 1 else f"frames of {known.frame_bits} bits lost"
        axes.plot(at, known.frame_error_rate(at), **STYLES["frames"], label=what)
        packets = known.packet_loss(at, packet_bytes)
        axes.plot(at, packets, **STYLES["packets"], label=f"packets of {packet_bytes} bytes lost")
        if name != UNCODED:
            edges = np.array([low, low, np.nan, high, high])
            beyond = edges + room * np.array(OUTWARDS)
            axes.plot(
                beyond, known.frame_error_rate(edges), **STYLES["clamped"], label="clamped outside the table"
            )
        _points(axes, name)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.set_ylim(bottom=min(5e-6, 0.3 * float(known.frame_error_rate(high))), top=2)
        axes.set_xlabel("Eb/N0, dB")
        axes.set_ylabel("error rate")
        axes.set_title(f"{name}: rate {known.rate:.3f}", **STYLES["title"])
        axes.legend(loc="lower left")


def _hidden(profile: Profile) -> str:
    return (
        ""
        if profile.path is None or profile.path.orbit is None
        else "; down to what is left if the body hides most"
    )


def _points(axes: Axes, name: str) -> None:
    """Draw the table's rows by source; simulated ones with the interval of their counts."""
    table = [row for row in rows("fer.csv") if row["code"] == name]
    kinds: dict[str, list[dict[str, str]]] = {}
    for row in table:
        ref = row["ref"]
        kind = (
            "limit, floor"
            if ref.startswith(("Shannon", "floor"))
            else "simulated"
            if row["frames"]
            else "published"
        )
        kinds.setdefault(
            "read off a simulation" if kind == "published" and "own" in ref else kind, []
        ).append(row)
    markers = {
        "published": ("o", ORANGE),
        "simulated": ("s", GREEN),
        "read off a simulation": ("D", GREEN),
        "limit, floor": ("x", GREY),
    }
    for kind, points in kinds.items():
        marker, colour = markers[kind]
        at, rates, frames = np.array(
            [
                (float(row["ebn0_db"]), float(row["frame_error_rate"]), float(row["frames"] or np.inf))
                for row in points
            ]
        ).T
        # two standard deviations of a binomial share, where there are counts
        spread = 2 * np.sqrt(rates * (1 - rates) / frames) if kind == "simulated" else np.zeros_like(rates)
        fer, low, high = (of_frames(name, np.clip(rates + side * spread, 0, 1)) for side in (0, -1, 1))
        axes.errorbar(
            at, fer, yerr=(fer - low, high - fer), fmt=marker, color=colour, label=kind, **STYLES["rows"]
        )


def _mark(
    all_axes: list[Axes],
    start: datetime,
    near: list[geometry.Windows],
    alignments: list[geometry.Alignment],
    *,
    moon: bool,
) -> None:
    """Shade where the Sun is near; name conjunctions and oppositions at the top."""
    for axes in all_axes:
        for windows in near:
            for begin, end in windows:
                span: Any = [start + timedelta(seconds=at) for at in (begin, end)]
                axes.axvspan(*span, **STYLES["near the Sun"])
        for alignment in alignments:
            when: Any = start + timedelta(seconds=alignment.t_s)
            axes.axvline(when, **STYLES["alignment"])
    for alignment in alignments:
        when = start + timedelta(seconds=alignment.t_s)
        name = MOON.get(alignment.kind, alignment.kind) if moon else alignment.kind
        text = f" {name}, {alignment.sep_deg:.1f}° from the Sun" if "conj" in alignment.kind else f" {name}"
        all_axes[0].annotate(text, (when, 0.99), xycoords=("data", "axes fraction"), **STYLES["name"])


def _no_picture(path: Path) -> str | None:
    with path.open("rb") as file:
        head = file.read(MARK_BYTES)
    png = head.startswith(b"\x89PNG") and b"tEXtSoftware\0" + MARK.encode() in head
    svg = b"<svg" in head and f"<dc:title>{MARK}".encode() in head
    return None if png or svg else "has no mark of a picture of dstcc links"


PICTURE = Kind("a picture", _no_picture)
"""What ``dstcc links --plot`` writes."""


def check_picture(path: Path) -> None:
    """Raise :class:`InputError` unless the file's ending names a picture format."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"{path}: cannot draw as {path.suffix!r}; {nearest(path.suffix.lower(), FORMATS)}")


@contextmanager
def _figure(path: Path, size_in: tuple[float, float], force: bool) -> Iterator[Figure]:
    """A figure that is written to ``path`` when the block ends without error; ``force`` replaces an existing one."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(RC):
        figure = Figure(figsize=size_in, layout="constrained")
        yield figure
        form, mark = path.suffix.lower().removeprefix("."), f"{MARK}{__version__}"
        # without a date, so that the same link gives the same file
        metadata = {"Date": None, "Creator": mark} if form == "svg" else {"Software": mark}
        with atomic_file(path, replaces=PICTURE if force else None) as temporary:
            figure.savefig(temporary, format=form, metadata=metadata)
