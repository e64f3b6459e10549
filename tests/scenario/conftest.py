from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

MINIMAL = """
[scenario]
name = "two links"
[video]
synthetic = {chunk_s = 1.0, layer_bps = [40_000, 30_000, 20_000]}
loop_to_s = 10
[[link]]
name = "relay"
rate_bps = 115_200
delay_s = 5
loss = {packet = 1e-3}
[[link]]
name = "direct"
rate_bps = 240_000
delay_s = 8
"""

DAY = """
[scenario]
name = "a day"
start = 2026-11-21T00:00:00Z
duration_s = 86_400
[video]
loop_to_s = 1_000
"""
"""Of video from Mars, by the clock: the source's keys come next."""

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Put a scenario's text into a file."""

    def to_file(text: str) -> Path:
        path = tmp_path / "scenario.toml"
        path.write_text(text)
        return path

    return to_file


@pytest.fixture
def minimal(write: Write) -> Path:
    return write(MINIMAL)
