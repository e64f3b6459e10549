"""Who imports whom: the contracts of ``setup.cfg``."""

from __future__ import annotations

from pathlib import Path

from importlinter.cli import lint_imports

ROOT = Path(__file__).parents[1]


def test_imports_keep_the_contracts(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    broken = lint_imports(config_filename="setup.cfg", no_cache=True)
    assert not broken, capsys.readouterr().out
