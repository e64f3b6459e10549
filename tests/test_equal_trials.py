"""``scripts/equal_trials.py`` finds a difference, finds none where there is none, and tries all there is."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dstcc.engine import CONGESTION_NAMES, SCHEDULER_NAMES, simulate

SCRIPT = Path(__file__).parents[1] / "scripts" / "equal_trials.py"
FEW = 60


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("equal_trials", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def base(tool: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("equal") / "base.json"
    assert tool.main(["--trials", str(FEW), "-o", str(path)]) == 0
    return path


def against(tool: ModuleType, path: Path, *more: str) -> int:
    code: int = tool.main(["--trials", str(FEW), "--against", str(path), *more])
    return code


def test_the_same_build_differs_in_nothing(
    tool: ModuleType, base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert against(tool, base) == 0
    assert f"0 of {FEW} trials differ" in capsys.readouterr().out


def test_a_difference_is_named_with_its_parts(
    tool: ModuleType, base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(base.read_text())
    document["results"][17]["samples"] = "0"
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(document))
    assert against(tool, changed) == 1
    out = capsys.readouterr().out
    assert f"differs in samples: {tool.draw_trial(1, 17)}" in out
    assert f"1 of {FEW} trials differ" in out
    assert against(tool, changed, "--ignore", "samples") == 0


@pytest.mark.parametrize("part", ["objects", "samples", "totals", "cost", "flows", "trace"])
def test_one_number_changes_one_part(tool: ModuleType, part: str) -> None:
    """Of a trial that has background flows and a trace, each part is changed in one place."""
    trials = (tool.draw_trial(1, number) for number in range(1000))
    trial = next(
        t for t in trials if t.kind == "tcp" and t.config.trace and any(x.flows for x in t.config.links)
    )
    result = simulate(trial.config)

    def bumped(table: Any, column: str) -> Any:
        values = getattr(table, column).copy()
        values[-1] += 1
        return replace(table, **{column: values})

    total = "timeouts" if part == "totals" else "events"
    other = {
        "objects": {"objects": bumped(result.objects, "sent_bytes")},
        "samples": {"samples": bumped(result.samples, "pacing_bps")},
        "totals": {"totals": result.totals | {total: result.totals[total] + 1}},
        "cost": {"totals": result.totals | {total: result.totals[total] + 1}},
        "flows": {"flows": (*result.flows[:-1], bumped(result.flows[-1], "slot_srtt_ns"))},
        "trace": {"steps": bumped(result.steps, "cwnd_segments")},
    }
    wrong = replace(result, **other[part])
    assert tool.differing(tool.digests(result), tool.digests(wrong)) == [part]


def test_what_an_agent_does_and_sees_is_in_the_digest(tool: ModuleType) -> None:
    trial = tool.draw_trial(1, 6)
    assert trial.kind == "steered"
    one, other = tool.run_trial(1, trial), tool.run_trial(2, trial)  # other actions
    assert tool.run_trial(1, trial) == one
    assert "values" in tool.differing(one, other)


def test_an_error_is_a_result_without_the_place_in_the_source(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_config: object) -> None:
        raise RuntimeError("engine invariant broken: time never goes back (dstcc/engine/src/ltp.cpp:64)")

    monkeypatch.setattr(tool, "simulate", broken)
    expected = {"objects": "RuntimeError: engine invariant broken: time never goes back"}
    assert tool.run_trial(1, tool.draw_trial(1, 0)) == expected


def test_every_control_scheduler_loss_and_mode_is_tried(tool: ModuleType) -> None:
    covered = tool.coverage(tool.draw_trial(1, number) for number in range(1000))
    assert tool.missing(covered) == []
    for name in (*CONGESTION_NAMES, tool.EXTENSION):
        assert covered["control"][name] >= 10, name
    for name in (*SCHEDULER_NAMES, tool.EXTENSION):
        assert covered["scheduler"][name] >= 10, name
    assert tool.missing(covered | {"scheduler": covered["scheduler"] - Counter({"ecf": 1000})}) == [
        "scheduler ecf"
    ]


def test_other_trials_are_refused(tool: ModuleType, base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--seed", "2", "--trials", str(FEW)], ["--trials", "5"]):
        with pytest.raises(SystemExit) as stop:
            tool.main([*words, "--against", str(base)])
        assert stop.value.code == 2
        assert "holds other trials" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stop:
        tool.main(["--against", str(SCRIPT)])
    assert stop.value.code == 2
