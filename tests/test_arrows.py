"""Who imports whom: the contracts of ``setup.cfg``, and what may be imported within a function."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from importlinter.cli import lint_imports

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "dstcc": ROOT / "dstcc",
    "dstcc_channels": ROOT / "channel-models/dstcc_channels",
    "dstcc_cli": ROOT / "cli/dstcc_cli",
    "dstcc_kernel": ROOT / "kernel-cc/dstcc_kernel",
    "dstcc_svc": ROOT / "svc/dstcc_svc",
}
CLI = "dstcc_cli/"
"""Commands import what they need when they are called: `--help` and the shell's completion wait for nothing."""
HEAVY = frozenset(
    {
        *(
            "av",
            "click",
            "duckdb",
            "gymnasium",
            "imageio_ffmpeg",
            "importlib",  # metadata, with all of `email`
            "jinja2",
            "matplotlib",
            "numpy",
            "optuna",
            "PIL",
        ),
        *(
            "pyarrow",
            "pydantic",
            "ray",
            "rich",
            "safetensors",
            "scipy",
            "skyfield",
            "skyfield_data",
        ),
        *("torch",),
    }
)
"""Libraries that take longer to import than most of what dstcc does, or that an installation may be without."""
LAZY = {
    "the public names of a package are handed out when they are asked for": {
        "dstcc/__init__.py": 1,
    },
    "installed packages are looked through by who asks for algorithms of theirs": {"dstcc/algorithms.py": 2},
    "needs torch": {
        "dstcc/papers/dash_cell.py": 3,
        "dstcc/papers/training_cell.py": 3,
        "dstcc/train.py": 2,
    },
    "reads and writes videos, with PyAV": {
        "dstcc/api.py": 3,
        "dstcc/report/pictures.py": 7,
        "dstcc/run/trials.py": 1,
        "dstcc/scenario/files.py": 1,
        "dstcc/scenario/video.py": 2,
    },
    "the physics of links, with tables, orbits and scipy, which most scenarios do without": {
        "dstcc/scenario/contacts.py": 4,
        "dstcc/scenario/fields.py": 1,
        "dstcc/scenario/losses.py": 3,
        "dstcc/scenario/physics.py": 7,
        "dstcc/scenario/places.py": 3,
        "dstcc_kernel/plan.py": 2,
    },
    "controllers are for trials that have one": {
        "dstcc/run/directory.py": 1,
        "dstcc/run/trials.py": 1,
        "dstcc/sweeps/work.py": 2,
        "dstcc_kernel/backend.py": 3,
        "dstcc_kernel/coded_steer.py": 3,
        "dstcc_kernel/steer.py": 1,
    },
    "the kernel's side is for trials on it": {
        "dstcc/papers/trial_cell.py": 1,
        "dstcc/run/backends.py": 5,
        "dstcc/run/programs.py": 2,
        "dstcc/sweeps/work.py": 1,
    },
    "a guest imports what its job needs: what it imports moves its clock": {
        "dstcc/forecast/policy.py": 1,
        "dstcc/learn/policies/policy.py": 2,
        "dstcc_kernel/coded_plan.py": 1,
        "dstcc_kernel/inside.py": 2,
        "dstcc_kernel/steer.py": 7,
    },
    "a report in words draws no axis": {"dstcc/report/figures/style.py": 1},
    "packet logs and pages are written by those who ask for them": {
        "dstcc/run/logs.py": 2,
        "dstcc/report/writing.py": 5,
    },
    "a wheel has no sources, and counts the compiled engine": {"dstcc/run/identity.py": 1},
    "every pytest session of the machine loads the plugin": {"dstcc/pytest_plugin.py": 9},
    "a worker's own process imports it": {"dstcc/sweeps/conduct.py": 1, "dstcc/sweeps/executors/ray.py": 2},
}
"""Imports within functions of modules of our own: why, and how many in which file."""


def within_functions(tree: ast.AST, inside: bool = False) -> Iterator[ast.Import | ast.ImportFrom]:
    for node in ast.iter_child_nodes(tree):
        if inside and isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        yield from within_functions(node, inside or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


def lazy() -> Iterator[tuple[str, str]]:
    """File and top-level name of each import within a function; a relative one is of the file's own package."""
    for package, folder in PACKAGES.items():
        for path in sorted(folder.rglob("*.py")):
            file = f"{package}/{path.relative_to(folder).as_posix()}"
            for node in within_functions(ast.parse(path.read_text(encoding="utf-8"))):
                own = isinstance(node, ast.ImportFrom) and node.level > 0
                name = package if own else (getattr(node, "module", None) or node.names[0].name)
                yield file, name.partition(".")[0]


def test_imports_keep_the_contracts(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    broken = lint_imports(config_filename="setup.cfg", no_cache=True)
    assert not broken, capsys.readouterr().out


def test_functions_import_heavy_libraries_or_have_a_reason():
    found = [(file, name) for file, name in lazy() if not file.startswith(CLI)]
    others = [(file, name) for file, name in found if name not in HEAVY and name not in PACKAGES]
    assert not others, "a light library is imported at the top"
    allowed = sum((Counter(files) for files in LAZY.values()), Counter[str]())
    assert Counter(file for file, name in found if name in PACKAGES) == allowed
