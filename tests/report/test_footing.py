"""What each algorithm knows and has in reports of every format, and who has no place in them."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import Any

import pytest

from dstcc.algorithms import COPIES, KNOWLEDGE
from dstcc.report import load_report, render
from dstcc.report.footing import VARIES, Footing, legend, shared
from dstcc.report.numbers import UNKNOWN
from dstcc.report.pooled import pool
from dstcc.report.verdict import pooled_verdict, verdict
from tests.report.conftest import RunFactory
from tests.report.synthetic_run import RunSpec


def footing(name: str, domains: int | None, windows: int, *knows: str, **more: Any) -> dict[str, Any]:
    entry = {"copies": "", "scale": 30.0, "distorts": [], "set": {}, "mode": "lanes", **more}
    return {"name": name, "knows": list(knows), "ordering_domains": domains, "windows": windows, **entry}


CUBIC = footing("cubic+minrtt", 32, 32, "deadlines", distorts=["CUBIC's C 0.4 → 1e-5"])
SCALED = footing("bbr-scaled+minrtt", 8192, 2, "queue", "deadlines", copies="spare", set={"scale": 30})
SPEC = RunSpec(congestion=("cubic", "bbr-scaled"), chunks=60, footings=(CUBIC, SCALED))


def test_the_words_of_a_footing() -> None:
    one, other = Footing.parse(CUBIC), Footing.parse(SCALED)
    assert (one.letters, one.lanes, one.known, one.beyond) == ("d", "32/32", "deadlines", "")
    assert (other.letters, other.lanes) == ("qd", "8\u202f192/2+")
    assert (other.known, other.beyond) == ("its queue, deadlines", "its queue")
    assert (other.settings, other.twice) == (
        "scale = 30",
        "fills unused capacity with copies",
    )
    assert Footing.parse(footing("ltp+none", None, 2)).lanes == "any/2"
    assert Footing.parse(footing("ltp+none", None, 2)).letters == UNKNOWN


def test_the_legend_has_what_these_footings_use() -> None:
    lanes = ("lanes", "ordering domains/windows, all links together")
    assert legend([Footing.parse(CUBIC)]) == [("d", KNOWLEDGE["deadlines"].what), lanes]
    assert legend([Footing.parse(CUBIC), Footing.parse(SCALED)])[-1] == ("+", COPIES["spare"])
    assert legend([]) == []


def test_over_scenarios_a_footing_is_one_or_varies_or_is_unknown() -> None:
    one, other = Footing.parse(CUBIC), Footing.parse(SCALED)
    assert shared([one, one]) == one
    assert shared([one, other]) == VARIES
    assert shared([one, None]) == shared([None, one]) == UNKNOWN
    slower = replace(one, scale=60.0)
    assert shared([one, slower]) is one and shared([slower, one]) is slower and shared([one]) is one


def test_it_is_in_every_format(make_run: RunFactory) -> None:
    report = load_report([make_run(SPEC)])
    rows = {row["algorithm"]: row for row in json.loads(render(report, "json"))["sections"][0]["rows"]}
    assert rows["bbr-scaled+minrtt"]["footing"]["ordering_domains"] == 8192
    assert rows["bbr-scaled+minrtt"]["footing"]["set"] == {"scale": 30}
    lines = {row["algorithm"]: row for row in csv.DictReader(io.StringIO(render(report, "csv")))}
    texts = {
        key: lines["bbr-scaled+minrtt"][key] for key in ("knows", "ordering_domains", "windows", "own_scale")
    }
    assert texts == {
        "knows": "queue deadlines",
        "ordering_domains": "8192",
        "windows": "2",
        "own_scale": "30.0",
    }
    text = render(report, "md")
    assert "| bbr-scaled+minrtt | qd | 8\u202f192/2+ |" in text
    assert "| cubic+minrtt | deadlines | 32 | 32 | – | 30 | – | CUBIC's C 0.4 → 1e-5 |" in text
    assert "q: observes the queue of its own transmitter" in text


@pytest.mark.usefixtures("undrawn")
def test_the_page_has_it_beside_the_figures(make_run: RunFactory) -> None:
    page = render(load_report([make_run(SPEC)]), "html")
    assert '<td class="beside knows">qd</td><td class="beside">8\u202f192/2+</td>' in page
    assert "Side information and lanes</h2>" in page
    assert "CUBIC&#39;s C 0.4 → 1e-5" in page


def test_runs_that_do_not_say_leave_it_unknown(make_run: RunFactory) -> None:
    report = load_report([make_run(RunSpec(congestion=("cubic", "bbr-scaled"), chunks=60))])
    (row, _) = json.loads(render(report, "json"))["sections"][0]["rows"]
    assert row["footing"] is None
    assert "| cubic+minrtt | – | – |" in render(report, "md")


def test_who_is_missing_from_a_scenario_is_said_with_the_reason(make_run: RunFactory) -> None:
    failed = {f"westwood+minrtt/s{seed}": "boom" for seed in (1, 2, 3)}
    first = make_run(RunSpec(congestion=("cubic", "bbr-scaled", "westwood", "newreno"), chunks=60))
    spec = RunSpec(
        congestion=("cubic", "bbr-scaled", "westwood"), chunks=60, failures=failed, name="b", sha="beef" * 16
    )
    report = load_report([first, make_run(spec)])
    pooled = pool(report)
    assert pooled is not None
    assert pooled.missing == {"newreno+minrtt": "not run in b", "westwood+minrtt": "nothing finished in b"}
    said = pooled_verdict(pooled)
    assert "Not ranked: westwood+minrtt (nothing finished in b); newreno+minrtt (not run in b)." in said
    together = json.loads(render(report, "json"))["all_scenarios"]
    assert together["missing"] == pooled.missing
    assert "| newreno+minrtt | – | – | – | – | – | – | – | missing |" in render(report, "md")
    assert "Not ranked: westwood+minrtt (none of its trials finished)." in verdict(report.sections[1])


def test_lacking_seeds_are_named(make_run: RunFactory) -> None:
    runs = [make_run(RunSpec(congestion=("cubic",), chunks=60, seeds=(1, 2, 3)))]
    runs.append(make_run(RunSpec(congestion=("westwood",), chunks=60, seeds=(2,))))
    (section,) = load_report(runs).sections
    assert any("(westwood+minrtt lacks seeds 1, 3)" in note for note in section.notes)


@pytest.mark.parametrize("same", [True, False])
def test_a_label_that_means_two_things_is_two_algorithms(make_run: RunFactory, same: bool) -> None:
    from dstcc.report.controllers import labelled, namesakes
    from dstcc.run import load_run

    runs = [load_run(make_run(RunSpec(congestion=("cubic",), chunks=60))) for _ in range(2)]
    for number, run in enumerate(runs):
        settings = {"initial_cwnd": 10 if same else 10 + number}
        run.scenario["variant"] = [{"label": "tuned", "congestion": "cubic", "set": settings}]
    ambiguous = namesakes(runs)
    names = {labelled(run, "tuned", ambiguous) for run in runs}
    assert names == {"tuned"} if same else len(names) == 2
