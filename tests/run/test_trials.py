from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import dstcc_svc
import numpy as np
import pytest

from dstcc import engine
from dstcc.engine import EngineConfig, EngineResult
from dstcc.errors import InputError, MissingCapabilityError, UnfinishedError
from dstcc.run import run_trials
from dstcc.run.tables import TrialRow, rows_of
from dstcc.run.trials import Judge, load_controllers
from dstcc.scenario import Scenario, load_scenario, load_source, parse_override
from tests.made_results import objects, result, toy_simulate

pytestmark = pytest.mark.usefixtures("toy")


def load(path: Path, *overrides: str) -> Scenario:
    return load_scenario(path, [parse_override(text) for text in overrides])


def test_trials_are_the_product_in_a_fixed_order(scenario_file: Path) -> None:
    trials = run_trials(load(scenario_file, 'transport.scheduler=["minrtt", "redundant"]'), jobs=4)
    assert [trial.id for trial in trials] == [
        f"{congestion}+{scheduler}/s{seed}"
        for congestion in ("cubic", "newreno")
        for scheduler in ("minrtt", "redundant")
        for seed in (1, 2)
    ]


def test_metrics_of_a_toy_trial(scenario_file: Path) -> None:
    cubic, newreno = run_trials(load(scenario_file, "run.seeds=1"))
    assert cubic.metrics is not None
    assert newreno.metrics is not None
    assert cubic.metrics.layers_played == (0.0, 0.0, 1.0)
    assert cubic.metrics.values["oracle_ratio"] == 1.0
    # newreno's toy loses the enhancement layer: 200 of 300 a chunk
    assert newreno.metrics.layers_played == (0.0, 1.0, 0.0)
    assert newreno.metrics.values["weighted_layers"] == pytest.approx(2 / 3)


def test_all_algorithms_meet_the_same_draws(scenario_file: Path) -> None:
    links = {
        (trial.key.seed, json.dumps([link.delay_ns for link in trial.outcome.setup.links]))
        for trial in run_trials(load(scenario_file))
        if trial.outcome
    }
    assert len(links) == 2


def test_a_trial_that_raises_fails_alone(scenario_file: Path) -> None:
    trials = run_trials(load(scenario_file, 'transport.congestion=["bbr", "cubic"]', "run.seeds=1"))
    assert [trial.status for trial in trials] == ["failed", "ok"]
    assert trials[0].error == "RuntimeError: the toy engine has no bbr"
    assert trials[0].metrics is None


def test_a_trial_that_was_ended_keeps_the_samples_seen_until_then(
    scenario_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a guest that hung leaves says nothing of layers."""

    def ended(config: EngineConfig) -> EngineResult:
        seen = toy_simulate(config)
        nothing = {name: column[:0] for name, column in vars(seen.objects).items()}
        raise UnfinishedError("it hung", replace(seen, objects=replace(seen.objects, **nothing)))

    monkeypatch.setattr(engine, "simulate", ended)
    for overrides in ((), ("playout.mode=stall",)):
        first = run_trials(load_scenario(scenario_file, [parse_override(one) for one in overrides]))[0]
        assert (first.status, first.error, first.outcome) == ("failed", "it hung", None)
        tables = rows_of(first)
        times = tables["samples"][1]
        assert list(tables) == ["samples"] and isinstance(times, np.ndarray) and times.size > 0
        assert "weighted_layers" not in TrialRow.of(first).values


def test_stall_mode_has_no_oracle(scenario_file: Path) -> None:
    (trial,) = run_trials(
        load(scenario_file, "run.seeds=1", "transport.congestion=cubic", "playout.mode=stall")
    )
    assert trial.metrics is not None
    assert trial.metrics.values["oracle_ratio"] is None
    assert trial.metrics.values["stalls"] == 0.0
    assert trial.outcome is not None
    # first base layer: captured at 1 s, one way, 1000 bytes at 80 kbit/s = 0.1 s; then the delay of 10 s
    one_way_s = trial.outcome.setup.links[0].delay_ns[0] / 1e9
    assert trial.metrics.values["startup_s"] == pytest.approx(1 + one_way_s + 0.1 + 10)


def test_the_clairvoyant_bound_is_worked_out_once_a_seed(
    scenario_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds: list[int] = []

    def bound(config: EngineConfig, _weights: object, *, any_packets: bool) -> float:
        assert not any_packets
        seeds.append(config.seed)
        return 1.0

    monkeypatch.setattr(engine, "clairvoyant_weight", bound)
    run_trials(load(scenario_file), jobs=1)
    assert seeds == [1, 2]


def test_few_trials_wait_in_memory(scenario_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dstcc.run.trials import iter_trials

    started: list[int] = []

    def count(config: EngineConfig) -> EngineResult:
        started.append(config.seed)
        return toy_simulate(config)

    monkeypatch.setattr(engine, "simulate", count)
    scenario = load(scenario_file, "run.seeds=50", "transport.congestion=cubic")
    source = load_source(scenario)
    trials = iter_trials(scenario, source, Judge(source, wanted=False), jobs=2)
    next(trials)
    trials.close()
    assert len(started) <= 4


@dataclass(frozen=True)
class Scores:
    psnr_db: float
    ssim: float
    vmaf: float


def test_pictures_are_judged_where_there_are_any(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[int]] = []

    def score(_stream: Path, levels: list[int]) -> Scores:
        asked.append(levels)
        return Scores(40.0, 0.9, 90.0)

    monkeypatch.setattr(dstcc_svc, "played_quality", score, raising=False)
    playback = _playback()
    assert Judge(_source(None), wanted=True).score(playback) is None
    assert Judge(_source(tmp_path), wanted=False).score(playback) is None
    assert Judge(_source(tmp_path), wanted=True).score(playback) == Scores(40.0, 0.9, 90.0)
    assert asked == [[1, -1]]


def test_a_machine_without_vmaf_is_a_warning_not_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(_stream: Path, _levels: list[int]) -> None:
        raise MissingCapabilityError("no libvmaf here")

    monkeypatch.setattr(dstcc_svc, "played_quality", lacking, raising=False)
    judge = Judge(_source(tmp_path), wanted=True)
    assert [judge.score(_playback()), judge.score(_playback())] == [None, None]
    assert judge.warnings == ["no psnr_db, ssim and vmaf: no libvmaf here"]


def _source(stream: Path | None):
    import numpy as np

    from dstcc.scenario import Source

    return Source(np.arange(2.0), np.arange(1.0, 3.0), np.ones((2, 2), dtype=np.int64), stream)


def _playback():
    from dstcc.metrics import play_by_deadline

    made = objects(2, [1] * 4, [0, 1], [5, 6])
    return play_by_deadline(made, result(made, [1, 2, None, 3]))


def test_variants_run_after_the_others_by_their_label(scenario_file: Path) -> None:
    text = scenario_file.read_text()
    scenario_file.write_text(
        f'{text}[[variant]]\nlabel = "fast"\ncongestion = "newreno"\nset = {{initial_cwnd = 77, scale = 3}}\n'
    )
    trials = run_trials(load(scenario_file, "transport.congestion=cubic"), jobs=2)
    assert [trial.id for trial in trials] == ["cubic+minrtt/s1", "cubic+minrtt/s2", "fast/s1", "fast/s2"]
    assert [trial.key.congestion for trial in trials] == ["cubic", "cubic", "newreno", "newreno"]
    setups = [trial.outcome.setup for trial in trials if trial.outcome]
    assert [setup.scale for setup in setups] == [1, 1, 3, 3]
    assert [setup.links for setup in setups[:2]] == [setup.links for setup in setups[2:]]


def test_a_variant_with_other_segments_has_a_bound_of_its_own(
    scenario_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []

    def bound(config: EngineConfig, _weights: object, *, any_packets: bool) -> float:
        assert not any_packets
        asked.append((config.seed, config.transport.mss_bytes))
        return 1.0

    monkeypatch.setattr(engine, "clairvoyant_weight", bound)
    text = scenario_file.read_text()
    scenario_file.write_text(
        f'{text}[[variant]]\nlabel = "small"\ncongestion = "newreno"\nset = {{mss_bytes = 500}}\n'
        '[[variant]]\nlabel = "wide"\ncongestion = "newreno"\nset = {initial_cwnd = 500}\n'
    )
    run_trials(load(scenario_file, "run.seeds=1"), jobs=1)
    assert asked == [(1, 1460), (1, 500)]


def test_a_planner_of_repair_needs_deadlines(tmp_path: Path) -> None:
    # It ended in an AssertionError.
    path = tmp_path / "mission.toml"
    path.write_text("""
[scenario]
name = "waits"
[video]
synthetic = {chunk_s = 1.0, layer_bps = [20_000]}
loop_to_s = 10
[[link]]
name = "a"
rate_bps = 200_000
delay_s = 8
[transport]
mode = "coded"
congestion = "open-loop"
controller = "gru-mpc"
[playout]
mode = "stall"
""")
    scenario = load_scenario(path)
    with pytest.raises(
        InputError, match=r"waits: playout.mode = 'stall', but the policy gru-mpc plans repair by deadlines"
    ):
        load_controllers(scenario, load_source(scenario))
