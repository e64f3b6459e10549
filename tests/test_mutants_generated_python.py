"""What the generator of wrong Python changes, who judges it, and how a process is told which change to make.

What looks through all modules is in `make test-slow`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("tree_sitter_cpp", reason="comes with the extra dev")
pytest.importorskip("cosmic_ray", reason="comes with the extra dev")

from scripts.mutants_cpp import ROOT, Mutant, fragments, rewrite
from scripts.mutants_generated import Change, draw
from scripts.mutants_generated_python import (
    PLAN,
    all_changes,
    changes,
    choice,
    excused,
    near,
    switched,
    write_modules,
)
from scripts.mutants_python import Equivalent, load_plan

SOURCE = '''
LIMIT = 3

def rule(a: int = 4, *, names: "list[int]", b=None) -> "tuple[1]":
    """Said 5 times."""
    assert a > 0, "µ"
    self.a = max(a, 1)
    note(a, strict=True)
    a += 2.5
    label = f"{a + 1}" + "x"
    if not (a < b) and b is not None or a not   in names:
        return (a + b) * c - d  # - e
    kept: "list[1]" = lambda: a == b
    names[0] = any(names)
    return kept, name + "s"
'''
WANTED = {
    *(("max(a, 1)", "min(a, 1)"), ("1", "2"), ("2.5", "3.5"), ("any(names)", "all(names)"), ("0", "1")),
    *(("self.a = max(a, 1)", "pass"), ("note(a, strict=True)", "pass"), ("a += 2.5", "pass")),
    *(("names[0] = any(names)", "pass"), ("a == b", "a != b"), ("not (a < b)", "bool(a < b)")),
    *(
        ("a < b", "a <= b"),
        ("a < b", "a >= b"),
        ("b is not None", "b is None"),
        ("a not   in names", "a in names"),
    ),
    ("not (a < b) and b is not None", "not (a < b) or b is not None"),
    (
        "not (a < b) and b is not None or a not   in names",
        "not (a < b) and b is not None and a not   in names",
    ),
    *(("(a + b) * c", "(a + b) / c"), ("a + b", "a - b"), ("(a + b) * c - d", "(a + b) * c + d")),
}


def drawn(file: str, source: str) -> list[Mutant]:
    return draw(changes(file, source), lambda _: ("tests/test_it.py",))


def test_every_kind_of_change_is_made_and_none_of_what_no_rule_is() -> None:
    found = changes("dstcc/a.py", SOURCE)
    assert {(one.find, one.replace) for one in found} == WANTED
    assert all(SOURCE[one.begin : one.end] == one.find for one in found)
    assert {one.room for one in found} == {"dstcc"}


@pytest.fixture(scope="module")
def ranked() -> list[Change]:
    return all_changes(ROOT, 1)


@pytest.mark.slow
def test_a_draw_can_be_written_into_the_modules_line_for_line(ranked: list[Change]) -> None:
    mutants = draw(ranked[:900], lambda _: ())
    for file in sorted({one.file for one in mutants}):
        text = (ROOT / file).read_text()
        mine = [one for one in mutants if one.file == file]
        written = rewrite(text, 0, len(text), fragments(mine, text), choice)
        compile(written, file, "exec", dont_inherit=True)
        assert all(written.count(f"dstcc_mutant({one.number})") == 1 for one in mine)


@pytest.mark.slow
def test_each_module_has_judges_beside_it(ranked: list[Change]) -> None:
    plan = load_plan(PLAN)
    for file in sorted({one.file for one in ranked}):
        assert all((ROOT / name).is_file() for name in near(file, plan, ROOT)) and near(file, plan, ROOT), (
            file
        )
    assert near("dstcc/stats.py", plan, ROOT)[-1] == "tests/test_stats.py"
    assert "tests/coded/test_planner.py" in near("dstcc/coded/planner.py", plan, ROOT)
    assert "tests/channels/test_weather.py" in near("channel-models/dstcc_channels/weather.py", plan, ROOT)


def test_a_process_makes_the_change_that_it_is_told_and_says_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DSTCC_REACH", "PYTHONPATH", "DSTCC_MUTANT"):
        monkeypatch.setenv(name, "0")
    monkeypatch.setitem(sys.modules, "dstcc_switch", sys)
    source = "seen = []\n\n\ndef rule(a):\n    seen.append(\n        a)\n    return a > 3 and a + 1\n"
    (tmp_path / "from").mkdir()
    (tmp_path / "tree").mkdir()
    (tmp_path / "from/rule.py").write_text(source)
    mutants = drawn("rule.py", source)
    number = {(one.find, one.replace): one.number for one in mutants}
    write_modules(mutants, tmp_path / "from", tmp_path / "tree")
    switch = switched(tmp_path / "tree")
    ask = [sys.executable, "-c", "import rule; print(rule.rule(2), rule.rule(3), rule.seen)"]

    def said(chosen: int) -> str:
        monkeypatch.setenv("DSTCC_MUTANT", str(chosen))
        return subprocess.run(ask, cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()

    assert said(0) == "False False [2, 3]"
    reached = {pair for pair, n in number.items() if n in switch.reached()}
    assert reached == number.keys() - {("a + 1", "a - 1"), ("1", "2")}
    switch.clear()
    assert switch.reached() == frozenset()
    assert said(number["a > 3", "a >= 3"]) == "False 4 [2, 3]"
    assert said(number["seen.append(\n        a)", "pass"]) == "False False []"
    assert said(number["a > 3 and a + 1", "a > 3 or a + 1"]) == "3 4 [2, 3]"
    exec(compile((tmp_path / "tree/rule.py").read_text(), "rule", "exec"), here := {})  # type: ignore[var-annotated]
    switch.choose(number["a > 3", "a <= 3"])
    assert here["rule"](2) == 3
    assert number["a > 3", "a <= 3"] in switch.reached()


def test_what_is_listed_as_equivalent_is_found_by_its_line() -> None:
    source = "def f(a):\n    return a < 1\n"
    less, beside = (one for one in drawn("dstcc/a.py", source) if one.find == "a < 1")
    excuse = Equivalent("dstcc/a.py", "return a < 1", ["return a <= 1"], "whole")
    assert excused(less, source, [excuse]) and not excused(beside, source, [excuse])
    assert not excused(less, source, [Equivalent("dstcc/b.py", "return a < 1", ["*"], "another")])
    assert excused(beside, source, [Equivalent("dstcc/a.py", "return a < 1", ["*"], "all")])
