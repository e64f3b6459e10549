"""What runs in a guest, or on a host, imports nothing from the folder that the user stands in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dstcc_kernel import backend, guest, host
from dstcc_kernel.job import JOB, read_job

from dstcc.engine import AGENT
from dstcc.errors import KernelError
from dstcc.learn.env.episodes import steered
from dstcc.learn.policies.policy import load_policy
from dstcc.scenario import draw_trial, engine_config, load_scenario, load_source

MINI = Path(__file__).parent / "mini.toml"
NAMES = ("numpy", "dstcc", "dstcc_kernel", "json", "safetensors", "pathlib")


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in, with modules of names that dstcc imports."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.py").write_text(f"raise SystemExit('the {name} of the user was run')\n")
    monkeypatch.chdir(folder)
    return folder


def jobs(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that a trial starts in a guest and on a host."""
    commands: list[list[str]] = []

    def start(words: list[str]) -> None:
        commands.append(words)
        raise KernelError("far enough")

    monkeypatch.setattr(guest, "run", lambda _kernel, words, **_options: start(words))
    monkeypatch.setattr(host, "run", lambda words, *_log, **_options: start(words))
    monkeypatch.setattr(backend, "built", lambda: SimpleNamespace(kernel=Path()))
    monkeypatch.setattr(backend, "program", lambda *_: Path("/bin/true"))
    scenario = load_scenario(MINI)
    config = engine_config(scenario, draw_trial(scenario, load_source(scenario), 1), "cubic", "minrtt")
    for on_host in (False, True):
        with pytest.raises(KernelError, match="far enough"):
            backend.run(config, on_host=on_host)
    return commands


def test_a_jobs_command_imports_nothing_from_the_current_folder(
    hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = jobs(monkeypatch)
    assert len(commands) == 2
    for words in commands:
        done = subprocess.run(
            [*words[:-1], str(hostile / "none")],
            env={"PYTHONPATH": backend.python_path()},
            capture_output=True,
            text=True,
            check=False,
        )
        assert "was run" not in done.stderr
        assert "No such file or directory" in done.stderr and "none/job.json" in done.stderr


def test_the_command_line_as_a_module_imports_nothing_from_there(hostile: Path, uncovered: None) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dstcc_cli", "algorithms"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "was run" not in done.stderr
    done = subprocess.run([sys.executable, "-c", "import json"], capture_output=True, text=True, check=False)
    assert "the json of the user was run" in done.stderr, "else the test would not see it"


def test_a_guest_gets_the_policy_as_the_trial_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lanes may be fewer than those of the file that the scenario names."""
    given = load_policy("dstcc-lanes").on_lanes(3)
    loaded: list[Any] = []

    def start(_kernel: Path, words: list[str], **_options: object) -> None:
        loaded.append(read_job(Path(words[-1]) / JOB))
        loaded.append(load_policy(loaded[0].steer["policy"]))
        raise KernelError("far enough")

    monkeypatch.setattr(guest, "run", start)
    monkeypatch.setattr(backend, "built", lambda: SimpleNamespace(kernel=Path()))
    monkeypatch.setattr(backend, "guest_module", lambda _kernel: Path("/p.ko"))
    monkeypatch.setattr(backend, "program", lambda *_: Path("/bin/true"))
    scenario = load_scenario(MINI)
    config = engine_config(scenario, draw_trial(scenario, load_source(scenario), 1), AGENT, AGENT)
    with pytest.raises(KernelError, match="far enough"):
        backend.run(config, policy=given)
    job, policy = loaded
    assert (policy.name, policy.action, policy.network) == ("dstcc-lanes", given.action, given.network)
    assert all((policy.tensors[name] == tensor).all() for name, tensor in given.tensors.items())
    slot_ns = steered(config, given.action).slot_ns
    assert job.steer == {
        "policy": job.steer["policy"],
        "layers": 3,
        "slot_s": slot_ns / 1e9,
        "scale": config.transport.scale,
    }
    assert (job.lanes_per_link, job.module, job.shared, job.rate) == (3, "/p.ko", True, True)


@pytest.mark.kernel
def test_a_guests_agent_imports_nothing_from_there(kernel: Path, hostile: Path) -> None:
    words = [
        "emulate",
        str(MINI),
        "--backend",
        "kernel",
        "--controller",
        "dstcc",
        "-o",
        "run",
        "--no-quality",
    ]
    words += ["--set", "scenario.duration_s=400", "--set", "video.loop_to_s=100"]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "dstcc_cli", *words],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )
    assert done.returncode == 0, done.stderr
