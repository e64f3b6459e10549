"""A seed's losses are netem's own where the kernel takes one: the same in every checkout."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from dstcc_kernel import backend, guest

pytestmark = pytest.mark.kernel

SEND = """
import socket, sys
from dstcc_kernel.netem import GilbertElliott, stream
from dstcc_kernel.topology import Shape, Wire, build, craft_address, earth_address, inside
seed = int(sys.argv[1])
with build(1 << 22) as hosts:
    for link, loss in enumerate((0.1, GilbertElliott(0.02, 0.3, 0.01, 0.6))):
        shape = Shape(1_000_000, loss, 1e9, 10_000, stream(seed, link))
        hosts.lay(link, Wire(shape, shape, 1500, 0, 0, 10), [craft_address(link)])
        with inside(hosts.earth):
            earth = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with inside(hosts.craft):
            craft = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        earth.bind((earth_address(link), 5000))
        earth.settimeout(0.1)
        craft.bind((craft_address(link), 5000))
        arrived = []
        for number in range(1000):
            craft.sendto(number.to_bytes(4, "big"), (earth_address(link), 5000))
            try:
                arrived.append(int.from_bytes(earth.recv(4), "big"))
            except TimeoutError:
                pass
        print("arrived", link, len(arrived), *arrived)
"""


def arrived(kernel: Path, out: Path, seed: int, python_path: str, *, guest_seed: int = 1) -> list[str]:
    """Which of 1,000 packets came through each of two links."""
    words = [sys.executable, "-c", SEND, str(seed)]
    where = {"PYTHONPATH": python_path}
    done = guest.run(kernel, words, out=out, seed=guest_seed, memory_mb=256, wall_s=300, environment=where)
    text = done.console.read_text()
    assert done.exit_code == 0, text[-3000:]
    lines = [line for line in text.splitlines() if line.startswith("arrived ")]
    assert len(lines) == 2 and all(700 < int(line.split()[2]) < 990 for line in lines), lines
    return lines


def test_the_same_seed_meets_the_same_losses_in_any_checkout(
    kernel_with_scheduler: Path, tmp_path: Path
) -> None:
    here = backend.python_path()
    ours = Path(backend.__file__).parent
    there = tmp_path / "another" / "checkout with a longer name"
    shutil.copytree(ours, there / ours.name)
    elsewhere = f"{there}:{here}"
    first = arrived(kernel_with_scheduler, tmp_path / "a", 1, here)
    assert arrived(kernel_with_scheduler, tmp_path / "b", 1, elsewhere, guest_seed=2) == first
    other = arrived(kernel_with_scheduler, tmp_path / "c", 2, here)
    assert all(a != b for a, b in zip(first, other, strict=True))
    assert first[0].split()[3:] != first[1].split()[3:]
