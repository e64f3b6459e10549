"""A forecaster's policy in the commands: a baseline of the ladder, trials of emulate, and why it did what it did."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from dstcc_cli.main import main

from dstcc.coded.channels import GRID
from dstcc.coded.shown import share_in_words
from dstcc.explain import explain, render
from dstcc.forecast.outlook import SIZE
from dstcc.run import load_run

from .made import certain, policy, write


def command(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(one) for one in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A mission, a policy, and a run of both."""
    made = tmp_path_factory.mktemp("commands")
    write(made)
    policy().save(made / "mine.safetensors")
    done = command(
        "emulate", made / "short.toml", "--controller", made / "mine.safetensors", "-o", made / "run"
    )
    assert done.exit_code == 0, done.output
    return made


def test_the_ladder_has_it_below_the_planner_that_knows_the_law(folder: Path, tmp_path: Path) -> None:
    done = command(
        "ladder",
        folder / "short.toml",
        "-o",
        tmp_path / "out",
        "--json",
        "--controller",
        folder / "mine.safetensors",
    )
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert [one["rung"] for one in document["ladder"]][:4] == [
        "clairvoyant",
        "planner-law",
        "controller",
        "planner-belief",
    ]
    assert document["ladder"][2]["name"] == "mine"
    (gap,) = document["gaps"]
    mine, best = (
        next(one["value"] for one in document["ladder"] if one["rung"] == baseline)
        for baseline in ("controller", "best-constant")
    )
    assert gap["controller"]["value"] == pytest.approx(mine - best)
    odd = command("ladder", folder / "short.toml", "-o", tmp_path / "no", "--controller", "dstcc-lanes")
    assert odd.exit_code == 2 and "policy dstcc-lanes has other actions: it steers TCP's" in odd.stderr
    assert not (tmp_path / "no").exists()


def test_emulate_runs_it_beside_the_transports_own_rule(folder: Path) -> None:
    run = load_run(folder / "run")
    assert [row["id"] for row in run.trials] == [
        "open-loop+minrtt/s1",
        "open-loop+minrtt/s2",
        "mine/s1",
        "mine/s2",
    ]
    (about,) = run.meta["controllers"]
    assert about["name"] == "mine" and about["algorithm"] == "gru-mpc"
    own, mine = run.meta["algorithms"]
    assert own["knows"] == mine["knows"] and mine["mode"] == "coded"
    assert run.trial("mine/s1")["guard_actions"] >= 0


def test_a_variant_of_it_is_its_trial_under_the_variants_control_and_no_other(folder: Path) -> None:
    varied = folder / "varied.toml"
    varied.write_text(
        'extends = "short.toml"\n[[variant]]\nlabel = "again"\ncontroller = "mine.safetensors"\n'
        '[[variant]]\nlabel = "paced by bbr"\ncontroller = "mine.safetensors"\ncongestion = "bbr-scaled"\n'
    )
    done = command("emulate", varied, "--seeds", 1, "-o", folder / "varied")
    assert done.exit_code == 0, done.output
    run, plain = load_run(folder / "varied"), load_run(folder / "run")
    assert [row["id"] for row in run.trials] == ["open-loop+minrtt/s1", "again/s1", "paced by bbr/s1"]
    assert run.trial("again/s1")["delivered_bytes"] == plain.trial("mine/s1")["delivered_bytes"]
    assert run.trial("paced by bbr/s1")["congestion"] == "bbr-scaled"
    assert run.trial("paced by bbr/s1")["delivered_bytes"] != run.trial("again/s1")["delivered_bytes"]


def test_a_policy_of_another_mode_is_refused(folder: Path, tmp_path: Path) -> None:
    mine, short, out = folder / "mine.safetensors", folder / "short.toml", tmp_path / "out"
    tcp = ["--set", "transport.mode=stream", "--set", "transport.handshake=true", "--set", "coding="]
    for more, words in (
        (
            ["--controller", "dstcc-lanes"],
            "the policy dstcc-lanes steers TCP's subflows and lanes, which mode = 'coded' lacks",
        ),
        ([*tcp, "--controller", mine], "mine steers layers coded over packets, which mode = 'stream' lacks"),
        (
            ["--controller", mine, "--congestion", "none"],
            "over one congestion control",
        ),
        (["--controller", "mines"], "short: transport.controller: mines: no such policy file"),
        (["--controller", mine, "--set", "run.slot_s=10"], "a slot in round trips: 0.5 is outside"),
    ):
        done = command("emulate", short, "-o", out, *more)
        assert done.exit_code == 2 and words in " ".join(done.stderr.split()), done.output
        assert not out.exists()


def test_explain_has_the_belief_beside_the_channel(folder: Path) -> None:
    told = explain(load_run(folder / "run"), "mine/s2")
    assert len(told.decisions) > 40 and told.policy == "mine"
    one = told.decisions[20]
    assert one.observation.shape == (SIZE,) and len(told.observed) == SIZE
    # Of all but a twentieth at either end; a mean leaves that range by no more than what the ends weigh.
    low, mean, high = (one.believed[name] for name in ("loss_low", "loss", "loss_high"))
    assert (0.95 * low <= mean).all() and (low < high).all() and (mean <= high + 0.05 * GRID[-1]).all()
    assert set(one.chose) == {"repair of layer 0", "repair of layer 1", "repair of layer 2", "decided by"}
    assert told.links[0].sent.sum() > 1000 and told.links[0].lost.sum() > 0
    page = render(told)
    assert "believed, 95th percentile" in page and "reported loss" in page
    assert json.loads(json.dumps(told.document()))["parts"][3]["links"][0]["believed_loss"] > 0


def test_a_belief_that_is_certain_is_told_as_it_is(folder: Path, tmp_path: Path) -> None:
    certain(25).save(tmp_path / "sure.safetensors")
    done = command(
        "emulate",
        folder / "short.toml",
        "--controller",
        tmp_path / "sure.safetensors",
        "-o",
        tmp_path / "run",
    )
    assert done.exit_code == 0, done.output
    told = explain(load_run(tmp_path / "run"), "sure/s1")
    held = told.believed_of(told.links[0], "loss")
    assert held == pytest.approx(np.full(len(held), held[0])) and 0.005 < held[0] < 0.1
    assert told.believed_of(told.links[0], "loss_low") == pytest.approx(held)


def test_shares_in_words() -> None:
    assert [share_in_words(share) for share in (0.0, 0.05, 0.051, 0.2, 0.4, 0.41)] == [
        "none",
        "to 5 %",
        "5 to 10 %",
        "10 to 20 %",
        "20 to 40 %",
        "above 40 %",
    ]
