"""Words and numbers of a report from settings and trials that are made up here, at and beside each bound."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dstcc.clock import Clock
from dstcc.outputs import MARK_BYTES
from dstcc.report import (
    browser,
    contacts,
    frontier,
    load,
    mark,
    mission,
    numbers,
    page,
    pictures,
    sheet,
    template,
)
from dstcc.report.figures.looks import Look
from dstcc.report.frontier import Frontier
from dstcc.report.model import Algorithm, Section, Trial, TrialLink
from dstcc.report.numbers import SPACE, Unit
from dstcc.report.programs import page as programs
from dstcc.report.tables import Tables
from dstcc.stats import Estimate

NAN = float("nan")


def trial(name: str = "a", seed: int = 1, **more: Any) -> Trial:
    run: Any = SimpleNamespace(meta={}, path=Path("/run"))
    about: dict[str, Any] = {
        "congestion": None,
        "scheduler": None,
        "controller": None,
        "variant": None,
        "ok": True,
    }
    about |= {"error": "", "metrics": {}, "played": {}, "links": ()}
    return Trial(run, f"{name}/s{seed}", name, seed=seed, **{**about, **more})


def section(*trials: Trial, meta: Mapping[str, Any] | None = None, **scenario: Any) -> Section:
    """One of these trials; of equal names one algorithm."""
    names = dict.fromkeys(one.algorithm for one in trials)
    algorithms = (Algorithm(name, tuple(one for one in trials if one.algorithm == name)) for name in names)
    run: Any = SimpleNamespace(
        meta={"scenario_name": "mars", **(meta or {})}, scenario=scenario, path=Path("/run")
    )
    return Section((run,), tuple(algorithms))


def plain(said: str) -> str:
    return said.replace(SPACE, " ").replace("\u00a0", " ")


# ------------------------------------------------------------------------------------------------------ the mission


@pytest.mark.parametrize(
    ("playout", "said"),
    [
        ({"delay_s": 600}, "10 min after capture; skips what is not there (deadline)."),
        ({"mode": "stall", "delay_s": 0}, "0 s after capture; waits for what is not there (stall)."),
        ({"mode": "stall"}, "Right after capture; waits for what is not there (stall)."),
        (
            {"mode": "stall", "delay_rtts": 0.5},
            "0.5 RTTs of the longest link (150–250 s) after capture; waits for what is not there (stall).",
        ),
        ({}, "2 RTTs of the longest link (10–16.7 min) after capture; skips what is not there (deadline)."),
        (
            {"delay_rtts": 1.5},
            "1.5 RTTs of the longest link (7.5–12.5 min) after capture; skips what is not there (deadline).",
        ),
    ],
)
def test_playout(playout: dict[str, Any], said: str) -> None:
    """Round trips are 300 s at seed 1, 200 and 500 s at seed 2, not known at seed 3."""
    links = ((TrialLink("x", None, 300.0),), (TrialLink("x", None, 200.0), TrialLink("y", None, 500.0)))
    trials = [trial(seed=n, links=one) for n, one in enumerate((*links, (TrialLink("x", None, None),)), 1)]
    found = plain(mission._playout(section(*trials, playout=playout)))
    assert found == said.replace("150–250 s", "2.5–4.17 min")


def test_playout_without_a_known_round_trip() -> None:
    assert mission._playout(section(trial(), playout={})) == (
        "2 RTTs of the longest link after capture; skips what is not there (deadline)."
    )


@pytest.mark.parametrize(
    ("transport", "said"),
    [
        ({}, "MPTCP, one ordering domain (stream)"),
        ({"mode": "lanes"}, "MPTCP, an ordering domain per lane, 1 lane per link"),
        (
            {"mode": "lanes", "lanes_per_link": 1200},
            "MPTCP, an ordering domain per lane, 1 200 lanes per link",
        ),
        ({"mode": "coded"}, "coded: packets without an order, layers coded over them, after a handshake"),
        (
            {"mode": "coded", "handshake": False},
            "coded: packets without an order, layers coded over them, from time 0, without a handshake",
        ),
    ],
)
def test_transport(transport: dict[str, Any], said: str) -> None:
    assert plain(mission._transport(section(trial(), transport=transport))) == said


def test_a_controller_may_ask_for_lanes() -> None:
    given = trial("mine", controller="mine")
    given.run.meta["controllers"] = [{"name": "mine", "algorithm": "iodst-dqn", "lanes": 64}]
    one = section(given, transport={"mode": "lanes"})
    assert plain(mission._transport(one)).endswith("1 lane per link (mine asks for 64 lanes)")
    one = section(given, transport={"mode": "lanes", "controller_lanes": 2048})
    assert plain(mission._transport(one)).endswith("(mine asks for 64 lanes, gets at most 2,048)")


def test_what_a_scale_does_to_constants() -> None:
    """30 times 0.2 s, 0.04 s and 10 s; CUBIC's C by 30³ = 27,000."""
    said = plain(mission.describe_scale(30.0, {"cubic", "bbr", "bbr-scaled"}))
    assert said == (
        "1 emulated second stands for 30 mission seconds. The transport's constants are Linux's in emulated time, so "
        "in mission time the least retransmission timeout is 6 s, a delayed ACK waits 1.2 s, CUBIC's C is 2.7 × 10⁴ "
        "times smaller, and BBR's minimum-RTT window is 5 min, bbr-scaled counts in RTTs instead."
    )
    assert plain(mission.describe_scale(30.0, {"newreno"})).endswith(
        "timeout is 6 s, and a delayed ACK waits 1.2 s."
    )
    assert mission.describe_scale(1.0, {"cubic"}).startswith("1: unscaled")
    assert mission.describe_scale(2.0, {"ltp"}).endswith(
        "None of these transfers has a constant of TCP's in seconds."
    )
    assert "transfers" not in mission.describe_scale(2.0, {"ltp", "cubic"})


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        (None, "none"),
        ({}, "none"),
        (0.001, "10⁻³ of packets"),
        ({"packet": 0.01}, "0.01 of packets"),
        ({"packet": {"log_uniform": [1e-4, 1e-2]}}, "10⁻⁴ – 0.01 (log-uniform draw) of packets"),
        ({"ber": 1e-7}, "10⁻⁷ of bits"),
        (
            {"gilbert_elliott": {"p": 0.01, "r": 0.2}},
            "bursts: 0 / 1 of packets in good / bad state (good→bad 0.01, bad→good 0.2)",
        ),
        (
            {"frames": {"code": "c", "ebn0_db": [1.0, 2.345], "frame_error_rate": [1e-3, 1e-5]}},
            "c at 1.00 to 2.35 dB: 10⁻³ to 10⁻⁵ of frames",
        ),
        (
            {"frames": {"code": "c", "ebn0_db": [1, 1], "frame_error_rate": [1e-5, 1e-5]}},
            "c at 1.00 dB: 10⁻⁵ of frames",
        ),
        ({"code": "c", "ebn0_db": 1.5}, "c at 1.5 dB"),
        ({"other": 5}, "other 5"),
    ],
)
def test_losses(loss: Any, said: str) -> None:
    assert plain(mission.describe_loss(loss)) == said


def test_delays_and_bounds_of_a_scenarios_link() -> None:
    assert mission._delays({"delay_s": 5}) == [10.0]
    assert mission._delays({"delay_s": {"uniform": [5, 7]}}) == [10.0, 14.0]
    assert mission._delays({"delay_s": [[0, 3], [60, 4]]}) == [6.0, 8.0]
    assert mission._delays({"rtt_s": 3.0}) == [3.0] and mission._delays({"delay_s": "3 s"}) == []


class Given(Tables):
    """Chunks captured at 2, 4 and 8 s; of each layer 125, 250 and 500 bytes."""

    def chunks(self, _trial: Trial) -> dict[str, Any]:
        return {
            "chunk": np.repeat([0, 1, 2], 3),
            "layer": np.tile([0, 1, 2], 3),
            "capture_s": np.repeat([2.0, 4.0, 8.0], 3),
            "bytes": np.tile([125, 250, 500], 3),
        }


def test_the_video() -> None:
    """From 2 to 8 s and the median of 2 and 4 s more are 9 s: 375, 750 and 1,500 bytes in these."""
    given = section(
        trial(links=(TrialLink("x", 4666.67, 1.0),)),
        meta={"video": {"name": "bunny"}},
        video={"source": "stored"},
    )
    assert [(term, plain(said)) for term, said in mission._video(given, Given())] == [
        ("Video", "bunny (stored), 9 s in 3 chunks"),
        ("Layers", "BL 333 b/s + EL1 667 b/s + EL2 1.33 kb/s = 2.33 kb/s"),
        ("Load", "50 % of the links' 4.67 kb/s together"),
    ]
    assert mission._video(section(), Given()) == [("Video", "synthetic (live)")]
    assert len(mission._video(section(trial()), Given())) == 2, "without a rate there is no load"


def test_all_facts_of_a_mission() -> None:
    from datetime import UTC, datetime

    link = {"name": "x", "rate_bps": 8000.0, "delay_s": 5.0, "loss": {"packet": 0.01}, "queue_bytes": 2000}
    one = trial(congestion="cubic", links=(TrialLink("x", 8000.0, 10.0),))
    start = datetime(2031, 5, 1, tzinfo=UTC)
    given = section(
        *(one, trial(seed=2, ok=False)),
        meta={"backend": "kernel", "scale": 1.0},
        scenario={"start": start, "description": "words"},
        link=[link],
    )
    found = mission.describe_mission(given, Given())
    assert found.description == "words"
    facts = {term: plain(said) for term, said in found.facts}
    assert list(facts) == [
        "Start",
        "Video",
        "Layers",
        "Load",
        "Playout",
        "Transport",
        "Backend",
        "Trials",
        "Scale",
    ]
    assert facts["Start"] == "2031-05-01 00:00:00 UTC" and facts["Backend"] == "kernel"
    assert facts["Trials"] == "1 algorithm × 2 seeds, 2 trials, 1 failed"
    (row,) = found.links
    assert [plain(said) for said in vars(row).values()] == [
        *("x", "10 s", "8 kb/s", "0.01 of packets", "10 kB (7 segments)", "queue 2 kB"),
    ]


def test_a_links_other_keys() -> None:
    said = plain(mission._more({"rate_bps": 1e6, "up_rate_bps": 2e3, "outages": [[0, 30], [60, 120]]}, {}))
    assert said == "up 2 kb/s; 2 outages, 90 s in all"
    assert mission._more({"rate_bps": 1e6, "up_rate_bps": "rate_bps"}, {"up_rate_bps": 5.0}) == "–"
    assert plain(mission._more({"mix": {"rate_bps": 1e6, "tcp_share": 0.25}}, {})) == "mix of 1 Mb/s, 25% TCP"
    one = plain(mission._more({}, {"outages": 1, "outage_s": 60.0}))
    assert one == "1 outage, 60 s in all"


# -------------------------------------------------------------------------------------------------------- the notes


@pytest.mark.parametrize(
    ("seeds", "said"),
    [
        ({4}, "seed 4"),
        ({4, 5}, "seeds 4, 5"),
        ({4, 5, 6}, "seeds 4–6"),
        ({1, 2, 4}, "seeds 1, 2, 4"),
        ({1, 3, 5, 7, 9}, "seeds 1, 3, 5, 7, 9"),
        ({1, 3, 5, 7, 9, 11}, "seeds 1, 3, 5, 7, 9, .."),
    ],
)
def test_seeds_in_words(seeds: set[int], said: str) -> None:
    assert load._seed_list(seeds) == said


def test_trials_that_are_there_twice() -> None:
    note = load._duplicate_note(Path("/a"), Path("/b"), True, ["x/s1"])
    assert note == "x/s1 is in /a and in /b, with the same result; the first is used."
    five = load._duplicate_note(Path("/a"), Path("/b"), True, list("abcde"))
    assert five.startswith("a, b, c, d, e are in /a and in /b, with the same result;")
    many = load._duplicate_note(Path("/a"), Path("/b"), False, list("abcdefg"))
    assert many.startswith("a, b, c, d, e and 2 others are in /a and in /b, with a DIFFERENT result;")


def test_links_as_a_trial_drew_them() -> None:
    drawn = [
        {"name": "a", "rate_bps": 5, "delay_s": 3.0, "outages": 2},
        {"name": "b", "rate_bps": [[0, 5]], "rtt_s": 4.0, "delay_s": 3.0},
        {"rate_bps": True, "delay_s": {"uniform": [1, 2]}, "outages": None},
    ]
    assert load._links(drawn) == (
        *(TrialLink("a", 5.0, 6.0, 2), TrialLink("b", None, 4.0, 0), TrialLink("", None, None, 0)),
    )


def test_what_is_split_and_lacking_is_noted() -> None:
    one, other = (TrialLink("x", rate, 1.0) for rate in (1.0, 2.0))
    given = section(trial("a", 1, links=(one,)), trial("a", 2, links=(one,)), trial("b", 2, links=(other,)))
    lacking, split = load._split_notes(given)
    assert "(b lacks seed 1)" in lacking
    assert split == "Seeds whose trials drew different links are left out of the differences: 2."
    assert load._split_notes(section(trial("a", 1), trial("b", 1))) == []


# ----------------------------------------------------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("kind", "largest", "factor", "name", "decimals"),
    [
        ("score", 1.0, 1.0, "", 3),
        ("score", 1.1, 1.0, "", 2),
        ("score", 123.4, 1.0, "", 0),
        ("count", 9.9, 1.0, "", 1),
        ("count", 10.0, 1.0, "", 0),
        ("share", 0.01, 0.01, "%", 1),
        ("share", 0.00999, 0.01, "%", 3),
        ("share", 1e-9, 0.01, "%", 6),
        ("db", 9.9, 1.0, "dB", 2),
        ("db", 99.0, 1.0, "dB", 1),
        ("seconds", 259_200.0, 86_400.0, "d", 2),
        ("seconds", 259_199.0, 3600.0, "h", 1),
        ("seconds", 7200.0, 3600.0, "h", 2),
        ("seconds", 7199.0, 60.0, "min", 0),
        ("seconds", 120.0, 60.0, "min", 2),
        ("seconds", 119.9, 1.0, "s", 0),
        ("seconds", 1.0, 1.0, "s", 2),
        ("seconds", 0.999, 1e-3, "ms", 0),
        ("seconds", 1e-12, 1e-3, "ms", 6),
        ("bps", 999.0, 1.0, "b/s", 0),
        ("bps", 1000.0, 1e3, "kb/s", 2),
        ("bytes", 1e9, 1e9, "GB", 2),
    ],
)
def test_a_unit_at_its_bounds(kind: str, largest: float, factor: float, name: str, decimals: int) -> None:
    unit = numbers.unit_for(kind, [largest, -largest / 2, NAN])
    assert (unit.factor, unit.name, unit.decimals) == (pytest.approx(factor), name, decimals)


def test_a_rows_unit_has_four_digits_at_most() -> None:
    """Between 0.5 s and 5,000 s is 50 s: 5,000 are four digits of these, 10,000 five."""
    assert numbers.unit_for_row("seconds", [0.5, 5_000.0]).name == "s"
    assert numbers.unit_for_row("seconds", [0.01, 9_999.0]).name == "s"
    assert numbers.unit_for_row("seconds", [0.01, 10_000.0]).name == "h"
    assert numbers.unit_for_row("bps", [1.0, 1e9]).name == "Mb/s", (
        "no less than a ten thousandth of the largest counts"
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.00999, "10⁻²"),
        (0.0123, "0.0123"),
        (999.0, "999"),
        (1000.0, "10³"),
        (9.96e-5, "10⁻⁴"),
    ],
)
def test_small_probabilities(value: float, said: str) -> None:
    assert plain(numbers.scientific(value)) == said


def test_an_interval_beside_its_value() -> None:
    one, unit = Estimate(0.5, 0.25, 0.75, 3), Unit(0.01, "%", 1)
    assert numbers.with_interval(one, unit) == ("50.0", "25.0–75.0")
    assert numbers.with_interval(one, unit, factor=2, signed=True) == ("+100.0", "+50.0 to +150.0")
    assert numbers.with_interval(one, unit, Unit(1.0, "", 0)) == ("50.0", "0–1")
    assert numbers.with_interval(Estimate(0.5, None, None, 1), unit) == ("50.0", "")
    assert numbers.with_interval(None, unit) == ("–", "")
    assert [numbers.listed(list("abc")[:n]) for n in (1, 2, 3)] == ["a", "a and b", "a, b and c"]


# ---------------------------------------------------------------------------------------------------------- contacts


def test_contacts_are_those_of_the_first_trials_seed() -> None:
    """The longest of those that begin at one time; one that ended before has a dash."""

    def contact(begin: float, end: float, size: float, **more: float) -> dict[str, float]:
        return {"from_s": begin, "to_s": end, "bytes_in_time": size, "full_quality_bytes": size / 2, **more}

    first = (contact(0, 100, 2e6), contact(500, 650, 1_234_567.0, capacity_bytes=3e6))
    given = section(
        trial("a", 1, contacts=first, metrics={"weighted_layers": 0.9}),
        trial("b", 1, contacts=(contact(0, 200, 4e6, capacity_bytes=5e6),), metrics={"weighted_layers": 0.5}),
    )
    table = contacts.contact_table(given)
    assert (table.names, table.seed, table.clock) == (("a", "b"), 1, "mission time")
    assert [vars(row) for row in table.rows] == [
        {"when": "0–200 s", "capacity": "5.0", "cells": ("2.0 / 1.0", "4.0 / 2.0")},
        {"when": "500–650 s", "capacity": "3.0", "cells": ("1.2 / 0.6", "–")},
    ]
    assert contacts.contact_table(section()).rows == ()
    documents = contacts.contact_documents(section(trial("a", 1, contacts=first), trial("b", 1)))
    assert list(documents) == ["a"] and list(documents["a"]) == ["1"] and documents["a"]["1"] == list(first)


# ---------------------------------------------------------------------------------------------------------- the page


def test_the_settings_of_a_run() -> None:
    meta = {
        "machine": {"cpus": 2, "system": "Linux"},
        "wall_s": 90.0,
        "seeds": [1, 2],
        "scale": 30.0,
        "backend": "kernel",
    }
    assert {term: plain(said) for term, said in page._settings(meta)} == {
        "dstcc": "unknown",
        "Git commit": "unknown",
        "Scenario SHA-256": "unknown",
        "Seeds": "1, 2",
        "Backend, scale": "kernel, 30",
        "Machine": "cpus: 2, system: Linux",
        "Wall time": "90 s",
    }
    bare = dict(page._settings({}))
    assert (bare["Backend, scale"], bare["Machine"], bare["Wall time"], bare["Seeds"]) == (
        "unknown, 1",
        "unknown",
        "unknown",
        "",
    )
    assert dict(page._settings({"machine": "a box", "wall_s": 0.0}))["Machine"] == "a box"
    assert plain(dict(page._settings({"wall_s": 0.0}))["Wall time"]) == "0 s"


@pytest.mark.parametrize(
    ("line", "there"),
    [
        ((None, Estimate(0.5, 0.4, 0.6, 3)), True),
        ((None, Estimate(0.5, None, None, 1)), False),
        ((None, None), False),
    ],
)
def test_a_frontier_has_intervals_where_one_of_its_values_has(line: Any, there: bool) -> None:
    names = tuple(f"rule {letter}" for letter in "abcdefghijklmn")
    given: Any = SimpleNamespace(
        name="mars",
        finding="so it is",
        names=names,
        pictured=names[:12],
        line=lambda name: line,
        delays=(1.0, 2.0),
    )
    view = page.FrontierView(given, 3, {name: Look("#005cff", 1) for name in names})
    assert (view.id, view.left_out, view.bound) == ("f3", 2, "clairvoyant bound")
    assert view.has_intervals is there and view.names[0] == ("rule a", ("a0", 1))


def test_delays_are_named_where_they_tell_sections_apart() -> None:
    assert (
        plain(frontier.words_of_delay(1)) == "1 round trip"
        and plain(frontier.words_of_delay(1.5)) == "1.5 round trips"
    )
    assert (
        frontier.delay_rtts(section(playout={})) == 2.0
        and frontier.delay_rtts(section(playout={"delay_rtts": 3})) == 3.0
    )


def delayed(rtts: float, **shares: float | None) -> Section:
    """Algorithms with their weighted layers, of a bound of 1 where something was played."""
    trials = [
        trial(name, metrics={} if share is None else {"weighted_layers": share, "oracle_ratio": share})
        for name, share in shares.items()
    ]
    return section(*trials, playout={"delay_rtts": rtts})


def test_what_a_frontier_shows() -> None:
    """Near the bound is a point below it, at each delay from there on."""
    points = (
        delayed(1.0, a=0.5, b=0.5, c=0.1),
        delayed(2.0, a=0.99, b=0.9, c=0.2),
        delayed(5.0, a=1.0, b=0.989, c=None),
    )
    found = Frontier(points)
    assert found.names == ("a", "b", "c")
    assert plain(found.finding) == (
        "At 1 round trip a and b have the highest value, 50.0 % of the layers' weight (bound 100.0 %). At 5 round "
        "trips a has the highest value, 100.0 % of the layers' weight (bound 100.0 %). Within 1 point of the bound: a "
        "from 2 round trips on; not at the longest delay: b and c."
    )
    nothing = Frontier((delayed(1.0, a=0.0), delayed(2.0, a=0.0)))
    assert plain(nothing.finding) == "At 1 round trip nothing is played. At 2 round trips nothing is played."
    table = frontier.table(found, ("a", "c"))
    assert [(row.delay, row.cells) for row in table] == [
        ("1", (("100.0", ""), ("50.0", ""), ("10.0", ""))),
        ("2", (("100.0", ""), ("99.0", ""), ("20.0", ""))),
        ("5", (("100.0", ""), ("100.0", ""), ("–", ""))),
    ]


# ---------------------------------------------------------------------------------------------- sheets and pictures


def test_the_window_most_like_the_whole_is_shown() -> None:
    """Of levels 0 and 1, half each: of two chunks the first that has one of each; of equal ones the earliest."""
    levels = [np.array([0, 0, 0, 1, 1, 1])]
    assert pictures.typical(levels, 2) == 2
    assert pictures.typical(levels, 6) == 0 and pictures.typical(levels, 1) == 0
    assert pictures.typical(levels, 1, range(3, 6)) == 3
    assert pictures.typical(levels, 2, range(3, 6)) == 3
    # off by 1, 0, 1, 0, 0 and by 1, 1, 0, 1, 1 of two levels' shares
    assert pictures.typical([np.array([0, 0, 1, 1, 0, 1]), np.array([1, 1, 1, 0, 0, 0])], 2) == 1


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        ({}, "frozen 100.0 %"),
        ({"playback_ratio": 0.75, "weighted_layers": 0.5}, "frozen 25.0 %, weighted layers 50.0 %"),
        ({"playback_ratio": 1.0, "vmaf": 93.26, "psnr_db": 40.0}, "VMAF 93.3, frozen 0.0 %"),
        ({"playback_ratio": 1.0, "psnr_db": 40.126}, "PSNR 40.13 dB, frozen 0.0 %"),
    ],
)
def test_how_a_whole_trial_did(metrics: dict[str, float], said: str) -> None:
    assert pictures._facts(trial(metrics=metrics)) == said


def test_clips_beyond_six_megabytes_lie_beside_the_page() -> None:
    def screenings(*sizes: int) -> pictures.Screenings:
        still: Any = None
        shots = tuple(pictures.Shot((), still, bytes([n]) * size) for n, size in enumerate(sizes))
        return pictures.Screenings((pictures.Screening((), (), "", "", 0.0, shots), "none"))

    assert screenings(3_000_000, 3_000_000).embeddable and not screenings(3_000_000, 3_000_001).embeddable
    assert screenings(5).embeddable and len(screenings(5, 6).clips) == 2
    one = screenings(5)
    (name,) = one.clips
    assert len(name) == len(".mp4") + 16
    still: Any = None
    shot = pictures.Shot((), still, b"abc")
    assert one.address(shot) == "data:video/mp4;base64,YWJj"
    assert pictures.Screenings((), "beside").address(shot) == f"beside/{shot.file}"


def test_a_sheets_seeds_and_rows() -> None:
    assert sheet._shown(list("abcdefghij"), "j and i") == [*"abcde", "i", "j"]
    assert sheet._shown(list("abc"), "") == list("abc")


def test_a_page_of_three_sections_has_a_list_of_them() -> None:
    heads = [f'<h2 class="x" id="k{n}">\n One <b>{n}</b> </h2>' for n in range(3)]
    assert template._contents("".join(heads)) == (
        '<nav class="contents" aria-label="Contents"><ul><li><a href="#k0">One 0</a></li><li>'
        '<a href="#k1">One 1</a></li><li><a href="#k2">One 2</a></li></ul></nav>'
    )
    assert template._contents("".join(heads[:2])) == ""


def test_a_pdfs_names_and_dates_are_counted_anew() -> None:
    given = b"(node00000123) (node00000007) (node00000123) (node1)"
    assert browser._numbered(given) == b"(node00000002) (node00000001) (node00000002) (node1)"


def test_a_picture_is_two_pages_high(monkeypatch: pytest.MonkeyPatch) -> None:
    """210 mm are 793.7 px at 96 to the inch, 594 mm 2245.04; the mark comes after the first 33 bytes."""
    import zlib

    asked: list[str] = []

    def print_(_page: str, made: str, *options: str) -> bytes:
        asked.extend([made, *options])
        return bytes(range(40))

    monkeypatch.setattr(browser, "_run", print_)
    made = browser.to_png("page", browser.PAPERS["a4"])
    assert asked == [
        *(
            "out.png",
            "--window-size=794,2245",
            "--force-device-scale-factor=2",
            "--hide-scrollbars",
            "--screenshot={}",
        ),
    ]
    assert made[:33] == bytes(range(33)) and made[-7:] == bytes(range(33, 40))
    chunk = made[33:-7]
    assert int.from_bytes(chunk[:4], "big") == len(chunk) - 12 and chunk[4:8] == b"tEXt"
    assert int.from_bytes(chunk[-4:], "big") == zlib.crc32(chunk[4:-4])


@pytest.mark.parametrize("keys", [*mark.KEYS, *({*one, "more"} for one in mark.KEYS)])
def test_a_report_as_json_is_known_by_its_keys(tmp_path: Path, keys: set[str]) -> None:
    def ours(document: object) -> bool:
        (tmp_path / "x.json").write_text(json.dumps(document))
        return mark.REPORT.wrong(tmp_path / "x.json") is None

    assert ours(dict.fromkeys(keys))
    assert not ours(dict.fromkeys(keys - {"dstcc_version"})) and not ours([*keys])


def test_reports_are_known_by_their_marks(tmp_path: Path) -> None:
    path = tmp_path / "x"
    version = b"1.0"
    png = b"\x89PNG" + bytes(29) + b"tEXt" + mark.PNG_MARK + version
    pdf = b"%PDF-1.4\nx\n" + mark.PDF_MARK + version
    page = b"<!doctype html>" + mark.GENERATOR.encode() + b'1.0">'
    markdown = b"# x\n\n" + mark.comment().encode()
    table = (",".join(mark.STUDY_COLUMNS) + "\n").encode()
    for good in (
        png,
        pdf,
        pdf + b"\n",
        page,
        markdown,
        table,
        (",".join(mark.CSV_COLUMNS) + "\n1\n").encode(),
    ):
        path.write_bytes(good)
        assert mark.REPORT.wrong(path) is None, good
    others = (
        png.replace(b"tEXt", b"zTXt"),
        pdf + b"\nmore",
        page.replace(b"dstcc", b"other"),
        markdown + b"more",
    )
    for bad in (*others, table[1:], b"words", b"{}", bytes(MARK_BYTES) + png):
        path.write_bytes(bad)
        assert mark.REPORT.wrong(path) is not None, bad


# ------------------------------------------------------------------------------------------------- programs' nodes


def test_what_a_node_held_on_average_is_over_time() -> None:
    """600 bytes for 10 s and 200 for 30 s are 300 on average; what there was in the end did not last."""

    def rows(*held: tuple[float, float, float, float]) -> Any:
        names = ("t_s", "held_bytes", "dropped_packets", "lost_in_restarts_packets")
        columns = {name: np.array([row[n] for row in held], dtype=float) for n, name in enumerate(names)}
        nodes = {"node": np.array(["orbiter"] * len(held)), **columns}
        meta = {"nodes": [{"host": "orbiter", "storage_bytes": 1}, {"host": "earth", "storage_bytes": 0}]}
        (row,) = programs.node_rows(SimpleNamespace(meta=meta, nodes=nodes))  # type: ignore[arg-type]
        return tuple(row[name] for name in ("most_bytes", "mean_bytes", "dropped", "lost"))

    assert rows((5, 600, 0, 0), (15, 200, 3, 1), (45, 500, 2, 1)) == (600.0, 300.0, 3, 1)
    assert rows((5, 600, 1, 2)) == (600.0, 0.0, 1, 2)
    assert rows() == (0.0, 0.0, 0, 0)


def test_how_programs_ended() -> None:
    first = {"argv": ["curl", "x"], "ended_by_dstcc": False, "exit_code": 3, "ended_s": 90.0}

    def verdict(clock: Clock | None = None, problem: str | None = None, **changed: Any) -> str:
        meta = {"programs": [first | changed], "problem": problem, "mission_s": 7200.0}
        return plain(programs._verdict(SimpleNamespace(meta=meta, clock=clock or Clock())))  # type: ignore[arg-type]

    assert verdict() == "curl ended with exit code 3 after 90 s of mission time."
    assert (
        verdict(ended_s=None, ended_by_dstcc=True)
        == "curl was ended with exit code 3 after 2 h of mission time."
    )
    assert verdict(problem="stuck") == "stuck"
