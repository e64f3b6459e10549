"""Policy files: what is written is read back; whatever is wrong with a file is said by name."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from dstcc import algorithms
from dstcc.engine import NEVER_NS
from dstcc.errors import PolicyError
from dstcc.learn.env.deep_space import DeepSpaceEnv
from dstcc.learn.policies.controller import ENTRY, TrainedOn, digest
from dstcc.learn.policies.drive import drive
from dstcc.learn.policies.policy import Policy, load_policy, save_policy
from dstcc.metrics import compute, play_by_deadline
from dstcc.reading import MOST_BYTES
from dstcc.scenario import draw_trial, engine_config, load_scenario, load_source
from tests.learn.made_policies import constant

BDP = ((1.0, 0), (0.0, 60), (0.0, 80))
"""Hold; or set 60 or 80 segments: what 200 and 300 kbit/s hold in 2 and 3 s, and some."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "made.safetensors"
    save_policy(path, constant((1, 2, 0, 1), windows=BDP, headroom=0))
    return path


def test_a_policy_comes_back_as_it_was(file: Path) -> None:
    made, read = constant((1, 2, 0, 1), windows=BDP, headroom=0), load_policy(file)
    assert read.header() == made.header()
    assert read.name == "made"
    assert all(np.array_equal(read.tensors[name], made.tensors[name]) for name in made.tensors)
    assert read.act(np.zeros((3, read.observation.size), dtype=np.float32)).tolist() == [[1, 2, 0, 1]] * 3


def test_a_policy_says_what_it_was_trained_on(tmp_path: Path) -> None:
    trained_on = (TrainedOn("table 1", "ab" * 32), TrainedOn("long outages", "cd" * 32))
    path = tmp_path / "said.safetensors"
    save_policy(path, replace(constant((0, 0, 0, 0)), trained_on=trained_on))
    read = load_policy(path)
    assert read.trained_on == trained_on
    assert read.about()["trained_on"] == [
        {"scenario": "table 1", "sha256": "ab" * 32},
        {"scenario": "long outages", "sha256": "cd" * 32},
    ]
    assert read.about()["sha256"] == read.header()["sha256"] != constant((0, 0, 0, 0)).header()["sha256"]


def test_a_file_of_before_the_list_is_read(file: Path) -> None:
    rewrite(file, lambda header: header.pop("trained_on"), signed=True)
    assert load_policy(file).trained_on == ()


def test_outputs_are_the_layers_by_hand() -> None:
    rng = np.random.default_rng(1)
    made = constant((0, 0, 0, 0))
    tensors = {
        name: rng.normal(size=tensor.shape).astype(np.float32) for name, tensor in made.tensors.items()
    }
    policy = replace(made, tensors=tensors)
    seen = rng.normal(size=(5, made.observation.size)).astype(np.float32)
    w0, b0, w1, b1 = (
        tensors[f"layers.{k}.{part}"].astype(np.float64) for k in (0, 1) for part in ("weight", "bias")
    )
    expected = np.maximum(seen @ w0.T + b0, 0) @ w1.T + b1
    assert policy.outputs(seen) == pytest.approx(expected, abs=1e-5)
    assert policy.outputs(seen[:1]) == pytest.approx(expected[:1], abs=1e-5)


def test_a_recorded_network_puts_out_its_rows_whatever_it_sees(tmp_path: Path) -> None:
    made = constant((0, 0, 0, 0))
    rows = np.arange(3 * made.action.outputs, dtype=np.float32).reshape(3, -1)
    save_policy(
        tmp_path / "tape.safetensors", replace(made, network={"kind": "recorded"}, tensors={"outputs": rows})
    )
    tape = load_policy(tmp_path / "tape.safetensors")
    seen = np.random.default_rng(1).normal(size=(2, tape.observation.size)).astype(np.float32)
    for row in (0, 1, 2, 2):  # the last one stays
        assert tape.outputs(seen).tolist() == [rows[row].tolist()] * 2
    assert replace(tape).outputs(seen[:1]).tolist() == [rows[0].tolist()]  # of a trial of its own


@pytest.mark.parametrize(("shape", "name"), [((0, 1), "outputs"), ((4, -1), "outputs"), ((4, 0), "rows")])
def test_recorded_rows_that_are_no_actions_are_refused(shape: tuple[int, int], name: str) -> None:
    made = constant((0, 0, 0, 0))
    rows = np.zeros((shape[0], made.action.outputs + shape[1]), dtype=np.float32)
    with pytest.raises(
        ValueError, match=rf"a tensor outputs \(steps, {made.action.outputs}\), not {name} \("
    ):
        replace(made, network={"kind": "recorded"}, tensors={name: rows})


def test_a_trainings_folder_is_its_policy(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "training"
    folder.mkdir()
    with pytest.raises(PolicyError, match="training: no such policy file"):
        load_policy(folder)
    (folder / "policy.safetensors").write_bytes(file.read_bytes())
    assert load_policy(folder).header() == load_policy(file).header()


def test_a_shipped_policy_is_known_by_its_name(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(algorithms, "POLICIES", file.parent)
    assert load_policy("made").header() == load_policy(file).header()
    with pytest.raises(PolicyError, match=r"mode: no such policy file, and .* shipped \(dstcc, made\)"):
        load_policy("mode")


def rewrite(file: Path, change: Callable[[dict[str, Any]], object], *, signed: bool = False) -> None:
    """Write the file anew with its header changed, its checksum left as it was unless ``signed``."""
    policy = load_policy(file)
    header = policy.header()
    change(header)
    if signed:
        body = {key: value for key, value in header.items() if key != "sha256"}
        header["sha256"] = digest(body, policy.tensors)
    file.write_bytes(save(dict(policy.tensors), metadata={ENTRY: json.dumps(header)}))


def test_truncated_at_any_place_is_refused(file: Path) -> None:
    whole = file.read_bytes()
    for length in (0, 1, 7, 8, 100, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:length])
        with pytest.raises(PolicyError, match="not a complete safetensors file"):
            load_policy(file)


def test_any_changed_byte_is_refused(file: Path) -> None:
    whole = bytearray(file.read_bytes())
    for place in np.random.default_rng(1).integers(0, len(whole), 60).tolist():
        damaged = bytearray(whole)
        damaged[place] ^= 0x10
        file.write_bytes(damaged)
        with pytest.raises(PolicyError, match=str(file)):
            load_policy(file)


def test_a_file_that_is_no_regular_one_or_too_large_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "other.safetensors"
    path.write_bytes((MOST_BYTES - 8).to_bytes(8, "little") + b"{")  # a header as long as all of it
    os.truncate(path, MOST_BYTES + 1)
    with pytest.raises(
        PolicyError, match=r"other.safetensors: has more than 64 MiB, which none of these has"
    ):
        load_policy(path)
    os.truncate(path, MOST_BYTES)
    with pytest.raises(PolicyError, match="not a complete safetensors file"):
        load_policy(path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(PolicyError, match="no such policy file"):
        load_policy(path)


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.safetensors"
    path.write_bytes(save({"a": np.zeros(3, dtype=np.float32)}, metadata={"format": "pt"}))
    with pytest.raises(PolicyError, match=r"no policy of dstcc"):
        load_policy(path)
    path.write_bytes(b"PK\x03\x04" + bytes(500))
    with pytest.raises(PolicyError, match="not a complete safetensors file"):
        load_policy(path)
    with pytest.raises(
        PolicyError, match="cubic: no such policy file, and no policy of that name is shipped"
    ):
        load_policy("cubic")


@pytest.mark.parametrize(
    "change, rule",
    [
        (lambda header: header.update(schema=2), "policy schema 2; this version reads 1"),
        (lambda header: header.pop("seed"), r"no seed \(int\)"),
        (lambda header: header.update(seed=7), "its checksum differs"),
        (lambda header: header["action"].update(headroom=9), "its checksum differs"),
    ],
)
def test_headers_that_are_wrong_are_refused(
    file: Path, change: Callable[[dict[str, Any]], object], rule: str
) -> None:
    rewrite(file, change)
    with pytest.raises(PolicyError, match=rule):
        load_policy(file)


@pytest.mark.parametrize(
    "entries", [["table 1"], [{"scenario": "a"}], [{"scenario": "a", "sha256": 3}], {"a": 1}, 7]
)
def test_a_wrong_list_of_scenarios_is_refused(file: Path, entries: object) -> None:
    rewrite(file, lambda header: header.update(trained_on=entries), signed=True)
    with pytest.raises(PolicyError, match=r"made\.safetensors: trained_on: a list of scenario and sha256"):
        load_policy(file)


@pytest.mark.parametrize(
    "tensors, rule",
    [
        (
            {"layers.0.weight": np.zeros((4, 9), np.float32)},
            r"layers.0: weight \(4, 9\).* do not take 58 values",
        ),
        ({"layers.1.bias": np.zeros(5, np.float32)}, "layers.1: weight"),
        ({"layers.2.bias": np.zeros(5, np.float32)}, "an mlp has layers.K.weight and .bias"),
        (
            {"layers.0.bias": np.full(4, np.nan, np.float32)},
            "tensor layers.0.bias: finite float32 numbers only",
        ),
        ({"layers.0.bias": np.zeros(4, np.float64)}, "tensor layers.0.bias: finite float32 numbers only"),
    ],
)
def test_weights_of_the_wrong_shape_or_kind_are_refused(tensors: dict[str, Any], rule: str) -> None:
    made = constant((0, 0, 0, 0))
    with pytest.raises(ValueError, match=rule):
        replace(made, tensors={**made.tensors, **tensors})


def test_observations_with_nan_or_of_another_shape_are_refused() -> None:
    policy = constant((0, 0, 0, 0))
    seen = np.zeros((1, policy.observation.size), dtype=np.float32)
    with pytest.raises(PolicyError, match="have the shape"):
        policy.outputs(seen[:, :5])
    seen[0, 3] = np.nan
    with pytest.raises(PolicyError, match="an observation holds NaN"):
        policy.outputs(seen)


def test_a_driven_trial_is_the_environment_with_the_same_actions(file: Path, mission: Path) -> None:
    policy, scenario = load_policy(file), load_scenario(mission)
    setup = draw_trial(scenario, load_source(scenario), 3)
    result = drive(policy, engine_config(scenario, setup, "cubic", "minrtt"))
    env = DeepSpaceEnv(mission, windows=BDP, headroom=0)
    env.reset(options={"scenario_seed": 3})
    while True:
        _, _, ended, over, _ = env.step(np.array([1, 2, 0, 1]))
        if ended or over:
            break
    assert np.array_equal(result.objects.complete_ns, env.result().objects.complete_ns)
    metrics = compute(setup.objects, result, play_by_deadline(setup.objects, result), best_weight=None)
    assert metrics.values["weighted_layers"] == pytest.approx(1.0, abs=0.1)
    assert metrics.values["guard_actions"] == 0


def test_a_policy_gone_mad_leaves_newreno_at_the_wheel(mission: Path) -> None:
    made = constant((1, 2, 0, 1), windows=BDP, headroom=0)
    huge = {
        **made.tensors,
        "layers.0.bias": np.full(4, 3e38, np.float32),
        "layers.1.weight": np.full((10, 4), 10, np.float32),
    }
    mad = replace(made, tensors=huge)
    scenario = load_scenario(mission)
    config = engine_config(scenario, draw_trial(scenario, load_source(scenario), 3), "newreno", "minrtt")
    result = drive(mad, config)
    assert (result.samples.pacing_bps == 0).all()  # the agent paces, NewReno does not
    assert result.objects.complete_ns.max() > 0


def test_windows_beyond_the_guard_are_counted(mission: Path) -> None:
    scenario = load_scenario(mission)
    config = engine_config(scenario, draw_trial(scenario, load_source(scenario), 3), "cubic", "minrtt")
    greedy: Policy = constant((0, 0, 0, 1), windows=((64.0, 0),))
    assert drive(greedy, config).totals.guard_clamps > 10


def test_a_trial_too_large_for_the_policy_is_refused(mission: Path) -> None:
    scenario = load_scenario(mission)
    config = engine_config(scenario, draw_trial(scenario, load_source(scenario), 3), "cubic", "minrtt")
    assert config.duration_ns == NEVER_NS
    small = constant((0, 0), subflows=1, layers=1)
    with pytest.raises(PolicyError, match="is for 1 subflows and 1 layers; the scenario has 2 and 2"):
        drive(small, config)
