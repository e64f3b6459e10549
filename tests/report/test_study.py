"""The page of a study: means by hand, what varied, what failed; the same study gives the same bytes."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dstcc.errors import RunError
from dstcc.report.figures.looks import looks
from dstcc.report.numbers import SPACE
from dstcc.report.study import load_study_report, render_study
from dstcc.report.study.figures import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, _positions, _ticks, figure, label
from dstcc.report.study.load import Axis, _of_programs
from dstcc.report.study.page import axis_span, verdict
from dstcc.sweeps.executors.base import Ended
from dstcc.sweeps.plan import Unit
from tests.sweeps.made import Inline, sweep, write

STUDY = """
[study]
scenario = "toy.toml"
description = "over <b>losses</b>"
congestion = ["cubic", "newreno"]
seeds = 3
[vary]
link.0.loss.packet = {values = [1e-4, 1e-3], as = "loss"}
link.0.up_loss = [{packet = 0.1}, {ber = 1e-6}]
"""


@pytest.fixture
def carried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Units get numbers that follow from what they are: cubic 0.1 at seed 1, 0.2 at 2 …, newreno 0.5 more."""

    def carry(executor: Inline, unit: Unit) -> Ended:
        name, _, seed = unit.id.partition("/s")
        if unit.cell == 3 and unit.id == "newreno+minrtt/s3":
            return Ended(unit, "[/red] broke", "Traceback <of it>")
        share = 0.1 * int(seed) + (0.5 if name.startswith("newreno") else 0.0)
        return Ended(unit, row={"playback_ratio": share, "weighted_layers": share + 0.01 * unit.cell})

    monkeypatch.setattr(Inline, "_carry", carry)


def test_means_and_intervals_are_those_of_the_seeds(tmp_path: Path, carried: None) -> None:
    sweep(write(tmp_path / "given", STUDY), tmp_path / "out", retries=0)
    report = load_study_report(tmp_path / "out")
    assert (
        report.algorithms == ("cubic+minrtt", "newreno+minrtt")
        and report.trials == 23
        and report.missing == 1
    )
    cubic = report.overall["playback_ratio", "cubic+minrtt"]
    # 0.1, 0.2, 0.3 at three seeds: mean 0.2, deviation 0.1, t(0.975, 2) = 4.3027
    assert cubic.value == pytest.approx(0.2) and cubic.trials == 12
    assert cubic.high == pytest.approx(0.2 + 4.302653 * 0.1 / 3**0.5, rel=1e-6)
    along = report.along["loss", "weighted_layers", "cubic+minrtt"]
    # points 0 and 1 have the first loss, 2 and 3 the second
    assert {value: round(mean.value, 9) for value, mean in along.items()} == {1e-4: 0.205, 1e-3: 0.225}
    kinds = report.along["link.0.up_loss", "playback_ratio", "newreno+minrtt"]
    assert list(kinds) == ['{"ber": 1e-06}', '{"packet": 0.1}']
    assert not report.alike and "ahead" not in verdict(report)


def test_the_page_says_it_and_escapes_it(tmp_path: Path, carried: None) -> None:
    sweep(write(tmp_path / "given", STUDY), tmp_path / "out", retries=0)
    report = load_study_report(tmp_path / "out")
    page = render_study(report)
    assert page == render_study(load_study_report(tmp_path / "out"))
    assert "over &lt;b&gt;losses&lt;/b&gt;" in page and "<b>losses" not in page
    assert "[/red] broke (1 tries)" in page and "Traceback &lt;of it&gt;" in page
    assert page.count("<svg xmlns") == 2 * 2 * 2  # two axes, two metrics with values, each also narrow
    assert 'aria-label="Weighted layers over loss: cubic+minrtt 20' in page
    assert 'class="contents"' in page
    assert (
        "23 of 24 trials at 4 points, 3 seeds, 1 failed. 3 seeds: an interval of so few holds less often"
        in page
    )
    assert "http:" not in page.replace("http://www.w3.org/2000/svg", "")
    text = render_study(report, "md").replace(SPACE, " ")
    # 20 % ± 4.3027 · 10 % / √3
    assert "| cubic+minrtt | 12 | 20.0 % (\u22124.8 to 44.8) |" in text
    rows = render_study(report, "csv").splitlines()
    assert (
        rows[0] == "axis,at,metric,algorithm,mean,low,high,trials" and len(rows) == 1 + 2 * 2 + 2 * 2 * 2 * 2
    )
    assert json.loads(render_study(report, "json"))["results"] == 23


def test_a_study_without_results_has_a_page(tmp_path: Path) -> None:
    def stop(_unit: Unit) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(write(tmp_path / "given", STUDY), tmp_path / "out", stop)
    assert "0 of 24 trials" in render_study(load_study_report(tmp_path / "out"))


def test_a_complete_study_as_json_tables_and_pictures(tmp_path: Path, carried: None) -> None:
    text = STUDY.replace("seeds = 3", 'name = "über Mars"\nseeds = 2')
    sweep(write(tmp_path / "given", text), tmp_path / "out")
    report = load_study_report(tmp_path / "out")
    assert (report.trials, report.missing) == (16, 0)
    assert {one.key for one in report.metrics} == {"playback_ratio", "weighted_layers"}, (
        "others have no value"
    )
    assert '"study": "über Mars"' in render_study(report, "json")
    lines = ["", *render_study(report, "md").split("\n"), ""]
    heads = [n for n, line in enumerate(lines) if line.startswith("|") and not lines[n - 1].startswith("|")]
    assert len(heads) == 2
    for head in heads:  # GFM: a table begins after an empty line, and with a delimiter row
        assert lines[head - 1] == "" and lines[head + 1] == "|---" * (lines[head].count("|") - 1) + "|"
    metric = next(one for one in report.metrics if one.key == "playback_ratio")
    picture = ET.fromstring(figure(report, report.axes[0], metric, looks(report.algorithms)))
    tags = {name: list(picture.iter(f"{{http://www.w3.org/2000/svg}}{name}")) for name in ("circle", "text")}
    heights = [float(one.get("cy", "nan")) for one in tags["circle"]]
    # cubic's means are 0.15, newreno's 0.65 at both losses; the highest interval ends at 0.65 + 12.706 * 0.05 = 1.285,
    # so that the scale is from 0 (at the bottom) to 1.5
    assert heights == pytest.approx([high(0.15 / 1.5)] * 2 + [high(0.65 / 1.5)] * 2, abs=0.1)
    labels = [one for one in tags["text"] if one.text in ("0.0001", "0.001")]
    assert len(labels) == 2 and all(high(0.0) < float(one.get("y", "nan")) < HEIGHT for one in labels)


def high(share: float) -> float:
    """Where it stands in a picture, in pixels from its top."""
    return TOP + (1 - share) * (HEIGHT - TOP - BOTTOM)


@pytest.mark.parametrize(
    ("values", "places"),
    [
        ([1.0, 10.0, 100.0], [0.0, 0.5, 1.0]),  # far apart: logarithmic
        ([0.0, 50.0, 100.0], [0.0, 0.5, 1.0]),  # nought has no logarithm
        ([1.0, 15.0, 29.0], [0.0, 0.5, 1.0]),
        (["a", "b"], [0.25, 0.75]),
    ],
)
def test_values_stand_where_they_are(values: list[Any], places: list[float]) -> None:
    at = _positions(Axis("key", "column", tuple(values)), values, 200 + LEFT + RIGHT + 40)
    assert [at[value] for value in values] == pytest.approx([LEFT + 20 + 200 * place for place in places])


def test_damage_is_named(tmp_path: Path, carried: None) -> None:
    sweep(write(tmp_path / "given", STUDY), tmp_path / "out", retries=0)
    part = next((tmp_path / "out" / "trials").iterdir())
    part.write_bytes(b"no")
    with pytest.raises(RunError, match=f"{part.name}: changed since it was written"):
        load_study_report(tmp_path / "out")
    forget_sums(tmp_path / "out")
    with pytest.raises(RunError, match="cannot be read"):
        load_study_report(tmp_path / "out")


def forget_sums(out: Path) -> None:
    """As in a study of before there were any."""
    document = json.loads((out / "parts.json").read_text())
    del document["sha256"]
    (out / "parts.json").write_text(json.dumps(document))


def edited(out: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    (part,) = (out / "trials").iterdir()
    rows = change(pq.read_table(part))
    pq.write_table(rows, part)
    forget_sums(out)


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("playback_ratio", ["x"], "column playback_ratio is string, must be double"),
        ("playback_ratio", [7.0], "column playback_ratio has 7.0, which no run has"),
        ("goodput_bps", [float("inf")], "column goodput_bps has a value that is not finite"),
        ("key", [[1]], "column key is list"),
        ("seed", [None], "column seed has no value in 23 rows"),
        ("algorithm", [[1]], "column algorithm is list"),
        ("loss", [{"a": 1}], "column loss is struct"),
    ],
)
def test_a_part_of_other_values_is_named(
    tmp_path: Path, carried: None, column: str, values: list[Any], said: str
) -> None:
    sweep(write(tmp_path / "given", STUDY), out := tmp_path / "out", retries=0)
    edited(
        out,
        lambda rows: rows.set_column(
            rows.column_names.index(column), column, pa.array(values * rows.num_rows)
        ),
    )
    with pytest.raises(RunError, match=rf"part-\*\.parquet: {said}"):
        load_study_report(out)


def test_a_trial_that_somebody_doubled_counts_once(tmp_path: Path, carried: None) -> None:
    sweep(write(tmp_path / "given", STUDY), out := tmp_path / "out", retries=0)
    before = load_study_report(out)
    edited(out, lambda rows: pa.concat_tables([rows, rows.slice(0, 5)]))
    after = load_study_report(out)
    assert after.overall == before.overall and after.trials == 23


MARS = """
[study]
scenario = "mars.toml"
congestion = ["open-loop"]
[vary]
link.0.delay_s = {from = "3 min", to = "21 min", steps = 4, as = "distance_s"}
[[zip]]
link.0.rate_bps = ["10 kbit/s", "20 kbit/s"]
transport.initial_cwnd = [10, 20]
"""
SCENARIO = """
[scenario]
name = "mars"
[video]
synthetic = {chunk_s = 1.0, layer_bps = [1_000]}
loop_to_s = 10
[[link]]
name = "one"
rate_bps = 10_000
up_rate_bps = "rate_bps"
delay_s = 180
"""


def test_an_axis_has_the_units_of_people_and_says_what_moves_with_it(tmp_path: Path, carried: None) -> None:
    folder = tmp_path / "given"
    study = write(folder, MARS)
    (folder / "mars.toml").write_text(SCENARIO)
    sweep(study, tmp_path / "out", retries=0)
    report = load_study_report(tmp_path / "out")
    distance, rate, cwnd = report.axes
    assert (distance.title, rate.title, cwnd.title) == (
        "distance (min)",
        "link.0.rate (kb/s)",
        "transport.initial_cwnd",
    )
    assert [label(value, distance) for value in distance.values] == ["3", "9", "15", "21"]
    assert axis_span(distance) == "3, 9, 15, 21 min" and axis_span(cwnd) == "10, 20"
    assert axis_span(replace(cwnd, values=(1, 2, 3, 4, 5, 6))) == "1, 2, 3, 4, 5, 6"
    assert axis_span(replace(cwnd, values=(1, 2, 3, 4, 5, 6, 7))) == "1 … 7"
    assert distance.moves[:2] == ("the playout delay (in round trips of the longest link)", "the time scale")
    assert "the queue (a bandwidth-delay product)" in distance.moves
    assert rate.moves[0] == "transport.initial_cwnd (the same axis)" and "the uplink's rate" in rate.moves
    page = render_study(report)
    assert "Means over seeds, link.0.rate_bps, transport.initial_cwnd, with Student" in page
    assert "Means over seeds, distance_s, with Student" in page
    assert ">distance (min)</text>" in page and ">21</text>" in page


@pytest.mark.parametrize(
    ("low", "high", "factor", "ticks"),
    [
        (3.1, 16.9, 1.0, [0, 5, 10, 15, 20]),
        (1_200.0, 9_700.0, 1e3, [0, 2_500, 5_000, 7_500, 10_000]),
        (61.0, 239.0, 60.0, [60, 120, 180, 240]),
        (7.0, 7.0, 1.0, [2, 4, 6, 8, 10, 12]),
    ],
)
def test_ticks_are_round_in_the_unit_that_is_shown(
    low: float, high: float, factor: float, ticks: list[float]
) -> None:
    found = _ticks(low, high, factor, share=False)
    assert found == pytest.approx(ticks)
    assert found[0] <= low and found[-1] >= high


@pytest.mark.parametrize(
    ("name", "label", "kind"),
    [
        ("completed_s", "Completed", "seconds"),
        ("rate_bps", "Rate", "bps"),
        ("got_bytes", "Got (bytes)", "bytes"),
        ("lost_packets", "Lost packets", "count"),
        ("_s", "_s", "seconds"),
    ],
)
def test_a_programs_number_has_the_unit_that_ends_its_name(name: str, label: str, kind: str) -> None:
    metric = _of_programs(name)
    assert (metric.key, metric.label, metric.kind, metric.better) == (name, label, kind, 0)
    assert _of_programs("succeeded").better == 1, "it is known what it counts"


def test_a_share_stands_between_nothing_and_all() -> None:
    assert _ticks(0.4, 0.6, 0.01, share=True) == pytest.approx([0, 0.25, 0.5, 0.75, 1])
