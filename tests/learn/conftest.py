from __future__ import annotations

from pathlib import Path

import pytest

from .mission import MISSION


@pytest.fixture
def mission(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(MISSION)
    return path
