"""What a machine can do: each check with what it looks at there, and without."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dstcc import checks
from dstcc.checks import CHECKS, Check, Finding, Lacking, find
from dstcc.errors import InputError

LOOKS = {check.name: check.look for check in CHECKS}
RELEASE = "6.1.0-test"


@pytest.fixture(autouse=True)
def release(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "release", lambda: RELEASE)


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let modules be these, by name; others are not there."""

    def let(**there: Any) -> None:
        named = {name.replace("__", "."): module for name, module in there.items()}

        def load(name: str) -> Any:
            if name not in named:
                raise ImportError(f"no {name}")
            return named[name]

        monkeypatch.setattr(checks, "import_module", load)
        monkeypatch.setattr(checks, "find_spec", named.get)

    return let


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Let the system's files be these, below another root."""

    def let(**texts: str) -> None:
        for name, text in texts.items():
            path = tmp_path / name.replace("__", "/").replace("RELEASE", RELEASE)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        monkeypatch.setattr(
            checks, "Path", lambda *parts: tmp_path.joinpath(*[str(p).lstrip("/") for p in parts])
        )

    return let


def lacking(name: str) -> str:
    with pytest.raises(Lacking) as raised:
        LOOKS[name]()
    return str(raised.value)


def test_a_finding_has_a_remedy_where_something_lacks() -> None:
    assert find(Check("some", lambda: "there", "get it", required=True)) == Finding(
        "some", True, "there", None, True
    )

    def raises(error: Exception) -> Callable[[], str]:
        def look() -> str:
            raise error

        return look

    for error in (
        *(Lacking("not"), InputError("not"), ImportError("not"), OSError("not"), RuntimeError("not")),
        subprocess.SubprocessError("not"),
    ):
        found = find(Check("some", raises(error), "get it"))
        assert found == Finding("some", False, "not", "get it", False)
    assert found.document() == {"check": "some", "ok": False, "detail": "not", "remedy": "get it"}
    with pytest.raises(ZeroDivisionError):
        find(Check("some", raises(ZeroDivisionError()), "get it"))


def test_what_a_simulators_run_needs_is_required() -> None:
    assert [check.name for check in CHECKS if check.required] == ["python", "engine", "x264 encoder"]
    assert len({check.name for check in CHECKS}) == len(CHECKS) and all(check.remedy for check in CHECKS)


def test_python_is_new_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "python_version", lambda: "3.x")
    for version, enough in (((3, 11), True), ((3, 12, 1), True), ((3, 10, 9), False)):
        monkeypatch.setattr(sys, "version_info", version)
        if enough:
            assert LOOKS["python"]() == "Python 3.x"
        else:
            assert lacking("python") == "Python 3.x, but 3.11 is the oldest that works"


def test_modules_say_what_they_have(modules: Callable[..., None]) -> None:
    modules(
        dstcc__engine=SimpleNamespace(CONGESTION_NAMES=range(17), SCHEDULER_NAMES=range(5)),
        av=SimpleNamespace(__version__="9", codecs_available={"libx264"}),
        torch=SimpleNamespace(__version__="2"),
        skyfield=SimpleNamespace(__version__="1"),
        skyfield_data=SimpleNamespace(),
        dstcc_svc___vpx=SimpleNamespace(),
        dstcc__report__browser=SimpleNamespace(find=lambda: Path("/usr/bin/chromium")),
        dstcc_kernel__build=SimpleNamespace(
            find=lambda debug: (
                None if debug else SimpleNamespace(facts={"version": "6.1", "bytes": 41_500_001})
            ),
            require_tools=lambda: None,
        ),
        dstcc_kernel__source=SimpleNamespace(
            needed_version=lambda: "6.1.9", release=lambda: SimpleNamespace(package="linux-source-6.1")
        ),
        dstcc_kernel__confinement=SimpleNamespace(lacking=lambda: []),
        dstcc_kernel__native=SimpleNamespace(
            has_library=lambda name: name == "isal", LIBRARIES={"isal": ["libisal"]}
        ),
    )
    assert LOOKS["engine"]() == "17 congestion controls, 5 schedulers"
    assert LOOKS["x264 encoder"]() == "PyAV 9 with libx264"
    assert LOOKS["torch"]() == "torch 2"
    assert LOOKS["DE421"]() == "DE421 through skyfield 1"
    assert LOOKS["VP9 layers"]() == "built"
    assert LOOKS["chromium"]() == "/usr/bin/chromium"
    assert LOOKS["virtual-time kernel"]() == "Linux 6.1, 42 MB"
    assert lacking("debug kernel") == lacking("OpenH264 layers") == "not built"
    assert LOOKS["kernel source"]() == "linux-source-6.1 6.1.9 and the programs that build it"
    assert LOOKS["guest confinement"]().startswith("namespaces, seccomp, Landlock")
    assert LOOKS["ISA-L"]() == "ISA-L, for coded packets on the kernel"


def test_modules_say_what_they_lack(modules: Callable[..., None]) -> None:
    modules(
        av=SimpleNamespace(__version__="9", codecs_available={"mpeg4"}),
        dstcc_kernel__confinement=SimpleNamespace(lacking=lambda: ["Landlock", "seccomp"]),
        dstcc_kernel__native=SimpleNamespace(
            has_library=lambda _name: False, LIBRARIES={"isal": ["libisal"]}
        ),
    )
    assert lacking("x264 encoder") == "PyAV 9 has no libx264"
    assert lacking("torch") == "not installed"
    assert lacking("DE421") == "skyfield and skyfield_data not installed"
    assert lacking("guest confinement") == "this host has no Landlock; no seccomp"
    assert lacking("ISA-L") == "no libisal, or no C++ compiler"
    modules(skyfield=SimpleNamespace(__version__="1"))
    assert lacking("DE421") == "skyfield_data not installed"


def test_ffmpeg_lists_its_parts(modules: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    modules(imageio_ffmpeg=SimpleNamespace(get_ffmpeg_exe=lambda: "/some/ffmpeg-7"))
    asked: list[tuple[Any, ...]] = []

    def run(command: tuple[str, ...], **keys: Any) -> Any:
        asked.append((*command, keys["check"], keys["text"], keys["capture_output"]))
        return SimpleNamespace(stdout=" V..... libx264  H.264\n")

    monkeypatch.setattr(subprocess, "run", run)
    assert LOOKS["ffmpeg x264"]() == "libx264 in ffmpeg-7"
    assert lacking("ffmpeg OpenH264") == "/some/ffmpeg-7 lacks libopenh264"
    assert lacking("ffmpeg VMAF") == "/some/ffmpeg-7 lacks libvmaf"
    assert [one[:3] for one in asked] == [
        ("/some/ffmpeg-7", "-hide_banner", listing) for listing in ("-encoders", "-encoders", "-filters")
    ]
    assert {one[3:] for one in asked} == {(True, True, True)}


def test_programs_are_found_or_named(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {"gcc", "g++", "tshark"}
    monkeypatch.setattr(shutil, "which", lambda name: name if name in there else None)
    monkeypatch.setattr(
        subprocess, "run", lambda *_a, **_k: SimpleNamespace(stdout="TShark 4\nmore\n", returncode=0)
    )
    assert LOOKS["guest programs"]() == "gcc and g++ compile what runs in a guest"
    assert LOOKS["tshark"]() == "TShark 4"
    assert LOOKS["ptrace"]() == "a process may trace its children"
    there.clear()
    assert lacking("guest programs") == "no gcc and no g++"
    there.add("gcc")
    assert lacking("guest programs") == "no g++"
    assert lacking("tshark") == "not installed"
    monkeypatch.setattr(subprocess, "run", lambda *_a, **_k: SimpleNamespace(returncode=1))
    assert lacking("ptrace") == "this host forbids ptrace"


def test_a_guest_has_room_from_which_code_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    flags = {"free": 512_000_000, "flag": 0}

    def statvfs(folder: Path) -> Any:
        seen.append(folder)
        return SimpleNamespace(f_bavail=flags["free"] // 1000, f_frsize=1000, f_flag=flags["flag"])

    seen: list[Path] = []
    monkeypatch.setattr(os, "statvfs", statvfs)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    for is_dir, folder in ((True, Path("/dev/shm")), (False, tmp_path)):
        monkeypatch.setattr(Path, "is_dir", lambda _path, is_dir=is_dir: is_dir)
        assert LOOKS["guest memory"]() == f"512 MB in {folder}" and seen[-1] == folder
    flags["free"] -= 1000
    assert lacking("guest memory") == f"512 MB are free in {tmp_path}; a guest has 512 MB and more"
    flags.update(free=10**10, flag=os.ST_NOEXEC | os.ST_RDONLY)
    assert lacking("guest memory") == f"{tmp_path} is mounted noexec"
    flags.update(flag=os.ST_RDONLY)
    assert LOOKS["guest memory"]() == f"10,000 MB in {tmp_path}"


def test_a_kernel_is_known_by_its_files(files: Callable[..., None]) -> None:
    files()
    assert lacking("kernel MPTCP") == f"kernel {RELEASE} has no MPTCP"
    assert lacking("kernel netem") == f"kernel {RELEASE}: no sched/sch_netem found"
    assert lacking("kernel modules") == f"kernel {RELEASE} loads no modules"
    assert lacking("kernel BTF") == f"kernel {RELEASE} does not describe its types"
    files(
        proc__sys__net__mptcp__enabled="0\n",
        proc__modules="",
        sys__kernel__btf__vmlinux="",
        lib__modules__RELEASE__modules="",
    )
    assert lacking("kernel MPTCP") == "MPTCP is there but switched off"
    assert lacking("kernel modules").endswith("loads modules, but what they are built against is not here")
    assert LOOKS["kernel BTF"]() == f"kernel {RELEASE} describes its types"
    files(proc__sys__net__mptcp__enabled="1\n", lib__modules__RELEASE__build__Makefile="")
    assert LOOKS["kernel MPTCP"]() == f"kernel {RELEASE}, enabled"
    assert LOOKS["kernel modules"]() == f"kernel {RELEASE}, headers in /lib/modules"


@pytest.mark.parametrize(
    ("listing", "text"), [("modules.builtin", "sch_netem"), ("modules.dep", "a\nsch_netem.ko")]
)
def test_netem_is_a_module_or_loaded(
    files: Callable[..., None], tmp_path: Path, listing: str, text: str
) -> None:
    files(**{f"lib__modules__RELEASE__{listing}": text})
    assert LOOKS["kernel netem"]() == f"kernel {RELEASE}, as a module"
    (tmp_path / "lib/modules" / RELEASE / listing).write_text("others")
    assert lacking("kernel netem") == f"kernel {RELEASE}: no sched/sch_netem found"
    files(sys__module__sch_netem="")
    assert LOOKS["kernel netem"]() == f"kernel {RELEASE}, loaded"
