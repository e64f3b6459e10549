from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dstcc.report import load_report, render
from tests.report.synthetic_run import RunSpec, build_run
from tests.undrawn import leave_undrawn

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
    """The HTML report of runs by their specs, made once each; with ``figures=False`` its figures are empty."""
    made: dict[str, str] = {}

    def page(*specs: RunSpec, figures: bool = True) -> str:
        key = repr((specs, figures))
        if key not in made:
            folder = tmp_path_factory.mktemp("pages")
            runs = [build_run(folder / f"run-{i}", spec) for i, spec in enumerate(specs)]
            with pytest.MonkeyPatch.context() as patch:
                if not figures:
                    leave_undrawn(patch)
                made[key] = render(load_report(runs), "html")
        return made[key]

    return page
