"""Scenarios in which the transport is known to fail are there for whoever mends it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dstcc.scenario import load_scenario

OPEN = sorted((Path(__file__).parents[2] / "experiments/open").glob("*.toml"))


@pytest.mark.parametrize("path", OPEN, ids=lambda path: path.stem)
def test_it_loads_and_says_how_it_is_run_and_what_came_out(path: Path) -> None:
    assert load_scenario(path).transport.controller == ("dstcc",)
    head = [line for line in path.read_text().splitlines() if line.startswith("#")]
    assert head[-1].startswith(f"# dstcc emulate experiments/open/{path.name} ")
    assert "dstcc 0." in " ".join(head).replace("# ", "")
