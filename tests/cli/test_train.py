"""``dstcc train`` as a user meets it: the document, the exit codes, what it says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from dstcc_cli.main import main
from safetensors.numpy import save

from dstcc import learn
from dstcc.algorithms import POLICIES
from dstcc.ltp_rates.table import STATES, load

MISSION = """
[scenario]
name = "tiny"
[video]
synthetic = {chunk_s = 1.0, layer_bps = [100_000, 50_000]}
loop_to_s = 10
[[link]]
name = "a"
rate_bps = 200_000
delay_s = 1.0
loss = {packet = 1e-3}
[transport]
mode = "lanes"
[playout]
delay_rtts = 3
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(MISSION)
    return path


def invoke(*args: object) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


def test_json_is_the_document_and_the_policy_is_there(scenario: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = invoke(
        "train", scenario, "-o", run, "--algorithm", "iodst-dqn", "--steps", 320, "--seed", 4, "--json"
    )
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert list(document) == [
        "run", "algorithm", "steps", "seed", "policy", "evaluation", "env_steps_per_s", "wall_s",
    ]  # fmt: skip
    assert (document["algorithm"], document["steps"], document["seed"]) == ("iodst-dqn", 320, 4)
    assert set(document["evaluation"]) == {"metric", "mean", "low", "high"}
    assert Path(document["policy"]).is_file() and document["env_steps_per_s"] > 0

    again = invoke("train", scenario, "-o", run, "--steps", 320)
    assert again.exit_code == 2 and "already exists" in again.stderr
    further = invoke("train", scenario, "-o", run, "--steps", 352, "--resume")
    assert further.exit_code == 0 and "iodst-dqn, 352 steps (all steps done)" in further.stdout
    part = invoke("train", scenario, "-o", run, "--steps", 353, "--resume")  # 32 episodes step together
    assert "iodst-dqn, 384 steps (353 asked for, in whole batches)" in part.stdout.replace("\n", " ")
    other = invoke("train", scenario, "-o", run, "--resume", "--seed", 5)
    assert other.exit_code == 2 and "another seed 4, not 5" in other.stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--algorithm", "dtcc-lanes"), "did you mean 'dstcc-lanes'?"),
        (("--steps", "0"), "--steps"),
        (("--set", "x=1"), "--set"),
    ],
)
def test_bad_input_leaves_nothing(scenario: Path, tmp_path: Path, args: tuple[str, ...], said: str) -> None:
    done = invoke("train", scenario, "-o", tmp_path / "run", *args)
    assert done.exit_code == 2 and said in done.stderr
    assert not (tmp_path / "run").exists()


def test_without_torch_it_says_how_to_get_it(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learn, "find_spec", lambda name: None if name == "torch" else find_spec(name))
    done = invoke("train", scenario, "-o", tmp_path / "run")
    assert done.exit_code == 1
    assert "needs torch: pip install 'dstcc[learn]'" in done.stderr


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)]
)
def test_a_signal_saves(scenario: Path, tmp_path: Path, number: int, code: int) -> None:
    run = tmp_path / "run"
    command = [
        sys.executable,
        "-m",
        "dstcc_cli",
        "train",
        str(scenario),
        "-o",
        str(run),
        "--steps",
        "10000000",
    ]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"})
    start = time.monotonic()
    while not run.exists() and child.poll() is None and time.monotonic() - start < 60:
        time.sleep(0.02)
    time.sleep(1.0)
    child.send_signal(number)
    _, said = child.communicate(timeout=60)
    assert child.returncode == code, said.decode()
    assert b"--resume continues" in said
    assert list(run.glob("checkpoint-*.json"))


def test_a_scenario_without_links_trains_nothing(tmp_path: Path) -> None:
    path = tmp_path / "empty.toml"
    path.write_text(MISSION[: MISSION.index("[[link]]")] + MISSION[MISSION.index("[transport]") :])
    done = invoke("train", path, "-o", tmp_path / "run")
    assert done.exit_code == 2 and f"{path}: link: missing" in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_run_of_another_scenario_is_refused_and_left(scenario: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert invoke("train", scenario, "-o", run, "--algorithm", "iodst-q", "--steps", 64).exit_code == 0
    before = {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}
    scenario.write_text(MISSION.replace("200_000", "200_001"))
    done = invoke("train", scenario, "-o", run, "--resume", "--steps", 128)
    assert done.exit_code == 2 and "another scenario" in done.stderr
    assert {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()} == before


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda data: data[: len(data) // 2], "not a complete safetensors file"),
        (lambda data: data[:-9] + bytes([data[-9] ^ 4]) + data[-8:], "its checksum differs"),
        (lambda _: save({"a": np.zeros(3, np.float32)}), "no policy of dstcc"),
    ],
)
def test_a_damaged_policy_is_refused_before_anything_is_written(
    scenario: Path, tmp_path: Path, damage: Callable[[bytes], bytes], said: str
) -> None:
    policy = tmp_path / "p.safetensors"
    policy.write_bytes(damage((POLICIES / "pbq.safetensors").read_bytes()))
    done = invoke("emulate", scenario, "-o", tmp_path / "out", "--controller", policy)
    assert done.exit_code == 2 and str(policy) in done.stderr and said in done.stderr
    assert not (tmp_path / "out").exists()


def test_code_rates_are_a_table_of_one_go(tmp_path: Path) -> None:
    coded = (
        MISSION.replace('mode = "lanes"', 'mode = "stream"\ncongestion = "ltp"') + "[coding]\nblock_s = 2\n"
    )
    (tmp_path / "ltp.toml").write_text(coded)
    words = ("train", tmp_path / "ltp.toml", "-o", tmp_path / "rates.json", "--algorithm", "ltp-rates")
    for more, said in (
        (("--resume",), "--resume: ltp-rates"),
        (("--device", "cuda"), "--device cuda: ltp-rates"),
    ):
        refused = invoke(*words, *more)
        assert refused.exit_code == 2 and said in refused.stderr
    done = invoke(*words, "--steps", 2, "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert (document["algorithm"], document["episodes"], document["seed"]) == ("ltp-rates", 2, 1)
    assert len(load(tmp_path / "rates.json").shares) == STATES
    again = invoke(*words)
    assert again.exit_code == 2 and "rates.json" in again.stderr
