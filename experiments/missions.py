"""The contact plans, figures and figures' numbers of examples/missions.

::

    python -m experiments.missions plans                write handover.txt and relay-week.txt
    python -m experiments.missions tables [MISSION..]   run each mission, or some, and print the README's tables
    python -m experiments.missions networks [MISSION..] those with nodes by each way of carrying
    python -m experiments.missions figures [MISSION..]  the same, and draw its figure

Everything follows from the scenarios, the profiles and this file; the same commit gives the same files.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from math import acos, sin, sqrt
from pathlib import Path
from tempfile import TemporaryDirectory

from dstcc_channels import geometry
from dstcc_channels.contacts import Contact, Plan, format_plan
from dstcc_channels.profiles import load_profile
from dstcc_channels.states import link_states

from dstcc.atomic import atomic_write
from dstcc.report import load_report, printed
from dstcc.report.figures.links import links_figure
from dstcc.report.figures.looks import looks
from dstcc.report.figures.style import standalone
from dstcc.report.model import Algorithm, Report
from dstcc.report.tables import Tables
from dstcc.run import write_run
from dstcc.scenario import Override, Scenario, load_scenario, load_source, parse_override
from dstcc.scenario.network import nodes_on

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "missions"
SOL_S = 88_775.244
"""Mars' solar day (Allison and McEwen 2000)."""

ORBIT = {"altitude_m": 280e3, "inclination_deg": 93.0}
"""Mars Reconnaissance Orbiter's, as in the profiles; node and phase are fixed in the plans."""
COMPLEXES = (("goldstone", 14), ("madrid", 63), ("canberra", 43))
"""Each complex and the node number of its 70 m antenna in the plan."""
MRO, ROVER, EARTH = 74, 76, 1
UP_BYTES_S = 256_000 // 8
HANDOVER_START = datetime(2027, 12, 15, tzinfo=UTC)
HANDOVER_S = 30 * 3600
HANDOVER_BYTES_S = 6_000_000 // 8

GALE = geometry.Site("mars", -4.59, 137.44)
RELAY_START = datetime(2026, 11, 21, tzinfo=UTC)
RELAY_SOLS = 7
RELAY_BYTES_S = 250_000_000 // 8 // 480
"""250 Mbit in a pass of eight minutes."""

MAVEN_ORBIT_M = (150e3, 6200e3)
"""Lowest and highest point above Mars until the aerobraking of 2019 (NASA, February 2019)."""
MAVEN_PASS_M = (1110e3, 3700e3)
"""Altitudes in its first relay pass, 6 November 2014: 680 to 2,300 miles (New Atlas, November 2014, after NASA)."""
MAVEN_PASS_BITS = 550e6

Windows = list[tuple[float, float]]


def handover_plan() -> Plan:
    """Who receives the orbiter, by the orbiter's clock: one complex at a time."""
    orbit = geometry.CircularOrbit("mars", **ORBIT, node_deg=90.0)
    seen = {
        name: geometry.link_times("mars", [name], HANDOVER_START, HANDOVER_S).usable for name, _ in COMPLEXES
    }
    above = geometry.complement(geometry.occultation(orbit, HANDOVER_START, HANDOVER_S), 0.0, HANDOVER_S)
    contacts = []
    for name, node in COMPLEXES:
        for begin, end in geometry.intersection(shared(seen)[name], above):
            contacts.append(Contact(*whole(begin, end), MRO, node, HANDOVER_BYTES_S))
        # The complex may answer as long as it sees Mars: reports of the last minutes go up after the handover.
        for begin, end in geometry.link_times(
            orbit, [name], HANDOVER_START, HANDOVER_S, direction="up"
        ).usable:
            contacts.append(Contact(*whole(begin, end), node, MRO, UP_BYTES_S))
    return Plan(tuple(sorted(contacts)))


def shared(seen: dict[str, Windows]) -> dict[str, Windows]:
    """Each complex's windows, cut at the middle of the time that it shares with the one before or after it."""
    turns = sorted((begin, end, name) for name, windows in seen.items() for begin, end in windows)
    cuts = {(begin, name): [begin, end] for begin, end, name in turns}
    for (first, last, name), (begin, _, other) in pairwise(turns):
        if begin < last:
            middle = (begin + last) / 2
            cuts[first, name][1], cuts[begin, other][0] = middle, middle
    mine: dict[str, Windows] = {name: [] for name in seen}
    for (_, name), (begin, end) in cuts.items():
        mine[name].append((begin, end))
    return mine


def relay_plan() -> Plan:
    """When the orbiter is 10 degrees above the rover's horizon, both ways; the answer comes a round trip later, in the
    same pass or the next one."""
    orbit = geometry.CircularOrbit("mars", **ORBIT, node_deg=90.0)
    seconds = RELAY_SOLS * SOL_S
    passes = geometry.relay_windows(GALE, orbit, RELAY_START, seconds, mask_deg=10.0)
    down = [Contact(*whole(begin, end), ROVER, EARTH, RELAY_BYTES_S) for begin, end in passes]
    # What the Earth sends must reach the orbiter, which keeps it until the rover's next pass: never refused.
    up = [Contact(0, round(seconds) + 86_400, EARTH, ROVER, UP_BYTES_S)]
    return Plan(tuple(sorted([*down, *up])))


def whole(begin: float, end: float) -> tuple[int, int]:
    """A window in whole seconds inside the given one, as plans have them."""
    return int(-(-begin // 1)), int(end // 1)


PLANS = {
    "handover.txt": (
        "Mars Reconnaissance Orbiter (74) to the 70 m antennas at Goldstone (14), Madrid (63) and Canberra (43)",
        handover_plan,
    ),
    "relay-week.txt": ("A rover in Gale crater (76) through an orbiter to the Earth (1)", relay_plan),
}


def write_plans(folder: Path = FOLDER) -> None:
    """Write each plan of :data:`PLANS`."""
    for name, (what, plan) in PLANS.items():
        lines = [f"# {what}: python -m experiments.missions plans", *format_plan(plan())]
        atomic_write(folder / name, "\n".join(lines) + "\n")


def climb_s(orbit_m: tuple[float, float], from_m: float, to_m: float) -> float:
    """How long an orbiter of Mars takes from one altitude to another, on the way up: Kepler's equation,
    M = E - e sin E with r = a (1 - e cos E)."""
    mars = geometry.BODIES["mars"]
    low, high = (mars.radius_m + altitude for altitude in orbit_m)
    axis, eccentricity = (low + high) / 2, (high - low) / (high + low)
    anomalies = []
    for altitude in (from_m, to_m):
        eccentric = acos((1 - (mars.radius_m + altitude) / axis) / eccentricity)
        anomalies.append(eccentric - eccentricity * sin(eccentric))
    return (anomalies[1] - anomalies[0]) * sqrt(axis**3 / mars.gm_m3_s2)


@dataclass(frozen=True)
class Known:
    """A published figure beside ours."""

    what: str
    published: str
    ours: str
    source: str


def calibration() -> list[Known]:
    """What of the missions was measured in flight, or published by those who fly it, and what the models say."""
    passes = [one for one in relay_plan().contacts if one.source == ROVER]
    seconds = [one.to_s - one.from_s for one in passes]
    rate_bps = 8 * RELAY_BYTES_S
    a_sol = sum(seconds) * rate_bps / RELAY_SOLS / 1e6
    climb = climb_s(MAVEN_ORBIT_M, *MAVEN_PASS_M)
    far = link_states(
        load_profile("mro-x-dss24"), datetime(2028, 5, 20, tzinfo=UTC), [0.0], elevation_deg=[20.0]
    )
    jupiter = load_profile(str(FOLDER / "new-horizons-dss43.toml"))
    flyby = datetime(2007, 2, 28, tzinfo=UTC)
    assert jupiter.path is not None
    at_34m = jupiter.model_copy(update={"path": jupiter.path.model_copy(update={"station": "dss-35"})})
    both = [link_states(one, flyby, [0.0, 0.0], elevation_deg=[10.0, 60.0]) for one in (at_34m, jupiter)]
    rates = [" to ".join(f"{rate / 1e3:.0f}" for rate in one.rate_bps) for one in both]
    square = 25 * (226 / 31) ** 2
    return [
        Known(
            "Curiosity through Mars Reconnaissance Orbiter",
            "about 500 Mbit a sol",
            f"{len(passes) / RELAY_SOLS:.1f} passes of {sum(seconds) / len(seconds) / 60:.1f} min a sol, "
            f"{a_sol:.0f} Mbit",
            "Bell et al., MRO Relay Telecom Support of Mars Science Laboratory Surface Operations, IEEE Aerospace "
            "Conference 2013",
        ),
        Known(
            "Curiosity through MAVEN, its first pass",
            "550 Mbit",
            f"{climb * rate_bps / 1e6:,.0f} Mbit at the mean rate of the passes above, in the {climb / 60:.1f} min in "
            f"which MAVEN climbs from {MAVEN_PASS_M[0] / 1e3:,.0f} to {MAVEN_PASS_M[1] / 1e3:,.0f} km (orbit: "
            f"{MAVEN_ORBIT_M[0] / 1e3:.0f} by {MAVEN_ORBIT_M[1] / 1e3:,.0f} km). {MAVEN_PASS_BITS / 1e6:.0f} Mbit in "
            f"this time are {MAVEN_PASS_BITS / climb / 1e3:.0f} kbit/s, {MAVEN_PASS_BITS / climb / rate_bps:.2f} of "
            "that rate, over a longer distance",
            "JPL, November 2014; altitudes: New Atlas, November 2014, after NASA; orbit: NASA, February 2019",
        ),
        Known(
            "Mars Reconnaissance Orbiter at maximum range, 34 m",
            "500 kb/s or more",
            f"{float(far.rate_bps[0]) / 1e3:.0f} kb/s at {float(far.distance_m[0]) / 1e9:.0f} Gm with 3 dB margin",
            "DESCANSO Design and Performance Summary 12",
        ),
        Known(
            "New Horizons at Jupiter, February 2007",
            "about 38 kb/s",
            f"{rates[0]} kb/s through 34 m, {rates[1]} through 70 m, from 10 to 60 degrees of elevation and with 3 dB "
            "margin",
            "Johns Hopkins APL, Talking to Pluto Is Hard; the antenna is not named",
        ),
        Known(
            "Psyche's laser terminal",
            "267 Mb/s over 31 Gm, 25 Mb/s over 226 Gm",
            f"both as published. By the inverse square, 25 Mb/s over 226 Gm would be {square:,.0f} Mb/s over 31 Gm: "
            "there the equipment sets the rate, not the light",
            "JPL, 18 December 2023 and 25 April 2024",
        ),
    ]


def mission_names() -> list[str]:
    """Of the scenarios of this folder, which also holds a profile."""
    return sorted(file.stem for file in FOLDER.glob("*.toml") if not file.stem.startswith("new-horizons"))


WAYS = {
    "MPTCP end to end, cubic": ("packets", ("controller=", "congestion=cubic")),
    "MPTCP end to end, open-loop": ("packets", ("controller=", "congestion=open-loop")),
    "split, cubic": ("split", ("controller=", "congestion=cubic", "mode=lanes")),
    "split, open-loop": ("split", ("controller=", "congestion=open-loop", "mode=lanes")),
    "custody": ("custody", ("controller=", "congestion=ltp")),
    "dstcc": ("packets", ("congestion=", "controller=dstcc")),
}
"""Each way to carry a mission's video over its nodes: what they forward, and the transport."""


def carried(scenario: Scenario, way: str) -> list[Override]:
    """What makes a mission's nodes and transport such."""
    ends = {
        node for way in scenario.ways for node in (nodes_on(scenario, way)[0], nodes_on(scenario, way)[-1])
    }
    forwards, transport = WAYS[way]
    words = [f"transport.{setting}" for setting in transport]
    for number, node in enumerate(scenario.node):
        if node.name not in ends and forwards != "packets":
            words += [f"node.{number}.forwards={forwards}", f"node.{number}.when_full=drop-tail"]
    return [parse_override(word) for word in ("expect=", *words)]


def flown(name: str, run: Path, overrides: Sequence[Override] = ()) -> Report:
    """A mission's report; the run goes to a new folder ``run``."""
    scenario = load_scenario(FOLDER / f"{name}.toml", overrides)
    write_run(run, scenario, load_source(scenario), argv=["dstcc", "emulate"], quality=False)
    return load_report([run])


def print_tables(names: Iterable[str] = ()) -> None:
    """Each mission's trials and the published figures beside ours, or those of some missions."""
    only = list(names)
    with TemporaryDirectory() as scratch:
        for name in only or mission_names():
            printed.heading(name, ("algorithm", "chunks played", "in full", "delivered"))
            for algorithm in flown(name, Path(scratch) / name).sections[0].finished:
                printed.line(algorithm.name, *_shown(algorithm))
    if not only:
        printed.heading("published", ("what", "published", "here", "source"))
        for one in calibration():
            printed.line(one.what, one.published, one.ours, one.source)


def _shown(algorithm: Algorithm) -> tuple[str, ...]:
    found = {key: one.value for key, one in algorithm.estimates.items()}
    shares = (f"{found[key] * 100:.1f} %" for key in ("playback_ratio", "full_quality_ratio"))
    return (*shares, f"{found['bytes_in_time'] / 1e6:,.1f} MB")


def print_networks(names: Iterable[str] = ()) -> None:
    """Each mission with nodes, or some, by each way of carrying: hours of video played, and of those in full quality
    with their bytes."""
    printed.heading(
        "networks", ("mission", "carried by", "hours played", "hours in full", "MB in full", "MB in time")
    )
    with TemporaryDirectory() as scratch:
        for name in list(names) or mission_names():
            scenario = load_scenario(FOLDER / f"{name}.toml")
            if not scenario.node:
                continue
            hours = (scenario.video.loop_to_s or 0.0) / 3600
            for number, way in enumerate(WAYS):
                report = flown(name, Path(scratch) / f"{name}-{number}", carried(scenario, way))
                found = {key: one.value for key, one in report.sections[0].finished[0].estimates.items()}
                printed.line(
                    name,
                    way,
                    *(f"{hours * found[key]:.2f}" for key in ("playback_ratio", "full_quality_ratio")),
                    *(f"{found[key] / 1e6:,.1f}" for key in ("full_quality_bytes", "bytes_in_time")),
                )


def draw(names: Iterable[str] = ()) -> None:
    """Run each mission, or some, and write its figure."""
    with TemporaryDirectory() as scratch:
        for name in list(names) or mission_names():
            report = flown(name, Path(scratch) / name)
            svg = standalone(links_figure(report.sections[0], Tables(), looks(report.algorithms), name))
            atomic_write(FOLDER / "figures" / f"{name}.svg", svg)


def main(words: Sequence[str]) -> None:
    """The command line."""
    match words:
        case ["plans"]:
            write_plans()
        case ["tables", *names] if set(names) <= set(mission_names()):
            print_tables(names)
        case ["networks", *names] if set(names) <= set(mission_names()):
            print_networks(names)
        case ["figures", *names] if set(names) <= set(mission_names()):
            draw(names)
        case _:
            sys.exit(
                f"usage: python -m experiments.missions plans|tables|networks|figures [{'|'.join(mission_names())}].."
            )


if __name__ == "__main__":
    main(sys.argv[1:])
