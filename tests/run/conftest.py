from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dstcc import engine
from dstcc.run.trials import WORKER_NAME
from tests.made_results import toy_bound, toy_simulate

SCENARIO = """
[scenario]
name = "toy"
[video]
synthetic = {chunk_s = 1.0, layer_bps = [8000, 8000]}
loop_to_s = 3
[[link]]
name = "a"
rate_bps = 80_000
delay_s = {uniform = [2, 4]}
loss = {packet = 1e-3}
[transport]
congestion = ["cubic", "newreno"]
[playout]
delay_s = 10
[run]
seeds = 2
"""


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
