"""What a command imports: heavy libraries only where it uses them. Modules are counted, not milliseconds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.quick import QUICK

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


def imported(*words: str, cwd: Path | None = None) -> set[str]:
    command = [sys.executable, "-c", RUN, *words]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    assert ran.returncode == 0, ran.stderr
    return set(ran.stderr.split("\n"))


@pytest.mark.parametrize(
    ("words", "libraries"),
    [
        (("--help",), ("click",)),
        (("emulate", "--help"), ("click",)),
        (("examples",), ("click", "rich")),
        (("algorithms",), ("click", "rich")),
        (("algorithms", "--json"), ("click",)),
        (("emulate", "examples/iodst/table-1.toml", "--dry-run"), PLANNING),
        (("emulate", "examples/iodst/table-1.toml", "--controller", "iodst-dqn", "--dry-run"), PLANNING),
        (("emulate", "examples/outages/relay-pass.toml", "--dry-run"), PLANNING),
    ],
    ids=" ".join,
)
def test_a_command_imports_what_it_uses(words, libraries):
    modules = imported(*words)
    assert LIBRARIES & modules <= set(libraries), words
    assert len(modules) < (1_000 if "numpy" in libraries else 500)


def test_neither_a_run_nor_a_report_in_words_takes_pandas_matplotlib_or_all_of_scipy(tmp_path):
    """Of pandas, which pyarrow looks for by itself, nobody has anything; of scipy's distributions few have."""
    (tmp_path / "s.toml").write_text(QUICK)
    for words in (("emulate", "s.toml", "-o", "run"), ("report", "run", "-o", "page.md")):
        modules = imported(*words, cwd=tmp_path)
        assert "pyarrow" in modules
        assert not {"pandas", "matplotlib", "scipy.stats"} & modules, words


def test_who_imports_pandas_himself_gets_it():
    code = (
        "import dstcc_cli.main as cli, sys, pyarrow as pa\n"
        "sys.meta_path.insert(0, cli._NoPandas())\n"
        "exec('pa.array([1])', {'__name__': 'dstcc.run', 'pa': pa}); assert 'pandas' not in sys.modules\n"
        "import pandas\n"
        "assert pa.Table.from_pandas(pa.table({'a': [1]}).to_pandas()).column('a').to_pylist() == [1]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_table_of_a_scenario_is_compiled_when_one_is_read():
    """pydantic would else compile each table by itself as its class is made, and all again for the whole scenario."""
    code = (
        "from dstcc.scenario.model import Link, Scenario\n"
        "import tomllib, pathlib\n"
        "assert not Link.__pydantic_complete__ and not Scenario.__pydantic_complete__\n"
        "Scenario.model_validate(tomllib.loads(pathlib.Path('examples/lab/ten-minutes.toml').read_text()))\n"
        "assert Scenario.__pydantic_complete__ and not Link.__pydantic_complete__\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_a_library_says_as_python_ends_is_not_of_ours():
    """duckdb names each function of its that is still there, on stderr."""
    code = "import dstcc_cli.main, duckdb; duckdb.sql('select 1').fetchall()"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stderr == ""
