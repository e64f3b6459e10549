"""What a trial takes is estimated before it runs, near what the engine counts, and refused above a limit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from dstcc_cli.main import main

from dstcc.api import emulate
from dstcc.engine import simulate
from dstcc.engine.config import NEVER_NS
from dstcc.errors import InputError, ScenarioError
from dstcc.run.asked import estimates
from dstcc.scenario import horizon_s, load_scenario, load_source, parse_scenario
from dstcc.scenario.work import NAMES, PER_RUN_PACKET, Limits, limited, parse_limits, work_of
from scripts.random_trials.draw import draw_trial
from tests.quick import QUICK

ABOVE, BELOW = 10, 4
CODED_EVENTS = 3
"""Of a coded packet: its departure, its arrival and its part of an ACK, which the estimate counts whoever goes on by
itself."""
"""The engine's count over the estimate is below the one, and above 1 over the other where nearly all was delivered."""


def run(path: Path, *words: str):
    return CliRunner().invoke(main, ["emulate", str(path), *words])


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path: Path = tmp_path / "small.toml"
    path.write_text(QUICK)
    return path


HUGE = {
    "cross traffic of 1e12 bit/s": (
        ["scenario.duration_s=3600", "link.0.cross_traffic=[{rate_bps = 1e12}]"],
        "link.0.cross_traffic.0.rate_bps",
        "events",
    ),
    "bursts of a nanosecond": (
        ["scenario.duration_s=3600", "link.0.cross_traffic=[{rate_bps = 1e4, on_s = 1e-9}]"],
        "link.0.cross_traffic.0.on_s",
        "events",
    ),
    "flows that write bursts of a nanosecond": (
        [
            "scenario.duration_s=3600",
            "link.0.flows=[{rate_bps = 1e4, on_s = 1e-9, off_s = 1e-9}]",
        ],
        "link.0.flows.on_s",
        "events",
    ),
    "a greedy flow on a link of 1e12 bit/s": (
        ["scenario.duration_s=36000", "link.0.rate_bps=1e12", "link.0.flows=[{}]"],
        "link.0.flows",
        "events",
    ),
    "ten million layers": (
        ["video.synthetic={chunk_s = 1e-3, layer_bps = [8000]}", "video.loop_to_s=10_000"],
        "video.synthetic.chunk_s",
        "memory",
    ),
    "slots of a microsecond": (
        ["run.slot_s=1e-6", "link.0.subflows=32", "scenario.duration_s=1000"],
        "run.slot_s",
        "memory",
    ),
    "a hundred thousand seeds": (
        ["run.seeds=100000", "run.slot_s=1e-4", "scenario.duration_s=10"],
        "run.slot_s",
        "bytes",
    ),
}


@pytest.mark.parametrize(("settings", "key", "what"), HUGE.values(), ids=HUGE)
def test_what_would_hang_is_refused_by_number_key_and_limit(
    scenario: Path, tmp_path: Path, settings: list[str], key: str, what: str
) -> None:
    words = [word for text in settings for word in ("--set", text)]
    done = run(scenario, "-o", str(tmp_path / "run"), *words)
    assert done.exit_code == 2, done.output
    assert f": {key}: would take about " in done.stderr
    assert f"more than the limit of {getattr(Limits(), what):,.3g}; --limit {what}=" in done.stderr
    assert not (tmp_path / "run").exists()
    assert run(scenario, "--dry-run", *words).exit_code == 2


def test_the_limit_that_the_message_names_lets_it_run(scenario: Path, tmp_path: Path) -> None:
    tight = run(scenario, "-o", str(tmp_path / "run"), "--limit", "events=10")
    assert tight.exit_code == 2
    named = re.findall(r"--limit (events=\S+) lets it run", tight.stderr)
    assert len(named) == 1
    assert run(scenario, "-o", str(tmp_path / "run"), "--limit", named[0]).exit_code == 0
    assert run(scenario, "--dry-run").exit_code == 0  # the limit was that command's alone


def test_a_video_too_large_for_memory_is_refused_before_there_is_one(scenario: Path) -> None:
    """Five million layers are 2 GB by the estimate; one and a half times as many are over it."""
    document = load_scenario(scenario).model_dump(exclude_unset=True, mode="json")
    document["video"] = {"synthetic": {"chunk_s": 1e-3, "layer_bps": [8000.0]}, "loop_to_s": 7500.0}
    huge = parse_scenario(document, source="huge")
    with pytest.raises(ScenarioError, match=r"synthetic\.chunk_s: would take about 3e\+09 bytes of memory"):
        load_source(huge)


@pytest.mark.parametrize(
    "text", ["events", "events=", "events=-1", "events=0", "ram=1e9", "events=5GB", "memory=x"]
)
def test_a_limit_is_one_of_three_and_a_number(scenario: Path, text: str) -> None:
    done = run(scenario, "--dry-run", "--limit", text)
    assert done.exit_code == 2 and f"--limit {text}" in done.stderr


def test_limits_have_units() -> None:
    given = parse_limits(["memory=8GB", "bytes=1 TB", "events=1e12"])
    assert given == {"memory": 8e9, "bytes": 1e12, "events": 1e12}


def test_python_has_the_same_limits(scenario: Path) -> None:
    with pytest.raises(InputError, match="--limit events="):
        emulate(
            scenario, settings={"link.0.cross_traffic": [{"rate_bps": 1e12}], "scenario.duration_s": 3600.0}
        )
    with pytest.raises(InputError, match="would take about"):
        emulate(scenario, limits={"events": 10})
    assert emulate(scenario, limits={"events": 1e9}).trials.num_rows == 1


def test_a_burst_is_a_nanosecond_at_least(scenario: Path) -> None:
    done = run(scenario, "--dry-run", "--set", "link.0.cross_traffic=[{rate_bps = 1e4, on_s = 1e-12}]")
    assert done.exit_code == 2
    assert "link.0.cross_traffic.0.on_s: must be a nanosecond at least" in done.stderr


def test_estimates_are_near_what_the_engine_counts() -> None:
    """Of random trials, each up to its end. What fills its links takes what is estimated, what cannot takes less; what
    repeats packets much more often than they are lost takes more."""
    compared = 0
    for number in range(400):
        trial = draw_trial(5, number)
        if trial.kind == "steered":  # random windows repeat what they like
            continue
        config = trial.config
        try:
            result = simulate(config)
        except (RuntimeError, ValueError):  # the drawn blocks may not fit their code
            continue
        duration_s = None if config.duration_ns >= NEVER_NS else config.duration_ns / 1e9
        work = work_of(config, horizon_s(config.links, config.objects, duration_s))
        in_runs = CODED_EVENTS if trial.kind == "coded" else PER_RUN_PACKET
        counted = result.totals.events + in_runs * result.totals.run_packets
        ratio = counted / work.total("events")
        assert ratio < ABOVE, trial
        assert result.totals.engine_peak_bytes < work.total("memory"), trial
        others = any(link.flows or link.cross_traffic for link in config.links)
        delivered = result.objects.delivered_bytes.sum() > 0.95 * config.objects.payload_bytes.sum()
        if delivered and not others:
            compared += 1
            assert ratio > 1 / BELOW, trial
    assert compared >= 10


def test_others_traffic_counts_as_it_is_sent() -> None:
    """An hour of a datagram a second, half of it on: 1,800 datagrams of 2 events; 120 turns of a burst and a gap."""
    trial = parse_scenario(
        {
            "scenario": {"name": "x", "duration_s": 3600.0},
            "video": {"synthetic": {"chunk_s": 1.0, "layer_bps": [8.0]}},
            "link": [
                {
                    "name": "a",
                    "rate_bps": 1e6,
                    "delay_s": 1.0,
                    "cross_traffic": [{"rate_bps": 12_000.0, "on_s": 15.0, "off_s": 15.0}],
                }
            ],
        },
        source="x",
    )
    (work,) = estimates(trial, load_source(trial)).values()
    assert work.events["link.0.cross_traffic.0.rate_bps"] == pytest.approx(3600)
    assert work.events["link.0.cross_traffic.0.on_s"] == pytest.approx(480)
    assert work.events["video"] == pytest.approx(4 * 3600)  # a packet of a byte a second


def test_limits_nest() -> None:
    with limited({"events": 5}):
        with limited({"memory": 7e9}), pytest.raises(InputError):
            parse_limits(["none"])
        with pytest.raises(InputError, match="one of events, memory, bytes"), limited({"cpu": 5}):
            raise AssertionError
    assert NAMES == ("events", "memory", "bytes")
