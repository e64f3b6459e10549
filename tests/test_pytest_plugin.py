from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.quick import QUICK

SCENARIO = QUICK + "[expect]\n"


def run_pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """A pytest of its own in ``folder``, warnings being errors there too."""
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    scenarios = tmp_path / "scenarios" / "deep"
    scenarios.mkdir(parents=True)
    (scenarios / "good.toml").write_text(SCENARIO + 'playback_ratio = ">= 0.99"')
    (scenarios / "bare.toml").write_text(SCENARIO.replace("[expect]", ""))
    (scenarios / "other.toml").write_text("[tool]\nx = 1\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_own.py").write_text("def test_own():\n    pass\n")
    return tmp_path


def test_scenarios_are_items_beside_the_own_tests(folder: Path) -> None:
    done = run_pytest(folder, "tests", "--dstcc", "scenarios")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_a_folder_is_run_once_when_it_is_asked_for_twice(folder: Path) -> None:
    done = run_pytest(folder, ".", "--dstcc", "scenarios", "--dstcc", "scenarios/deep")
    assert "3 passed" in done.stdout


def test_a_scenario_of_programs_has_an_item_for_them_and_one_for_bounds_on_trials(tmp_path: Path) -> None:
    programs = SCENARIO.replace("[expect]", '[programs]\nrun = "true"\n[expect]\nprograms.bytes = "== 4"\n')
    (tmp_path / "programs.toml").write_text(programs)
    (tmp_path / "both.toml").write_text(programs + 'playback_ratio = ">= 0.99"')
    (tmp_path / "trials.toml").write_text('extends = "both.toml"\n[scenario]\nname = "again"\n')
    (tmp_path / "scenario.txt").write_text(SCENARIO)
    found = run_pytest(tmp_path, "--dstcc", ".", "--collect-only").stdout.split("\n\n")[0].splitlines()
    assert sorted(found) == [
        *("both.toml::expect", "both.toml::programs", "programs.toml::programs"),
        *("trials.toml::expect", "trials.toml::programs"),
    ]


def test_without_the_option_nothing_is_collected(folder: Path) -> None:
    assert "1 passed" in run_pytest(folder).stdout


def test_it_works_with_several_processes(folder: Path) -> None:
    done = run_pytest(folder, "tests", "--dstcc", "scenarios", "-n", "2")
    assert "3 passed" in done.stdout, done.stdout + done.stderr


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a run of five scenarios says of which none passes."""
    folder = tmp_path_factory.mktemp("failed")
    dark = SCENARIO.replace("[expect]", "outages = [[0, 1_000_000]]\n[expect]") + 'oracle_ratio = "<= 1"'
    for name, text in {
        "missed": SCENARIO + '"cubic.playback_ratio" = "> 1"\nsent_bytes = "< 5"',
        "idle": SCENARIO + '"bbr.playback_ratio" = ">= 0"',
        "dark": dark,
        "unknown": SCENARIO.replace("rate_bps", "rate_kbps"),
        "worse": "[scenario",
    }.items():
        (folder / f"{name}.toml").write_text(text)
    done = run_pytest(folder, "--dstcc", ".")
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def test_scenarios_fail_one_by_one(failed: str) -> None:
    assert "5 failed" in failed
    assert all(f"FAILED {name}.toml" in failed for name in ("missed", "idle", "dark", "unknown", "worse"))
    assert "Traceback" not in failed


def test_a_missed_bound_shows_metric_bound_and_value(failed: str) -> None:
    assert "cubic+minrtt/s1: playback_ratio is 1, expected > 1" in failed
    assert "cubic+minrtt/s1: sent_bytes is 10000, expected < 5" in failed


def test_a_bound_on_an_algorithm_that_is_not_run_fails(failed: str) -> None:
    assert "expect.bbr.playback_ratio: no trial is of it" in failed


def test_a_bound_on_what_nobody_could_have_fails(failed: str) -> None:
    assert "expect.oracle_ratio: no sender could have had a layer there in time" in failed


def test_a_scenario_that_cannot_be_read_fails_with_its_message(failed: str) -> None:
    assert "link.0.rate_kbps: unknown key" in failed
    assert "worse.toml: not TOML" in failed


def test_a_folder_that_is_not_there(folder: Path) -> None:
    done = run_pytest(folder, "--dstcc", "nowhere")
    assert done.returncode == 4
    assert "no such folder" in done.stderr


def test_the_plugin_imports_nothing_heavy() -> None:
    heavy = ("numpy", "pydantic", "pyarrow", "av")
    code = f"import dstcc.pytest_plugin, sys; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
