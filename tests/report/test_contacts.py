"""Delivered in each contact, in every format: the metrics of the trial, cut at the outages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dstcc.report import load_report, render
from dstcc.run import write_run
from dstcc.scenario import load_scenario, load_source
from tests.quick import QUICK


def run_of(tmp_path: Path, link: str, quick: str = QUICK) -> Path:
    path = tmp_path / "quick.toml"
    path.write_text(quick + link + "[playout]\ndelay_s = 20\n[run]\nseeds = 2\n")
    scenario = load_scenario(path)
    write_run(tmp_path / "run", scenario, load_source(scenario), argv=["dstcc"])
    return tmp_path / "run"


@pytest.fixture
def dark(tmp_path: Path) -> Path:
    # A chunk a second of two layers of 1,000 bytes; what is captured at 3 s waits for the contact of 3.5 s.
    return run_of(tmp_path, "outages = [[2.5, 3.5]]\n")


def test_json_has_the_contacts_of_every_seed(dark: Path) -> None:
    (section,) = json.loads(render(load_report([dark]), "json"))["sections"]
    seeds = section["contacts"]["cubic+minrtt"]
    assert list(seeds) == ["1", "2"]
    assert [(one["from_s"], one["bytes_in_time"]) for one in seeds["1"]] == [(0, 4000), (3.5, 6000)]


@pytest.mark.usefixtures("undrawn")
def test_tables_have_the_contacts_of_one_seed(dark: Path) -> None:
    report = load_report([dark])
    markdown = render(report, "md")
    assert "| 0–2.5 s | 0.3 | 0.0 / 0.0 |" in markdown  # 1 Mbit/s; 4,000 bytes are 0.004 MB
    assert "Delivered in each contact" in render(report, "html")


@pytest.mark.usefixtures("undrawn")
def test_a_dated_missions_contacts_are_in_utc(tmp_path: Path) -> None:
    """Seconds in every row, as the shortest contact is short; machine formats keep mission seconds."""
    dated = QUICK.replace('"quick"', '"quick"\nstart = 2028-03-11T23:59:58Z')
    report = load_report([run_of(tmp_path, "outages = [[2.5, 3.5]]\n", dated)])
    markdown, page = render(report, "md"), render(report, "html")
    assert "| Contact (UTC) | Capacity | cubic+minrtt |" in markdown
    assert "| 2028-03-11 23:59:58–2028-03-12 00:00:00 | 0.3 | 0.0 / 0.0 |" in markdown
    assert "<dt>Start</dt><dd>2028-03-11 23:59:58 UTC</dd>" in page
    assert '<th scope="col">Contact (UTC)</th>' in page and "2028-03-12 00:00:01–" in page
    (section,) = json.loads(render(report, "json"))["sections"]
    assert section["contacts"]["cubic+minrtt"]["1"][1]["from_s"] == 3.5


@pytest.mark.usefixtures("undrawn")
def test_tables_say_what_each_contact_could_carry_at_its_rates(tmp_path: Path) -> None:
    # 1 Mbit/s until 2.5 s, 0.2 Mbit/s from 3.5 s until the run's end.
    link = "outages = [[2.5, 3.5]]\nrate_bps = [[0, 1e6], [3, 2e5]]\n"
    run = run_of(tmp_path, link, QUICK.replace("rate_bps = 1_000_000\n", ""))
    (section,) = json.loads(render(load_report([run]), "json"))["sections"]
    first, second = section["contacts"]["cubic+minrtt"]["1"]
    assert first["capacity_bytes"] == 2.5 * 1e6 / 8
    assert second["capacity_bytes"] == round((second["to_s"] - 3.5) * 2e5 / 8)
    assert "| 0–2.5 s | 0.3 |" in render(load_report([run]), "md")
    page = render(load_report([run]), "html").replace("\u202f", " ")
    assert "<td>200 kb/s – 1 Mb/s</td>" in page  # the link's own row


def test_without_outages_there_is_no_such_table(tmp_path: Path) -> None:
    report = load_report([run_of(tmp_path, "")])
    assert "Megabytes that each contact" not in render(report, "md")
    assert json.loads(render(report, "json"))["sections"][0]["contacts"] == {}
