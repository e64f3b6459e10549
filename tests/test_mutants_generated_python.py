"""What the generator of wrong Python changes, who judges it, and how a process is told which change to make.

What looks through all modules is in `make test-slow`.
"""

from __future__ import annotations

import builtins
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tree_sitter_cpp", reason="comes with the extra dev")
pytest.importorskip("cosmic_ray", reason="comes with the extra dev")

from scripts.mutants_cpp import ROOT, Mutant, fragments, rewrite
from scripts.mutants_generated import Change, draw
from scripts.mutants_generated_python import (
    PLAN,
    all_changes,
    carry_into_guests,
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
    for name in ("dstcc_mutant", "dstcc_in_guests"):  # to be as they were: this may itself run among changes
        monkeypatch.setattr(builtins, name, None, raising=False)
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


# ---------------------------------------------------------------------------------------------------------- guests


@pytest.fixture
def switch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The switch of a tree, loaded into this process."""
    for name in ("DSTCC_REACH", "PYTHONPATH", "DSTCC_MUTANT"):
        monkeypatch.setenv(name, "0")
    monkeypatch.setitem(sys.modules, "dstcc_switch", sys)
    for name in ("dstcc_mutant", "dstcc_in_guests"):  # to be as they were: this may itself run among changes
        monkeypatch.setattr(builtins, name, None, raising=False)
    tree = tmp_path / "tree"
    tree.mkdir()
    write_modules([], tree, tree)
    made = switched(tree)
    return made, sys.modules["dstcc_switch"], tree


def test_a_guest_is_told_its_change_and_says_where_it_was(tmp_path: Path, switch: Any) -> None:
    """Its job gets two variables; what it noted in its folder is noted here; a wrong one has a minute."""
    made, module, tree = switch
    scratch, out = tmp_path / "scratch", tmp_path / "out"
    booted: list[tuple[Any, ...]] = []

    def boot(command: list[str], scratch: Path, console: Path, out: Path, *, seed: int, wall_s: float) -> str:
        booted.append((command, console, seed, wall_s, (scratch / "job").read_bytes().split(b"\0")))
        with (out / ".reached").open("a") as noted:
            noted.write("5\n7\n")
        return "a problem"

    in_guests = module.in_guests(boot)
    for chosen, wall_s, wall in ((0, 300.0, 300.0), (9, 300.0, 60.0), (9, 20.0, 20.0)):
        for folder in (scratch, out / "lib"):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        (scratch / "job").write_bytes(b"/run/dstcc\0/run\0001\0word\0A=b\0")
        made.clear()
        made.choose(chosen)
        assert in_guests(["linux"], scratch, out / "log", out, seed=3, wall_s=wall_s) == "a problem"
        words = [b"/run/dstcc", b"/run", b"1", b"word", b"A=b"]
        said = [b"DSTCC_MUTANT=%d" % chosen, b"DSTCC_KEPT=/run/dstcc/.reached", b""]
        assert booted.pop() == (["linux"], out / "log", 3, wall, [*words, *said])
        assert made.reached() == {5, 7}
        assert not (out / ".reached").exists()
        assert (out / "lib/dstcc_switch.py").read_bytes() == (tree / "dstcc_switch.py").read_bytes()


def test_packages_load_the_switch_where_it_is_found(tmp_path: Path) -> None:
    packages = ("dstcc", "kernel-cc/dstcc_kernel")
    texts = (
        '"""Said.\n\nMore."""\n\nfrom __future__ import annotations\n\nx = 1\n',
        '"""Said."""\n\nx = 1\n',
    )
    for name, text in zip(packages, texts, strict=True):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "__init__.py").write_text(text)
    (tmp_path / "kernel-cc/dstcc_kernel/guest.py").write_text("def _boot():\n    return 1\n")
    carry_into_guests(tmp_path)
    for name, text in zip(packages, texts, strict=True):
        written = (tmp_path / name / "__init__.py").read_text()
        assert written.count("\n") == text.count("\n"), "lines stay where they are"
    switch = "import builtins\nbuiltins.dstcc_in_guests = lambda boot: lambda: boot() + 1\n"
    (tmp_path / "dstcc_switch.py").write_text(switch)
    ask = "import dstcc_kernel.guest as guest, dstcc; print(dstcc.x + 1, guest._boot())"
    for rooms, said in ((("", "kernel-cc"), "2 2"), (("copy", "kernel-cc"), "2 1")):
        if "copy" in rooms:
            shutil.copytree(tmp_path / "dstcc", tmp_path / "copy/dstcc")
            (tmp_path / "dstcc_switch.py").unlink()
        path = ":".join(str(tmp_path / room) for room in rooms)
        words = [sys.executable, "-S", "-P", "-c", ask]
        environment = {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(words, env=environment, cwd="/", stdout=subprocess.PIPE, text=True, check=True)
        assert done.stdout.strip() == said


def test_guests_that_judge_are_tests_of_the_kernel() -> None:
    guests = load_plan(PLAN).guests
    assert len(guests) == len({*guests}) > 10
    for one in guests:
        file, _, name = one.partition("::")
        text = (ROOT / file).read_text()
        assert "mark.kernel" in text and f"def {name}" in text, one


@pytest.mark.kernel
def test_a_guest_makes_the_change_and_is_known_to_have_been_there(
    tmp_path: Path, switch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also a child of it that has left the guest's folder behind, as an end host does."""
    from dstcc_kernel import build, guest

    made, module, tree = switch
    source = "import os\n\n\ndef rule(a):\n    return a > 3\n\n\ndef leave():\n    os.chroot('/usr')\n"
    source += "    return 1 + 1\n"
    (tmp_path / "from").mkdir()
    (tmp_path / "from/rule.py").write_text(source)
    mutants = drawn("rule.py", source)
    number = {one.find: one.number for one in mutants if one.replace in ("a >= 3", "1 - 1")}
    write_modules(mutants, tmp_path / "from", tree)
    monkeypatch.setattr(guest, "_boot", module.in_guests(guest._boot))
    code = "import dstcc_switch, rule; print('said', rule.rule(3), rule.leave(), flush=True)"
    for chosen, said in (
        (0, "said False 2"),
        (number["a > 3"], "said True 2"),
        (number["1 + 1"], "said False 0"),
    ):
        made.clear()
        made.choose(chosen)
        done = guest.run(
            build.kernel(),
            [sys.executable, "-S", "-c", code],
            out=tmp_path / "out",
            seed=1,
            memory_mb=256,
            wall_s=300,
            environment={"PYTHONPATH": str(tree)},
        )
        assert said in done.console.read_text()
        assert {number["a > 3"], number["1 + 1"]} <= made.reached()
