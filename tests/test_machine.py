"""What the machine says of itself."""

from __future__ import annotations

import os

import pytest

from dstcc.machine import cores


@pytest.mark.parametrize(("said", "count"), [(7, 7), (1, 1), (None, 1)])
def test_a_machine_has_a_core_at_least(monkeypatch: pytest.MonkeyPatch, said: int | None, count: int) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: said)
    assert cores() == count
