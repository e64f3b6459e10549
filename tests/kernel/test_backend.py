"""Scenarios on the real kernel: the same run directory, the same bytes, twice the same; half in `make test-kernel`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from dstcc_cli.main import main
from dstcc_kernel import backend, guest
from dstcc_kernel.outcome import read_result
from dstcc_kernel.source import release

from dstcc.engine import EngineConfig, EngineResult
from dstcc.errors import DstccError, KernelError
from dstcc.run import load_run
from dstcc.scenario import TrialSetup, draw_trial, engine_config, load_scenario, load_source, parse_override

from .test_guest import folders_of, processes_of

MINI = Path(__file__).parent / "mini.toml"
TEN_MINUTES = Path(__file__).parents[2] / "examples/lab/ten-minutes.toml"


def config_of(path: Path, *overrides: str, seed: int = 1) -> tuple[TrialSetup, EngineConfig]:
    """The first trial of a mission, changed by ``--set``'s words, and what it shares with others."""
    scenario = load_scenario(path, [parse_override(text) for text in overrides])
    setup = draw_trial(scenario, load_source(scenario), seed)
    names = scenario.transport.congestion[0], scenario.transport.scheduler[0]
    return setup, engine_config(scenario, setup, *names)


def trial(*overrides: str, seed: int = 1, path: Path = MINI) -> tuple[TrialSetup, EngineResult]:
    """The small mission's trial, or another's, carried out."""
    setup, config = config_of(path, *overrides, seed=seed)
    return setup, backend.run(config)


@pytest.fixture(scope="module")
def lanes(kernel: Path) -> tuple[TrialSetup, EngineResult]:
    return trial()


def test_a_scenario_becomes_a_run_with_its_kernel_named(kernel: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = CliRunner().invoke(main, ["emulate", str(MINI), "--backend", "kernel", "-o", str(run), "--json"])
    assert done.exit_code == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["backend"], document["scale"]) == ("kernel", 8)
    meta = load_run(run).meta
    assert meta["kernel"]["version"].startswith("6.")
    assert any("delayed ACK 40 ms → 320 ms" in line for line in meta["distorts"])
    rows = load_run(run).chunks().to_pylist()
    assert len(rows) == 150
    assert 0 < document["trials"][0]["metrics"]["playback_ratio"] <= 1
    report = CliRunner().invoke(main, ["report", str(run), "-o", str(tmp_path / "r.md"), "--format", "md"])
    assert report.exit_code == 0, report.stderr


@pytest.mark.kernel
def test_variants_run_there_with_settings_of_their_own(kernel: Path, tmp_path: Path) -> None:
    scenario, run = tmp_path / "varied.toml", tmp_path / "run"
    scenario.write_text(
        MINI.read_text()
        + f'[[variant]]\nlabel = "one stream"\ncongestion = "newreno"\nscheduler = "{release().scheduler}"\n'
        + 'set = {mode = "stream", scale = 4}\n'
        + '[[variant]]\nlabel = "ours"\ncontroller = "dstcc-lanes"\nset = {controller_lanes = 2}\n'
    )
    words = ["--backend", "kernel", "--set", "transport.congestion=cubic", "--json", "-o", str(run)]
    words += ["--set", "video.loop_to_s=150", "--set", "scenario.duration_s=900"]
    done = CliRunner().invoke(main, ["emulate", str(scenario), *words])
    assert done.exit_code == 0, done.stderr
    document = json.loads(done.stdout)
    assert [trial["id"] for trial in document["trials"]] == ["cubic+minrtt/s1", "one stream/s1", "ours/s1"]
    assert all(trial["metrics"]["playback_ratio"] > 0 for trial in document["trials"])
    plain, stream, ours = document["algorithms"]
    assert (stream["mode"], stream["ordering_domains"], stream["scale"]) == ("stream", 1, 4)
    assert plain["scale"] == ours["scale"] == 8
    # what a policy would copy the kernel's sender does not
    assert ours["copies"] == ""
    assert ours["windows"] * 2 == ours["ordering_domains"]
    notes = load_run(run).meta["kernel"]["notes"]
    assert any(note.startswith("ours: under a controller") for note in notes)


def test_nothing_arrives_before_light(lanes: tuple[TrialSetup, EngineResult]) -> None:
    setup, result = lanes
    objects = result.objects
    arrived = objects.first_arrival_ns >= 0
    one_way = np.array([link.delay_ns[0] for link in setup.links])[objects.subflow[arrived]]
    took = objects.first_arrival_ns[arrived] - objects.first_sent_ns[arrived]
    assert (took >= one_way).all()
    assert (objects.first_sent_ns[arrived] >= setup.objects.release_ns[arrived]).all()
    # the handshake is a round trip; SYN and layer leave at once, up to a look's rounding
    assert objects.first_sent_ns[arrived].min() >= 200 * 10**9


def test_what_is_delivered_adds_up(lanes: tuple[TrialSetup, EngineResult]) -> None:
    setup, result = lanes
    objects, totals = result.objects, result.totals
    whole = objects.complete_ns >= 0
    assert (objects.delivered_bytes[whole] == setup.objects.payload_bytes[whole]).all()
    assert objects.delivered_bytes.sum() == totals.delivered_payload_bytes
    assert objects.sent_bytes.sum() == totals.sent_payload_bytes
    assert totals.arrived_payload_bytes >= totals.delivered_payload_bytes
    # what became too late is left where it stands: a layer that was begun may be given up, a whole one not
    given_up = objects.given_up == 1
    assert not (given_up & whole).any()
    assert (objects.delivered_bytes[given_up] < setup.objects.payload_bytes[given_up]).all()
    assert 1 < whole.sum() < len(whole)


def test_a_full_segment_carries_the_mss(kernel: Path) -> None:
    _, result = trial(
        "video.synthetic.layer_bps=[8000000]", "scenario.duration_s=400", "link.1.loss.packet=0.0001"
    )
    mean = result.totals.sent_payload_bytes / result.totals.data_packets
    assert 1455 < mean <= 1460


def test_the_rtt_is_the_links_and_its_queue(lanes: tuple[TrialSetup, EngineResult]) -> None:
    _, result = lanes
    mean_s = result.totals.rtt_sum_s / result.totals.rtt_samples
    assert 200 < mean_s < 400
    assert 200e9 <= result.samples.min_rtt_ns[result.samples.min_rtt_ns > 0].min() < 210e9


def test_lanes_begin_with_the_scenarios_window(lanes: tuple[TrialSetup, EngineResult]) -> None:
    """In the first millisecond of a guest's clock Linux would take TCP's timestamp for none: a SYN repeated for the
    distance alone left a window of one segment."""
    samples = lanes[1].samples
    assert samples.cwnd_segments[samples.cwnd_segments > 0][0] == 40


def test_the_same_seed_gives_the_same_bytes_and_another_one_others(
    kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bytes] = []
    read = read_result

    def keep(path: Path, config: EngineConfig) -> EngineResult:
        seen.append(path.read_bytes())
        return read(path, config)

    monkeypatch.setattr(backend, "read_result", keep)
    for seed in (1, 1, 2):
        short = "video.loop_to_s=60", "scenario.duration_s=300"
        trial("link.0.loss.packet=0.03", "link.1.loss.packet=0.03", *short, seed=seed)
    assert seen[0] == seen[1]
    assert seen[0] != seen[2]


def test_a_stream_uses_both_links(kernel: Path) -> None:
    _, result = trial(
        "transport.mode=stream", "video.source=stored", "playout={mode='stall'}", "scenario.duration_s=4000"
    )
    per_link = np.bincount(result.samples.subflow, weights=result.samples.delivered_bytes)
    assert (per_link > 0).all()
    assert (result.objects.complete_ns >= 0).sum() > 10


@pytest.mark.kernel
def test_all_of_many_handshakes_on_one_link_end(kernel: Path) -> None:
    """A listener forgets handshakes that take long while its queue is half full: it must hold twice as many."""
    _, result = trial("video.loop_to_s=100", "transport.congestion=['cubic']", path=TEN_MINUTES)
    assert (result.objects.complete_ns >= 0).all()


@pytest.mark.kernel
def test_in_an_outage_the_other_link_carries_a_lanes_layers(kernel: Path) -> None:
    _, result = trial("link.0.outages=[[500, 1900]]")
    through = result.samples.delivered_bytes[
        (result.samples.subflow == 0) & (result.samples.t_ns > 920 * 10**9)
    ]
    assert through[:5].sum() == 0
    assert result.totals.delivered_payload_bytes > 0


def test_a_lane_leaves_a_layer_that_has_become_too_late(kernel: Path) -> None:
    """Under BBR a lane of such round trips has four segments in most of them, and a layer takes several: what of it is
    not sent when it is too late stays unsent, what was sent is counted, and later layers on the lane come through."""
    setup, result = trial("transport.congestion=bbr", "playout.delay_rtts=2")
    objects, given_up = result.objects, result.objects.given_up == 1
    left = given_up & (objects.sent_bytes > 0)
    assert left.any()
    assert (objects.delivered_bytes[left] < setup.objects.payload_bytes[left]).all()
    whole = objects.complete_ns >= 0
    assert (whole | given_up).all() and not (whole & given_up).any()
    assert (objects.delivered_bytes[whole] == setup.objects.payload_bytes[whole]).all()
    assert objects.complete_ns.max() > objects.first_sent_ns[left].min() + 2 * setup.slot_ns


@pytest.mark.kernel
def test_handshakes_begin_with_the_contact(kernel: Path) -> None:
    """By the plan, not by the doubling of repeats: the SYN of 0 s has its repeats after 8, 24, .., 504 s and would be
    answered at 704 s; that of 300 s is at 500 s, as in the simulator."""
    dark = "link.0.outages=[[0, 300]]", "link.1.outages=[[0, 300]]", "transport.congestion=['cubic']"
    setup, result = trial(*dark, "video.loop_to_s=100")
    looks_s = 2 * 200 / 400
    assert result.totals.first_send_s == pytest.approx(500, abs=1 + 2 * looks_s)
    for link, begins_s in ((0, 500), (1, 600)):
        sent = (result.samples.subflow == link) & (result.samples.sent_segments > 0)
        first_s = result.samples.t_ns[sent][0] / 1e9
        assert begins_s < first_s <= begins_s + setup.slot_ns / 1e9 + 3


@pytest.mark.kernel
def test_a_later_subflow_joins_with_its_contact(kernel: Path) -> None:
    """Due after two round trips of 200 s; dark until 730 s. A join's SYN of 730 s is answered after its round trip of
    300 s, at 1,030 s, and the fourth packet ends it at 1,330 s: then data may go. One that began in the dark, at 600 s,
    would repeat its SYN after 8, 24, 56, 120 and 248 s and be answered at 1,148 s."""
    dark = "transport.mode=stream", "link.1.outages=[[0, 730]]", "transport.congestion=['cubic']"
    _, result = trial(*dark, "scenario.duration_s=1500", "video.loop_to_s=1000")
    later = result.samples.subflow == 1
    answered = result.samples.t_ns[later & (result.samples.srtt_ns > 0)][0] / 1e9
    sent = result.samples.t_ns[later & (result.samples.sent_segments > 0)][0] / 1e9
    assert 1030 <= answered <= 1030 + 50  # a slot is 50 s
    assert 1330 <= sent <= 1500  # as soon as Linux's scheduler has something for it


def test_real_payloads_cross(kernel: Path, tmp_path: Path) -> None:
    clip = Path(__file__).parents[2] / "examples" / "clips" / "big-buck-bunny.mp4"
    _, result = trial(
        f"video={{input='{clip}', loop_to_s=60, encode={{height=90, crf=40}}}}", "scenario.duration_s=1200"
    )
    assert (result.objects.complete_ns >= 0).any()


@pytest.mark.kernel
def test_our_module_holds_a_fixed_window(kernel: Path) -> None:
    _, result = trial(
        "transport.congestion=fixed", "transport.fixed_cwnd_segments=[60, 30]", "scenario.duration_s=1200"
    )
    samples = result.samples
    after = samples.t_ns > 700 * 10**9
    assert set(samples.cwnd_segments[after & (samples.subflow == 0)].tolist()) == {60}
    assert set(samples.cwnd_segments[after & (samples.subflow == 1)].tolist()) == {30}


@pytest.mark.kernel
def test_a_policy_steers_real_subflows(kernel: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    options = ["--backend", "kernel", "--controller", "iodst-dqn", "--set", "scenario.duration_s=1000"]
    done = CliRunner().invoke(main, ["emulate", str(MINI), *options, "-o", str(run), "--json"])
    assert done.exit_code == 0, done.stderr
    (row,) = json.loads(done.stdout)["trials"]
    assert row["id"] == "iodst-dqn/s1"
    assert row["metrics"]["guard_actions"] >= 0
    assert len(set(load_run(run).samples()["cwnd_segments"].to_pylist())) > 3


def test_a_payload_that_is_not_there_is_named(kernel: Path, tmp_path: Path) -> None:
    missing = tmp_path / "gone"
    with pytest.raises(DstccError, match="gone: No such file"):
        backend.run(replace(config_of(MINI)[1], payloads=(missing,)))


def test_the_transfer_program_dying_is_told(
    kernel: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    dying = tmp_path / "dying"
    dying.write_text("#!/bin/sh\necho 0\nkill -9 $$\n")
    dying.chmod(0o755)
    monkeypatch.setattr(backend, "program", lambda *_: dying)
    with pytest.raises(DstccError, match="ended by signal 9"):
        trial()


def test_without_a_compiler_nothing_starts(
    kernel: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kernel_files = backend.built()
    monkeypatch.setattr(backend, "built", lambda: kernel_files)
    monkeypatch.setenv("DSTCC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    words = ["emulate", str(MINI), "--backend", "kernel", "-o", str(tmp_path / "run")]
    done = CliRunner().invoke(main, words)
    assert (done.exit_code, "apt install gcc" in done.stderr) == (1, True)
    assert not (tmp_path / "run").exists()
    monkeypatch.setattr(backend, "programs", lambda: None)  # these were compiled before
    done = CliRunner().invoke(main, words)
    assert (done.exit_code, "apt install g++" in done.stderr) == (1, True)
    assert not (tmp_path / "run").exists() and not (tmp_path / "cache/kernel").exists()


CUT = """#!{python}
import ctypes, os, socket, subprocess, sys, time
transfer = subprocess.Popen([{program!r}, sys.argv[1]], close_fds=False)
time.sleep(100)
libc = ctypes.CDLL(None)
process = libc.syscall(434, transfer.pid, 0)  # pidfd_open
for number in os.listdir(f"/proc/{{transfer.pid}}/fd"):
    taken = libc.syscall(438, process, int(number), 0)  # pidfd_getfd
    try:
        end = socket.socket(fileno=taken)
        end.getpeername()
    except OSError:
        continue
    if end.getsockname()[1] == 5000:
        libc.connect(taken, bytes(16), 16)  # to AF_UNSPEC: the connection is let go, as by a host that starts anew
sys.exit(transfer.wait())
"""


def test_the_earths_end_dying_in_mid_transfer_is_told(
    kernel: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from dstcc_kernel.native import program

    cutting = tmp_path / "cutting"
    cutting.write_text(CUT.format(python=sys.executable, program=str(program())))
    cutting.chmod(0o755)
    monkeypatch.setattr(backend, "program", lambda *_: cutting)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    message = r"connection \d+(, the Earth's end: .* not connected|: the Earth's end is gone)"
    with pytest.raises(DstccError, match=message):
        trial()
    assert list(tmp_path.iterdir()) == [cutting]


@pytest.mark.parametrize(
    "room", [pytest.param("8k", marks=pytest.mark.kernel), "36k"], ids=["at its start", "at its end"]
)
def test_a_full_temporary_folder_is_called_that(kernel: Path, tmp_path: Path, room: str) -> None:
    """A file system that small, mounted where only the command sees it: as root, or in a user namespace."""
    alone = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
    mounted = f"mkdir tmp; mount -t tmpfs -o size={room} none tmp || exit 99"
    script = f'{mounted}; TMPDIR=$PWD/tmp "$@"; code=$?; ls tmp; exit $code'
    command = [
        sys.executable,
        "-m",
        "dstcc_cli",
        "emulate",
        str(MINI),
        "--backend",
        "kernel",
        "-o",
        "run",
        "--json",
    ]
    done = subprocess.run(
        [*alone, "sh", "-c", script, "sh", *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode in (1, 99) and "dstcc-lanes" not in done.stderr:
        pytest.skip(f"neither root nor user namespaces: {done.stderr}")
    assert done.returncode == 1
    assert f"the disk is full: {tmp_path}/tmp has no space" in done.stderr
    assert "dstcc-" not in done.stdout.splitlines()[-1]


def test_a_guest_that_hangs_is_stopped_and_its_folder_kept(
    kernel: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    busy = tmp_path / "busy"
    busy.write_text("#!/bin/sh\necho 0\nwhile :; do :; done\n")
    busy.chmod(0o755)
    monkeypatch.setattr(backend, "program", lambda *_: busy)
    monkeypatch.setattr(backend, "_wall_s", lambda *_: 2.0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(KernelError, match=r"it still ran after 2 s") as raised:
        trial()
    console = next(tmp_path.glob("dstcc-trial-*/console.log"))
    assert str(console) in str(raised.value)
    assert (console.parent / "job.json").exists()
    assert processes_of(os.getpid()) == [] and folders_of(os.getpid()) == []


@pytest.mark.kernel
def test_a_guest_that_hangs_leaves_a_failed_trial_with_its_samples(
    kernel: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from dstcc_kernel.native import program

    hanging = tmp_path / "hanging"  # after a minute of the mission a busy loop: no time passes any more
    hanging.write_text(f"#!/bin/sh\n{program()} $1 & sleep 60; kill -STOP $!; while :; do :; done\n")
    hanging.chmod(0o755)
    monkeypatch.setattr(backend, "program", lambda *_: hanging)
    monkeypatch.setattr(backend, "_wall_s", lambda *_: 12.0)
    run = tmp_path / "run"
    done = CliRunner().invoke(main, ["emulate", str(MINI), "--backend", "kernel", "-o", str(run)])
    assert done.exit_code == 1
    assert "the guest was stopped: it still ran after 12 s" in done.stderr
    loaded = load_run(run)
    assert loaded.trials[0]["status"] == "failed"
    assert 0 < max(loaded.samples()["t_s"].to_pylist()) <= 60 * 8


def test_what_a_killed_runner_left_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    half, empty = tmp_path / "dstcc-trial-999999999-abcd_123", tmp_path / "dstcc-trial-999999999-abcd_124"
    ours = tmp_path / f"dstcc-trial-{os.getpid()}-abcd_123"
    for folder in (half, empty, ours):
        folder.mkdir()
    (half / "job.json").write_text("{}")
    (half / "console.log").write_text("its last words")
    backend.sweep()
    assert list(tmp_path.iterdir()) == [ours]


@pytest.mark.parametrize(
    "name",
    ["dstcc-trial-999999999-baseline", "dstcc-trial-999999999-notes", "dstcc-guest-999999999-abcdefgh"],
)
def test_a_folder_of_the_users_with_such_a_name_is_not_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / name).mkdir()
    (tmp_path / name / "results.csv").write_text("mine")
    (tmp_path / "dstcc-trial-999999999-12345678").symlink_to(tmp_path / name)
    (tmp_path / "dstcc-trial-999999999-87654321").write_text("a file")
    backend.sweep()
    guest.sweep()
    assert (tmp_path / name / "results.csv").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 3


def test_no_kernel_says_how_to_build_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSTCC_CACHE", str(tmp_path))
    shutil.rmtree(tmp_path / "kernel", ignore_errors=True)
    done = CliRunner().invoke(
        main, ["emulate", str(MINI), "--backend", "kernel", "-o", str(tmp_path / "run")]
    )
    assert done.exit_code == 1
    assert "dstcc kernel build" in done.stderr
    assert not (tmp_path / "run").exists()
