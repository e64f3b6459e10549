"""Guests are spread over the processors, each on one."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack

import pytest
from dstcc_kernel.running import bound_to, processor


def test_guests_side_by_side_have_processors_of_their_own() -> None:
    count = len(os.sched_getaffinity(0))
    with processor() as first, processor() as second:
        assert (first != second) == (count > 1)
    with processor() as again:
        assert again == first


def test_what_is_started_meanwhile_stays_on_one() -> None:
    before = os.sched_getaffinity(0)
    number = max(before)
    with bound_to(number):
        words = [sys.executable, "-S", "-c", "import os; print(*os.sched_getaffinity(0))"]
        child = subprocess.run(words, capture_output=True, text=True, check=True)
    assert child.stdout.split() == [str(number)]
    assert os.sched_getaffinity(0) == before


def test_each_has_as_many_as_the_others_and_who_ends_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three processors this process, the 31st, begins with the second: 31 = 10 · 3 + 1."""
    monkeypatch.setattr("dstcc_kernel.running._GUESTS", {})
    monkeypatch.setattr("dstcc_kernel.running.os.sched_getaffinity", {0: {7, 2, 5}}.__getitem__)
    monkeypatch.setattr("dstcc_kernel.running.os.getpid", lambda: 31)
    with ExitStack() as stack:
        assert [stack.enter_context(processor()) for _ in range(7)] == [5, 7, 2, 5, 7, 2, 5]
        with processor() as eighth:
            assert eighth == 7
        held = processor()
        assert held.__enter__() == 7, "its place is free again"
        assert stack.enter_context(processor()) == 2
        held.__exit__(None, None, None)
        assert stack.enter_context(processor()) == 7
    with processor() as one, processor() as another, processor() as third:
        assert [one, another, third] == [5, 7, 2], "all are free again"
