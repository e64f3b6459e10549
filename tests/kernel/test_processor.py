"""Guests are spread over the processors, each on one."""

from __future__ import annotations

import os
import subprocess
import sys

from dstcc_kernel.processor import bound_to, processor


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
