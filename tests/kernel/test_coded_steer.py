"""A policy of coded packets on the kernel: the lines between it and the program, and trials under it."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from dstcc_cli.main import main
from dstcc_kernel import backend
from dstcc_kernel.coded_steer import (
    CodedController,
    answer_of,
    coded_steer,
    mission_document,
    mission_of_document,
    read_slot,
)
from dstcc_kernel.native import program

from dstcc.coded.seen import RepairDecision
from dstcc.coded.shown import act
from dstcc.engine import CodedStepper, EngineConfig, EngineResult
from dstcc.engine.coded_stepper import CODED_LAYER_VALUES, CODED_SUBFLOW_VALUES
from dstcc.engine.stepper import RUNNING
from dstcc.errors import KernelError
from dstcc.forecast.own import Own
from dstcc.forecast.pilot import trial_mission
from dstcc.learn.policies.drive import drive
from dstcc.run import load_run
from dstcc.scenario import draw_trial, engine_config, load_scenario, load_source
from tests.forecast import made
from tests.forecast.test_own import RISING
from tests.forecast.test_own import config_of as mission_of_own

from .coded_parts import parts_program

# ------------------------------------------------------------------------------------------------------ lines

SUBFLOW = {name: float(10 + i) for i, name in enumerate(CODED_SUBFLOW_VALUES)}
LAYER = {name: float(40 + i) for i, name in enumerate(CODED_LAYER_VALUES) if name != "played"}


def line(*values: float, number: int = 3) -> str:
    return " ".join([str(number), *map(repr, values)]) + "\n"


def test_a_line_says_a_slot_in_mission_time() -> None:
    """Emulated seconds are ten of the mission's here, and a rate is a tenth."""
    given = {**LAYER, "slack_s": float("inf")}
    slot = read_slot(line(2.5, *SUBFLOW.values(), *LAYER.values(), *given.values()), 1, 2, scale=10)
    assert slot.number == 3
    assert slot.episode_values.tolist() == [[25.0]]
    assert slot.subflow_values.shape == (1, 1, len(CODED_SUBFLOW_VALUES))
    by_name = dict(zip(CODED_SUBFLOW_VALUES, slot.subflow_values[0, 0], strict=True))
    for name, value in SUBFLOW.items():
        factor = 10 if name.endswith("_s") else 0.1 if name.endswith("_bps") else 1
        assert by_name[name] == pytest.approx(value * factor), name
    first, second = (dict(zip(CODED_LAYER_VALUES, row, strict=True)) for row in slot.layer_values[0])
    assert first == {**LAYER, "slack_s": LAYER["slack_s"] * 10, "played": 0.0}
    assert second["slack_s"] == float("inf")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "invalid literal for int"),
        ("one 2.5", "invalid literal for int"),
        (line(2.5, *SUBFLOW.values()), "has 20 numbers"),
        (line(2.5, *SUBFLOW.values(), *LAYER.values(), 1.0), "has 29 numbers"),
        (line(2.5, *SUBFLOW.values(), *LAYER.values()).replace("41.0", "x"), "could not convert"),
        (line(2.5, *SUBFLOW.values(), *LAYER.values()).replace("41.0", "nan"), "of which 1 are none"),
    ],
)
def test_a_line_that_is_no_slots_is_refused(text: str, said: str) -> None:
    with pytest.raises(KernelError, match=said):
        read_slot(text, 1, 1, 1.0)


def test_an_answer_has_the_slots_number_a_place_and_each_layer() -> None:
    decision = RepairDecision(np.array([[0.1, 1 / 3]]), place=2, left_out=(1,))
    assert answer_of(7, decision) == f"7 2 0.1 0 {1 / 3!r} 1"
    assert answer_of(8, RepairDecision(np.array([[0.5]]))) == "8 -1 0.5 0"


# ------------------------------------------------------------------- what the program makes of a controller

NOTHING: dict[str, object] = {"unusable": 0, "gone": False}
OWN_RULE = {"place": -1, "layers": []}
"""Nothing decided: all as the configuration says."""


def asked(answers: Callable[[int], bytes | None], slots: int) -> list[dict[str, Any]]:
    """What is to hold after each slot of two layers, where a slot's question is answered so; ``None``: it is gone."""
    words = [str(parts_program("-fsanitize=address,undefined", "-fno-sanitize-recover=all"))]
    with subprocess.Popen(
        [*words, "ask", "2", str(slots), "60000"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as parts:
        assert parts.stdin and parts.stdout and parts.stderr
        for question in parts.stdout:
            assert not parts.stdin.closed, "who is gone is asked"
            number, values = question.split(b" ", 1)
            assert values == b"0.5\n"
            answer = answers(int(number))
            if answer is None:
                parts.stdin.close()
            else:
                parts.stdin.write(answer)
                parts.stdin.flush()
        said = parts.stderr.read().decode()
    assert parts.returncode == 0, said
    return [json.loads(row) for row in said.splitlines()]


def test_a_decision_holds_and_a_number_alone_leaves_all_as_it_is() -> None:
    first, second = asked(lambda slot: b"0 1 0.25 0 3 1\n" if slot == 0 else b"1\n", 2)
    assert first == {**NOTHING, "place": 1, "layers": [[0.25, 0], [3, 1]]}
    assert second == NOTHING


@pytest.mark.parametrize(
    "answer",
    [
        *(
            b"0 1 nan 0 0 0\n",
            b"0 1 inf 0 0 0\n",
            b"0 1 1e999 0 0 0\n",
            b"0 1 -0.5 0 0 0\n",
            b"0 1 1001 0 0 0\n",
        ),
        *(b"0 3 0 0 0 0\n", b"0 -2 0 0 0 0\n", b"0 1 0 0 0 2\n", b"0 1 0 0 0 -1\n"),
        *(b"0 1 0 0 0\n", b"0 1 0 0 0 0 0\n", b"0 1 0 0 0 0 x\n", b"0 x\n", b"0x\n", b"\n", b"1 1 0 0 0 0\n"),
        b"\xff\x00\n",
    ],
)
def test_what_is_no_decision_leaves_the_slot_to_the_transports_own_rule(answer: bytes) -> None:
    first, second = asked(lambda slot: answer if slot == 0 else b"1 0 0 0 0.5 0\n", 2)
    assert first == {**OWN_RULE, "unusable": 1, "gone": False}
    assert second == {"unusable": 1, "gone": False, "place": 0, "layers": [[0, 0], [0.5, 0]]}


def test_bounds_are_decisions() -> None:
    (row,) = asked(lambda _: b"0 -1 1000 1 -1 0\n", 1)
    assert row == {**NOTHING, "place": -1, "layers": [[1000, 1], [-1, 0]]}


def test_what_is_said_twice_is_no_answer_to_the_next_slot() -> None:
    rows = asked(lambda slot: b"0 0 0 0 0 0\n0 1 9 0 9 0\n" if slot == 0 else b"1 2 1 0 1 0\n", 2)
    assert [row["place"] for row in rows] == [0, 2]
    assert rows[1]["unusable"] == 0


def test_one_that_goes_is_asked_no_more() -> None:
    """It answers once; what it decided does not hold without it."""
    rows = asked(lambda slot: b"0 1 0.25 0 3 1\n" if slot == 0 else None, 4)
    assert rows[0]["place"] == 1
    assert rows[1] == {**OWN_RULE, "unusable": 0, "gone": True}
    assert rows[2:] == [{"unusable": 0, "gone": True}] * 2, "the rule holds on"


def test_a_line_without_an_end_is_the_last_that_is_read() -> None:
    rows = asked(lambda slot: b"0" * (1 << 17) if slot == 0 else b"", 2)
    assert [(row["unusable"], row["gone"]) for row in rows] == [(1, True)] * 2


def test_one_that_has_not_answered_is_asked_nothing_more() -> None:
    """Silent on slot 0 for longer than its patience of 100 ms, and the next slots end at once."""
    command = [str(parts_program()), "ask", "1", "4", "100"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as parts:
        assert parts.stdout and parts.stderr
        rows = [json.loads(row) for row in parts.stderr]
        assert parts.stdout.read() == b"0 0.5\n"
    assert rows == [{**OWN_RULE, "gone": False, "unusable": count} for count in (1, 2, 3, 4)]


# -------------------------------------------------------------------------------- beside the simulator's steps


def config_of(folder: Path, *changes: tuple[str, str]) -> EngineConfig:
    text = made.TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    scenario = load_scenario(made.write(folder, text))
    return engine_config(scenario, draw_trial(scenario, load_source(scenario), 1), "open-loop", "minrtt")


def test_a_mission_comes_through_json_as_it_is(tmp_path: Path) -> None:
    mission = trial_mission(config_of(tmp_path))
    again = mission_of_document(json.loads(json.dumps(mission_document(mission))))
    assert again.layers == mission.layers
    for name in ("block_s", "slot_s", "playout_s", "light_s", "rate_bytes"):
        assert np.array_equal(getattr(again, name), getattr(mission, name)), name
        assert np.asarray(getattr(again, name)).shape == np.asarray(getattr(mission, name)).shape


def test_a_trial_that_is_steered_over_lines_is_the_one_that_is_steered_directly(tmp_path: Path) -> None:
    """Each slot's numbers as the program writes them, each answer put into the stepper."""
    config, policy = config_of(tmp_path), made.policy()
    steer = json.loads(json.dumps(coded_steer(config, policy, tmp_path)))
    controller = CodedController(**steer)
    stepper = CodedStepper(1, 1, 3)
    stepper.load(0, config)
    number = 0
    while stepper.done[0] == RUNNING:
        rows = stepper.layer_values[0][:, :-1]
        assert CODED_LAYER_VALUES[-1] == "played"
        values = [stepper.episode_values[0, 0], *stepper.subflow_values[0, 0], *rows.reshape(-1)]
        answer = controller(line(*(float(value) for value in values), number=number)).split()
        assert int(answer[0]) == number
        shares = [float(word) for word in answer[2::2]]
        left_out = tuple(m for m, word in enumerate(answer[3::2]) if word == "1")
        act(stepper, RepairDecision(np.array([shares]), int(answer[1]), left_out))
        stepper.step()
        number += 1
    direct, lined = drive(policy, config), stepper.result(0)
    assert number > 40
    assert direct.coding is not None and lined.coding is not None
    for name in ("planned_packets", "repair_packets", "whole"):
        assert np.array_equal(getattr(direct.coding, name), getattr(lined.coding, name)), name
    assert direct.totals.guard_fallbacks == controller.totals["guard_fallbacks"]
    assert np.array_equal(direct.objects.complete_ns, lined.objects.complete_ns)


# ------------------------------------------------------------------------------------------------ on the kernel

TICK_NS = 40_000_000
"""A 500th of a round trip."""
CALM = ("{states = [{packet = 1e-4, dwell_s = 60}, {packet = 0.2, dwell_s = 40}]}", "{packet = 0.03}")


def carried(config: EngineConfig, **how: Any) -> EngineResult:
    return backend.run(config, tick_ns=TICK_NS, **how)


@pytest.mark.kernel
def test_a_policy_steers_the_repair_of_datagrams(kernel: Path, tmp_path: Path) -> None:
    """A forecaster that always believes in one chance of loss plans the same on both backends, whatever is lost."""
    config, policy = config_of(tmp_path, CALM), made.certain(30)
    steered, simulated, own = carried(config, policy=policy), drive(policy, config), carried(config)
    assert steered.coding is not None and simulated.coding is not None and own.coding is not None
    planned = [one.coding.planned_packets for one in (steered, simulated, own) if one.coding is not None]
    alike = planned[0] == planned[1]
    assert alike.mean() > 0.9, (planned[0][~alike], planned[1][~alike])
    assert (planned[0] != planned[2]).mean() > 0.5, "it is the transport's own rule"
    assert steered.totals.unusable_answers == 0
    assert own.totals.unusable_answers is None and own.totals.guard_fallbacks is None


@pytest.mark.kernel
def test_our_transport_plans_for_a_loss_that_changes(kernel: Path) -> None:
    """As in the simulator: by the engine's rule until feedback shows the change, and by the forecaster's plan then."""
    config = mission_of_own(RISING)
    driven, simulated, plain = carried(config, policy=Own()), Own().drive(config), carried(config)
    planned = [one.coding.planned_packets for one in (driven, simulated, plain) if one.coding is not None]
    assert config.coding is not None
    blocks = np.arange(len(planned[0])) // config.objects.layers
    early = (blocks + 1) * config.coding.block_ns < 960e9
    assert (planned[0][early] == planned[2][early]).all(), "nothing is decided before the change is heard of"
    late = ~early
    assert (planned[0][late] != planned[2][late]).mean() > 0.3
    assert planned[0][late].sum() == pytest.approx(planned[1][late].sum(), rel=0.15)


@pytest.mark.kernel
def test_two_runs_of_a_seed_under_a_policy_have_the_same_bytes(kernel: Path, tmp_path: Path) -> None:
    mission = made.write(tmp_path)
    made.policy().save(tmp_path / "made.safetensors")
    for name in ("a", "b"):
        words = ["emulate", str(mission), "--backend", "kernel", "--seeds", "1", "-o", str(tmp_path / name)]
        done = CliRunner().invoke(main, [*words, "--controller", str(tmp_path / "made.safetensors")])
        assert done.exit_code == 0, done.stderr
    for file in ("trials.parquet", "chunks.parquet", "samples.parquet"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes(), file
    run = load_run(tmp_path / "a")
    assert [row["id"] for row in run.trials] == ["open-loop+minrtt/s1", "made/s1"]
    own, made_ = run.trials
    assert own["guard_actions"] is None and made_["guard_actions"] >= 0
    assert own["repair_ratio"] != made_["repair_ratio"]


BETWEEN = """#!{python}
import os, sys, time
real, how, plan = {real!r}, {how!r}, sys.argv[1]
text = open(plan).read()
steer = next(row for row in text.splitlines() if row.startswith("steer "))
answers, questions = map(int, steer.split()[1:])
(heard, tell), (read, answer) = os.pipe(), os.pipe()
open(plan, "w").write(text.replace(steer, f"steer {{read}} {{tell}}"))
if os.fork() == 0:
    os.close(tell), os.close(read)
    with os.fdopen(heard) as asked, os.fdopen(questions, "w") as to, os.fdopen(answers) as back:
        with os.fdopen(answer, "w") as reply:
            for slot, question in enumerate(asked):
                to.write(question), to.flush()
                words = back.readline().split()
                if how == "late" and slot < 10:
                    time.sleep(3)  # of a slot of 5 s
                if how == "gone" and slot == 10:
                    break
                if how == "nan":
                    words[2] = "nan"
                reply.write(" ".join(words) + "\\n"), reply.flush()
    os._exit(0)
for end in (heard, answer, answers, questions):
    os.close(end)
for end in (read, tell):
    os.set_inheritable(end, True)
os.execv(real, [real, plan])
"""


@pytest.mark.kernel
@pytest.mark.parametrize("how", ["nan", "late", "gone"])
def test_without_decisions_a_trial_is_the_transports_own(
    kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """240 s of video in slots of 5 s. Shares that are no numbers decide nothing; whoever is late in its first ten slots
    decides from the next on, and whoever goes after ten nothing any more. Each slot without a decision is counted."""
    config, policy = config_of(tmp_path, CALM), made.certain(30)
    own = carried(config)
    between = tmp_path / "between"
    between.write_text(BETWEEN.format(python=sys.executable, real=str(program("coded")), how=how))
    between.chmod(between.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(backend, "program", lambda *_: between)
    result = carried(config, policy=policy)
    assert own.coding is not None and result.coding is not None
    unusable = result.totals.unusable_answers
    assert result.totals.guard_fallbacks == unusable
    assert (unusable >= 48) if how == "nan" else unusable == {"late": 10, "gone": 0}[how]
    steered = drive(policy, config).coding
    assert steered is not None
    early, late = slice(0, 3 * 8), slice(3 * 14, -3)
    planned = result.coding.planned_packets
    by_policy = [(planned[part] == steered.planned_packets[part]).mean() > 0.7 for part in (early, late)]
    assert by_policy == [how == "gone", how == "late"]
    if how != "gone":  # until anything is decided both lose the same packets
        assert (planned[early] == own.coding.planned_packets[early]).mean() > 0.9
    if how == "nan":
        assert (planned == own.coding.planned_packets).mean() > 0.9


@pytest.mark.kernel
def test_a_mission_outlives_its_policy(kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after 60 s: one fallback, and layers still come."""
    config, policy = config_of(tmp_path, CALM), made.certain(30)
    killing = tmp_path / "killing"
    killing.write_text(
        f"#!/bin/sh\n{program('coded')} $1 & carrying=$!; sleep 60\n"
        "for other in $(grep -l \"^PPid:.$PPID$\" /proc/[0-9]*/status | tr -dc '0-9\\n'); do\n"
        '  [ "$other" = $$ ] || kill -9 "$other"\n'
        "done\nwait $carrying\n"
    )
    killing.chmod(0o755)
    monkeypatch.setattr(backend, "program", lambda *_: killing)
    result = carried(config, policy=policy)
    assert result.totals.guard_fallbacks == 1 and result.totals.unusable_answers == 0
    late = config.objects.release_ns > 100e9
    assert (result.objects.complete_ns[late] >= 0).mean() > 0.9
