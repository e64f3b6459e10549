from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.report.synthetic_run import RunSpec, build_run

RunFactory = Callable[[RunSpec], Path]


@pytest.fixture
def make_run(tmp_path: Path) -> RunFactory:
    """Builds a run directory from a spec, each at a new path."""
    made: list[Path] = []

    def make(spec: RunSpec) -> Path:
        made.append(build_run(tmp_path / f"run-{len(made)}", spec))
        return made[-1]

    return make
