from __future__ import annotations

import csv
import io
import json
from itertools import takewhile

import pytest

from dstcc.report import FORMATS, load_report, render
from dstcc.report.catalogue import METRIC, METRICS
from dstcc.report.figures.style import short
from dstcc.report.mission import describe_loss, describe_mission, describe_scale
from dstcc.report.summary import won
from dstcc.report.tables import Tables
from dstcc.stats import paired_difference
from tests.report.conftest import RunFactory
from tests.report.synthetic_run import RunSpec

HOSTILE = '<script>alert("1")</script> | `x` $y_{$ & \\ 火星'


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.usefixtures("undrawn")
def test_the_same_runs_give_the_same_bytes(make_run: RunFactory, form: str) -> None:
    """The figures of a page, too: tests/cli/test_report.py."""
    runs = [make_run(RunSpec(chunks=60, congestion=("cubic", "bbr-scaled")))]
    assert render(load_report(runs), form) == render(load_report(runs), form)


def test_json_carries_rows_and_failures(make_run: RunFactory) -> None:
    run = make_run(RunSpec(chunks=120, failures={"cubic+minrtt/s2": "boom"}))
    (section,) = json.loads(render(load_report([run]), "json"))["sections"]
    assert section["scenario"] == "mars-two-links"
    assert [row["algorithm"] for row in section["rows"]] == [
        "cubic+minrtt",
        "newreno+minrtt",
        "bbr-scaled+minrtt",
        "westwood+minrtt",
    ]
    assert section["failed"] == [{"id": "cubic+minrtt/s2", "seed": 2, "error": "boom"}]
    played = section["rows"][2]["layers_played"]
    assert sum(played.values()) == pytest.approx(1.0)
    assert section["rows"][0]["metrics"]["playback_ratio"]["n"] == 2


def test_csv_has_a_row_a_metric_with_the_numbers_of_json(make_run: RunFactory) -> None:
    report = load_report([make_run(RunSpec(chunks=120))])
    rows = list(csv.DictReader(io.StringIO(render(report, "csv"))))
    (section,) = json.loads(render(report, "json"))["sections"]
    row_of = {(row["algorithm"], row["metric"]): row for row in rows}
    for expected in section["rows"]:
        for key, one in expected["metrics"].items():
            row = row_of[expected["algorithm"], key]
            assert float(row["value"]) == one["value"]
            assert float(row["low"]) == one["low"]
            assert int(row["n"]) == one["n"] == 3
    assert ("cubic+minrtt", "layers_played.none") in row_of


def test_csv_of_one_seed_leaves_intervals_empty(make_run: RunFactory) -> None:
    rows = csv.DictReader(io.StringIO(render(load_report([make_run(RunSpec(seeds=(1,)))]), "csv")))
    assert {row["low"] for row in rows} == {""}


def test_markdown_has_tables_verdict_and_command(make_run: RunFactory) -> None:
    text = render(load_report([make_run(RunSpec(chunks=120, failures={"cubic+minrtt/s1": "a|b"}))]), "md")
    lines = text.splitlines()
    starts = [index for index, line in enumerate(lines) if line.startswith("|---")]
    assert len(starts) == 6  # the ranking, summary, differences, a profile for each of three shares
    for start in starts:
        table = list(takewhile(lambda line: line.startswith("|"), lines[start - 1 :]))
        assert {line.replace(r"\|", "").count("|") for line in table} == {table[0].count("|")}
    assert "    dstcc emulate 'examples/mars table1.toml'" in text
    assert r"a\|b" in text


def test_hostile_names_stay_text_in_markdown(make_run: RunFactory) -> None:
    text = render(load_report([make_run(RunSpec(name=HOSTILE, chunks=60, seeds=(1,)))]), "md")
    assert "<script>" not in text
    assert text.startswith("# &lt;script&gt;")


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (None, "none"),
        ({}, "none"),
        ({"packet": 0.01}, "0.01 of packets"),
        ({"ber": 1e-6}, "10⁻⁶ of bits"),
        ({"ebn0_db": 2.5, "code": "ccsds-c2"}, "ccsds-c2 at 2.5 dB"),
        (
            {"frames": {"code": "ccsds-c2", "ebn0_db": [2.5, 4.0], "frame_error_rate": [0.1, 1e-3]}},
            "ccsds-c2 at 2.50 to 4.00 dB: 0.1 to 10⁻³ of frames",
        ),
        (
            {"frames": {"code": "ccsds-c2", "ebn0_db": [4.0, 4.0], "frame_error_rate": [1e-3, 1e-3]}},
            "ccsds-c2 at 4.00 dB: 10⁻³ of frames",
        ),
        ({"packet": {"log_uniform": [1e-4, 1e-2]}}, "10⁻⁴ – 0.01 (log-uniform draw) of packets"),
    ],
)
def test_losses_in_words(loss: object, expected: str) -> None:
    assert describe_loss(loss) == expected


def test_bursts_in_words() -> None:
    text = describe_loss({"gilbert_elliott": {"p": 0.02, "r": 0.25, "bad": 0.5}})
    assert text == "bursts: 0 / 0.5 of packets in good / bad state (good→bad 0.02, bad→good 0.25)"


def test_every_metric_points_the_way_people_want() -> None:
    ways = {way: {metric.key for metric in METRICS if metric.better == way} for way in (1, -1, 0)}
    assert ways[1] >= {
        *(
            "playback_ratio",
            "full_quality_ratio",
            "weighted_layers",
            "oracle_ratio",
            "psnr_db",
            "ssim",
            "vmaf",
        ),
        *("bytes_in_time", "full_quality_bytes", "goodput_bps", "throughput_bps", "fairness_jain"),
    }
    assert ways[-1] >= {
        *("startup_s", "stall_s", "stalls", "completion_s", "hol_blocking_ratio", "hol_wait_s"),
        *("mean_rtt_s", "p95_queue_s", "retransmitted_ratio"),
    }
    assert ways[0] >= {"guard_actions", "own_share", "flows_bps", "sent_bytes", "delivered_bytes"}


@pytest.mark.parametrize(("key", "wins"), [("weighted_layers", 2), ("hol_wait_s", 1)])
def test_a_seed_is_won_by_more_or_by_less(key: str, wins: int) -> None:
    difference = paired_difference({1: 2.0, 2: 3.0, 3: 0.0}, {1: 1.0, 2: 1.0, 3: 1.0})
    assert difference is not None
    assert won(METRIC[key], difference) == wins


def test_the_scale_says_what_it_distorts() -> None:
    # 30 × 0.2 s = 6 s; 30 × 40 ms = 1.2 s; 30³ = 2.7e4; 30 × 10 s = 5 min.
    text = describe_scale(30.0, ["cubic", "bbr", "bbr-scaled"]).replace("\u202f", " ")
    for part in ("6 s", "1.2 s", "2.7 × 10⁴", "5 min", "bbr-scaled counts"):
        assert part in text
    assert describe_scale(1.0, ["cubic"]).startswith("1: unscaled")


def test_the_scale_speaks_of_the_controls_that_run_only() -> None:
    for controls, names in (
        (["cubic", "agent"], {"CUBIC"}),
        (["bbr"], {"BBR"}),
        (["bbr-scaled", "newreno"], set()),
    ):
        text = describe_scale(30.0, controls)
        assert {name for name in ("CUBIC", "BBR", "bbr-scaled") if name in text} == names
        assert "a delayed ACK waits" in text
    assert "timeout" not in describe_scale(30.0, ["ltp"])


def test_a_report_without_bbr_does_not_mention_it(make_run: RunFactory) -> None:
    facts = {}
    for controls in (("cubic",), ("cubic", "bbr")):
        (section,) = load_report([make_run(RunSpec(congestion=controls, chunks=60, seeds=(1,)))]).sections
        facts[controls] = dict(describe_mission(section, Tables()).facts)["Scale"]
    assert "BBR" not in facts["cubic",]
    assert "BBR" in facts["cubic", "bbr"]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.usefixtures("undrawn")
def test_reconstructions_are_called_so_in_every_format(make_run: RunFactory, form: str) -> None:
    run = make_run(RunSpec(chunks=120, congestion=("cubic",), scheduler="qle-ds"))
    assert "cubic+qle-ds (reconstruction)" in render(load_report([run]), form)


def test_a_figure_keeps_the_mark_of_a_reconstruction() -> None:
    assert short("westwood+qle-ds (reconstruction)") == "westwood+qle-ds\n(reconstruction)"
    assert short("a" * 40 + " (reconstruction)").endswith("…\n(reconstruction)")
