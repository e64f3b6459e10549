"""Programs that guests run: compiled once for their sources and flags, by a compiler that a test plays."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from dstcc_kernel import native
from dstcc_kernel.native import Parts, compiled, has_library, program, strictness
from dstcc_kernel.sources import folder

from dstcc.errors import MissingCapabilityError

COMPILER = """#!/bin/sh
echo "$@" >> {asked}
{more}
while [ $# -gt 0 ]; do [ "$1" = -o ] && echo made > "$2"; shift; done
"""


class Tools:
    """A folder that is the whole PATH, and a cache."""

    def __init__(self, home: Path) -> None:
        self.home, self.asked = home, home / "asked"
        (home / "bin").mkdir()
        self.play()

    def play(self, more: str = "", name: str = "g++") -> None:
        path = self.home / "bin" / name
        path.write_text(COMPILER.format(asked=self.asked, more=more))
        path.chmod(0o755)

    def words(self) -> list[list[str]]:
        return [line.split() for line in self.asked.read_text().splitlines()] if self.asked.exists() else []


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tools:
    made = Tools(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("DSTCC_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DSTCC_WERROR", raising=False)
    (tmp_path / "own").mkdir()
    for name in ("b.cpp", "a.cpp", "a.hpp", "notes.txt"):
        (tmp_path / "own" / name).write_text(name)
    return made


def test_a_program_is_compiled_once_for_its_sources_and_flags(
    tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, other = tools.home / "own", tools.home / "other"
    other.mkdir()
    (other / "x.cpp").write_text("x")
    (other / "x.hpp").write_text("x")
    parts = Parts((other / "x.cpp",), (other,))
    first = compiled("it", home, parts)
    assert (
        first.parent == tools.home / "cache/kernel"
        and first.name.startswith("it-")
        and len(first.name) == 3 + 16
    )
    assert first.read_text() == "made\n" and os.access(first, os.X_OK)
    (words,) = tools.words()
    assert words[:5] == ["-std=c++17", "-O2", "-Wall", "-Wextra", "-static"]
    assert words[5:7] == [f"-I{other}", f"-I{folder('dispatch')}"]
    assert words[7:10] == [str(home / "a.cpp"), str(home / "b.cpp"), str(other / "x.cpp")]
    assert words[10] == "-o"
    assert compiled("it", home, parts) == first and len(tools.words()) == 1
    (home / "notes.txt").write_text("changed")
    assert compiled("it", home, parts) == first, "no program reads it"
    for path in (home / "a.cpp", home / "a.hpp", other / "x.cpp", other / "x.hpp"):
        path.write_text("changed")
        assert compiled("it", home, parts) not in (first,)
        first = compiled("it", home, parts)
    assert len(tools.words()) == 5
    assert compiled("it", home, parts, "-g") != first and tools.words()[-1][5] == "-g"
    monkeypatch.setenv("DSTCC_WERROR", "1")
    compiled("it", home, parts, "-DX")
    assert "-Werror" in tools.words()[-1] and strictness() == ("-Werror",)
    compiled("it", home, parts, "-fsanitize=address")
    assert "-static" not in tools.words()[-1]


def test_headers_that_are_read_decide_and_not_all_that_are_included(tools: Tools) -> None:
    other = tools.home / "other"
    (other / "deep").mkdir(parents=True)
    for name in ("a.hpp", "deep/b.h", "c.hpp"):
        (other / name).write_text(name)
    parts = Parts((), (other,), (other / "a.hpp", other / "deep"))
    first = compiled("it", tools.home / "own", parts)
    (other / "c.hpp").write_text("changed")
    assert compiled("it", tools.home / "own", parts) == first
    (other / "deep/b.h").write_text("changed")
    second = compiled("it", tools.home / "own", parts)
    (other / "a.hpp").write_text("changed")
    assert len({first, second, compiled("it", tools.home / "own", parts)}) == 3


def test_a_library_is_linked_and_looked_for(tools: Tools) -> None:
    parts = Parts(library="isal")
    compiled("it", tools.home / "own", parts)
    asked, words = tools.words()
    assert asked == ["-E", "-x", "c++", "-"] and words[-1] == "-lisal" and "-static" not in words
    tools.play('[ "$1" = -E ] && exit 1')
    assert not has_library("isal")
    compiled("it", tools.home / "own", parts)  # it was compiled before
    with pytest.raises(
        MissingCapabilityError, match=r"the it program needs isa-l\.h: .*apt install libisal-dev"
    ):
        compiled("it", tools.home / "own", parts, "-DX")


def test_a_compiler_is_needed_and_its_last_words_are_said(
    tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools.play("printf '%0600d' 7 >&2; exit 1")
    with pytest.raises(MissingCapabilityError) as failed:
        compiled("it", tools.home / "own", Parts())
    assert str(failed.value).endswith(f"cannot compile the it program: {'0' * 499}7")
    assert not list((tools.home / "cache/kernel").iterdir())
    (tools.home / "bin/g++").rename(tools.home / "bin/c++")
    tools.play(name="c++")
    assert compiled("it", tools.home / "own", Parts()).exists() and has_library("isal")
    (tools.home / "bin/c++").unlink()
    assert not has_library("isal")
    with pytest.raises(MissingCapabilityError, match=r"no C\+\+ compiler: install g\+\+"):
        compiled("it", tools.home / "own", Parts(), "-DX")


def test_each_program_has_the_simulators_parts_that_it_runs(tools: Tools) -> None:
    """Coded packets and LTP the two ends, and not who joins them; all that know of links have its lines."""
    root, engine = folder("links").parents[1], folder("engine")
    link = {f"dstcc/engine/src/link/{path.name}" for path in (engine / "link").glob("*.cpp")}
    sources: dict[str, set[str]] = {}
    for name in ("transfer", "links", "flows", "coded", "ltp"):
        program(name)
        files = [Path(word) for word in tools.words()[-1] if word.endswith(".cpp")]
        sources[name] = {path.relative_to(root).as_posix() for path in files}
        own = {f"kernel-cc/{name}/{path.name}" for path in folder(name).glob("*.cpp")}
        assert own and own <= sources[name]
        assert (link <= sources[name]) == (name != "flows")
    ends = {f"dstcc/engine/src/coding/{path.name}" for path in (engine / "coding").glob("*.cpp")}
    simulated = {"coded", "stepper", "sending_runs", "receiving_runs"}
    assert ends - sources["coded"] == {f"dstcc/engine/src/coding/{part}.cpp" for part in simulated}
    laws = {Path(path).stem for path in sources["coded"] if "/congestion/" in path}
    known = {"bbr", "bic", "cubic", "fixed", "newreno", "open_loop", "paced", "vegas", "westwood"}
    assert laws == {*known, "table"}
    segments = {f"dstcc/engine/src/ltp/{path.name}" for path in (engine / "ltp").glob("*.cpp")}
    assert segments - sources["ltp"] == {"dstcc/engine/src/ltp/ltp.cpp"}
    assert {"kernel-cc/transfer/payloads.cpp", "dstcc/engine/src/coding/repair_rule.cpp"} <= sources["ltp"]
    assert "kernel-cc/transfer/payloads.cpp" in sources["coded"]
    assert native.FLAGS[0] == "-std=c++17"
