from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from dstcc_cli.main import main

from dstcc import engine
from dstcc.forecast import files
from dstcc.learn.policies.policy import Policy, load_policy, save_policy
from dstcc.metrics import METRICS
from dstcc.run import load_run
from tests.learn.made_policies import constant
from tests.made_results import toy_bound, toy_simulate
from tests.quick import QUICK

SCENARIO = QUICK + "loss = {packet = 1e-3}\n"


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "quick.toml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "run"


def emulate(*args: object) -> Result:
    wide = {"COLUMNS": "200"}  # a table is one part there: tests/cli/test_tables.py has narrow ones
    return CliRunner().invoke(main, ["emulate", *map(str, args)], env=wide)


def test_json_tells_of_background_flows(scenario: Path, out: Path) -> None:
    done = emulate(scenario, "-o", out, "--json", "--set", "link.0.flows=[{count = 2}]")
    (trial,) = json.loads(done.stdout)["trials"]
    assert [flow["congestion"] for flow in trial["flows"]] == ["cubic", "cubic"]
    assert 0 < trial["metrics"]["own_share"] < 1
    assert trial["metrics"]["flows_bps"] > 0


def test_what_each_contact_brought_home_adds_up_to_what_the_pass_did(scenario: Path, out: Path) -> None:
    # Five chunks of two layers of 1,000 bytes, on lanes with a window each; dark from 1.5 to 2.5 s, due after 20 s.
    changed = (
        "transport={mode = 'lanes', lanes_per_link = 4}",
        "link.0.outages=[[1.5, 2.5]]",
        "playout.delay_s=20",
    )
    lanes = [word for text in changed for word in ("--set", text)]
    done = emulate(scenario, "-o", out, "--json", *lanes)
    assert done.exit_code == 0, done.stderr
    (trial,) = json.loads(done.stdout)["trials"]
    contacts, metrics = trial["contacts"], trial["metrics"]
    assert [contact["from_s"] for contact in contacts] == [0, 2.5]
    assert all(contact["bytes_in_time"] > 0 for contact in contacts)
    for key in ("bytes_in_time", "full_quality_bytes"):
        assert sum(contact[key] for contact in contacts) == metrics[key]
    assert metrics["bytes_in_time"] == metrics["delivered_bytes"] == 10_000
    table = emulate(scenario, "-o", out, "--force", *lanes).output
    assert "MB in time" in table and "MB in full" in table
    # without contacts there is nothing to tell apart, and what was delivered is in the table of a few trials alone
    one = emulate(
        scenario,
        "-o",
        out,
        "--force",
        "--set",
        "video.synthetic.layer_bps=[800_000, 8_000]",
        "--set",
        "playout.delay_s=20",
    ).stdout
    assert "MB in time" in one and "MB in full" not in one
    (row,) = [line.split() for line in one.splitlines() if "/s1" in line]
    assert row[5] == "0.5"  # five chunks of 100 kB and 1 kB
    many = emulate(scenario, "-o", out, "--force", "--seeds", 31).stdout
    assert "MB in time" not in many


def test_a_controller_takes_the_place_of_both_unless_these_are_named(
    scenario: Path, out: Path, tmp_path: Path
) -> None:
    policy = tmp_path / "mine.safetensors"
    save_policy(policy, constant((2, 0, 0), subflows=1))
    done = emulate(scenario, "-o", out, "--json", "--controller", policy, "--seeds", 2)
    assert done.exit_code == 0, done.stderr
    trials = json.loads(done.stdout)["trials"]
    assert [(trial["id"], trial["controller"]) for trial in trials] == [
        ("mine/s1", "mine"),
        ("mine/s2", "mine"),
    ]
    assert trials[0]["metrics"]["guard_actions"] == 0
    assert trials[0]["metrics"]["playback_ratio"] == 1.0
    run = load_run(out)
    assert [row["controller"] for row in run.trials] == ["mine", "mine"]
    (about,) = run.meta["controllers"]
    assert (about["name"], about["algorithm"], about["trained_on"]) == ("mine", "constant", [])
    again = emulate(
        out / "scenario.toml", "-o", tmp_path / "again", "--json"
    )  # what was run can be run again
    assert json.loads(again.stdout)["trials"] == trials
    beside = emulate(
        scenario, "-o", tmp_path / "both", "--json", "--controller", policy, "--congestion", "bbr"
    )
    assert [trial["id"] for trial in json.loads(beside.stdout)["trials"]] == ["bbr+minrtt/s1", "mine/s1"]
    report = CliRunner().invoke(main, ["report", str(tmp_path / "both"), "--format", "json", "-o", "-"])
    assert report.exit_code == 0, report.stderr
    assert '"mine"' in report.stdout


def test_a_policy_is_read_once_a_run(
    scenario: Path, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, read = tmp_path / "mine.safetensors", []
    save_policy(path, constant((2, 0, 0), subflows=1))

    def load(given: str | Path) -> Policy:
        read.append(str(given))
        return load_policy(given)

    monkeypatch.setattr(files, "load_policy", load)
    for further in (("-o", out), ("--dry-run",)):
        read.clear()
        done = emulate(scenario, "--json", "--controller", path, "--seeds", 3, *further)
        assert done.exit_code == 0, done.stderr
        assert read == [str(path)]


def test_a_controller_can_run_alone_in_a_scenario_that_names_others(
    scenario: Path, out: Path, tmp_path: Path
) -> None:
    policy = tmp_path / "mine.safetensors"
    save_policy(policy, constant((2, 0, 0), subflows=1))
    named = ["--controller", policy, "--set", 'transport.congestion=["cubic", "bbr"]']
    beside = emulate(scenario, "--dry-run", "--json", *named)
    assert json.loads(beside.stdout)["trials"] == ["cubic+minrtt/s1", "bbr+minrtt/s1", "mine/s1"]
    alone = emulate(scenario, "-o", out, "--json", *named, "--congestion", "none")
    assert alone.exit_code == 0, alone.stderr
    assert [trial["id"] for trial in json.loads(alone.stdout)["trials"]] == ["mine/s1"]
    result = emulate(
        scenario,
        "--dry-run",
        "--json",
        "--set",
        f'transport={{congestion = [], scheduler = "round-robin", controller = "{policy}"}}',
    )
    assert json.loads(result.stdout)["trials"] == ["mine/s1"]


def test_what_the_controller_could_do_alone_is_said(scenario: Path, tmp_path: Path) -> None:
    policy, hint = (
        tmp_path / "mine.safetensors",
        f"; --congestion none runs {tmp_path / 'mine.safetensors'} alone",
    )
    save_policy(policy, constant((2, 0, 0), subflows=1))
    kernel = ["--dry-run", "--backend", "kernel", "--set", 'transport.congestion=["cubic", "open-loop"]']
    done = emulate(scenario, *kernel, "--controller", policy)
    assert done.exit_code == 2
    assert "'open-loop' exists in the simulator only" in done.stderr and hint in done.stderr
    other = emulate(scenario, *kernel, "--controller", policy, "--congestion", "open-loop")
    assert other.exit_code == 2
    assert "exists in the simulator only" in other.stderr and hint not in other.stderr
    assert hint not in emulate(scenario, *kernel).stderr


def test_the_kernel_is_the_newest_unless_another_is_named(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DSTCC_CACHE", str(tmp_path / "cache"))

    def wanted(*more: object) -> str:
        done = emulate(scenario, "--dry-run", "--backend", "kernel", *more)
        assert done.exit_code == 1
        return (
            done.stderr.split(" is built")[0].split("no Linux ")[1]
            + done.stderr.split("build")[-1].split(" makes")[0]
        )

    monkeypatch.delenv("DSTCC_KERNEL", raising=False)
    assert wanted() == "6.12"
    assert wanted("--kernel", "6.1") == "6.1 --kernel 6.1"
    assert "DSTCC_KERNEL" not in os.environ
    monkeypatch.setenv("DSTCC_KERNEL", "6.1")
    assert wanted() == "6.1 --kernel 6.1"
    assert wanted("--kernel", "6.12") == "6.12"


def test_nobody_is_not_a_contender(scenario: Path) -> None:
    for more, said in (
        ([], "transport.congestion: names nothing"),
        (["--congestion", "bbr"], "congestion none: stands alone"),
    ):
        done = emulate(scenario, "--dry-run", "--congestion", "none", *more)
        assert done.exit_code == 2
        assert said in done.stderr


def test_variants_run_alone(scenario: Path) -> None:
    text = '\n[[variant]]\nlabel = "wide"\ncongestion = "bbr"\nset = {initial_cwnd = 40}\n'
    scenario.write_text(scenario.read_text() + text)
    alone = emulate(scenario, "--dry-run", "--json", "--congestion", "none", "--variant", "wide")
    assert json.loads(alone.stdout)["trials"] == ["wide/s1"]
    nobody = emulate(scenario, "--dry-run", "--congestion", "none")
    assert nobody.exit_code == 2
    assert "needs a --controller or a --variant" in nobody.stderr


def test_a_policy_for_fewer_subflows_is_refused_before_the_run(
    scenario: Path, out: Path, tmp_path: Path
) -> None:
    policy = tmp_path / "small.safetensors"
    save_policy(policy, constant((2, 0), subflows=1, layers=1))
    for more in (["-o", out], ["--dry-run"]):
        done = emulate(scenario, *more, "--controller", policy)
        assert done.exit_code == 2
        assert "policy small is for 1 subflows and 1 layers; the scenario has 1 and 2" in done.stderr
    assert not out.exists()


def test_json_is_the_document_of_the_interface(scenario: Path, out: Path) -> None:
    done = emulate(scenario, "-o", out, "--json")
    assert done.exit_code == 0, done.stderr
    document = json.loads(done.stdout)
    assert document.keys() == {"run", "scenario", "backend", "scale", "algorithms", "trials"}
    assert (document["run"], document["scenario"], document["backend"]) == (str(out), "quick", "simulator")
    (trial,) = document["trials"]
    assert trial.keys() == {"id", "congestion", "scheduler", "controller", "seed", "status", "metrics"}
    assert trial["id"] == "cubic+minrtt/s1"
    assert trial["controller"] is None
    assert set(trial["metrics"]) == {"layers_played", *METRICS}
    assert trial["metrics"]["layers_played"].keys() == {"none", "0", "1"}
    assert trial["metrics"]["playback_ratio"] == 1.0


def test_variants_run_beside_the_others_unless_these_are_named(
    scenario: Path, out: Path, tmp_path: Path
) -> None:
    scenario.write_text(
        SCENARIO
        + '[[variant]]\nlabel = "wide"\ncongestion = "cubic"\nset = {initial_cwnd = 99}\n'
        + '[[variant]]\nlabel = "one"\ncongestion = "bbr"\n'
    )

    def ids(*options: str) -> list[str]:
        done = emulate(scenario, "--dry-run", "--json", *options)
        assert done.exit_code == 0, done.stderr
        trials: list[str] = json.loads(done.stdout)["trials"]
        return trials

    assert ids() == ["cubic+minrtt/s1", "wide/s1", "one/s1"]
    assert ids("--variant", "one") == ["cubic+minrtt/s1", "one/s1"]
    assert ids("--congestion", "bbr") == ["bbr+minrtt/s1"]
    assert ids("--congestion", "bbr", "--variant", "wide") == ["bbr+minrtt/s1", "wide/s1"]
    wrong = emulate(scenario, "--dry-run", "--variant", "narrow")
    assert wrong.exit_code == 2
    assert "variant 'narrow': the scenario has wide, one" in wrong.stderr
    done = emulate(scenario, "-o", out, "--json", "--variant", "wide")
    plain, wide = json.loads(done.stdout)["trials"]
    assert (wide["id"], wide["congestion"], wide["variant"]) == ("wide/s1", "cubic", "wide")
    assert "variant" not in plain
    assert [row["variant"] for row in load_run(out).trials] == [None, "wide"]
    assert [one["label"] for one in load_run(out).scenario["variant"]] == ["wide"]
    again = emulate(out / "scenario.toml", "-o", tmp_path / "again", "--json")
    assert json.loads(again.stdout)["trials"] == [plain, wide]
    report = CliRunner().invoke(main, ["report", str(out), "--format", "json", "-o", "-"])
    rows = json.loads(report.stdout)["sections"][0]["rows"]
    assert [row["algorithm"] for row in rows] == ["cubic+minrtt", "wide"]


def test_packet_logs_on_request(scenario: Path, out: Path, tmp_path: Path) -> None:
    plain = emulate(scenario, "-o", out)
    assert not [*out.glob("*.qlog"), *out.glob("*.pcapng")]
    again = [tmp_path / "again", tmp_path / "and-again"]
    for run in again:
        assert emulate(scenario, "-o", run, "--qlog", "--pcapng").exit_code == plain.exit_code == 0
    for name in ("cubic+minrtt_s1.qlog", "cubic+minrtt_s1.spacecraft.pcapng", "cubic+minrtt_s1.earth.pcapng"):
        first, second = ((run / name).read_bytes() for run in again)
        assert first == second
        assert len(first) > 1000
    assert load_run(out).samples().equals(load_run(again[0]).samples())


def test_people_read_stdout(scenario: Path, out: Path) -> None:
    done = emulate(scenario, "-o", out)
    assert "cubic+minrtt/s1" in done.stdout
    assert f"1 of 1 trials in {out}" in done.stdout
    uplink = "up_rate_bps is not given: acknowledgements have the data's rate, 1,000,000 bit/s"
    assert done.stderr == f"dstcc: link a: {uplink}\n"
    assert uplink in " ".join(emulate(scenario, "--dry-run").stdout.split())


def test_the_table_says_what_others_carried_beside_it(scenario: Path, out: Path) -> None:
    flows = "[{congestion = 'cubic', bytes = 100_000}, {count = 2, bytes = 50_000}]"
    words = ("-o", out, "--congestion", "bbr", "--set", f"link.0.flows={flows}")
    (trial,) = json.loads(emulate(scenario, *words, "--json").stdout)["trials"]
    rates = [flow["throughput_bps"] for flow in trial["flows"]]
    done = emulate(scenario, *words, "--force")
    assert f"beside bbr+minrtt on a: a cubic flow with {rates[0]:,.0f} bit/s\n" in done.stdout
    mean = sum(rates[1:]) / 2
    assert f"beside bbr+minrtt on a: 2 bbr flows with a mean of {mean:,.0f} bit/s\n" in done.stdout


@pytest.mark.parametrize(("bound", "code"), [("oracle_ratio", 0), ("playback_ratio", 3)])
def test_a_dark_pass_is_no_failure_but_what_it_misses_is(
    scenario: Path, out: Path, bound: str, code: int
) -> None:
    dark = ("--set", "link.0.outages=[[0, 1e6]]", "--set", f'expect.{bound}=">= 0.5"')
    done = emulate(scenario, "-o", out, "--json", *dark)
    assert done.exit_code == code, done.stderr
    (trial,) = json.loads(done.stdout)["trials"]
    assert (trial["metrics"]["weighted_layers"], trial["metrics"]["oracle_ratio"]) == (0, None)
    reach = "no sender could have had a layer there in time"
    assert f"every trial: {reach}, so there is no oracle_ratio\n" in done.stderr
    said = (
        "expect.oracle_ratio was not checked there"
        if code == 0
        else f"playback_ratio is 0 ({reach}), expected >= 0.5"
    )
    assert said in done.stderr
    assert "sent nothing" not in done.stderr


def test_repeated_options_give_the_product(scenario: Path, out: Path) -> None:
    options = (
        "--congestion cubic --congestion bbr --scheduler minrtt --scheduler redundant --seeds 2 --seed 5"
    )
    done = emulate(scenario, "-o", out, *options.split(), "--jobs", "2", "--json")
    ids = [trial["id"] for trial in json.loads(done.stdout)["trials"]]
    assert ids == [f"{c}+{s}/s{k}" for c in ("cubic", "bbr") for s in ("minrtt", "redundant") for k in (5, 6)]


def test_a_transfer_takes_no_scheduler_and_says_so(scenario: Path, out: Path) -> None:
    options = "--congestion cubic --congestion ltp --scheduler minrtt --scheduler redundant"
    done = emulate(scenario, "-o", out, *options.split(), "--json")
    assert done.exit_code == 0, done.stderr
    ids = [trial["id"] for trial in json.loads(done.stdout)["trials"]]
    assert ids == ["cubic+minrtt/s1", "cubic+redundant/s1", "ltp+none/s1"]
    assert "ltp takes no scheduler, one trial a seed: not minrtt, redundant" in done.stderr
    assert emulate(scenario, "--dry-run", "--congestion", "ltp").exit_code == 0


def test_set_and_scale(scenario: Path, out: Path) -> None:
    assert emulate(scenario, "-o", out, "--set", "link.0.loss.packet=0.25", "--scale", "4").exit_code == 0
    run = load_run(out)
    assert run.meta["scale"] == 4
    assert run.scenario["link"][0]["loss"] == {"packet": 0.25}


BAD_USAGE = [
    ([], "needs -o RUN"),
    (["-o", "OUT", "--congestion", "cubik"], "did you mean 'cubic'?"),
    (["-o", "OUT", "--scheduler", "vegas"], "no such scheduler"),
    (["-o", "OUT", "--controller", "iodst-dgn"], "did you mean 'iodst-dqn'?"),
    (
        ["-o", "OUT", "--backend", "kernel", "--congestion", "bbr-scaled"],
        "'bbr-scaled' exists in the simulator only",
    ),
    (["-o", "OUT", "--backend", "kernel", "--qlog"], "--qlog: in the simulator only"),
    (["-o", "OUT", "--backend", "moon"], "Invalid value for '--backend'"),
    (["-o", "OUT", "--seeds", "0"], "run.seeds = 0"),
    (["-o", "OUT", "--seeds", "x"], "Invalid value for '--seeds'"),
    (["-o", "OUT", "--scale", "-1"], "run.scale = -1"),
    (["-o", "OUT", "--set", "link.0.rate_bps=-5"], "link.0.rate_bps = -5"),
    (["-o", "OUT", "--set", "nonsense"], "must be KEY=VALUE"),
    (["-o", "OUT", "--set", "video={stream = 'nowhere'}"], "nowhere"),
]


@pytest.mark.parametrize(
    ("args", "message"), BAD_USAGE, ids=[" ".join(args[2:]) or "none" for args, _ in BAD_USAGE]
)
def test_bad_usage_is_exit_2_and_leaves_nothing(
    scenario: Path, out: Path, args: list[str], message: str
) -> None:
    done = emulate(scenario, *(str(out) if arg == "OUT" else arg for arg in args))
    assert done.exit_code == 2, done.output
    assert message in done.stderr
    assert done.stdout == ""
    assert sorted(path.name for path in out.parent.iterdir()) == ["quick.toml"]


def test_a_missing_scenario(tmp_path: Path, out: Path) -> None:
    done = emulate(tmp_path / "none.toml", "-o", out)
    assert done.exit_code == 2
    assert "none.toml: no such scenario file" in done.stderr


def test_an_existing_run_needs_force(scenario: Path, out: Path) -> None:
    assert emulate(scenario, "-o", out).exit_code == 0
    done = emulate(scenario, "-o", out, "--seed", "7")
    assert done.exit_code == 2
    assert "already exists; --force replaces it" in done.stderr
    assert load_run(out).meta["seeds"] == [1]
    assert emulate(scenario, "-o", out, "--seed", "7", "--force").exit_code == 0
    assert load_run(out).meta["seeds"] == [7]


def test_force_does_not_replace_what_is_no_run(scenario: Path, out: Path) -> None:
    out.mkdir()
    assert emulate(scenario, "-o", out, "--force").exit_code == 0
    (out / "run.json").unlink()
    done = emulate(scenario, "-o", out, "--force")
    assert done.exit_code == 2
    assert "has no run.json, and --force replaces nothing but a run that dstcc wrote" in done.stderr
    assert (out / "trials.parquet").exists()


def test_a_missed_bound_is_exit_3_and_named(scenario: Path, out: Path) -> None:
    bounds = ["--set", 'expect.playback_ratio="> 1"', "--set", 'expect.cubic.sent_bytes="< 5"']
    done = emulate(scenario, "-o", out, *bounds, "--json")
    assert done.exit_code == 3
    assert "playback_ratio is 1, expected > 1" in done.stderr
    assert "sent_bytes is" in done.stderr
    assert json.loads(done.stdout)["trials"][0]["status"] == "ok"
    assert load_run(out).trials


def test_a_failed_trial_is_exit_1_and_the_others_go_on(
    scenario: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "simulate", toy_simulate)
    monkeypatch.setattr(engine, "clairvoyant_weight", toy_bound)
    done = emulate(scenario, "-o", out, "--congestion", "bbr", "--congestion", "cubic", "--json")
    assert done.exit_code == 1
    assert "bbr+minrtt/s1 failed: RuntimeError: the toy engine has no bbr" in done.stderr
    trials = json.loads(done.stdout)["trials"]
    assert [(trial["status"], trial["metrics"] is None) for trial in trials] == [
        ("failed", True),
        ("ok", False),
    ]


def test_a_trial_that_could_send_nothing_says_why(scenario: Path, out: Path) -> None:
    # Every chunk is due 12 s after its capture, 10 s away, so that some sender could bring it; a handshake takes 20 s.
    done = emulate(scenario, "-o", out, "--set", "link.0.delay_s=10", "--set", "playout.delay_s=12")
    assert done.exit_code == 0
    assert "cubic+minrtt/s1 sent nothing: its first link never answered" in done.stderr


def test_the_table_shows_what_the_trials_have(scenario: Path, out: Path) -> None:
    by_deadline = emulate(scenario, "-o", out).stdout
    assert "of bound" in by_deadline
    assert "stalls" not in by_deadline
    with_stalls = emulate(scenario, "-o", out, "--force", "--set", "playout.mode=stall").stdout
    assert "stalls" in with_stalls
    assert "of bound" not in with_stalls
    assert "PSNR" not in with_stalls


def test_each_row_says_what_the_algorithm_knows_and_was_given(scenario: Path, out: Path) -> None:
    scenario.write_text(
        SCENARIO.replace("[[link]]", '[transport]\ncongestion = ["open-loop", "ltp"]\n[[link]]')
        + '[[variant]]\nlabel = "tuned"\ncongestion = "cubic"\nscheduler = "redundant"\nset = {scale = 7}\n'
    )
    result = emulate(scenario, "-o", out)
    assert result.exit_code == 0, result.stderr
    lines = [line.split() for line in result.stdout.splitlines() if line.strip()]
    ends = {line[0]: line[-3:] for line in lines if "/s1" in line[0]}
    assert ends == {
        "open-loop+minrtt/s1": ["rd", "1/1", "1"],
        "ltp+none/s1": ["rcd", "any/1", "1"],
        "tuned/s1": ["d", "1/1+", "7"],
    }
    said = " ".join(result.stdout.split())
    assert "knows: r is configured with the rate of each link; c has the contact plan" in said
    assert "; +: sends everything on every subflow" in said
    assert "S: mission seconds to an emulated one" in said
    # 0.4 / 7³: only what is stretched, and by what
    assert "at S = 7: least retransmission timeout 0.2 s → 1.4 s" in said
    assert "CUBIC's C 0.4 → 0.4/S³ = 0.00117 segments/s³" in said
    dry = emulate(scenario, "--dry-run")
    rows = [line.split() for line in dry.stdout.splitlines() if line.strip()]
    assert ["ltp+none", "rcd", "any/1", "1"] in rows
    assert ["tuned", "d", "1/1+", "7"] in rows


def test_many_trials_are_a_row_for_each_algorithm(scenario: Path, out: Path) -> None:
    one_a_trial = emulate(
        scenario, "-o", out, "--congestion", "cubic", "--congestion", "bbr", "--seeds", "15"
    )
    assert "cubic+minrtt/s15" in one_a_trial.stdout
    many = emulate(
        scenario, "-o", out, "--force", "--congestion", "cubic", "--congestion", "bbr", "--seeds", "16"
    )
    assert "/s16" not in many.stdout
    (row,) = [line.split() for line in many.stdout.splitlines() if line.startswith(" cubic+minrtt")]
    assert row[:6] == ["cubic+minrtt", "16", "100.0%", "100.0%", "100.0%", "100.0–100.0"]


def test_dry_run_runs_nothing(scenario: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("the dry run called the engine")

    monkeypatch.setattr(engine, "simulate", never)
    done = emulate(scenario, "-o", out, "--dry-run", "--seeds", "2", "--set", "link.0.delay_s=600")
    assert done.exit_code == 0
    assert done.stderr == ""
    assert not out.exists()
    # 1 Mbit/s × 1200 s / 8 / 1500 bytes = 100,000 packets; S = 1200 / 40 = 30
    for part in ("1,200", "1,000,000", "100,000.0", "S = 30", "CUBIC's C", "cubic+minrtt/s2", "2 trials"):
        assert part in done.stdout, part


def test_a_dry_run_says_with_which_playout_delay_everything_can_be_in_time(scenario: Path) -> None:
    said = emulate(scenario, "--dry-run", "--seeds", "2", "--set", "link.0.loss=").stdout
    (line,) = [
        line for line in said.splitlines() if line.startswith("least playout delay with all in time: ")
    ]
    (first, second) = json.loads(
        emulate(scenario, "--dry-run", "--json", "--seeds", "2", "--set", "link.0.loss=").stdout
    )["least_playout_delays"]
    assert f"{max(first['delay_s'], second['delay_s']):,.6g} s" in line
    stall = emulate(scenario, "--dry-run", "--set", 'playout={mode = "stall"}').stdout
    assert "least playout delay" not in stall


def test_a_dry_run_shows_who_else_is_on_the_link(scenario: Path) -> None:
    done = emulate(
        scenario,
        "--dry-run",
        "--set",
        "link.0.mix={rate_bps = 10_000, tcp_flows = 2}",
        "--set",
        'link.0.flows=[{congestion = "cubic"}]',
    )
    said = (
        "3 TCP flows (1 cubic, 2 newreno) writing 8,000 bit/s, 1 source of datagrams (2,000 bit/s while on)"
    )
    assert said in done.stdout


def test_reconstructions_are_marked_everywhere(scenario: Path, out: Path) -> None:
    dry = emulate(scenario, "--dry-run", "--congestion", "tp-planet", "--congestion", "cubic")
    assert "tp-planet+minrtt/s1 (reconstruction)" in dry.stdout
    assert "cubic+minrtt/s1\n" in dry.stdout
    done = emulate(scenario, "-o", out, "--congestion", "tp-planet", "--congestion", "cubic", "--json")
    rebuilt, built = json.loads(done.stdout)["trials"]
    assert rebuilt["reconstruction"] == ["tp-planet"]
    assert "reconstruction" not in built


def test_dry_run_as_json(scenario: Path) -> None:
    document = json.loads(emulate(scenario, "--dry-run", "--json").stdout)
    assert document["dry_run"] is True
    assert document["trials"] == ["cubic+minrtt/s1"]
    assert document["links"][0]["rtt_s"] == 0.1
    assert document["scale"] == 1


def test_bad_input_shows_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("[scenario")
    command = [sys.executable, "-m", "dstcc_cli", "emulate", str(path), "-o", str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"dstcc: {path}: not TOML")
    assert "Traceback" not in done.stderr


def test_ctrl_c_leaves_no_half_written_run(scenario: Path, tmp_path: Path, out: Path) -> None:
    """A mission too long to finish here, interrupted once its temporary folder is there."""
    options = [
        "--set",
        "video.loop_to_s=1e6",
        "--set",
        "link.0.rate_bps=1e9",
        "--set",
        "video.synthetic.layer_bps=[5e8]",
        "--limit",
        "events=1e12",
    ]
    # A shell may start us with SIGINT ignored; a user's terminal does not.
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from dstcc_cli.main import main; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", code, "emulate", str(scenario), "-o", str(out), *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while not list(tmp_path.glob(".run.*.tmp")) and process.poll() is None:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["quick.toml"]


def test_bounds_of_nobody_are_named_in_one_line(scenario: Path, out: Path) -> None:
    with scenario.open("a") as file:
        file.write('[expect]\n"westwood.playback_ratio" = ">= 0"\n"bbr.playback_ratio" = ">= 0"\n')
    done = emulate(scenario, "-o", out, "--congestion", "cubic")
    assert done.exit_code == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if "not checked" in line]
    names = "expect.westwood.playback_ratio, expect.bbr.playback_ratio"
    assert said == [f"dstcc: not checked, as the run has no such trial: {names}"]


def test_people_read_utc_where_the_mission_has_a_date(scenario: Path, out: Path) -> None:
    """Five chunks of a second and what follows; documents keep mission seconds."""
    dated = ("--set", "scenario.start=2028-03-11T22:14:05Z")
    restart = (
        "--set",
        "transport.restart.at_s=[60]",
        "--set",
        "transport.restart.boot_s=1",
        "--set",
        "transport.restart.spool=true",
    )
    planned = emulate(scenario, "--dry-run", *dated, *restart)
    said = " ".join(planned.stdout.split())
    assert "quick, from 2028-03-11 22:14 UTC (links as seed 1 draws them)" in said
    assert ", 2028-03-11 22:14–22:14 UTC" in said
    assert "the sender restarts at 2028-03-11 22:15 UTC, boots for 1 s" in said
    plain, with_date = (emulate(scenario, "--dry-run", "--json", *more) for more in ((), dated))
    assert json.loads(plain.stdout) == json.loads(with_date.stdout)
    assert "quick, from 2028-03-11 22:14 UTC" in emulate(scenario, "-o", out, *dated).stdout


@pytest.mark.parametrize(
    "name", ["tide", "flares", *(pytest.param(one, marks=pytest.mark.slow) for one in ("sinking", "relief"))]
)
def test_a_dry_run_says_between_what_losses_change(name: str) -> None:
    mission = Path(__file__).parents[2] / f"examples/learning/held-out/{name}.toml"
    done = CliRunner().invoke(main, ["emulate", str(mission), "--dry-run"], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    assert ", changing" in done.output
    assert {"tide": "0.0001–0.15", "relief": "0.001–0.12"}.get(name, "–") in done.output
