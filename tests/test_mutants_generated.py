"""What the generator of wrong engines changes, what it leaves alone, and what it says of what came of them."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("tree_sitter_cpp", reason="comes with the extra dev")

import tree_sitter_cpp
from tree_sitter import Language, Parser

from scripts.engine_build import included
from scripts.mutants_cpp import ROOT, ListError, fragments, read_list, rewrite
from scripts.mutants_generated import (
    Change,
    all_changes,
    changes,
    chosen,
    draw,
    interval,
    judges,
    of_some_sources,
    options_of,
    ordered,
    refused,
    table,
)

SOURCE = """
namespace dstcc {
static_assert(sizeof(int) == 4);
constexpr int kMost = 3;
constexpr int twice(int n) { return 2 * n; }
struct Line {
    bool full(int waiting) const { return waiting >= kLeast && !open_; }
    void send(int bytes) {
        constexpr int kBeside = 8;
        DSTCC_CHECK(bytes > 0, "something is sent");
        sent_ += bytes + kBeside;
        last_ = std::max(last_, now());
        int room[2] = {0, 1};
        if constexpr (kMost > 2) note(room);
    }
    bool open_ = true;
};
}
"""
WANTED = {
    "waiting > kLeast",
    "waiting < kLeast",
    "waiting >= kLeast || !open_",
    "bool(open_)",
    "constexpr int kBeside = 9;",
    "bytes - kBeside",
    "std::min(last_, now())",
}


def of(source: str) -> set[tuple[str, str]]:
    found = changes("a/b.cpp", source.encode(), Parser(Language(tree_sitter_cpp.language())))
    for one in found:
        assert source[one.begin : one.end] == one.find and one.room == "a"
    return {(one.find, one.replace) for one in found}


def test_every_kind_of_change_is_made_and_none_of_what_the_compiler_must_know() -> None:
    found = of(SOURCE)
    assert {wrong for _, wrong in found if wrong != ";"} == WANTED
    left_out = {right for right, wrong in found if wrong == ";"}
    assert left_out == {"sent_ += bytes + kBeside;", "last_ = std::max(last_, now());", "note(room);"}


def test_letters_beyond_ascii_move_no_place() -> None:
    assert of("// ≤ µ\nint f(int a) { return a + 1; }") == {("a + 1", "a - 1"), ("1", "2")}


@pytest.fixture(scope="module")
def ranked() -> list[Change]:
    return all_changes(ROOT, 1)


def test_a_draw_can_be_written_into_the_sources(ranked: list[Change]) -> None:
    drawn = draw(ranked[:300])
    assert [one.number for one in drawn] == list(range(1, 301))
    for file in sorted({one.file for one in drawn}):
        text = (ROOT / file).read_text()
        mine = [one for one in drawn if one.file == file]
        written = rewrite(text, 0, len(text), fragments(mine, text))
        assert all(written.count(f"dstcc_mutant({one.number})") == 1 for one in mine)


def test_rooms_can_be_chosen_and_each_source_has_judges(ranked: list[Change]) -> None:
    wanted = ["--room", "ltp", "--room", "tcp", "--only", "ltp/", "--only", "sender"]
    files = {one.file for one in chosen(ranked, options_of("", 400).parse_args(wanted))}
    folder = "dstcc/engine/src"
    assert {f"{folder}/ltp/blocks.hpp", f"{folder}/tcp/sender.cpp"} < files
    assert not files & {f"{folder}/tcp/proxies.cpp", f"{folder}/mptcp/sending_end.cpp"}
    listed = read_list(ROOT / "tests/mutants/engine.toml")
    for file in sorted({one.file for one in ranked}):
        found = judges(file, listed)
        assert found and all((ROOT / name).is_file() for name in found), file


def test_a_draw_follows_from_its_seed() -> None:
    found = changes("a/b.cpp", SOURCE.encode(), Parser(Language(tree_sitter_cpp.language())))
    first, again, other = (ordered(found, seed) for seed in (1, 1, 2))
    assert first == again and first != other and set(first) == set(other)


def test_a_draw_can_be_kept_to_some_sources(ranked: list[Change]) -> None:
    few, more, other = (of_some_sources(ranked, seed, count) for seed, count in ((1, 3), (1, 6), (2, 3)))
    files = {one.file for one in few}
    assert len(files) == 3 and all(name.endswith(".cpp") for name in files)
    assert few == [one for one in ranked if one.file in files]  # in their order, and all of theirs
    assert files < {one.file for one in more} and files != {one.file for one in other}


def test_what_the_compiler_refuses_is_found_by_its_line(tmp_path: Path) -> None:
    source = tmp_path / "a.cpp"
    source.write_text(
        "int a = (dstcc_mutant(3) ? (1) : (2));\nint b;\nint c = (dstcc_mutant(4) ? (1) :\n(2));\n" + "\n" * 9
    )
    assert refused(
        tmp_path, f"{source}:1:11: error: no\n{source}:2:1: note: so\n/usr/x.h:3:1: error: there\n"
    ) == {3}
    assert refused(tmp_path, f"{source}:4:2: error: no\n") == {4}
    with pytest.raises(ListError, match="unrelated"):
        refused(tmp_path, f"{source}:12:1: error: unrelated\n")


def test_a_source_is_compiled_anew_when_something_that_it_includes_changed(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    texts = {
        "a.cpp": '#include "b.hpp"\n#include <vector>\n',
        "b.hpp": '#include "deep/c.hpp"\n',
        "deep/d.hpp": "",
    }
    texts |= {"deep/c.hpp": '  # include "d.hpp"\n#include "b.hpp"\n', "e.hpp": ""}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    found = included(tmp_path / "a.cpp", [tmp_path], {})
    assert {str(one.relative_to(tmp_path)) for one in found} == texts.keys() - {"e.hpp"}


def test_a_table_has_rates_of_what_was_seen(ranked: list[Change], capsys: pytest.CaptureFixture[str]) -> None:
    drawn = draw(ranked[:10])
    ends = {one.number: ("killed", "killed", "survived", "unseen", "killed")[one.number % 5] for one in drawn}
    table("room", drawn, ends, lambda one: "x")
    last = capsys.readouterr().out.splitlines()[-1].split()
    assert last[:4] == ["all", "6", "2", "2"] and last[4] == "75.0%"


def test_the_interval_is_wilson_s() -> None:
    """Of 8 of 10: (0.8 + z²/20 ± z √(0.016 + z²/400)) / (1 + z²/10) with z² = 3.841459."""
    low, high = interval(8, 10)
    assert (round(low, 4), round(high, 4)) == (0.4902, 0.9433)
    assert interval(10, 10)[1] == pytest.approx(1.0)
