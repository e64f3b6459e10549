"""The initial window of a link is a metric of its route, in the kernel too; what lost SYNs leave of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from dstcc_kernel import guest, module

INSIDE = Path(__file__).parent / "inside/initial_windows.py"
WINDOW = 40
HEADROOM = 2
"""The module's, as it begins."""


@pytest.fixture(scope="module")
def lines(kernel: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    words = [sys.executable, str(INSIDE), str(module.guest_module(kernel))]
    done = guest.run(kernel, words, out=tmp_path_factory.mktemp("windows"), seed=1, memory_mb=512, wall_s=120)
    text = done.console.read_text(errors="replace")
    assert done.exit_code == 0 and done.reports == (), text[-4000:]
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def begun(lines: list[dict[str, Any]], key: str) -> dict[tuple[float, str, int], int]:
    return {
        (line["rtt_s"], line["protocol"], line["lost"]): line[key] for line in lines if "route" not in line
    }


def test_the_kernel_has_the_routes_metrics_that_it_is_given(lines: list[dict[str, Any]]) -> None:
    """Read back: the netlink library drops metrics in a form that it does not know, without a word."""
    routes = [line["route"] for line in lines if "route" in line]
    assert routes == [{"initcwnd": WINDOW, "rto_min_ms": 700}] * 2


def test_lost_syns_cut_the_first_window_to_one_segment(lines: list[dict[str, Any]]) -> None:
    """Linux's rule (``tcp_init_transfer``): the route's window, however often the SYN was repeated while its answer
    was under way; one segment where it was repeated twice or more and the answer is not to the first one. The round
    trip of 20 s has four repeats whatever is lost."""
    windows = begun(lines, "window")
    for protocol in ("TCP", "MPTCP"):
        assert [windows[0.5, protocol, lost] for lost in range(4)] == [WINDOW, WINDOW, 1, 1]
        assert [windows[20.0, protocol, lost] for lost in range(4)] == [WINDOW, 1, 1, 1]


def test_the_modules_cap_keeps_the_routes_window_whatever_syns_are_lost(lines: list[dict[str, Any]]) -> None:
    assert set(begun(lines, "cap").values()) == {HEADROOM * WINDOW}
