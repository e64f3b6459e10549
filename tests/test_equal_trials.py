"""``scripts/equal_trials.py`` finds a difference, finds none where there is none, and tries all there is."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dstcc.engine import CONGESTION_NAMES, SCHEDULER_NAMES, simulate
from scripts import equal_trials
from scripts.random_trials import run
from scripts.random_trials.coverage import coverage, missing
from scripts.random_trials.digest import differing, digests
from scripts.random_trials.draw import draw_trial
from scripts.random_trials.nodes import over_nodes
from scripts.random_trials.run import run_trial
from scripts.random_trials.trial import EXTENSION

FEW = 60


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("equal") / "base.json"
    assert equal_trials.main(["--trials", str(FEW), "-o", str(path)]) == 0
    return path


def against(path: Path, *more: str) -> int:
    code: int = equal_trials.main(["--trials", str(FEW), "--against", str(path), *more])
    return code


def test_the_same_build_differs_in_nothing(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert against(base) == 0
    assert f"0 of {FEW} trials differ" in capsys.readouterr().out


def test_a_difference_is_named_with_its_parts(
    base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(base.read_text())
    document["results"][17]["samples"] = "0"
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(document))
    assert against(changed) == 1
    out = capsys.readouterr().out
    assert f"differs in samples: {draw_trial(1, 17)}" in out
    assert f"1 of {FEW} trials differ" in out
    assert against(changed, "--ignore", "samples") == 0


@pytest.mark.parametrize("part", ["objects", "samples", "totals", "cost", "flows", "trace"])
def test_one_number_changes_one_part(part: str) -> None:
    """Of a trial that has background flows and a trace, each part is changed in one place."""
    trials = (draw_trial(1, number) for number in range(1000))
    trial = next(
        t for t in trials if t.kind == "tcp" and t.config.trace and any(x.flows for x in t.config.links)
    )
    result = simulate(trial.config)

    def bumped(table: Any, column: str) -> Any:
        values = getattr(table, column).copy()
        values[-1] += 1
        return replace(table, **{column: values})

    total = "timeouts" if part == "totals" else "events"
    more = replace(result.totals, **{total: getattr(result.totals, total) + 1})
    other = {
        "objects": {"objects": bumped(result.objects, "sent_bytes")},
        "samples": {"samples": bumped(result.samples, "pacing_bps")},
        "totals": {"totals": more},
        "cost": {"totals": more},
        "flows": {"flows": (*result.flows[:-1], bumped(result.flows[-1], "slot_srtt_ns"))},
        "trace": {"steps": bumped(result.steps, "cwnd_segments")},
    }
    wrong = replace(result, **other[part])
    assert differing(digests(result), digests(wrong)) == [part]


def test_nodes_are_in_the_digest_and_trials_over_them_run() -> None:
    """Of the first trials over nodes some forward, some split and some take custody."""
    forwards = set()
    for number in range(20):
        trial = over_nodes(1, draw_trial(1, number))
        forwards |= {hop.node.forwards for link in trial.config.links for hop in link.onward}
        parts = run_trial(1, trial)
        assert len(parts) > 1, parts
        if number == 0:
            result = simulate(trial.config)
            node = replace(result.nodes[0], came_packets=result.nodes[0].came_packets + 1)
            wrong = replace(result, nodes=(node, *result.nodes[1:]))
            assert differing(digests(result), digests(wrong)) == ["nodes"]
    assert forwards == {"packets", "split", "custody"}


def test_what_became_of_blocks_is_in_the_digest() -> None:
    trial = next(t for t in (draw_trial(1, number) for number in range(1000)) if t.kind == "coded")
    result = simulate(trial.config)
    assert result.coding is not None
    other = result.coding.decoded_ns.copy()
    other[-1] += 1
    wrong = replace(result, coding=replace(result.coding, decoded_ns=other))
    assert differing(digests(result), digests(wrong)) == ["coding"]


def test_what_an_agent_does_and_sees_is_in_the_digest() -> None:
    trial = draw_trial(1, 6)
    assert trial.kind == "steered"
    one, other = run_trial(1, trial), run_trial(2, trial)  # other actions
    assert run_trial(1, trial) == one
    assert "values" in differing(one, other)


def test_an_error_is_a_result_without_the_place_in_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_config: object) -> None:
        raise RuntimeError("engine invariant broken: time never goes back (dstcc/engine/src/ltp.cpp:64)")

    monkeypatch.setattr(run, "simulate", broken)
    expected = {"objects": "RuntimeError: engine invariant broken: time never goes back"}
    assert run_trial(1, draw_trial(1, 0)) == expected


def test_every_control_scheduler_loss_and_mode_is_tried() -> None:
    covered = coverage(draw_trial(1, number) for number in range(1000))
    assert missing(covered) == []
    for name in (*CONGESTION_NAMES, EXTENSION):
        assert covered["control"][name] >= 10, name
    for name in (*SCHEDULER_NAMES, EXTENSION):
        assert covered["scheduler"][name] >= 10, name
    assert missing(covered | {"scheduler": covered["scheduler"] - Counter({"ecf": 1000})}) == [
        "scheduler ecf"
    ]


def test_other_trials_are_refused(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--seed", "2", "--trials", str(FEW)], ["--trials", "5"]):
        with pytest.raises(SystemExit) as stop:
            equal_trials.main([*words, "--against", str(base)])
        assert stop.value.code == 2
        assert "holds other trials" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stop:
        equal_trials.main(["--against", __file__])
    assert stop.value.code == 2
