from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dstcc.report import load_report, render
from tests.report.synthetic_run import RunSpec, build_run

RunFactory = Callable[[RunSpec], Path]
Pages = Callable[..., str]


@pytest.fixture
def make_run(tmp_path: Path) -> RunFactory:
    """Builds a run directory from a spec, each at a new path."""
    made: list[Path] = []

    def make(spec: RunSpec) -> Path:
        made.append(build_run(tmp_path / f"run-{len(made)}", spec))
        return made[-1]

    return make


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    """The HTML report of runs by their specs; drawn once each, since figures take a second."""
    drawn: dict[str, str] = {}

    def page(*specs: RunSpec) -> str:
        if repr(specs) not in drawn:
            folder = tmp_path_factory.mktemp("pages")
            runs = [build_run(folder / f"run-{i}", spec) for i, spec in enumerate(specs)]
            drawn[repr(specs)] = render(load_report(runs), "html")
        return drawn[repr(specs)]

    return page
