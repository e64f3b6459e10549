"""A trial in runs and packet by packet."""

from __future__ import annotations

import pytest

from dstcc.engine import EngineConfig, EngineResult, simulate
from scripts.random_trials.digest import differing, digests


def both(monkeypatch: pytest.MonkeyPatch, config: EngineConfig) -> tuple[EngineResult, EngineResult]:
    """What both say of it, packet by packet first; the same but for its cost."""
    monkeypatch.setenv("DSTCC_ENGINE", "packets")
    packets = simulate(config)
    monkeypatch.delenv("DSTCC_ENGINE")
    runs = simulate(config)
    assert not differing(digests(packets), digests(runs), ("cost",))
    assert packets.totals.run_packets == 0
    return packets, runs
