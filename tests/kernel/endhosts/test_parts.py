"""What needs no guest: times, names, the plan, logs, and which process is whose."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from dstcc_kernel.endhosts.logs import CUT, LONGEST, Logs
from dstcc_kernel.endhosts.mission import HOSTS, VARIABLE, Mission, read_mission
from dstcc_kernel.endhosts.naming import hosts_file, slug, variables
from dstcc_kernel.endhosts.outcome import OUTPUT, _impatient, _notes, _programs, distortions_of
from dstcc_kernel.endhosts.planning import MOST_STEPS, Options, memory_mb, plan
from dstcc_kernel.endhosts.spinning import busy_program

from dstcc.clock import Clock
from dstcc.outputs import obstacle
from dstcc.scenario import load_scenario, parse_override, scale_of

from .flights import SHORT


def planned(*settings: str, **options: object) -> Mission:
    """The plan of the short scenario with settings."""
    return plan(
        load_scenario(SHORT, [parse_override(text) for text in settings]),
        Options(command=("true",), **options),  # type: ignore[arg-type]
    )


def test_names_are_the_links() -> None:
    assert slug("Relay 1") == "relay-1" and slug("Ka-Band/λ") == "ka-band"
    mission = planned("link.1.name=λ")
    lines = hosts_file(mission).splitlines()
    assert lines == [
        "127.0.0.1 localhost",
        "10.1.0.1 craft craft-1 craft-relay-1",
        "10.1.0.2 earth earth-1 earth-relay-1",
        "10.2.0.1 craft-2",
        "10.2.0.2 earth-2",
    ]
    assert variables(mission)["DSTCC_EARTH_2"] == "10.2.0.2"


@pytest.mark.parametrize(("scale", "packets", "warns"), [(1, 90, False), (1, 92, True), (2, 92, False)])
def test_a_round_trip_that_linux_cannot_count_is_said_with_its_link(scale, packets, warns):
    # 400 s of light, and 12,000 bits a packet at 8,000 bit/s: 535 s and 538 s; 2^32 / 8 us = 536.87 s, times the scale
    relay = ("link.0.delay_s=200", "link.0.rate_bps=8000", f"link.0.queue_bytes={1500 * packets}")
    said = [note for note in distortions_of(planned(f"run.scale={scale}", *relay)) if "srtt_us" in note]
    assert len(said) == warns
    assert not warns or "link Relay 1: a round trip of up to 538 s with its queue full" in said[0]


def test_a_plan_is_in_emulated_time_and_reads_back(tmp_path: Path) -> None:
    """Scale 10: delays a tenth, rates tenfold, as many packets; queues by full packets on both ways."""
    mission = planned("run.scale=10", "link.0.queue_bytes=150000", for_s=100.0, earth=("sleep 1",))
    relay = mission.links[0]
    assert relay.down.steps[0].delay_ns == relay.up.steps[0].delay_ns == 50_000_000
    assert relay.down.rate_bps == 20_000_000
    assert relay.down.queue_packets == 100
    assert mission.until_ns == 10 * 10**9
    assert mission.linger_ns == 200_000_000  # a round trip of the longest link, 2 s
    assert mission.mtu == 1500
    mission.write(tmp_path / "mission.json")
    assert read_mission(tmp_path / "mission.json") == mission


def test_the_automatic_scale_lets_programs_through() -> None:
    """Round trips of 480 and 720 s: 720 / 10; `dstcc emulate` has 720 / 40. What is said is kept."""
    settings = ("link.0.delay_s=240", "link.1.delay_s=360")
    assert planned(*settings).scale == 72.0
    assert scale_of(load_scenario(SHORT, [parse_override(text) for text in settings])) == 18.0
    assert planned(*settings, "run.scale=18").scale == 18.0
    assert planned().scale == 1.0  # two seconds


def ended(words: str, **changed: object) -> dict[str, object]:
    program = {"argv": ["iperf3", "-c"], "exit_code": 1, "ended_by_dstcc": False, "last_words": words}
    return {"programs": [program | changed]}


@pytest.mark.parametrize(
    "words",
    [  # of iperf3, rsync and curl at round trips of 40 s
        "iperf3: error - unable to send control message: Broken pipe",
        "rsync error: error in rsync protocol data stream (code 12) at io.c(285) [Receiver=3.5.0]",
        "curl: (18) transfer closed with 43084 bytes remaining to read",
        "curl: (28) Connection timed out after 300000 milliseconds",
        "TimeoutError: timed out",
    ],
)
def test_a_timeout_at_a_long_round_trip_is_named(words: str) -> None:
    """Half of 40 s one way, at scale 12."""
    far = planned("link.0.delay_s=240", "run.scale=12")
    said = _impatient(ended(words), far)
    assert said.startswith("iperf3 ended as after a timeout: ") and "a round trip takes 40 s" in said
    assert "--scale auto" in said
    assert _impatient(ended(words), planned("link.0.delay_s=240")) == ""  # ten seconds: the automatic scale
    assert _impatient(ended(words, exit_code=0), far) == ""
    assert _impatient(ended(words, ended_by_dstcc=True), far) == ""


@pytest.mark.parametrize("words", ["cat: x: No such file or directory", "", None])
def test_another_failure_is_no_timeout(words: str) -> None:
    assert _impatient(ended(words), planned("link.0.delay_s=240", "run.scale=12")) == ""


def test_a_moving_delay_is_followed_within_its_step() -> None:
    """20 s in 1,000 s: 80,000 quarters of a millisecond are too many, 0.1 s are 400 and then the least."""
    fast = planned("link.0.delay_s=[[0,1],[1000,21]]", for_s=1000.0).links[0].down.steps
    slow = planned("link.0.delay_s=[[0,1],[1000,1.25]]", for_s=1000.0).links[0].down.steps
    assert len(fast) == MOST_STEPS
    assert len(slow) == 1000
    assert max(b.delay_ns - a.delay_ns for a, b in pairwise(slow)) <= 250_001


def test_a_bigger_disk_needs_memory() -> None:
    assert memory_mb(planned(disk_mb=1000)) - memory_mb(planned(disk_mb=100)) == 2 * 900
    assert memory_mb(planned(pcapng=True)) > memory_mb(planned())


def test_lines_are_stamped_when_they_are_whole(tmp_path: Path) -> None:
    """Mission time is the scale times the guest's; a meter's returns are lines; what has no end comes at the end."""
    logs = Logs(tmp_path, HOSTS, 10.0, 1 << 20)
    logs.add(1_000_000_000, "craft", 0, "out", b"one\ntw")
    logs.add(2_000_000_000, "craft", 0, "out", b"o\n10 %\r20 %\r")
    logs.add(2_500_000_000, "craft", 0, "err", b"\xff\n")
    logs.add(2_600_000_000, "earth", 1, "out", b"rest")
    logs.close(3_000_000_000)
    assert (tmp_path / "craft.log").read_bytes().splitlines() == [
        b"10.000000 1 out one",
        b"20.000000 1 out two",
        b"20.000000 1 out 10 %",
        b"20.000000 1 out 20 %",
        rb"25.000000 1 err \xff",  # no UTF-8: written out; what is handed on stays as it is
    ]
    assert (tmp_path / "earth.log").read_bytes() == b"30.000000 2 out rest\n"
    assert (tmp_path / "stdout").read_bytes() == b"one\ntwo\n10 %\r20 %\r"
    assert logs.cut == []


def test_a_line_without_end_and_a_log_without_end(tmp_path: Path) -> None:
    logs = Logs(tmp_path, HOSTS, 1.0, 4 * LONGEST)
    for _ in range(8):
        logs.add(0, "craft", 1, "out", b"x" * (LONGEST + 1))
    logs.close(0)
    text = (tmp_path / "craft.log").read_text()
    assert logs.cut == ["craft"]
    assert text.endswith(f" 0 err {CUT}\n")
    assert len(text) < 6 * LONGEST


def test_the_busy_process_is_found_by_its_environment() -> None:
    """Below a shell, one of two children spins: the number is that one's."""
    spin, wait = "while True: pass", "import time; time.sleep(60)"
    code = (
        "import os, subprocess, sys\n"
        f"for number, code in ((3, {wait!r}), (7, {spin!r})):\n"
        f"    subprocess.Popen([sys.executable, '-S', '-c', code], env={{{VARIABLE!r}: str(number), 'X': 'y'}})\n"
        "print('up', flush=True)\n"
        "os.wait()"
    )
    parent = subprocess.Popen(
        [sys.executable, "-S", "-c", code], stdout=subprocess.PIPE, start_new_session=True
    )
    assert parent.stdout is not None
    try:
        assert parent.stdout.readline() == b"up\n"
        found = next((number for _ in range(20) if (number := busy_program(parent.pid)) is not None), None)
        assert found == 7
    finally:
        os.killpg(parent.pid, 9)
        parent.wait()
        parent.stdout.close()


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": 1}', '{"schema": 1, "kind": "programs"}', "[" * 9999]
)
def test_a_folder_of_somebody_else_is_not_replaced(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    reason = obstacle(tmp_path, OUTPUT)
    assert reason is not None and "run.json" in reason


def test_programs_ended_in_mission_time_with_a_shells_code_and_their_last_words(tmp_path: Path) -> None:
    mission = planned("run.scale=10", earth=("sleep 1", "sleep 2"))
    (tmp_path / "craft.log").write_text("1.0 1 out done\n2.0 1 err warned\n")
    (tmp_path / "earth.log").write_text(
        "1.0 2 err why\n1.0 3 out other\n2.0 2 out so far\n3.0 3 err why not\n"
    )
    said = {
        "programs": [
            {"exit_code": 0, "ended_ns": 5_000_000_000},
            {"exit_code": -9, "ended_ns": 2_500_000_000, "asked": True},
            {"exit_code": 3, "ended_ns": None},
        ]
    }
    craft, killed, failed = _programs(mission, said, tmp_path)
    assert (craft["exit_code"], craft["ended_s"], craft["last_words"]) == (0, 50.0, "done")
    assert (killed["exit_code"], killed["ended_s"], killed["last_words"]) == (128 + 9, 25.0, "why")
    assert (failed["exit_code"], failed["ended_s"], failed["last_words"]) == (3, None, "why not")
    assert [one["ended_by_dstcc"] for one in (craft, killed, failed)] == [False, True, False]
    meta = {"unconfined": [], "programs": [craft, killed, failed | {"ended_s": 7.0}]}
    names = [f"craft/{n}" for n in range(5)]
    left = {"left_out": {"craft": {"neither file nor folder": {"count": 8, "named": names}}}}
    notes = _notes(meta, left, "", mission, Clock())
    assert notes == [
        "`sleep 2` on earth ended with 3 at 7 s: why not",
        "not kept, neither file nor folder: craft/0, craft/1, craft/2, craft/3, craft/4, and 3 more",
    ]
