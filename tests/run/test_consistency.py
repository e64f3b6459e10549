"""The metrics of a trial against the tables of the same run, worked out again row by row, on the real engine."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from dstcc.run import Run, load_run, write_run
from dstcc.scenario import load_scenario, load_source, parse_override, parse_scenario

THREE_LINKS = """
[scenario]
name = "three links"
[video]
synthetic = {chunk_s = 1.0, layer_bps = [150_000, 130_000, 120_000]}
loop_to_s = 60
[[link]]
name = "moving"
rate_bps = 300_000
delay_s = [[0, 1.0], [60, 1.4], [200, 1.1]]
loss = {gilbert_elliott = {p = 0.01, r = 0.2, bad = 0.5}}
[[link]]
name = "dark"
rate_bps = 250_000
delay_s = 0.6
loss = {ber = 1e-6}
outages = [[20, 25], [40, 50]]
cross_traffic = [{rate_bps = 50_000, on_s = 5, off_s = 5}]
[[link]]
name = "drawn"
rate_bps = {uniform = [100_000, 200_000]}
up_rate_bps = 20_000
delay_s = {log_uniform = [0.2, 2.0]}
loss = {packet = 1e-3}
[transport]
congestion = ["fixed", "open-loop", "newreno", "cubic", "westwood", "bbr", "bbr-scaled"]
[playout]
delay_s = 6
"""

VARIANTS = {
    "stream": (),
    "lanes": ("transport.mode=lanes", "transport.lanes_per_link=4"),
    "stored": ("video.source=stored", "run.seeds=2", "transport.congestion=cubic"),
    "stall": ("playout.mode=stall",),
    "schedulers": (
        'transport.scheduler=["minrtt", "round-robin", "redundant", "layer-pinned"]',
        "transport.congestion=bbr-scaled",
    ),
    "pinned": (
        "transport.scheduler=layer-pinned",
        'transport.layer_links=["dark", "moving", "drawn"]',
        "transport.congestion=newreno",
    ),
    "ltp": ("transport.congestion=ltp", "transport.ltp_green_from_layer=1"),
    "short": ("scenario.duration_s=30", "transport.congestion=open-loop"),
    "small buffer": ("transport.receive_buffer_bytes=20_000", "transport.congestion=cubic"),
}


@pytest.fixture(scope="module", params=VARIANTS, ids=list(VARIANTS))
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("run")
    path = folder / "three.toml"
    path.write_text(THREE_LINKS)
    scenario = load_scenario(path, [parse_override(text) for text in VARIANTS[request.param]])
    write_run(folder / "run", scenario, load_source(scenario), argv=[])
    return load_run(folder / "run")


def chunks_of(run: Run, trial: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in run.chunks().to_pylist() if row["trial"] == trial["id"]]


def test_every_trial_came_to_its_end(run: Run) -> None:
    assert [trial["error"] for trial in run.trials] == [None] * len(run.trials)


def test_the_playback_metrics_follow_from_what_arrived_in_time(run: Run) -> None:
    for trial in run.trials:
        rows = chunks_of(run, trial)
        layers = max(row["layer"] for row in rows) + 1
        levels = dict.fromkeys((row["chunk"] for row in rows), -1)
        for row in sorted(rows, key=lambda row: (row["chunk"], row["layer"])):
            in_time = (
                None not in (row["complete_s"], row["deadline_s"]) and row["complete_s"] <= row["deadline_s"]
            )
            if in_time and levels[row["chunk"]] == row["layer"] - 1:
                levels[row["chunk"]] = row["layer"]
        assert all(row["played_level"] == levels[row["chunk"]] for row in rows)
        shares = [
            sum(level == layer for level in levels.values()) / len(levels) for layer in range(-1, layers)
        ]
        names = ["none", *map(str, range(layers))]
        assert [trial[f"layers_played.{name}"] for name in names] == pytest.approx(shares)
        assert trial["playback_ratio"] == pytest.approx(1 - shares[0])
        assert trial["full_quality_ratio"] == pytest.approx(shares[-1])
        weights = [(layers - row["layer"]) * (row["layer"] <= row["played_level"]) for row in rows]
        assert trial["weighted_layers"] == pytest.approx(
            sum(weights) / sum(layers - row["layer"] for row in rows)
        )
        assert trial["oracle_ratio"] is None or trial["weighted_layers"] <= trial["oracle_ratio"] <= 1 + 1e-9


def test_the_transport_metrics_follow_from_the_bytes(run: Run) -> None:
    for trial in run.trials:
        rows = chunks_of(run, trial)
        sent, delivered = (sum(row[key] for row in rows) for key in ("sent_bytes", "delivered_bytes"))
        played = sum(row["bytes"] for row in rows if row["layer"] <= row["played_level"])
        assert (trial["sent_bytes"], trial["delivered_bytes"]) == (sent, delivered)
        assert trial["throughput_bps"] == pytest.approx(8 * delivered / trial["duration_s"])
        assert trial["goodput_bps"] == pytest.approx(8 * played / trial["duration_s"])
        begun = min(row["first_sent_s"] for row in rows if row["first_sent_s"] is not None)
        ends = [row["complete_s"] for row in rows]
        expected = None if None in ends else pytest.approx(max(ends) - begun)
        assert trial["completion_s"] == expected
        assert 0 <= trial["hol_blocking_ratio"] <= 1
        assert 0 <= trial["retransmitted_ratio"] < 1
        assert trial["mean_rtt_s"] >= 0.4


def test_layers_are_sent_and_arrive_in_an_order_that_can_be(run: Run) -> None:
    for row in run.chunks().to_pylist():
        assert 0 <= row["delivered_bytes"] <= row["bytes"]
        assert row["delivered_bytes"] <= row["sent_bytes"]
        if row["first_sent_s"] is not None:
            assert row["first_sent_s"] >= row["release_s"]
            assert row["subflow"] >= 0
        if row["complete_s"] is not None:
            assert row["delivered_bytes"] == row["bytes"]
            assert row["first_sent_s"] + 0.2 <= row["first_arrival_s"] <= row["complete_s"]


def test_samples_are_whole_and_bounded(run: Run) -> None:
    spans = defaultdict(list)
    for row in run.samples().to_pylist():
        assert 0 <= row["loss"] <= 1
        assert row["rate_bps"] >= 0
        assert row["inflight_segments"] >= 0
        assert row["srtt_s"] is None or row["srtt_s"] >= row["min_rtt_s"] >= 0.4
        spans[row["trial"], row["subflow"]].append(row["t_s"])
    windows = {one["name"]: one["windows"] for one in run.meta["algorithms"]}
    rows = Counter(trial for trial, _ in spans)
    assert rows == {trial["id"]: windows[trial["id"].partition("/")[0]] for trial in run.trials}
    for times in spans.values():
        assert times == sorted(set(times))
        assert len(times) <= 2_100


def test_every_algorithm_meets_the_links_of_its_seed(run: Run) -> None:
    drawn = defaultdict(set)
    for trial in run.trials:
        drawn[trial["seed"]].add(trial["links"])
    assert all(len(links) == 1 for links in drawn.values())
    assert len({json.loads(*links)[2]["delay_s"] for links in drawn.values()}) == len(drawn)


def test_the_scenario_as_resolved_runs_the_same(run: Run, tmp_path: Path) -> None:
    again = parse_scenario(run.scenario, source="scenario.toml")
    write_run(tmp_path / "again", again, load_source(again), argv=[])
    assert load_run(tmp_path / "again").samples().equals(run.samples())
    assert load_run(tmp_path / "again").chunks().equals(run.chunks())
