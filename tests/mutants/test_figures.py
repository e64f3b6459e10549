"""The recorded mutation figures are of the code as it is."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from scripts import mutation_figures as figures
from scripts.mutation_figures import CPP, PYTHON, ROOT, Figure

ENGINE = ROOT / "tests/mutants/engine.toml"
LEAST = 0.9


def test_every_entry_of_the_engine_was_run() -> None:
    """A family's figures are of as many mutants as the list has, and of as many that are equivalent."""
    listed, equivalent = Counter[str](), Counter[str]()
    for file in tomllib.loads(ENGINE.read_text())["file"]:
        listed[file["family"]] += len(file["mutant"])
        equivalent[file["family"]] += sum("equivalent" in one for one in file["mutant"])
    known = figures.load()[CPP]
    assert {name: (one.of, one.tried) for name, one in known.items()} == {
        name: (count, count) for name, count in listed.items()
    }
    assert {name: one.equivalent for name, one in known.items()} == {
        name: equivalent[name] for name in listed
    }


def test_of_every_module_the_figures_are_of_what_it_is() -> None:
    """A module that has a tenth more or fewer mutants than when they were run is another one: run them again."""
    pytest.importorskip("cosmic_ray", reason="comes with the extra dev")
    from scripts import mutants_python as script

    plan, known = script.load_plan(ROOT / "scripts/mutants_python.toml"), script.operators()
    found = figures.load()[PYTHON]
    assert found.keys() == {module.path for module in plan.modules}
    moved = {}
    for module in plan.modules:
        count = len(script.mutants(module, (ROOT / module.path).read_text(), known)) + len(module.wrong)
        if abs(count - found[module.path].of) > figures.MOVED * found[module.path].of:
            moved[module.path] = count
    assert not moved, "python scripts/mutants_python.py --only MODULE --record"


def test_none_is_below_the_least_rate() -> None:
    """But for modules that wait for their first run."""
    known = figures.load()
    assert not {name: one.rate for name, one in known[CPP].items() if one.rate < LEAST}
    assert not {name: one.rate for name, one in known[PYTHON].items() if one.tried and one.rate < LEAST}


def test_figures_are_recorded_in_their_place(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    path.write_text(json.dumps({CPP: {}, PYTHON: {}}))
    figures.record(CPP, {"laws": Figure(3, 1, 1, 1), "links": Figure(2, 2, 0, 0)}, path)
    figures.record(CPP, {"laws": Figure(4, 3, 0, 1)}, path)
    figures.record(PYTHON, {"svc/dstcc_svc/judge.py": Figure(90, 50, 5, 5)}, path)
    made = figures.load(path)
    assert made == {
        CPP: {"laws": Figure(4, 3, 0, 1), "links": Figure(2, 2, 0, 0)},
        PYTHON: {"svc/dstcc_svc/judge.py": Figure(90, 50, 5, 5)},
    }
    tables = "".join(figures.table(kind, made[kind]) for kind in figures.HEADS)
    assert [
        line for line in tables.splitlines() if line not in "".join(figures.HEADS.values()).splitlines()
    ] == [
        "| laws | 4 | 3 | 0 | 1 | 100.0 % |",
        "| links | 2 | 2 | 0 | 0 | 100.0 % |",
        "| all | 6 | 5 | 0 | 1 | 100.0 % |",
        "| `dstcc_svc/judge` | 90 | 60 | 50 | 5 | 5 |",
    ]
