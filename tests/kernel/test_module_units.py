"""Building modules and loading them, with a kernel's build that a test plays, and calls that load nothing."""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import stat
from pathlib import Path

import pytest
from dstcc_kernel import module
from dstcc_kernel.module import BuildError, checksum, guest_module, make
from dstcc_kernel.sources import folder

from dstcc.errors import KernelError, MissingCapabilityError

from . import module_tests

MAKES = """#!/bin/sh
for word in "$@"; do case $word in M=*) at=${word#M=};; esac; done
echo "$@" > "$at/asked"; env > "$at/environment"
touch "$at/dstcc_cc.ko"
"""


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kernel's tree, and a make that only notes what it is asked."""
    tools = tmp_path / "tools"
    tools.mkdir()
    play(tools, MAKES)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    (tmp_path / "cache/tree").mkdir(parents=True)
    (tmp_path / "cache/tree/Makefile").touch()
    return tmp_path / "cache"


def play(tools: Path, text: str) -> None:
    (tools / "make").write_text(text)
    (tools / "make").chmod(0o755)


def test_a_module_is_built_from_a_copy_of_its_sources(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAKEFLAGS", "-j9")
    out = made / "out"
    (out / "old").mkdir(parents=True)
    assert module.build(made / "tree", out) == out / "module/dstcc_cc.ko"
    assert not (out / "old").exists(), "it is built anew"
    for name in ("law", "module"):
        there = sorted(path.name for path in folder(name).iterdir())
        assert set(there) <= {path.name for path in (out / name).iterdir()}
    words = (out / "module/asked").read_text().split()
    assert words[:2] == ["-C", str(made / "tree")] and words[3:] == ["W=1", "modules"]
    assert "MAKEFLAGS" not in (out / "module/environment").read_text(), (
        "an outer make's are not for the kernel's"
    )
    module.build(made / "tree", out, arch="um", sparse=True)
    assert (out / "module/asked").read_text().split()[3:] == ["W=1", "ARCH=um", "C=2", "modules"]


def test_what_a_build_lacks_is_named(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MissingCapabilityError, match=f"apt install linux-headers-{platform.release()}"):
        module.build(made, made / "out")
    monkeypatch.setenv("PATH", str(made))
    with pytest.raises(MissingCapabilityError, match="apt install make gcc"):
        module.build(made / "tree", made / "out")


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ("a\nmod.c:3:1: error: no such type\nmake: *** [1] Error 2", "mod.c:3:1: error: no such type"),
        ("mod.h:1:9: fatal error: x.h: No such file", "mod.h:1:9: fatal error: x.h: No such file"),
        ('ld: undefined reference to `foo\'\nERROR: modpost: "bar"', "ld: undefined reference to `foo'"),
        ('ERROR: modpost: "bar" undefined!', 'ERROR: modpost: "bar" undefined!'),
        ("make: *** [1] Error 2", None),
    ],
)
def test_a_build_that_fails_says_the_first_error_and_leaves_nothing(
    made: Path, said: str, complaint: str | None
) -> None:
    play(made.parent / "tools", f"#!/bin/sh\ncat >&2 <<'END'\n{said}\nEND\nexit 2\n")
    with pytest.raises(BuildError) as failed:
        module.build(made / "tree", made / "out")
    assert failed.value.complaint == complaint
    assert str(failed.value) == (
        f"the module does not build against {made / 'tree'}: {complaint or 'make failed'}"
    )
    assert not (made / "out").exists()


def test_sparse_complains_by_words_alone(made: Path) -> None:
    (made / "here").mkdir()
    play(made.parent / "tools", "#!/bin/sh\necho 'a.c: warning: context imbalance' >&2\n")
    make(made / "tree", made / "here", None)
    with pytest.raises(KernelError, match=r"here: a\.c: warning: context imbalance"):
        make(made / "tree", made / "here", None, sparse=True)


def test_a_guests_module_is_built_once_for_its_sources(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSTCC_CACHE", str(made.parent))
    digest = hashlib.sha256()
    for name in ("law", "module"):
        for path in sorted(path for path in folder(name).rglob("*") if path.is_file()):
            digest.update(path.name.encode() + path.read_bytes())
    assert checksum() == digest.hexdigest()[:12]
    path = guest_module(made / "linux")
    assert path == made / f"module-{checksum()}/module/dstcc_cc.ko"
    assert "ARCH=um" in (path.parent / "asked").read_text().split()
    play(made.parent / "tools", "#!/bin/sh\nexit 1\n")
    assert guest_module(made / "linux") == path


def test_checkpatch_has_each_file_and_only_the_law_has_its_own_rules(made: Path) -> None:
    scripts = made / "tree/scripts"
    scripts.mkdir()
    (scripts / "checkpatch.pl").write_text(
        'print "$ENV{PWD} @ARGV\\n"; print "total: 0 errors, 0 warnings, 0 checks, 9 lines checked\\n"'
    )
    sources = []
    for name in ("law", "module"):
        (made / name).mkdir()
        sources.append(made / name / "a.c")
        sources[-1].touch()
    said = module_tests.checkpatch(made / "tree", sources).splitlines()
    assert [line.split()[1:] for line in said] == [
        ["--strict", "--no-tree", "--terse", "--ignore=PREFER_KERNEL_TYPES,BIT_MACRO,CAMELCASE", "-f", "a.c"],
        ["--strict", "--no-tree", "--terse", "-f", "a.c"],
    ]


def test_what_the_kernel_refuses_of_modules_is_said_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "none.ko").write_bytes(b"none")
    refused = (
        r"none\.ko: (needs root \(EPERM\)|built for another kernel \(ENOEXEC\)|.*takes no modules \(ENOSYS\))"
    )
    with pytest.raises(KernelError, match=refused):
        module.load(tmp_path / "none.ko")
    with pytest.raises(KernelError, match=r"dstcc_nobody: .* \((EPERM|ENOENT|ENOSYS)\)"):
        module.unload("dstcc_nobody")
    monkeypatch.setattr("dstcc_kernel.module.platform.machine", lambda: "riscv64")
    with pytest.raises(MissingCapabilityError, match="cannot be loaded on riscv64: x86_64, aarch64 only"):
        module.unload("dstcc_nobody")


def test_calls_have_the_numbers_and_arguments_of_linux(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """asm/unistd_64.h: finit_module is 313, with a file, words and flags; delete_module 176, with a name and flags."""
    asked: list[list[object]] = []
    answers = [0, -1]

    class Libc:
        def syscall(self, *words: object) -> int:
            asked.append([getattr(word, "value", word) for word in words])
            return answers.pop(0)

    monkeypatch.setattr("dstcc_kernel.module.platform.machine", lambda: "x86_64")
    monkeypatch.setattr("dstcc_kernel.module.ctypes.CDLL", lambda *_, **__: Libc())
    monkeypatch.setattr("dstcc_kernel.module.ctypes.get_errno", lambda: errno.EAGAIN)
    (tmp_path / "m.ko").touch()
    module.load(tmp_path / "m.ko")
    (number, file, parameters, flags) = asked[0]
    assert (number, parameters, flags) == (313, b"", 0) and isinstance(file, int)
    with pytest.raises(KernelError, match=r"dstcc_cc: connections use it \(EAGAIN\)"):
        module.unload()
    assert asked[1] == [176, b"dstcc_cc", os.O_NONBLOCK]
    assert not module.loaded() or stat.S_ISDIR(Path("/sys/module/dstcc_cc").stat().st_mode)
