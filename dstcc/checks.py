"""What this machine can do: the checks behind ``dstcc doctor``.

Each check returns a description or raises; only the needs of a simulator run, from video to report, are *required*.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from .errors import DstccError

OLDEST_PYTHON = (3, 11)
GUEST_MB = 512
"""Free memory for a guest of a small trial."""


class Lacking(Exception):  # noqa: N818 - not an error: the answer of a check
    """A check failed; the text says what the check saw instead."""


@dataclass(frozen=True)
class Check:
    """One line of ``dstcc doctor``."""

    name: str
    look: Callable[[], str]
    """Returns a description of what this machine has; raises :class:`Lacking` when it is not enough."""
    remedy: str
    required: bool = False


@dataclass(frozen=True)
class Finding:
    """The result of a check."""

    check: str
    ok: bool
    detail: str
    remedy: str | None
    """How to get it; ``None`` when this machine has it."""
    required: bool

    def document(self) -> dict[str, object]:
        """The entry in ``dstcc doctor --json``."""
        return {"check": self.check, "ok": self.ok, "detail": self.detail, "remedy": self.remedy}


def diagnose() -> list[Finding]:
    """Run every check; none of them changes anything."""
    return [find(check) for check in CHECKS]


def find(check: Check) -> Finding:
    """Run one check."""
    try:
        return Finding(check.name, True, check.look(), None, check.required)
    except (Lacking, DstccError, ImportError, OSError, subprocess.SubprocessError, RuntimeError) as error:
        return Finding(check.name, False, str(error), check.remedy, check.required)


def _python() -> str:
    if sys.version_info < OLDEST_PYTHON:
        raise Lacking(f"Python {platform.python_version()}, but 3.11 is the oldest that works")
    return f"Python {platform.python_version()}"


def _engine() -> str:
    engine = import_module("dstcc.engine")
    return f"{len(engine.CONGESTION_NAMES)} congestion controls, {len(engine.SCHEDULER_NAMES)} schedulers"


def _ffmpeg_has(listing: str, *names: str) -> Callable[[], str]:
    """A check that the bundled ffmpeg lists all ``names`` under ``-encoders`` or ``-filters``."""

    def look() -> str:
        program = import_module("imageio_ffmpeg").get_ffmpeg_exe()
        output = _output(program, "-hide_banner", listing)
        missing = [name for name in names if name not in output]
        if missing:
            raise Lacking(f"{program} lacks {', '.join(missing)}")
        return f"{', '.join(names)} in {Path(program).name}"

    return look


def _pyav_x264() -> str:
    av = import_module("av")
    if "libx264" not in av.codecs_available:
        raise Lacking(f"PyAV {av.__version__} has no libx264")
    return f"PyAV {av.__version__} with libx264"


def _extension(module: str) -> Callable[[], str]:
    def look() -> str:
        if find_spec(module) is None:
            raise Lacking("not built")
        import_module(module)
        return "built"

    return look


def _chromium() -> str:
    return str(import_module("dstcc.report.browser").find())


def _torch() -> str:
    if find_spec("torch") is None:
        raise Lacking("not installed")
    return f"torch {import_module('torch').__version__}"


def _ephemeris() -> str:
    missing = [module for module in ("skyfield", "skyfield_data") if find_spec(module) is None]
    if missing:
        raise Lacking(f"{' and '.join(missing)} not installed")
    return f"DE421 through skyfield {import_module('skyfield').__version__}"


def _mptcp() -> str:
    switch = Path("/proc/sys/net/mptcp/enabled")
    if not switch.exists():
        raise Lacking(f"kernel {platform.release()} has no MPTCP")
    if switch.read_text().strip() != "1":
        raise Lacking("MPTCP is there but switched off")
    return f"kernel {platform.release()}, enabled"


def _netem() -> str:
    release = platform.release()
    if Path("/sys/module/sch_netem").exists():
        return f"kernel {release}, loaded"
    modules = Path("/lib/modules", release)
    for name in ("modules.builtin", "modules.dep"):
        listing = modules / name
        if listing.exists() and "sch_netem" in listing.read_text():
            return f"kernel {release}, as a module"
    raise Lacking(f"kernel {release}: no sched/sch_netem found")


def _kernel(debug: bool) -> Callable[[], str]:
    def look() -> str:
        built = import_module("dstcc_kernel.build").find(debug)
        if built is None:
            raise Lacking("not built")
        return f"Linux {built.facts['version']}, {built.facts['bytes'] / 1e6:.0f} MB"

    return look


def _confinement() -> str:
    """What keeps a guest, and whatever runs in it, to itself on this host."""
    lacking = import_module("dstcc_kernel.confinement").lacking()
    if lacking:
        raise Lacking(f"this host has no {'; no '.join(lacking)}")
    return "namespaces, seccomp, Landlock, read-only mounts, dropped capabilities and limits"


def _kernel_build() -> str:
    source = import_module("dstcc_kernel.source")
    version = source.needed_version()
    import_module("dstcc_kernel.build").require_tools()
    return f"{source.release().package} {version} and the programs that build it"


def _guest_programs() -> str:
    """What compiles the programs that run in a guest, trials' and their own."""
    missing = [name for name in ("gcc", "g++") if shutil.which(name) is None]
    if missing:
        raise Lacking(f"no {' and no '.join(missing)}")
    return "gcc and g++ compile what runs in a guest"


def _guest_room() -> str:
    """Where a guest's memory is: in the first of these places with room, from which code may be executed."""
    folder = Path("/dev/shm")
    folder = folder if folder.is_dir() else Path(tempfile.gettempdir())
    found = os.statvfs(folder)
    free_mb = found.f_bavail * found.f_frsize / 1e6
    if free_mb < GUEST_MB:
        raise Lacking(f"{free_mb:,.0f} MB are free in {folder}; a guest has {GUEST_MB} MB and more")
    if found.f_flag & os.ST_NOEXEC:
        raise Lacking(f"{folder} is mounted noexec")
    return f"{free_mb:,.0f} MB in {folder}"


def _trace() -> str:
    """Whether a process may trace its own child, as User-Mode Linux does."""
    code = "import ctypes, sys; sys.exit(ctypes.CDLL(None).ptrace(0, 0, 0, 0) != 0)"
    if subprocess.run([sys.executable, "-S", "-c", code], timeout=30, check=False).returncode != 0:
        raise Lacking("this host forbids ptrace")
    return "a process may trace its children"


def _tshark() -> str:
    if shutil.which("tshark") is None:
        raise Lacking("not installed")
    return _output("tshark", "--version").splitlines()[0]


def _isal() -> str:
    native = import_module("dstcc_kernel.native")
    if not native.has_library("isal"):
        raise Lacking(f"no {native.LIBRARIES['isal'][0]}, or no C++ compiler")
    return "ISA-L, for coded packets on the kernel"


def _modules() -> str:
    release = platform.release()
    if not Path("/proc/modules").exists():
        raise Lacking(f"kernel {release} loads no modules")
    if not Path("/lib/modules", release, "build", "Makefile").exists():
        raise Lacking(f"kernel {release} loads modules, but what they are built against is not here")
    return f"kernel {release}, headers in /lib/modules"


def _btf() -> str:
    if not Path("/sys/kernel/btf/vmlinux").exists():
        raise Lacking(f"kernel {platform.release()} does not describe its types")
    return f"kernel {platform.release()} describes its types"


def _output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    return done.stdout


_REINSTALL = "reinstall dstcc where a C++17 compiler is: pip install --force-reinstall dstcc"
_FFMPEG = (
    "pip install --force-reinstall imageio-ffmpeg (its bundled ffmpeg has it), and unset IMAGEIO_FFMPEG_EXE"
)

CHECKS = (
    Check("python", _python, "install Python 3.11 or newer", required=True),
    Check("engine", _engine, _REINSTALL, required=True),
    Check(
        "x264 encoder",
        _pyav_x264,
        "pip install --force-reinstall av, or encode with --codec x264-program",
        required=True,
    ),
    Check("ffmpeg x264", _ffmpeg_has("-encoders", "libx264"), _FFMPEG),
    Check("ffmpeg OpenH264", _ffmpeg_has("-encoders", "libopenh264"), _FFMPEG),
    Check("ffmpeg VMAF", _ffmpeg_has("-filters", "libvmaf"), _FFMPEG),
    Check(
        "OpenH264 layers",
        _extension("dstcc_svc._openh264"),
        f"apt install libopenh264-dev, then {_REINSTALL}",
    ),
    Check("VP9 layers", _extension("dstcc_svc._vpx"), f"apt install libvpx-dev, then {_REINSTALL}"),
    Check("chromium", _chromium, "apt install chromium: it prints reports as PDF and PNG"),
    Check("torch", _torch, "pip install 'dstcc[learn]'"),
    Check("DE421", _ephemeris, "pip install 'dstcc[ephemeris]'"),
    Check(
        "kernel source", _kernel_build, "apt install linux-source-6.12 gcc make flex bison bc xz-utils patch"
    ),
    Check("virtual-time kernel", _kernel(debug=False), "dstcc kernel build"),
    Check("debug kernel", _kernel(debug=True), "dstcc kernel build --debug"),
    Check(
        "guest confinement",
        _confinement,
        "gcc, and a host with Landlock (Linux 5.19) that lets its users make user namespaces; not a container that "
        "forbids them",
    ),
    Check("guest programs", _guest_programs, "apt install gcc g++"),
    Check(
        "guest memory",
        _guest_room,
        "a larger /dev/shm (docker run --shm-size 2g), or TMPDIR on a disk with room",
    ),
    Check("ptrace", _trace, "a host that allows it (docker run --security-opt seccomp=unconfined)"),
    Check("tshark", _tshark, "apt install tshark: it decodes captures of trials and programs"),
    Check("ISA-L", _isal, "apt install libisal-dev g++"),
    Check("kernel MPTCP", _mptcp, "a kernel with CONFIG_MPTCP, and: sysctl net.mptcp.enabled=1"),
    Check(
        "kernel netem", _netem, "a kernel with CONFIG_NET_SCH_NETEM; apt install the kernel's extra modules"
    ),
    Check("kernel modules", _modules, "a kernel with CONFIG_MODULES; apt install its linux-headers package"),
    Check("kernel BTF", _btf, "a kernel with CONFIG_DEBUG_INFO_BTF, for the congestion control as BPF"),
)
"""Every check, in the order in which a run needs it."""
