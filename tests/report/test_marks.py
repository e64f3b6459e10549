"""Every mark of every figure, of a mission whose numbers are made up here: where it stands, how it looks, what it says.

The marks are in `marks/`, a file a figure. `python -m tests.report.test_marks` writes them anew; read what changed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dstcc.clock import Clock
from dstcc.report.catalogue import METRIC
from dstcc.report.figures import (
    delay,
    frontier,
    layers,
    links,
    network,
    paired,
    panels,
    profiles,
    style,
    timeline,
    transport,
)
from dstcc.report.figures.looks import looks
from dstcc.report.frontier import Frontier
from dstcc.report.model import Algorithm, Section, Trial, TrialLink
from dstcc.report.programs import figures as programs
from dstcc.report.tables import Tables
from dstcc.stats import Estimate, Profile
from tests.report.described import described

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKS = Path(__file__).parent / "marks"
NAN = float("nan")
NAMES = ("dstcc", "bbr-scaled+minrtt", "remy+minrtt (reconstruction)", "open-loop+none (transfer)")
LINKS = (TrialLink("x-band", 96_000.0, 500.0), TrialLink("ka-band", 1_200_000.0, 700.0))
MOSTLY = {-1: 0.02, 0: 0.08, 1: 0.9}
"""A bar of which two parts are too narrow, or just wide enough, for their numbers."""


# ------------------------------------------------------------------------------------------- what happened, by hand


def chunks(late_s: float) -> dict[str, Any]:
    """Three chunks of two layers each, captured every 100 s from 50 s on, due 1500 s later, of who is ``late_s`` 1800.
    They take 1,000 s and ``late_s`` more each; the last one's second layer never comes."""
    capture = np.repeat([150.0, 50.0, 250.0], 2)  # a table is in no order
    late = late_s * np.arange(6)
    complete = capture + 1000.0 + late
    complete[5] = NAN
    return {
        "chunk": np.repeat([1, 0, 2], 2),
        "layer": np.tile([0, 1], 3),
        "capture_s": capture,
        "deadline_s": capture + (1800.0 if late_s else 1500.0),
        "bytes": np.array([100_000, 50_000, 200_000, 50_000, 400_000, 50_000]),
        "first_sent_s": capture + late,
        "complete_s": complete,
        "played_level": np.repeat([1, 0, -1], 2),
    }


def samples(window: float) -> dict[str, Any]:
    """Of two links, at 600 and 1,200 s and after the last deadline; no round trip is known at first."""
    return {
        "t_s": np.repeat([600.0, 1200.0, 2500.0], 2),
        "subflow": np.tile([0, 1], 3),
        "link": np.tile(["x-band", "ka-band"], 3),
        "cwnd_segments": window * np.array([1.0, 10.0, 2.0, 20.0, 90.0, 900.0]),
        "srtt_s": np.array([NAN, 700.0, 510.0, 710.0, 5e3, 7e3]),
        "rate_bps": np.array([0.0, 0.0, 50_000.0, 600_000.0, 96_000.0, 1.2e6]),
    }


OVER = {
    "link": np.repeat(["x-band", "ka-band"], 3),
    "t_s": np.tile([0.0, 600.0, 1200.0], 2),
    "open": np.array([True, False, True, False, True, True]),
    "ebn0_db": np.array([3.0, 4.0, 5.0, 6.0, 7.0, 9.0]),
    "sun_earth_probe_deg": np.array([25.0, 24.0, 23.0, NAN, NAN, NAN]),
}
HELD = {
    "t_s": np.array([600.0, 600.0, 1200.0, 1200.0]),
    "node": np.array(["orbiter", "relay", "orbiter", "relay"]),
    "held_bytes": np.array([2e6, 0.0, 4e6, 0.0]),
    "dropped_packets": np.array([0, 1, 2, 3]),
    "lost_in_restarts_packets": np.array([4, 0, 0, 1000]),
}
CARRIED = {
    "t_s": np.array([600.0, 600.0, 1200.0, 1200.0]),
    "link": np.array(["x-band", "ka-band"] * 2),
    "sent_packets": np.array([150, 1500, 300, 0]),
    "up_sent_packets": np.array([1, 2, 3, 4]),
}


class Given(Tables):
    """Tables of what happened; the second algorithm is so late that it leaves the axis, the last one only paces."""

    def chunks(self, trial: Trial) -> dict[str, Any]:
        return chunks({NAMES[0]: 0.0, NAMES[1]: 1000.0}.get(trial.algorithm, 100.0))

    def samples(self, trial: Trial) -> dict[str, Any]:
        return samples({NAMES[0]: 1.0, NAMES[3]: 2.0**40}.get(trial.algorithm, 5.0))

    def links(self, trial: Trial) -> dict[str, Any]:
        assert trial.algorithm == NAMES[0], "those of the first trial are shown"
        return OVER

    def nodes(self, _trial: Trial) -> dict[str, Any]:
        return HELD

    def hops(self, _trial: Trial) -> dict[str, Any]:
        return CARRIED


def trial(name: str, seed: int, played: Mapping[int, float]) -> Trial:
    shares = {"playback_ratio": 1 - played.get(-1, 0.0), "weighted_layers": played.get(1, 0.0)}
    run: Any = SimpleNamespace(meta={})
    of = {"congestion": None, "scheduler": None, "controller": None, "variant": None}
    return Trial(
        run,
        f"{name}/s{seed}",
        name,
        **of,
        seed=seed,
        ok=True,
        error="",
        metrics=shares,
        played=played,
        links=LINKS,
    )


def section(*names: str, scenario: Mapping[str, Any] | None = None, apart: bool = False) -> Section:
    """Algorithms at two seeds; at the second each plays a tenth more of the chunks. ``apart`` the last has a third seed
    alone."""
    algorithms = []
    for place, name in enumerate(names):
        share = 0.5 - 0.1 * place
        trials = [
            trial(name, seed, MOSTLY if not place else {-1: 1 - share - more, 1: share + more})
            for seed, more in ((1, 0.0), (2, 0.1))
        ]
        if apart and name == names[-1]:
            trials = [trial(name, 3, {-1: 0.25, 0: 0.5, 1: 0.25})]
        algorithms.append(Algorithm(name, tuple(trials)))
    run: Any = SimpleNamespace(meta={"scenario_name": "by hand"}, scenario=scenario or {})
    return Section((run,), tuple(algorithms))


DATED: dict[str, Any] = {"scenario": {"start": datetime(2031, 12, 31, 23, 50, tzinfo=UTC)}}
WAITING: dict[str, Any] = {"playout": {"mode": "stall"}}
PROFILES: Sequence[Any] = [
    (
        METRIC["weighted_layers"],
        {
            name: Profile(*(np.array(one) for one in ([low, 0.5], [1.0, 0.5], [0.8, 0.2], [1.0, 0.7])))
            for name, low in zip(names, (0.1, 0.2, 0.3, 0.4, 0.45), strict=False)
        },
    )
    for names in (NAMES[:2], (*NAMES, "newreno"))
]
LINES = [
    panels.Line("believed", np.array([0.0, 300.0, 600.0]), np.array([1e-3, NAN, 1e-8]), "#112233"),
    panels.Line("so it was", np.array([0.0, 600.0]), np.array([0.5, 0.01]), "#445566", (0, (1, 2))),
]
NOTHING = panels.Line("not known", np.zeros(1), np.array([NAN]), "#112233")


def over_delays() -> Frontier:
    """Weighted layers at playout delays of 1, 2 and 5 round trips, the bound's too."""
    lines = {
        "cubic+minrtt": (Estimate(0.5, 0.4, 0.75, 3), None, Estimate(0.9, None, None, 1)),
        "dstcc": (Estimate(0.6, 0.5, 0.7, 3), Estimate(0.8, 0.7, 0.9, 3), Estimate(1.0, 0.9, 1.1, 3)),
    }
    bound = (Estimate(0.7, None, None, 1), None, Estimate(1.0, None, None, 1))
    found: Any = SimpleNamespace(delays=(1.0, 2.0, 5.0), pictured=tuple(lines), bound=bound, line=lines.get)
    return found


def of_programs() -> Any:
    """A run of programs over two nodes and two links."""
    made = [
        {"name": "x-band", "contacts": [[0.0, 300.0], [600.0, 900.0]], "rate_bps": 96_000.0},
        {"name": "ka-band", "contacts": [[300.0, 1200.0]], "rate_bps": 1.2e6},
    ]
    nodes = [{"host": "orbiter", "storage_bytes": 1000}, {"host": "rover", "storage_bytes": 0}]
    rows = {
        "t_s": np.tile([0.0, 600.0, 1200.0], 4),
        "link": np.repeat(["x-band", "ka-band"], 6),
        "way": np.tile(np.repeat(["down", "up"], 3), 2),
        "delivered_bytes": np.arange(12) * 75_000.0,
        "lost_packets": np.array([0, 0, 0, 0, 1, 3, 0, 2, 2, 0, 0, 0]),
        "dropped_packets": np.array([0, 4, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    }
    held = {"t_s": np.array([0.0, 600.0, 0.0]), "node": np.array(["orbiter"] * 2 + ["rover"])}
    held["held_bytes"] = np.array([0.0, 500.0, 9e9])
    return SimpleNamespace(
        meta={"mission_s": 1200.0, "links": made, "nodes": nodes}, links=rows, nodes=held, clock=Clock()
    )


# ------------------------------------------------------------------------------------------------------ the figures

Draw = Callable[..., object]


def of_section(draw: Callable[..., str], one: Section, *what: Any) -> Draw:
    return partial(draw, one, Given(), *what, looks([a.name for a in one.algorithms]), "salt")


def figures() -> Iterator[tuple[str, Draw]]:
    """Each figure's name, and what draws it."""
    two, four = section(*NAMES[:2]), section(*NAMES, apart=True)
    many = section(*(f"rule {letter}" for letter in "abcdefghi"))
    yield "timeline", of_section(timeline.timeline_figure, four)
    yield "timeline-narrow", partial(of_section(timeline.timeline_figure, two), narrow=True)
    yield (
        "timeline-waiting",
        of_section(timeline.timeline_figure, section(NAMES[0], scenario=WAITING | DATED)),
    )
    yield "links", of_section(links.links_figure, two)
    yield (
        "links-dated-narrow",
        partial(of_section(links.links_figure, section(NAMES[0], scenario=DATED)), narrow=True),
    )
    yield "network", of_section(network.network_figure, two)
    yield "network-narrow", partial(of_section(network.network_figure, section(NAMES[0])), narrow=True)
    yield "delay", of_section(delay.delay_figure, two)
    yield (
        "delay-narrow",
        partial(of_section(delay.delay_figure, section(NAMES[0], scenario=WAITING)), narrow=True),
    )
    yield "delay-many", of_section(delay.delay_figure, many)
    for what in transport.QUANTITIES:
        yield what.key, of_section(transport.transport_figure, four, what)
    yield (
        "srtt_s-narrow",
        partial(of_section(transport.transport_figure, two, transport.QUANTITIES[1]), narrow=True),
    )
    yield "layers", partial(layers.layers_figure, four, "salt")
    yield "layers-narrow", partial(layers.layers_figure, four, "salt", narrow=True)
    yield "layers-paper", partial(layers.layers_figure, four, "salt", names=NAMES[:2], on_paper=True)
    for narrow in (False, True):
        more = "-narrow" * narrow
        named = {NAMES[0]}
        yield f"paired{more}", partial(paired.paired_figure, two, looks(NAMES), "salt", narrow=narrow)
        shown = PROFILES[:1] if narrow else PROFILES
        every = looks([*NAMES, "newreno"])
        yield (
            f"profiles{more}",
            partial(profiles.profile_figure, list(shown), every, named, "salt", narrow=narrow),
        )
        one = [("x-band", LINES, 0.7), ("ka-band", [NOTHING], None)]
        yield (
            f"panels{more}",
            partial(panels.draw_panels, one, "bps", "salt", "limit", Clock(), narrow=narrow),
        )
    yield (
        "panels-shares",
        partial(panels.draw_panels, [("x-band", LINES, None)], "bps", "salt", "", Clock(), floor=1e-6),
    )
    yield (
        "frontier",
        partial(frontier.frontier_figure, over_delays(), looks(["dstcc", "cubic+minrtt"]), "salt"),
    )
    yield "programs", partial(programs.network_figure, of_programs())
    run = of_programs()
    for key, found in (("rates", programs.rate_panels(run)), ("lost", programs.loss_panels(run))):
        yield f"programs-{key}", partial(panels.draw_panels, found, "count", "salt", "link rate", Clock())


@cache
def drawn_by_name() -> dict[str, Draw]:
    return dict(figures())


def marks(draw: Draw) -> str:
    """What it draws."""
    found: list[str] = []

    def keep(
        figure: Figure, rows: Sequence[Sequence[Any]], band: range, margins_in: tuple[float, float]
    ) -> str:
        if not band.start:
            found.append(
                f"{len(rows)} rows, margins {margins_in[0]:g} {margins_in[1]:g} in\n{described(figure)}"
            )
        return ""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(style, "_saved", keep)
        draw()
    (one,) = found
    return one


@pytest.mark.parametrize("name", [name for name, _ in figures()])
def test_a_figure_has_these_marks(name: str) -> None:
    assert marks(drawn_by_name()[name]) == (MARKS / f"{name}.txt").read_text()


def test_rows_of_links_then_of_what_was_delivered() -> None:
    """The second algorithm's video comes until 3,050 s: steps of a minute, as 60 of half a minute are too short."""
    heading, *rows = links.links_rows(section(*NAMES[:2]), Given())
    assert heading == (
        "link",
        "t_s",
        "up",
        "ebn0_db",
        "sun_earth_probe_deg",
        "algorithm",
        "from_s",
        "to_s",
        "bytes",
    )
    over = [row[:5] for row in rows[:6]]
    assert over[:2] == [("x-band", 0.0, 1, 3.0, 25.0), ("x-band", 600.0, 0, 4.0, 24.0)]
    assert all(row[5:] == (None,) * 4 for row in rows[:6]) and over[3][:4] == ("ka-band", 0.0, 0, 6.0)
    home = [row[5:] for row in rows[6:]]
    assert all(row[:5] == (None,) * 5 for row in rows[6:]) and len(home) == 2 * 52
    assert [row for row in home if row[3]] == [
        (NAMES[0], 1020.0, 1080.0, 200_000.0),
        (NAMES[0], 1140.0, 1200.0, 150_000.0),
        (NAMES[1], 1140.0, 1200.0, 100_000.0),
        (NAMES[1], 2100.0, 2160.0, 50_000.0),
        (NAMES[1], 3000.0, 3060.0, 200_000.0),
    ]


def test_rows_of_nodes_then_of_links() -> None:
    heading, *rows = network.network_rows(section(*NAMES[:2]), Given())
    assert heading == (
        *(
            "algorithm",
            "t_s",
            "node",
            "held_bytes",
            "dropped_packets",
            "link",
            "sent_packets",
            "up_sent_packets",
        ),
    )
    assert [row[0] for row in rows] == [NAMES[0]] * 8 + [NAMES[1]] * 8
    assert rows[:2] == [
        (NAMES[0], 600.0, "orbiter", 2e6, 0, None, None, None),
        (NAMES[0], 600.0, "relay", 0.0, 1, None, None, None),
    ]
    assert rows[4] == (NAMES[0], 600.0, None, None, None, "x-band", 150, 1)
    assert rows[15] == (NAMES[1], 1200.0, None, None, None, "ka-band", 0, 4)


def test_rows_of_what_was_played_and_when() -> None:
    heading, *rows = timeline.timeline_rows(section(*NAMES[:2]), Given())
    assert heading == ("algorithm", "chunk", "capture_s", "played_level")
    assert rows == [
        (name, chunk, capture_s, level)
        for name in NAMES[:2]
        for chunk, capture_s, level in ((0, 50.0, 0), (1, 150.0, 1), (2, 250.0, -1))
    ]


def test_a_line_of_many_points_keeps_the_greatest_of_each_few() -> None:
    t_s = np.arange(1000.0)
    which = t_s != 999
    for count, step in ((400, 1), (401, 2), (999, 3)):
        t, values = network.thinned(t_s[:count], -t_s[:count], which[:count])
        assert np.array_equal(t, np.arange(0, count, step)) and np.array_equal(values, -t)
    t, values = network.thinned(t_s, t_s, which)
    assert values[0] == 2 and t[0] == 0 and values[-1] == 998 and len(t) == 333


def test_no_figure_is_left_out() -> None:
    assert {path.stem for path in MARKS.iterdir()} == set(drawn_by_name())


if __name__ == "__main__":
    MARKS.mkdir(exist_ok=True)
    for name, draw in figures():
        if sys.argv[1:] in ([], [name]):
            (MARKS / f"{name}.txt").write_text(marks(draw))
