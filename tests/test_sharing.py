"""Fairness and shares, from made results whose sums are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstcc.engine import EngineResult, FlowResult, Link, ObjectResults, Samples, TransportStats
from dstcc.engine.config import NEVER_NS
from dstcc.sharing import contested_time, flow_documents, jain, sharing_metrics

S = 10**9
SLOTS = 10


def link(subflows: int = 1) -> Link:
    return Link("l", 1e6, 1e6, (0,), (S,), 10**6, 10**6, subflows=subflows)


def flow(each_slot: int, *, on: int = 0, **more: object) -> FlowResult:
    """A flow that has ``each_slot`` bytes acknowledged in each of ten slots of a second."""
    none = np.zeros(SLOTS, dtype=np.int64)
    fields: dict[str, object] = {
        "link": on,
        "congestion": "cubic",
        "app_limited": False,
        "start_ns": 0,
        "stop_ns": NEVER_NS,
        "complete_ns": -1,
        "sent_bytes": 12 * each_slot,
        "retransmitted_bytes": 2 * each_slot,
        "delivered_bytes": 10 * each_slot,
        "lost_segments": 0,
        "timeouts": 0,
        "rtt_samples": 4,
        "rtt_sum_s": 1.0,
        "slot_delivered_bytes": np.full(SLOTS, each_slot, dtype=np.int64),
    }
    slots = ("cwnd_segments", "inflight_segments", "srtt_ns", "sent_segments", "lost_segments")
    return FlowResult(**{f"slot_{name}": none for name in slots} | fields | more)  # type: ignore[arg-type]


def result(
    own_bytes: list[int], *flows: FlowResult, first_s: float = 0.0, last_s: float = 10.0
) -> EngineResult:
    """Subflow i has ``own[i]`` bytes acknowledged in each slot."""
    none = np.zeros(0, dtype=np.int64)
    t = np.repeat(np.arange(1, SLOTS + 1, dtype=np.int64) * S, len(own_bytes))
    subflow = np.tile(np.arange(len(own_bytes), dtype=np.int64), SLOTS)
    columns: dict[str, Any] = {name: np.zeros(len(t)) for name in Samples.__dataclass_fields__}
    columns |= {
        "t_ns": t,
        "subflow": subflow,
        "delivered_bytes": np.array(own_bytes, dtype=np.int64)[subflow],
    }
    objects = ObjectResults(**dict.fromkeys(ObjectResults.__dataclass_fields__, none))
    totals = TransportStats(first_send_s=first_s, last_delivery_s=last_s)
    return EngineResult(objects, Samples(**columns), SLOTS * S, totals, tuple(flows))


def test_jains_index_of_known_shares() -> None:
    assert jain((5, 5, 5)) == 1
    assert jain((1, 0, 0, 0)) == pytest.approx(1 / 4)
    assert jain((1, 2, 3)) == pytest.approx(36 / (3 * 14))
    assert jain((0, 0)) is None


@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=20))
def test_jains_index_lies_between_one_nth_and_one(shares: list[float]) -> None:
    index = jain(shares)
    assert index is None or 1 / len(shares) - 1e-9 <= index <= 1 + 1e-9


def test_without_competing_flows_there_is_nothing_to_share() -> None:
    nothing = {"fairness_jain": None, "own_share": None, "flows_bps": None}
    assert sharing_metrics([link()], result([100])) == nothing
    assert sharing_metrics([link()], result([100], flow(50, app_limited=True))) == nothing


def test_all_subflows_on_the_link_are_one_competitor() -> None:
    values = sharing_metrics([link(2)], result([100, 200], flow(300), flow(600)))
    # 300, 300 and 600 bytes a second: (1200)² / (3 · 540,000)
    assert values["fairness_jain"] == pytest.approx(1_440_000 / 1_620_000)
    assert values["own_share"] == pytest.approx(1 / 4)
    assert values["flows_bps"] == pytest.approx(900 * 8)


def test_links_without_flows_do_not_count() -> None:
    values = sharing_metrics([link(), link()], result([1000, 100], flow(300, on=1)))
    assert values["own_share"] == pytest.approx(1 / 4)


def test_the_least_fair_link_counts() -> None:
    values = sharing_metrics([link(), link()], result([300, 100], flow(300), flow(300, on=1)))
    assert values["fairness_jain"] == pytest.approx(400**2 / (2 * (300**2 + 100**2)))
    assert values["own_share"] == pytest.approx(400 / 1000)


def test_only_whole_slots_in_which_all_send_count() -> None:
    early, late = flow(100, stop_ns=8 * S - 1), flow(100, start_ns=3 * S + 1)
    late.slot_delivered_bytes[:4] = 9999  # before its start was over
    values = sharing_metrics([link()], result([100], early, late, first_s=0.5, last_s=9.0))
    # the slots that end at 5, 6 and 7 s
    assert values["own_share"] == pytest.approx(1 / 3)
    assert values["flows_bps"] == pytest.approx(200 * 8)


def contested(*flows: FlowResult, **times: float) -> float | None:
    """Seconds of the first link's contested time, from the flows' 100 bytes a second."""
    link_time = contested_time([link()], result([100], *flows, **times), 0)
    assert link_time is None or link_time.own_bytes == 100 * round(link_time.seconds)
    return None if link_time is None else link_time.seconds


def test_contested_time_is_that_of_slots_that_lie_in_it_to_the_last_nanosecond() -> None:
    assert contested(flow(1)) == pytest.approx(10, rel=1e-12)
    assert contested(flow(1), first_s=3.0) == pytest.approx(7)  # the slot that begins there counts
    assert contested(flow(1), first_s=2.5) == pytest.approx(7)
    assert contested(flow(1), last_s=8.0) == pytest.approx(8)  # the slot that ends there counts
    assert contested(flow(1), last_s=7.5) == pytest.approx(7)
    assert contested(flow(1, start_ns=2 * S, stop_ns=6 * S)) == pytest.approx(4)
    assert contested(flow(1, complete_ns=5 * S)) == pytest.approx(5)
    assert contested(flow(1, stop_ns=4 * S, complete_ns=5 * S)) == pytest.approx(4)
    assert contested(flow(1, start_ns=2 * S), flow(1, start_ns=4 * S), first_s=1.0) == pytest.approx(6)
    assert contested(flow(1, stop_ns=8 * S), flow(1, stop_ns=3 * S), last_s=9.0) == pytest.approx(3)


def test_there_is_no_contest_with_what_never_sends_or_ends_at_once() -> None:
    assert contested(flow(1), first_s=float("nan")) is None
    assert contested(flow(1), last_s=float("nan")) is None
    assert contested(flow(1, complete_ns=0)) is None


def test_flows_that_ask_for_no_more_than_they_get_do_not_count() -> None:
    values = sharing_metrics([link()], result([100], flow(500, app_limited=True), flow(300)))
    assert values["own_share"] == pytest.approx(1 / 4)


def test_contests_of_several_links_add_up() -> None:
    values = sharing_metrics([link(), link()], result([100, 100], flow(100), flow(300, on=1, stop_ns=5 * S)))
    # 10 s of 100 beside 100, and 5 s of 100 beside 300: 1,500 of 4,000 bytes; 100 and 300 bytes a second
    assert values["own_share"] == pytest.approx(1500 / 4000)
    assert values["flows_bps"] == pytest.approx(8 * (100 + 300))


def test_where_nobody_gets_anything_nothing_is_shared() -> None:
    assert sharing_metrics([link()], result([0], flow(0))) == {
        "fairness_jain": None,
        "own_share": None,
        "flows_bps": 0,
    }


def test_flows_that_never_meet_have_no_contest() -> None:
    values = sharing_metrics([link()], result([100], flow(1, stop_ns=4 * S), flow(1, start_ns=5 * S)))
    assert values["fairness_jain"] is None


def test_every_flow_is_told_of() -> None:
    done = flow(100, start_ns=2 * S, complete_ns=7 * S)
    never = flow(0, start_ns=20 * S, sent_bytes=0, rtt_samples=0)
    first, second = flow_documents([link()], result([100], done, never))
    assert first["completion_s"] == first["active_s"] == pytest.approx(5)
    assert first["throughput_bps"] == pytest.approx(8 * 1000 / 5)
    assert first["retransmitted_ratio"] == pytest.approx(200 / 1200)
    assert first["mean_rtt_s"] == pytest.approx(0.25)
    assert first["start_s"] == pytest.approx(2)
    assert (second["active_s"], second["completion_s"]) == (0, None)
    (at_once,) = flow_documents([link()], result([0], flow(0, complete_ns=0)))
    assert (at_once["completion_s"], at_once["throughput_bps"]) == (0, None)
    assert (second["throughput_bps"], second["retransmitted_ratio"], second["mean_rtt_s"]) == (
        None,
        None,
        None,
    )
