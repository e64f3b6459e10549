"""What a controller saw, believed and chose: as its policy has it, beside the channel as it was."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from dstcc_cli.explain import _show
from dstcc_cli.main import main

import dstcc
from dstcc.clock import Clock
from dstcc.errors import RunError
from dstcc.explain import Explanation, explain, render
from dstcc.explain.explanation import PARTS
from dstcc.explain.figures import _columns, channel_loss
from dstcc.learn.policies.policy import load_policy
from dstcc.learn.spaces.branched import JointActions, MultiActions
from dstcc.learn.spaces.continuous import ContinuousActions
from dstcc.learn.spaces.measured_actions import MeasuredActions
from dstcc.learn.spaces.schedulers import SchedulerActions
from dstcc.run import Run, load_run
from dstcc.run.replay import replay

SCENARIO = """
[scenario]
name = "two paths"
[video]
synthetic = {chunk_s = 1.0, layer_bps = [60_000, 60_000, 60_000]}
loop_to_s = 60
[[link]]
name = "near"
rate_bps = 200_000
delay_s = 0.5
loss = {packet = 0.05}
[[link]]
name = "far"
rate_bps = 100_000
delay_s = 1.0
[transport]
congestion = ["cubic"]
controller = ["dstcc-lanes", "iodst-dqn"]
[playout]
delay_s = 10
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("explain")
    (folder / "s.toml").write_text(SCENARIO)
    return load_run(dstcc.emulate(folder / "s.toml", folder / "run").path)


@pytest.fixture(scope="module")
def told(run: Run) -> Explanation:
    return explain(run, "dstcc-lanes/s1")


@pytest.fixture(scope="module")
def page(told: Explanation) -> str:
    return render(told)


def test_a_decision_is_the_policys_for_what_it_saw(run: Run) -> None:
    told, policy = explain(run, "iodst-dqn/s1"), load_policy("iodst-dqn")
    seen = np.stack([decision.observation for decision in told.decisions])
    actions = policy.action.greedy(policy.outputs(seen))
    assert [decision.chose for decision in told.decisions] == [
        policy.action.described(a, 2, 3) for a in actions
    ]
    assert set(told.decisions[0].chose) == {
        *(f"window of subflow {s}" for s in (0, 1)),
        *(f"layer {m}" for m in (0, 1, 2)),
    }
    assert told.observed == policy.observation.names
    assert all(decision.believed == {} for decision in told.decisions)
    slots = set(
        run.samples().filter(run.samples()["trial"].to_numpy(False) == "iodst-dqn/s1")["t_s"].to_pylist()
    )
    assert set(told.t_s.tolist()) - {0.0} <= slots


def test_the_channels_losses_are_the_trials(run: Run, told: Explanation) -> None:
    totals = replay(run, "dstcc-lanes/s1").result.totals
    assert sum(link.sent.sum() for link in told.links) == totals.data_packets - totals.dropped_queue_packets
    near, far = told.links
    assert (near.name, near.rate_bps, near.subflows) == ("near", 200_000, (0,))
    assert (far.name, far.subflows, far.lost.sum()) == ("far", (1,), 0)
    assert near.lost.sum() / near.sent.sum() == pytest.approx(0.05, abs=0.02)
    # what is believed at last is what the channel did, as far as its packets were told of
    assert told.believed_of(near, "loss")[-1] == pytest.approx(near.lost.sum() / near.sent.sum(), rel=0.3)
    assert told.believed_of(far, "loss")[-1] == 0
    assert np.median(told.believed_of(near, "rate_bps")) == pytest.approx(200_000, rel=0.2)
    t_s, share = channel_loss(told, near)
    assert len(t_s) == len(share) <= 40
    assert np.nanmax(share) <= 1


def test_a_packet_belongs_to_the_decision_before_it(run: Run, told: Explanation) -> None:
    trace = replay(run, "dstcc-lanes/s1", trace=True).result.trace
    assert trace is not None
    begin, end = told.t_s[5] * 1e9, told.t_s[6] * 1e9
    sent = (
        (trace.event == 0) & (trace.fate != 2) & (trace.syn == 0) & (trace.t_ns >= begin) & (trace.t_ns < end)
    )
    assert sum(link.sent[5] for link in told.links) == sent.sum() > 0


def test_choices_and_parts_add_up(run: Run, told: Explanation) -> None:
    for choices in told.shares().values():
        assert sum(share for _, share in choices) == pytest.approx(1)
        assert [share for _, share in choices] == sorted((share for _, share in choices), reverse=True)
    assert told.capture_s.tolist() == [second + 1.0 for second in range(60)]
    parts = told.parts()
    assert len(parts) == PARTS
    assert sum(part["captured"] for part in parts) == 60
    played = sum(part["captured"] * part["played"] for part in parts if part["captured"])
    assert played / 60 == pytest.approx(run.trial("dstcc-lanes/s1")["playback_ratio"])
    full = sum(part["captured"] * part["in_full"] for part in parts if part["captured"])
    assert full / 60 == pytest.approx(run.trial("dstcc-lanes/s1")["full_quality_ratio"])


def test_the_page_says_the_same_twice(told: Explanation, page: str, run: Run) -> None:
    assert page == render(explain(run, "dstcc-lanes/s1"))
    assert told.finding() in page
    assert page.count("<svg") == 2 * 3  # and each narrow, for a phone
    assert page.count('<svg viewBox="0 0 338.4 ') == page.count('<svg viewBox="0 0 806.4 ') == 3
    assert "mathdefault" not in page
    assert "<script" not in page


@pytest.mark.parametrize(
    ("space", "action", "said"),
    [
        (
            MultiActions(subflows=3, layers=3, automatic=True, copies=True),
            [3, 0, 5, 1, 3, 2, 1],
            {
                "window of subflow 0": "+10 segments",
                "window of subflow 1": "×0.5",
                "layer 0": "subflow 1",
                "layer 1": "earliest",
                "sent twice": "base layers",
            },
        ),
        (
            JointActions(subflows=2, layers=2),
            # digits 4, 2, then layers on 1 and 0: ((4·6 + 2)·2 + 1)·2 + 0
            106,
            {
                "window of subflow 0": "×1.25",
                "window of subflow 1": "×1",
                "layer 0": "subflow 1",
                "layer 1": "subflow 0",
            },
        ),
        (
            ContinuousActions(subflows=3, layers=3, octaves=2.0),
            [0.5, -0.5, 1.0],
            {"window of subflow 0": "×2.00", "window of subflow 1": "×0.50"},
        ),
        (SchedulerActions(subflows=2, layers=2), 4, {"scheduling": "minrtt"}),
        (
            MeasuredActions(
                subflows=3,
                layers=3,
                windows=((1.0, 0.3), (0.7, 0.0)),
                orders=((0.05, 0.0), (np.inf, 0.5)),
                copies=True,
            ),
            [1, 0, 0, 2, 3, 1],
            {
                "pace of subflow 0": "70% of the measured rate, 0 slots of queue",
                "pace of subflow 1": "100% of the measured rate, 0.3 slots of queue",
                "sent twice": "all layers",
                "subflows": "time to retransmit: all but the top layer first",
                "order": "base layers first, 50% of the spare time for retransmissions",
            },
        ),
    ],
)
def test_an_action_in_words(space, action, said) -> None:
    """Of a trial of two subflows and two layers, in a space of up to three."""
    assert space.described(np.array(action), 2, 2) == said


def test_a_dated_mission_is_told_in_utc(
    told: Explanation, page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Parts of 12 seconds or so: with seconds. The document keeps mission seconds."""
    dated = replace(told, clock=Clock(datetime(2028, 3, 11, 22, 14, 5)))
    second = dated.clock.moment(told.end_s / PARTS, 0.0)
    of_dated = render(dated)
    assert '<th scope="col">From (UTC)</th>' in of_dated and "From (UTC)" not in page
    assert f"<td>2028-03-11 22:14:05</td><td>{second}</td>" in of_dated
    assert of_dated.count("UTC, from 2028-03-11 22:14") > 0
    _show(dated)
    printed = capsys.readouterr().out
    assert "from (UTC)" in printed and second in printed
    assert dated.document() == told.document()


def test_what_decides_nothing_is_not_explained(run: Run) -> None:
    with pytest.raises(RunError, match=r"trial 'cubic\+minrtt/s1' has no controller"):
        explain(run, "cubic+minrtt/s1")
    with pytest.raises(RunError, match="no trial 'dstcc-lanes/s2'"):
        explain(run, "dstcc-lanes/s2")


def cli(*words: object) -> Result:
    return CliRunner().invoke(main, ["explain", *map(str, words)])


def test_the_command(run: Run, told: Explanation, page: str, tmp_path: Path) -> None:
    file = tmp_path / "why.html"
    done = cli(run.path, "--trial", "dstcc-lanes/s1", "-o", file)
    assert done.exit_code == 0
    assert told.finding()[:40] in done.stdout
    assert done.stdout.endswith(f"\nwrote {file}\n")
    assert file.read_text() == page
    again = cli(run.path, "--trial", "dstcc-lanes/s1", "--json")
    document = json.loads(again.stdout)
    assert len(document["decisions"]) == len(told.decisions)
    assert document["decisions"][3]["chose"] == told.decisions[3].chose
    assert document["links"][0]["lost"] == told.links[0].lost.tolist()
    for words, said in (
        (["--trial", "cubic+minrtt/s1"], "has no controller, and explain shows a controller's decisions"),
        (["--trial", "dstcc-lanes/s1", "-o", file], "already exists"),
        (["--trial", "dstcc-lanes/s1", "-o", tmp_path / "why.md"], "its name ends in .html"),
    ):
        wrong = cli(run.path, *words)
        assert wrong.exit_code == 2
        assert said in wrong.stderr


def test_matplotlib_is_for_pages(run: Run) -> None:
    code = "import sys\nfrom dstcc_cli.main import main\nmain(sys.argv[1:], standalone_mode=False)\n"
    code += "print({'matplotlib', 'jinja2', 'torch', 'pandas', 'scipy'} & set(sys.modules))"
    words = ("explain", str(run.path), "--trial", "dstcc-lanes/s1")
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


def test_choices_below_the_figure_do_not_overlap() -> None:
    """A column has the key and the longest choice's characters, whatever their number."""
    assert _columns(["none", "all layers"], 7.0) == 4
    assert _columns(["x" * 30], 7.0) == 3
    assert _columns(["x" * 60, "y"], 7.0) == 1
    assert _columns(["x" * 200], 4.0) == 1
