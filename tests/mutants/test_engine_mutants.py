"""The list of wrong engines still fits the engine, and the script that makes them writes what it should."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutants_cpp", ROOT / "scripts/mutants_cpp.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutants_cpp"] = module
    spec.loader.exec_module(module)
    return module


script = load()


def listed(tmp_path: Path, source: str, *entries: str, path: str = "dstcc/engine/src/a.cpp") -> list[Any]:
    """A tree with one source and a list of changes to it."""
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "kernel-cc/law").mkdir(parents=True, exist_ok=True)
    file.write_text(source)
    text = f'[[file]]\npath = "{path}"\nfamily = "a"\ntests = ["test_a.py"]\n' + "".join(
        f"[[file.mutant]]\n{entry}\nnote = 'n'\n" for entry in entries
    )
    (tmp_path / "list.toml").write_text(text)
    return script.read_list(tmp_path / "list.toml")


def rewritten(tmp_path: Path, source: str, *entries: str) -> str:
    mutants = listed(tmp_path, source, *entries)
    return (
        script.write_sources(mutants, tmp_path, tmp_path / "build") / "dstcc/engine/src/a.cpp"
    ).read_text()


def test_every_listed_text_is_where_the_list_says(tmp_path: Path) -> None:
    mutants = script.read_list(ROOT / "tests/mutants/engine.toml")
    assert len(mutants) >= 120
    script.write_sources(mutants, ROOT, tmp_path)  # raises otherwise, naming the entry
    assert all((ROOT / test).is_file() for mutant in mutants for test in mutant.tests)


def test_a_source_that_moved_is_compiled_once(tmp_path: Path) -> None:
    moved = tmp_path / "build/source/dstcc/engine/src/old.cpp"
    moved.parent.mkdir(parents=True)
    moved.write_text("int f();\n")
    rewritten(tmp_path, "int f();\n", "find = 'int f();'\nreplace = ''")
    assert [path.name for path in moved.parent.iterdir()] == ["a.cpp"]


def test_an_expression_a_statement_and_a_constant(tmp_path: Path) -> None:
    source = "constexpr int kA = 1;\nint f(int x) { x += kA; return x - 2; }\n"
    text = rewritten(
        tmp_path,
        source,
        "find = 'constexpr int kA = 1;'\nreplace = 'constexpr int kA = 3;'",
        "find = 'x += kA;'\nreplace = ''",
        "find = 'x - 2'\nreplace = 'x + 2'",
    )
    assert text == (
        "const int kA = dstcc_mutant(1001) ? (3) : (1);\n"
        "int f(int x) { { if (dstcc_mutant(1002)) {  } else { x += kA; } } "
        "return (dstcc_mutant(1003) ? (x + 2) : (x - 2)); }\n"
    )


def test_where_lines_break_does_not_matter(tmp_path: Path) -> None:
    source = "int f(int x, int y) {\n    return g(\n        x, y) -\n           1;\n}\n"
    entry = "find = 'g(x, y)'\nwithin = 'return g(x, y) - 1;'\nreplace = 'g(y, x)'"
    assert "(dstcc_mutant(1001) ? (g(y, x)) : (g(\n        x, y)))" in rewritten(tmp_path, source, entry)
    constant = "find = 'constexpr int kA = 1;'\nreplace = 'constexpr int kA = 3;'"
    text = rewritten(tmp_path, "constexpr int kA =\n    1;\n", constant)
    assert text == "const int kA = dstcc_mutant(1001) ? (3) : (1);\n"


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_the_environment_chooses_which_is_made(tmp_path: Path) -> None:
    # 10 + 1 - 2 = 9; kA = 3: 11; without the addition: 8; twice the same text and one inside another: 13, 8, 19.
    source = "constexpr int kA = 1;\nint f(int x) { x += kA; return x - 2; }\nint main() { return f(10); }\n"
    mutants = listed(
        tmp_path,
        source,
        "find = 'constexpr int kA = 1;'\nreplace = 'constexpr int kA = 3;'",
        "find = 'x += kA;'\nreplace = ''",
        "find = 'x - 2'\nreplace = 'x + 2'",
        "find = 'x - 2'\nreplace = 'x - 3'",
        "find = 'x'\nwithin = 'x - 2'\nreplace = '(x + 10)'",
    )
    tree = script.write_sources(mutants, tmp_path, tmp_path / "build")
    program = tmp_path / "program"
    subprocess.run(
        [
            "g++",
            "-std=c++17",
            "-include",
            str(tree / "mutants.hpp"),
            str(tree / mutants[0].file),
            "-o",
            str(program),
        ],
        check=True,
    )
    seen = [
        subprocess.run([program], env={"DSTCC_MUTANT": str(number)}, check=False).returncode
        for number in (0, 1001, 1002, 1003, 1004, 1005)
    ]
    assert seen == [9, 11, 8, 13, 8, 19]


@pytest.mark.parametrize(
    ("entry", "rule"),
    [
        ("find = 'y'\nreplace = 'x'", "stands 0 times in dstcc/engine/src/a.cpp"),
        ("find = 'x'\nreplace = 'y'", "stands 3 times"),
        ("find = 'a'\nwithin = 'a + x'\nreplace = 'a'", "changes nothing"),
        ("find = 'a + x'\nreplace = 'a - x'", "not a whole operand"),  # a + x * 2
        ("find = 'g(a'\nreplace = 'g(0'", "not one expression"),
        ("find = 'return a'\nreplace = 'return x'", "not one expression"),
        ("find = 'a + x * 2 +'\nreplace = 'a + x * 3 +'", "not one expression"),
        ("find = 'int a, int x'\nreplace = 'int x, int a'", "not one expression"),
        (
            "find = 'constexpr int kA = 1, kB = 2;'\nreplace = 'constexpr int kA = 2, kB = 1;'",
            "declares more than kA",
        ),
        ("find = '{ return a + x * 2 + g(a);'\nreplace = '{ return 0;'", "brackets do not match"),
        ("find = 'a, x'", "no replace"),
        ("find = 'a, x'\nreplace = 'x, a'\nbecause = 'b'", "unknown key because"),
    ],
)
def test_a_wrong_entry_is_named(tmp_path: Path, entry: str, rule: str) -> None:
    source = "constexpr int kA = 1, kB = 2;\nint f(int a, int x) { return a + x * 2 + g(a); }\n"
    with pytest.raises(script.ListError, match=rule):
        rewritten(tmp_path, source, entry)


@pytest.mark.parametrize(
    ("text", "part", "alone"),
    [
        ("a - b + c", "b + c", False),
        ("a - b + c", "a - b", True),
        ("a + b * c", "b * c", True),
        ("a + b * c", "a + b", False),
        ("f(a < b)", "a < b", True),
        ("x && a || b", "a || b", False),
        ("x && a < b", "a < b", True),
        ("p->a + b", "a + b", False),
        ("abc + d", "bc + d", False),
        ("a * static_cast<double>(b)", "static_cast<double>(b)", True),
        ("a + std::max<int>(b, c) / d", "a + std::max<int>(b, c)", False),
    ],
)
def test_brackets_around_a_fragment_must_change_nothing(text: str, part: str, alone: bool) -> None:
    begin = text.index(part)
    assert script.stands_alone(text, begin, begin + len(part)) == alone


def test_overlapping_texts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(script.ListError, match="overlap"):
        rewritten(
            tmp_path,
            "int f(int a) { g(a); h(a); i(a); }\n",
            "find = 'g(a); h(a);'\nreplace = ''",
            "find = 'h(a); i(a);'\nreplace = ''",
        )


def judged(tmp_path: Path, survivors: set[int], equivalent: set[int], of: int = 20) -> int:
    mutants = listed(
        tmp_path,
        "",
        *(
            f"find = 'a'\nreplace = 'b{n}'" + ("\nequivalent = 'r'" if 1001 + n in equivalent else "")
            for n in range(of)
        ),
    )
    runs = {m.number: script.Run(m.number in survivors, "FAILED x", "") for m in mutants}
    return int(script.report(mutants, runs))


def test_nine_of_ten_of_each_family(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # 17 of 20 of one family, 40 of 40 of the other: 57 of 60 is 95 %, and not enough.
    entries = "".join(f"[[file.mutant]]\nfind = 'a'\nreplace = 'b{n}'\nnote = 'n'\n" for n in range(20))
    (tmp_path / "list.toml").write_text(
        "".join(
            f"[[file]]\npath = '{path}'\nfamily = '{family}'\ntests = []\n{entries}"
            for path, family in (("a.cpp", "laws"), ("b.cpp", "links"), ("c.cpp", "links"))
        )
    )
    mutants = script.read_list(tmp_path / "list.toml")
    for survivors, status in (({1001, 1002}, 0), ({1001, 1002, 1003}, 1), ({2001, 2002, 3001}, 0)):
        runs = {m.number: script.Run(m.number in survivors, "", "") for m in mutants}
        assert script.report(mutants, runs) == status
        printed = capsys.readouterr().out
        assert ("laws: fewer than 90% fail a test" in printed) == bool(status)
        table = printed.split("family")[1].splitlines()
        assert [row.split()[0] for row in table[1:4]] == ["laws", "links", "all"]


@pytest.mark.parametrize(
    ("survivors", "equivalent", "status"),
    [
        (set(), set(), 0),
        ({1001, 1002}, set(), 0),  # 18 of 20
        ({1001, 1002, 1003}, set(), 1),
        ({1001, 1002, 1003}, {1003}, 1),  # 17 of 19 = 89.5 %
        ({1001, 1003}, {1003}, 0),
        (set(), {1003}, 1),  # said to be equivalent, and a test fails
    ],
)
def test_nine_of_ten_must_fail_a_test(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], survivors: set[int], equivalent: set[int], status: int
) -> None:
    assert judged(tmp_path, survivors, equivalent) == status
    printed = capsys.readouterr().out
    assert printed.count("survived: ") == len(survivors - equivalent)
    if not survivors and equivalent:
        assert "1003 a.cpp: n is listed as equivalent, but FAILED x" in printed
