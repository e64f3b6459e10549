"""What a command imports: heavy libraries only where it uses them. Modules are counted, not milliseconds."""

from __future__ import annotations

import subprocess
import sys

import pytest

RUN = """
import sys
from dstcc_cli.main import main
try:
    main(sys.argv[1:])
finally:
    print(*sys.modules, sep="\\n", file=sys.stderr)
"""
LIBRARIES = {
    *(
        "av",
        "click",
        "duckdb",
        "gymnasium",
        "jinja2",
        "matplotlib",
        "numpy",
        "optuna",
        "pandas",
        "PIL",
        "pyarrow",
    ),
    *("pydantic", "rich", "scipy", "skyfield", "torch"),
}
PLANNING = ("click", "numpy", "pydantic", "rich")


def imported(*words: str) -> set[str]:
    ran = subprocess.run([sys.executable, "-c", RUN, *words], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return set(ran.stderr.split("\n"))


@pytest.mark.parametrize(
    ("words", "libraries"),
    [
        (("--help",), ("click",)),
        (("algorithms",), ("click", "rich")),
        (("algorithms", "--json"), ("click",)),
        (("emulate", "examples/iodst/table-1.toml", "--dry-run"), PLANNING),
        (("emulate", "examples/iodst/table-1.toml", "--controller", "iodst-dqn", "--dry-run"), PLANNING),
    ],
    ids=" ".join,
)
def test_a_command_imports_what_it_uses(words, libraries):
    modules = imported(*words)
    assert LIBRARIES & modules <= set(libraries), words
    assert len(modules) < (1_000 if "numpy" in libraries else 500)
