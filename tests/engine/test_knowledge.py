"""The table's word on what each algorithm knows against what it does before any acknowledgement could tell it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dstcc.algorithms import CONGESTION, SCHEDULERS, TABLE, TRANSFERS, copies, knowledge
from dstcc.engine import EngineResult, Objects
from tests.engine.net import MSS, S, bulk, link, live, ns, run

SENDERS = (*CONGESTION, *TRANSFERS)
LANES: dict[str, Any] = {"mode": "lanes", "lanes_per_link": 4}
NEEDS = {row.name: row.needs for row in TABLE}
RTT_S = 1.0
DEAF_S = 1.95
"""The handshake takes one round trip and the answer to the first data another: until then nothing is heard."""


def until(result: EngineResult, end_s: float) -> list[int]:
    """Segments sent by then, slot by slot and subflow by subflow."""
    samples = result.samples
    sent: list[int] = samples.sent_segments[samples.t_ns <= end_s * S].tolist()
    return sent


def early(name: str, rate_bps: float, outages_s: tuple[tuple[float, float], ...] = ()) -> list[int]:
    """What leaves before anything comes back; a second link for laws that couple."""
    links = tuple(link(rate_bps, RTT_S, queue_bdp=20, name=f"link {number}") for number in (1, 2))
    # without a handshake the answer to the first data is there after one round trip, and with 0.5 s of it unsent
    transfer = name in TRANSFERS
    objects = live(60, (5 * MSS,), chunk_s=1e-3) if transfer else bulk(10**8)
    scheduler, deaf_s = ("none", DEAF_S - RTT_S) if transfer else ("minrtt", DEAF_S)
    early_s = tuple((begin - RTT_S * transfer, end) for begin, end in outages_s)
    links = tuple(replace(one, outages_ns=tuple((ns(a), ns(b)) for a, b in early_s)) for one in links)
    result = run(name, links, objects=objects, scheduler=scheduler, duration_s=deaf_s, slot_s=0.05, **LANES)
    return until(result, deaf_s)


@pytest.mark.parametrize("name", SENDERS)
def test_only_who_is_told_rates_sends_by_them_unheard(name: str) -> None:
    given = {"rates", "line"} & set(knowledge(name, "minrtt"))
    slow, fast = early(name, 200e3), early(name, 800e3)
    assert (slow != fast) == bool(given), f"{name}: {sum(slow)} and {sum(fast)} segments"


@pytest.mark.parametrize("name", SENDERS)
def test_only_who_has_the_contact_plan_waits_by_it_unheard(name: str) -> None:
    # dark from when the first data is on its way to after anything can be heard of it
    open_all_the_time, dark = early(name, 200e3), early(name, 200e3, ((1.25, 30.0),))
    assert (open_all_the_time != dark) == ("contacts" in knowledge(name, "minrtt"))


def placed(scheduler: str, second_bps: float) -> list[int]:
    """The subflow of each of forty one-segment layers, 10 ms apart, once both subflows are there; nothing is heard."""
    # the second is 20 ms further than the first, where a packet takes 30 ms of the line
    links = (link(400e3, RTT_S, name="one"), link(second_bps, 1.02 * RTT_S, queue_bdp=9, name="two"))
    count = np.arange(40, dtype=np.int64)
    base = bulk()
    objects = Objects(
        count,
        0 * count,
        MSS + 0 * count,
        ns(1.5) + ns(0.01) * count,
        np.full_like(count, int(base.deadline_ns[0])),
    )
    lanes: dict[str, Any] = {} if "stream" in NEEDS[scheduler] else LANES
    result = run("newreno", links, scheduler=scheduler, objects=objects, duration_s=2.4, **lanes)
    carriers: list[int] = result.objects.subflow.tolist()
    return carriers


@pytest.mark.parametrize("name", [name for name in SCHEDULERS if "stream" not in NEEDS[name]])
def test_only_who_knows_lines_places_by_them_unheard(name: str) -> None:
    differs = placed(name, 100e3) != placed(name, 1600e3)
    if name == "qle-ds":  # what a byte costs on each line it weighs once it has heard of two epochs
        assert not differs
        assert knowledge("newreno", name) == ("line",)
    else:
        assert differs == bool({"line", "queue"} & set(knowledge("newreno", name)))


@pytest.mark.parametrize("name", SCHEDULERS)
def test_only_what_the_table_says_goes_twice(name: str) -> None:
    lanes: dict[str, Any] = {} if "stream" in NEEDS[name] else LANES
    links = (link(400e3, 0.5, name="one"), link(400e3, 0.6, name="two"))
    totals = run("newreno", links, scheduler=name, objects=live(20, (3000, 3000)), **lanes).totals
    # lossless, and far below what the links carry: one sending each
    twice = totals.sent_payload_bytes > 20 * 6000
    assert not twice or copies(name)
    assert twice or copies(name) in ("", "idle")  # whether MPTCP's timer runs out in time, it does not say
