"""A policy that drives a trial in the kernel."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median

import pytest
from click.testing import CliRunner
from dstcc_cli.main import main
from dstcc_kernel import backend
from dstcc_kernel.native import program

from dstcc.learn.policies.policy import save_policy
from dstcc.run import load_run

from .test_agent import policy

MINI = Path(__file__).parent / "mini.toml"


def test_a_policy_steers_windows_and_layers(kernel: Path, tmp_path: Path) -> None:
    """By hand: 40 segments in each window, every layer on the second link."""
    file, run = tmp_path / "hand.safetensors", tmp_path / "run"
    save_policy(file, policy(layers=3, headroom=0))
    words = ["emulate", str(MINI), "--backend", "kernel", "--controller", str(file), "-o", str(run), "--json"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.stderr
    (trial,) = json.loads(done.stdout)["trials"]
    assert (trial["controller"], trial["metrics"]["guard_actions"]) == ("hand", 0)
    samples = [row for row in load_run(run).samples().to_pylist() if row["srtt_s"] is not None]
    assert {row["cwnd_segments"] for row in samples[8:]} == {40}
    assert max(row["inflight_segments"] for row in samples) == 40, "all lanes of a link together"
    sent = [row for row in load_run(run).chunks().to_pylist() if row["subflow"] >= 0]
    assert {row["subflow"] for row in sent} == {1}


@pytest.mark.parametrize(
    ("name", "words"), [("mpquic-rl", "schedulers that exist in the simulator only"), ("pbq", "paces by bbr")]
)
def test_what_the_kernel_cannot_do_is_refused_before_the_run(name: str, words: str, tmp_path: Path) -> None:
    words_ = ["emulate", str(MINI), "--backend", "kernel", "--controller", name, "-o", str(tmp_path / "run")]
    done = CliRunner().invoke(main, words_)
    assert done.exit_code == 2
    assert words in done.stderr


@pytest.mark.parametrize("name", ["iodst-q", "dstcc-lanes"])
def test_a_round_trip_beyond_tcps_is_refused_where_only_a_controller_runs(name: str, tmp_path: Path) -> None:
    """800 s at scale 1: TCP's smoothed RTT holds 536 s. Without a congestion control in the run this went unseen."""
    long = ["--set", "link.0.delay_s=400", "--scale", "1", "--congestion", "none", "--controller", name]
    done = CliRunner().invoke(
        main, ["emulate", str(MINI), "--backend", "kernel", *long, "-o", str(tmp_path / "run")]
    )
    assert done.exit_code == 2
    assert "a round trip of 800 emulated s; Linux's TCP holds 536 s: at least 2" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.kernel
def test_a_mission_outlives_its_agent(kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after 320 s, the process that decides leaves its windows to Reno; layers still go and come."""
    file, run, killing = tmp_path / "hand.safetensors", tmp_path / "run", tmp_path / "killing"
    save_policy(file, policy(layers=3, headroom=0))
    killing.write_text(
        f"#!/bin/sh\n{program()} $1 & carrying=$!; sleep 40\n"
        "for other in $(grep -l \"^PPid:.$PPID$\" /proc/[0-9]*/status | tr -dc '0-9\\n'); do\n"
        '  [ "$other" = $$ ] || kill -9 "$other"\n'
        "done\nwait $carrying\n"
    )
    killing.chmod(0o755)
    monkeypatch.setattr(backend, "program", lambda *_: killing)
    words = ["emulate", str(MINI), "--backend", "kernel", "--controller", str(file), "-o", str(run), "--json"]
    done = CliRunner().invoke(
        main, [*words, "--set", "link.0.loss.packet=0.03", "--set", "link.1.loss.packet=0.03"]
    )
    assert done.exit_code == 0, done.stderr
    (trial,) = json.loads(done.stdout)["trials"]
    assert trial["metrics"]["guard_actions"] == 1
    samples = [row for row in load_run(run).samples().to_pylist() if row["srtt_s"] is not None]
    assert {row["cwnd_segments"] for row in samples if row["t_s"] > 1000} != {40}, "Reno moves them"
    assert any(row["rate_bps"] for row in samples if row["t_s"] > 1000)


def test_layers_of_a_table_go_when_and_where_the_simulators_do(kernel: Path, tmp_path: Path) -> None:
    """A policy that gives a table and no order. By turns, or waiting for the layer it builds on, an enhancement layer
    left a round trip later, and 88 of 150 layers had its link; paced before an action, the first left late."""
    rows = {}
    for name, words in (("simulator", []), ("kernel", ["--backend", "kernel"])):
        out = ["-o", str(tmp_path / name), "--json", "--set", "transport.lanes_per_link=16", *words]
        done = CliRunner().invoke(
            main, ["emulate", str(MINI), "--controller", "iodst-dqn", "--congestion", "none", *out]
        )
        assert done.exit_code == 0, done.stderr
        chunks = load_run(tmp_path / name).chunks().to_pylist()
        rows[name] = {(row["chunk"], row["layer"]): row for row in chunks}
    ours, theirs = rows["simulator"], rows["kernel"]
    assert sum(ours[at]["subflow"] == theirs[at]["subflow"] for at in ours) > 120
    assert theirs[0, 0]["first_sent_s"] == pytest.approx(ours[0, 0]["first_sent_s"], abs=0.5)
    later = [
        abs(ours[at]["first_sent_s"] - theirs[at]["first_sent_s"])
        for at in ours
        if at[1] == 1 and None not in (ours[at]["first_sent_s"], theirs[at]["first_sent_s"])
    ]
    assert len(later) > 25
    assert median(later) < 50
