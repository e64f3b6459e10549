"""A trial's rings as a capture: whose packets, in which order, at which times."""

from __future__ import annotations

import struct
from pathlib import Path

import dpkt
import pytest
from dstcc_kernel.captured import write_capture

from dstcc.errors import KernelError

from .endhosts.test_flight_parts import ring
from .test_transfer import NODES, job, link

BEGAN_NS = 1_767_225_600 * 10**9


def ip(number: int) -> bytes:
    return bytes([0x45, 0, 0, 24]) + bytes(16) + bytes([number] * 4)


def leave(folder: Path, *links: str, network: bool = False) -> None:
    """A trial's files: of each end two devices of one link, each with a packet that leaves it and one that does not."""
    given = job(link("one"), network=NODES if network else None)
    given.write(folder / "job.json")
    (folder / "began").write_text(f"{BEGAN_NS}\n")
    names = links or ("spacecraft-up0", "earth-down0", "spacecraft-craft0", "earth-earth0")
    for number, name in enumerate(names):
        ring(
            folder / f"{name}.ring",
            (BEGAN_NS + 10**9 * (4 - number), ip(number), 4),
            (BEGAN_NS + 10**9 * 9, ip(100 + number), 0),
        )


def packets(path: Path) -> list[tuple[float, int]]:
    with path.open("rb") as file:
        return [(t_s, packet[-1]) for t_s, packet in dpkt.pcapng.Reader(file)]


def test_what_leaves_a_device_is_of_its_end_by_the_guests_clock(tmp_path: Path) -> None:
    leave(tmp_path)
    path = tmp_path / "o"
    assert write_capture(tmp_path, path) == 4
    began_s = BEGAN_NS / 1e9
    assert packets(path) == [(began_s + at_s, number) for at_s, number in ((1, 3), (2, 2), (3, 1), (4, 0))]
    assert path.read_bytes().count(struct.pack("<II", 24, 29)) == 4, "of 29 bytes 24 were kept"
    assert path.read_bytes().count(b"spacecraft") == 1 and path.read_bytes().count(b"earth") == 1
    for host, numbers in (("spacecraft", [2, 0]), ("earth", [3, 1])):
        assert write_capture(tmp_path, path, hosts=(host,)) == 2
        assert [number for _, number in packets(path)] == numbers


def test_with_a_scale_times_are_the_missions(tmp_path: Path) -> None:
    leave(tmp_path)
    write_capture(tmp_path, tmp_path / "o", scale=10.0, zero_ns=5 * 10**9)
    assert [at_s for at_s, _ in packets(tmp_path / "o")] == [15, 25, 35, 45]


def test_of_a_played_link_all_that_is_seen_counts(tmp_path: Path) -> None:
    leave(tmp_path, "spacecraft-link1", "earth-link2", "spacecraft-link3", "earth-link3", network=True)
    assert write_capture(tmp_path, tmp_path / "o") == 8


@pytest.mark.parametrize("text", ["", "x", "-1", "1 2", str(1 << 64)])
def test_a_begin_that_no_clock_shows_is_refused(tmp_path: Path, text: str) -> None:
    leave(tmp_path)
    (tmp_path / "began").write_text(text)
    with pytest.raises(KernelError, match="began: no time of a guest's clock"):
        write_capture(tmp_path, tmp_path / "o", scale=1.0)
    assert write_capture(tmp_path, tmp_path / "o") == 4, "nobody asks for it"


def test_times_beyond_all_clocks_are_refused(tmp_path: Path) -> None:
    leave(tmp_path)
    (tmp_path / "began").write_text(str((1 << 64) - 1))
    with pytest.raises(KernelError, match="a packet in a ring: its time is that of no clock"):
        write_capture(tmp_path, tmp_path / "o", scale=1.0)
    zero_ns = -(10**9)  # the earliest packet is a second after the begin
    (tmp_path / "began").write_text(str(BEGAN_NS))
    write_capture(tmp_path, tmp_path / "o", scale=1.0, zero_ns=zero_ns)
    assert packets(tmp_path / "o")[0][0] == 0
    with pytest.raises(KernelError, match="its time is that of no clock"):
        write_capture(tmp_path, tmp_path / "o", scale=1.0, zero_ns=zero_ns - 1)


def test_a_ring_that_is_not_there_is_named(tmp_path: Path) -> None:
    leave(tmp_path)
    (tmp_path / "earth-down0.ring").unlink()
    with pytest.raises(KernelError, match=r"earth-down0\.ring: the guest left none"):
        write_capture(tmp_path, tmp_path / "o")
