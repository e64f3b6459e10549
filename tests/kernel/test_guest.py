"""Guests of the real virtual-time kernel. What they take in wall time is theirs; only clocks of theirs are asserted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from dstcc_kernel import guest, source
from dstcc_kernel.guest import GuestResult, run

from dstcc.errors import KernelError, MissingCapabilityError

WALL_S = 120.0
"""Far above what any of these takes on a busy machine (about a second each)."""


def python(
    kernel: Path, code: str, out: Path, *, seed: int = 1, memory_mb: int = 256, **more: str
) -> GuestResult:
    """Run Python code in a guest."""
    argv = [sys.executable, "-S", "-c", code]
    return run(kernel, argv, out=out, seed=seed, memory_mb=memory_mb, wall_s=WALL_S, environment=more)


def folders_of(runner: int) -> list[Path]:
    """The folders that its guests booted in and that are still there."""
    return [path for parent in guest._scratch_parents() for path in parent.glob(f"dstcc-guest-{runner}-*")]


def processes_of(runner: int) -> list[int]:
    """Processes of the guests that a process of the host started: all of them stay in the folder they booted in."""
    pids = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"dstcc-guest-{runner}-" in str((entry / "cwd").readlink()):
                pids.append(int(entry.name))
        except OSError:  # it ended while we looked, or is not ours
            continue
    return pids


def test_a_job_says_writes_and_ends_with_its_code(kernel: Path, tmp_path: Path) -> None:
    code = f"open({str(tmp_path / 'o' / 'file')!r}, 'w').write('from within'); print('hello'); raise SystemExit(7)"
    done = python(kernel, code, tmp_path / "o")
    assert done.exit_code == 7
    assert (tmp_path / "o" / "file").read_text() == "from within"
    assert "\nhello\n" in done.console.read_text()
    assert done.reports == ()


def test_the_guest_is_another_kernel_and_only_out_is_writable(kernel: Path, tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "print('kernel', os.uname().release, 'user', os.getuid(), 'given', os.environ['GIVEN'])\n"
        f"try: open({str(tmp_path / 'beside')!r}, 'w')\n"
        "except OSError as error: print('refused', error.errno)\n"
    )
    text = python(kernel, code, tmp_path / "out", GIVEN="this").console.read_text()
    assert f"kernel {source.release().name}." in text
    assert "user 0 given this" in text
    assert "refused 30" in text  # EROFS
    assert not (tmp_path / "beside").exists()


REMOUNTS = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print("remounted", libc.mount(None, b"/", None, 32, None))  # MS_REMOUNT, without MS_RDONLY
mine = libc.mount(b"none", b"/mnt", b"hostfs", 0, b"/")
def tried(name, call):
    try:
        call()
        print(name, "DONE")
    except OSError as error:
        print(name, "refused", error.errno)
for root in ("", "/mnt") if mine == 0 else ("",):
    tried("write", lambda: open(root + BESIDE, "w").write("x"))
    tried("change", lambda: open(root + THERE, "r+").write("x"))
    tried("chmod", lambda: os.chmod(root + THERE, 0o777))
    tried("utime", lambda: os.utime(root + THERE, (0, 0)))
    tried("remove", lambda: os.remove(root + THERE))
    tried("rename", lambda: os.rename(root + THERE, root + BESIDE))
    tried("link", lambda: os.link(root + THERE, root + BESIDE))
    tried("symlink", lambda: os.symlink("/", root + BESIDE))
    tried("mkdir", lambda: os.mkdir(root + BESIDE))
    tried("truncate", lambda: os.truncate(root + THERE, 0))
"""


def test_the_guests_root_cannot_write_outside(kernel: Path, tmp_path: Path) -> None:
    """It makes the host's tree writable for itself, and mounts it once more; the kernel's own view of the host is
    narrow."""
    there, beside = tmp_path / "there", tmp_path / "beside"
    there.write_text("mine")
    before = there.stat()
    code = f"BESIDE, THERE = {str(beside)!r}, {str(there)!r}\n" + REMOUNTS
    text = python(kernel, code, tmp_path / "out").console.read_text()
    assert "remounted 0" in text
    assert "DONE" not in text
    assert text.count("refused") >= 10
    after = there.stat()
    assert there.read_text() == "mine" and not beside.exists()
    assert (after.st_mode, after.st_mtime_ns, after.st_nlink) == (
        before.st_mode,
        before.st_mtime_ns,
        before.st_nlink,
    )


ROUNDING = """
import ctypes, os, threading, time
libm = ctypes.CDLL("libm.so.6")
wrong = []
def go(mode):
    for turn in range(20):
        libm.fesetround(mode)
        time.sleep(0.01)  # the other thread's turn, in the same process of the host
        if libm.fegetround() != mode:
            wrong.append((mode, turn))
threads = [threading.Thread(target=go, args=(mode,)) for mode in (0x400, 0x800)]
for thread in threads: thread.start()
for thread in threads: thread.join()
libm.fesetround(0xc00)
if os.fork() == 0:
    os._exit(libm.fegetround() >> 8)
print("wrong", wrong, "child", os.waitstatus_to_exitcode(os.wait()[1]) << 8 == 0xc00)
"""
"""Rounding is a part of the processor's state that outlives system calls."""


@pytest.mark.kernel
def test_threads_and_children_have_a_processors_state_of_their_own(kernel: Path, tmp_path: Path) -> None:
    """What ``host.c`` does not write back is what is there already."""
    assert "wrong [] child True" in python(kernel, ROUNDING, tmp_path).console.read_text()


def test_an_hour_of_waiting_is_an_hour_of_the_guest_only(kernel: Path, tmp_path: Path) -> None:
    done = python(kernel, "import time; time.sleep(3600)", tmp_path)
    assert 3600 <= done.virtual_s < 3601
    assert done.wall_s < WALL_S / 2


CHANCE = """
import os, random, time
for _ in range(3):
    print(time.time_ns(), os.urandom(16).hex(), random.random(), hash('x'), id(object()), flush=True)
    time.sleep(random.random())
"""


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(kernel: Path, tmp_path: Path) -> None:
    one, again, other = (
        python(kernel, CHANCE, tmp_path / name, seed=seed).console.read_bytes()
        for name, seed in (("one", 1), ("again", 1), ("other", 2))
    )
    assert one == again
    assert one != other


@pytest.mark.kernel
def test_a_guest_that_hangs_is_ended_with_all_its_processes(kernel: Path, tmp_path: Path) -> None:
    code = (
        "import os\n"
        f"open({str(tmp_path / 'partial')!r}, 'w').write('so far')\n"
        "os.fork(); os.fork()\n"
        "while True: pass\n"
    )
    with pytest.raises(KernelError, match="it still ran after 5 s"):
        run(kernel, [sys.executable, "-S", "-c", code], out=tmp_path, seed=1, memory_mb=256, wall_s=5)
    assert processes_of(os.getpid()) == []
    assert folders_of(os.getpid()) == []
    assert (tmp_path / "partial").read_text() == "so far"


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.kernel)])
def test_no_process_outlives_its_runner(kernel: Path, tmp_path: Path, number: signal.Signals) -> None:
    code = (
        "import sys; from pathlib import Path; from dstcc_kernel.guest import run\n"
        f"job = \"open({str(tmp_path / 'up')!r}, 'w')\\nwhile True: pass\"\n"
        f"run(Path({str(kernel)!r}), [sys.executable, '-S', '-c', job], out=Path({str(tmp_path)!r}), seed=1,"
        " memory_mb=256, wall_s=100)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": ":".join(sys.path)}
    )
    while not (tmp_path / "up").exists():
        assert process.poll() is None
        time.sleep(0.05)
    assert len(processes_of(process.pid)) >= 3  # boot, the kernel, the job
    process.send_signal(number)
    process.wait()
    for _ in range(200):  # the end of the runner's child is not ours to wait for
        if not processes_of(process.pid):
            break
        time.sleep(0.05)
    assert processes_of(process.pid) == []
    guest.sweep()
    assert folders_of(process.pid) == []


def test_a_program_that_is_not_there(kernel: Path, tmp_path: Path) -> None:
    done = run(kernel, ["/no/such"], out=tmp_path, seed=1, memory_mb=64, wall_s=WALL_S)
    assert done.exit_code == 127
    assert "/no/such: No such file" in done.console.read_text()


@pytest.mark.kernel
def test_memory_is_what_was_given(kernel: Path, tmp_path: Path) -> None:
    text = python(
        kernel, "print(open('/proc/meminfo').readline())", tmp_path, memory_mb=300
    ).console.read_text()
    total_kb = next(int(line.split()[1]) for line in text.splitlines() if line.startswith("MemTotal"))
    assert 200 * 1024 < total_kb < 300 * 1024


def test_a_job_that_wants_more_memory_is_killed_and_says_so(kernel: Path, tmp_path: Path) -> None:
    done = python(kernel, "x = bytearray(400 << 20); print(len(x))", tmp_path, memory_mb=128)
    assert done.exit_code in (1, 128 + signal.SIGKILL)


def test_a_guest_that_ends_without_its_job_ending_is_an_error(kernel: Path, tmp_path: Path) -> None:
    code = "import ctypes; print('now', flush=True); ctypes.CDLL(None).reboot(0x4321FEDC)"  # RB_POWER_OFF
    with pytest.raises(KernelError, match=r"the guest died: .*(System halted|Power down)"):
        python(kernel, code, tmp_path)
    assert "\nnow\n" in (tmp_path / guest.CONSOLE).read_text()


def test_too_little_memory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least 64"):
        run(tmp_path / "linux", ["true"], out=tmp_path, seed=1, memory_mb=8, wall_s=1)


def test_no_place_for_the_memory_is_said(
    kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guest, "_scratch_parents", lambda: [tmp_path])
    with pytest.raises(
        MissingCapabilityError, match=f"no place for a guest's {1 << 40} MB of memory: none of {tmp_path}"
    ):
        run(kernel, ["true"], out=tmp_path / "out", seed=1, memory_mb=1 << 40, wall_s=WALL_S)


def test_a_kernel_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(KernelError, match=r"the guest died: .*No such file or directory"):
        run(tmp_path / "linux", ["true"], out=tmp_path, seed=1, memory_mb=64, wall_s=WALL_S)


@pytest.mark.kernel
def test_programs_are_found_where_root_looks(kernel: Path, tmp_path: Path) -> None:
    done = run(kernel, ["sh", "-c", "command -v insmod"], out=tmp_path, seed=1, memory_mb=64, wall_s=WALL_S)
    assert done.exit_code == 0


def test_the_kernels_complaints_are_found_in_a_log() -> None:
    log = "\n".join(
        [
            "WARNING: suspicious RCU usage",  # before the job: the kernel's own
            guest.STARTS,
            "==================",
            "BUG: KASAN: use-after-free in dstcc_release+0x1/0x2",
            "WARNING: possible circular locking dependency detected",
            "UBSAN: shift-out-of-bounds in net/x.c:3:4",
            "kmemleak: 2 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
            "the job says BUG: nothing",
        ]
    )
    assert [line.split()[0] for line in guest.reports(log)] == ["BUG:", "WARNING:", "UBSAN:", "kmemleak:"]
