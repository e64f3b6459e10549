"""The mutation check itself: what it changes, what it leaves alone, and what it says of tests that see nothing."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("cosmic_ray", reason="comes with the extra dev")

SCRIPT = Path(__file__).parents[1] / "scripts" / "mutants_python.py"
SOURCE = '''
"""Text of 3 words."""
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import numpy as np
def mean(values: list[float | None], strict: bool = True) -> float | None:
    total: "int | float" = 0
    for one, _ in zip(values, values, strict=True):
        total += one
    return min(total, 9) / len(values)
'''


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutants_python", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutants_python"] = module  # where dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def changed(script: ModuleType, source: str) -> set[tuple[str, str]]:
    known = script.operators()
    made = [
        script.make(one, source, known) for one in script.mutants(script.Module("m.py", ()), source, known)
    ]
    return {(one.mutant.was, one.now) for one in made if one is not None}


def test_every_kind_of_change_is_made_and_none_that_means_nothing(script: ModuleType) -> None:
    changes = changed(script, SOURCE)
    last = "return min(total, 9) / len(values)"
    assert {now for was, now in changes if was == last} == {
        "return max(total, 9) / len(values)",
        "return min(total, 9) * len(values)",
        "return min(total, 10) / len(values)",
        "return min(total, 8) / len(values)",
    }
    assert {now for was, now in changes if was == "total += one"} == {"total -= one", "total = one"}
    # neither annotations nor the import for type checkers, neither `strict=True` of zip nor the docstring
    assert {was.split()[0] for was, _ in changes} == {"return", "total", "total:", "for", "def"}
    assert {now for was, now in changes if was.startswith("def")} == {
        "def mean(values: list[float | None], strict: bool = False) -> float | None:"
    }


def test_the_sample_does_not_depend_on_other_lines(script: ModuleType) -> None:
    known = script.operators()
    module = script.Module("m.py", ())
    before = [(one.operator, one.was) for one in script.mutants(module, SOURCE, known)]
    after = [(one.operator, one.was) for one in script.mutants(module, SOURCE + "\nmore = 1 + 2\n", known)]
    assert [one for one in after if one[1] != "more = 1 + 2"] == before
    assert before != sorted(before), "drawn, not from the top"


def test_of_a_module_some_functions_may_be_changed(script: ModuleType) -> None:
    known, source = script.operators(), SOURCE + "\ndef other():\n    return 1 + 2\n"
    mutants = script.mutants(script.Module("m.py", (), ("other",)), source, known)
    assert {one.was for one in mutants} == {"return 1 + 2"}
    with pytest.raises(ValueError, match=r"m\.py: no function gone"):
        script.mutants(script.Module("m.py", (), ("gone",)), source, known)


def test_what_the_plan_names_is_there(script: ModuleType) -> None:
    """An equivalent change is of a line as it stands: who changes the line looks at the entry again."""
    plan, root = script.load_plan(SCRIPT.with_suffix(".toml")), SCRIPT.parents[1]
    lines = {
        one.path: {line.strip() for line in (root / one.path).read_text().splitlines()}
        for one in plan.modules
    }
    assert not [(one.path, one.was) for one in plan.equivalents if one.was not in lines[one.path]]
    assert all(one.why and one.now for one in plan.equivalents)
    assert not [test for one in plan.modules for test in one.tests if not (root / test).is_file()]
    for one in plan.modules:
        source = (root / one.path).read_text()
        script.lines_of(one, source)  # raises for a function that is not there
        for wrong in script.written(one, source):  # raises for a text that is not there
            compile(wrong.source, one.path, "exec")


def check(
    tmp_path: Path, tests: str, more: str = "", *options: str, sample: int = 60
) -> subprocess.CompletedProcess[str]:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f'least = 0.9\nsample = {sample}\n[[module]]\npath = "dstcc/layers.py"\ntests = ["{tests}"]\n{more}'
    )
    command = [sys.executable, str(SCRIPT), "--plan", str(plan), "--jobs", "1", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_good_tests_pass(tmp_path: Path) -> None:
    done = check(tmp_path, "tests/test_layers.py", sample=1)
    assert done.returncode == 0, done.stderr
    assert "1 of 1 killed: 100.0%" in done.stdout


def test_tests_that_see_nothing_and_excuses_that_are_none_fail(tmp_path: Path) -> None:
    (tmp_path / "test_blind.py").write_text(
        "import numpy as np\nfrom dstcc.layers import layer_weights\n\n"
        "def test_it_is_little():\n    assert layer_weights(np.array([1]), 2)[0] <= 100\n"
    )
    weight = "return (({}) * WEIGHT).astype(np.float64)".format
    excuse = (
        f'[[equivalent]]\npath = "dstcc/layers.py"\nwas = "{weight("layers - layer")}"\n'
        'now = ["{}"]\nwhy = "a test"\n'
    ).format
    excused = excuse(weight("layers + layer")) + excuse("return 7")
    done = check(tmp_path, str(tmp_path / "test_blind.py"), 'functions = ["layer_weights"]\n' + excused)
    assert done.returncode == 1
    # of the changes one adds the layer, which fails; the other divides
    assert "1 of 2 killed: 50.0%" in done.stdout
    assert "+ return ((layers - layer) / WEIGHT).astype(np.float64)" in done.stdout
    assert f"dstcc/layers.py: no such change: {weight('layers - layer')} -> return 7" in done.stderr
    said = f"a test fails, so not equivalent: {weight('layers - layer')} -> {weight('layers + layer')}"
    assert f"dstcc/layers.py: {said}" in done.stderr


def test_wrong_versions_that_somebody_wrote_are_tried_beside_the_sample(tmp_path: Path) -> None:
    wrong = (
        '[[module.wrong]]\nfind = "WEIGHT = 100"\nreplace = "WEIGHT = {}"\nnote = "another weight"\n'.format
    )
    done = check(tmp_path, "tests/test_layers.py", wrong(10) + wrong(99.5), sample=1)
    assert done.returncode == 0, done.stderr
    assert "3 of 3 killed: 100.0%" in done.stdout


def test_a_wrong_version_whose_text_is_gone_is_named(script: ModuleType) -> None:
    gone = script.Module("m.py", (), (), (script.Wrong("max(total, 9)", "total", "no bound"),))
    with pytest.raises(ValueError, match=r"m\.py: no bound: stands 0 times"):
        script.written(gone, SOURCE)


@pytest.mark.parametrize(
    ("only", "count"), [("dstcc/sharing.py", 2), pytest.param("", 8, marks=pytest.mark.slow)]
)
def test_the_changes_that_are_held_are_noticed(only: str, count: int) -> None:
    """A few wrong programs, made anew each time."""
    words = [sys.executable, str(SCRIPT), "--held", "--only", only]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"{count} of {count} noticed" in done.stdout


def test_a_held_change_that_nothing_notices_fails(tmp_path: Path) -> None:
    (tmp_path / "test_blind.py").write_text("import dstcc.layers\n\ndef test_it_is_there():\n    pass\n")
    change = '[[held]]\npath = "dstcc/layers.py"\nwas = "WEIGHT = 100"\nnow = "WEIGHT = {}"\n'.format
    done = check(tmp_path, str(tmp_path / "test_blind.py"), change(101), "--held")
    assert done.returncode == 1
    assert "dstcc/layers.py: no test notices WEIGHT = 100 -> WEIGHT = 101" in done.stderr
    done = check(tmp_path, str(tmp_path / "test_blind.py"), change(7), "--held")
    assert done.returncode == 1
    assert "dstcc/layers.py: no such change: WEIGHT = 100 -> WEIGHT = 7" in done.stderr
