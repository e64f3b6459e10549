"""Python that a scenario names runs only where the caller names it too, or allows it; never in a dry run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from dstcc_cli.main import main

from dstcc import trust
from dstcc.api import emulate
from dstcc.errors import InputError
from dstcc.scenario import load_scenario, load_source
from tests.quick import QUICK

OWN = """
from pathlib import Path

Path(__file__).with_name("ran").touch()

class Own:
    def __init__(self, setup): pass
    def on_ack(self, view): return 20
"""
NAMED = '[transport]\ncongestion = "own.py:Own"\n'


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    (tmp_path / "own.py").write_text(OWN)
    path: Path = tmp_path / "hostile.toml"
    path.write_text(QUICK + NAMED)
    return path


def dstcc(*words: object):
    return CliRunner().invoke(main, [str(word) for word in words])


def ran(scenario: Path) -> bool:
    return scenario.with_name("ran").exists()


@pytest.mark.parametrize("command", ["emulate", "ladder"])
def test_a_scenarios_python_does_not_run_by_itself(scenario: Path, tmp_path: Path, command: str) -> None:
    done = dstcc(command, scenario, "-o", tmp_path / "run")
    assert not ran(scenario)
    if command == "emulate":
        assert done.exit_code == 2
        assert "own.py:Own: Python that a scenario names runs only if you say so" in done.stderr
        assert "--allow-extensions" in done.stderr
        assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("more", [["--allow-extensions"], ["--congestion", "own.py:Own"]])
def test_it_never_runs_in_a_dry_run(scenario: Path, more: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(scenario.parent)
    done = dstcc("emulate", scenario, "--dry-run", *more)
    assert done.exit_code == 0, done.output
    assert "Own+minrtt/s1" in done.stdout
    assert not ran(scenario)


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ("class Other: pass", "has no class Own"),
        ("class Own(", "fails on import (SyntaxError"),
        ("(" * 5000, "fails on import"),
        ("\0", "fails on import"),
    ],
)
def test_a_dry_run_names_what_is_wrong_without_running(scenario: Path, source: str, rule: str) -> None:
    scenario.with_name("own.py").write_text(source)
    done = dstcc("emulate", scenario, "--dry-run")
    assert done.exit_code == 2 and rule in done.stderr


def test_a_name_on_the_command_line_is_enough(scenario: Path, tmp_path: Path) -> None:
    named = f"{scenario.parent}/own.py:Own"
    done = dstcc("emulate", scenario, "-o", tmp_path / "run", "--congestion", named)
    assert done.exit_code == 0, done.output
    assert ran(scenario)


def test_it_is_that_file_alone(scenario: Path, tmp_path: Path) -> None:
    """Naming one file lets no other run, neither of another folder nor of another class name."""
    (tmp_path / "sub").mkdir()
    mine = tmp_path / "sub" / "own.py"
    mine.write_text(OWN.replace("class Own", "class Mine"))
    scenario.write_text(QUICK + '[transport]\nscheduler = "minrtt"\ncongestion = "own.py:Own"\n')
    scheduler = OWN.replace(
        "on_ack(self, view): return 20", "pick(self, paths, ready, *more): return ready[0]"
    )
    scenario.with_name("own.py").write_text(scheduler)
    done = dstcc(
        *("emulate", scenario, "-o", tmp_path / "run", "--congestion", f"{mine}:Mine"),
        *("--set", "transport.scheduler=minrtt"),
    )
    assert done.exit_code == 0, done.output
    assert not ran(scenario)
    scenario.write_text(QUICK + '[transport]\nscheduler = "own.py:Own"\n')
    done = dstcc("emulate", scenario, "-o", tmp_path / "run2", "--congestion", f"{mine}:Mine")
    assert done.exit_code == 2 and not ran(scenario)


def test_allowed_it_runs_and_a_run_of_it_is_not_repeated_unasked(scenario: Path, tmp_path: Path) -> None:
    """A run directory names the file again: `export --format qlog` would run it."""
    run, said = tmp_path / "run", "--allow-extensions"
    assert dstcc("emulate", scenario, "-o", run, said).exit_code == 0
    scenario.with_name("ran").unlink()
    scenario.with_name("own.py").write_text(OWN + "\n# changed since\n")
    refused = dstcc("export", run, "--format", "qlog", "-o", tmp_path / "logs")
    assert refused.exit_code == 2 and "--allow-extensions" in refused.stderr and not ran(scenario)
    assert dstcc("export", run, "--format", "qlog", "-o", tmp_path / "logs", said).exit_code == 0
    assert ran(scenario)


def test_python_asks_the_same(scenario: Path) -> None:
    with pytest.raises(InputError, match="--allow-extensions"):
        emulate(scenario)
    assert not ran(scenario)
    assert emulate(scenario, allow_extensions=True).trials["status"].to_pylist() == ["ok"]
    assert ran(scenario)


def test_the_pytest_plugin_asks_the_same(scenario: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--dstcc={scenario.parent}"]
    refused = subprocess.run(command, cwd=scenario.parent, capture_output=True, text=True, check=False)
    assert refused.returncode == 1 and "--allow-extensions" in refused.stdout and not ran(scenario)
    command.append("--dstcc-allow-extensions")
    assert subprocess.run(command, cwd=scenario.parent, capture_output=True, check=False).returncode == 0
    assert ran(scenario)


def test_what_was_allowed_ends_with_the_command(scenario: Path, tmp_path: Path) -> None:
    assert dstcc("emulate", scenario, "-o", tmp_path / "run", "--allow-extensions").exit_code == 0
    assert dstcc("emulate", scenario, "-o", tmp_path / "run2").exit_code == 2
    assert not trust.only_looking()
    loaded = load_scenario(scenario)
    assert load_source(loaded).chunks == 5


def test_a_dry_run_as_json_says_the_work(scenario: Path) -> None:
    done = dstcc("emulate", scenario, "--dry-run", "--json")
    work = json.loads(done.stdout)["work"]
    assert set(work) == {"events", "memory", "bytes"}
    assert work["events"]["limit"] == 2e10 and 0 < work["events"]["estimate"] < 1e4
