from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dstcc import engine
from dstcc.run.trials import WORKER_NAME
from tests.made_results import TOY, toy_bound, toy_simulate

SCENARIO = TOY + "[run]\nseeds = 2\n"


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The toy engine in the real one's place, until the trials that an interrupt left are through."""
    monkeypatch.setattr(engine, "simulate", toy_simulate)
    monkeypatch.setattr(engine, "clairvoyant_weight", toy_bound)
    yield
    for thread in threading.enumerate():
        if thread.name.startswith(WORKER_NAME):
            thread.join()


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    path = tmp_path / "toy.toml"
    path.write_text(SCENARIO)
    return path
