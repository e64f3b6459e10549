from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from .mission import MISSION


@pytest.fixture
def mission(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(MISSION)
    return path


@pytest.fixture
def short(tmp_path: Path) -> Path:
    path = tmp_path / "short.toml"
    path.write_text(MISSION.replace("loop_to_s = 60", "loop_to_s = 20"))
    return path


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Small networks gain nothing by threads, and test workers share the cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
