"""That the debug kernel sees mistakes: its silence about our module is worth as much as these reports."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from dstcc_kernel.guest import GuestResult, run

pytestmark = pytest.mark.kernel

LOAD = """
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
module = os.open(sys.argv[1], os.O_RDONLY)
libc.syscall(313, module, f"fault={sys.argv[2]}".encode(), 0)  # finit_module on x86-64
print("loading ended with", os.strerror(ctypes.get_errno()))
"""
SCAN = """
libc.mount(b"debugfs", b"/sys/kernel/debug", b"debugfs", 0, None)
for _ in range(2):
    time.sleep(6)  # kmemleak leaves alone what is younger than 5 s
    open("/sys/kernel/debug/kmemleak", "w").write("scan")
print(open("/sys/kernel/debug/kmemleak").read())
"""


@pytest.fixture(scope="module")
def faults(debug_kernel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The module of mistakes, built for the debug kernel."""
    folder = tmp_path_factory.mktemp("faults") / "module"
    shutil.copytree(Path(__file__).parent / "faults", folder)
    make = ["make", "-C", str(debug_kernel.parent / "tree"), "ARCH=um", f"M={folder}", "modules"]
    subprocess.run(make, check=True, capture_output=True)
    return folder / "dstcc_faults.ko"


def with_fault(kernel: Path, module: Path, fault: str, out: Path, code: str = "") -> tuple[GuestResult, str]:
    argv = [sys.executable, "-S", "-c", LOAD + code, str(module), fault]
    done = run(kernel, argv, out=out, seed=1, memory_mb=1024, wall_s=300)
    text = done.console.read_text()
    assert done.exit_code == 0, text
    assert "loading ended with No such device" in text
    return done, text


def test_no_mistake_no_report(debug_kernel: Path, faults: Path, tmp_path: Path) -> None:
    done, text = with_fault(debug_kernel, faults, "none", tmp_path, SCAN)
    assert done.reports == ()
    assert "unreferenced object" not in text


@pytest.mark.parametrize(
    ("fault", "report"),
    [
        ("freed", r"BUG: KASAN: (slab-)?use-after-free in faults_init"),  # with and without: Linux 6.12, 6.1
        ("beyond", "BUG: KASAN: slab-out-of-bounds in faults_init"),
        ("locks", "WARNING: possible circular locking dependency detected"),
        ("shift", "UBSAN: shift-out-of-bounds in "),
    ],
)
def test_a_mistake_is_reported(
    debug_kernel: Path, faults: Path, tmp_path: Path, fault: str, report: str
) -> None:
    done, _ = with_fault(debug_kernel, faults, fault, tmp_path)
    assert any(re.match(report, line) for line in done.reports), done.reports


def test_a_leak_is_reported(debug_kernel: Path, faults: Path, tmp_path: Path) -> None:
    _, text = with_fault(debug_kernel, faults, "leak", tmp_path, SCAN)
    assert text.count("unreferenced object") == 10
    assert text.count("do_init_module") == 10  # who asked for it: the module while it was loaded
