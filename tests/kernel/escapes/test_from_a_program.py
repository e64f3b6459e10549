"""Out of an end host of ``dstcc run``: a program is root there, and not of the guest, the run or the other host.

Each of these succeeds in a build without the defences that it names, and fails in ours.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.kernel import lesser
from tests.kernel.endhosts.flights import SHORT, Flight, python, run

from .test_from_the_kernel import module  # noqa: F401 - a fixture
from .undefended import without

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("kernel")]
LIBC = "import ctypes, os, socket, sys, time; libc = ctypes.CDLL(None, use_errno=True)\n"
CALLED = "print('DONE' if {} == 0 else os.strerror(ctypes.get_errno()))\n"
KILLED = "Out of memory: Killed process 1 (python3)"
"""What the guest's kernel says on the console, and a run's notes heed."""


@dataclass(frozen=True)
class Attempt:
    """What the program on the spacecraft does, how its success shows, and what keeps it from it."""

    code: str
    escaped: Callable[[Flight], bool]
    without: tuple[str, ...]
    options: str = ""
    earth: str | None = None


def done(flown: Flight) -> bool:
    """The program says so."""
    return "DONE" in flown.out


def noted(text: str) -> Callable[[Flight], bool]:
    """It stands in the run's notes."""
    return lambda flown: any(text in note for note in flown.meta["notes"])


def blocks(folder: Path) -> int:
    """Bytes on the disk."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))


HOSTFS = CALLED.format("libc.mount(b'none', b'/mnt', b'hostfs', 0, b'{}')")
FORGED_LOG = (
    "for line in ('earth.log',):\n"
    "    try: open('/mnt/earth.log', 'a').write('1.0 2 out forged\\n')\n"
    "    except OSError as error: print(error)\n"
)
AGENT = (
    "for pid in filter(str.isdigit, os.listdir('/proc')):\n"
    "    if b'endhosts.inside' in open(f'/proc/{pid}/cmdline', 'rb').read():\n"
    "        os.kill(int(pid), 9); print('DONE', flush=True)\n"
)
WRITES = (
    "def written(path, text):\n"
    "    try: open(path, 'w').write(text); print('DONE')\n"
    "    except OSError as error: print(error)\n"
)
HELPER = (
    WRITES
    + "open('helper', 'w').write('#!/bin/sh\\necho forged > /run/dstcc/error.txt\\n'); os.chmod('helper', 0o755)\n"
    "written('/proc/sys/kernel/modprobe', '/proc/1/root/helper')\n"
)
LEAK = "import time\nopen('{}/leak', 'w').write('at once')\ntime.sleep(3)"
LEAKED = "python3 -S -c \"import os, time; time.sleep(0.2); print(os.path.exists('{}/leak'))\""
"""Two delays of half a second apart, the Earth knows after a fifth of one."""
FORK = (
    "import os, time\n"
    "made = 0\n"
    "try:\n"
    "    while made < 2500:\n"
    "        if os.fork() == 0: time.sleep(1000)\n"
    "        made += 1\n"
    "except OSError as error: print(error)\n"
    "print('made', made, 'DONE' * (made == 2500), flush=True)\n"
    "os.kill(-1, 9)\n"
)

ESCAPES = {
    "mounts the machine's files": Attempt(LIBC + HOSTFS.format("/"), done, ("user namespace",)),
    "writes into the other host's log": Attempt(
        LIBC + HOSTFS.format("out") + FORGED_LOG,
        lambda flown: "forged" in flown.text("earth"),
        ("user namespace",),
        earth="sleep 5",
    ),
    "ends the guest": Attempt(
        LIBC + CALLED.format("libc.reboot(0x4321FEDC)"),
        lambda flown: not (flown.folder / "run.json").exists(),
        ("user namespace",),
    ),
    "sets the clock": Attempt(
        LIBC
        + "try: time.clock_settime(time.CLOCK_REALTIME, 2e9); print('DONE')\nexcept OSError as error: print(error)",
        done,
        ("user namespace",),
    ),
    "looks into its starter's files": Attempt(
        "import os\ntry: print(os.readlink('/proc/1/fd/0'), 'DONE')\nexcept OSError as error: print(error)",
        done,
        ("user namespace",),
    ),
    "kills what carries out the run": Attempt(
        LIBC + AGENT, lambda flown: not (flown.folder / "run.json").exists(), ("hosts' PID namespaces",)
    ),
    "says on the console what the kernel says": Attempt(
        WRITES + f"written('/dev/console', {KILLED + chr(10)!r})",
        noted("ran out of memory"),
        ("own devices",),
    ),
    "says in the kernel's log what the kernel says": Attempt(
        WRITES + f"written('/dev/kmsg', '<1>{KILLED}')", noted("ran out of memory"), ("own devices",)
    ),
    "has the kernel call its program": Attempt(
        WRITES + "written('/proc/sys/kernel/modprobe', '/run/craft/helper')", done, ("read-only settings",)
    ),
    "reads the kernel's log": Attempt(
        LIBC + "print('DONE' if libc.klogctl(3, ctypes.create_string_buffer(100), 100) > 0 else 'refused')",
        done,
        ("kept log",),
    ),
    "changes the other host's congestion control": Attempt(
        WRITES + "written('/sys/module/tcp_cubic/parameters/beta', '1')",
        lambda flown: flown.text("earth") == "1",
        ("read-only /sys",),
        earth="sh -c 'sleep 1; cut -c1 /sys/module/tcp_cubic/parameters/beta | grep -x 1'",
    ),
    "changes the clock's source": Attempt(
        WRITES + "written('/sys/devices/system/clocksource/clocksource0/current_clocksource', 'jiffies')",
        done,
        ("read-only /sys",),
    ),
    "mounts a /sys to write to": Attempt(
        LIBC + CALLED.format("libc.mount(b'none', b'/sys', b'sysfs', 0, None)"),
        done,
        ("read-only /sys",),
    ),
    "says what the guest's kernel ends with": Attempt(
        "open('/proc/exitcode', 'w').write('77')\nprint('DONE' if open('/proc/exitcode').read() == '77\\n' else '')",
        done,
        ("hidden exit code",),
    ),
    "tells the Earth beside the links, in /run": Attempt(
        LEAK.format("/run"),
        lambda flown: "True" in flown.text("earth"),
        ("own /run",),
        earth=LEAKED.format("/run"),
    ),
    "tells the Earth beside the links, in shared memory": Attempt(
        "import os; os.makedirs('/dev/shm', exist_ok=True)\n" + LEAK.format("/dev/shm"),
        lambda flown: "True" in flown.text("earth"),
        ("own devices",),
        earth=LEAKED.format("/dev/shm"),
    ),
    "leaves holes that are full outside": Attempt(
        "for n in range(10): open(f'hole{n}', 'w').truncate(7 << 20)",
        lambda flown: blocks(flown.folder) > 8 << 20,
        ("holes",),
        "--disk 8",
    ),
    "leaves a file by many names": Attempt(
        "import os\nopen('f', 'wb').write(os.urandom(3 << 20))\nfor n in range(9): os.link('f', f'g{n}')",
        lambda flown: blocks(flown.folder / "craft") > 9 << 20,
        ("room for further names",),
        "--disk 8",
    ),
    "leaves a file that is longer than the disk": Attempt(
        "open('long', 'w').truncate(100 << 20)",
        lambda flown: (flown.folder / "craft/long").exists(),
        ("length of files",),
        "--disk 8",
    ),
    "leaves files without number": Attempt(
        "import os\ntry:\n    for n in range(3000): os.mkdir(f'd{n}')\nexcept OSError as error: print(error)",
        lambda flown: len(list((flown.folder / "craft").iterdir())) > 4 * 256,
        ("number of files",),
        "--disk 4",
    ),
    "leaves what a link points to": Attempt(
        "import os; os.symlink('/etc/passwd', 'link')",
        lambda flown: (flown.folder / "craft/link").exists(),
        ("links left out",),
    ),
    "writes to the reader's terminal from a log": Attempt(
        "print('\\x1b[2K\\x1b[1A1.000000 2 out forged', flush=True)",
        lambda flown: b"\x1b" in (flown.folder / "craft.log").read_bytes(),
        ("written-out controls", "lines of ours"),
    ),
    "makes processes without number": Attempt(FORK, done, ("limit of tasks",), "--wall 500"),
}


def flies(name: str, folder: Path) -> bool:
    """Whether it succeeds."""
    it = ESCAPES[name]
    flown = run(folder / "o", it.options, *python(it.code), earth=() if it.earth is None else (it.earth,))
    return it.escaped(flown)


@pytest.mark.parametrize("name", ESCAPES)
def test_it_stays_within(name: str, tmp_path: Path) -> None:
    assert not flies(name, tmp_path)


@pytest.mark.parametrize("name", ESCAPES)
def test_it_gets_out_where_nothing_holds_it(name: str, tmp_path: Path) -> None:
    with without(ESCAPES[name].without, tmp_path / "build"):
        assert flies(name, tmp_path)


LOAD = LIBC + (
    "module = os.open(sys.argv[1], os.O_RDONLY)\n"
    "print('result', libc.syscall(313, module, b'what=read path=/dev/zero', 0), os.strerror(ctypes.get_errno()))"
)


@pytest.mark.parametrize(
    ("lacking", "said"),
    [
        ((), "Operation not permitted"),
        (("user namespace",), "Operation not permitted"),
        (("locked modules",), "Operation not permitted"),
        (("user namespace", "locked modules"), "No such device"),  # it ran, and wants to stay nowhere
    ],
)
def test_a_program_loads_no_module(
    module: Path,  # noqa: F811 - the fixture
    tmp_path: Path,
    lacking: tuple[str, ...],
    said: str,
) -> None:
    with without(lacking, tmp_path / "build"):
        flown = run(tmp_path / "o", "", *python(LOAD), str(module))
    assert f"result -1 {said}" in flown.out, flown.err


@pytest.mark.parametrize(("lacking", "mounted"), [((), False), (("helpers without rights",), True)])
def test_what_the_kernel_calls_has_no_rights(
    kernel: Path, tmp_path: Path, lacking: tuple[str, ...], mounted: bool
) -> None:
    """Where somebody says who that is, after all: here the job, which is root of the guest."""
    from dstcc_kernel import guest

    out = tmp_path / "out"
    out.mkdir()
    helper = out / "helper"
    helper.write_text(f"#!/bin/sh\nmount -t tmpfs none /mnt && touch {out}/mounted\ntouch {out}/called\n")
    helper.chmod(0o755)
    code = (
        f"import socket; open('/proc/sys/kernel/modprobe', 'w').write({str(helper)!r})\n"
        "try: socket.socket(44)\nexcept OSError: pass"
    )
    with without(lacking, tmp_path / "build"):
        guest.run(kernel, [sys.executable, "-S", "-c", code], out=out, seed=1, memory_mb=256, wall_s=240)
    assert (out / "called").exists()
    assert (out / "mounted").exists() == mounted


def test_twenty_gigabytes_of_hole_end_at_once_and_are_named(tmp_path: Path) -> None:
    flown = run(tmp_path / "o", "", "truncate", "-s", "20G", "hole")
    assert flown.code == 0
    assert "not kept, longer than --disk (256 MB): craft/hole" in flown.err
    assert blocks(flown.folder) < 1 << 20


def test_holes_within_the_disk_stay_holes(tmp_path: Path) -> None:
    code = "f = open('holes', 'wb'); f.write(b'begin'); f.seek(200 << 20); f.write(b'end'); f.truncate(250 << 20)"
    flown = run(tmp_path / "o", "", *python(code))
    kept = flown.folder / "craft/holes"
    assert (kept.stat().st_size, kept.stat().st_blocks * 512 < 1 << 20) == (250 << 20, True)
    with kept.open("rb") as file:
        assert file.read(6) == b"begin\0"
        file.seek(200 << 20)
        assert file.read(4) == b"end\0"


NAMES = (
    "import os\n"
    "os.mkfifo('pipe\\ndstcc: forged\\u202e'); open(b'not-\\xff-text', 'w'); open('esc\\x1b[2J', 'w').write('kept')\n"
    "deep = 'd' * 250\n"
    "for level in range(1200):\n"
    "    os.mkdir(deep); os.chdir(deep)\n"
    "open('bottom', 'w')"
)


def test_names_and_depths_that_cannot_be_kept_are_named(tmp_path: Path) -> None:
    flown = run(tmp_path / "o", "", *python(NAMES))
    assert flown.code == 0
    assert "not kept, a name that is not UTF-8: craft/not-\\xff-text" in flown.err
    assert "not kept, File name too long: craft/dddd" in flown.err
    assert "not kept, neither file nor folder: craft/pipe\\ndstcc: forged\\u202e\n" in flown.err
    assert "\x1b" not in flown.err
    assert len(flown.err) < 4_000


ROOT = (
    "import socket\n"
    "from pathlib import Path\n"
    "socket.socket(socket.AF_PACKET, socket.SOCK_RAW); socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)\n"
    "Path('/proc/sys/net/ipv4/tcp_rmem').write_text('4096 8192 16384')\n"
    "assert Path('/root').exists() and Path('/dev/null').write_text('x')\n"
    "Path('/dev/shm/x').write_text('x'); Path('/run/x.pid').write_text('1')\n"
    "print('root')"
)


def test_a_program_is_root_of_its_host(tmp_path: Path) -> None:
    """Its network, mounts, users and processes are its own to change."""
    words = (
        "set -e; mkdir m; mount -t tmpfs none m; touch m/in; mount --bind m m; "
        "ip link add dummy0 type veth peer name p0; "
        "ip addr add 10.9.0.1/24 dev dummy0; tc qdisc add dev dummy0 root netem delay 5ms; chown 33:33 m/in; "
        "setpriv --reuid 33 --clear-groups cat m/in; unshare -n true; unshare -Urm mount -t tmpfs none m; "
        f"exec python3 -S -c {shlex.quote(ROOT)}"
    )
    flown = run(tmp_path / "o", "", "sh", "-c", words)
    assert (flown.code, flown.out) == (0, "root\n"), flown.err


PANIC = """
#include <linux/module.h>
static int __init begin(void) { panic("so be it"); }
module_init(begin);
MODULE_LICENSE("GPL");
"""


def test_a_guest_that_dies_leaves_its_last_words_in_the_message(tmp_path: Path) -> None:
    """Its console's log goes with the run, so that the message names no file."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own/panic.c").write_text(PANIC)
    flown = run(tmp_path / "o", f"--module {tmp_path / 'own'} --congestion cubic", "true")
    assert flown.code == 1
    assert "the guest died: Kernel panic - not syncing: so be it; its last words: " in flown.err
    assert "console.log" not in flown.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own"]


def test_a_lesser_host_says_what_it_has_not(tmp_path: Path) -> None:
    """And runs programs all the same, as `dstcc doctor` says of it beforehand."""
    assert run(tmp_path / "o", "", "true").meta["unconfined"] == []
    missing = ["seccomp: Function not implemented", "Landlock: Function not implemented"]
    dstcc = [*lesser.words("landlock", "seccomp"), sys.executable, "-m", "dstcc_cli"]
    words = [*dstcc, "run", str(SHORT), "-o", str(tmp_path / "less"), "--", "echo", "ran"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == "ran\n"
    meta = json.loads((tmp_path / "less/run.json").read_text())
    assert meta["unconfined"] == missing
    for part in missing:
        assert f"the guest is not confined as it should be: this host has no {part}" in meta["notes"]
        assert f"this host has no {part}" in done.stderr
    found = subprocess.run([*dstcc, "doctor", "--json"], capture_output=True, text=True, check=False)
    assert (
        "this host has no seccomp: Function not implemented; no Landlock: Function not implemented"
        in found.stdout
    )
