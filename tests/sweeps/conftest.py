from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dstcc import engine
from tests.made_results import toy_bound, toy_simulate
from tests.sweeps.made import write


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The toy engine in the real one's place."""
    monkeypatch.setattr(engine, "simulate", toy_simulate)
    monkeypatch.setattr(engine, "clairvoyant_weight", toy_bound)
    yield


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Eight trials."""
    return write(tmp_path / "given")
