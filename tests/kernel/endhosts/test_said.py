"""What a guest says of a mission when it is over (``said.py``): code in its kernel may have written it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dstcc_kernel.endhosts.mission import OUTCOME, RUNNING, Mission
from dstcc_kernel.endhosts.planning import LONGEST_S
from dstcc_kernel.endhosts.said import MOST_NS, read_devices, read_outcome, read_running

from dstcc.errors import KernelError
from scripts.fuzzing import guests

DEVICES = [{"down": 3, "up": 4}]


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("end_ns",), -1, "end_ns: Input should be greater than or equal to 0"),
        (("end_ns",), MOST_NS + 1, "end_ns: Input should be less"),
        (("end_ns",), 1.5, "end_ns: Input should be a valid integer"),
        (("end_ns",), float("nan"), "end_ns: Input should be a valid integer"),
        (("reason",), "because", "reason: Input should be"),
        (("congestion",), "x" * 16, "congestion: String should match"),
        (("congestion",), "a\x1b[2J", "congestion: String should match"),
        (("programs",), [], "programs: 0 of them, but 1 were run"),
        (("programs", 0, "exit_code"), 10**30, "programs.0.exit_code: "),
        (("programs", 0, "ended_ns"), "1", "programs.0.ended_ns: "),
        (("missed_packets",), -1, "missed_packets: "),
        (("full",), ["mars"], "there is no host mars"),
        (("left_out", "craft"), {"a\ndstcc: x": {"count": 1, "named": []}}, r"craft.a\\ndstcc: x.*: String"),
        (("left_out", "craft"), {"x": {"count": 1, "named": ["\x1b[2J"]}}, "named.0: String should match"),
        (("missed_packets",), 1 << 63, "missed_packets: "),
        (("programs", 0, "failed"), "x" * 257, "programs.0.failed: "),
        (("more",), 1, "more: Extra inputs"),
    ],
)  # fmt: skip
def test_what_a_guest_says_is_held_against_what_it_can_be(
    place: tuple[str | int, ...], value: object, said: str, tmp_path: Path, mission: Mission
) -> None:
    document = json.loads(json.dumps(guests.OUTCOME))
    (tmp_path / OUTCOME).write_text(json.dumps(document))
    assert read_outcome(tmp_path, mission) == document
    node = document
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = value
    (tmp_path / OUTCOME).write_text(json.dumps(document))
    with pytest.raises(KernelError, match=rf"^{OUTCOME}: .*{said}"):
        read_outcome(tmp_path, mission)


def test_what_is_just_so_much_is_believed(tmp_path: Path, mission: Mission) -> None:
    """A year of the guest's clock and a day (366 * 86,400 s), 2^63 - 1 packets, 256 characters."""
    assert MOST_NS == 31_622_400 * 10**9 > LONGEST_S * 10**9
    document = json.loads(json.dumps(guests.OUTCOME))
    document |= {"end_ns": MOST_NS, "missed_packets": (1 << 63) - 1}
    document["programs"][0]["failed"] = "x" * 256
    (tmp_path / OUTCOME).write_text(json.dumps(document))
    assert read_outcome(tmp_path, mission) == document
    (tmp_path / RUNNING).write_text(f"{MOST_NS} 0")
    assert read_running(tmp_path, mission) == (MOST_NS, [0])


def test_of_several_errors_the_first_is_named(tmp_path: Path, mission: Mission) -> None:
    document = json.loads(json.dumps(guests.OUTCOME)) | {"reason": "because", "congestion": 1}
    (tmp_path / OUTCOME).write_text(json.dumps(document))
    with pytest.raises(KernelError, match=rf"^{OUTCOME}: reason: "):
        read_outcome(tmp_path, mission)


def test_devices_are_those_of_the_links(tmp_path: Path, mission: Mission) -> None:
    assert read_devices(tmp_path, mission) == []
    for devices, said in (
        (2 * DEVICES, "2 links, but 1 were laid"),
        ([{"down": 3, "up": 1 << 31}], "0.up: Input should be less than 2147483648"),
        ([{"down": -1, "up": 4}], "0.down: Input should be greater"),
    ):
        (tmp_path / "devices.json").write_text(json.dumps(devices))
        with pytest.raises(KernelError, match=rf"^devices.json: {said}"):
            read_devices(tmp_path, mission)
    (tmp_path / "devices.json").write_text(json.dumps(DEVICES))
    assert read_devices(tmp_path, mission) == DEVICES


@pytest.mark.parametrize("text", ["-1", "nan", "1 1", "1 0 1", "1 x", f"{MOST_NS + 1}", "9" * 5000])
def test_how_far_a_mission_is_is_a_time_and_programs_of_it(
    text: str, tmp_path: Path, mission: Mission
) -> None:
    assert read_running(tmp_path, mission) == (0, [])
    (tmp_path / RUNNING).touch()
    assert read_running(tmp_path, mission) == (0, [])
    (tmp_path / RUNNING).write_text("5 0".ljust(256))
    assert read_running(tmp_path, mission) == (5, [0])
    (tmp_path / RUNNING).write_text(text)
    with pytest.raises(KernelError, match=RUNNING):
        read_running(tmp_path, mission)
