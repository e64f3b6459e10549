"""A trial of a reproduction that fails ends the command by whose fault it was."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from dstcc_kernel import source

from dstcc.algorithms import POLICIES
from dstcc.errors import DstccError, InputError
from dstcc.papers import trial_cell
from dstcc.papers.cells import Outcome
from dstcc.papers.probes import PROBES
from dstcc.papers.trial_cell import TrialCell, policy_digest
from dstcc.run.trials import Trial, trial_keys
from tests.quick import QUICK


@pytest.mark.parametrize(("refused", "code"), [(False, 1), (True, 2)])
def test_a_trial_that_fails_is_bad_input_only_where_it_asked_for_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: bool, code: int
) -> None:
    (tmp_path / "s.toml").write_text(QUICK)
    cell = TrialCell(tmp_path / "s.toml", (), "cubic", 1)
    (key, *_) = trial_keys(cell.scenario)
    failed = Trial(key, error="MemoryError: ", refused=refused)
    monkeypatch.setattr(trial_cell, "iter_trials", lambda *_, **__: iter([failed]))
    with pytest.raises(DstccError, match=r"cubic/s1: the trial failed: MemoryError") as error:
        cell.run(tmp_path)
    assert error.value.exit_code == code


MANY = (
    QUICK
    + """
[transport]
congestion = ["cubic", "bbr"]
scheduler = ["minrtt", "round-robin"]
controller = ["iodst-dqn", "dstcc"]
"""
)


@pytest.mark.parametrize(
    ("name", "controllers", "congestion", "schedulers"),
    [
        ("cubic+round-robin", (), ("cubic",), ("round-robin",)),
        ("bbr+minrtt", (), ("bbr",), ("minrtt",)),
        ("iodst-dqn", ("iodst-dqn",), (), ("minrtt", "round-robin")),
    ],
)
def test_a_cells_scenario_has_its_trial_alone(
    tmp_path: Path,
    name: str,
    controllers: tuple[str, ...],
    congestion: tuple[str, ...],
    schedulers: tuple[str, ...],
) -> None:
    (tmp_path / "s.toml").write_text(MANY)
    one = TrialCell(tmp_path / "s.toml", (), name, 7).scenario
    assert [key.name for key in trial_keys(one)] == [name] and (one.run.seed, one.run.seeds) == (7, 1)
    transport = one.transport
    assert (transport.controller, transport.congestion) == (controllers, congestion)
    assert transport.scheduler == schedulers


def test_a_congestion_control_stands_for_its_only_trial(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(MANY)
    with pytest.raises(InputError, match=r"no trial 'cubic'; its trials are .*cubic\+minrtt"):
        TrialCell(tmp_path / "s.toml", (), "cubic", 1).scenario  # noqa: B018
    (tmp_path / "one.toml").write_text(MANY.replace(', "round-robin"', ""))
    cell = TrialCell(tmp_path / "one.toml", (), "cubic", 1)
    assert [key.name for key in trial_keys(cell.scenario)] == ["cubic+minrtt"]
    assert cell.label == "one  cubic/s1" and not cell.alone
    assert TrialCell(tmp_path / "one.toml", (), "cubic", 1, backend="kernel").alone


def test_a_cell_keeps_metrics_and_what_its_probes_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "s.toml").write_text(QUICK)
    monkeypatch.setitem(PROBES, "first", lambda *_: Outcome({"a": 1.0}, {"x": [1.0]}))
    monkeypatch.setitem(PROBES, "second", lambda *_: Outcome({"b": 2.0}, {"y": [2.0]}))
    seen = TrialCell(tmp_path / "s.toml", (), "cubic", 1, ("first", "second")).run(tmp_path)
    assert (seen.values["a"], seen.values["b"], seen.series) == (1.0, 2.0, {"x": [1.0], "y": [2.0]})
    assert seen.values["playback_ratio"] == 1.0  # 16 kbit/s over a link of 1 Mbit/s
    assert TrialCell(tmp_path / "s.toml", (), "cubic", 1).run(tmp_path).series == {}


def test_a_policy_is_known_by_its_bytes_whether_shipped_or_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("mine.safetensors", "folder"):
        (tmp_path / name).write_bytes(name.encode())
    for given, data in (
        ("mine.safetensors", b"mine.safetensors"),
        ("./folder", b"folder"),
        ("pbq", (POLICIES / "pbq.safetensors").read_bytes()),
    ):
        assert policy_digest(given) == hashlib.sha256(data).hexdigest()
    with pytest.raises(InputError, match=r"none\.safetensors: no policy"):
        policy_digest("none")


def test_a_cell_of_a_kernel_is_known_by_its_release(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(QUICK)
    plain, kernel = (
        TrialCell(tmp_path / "s.toml", (), "cubic", 1, backend=one) for one in ("simulator", "kernel")
    )
    assert "kernel" not in plain.identity() and plain.identity()["backend"] == "simulator"
    assert kernel.identity()["kernel"] == source.release().name
    assert kernel.identity()["backend"] == "kernel"
