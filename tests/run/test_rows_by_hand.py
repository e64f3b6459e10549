"""Rows of a run's tables from results that are made up here, column by column; and small rules of runs."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dstcc.engine.config import Loss
from dstcc.metrics import NEVER
from dstcc.run import backends, directory, kept, network_plan, replay, shared, tables, trials
from dstcc.run.gather import Words
from dstcc.run.tables import TrialRow
from dstcc.run.trials import TrialKey
from tests.engine import net

NAN = float("nan")
S = 10**9


def plain(column: Any) -> list[Any]:
    """A column as a list; NaN as None."""
    if isinstance(column, Words):
        return [column.words[number] for number in column.numbers]
    return [None if value != value else value for value in np.asarray(column).tolist()]  # noqa: PLR0124


def ints(*values: float) -> Any:
    return np.array(values, dtype=np.int64)


def outcome(coding: Any = None) -> Any:
    """Two chunks of two layers, of which one is lost; three slots of 2 s, the last one of half a second, on two links
    of which the first has two subflows."""
    node = SimpleNamespace(number=4, name="orbiter")
    hop = SimpleNamespace(node=node, number=7, line=SimpleNamespace(name="x-band"))
    links = (
        SimpleNamespace(name="a", subflows=2, onward=(hop,), first_name="uhf"),
        SimpleNamespace(name="b", subflows=1, onward=(), first_name="b"),
    )
    samples = SimpleNamespace(
        t_ns=ints(2, 2, 2, 4, 4, 4, 4.5, 4.5, 4.5) * S // 1,
        subflow=ints(0, 1, 2, 0, 1, 2, 0, 1, 2),
        cwnd_segments=ints(*range(9)),
        inflight_segments=ints(*range(10, 19)),
        srtt_ns=ints(0, 1, 2, 3, 4, 5, 6, 7, 8) * S,
        min_rtt_ns=ints(9, 1, 1, 1, 1, 1, 1, 1, 1) * S,
        sent_segments=ints(*range(20, 29)),
        lost_segments=ints(0, 1, 1, 3, 0, 0, 0, 0, 0),
        retransmitted_segments=ints(*range(30, 39)),
        delivered_bytes=ints(0, 0, 1000, 1000, 500, 0, 250, 0, 0),
        queue_bytes=ints(*range(40, 49)),
        pacing_bps=ints(*range(50, 59)).astype(float),
    )
    samples.t_ns[6:] = 4_500_000_000
    result = SimpleNamespace(
        coding=coding,
        samples=samples,
        objects=SimpleNamespace(
            first_sent_ns=ints(1 * S, 0, 3 * S, -1),
            first_arrival_ns=ints(2 * S, 0, 4 * S, -1),
            complete_ns=ints(3 * S, 0, 5 * S, -1),
            sent_bytes=ints(11, 12, 13, 0),
            delivered_bytes=ints(10, 12, 13, 0),
            subflow=ints(0, 1, 2, -1),
            retransmissions=ints(1, 0, 0, 0),
            given_up=ints(0, 0, 0, 1),
        ),
        nodes=[
            SimpleNamespace(
                number=4,
                slot_held_bytes=ints(5, 6, 0),
                slot_dropped_packets=ints(1, 1, 4),
                slot_lost_in_restarts_packets=ints(2, 3, 3),
            )
        ],
        hops=[
            SimpleNamespace(
                number=7, first_of=0, slot_sent_packets=ints(3, 3, 9), slot_up_sent_packets=ints(1, 5, 5)
            ),
            SimpleNamespace(
                number=-1, first_of=1, slot_sent_packets=ints(2, 4, 4), slot_up_sent_packets=ints(0, 0, 8)
            ),
        ],
        totals=SimpleNamespace(last_delivery_s=9.5, first_send_s=2.0),
    )
    setup = SimpleNamespace(
        objects=SimpleNamespace(
            chunk=ints(0, 0, 1, 1),
            layer=ints(0, 1, 0, 1),
            release_ns=ints(1, 1, 2, 3) * S,
            payload_bytes=ints(10, 12, 13, 14),
        ),
        capture_ns=ints(1, 2) * S,
        mss_bytes=500,
        slot_ns=2 * S,
    )
    playback = SimpleNamespace(shown_ns=ints(7 * S, NEVER), levels=ints(1, -1))
    ends = np.unique(samples.t_ns)
    return SimpleNamespace(setup=setup, result=result, links=links, playback=playback, slot_ends_ns=ends)


def test_every_column_of_chunks() -> None:
    found = dict(zip(tables.CHUNKS.names, map(plain, tables.chunk_rows("t", outcome())), strict=True))
    assert found == {
        "trial": ["t"] * 4,
        "chunk": [0, 0, 1, 1],
        "layer": [0, 1, 0, 1],
        "capture_s": [1.0, 1.0, 2.0, 2.0],
        "release_s": [1.0, 1.0, 2.0, 3.0],
        "deadline_s": [7.0, 7.0, None, None],
        "bytes": [10, 12, 13, 14],
        "first_sent_s": [1.0, 0.0, 3.0, None],
        "first_arrival_s": [2.0, 0.0, 4.0, None],
        "complete_s": [3.0, 0.0, 5.0, None],
        "sent_bytes": [11, 12, 13, 0],
        "delivered_bytes": [10, 12, 13, 0],
        "subflow": [0, 1, 2, -1],
        "retransmissions": [1, 0, 0, 0],
        "given_up": [False, False, False, True],
        "played_level": [1, 1, -1, -1],
        "block": [-1] * 4,
        "block_whole": [False] * 4,
        "recovered": [False] * 4,
        "repair_bytes": [0] * 4,
    }


def test_repair_bytes_are_divided_among_a_blocks_layers() -> None:
    """7 bytes among 3 parts of block 1: 2 each, and the first one has the seventh; block 0 has no part."""
    coding = SimpleNamespace(
        block=ints(1, 1, 1, -1), repair_bytes=ints(100, 7), whole=ints(1, 0), recovered=ints(0, 1, 0, 0)
    )
    block, whole, recovered, repair = map(plain, tables._coded(SimpleNamespace(coding=coding), 4))  # type: ignore[arg-type]
    assert (block, whole, recovered) == ([1, 1, 1, -1], [False] * 4, [False, True, False, False])
    assert repair == [3, 2, 2, 0]
    coding.block, coding.whole = ints(1, 0, 1, 0), ints(1, 0)
    _, whole, _, repair = map(plain, tables._coded(SimpleNamespace(coding=coding), 4))  # type: ignore[arg-type]
    assert whole == [False, True, False, True] and repair == [4, 50, 3, 50]


def test_every_column_of_samples() -> None:
    """Of 500 bytes a segment: what is known of the third row is one lost and two acknowledged, of the fourth 3 and 2.
    1,000 bytes in 2 s are 4,000 bit/s, 250 bytes in the last half second as much."""
    found = dict(zip(tables.SAMPLES.names, map(plain, tables.sample_rows("t", outcome())), strict=True))
    assert found == {
        "trial": ["t"] * 9,
        "t_s": [2.0] * 3 + [4.0] * 3 + [4.5] * 3,
        "subflow": [0, 1, 2] * 3,
        "link": ["a", "a", "b"] * 3,
        "cwnd_segments": list(range(9)),
        "inflight_segments": list(range(10, 19)),
        "srtt_s": [None, *map(float, range(1, 9))],
        "min_rtt_s": [None, *[1.0] * 8],
        "sent_segments": list(range(20, 29)),
        "lost_segments": [0, 1, 1, 3, 0, 0, 0, 0, 0],
        "retransmitted_segments": list(range(30, 39)),
        "loss": [0.0, 1.0, 1 / 3, 3 / 5, 0.0, 0.0, 0.0, 0.0, 0.0],
        "rate_bps": [0.0, 0.0, 4000.0, 4000.0, 2000.0, 0.0, 4000.0, 0.0, 0.0],
        "queue_bytes": list(range(40, 49)),
        "pacing_bps": list(map(float, range(50, 59))),
    }


def test_every_column_of_nodes_and_hops() -> None:
    """Counts so far become those of each slot."""
    found = dict(zip(tables.NODES.names, map(plain, tables.node_rows("t", outcome())), strict=True))
    assert found == {
        "trial": ["t"] * 3,
        "t_s": [2.0, 4.0, 4.5],
        "node": ["orbiter"] * 3,
        "held_bytes": [5, 6, 0],
        "dropped_packets": [1, 0, 3],
        "lost_in_restarts_packets": [2, 1, 0],
    }
    found = dict(zip(tables.HOPS.names, map(plain, tables.hop_rows("t", outcome())), strict=True))
    assert found == {
        "trial": ["t"] * 6,
        "t_s": [2.0, 4.0, 4.5] * 2,
        "link": ["x-band"] * 3 + ["b"] * 3,
        "sent_packets": [3, 0, 6, 2, 2, 0],
        "up_sent_packets": [1, 4, 0, 0, 0, 8],
    }
    one = outcome()

    def there(seen: Any, partial: Any) -> list[str]:
        trial: Any = SimpleNamespace(id="t", outcome=seen, partial=partial)
        return list(tables.rows_of(trial))

    assert there(one, None) == ["chunks", "samples", "nodes", "hops"]
    one.result.nodes = []
    assert there(None, one) == ["samples"] and there(None, None) == []


def test_a_trial_lasts_from_its_first_packet_to_the_last_delivery() -> None:
    one = outcome().result
    assert tables._duration_s(one) == 7.5
    one.totals.last_delivery_s = float("inf")
    assert tables._duration_s(one) is None


def test_a_trials_document_has_what_there_is() -> None:
    about = {
        **vars(TrialKey("cubic", "minrtt", 3)),
        "id": "cubic+minrtt/s3",
        "status": "failed",
        "error": "no",
    }
    assert TrialRow(about).document() == {
        **{
            "id": "cubic+minrtt/s3",
            "congestion": "cubic",
            "scheduler": "minrtt",
            "controller": None,
            "seed": 3,
        },
        **{"status": "failed", "metrics": None, "error": "no"},
    }
    row = TrialRow(about | {"flows": '[{"a": 1}]', "contacts": "[{}]", "variant": "v"}, layers=[{"x": 1}])
    assert {key: row.document()[key] for key in ("variant", "flows", "contacts", "layers")} == {
        **{"variant": "v", "flows": [{"a": 1}], "contacts": [{}], "layers": [{"x": 1}]},
    }


# ------------------------------------------------------------------------------------------------------ small rules


@pytest.mark.parametrize(
    ("before", "again", "same"),
    [
        (None, None, True),
        (None, NAN, True),
        (None, 1.0, False),
        (1.0, None, False),
        (1.0, 1.0, True),
        (1.0, 1.0 + 1e-15, False),
        (0.0, None, False),
    ],
)
def test_a_metric_is_the_same_again(before: float | None, again: float | None, same: bool) -> None:
    assert replay._equal(before, again) is same


def test_what_another_run_was_is_said_in_short() -> None:
    def difference(before: Any, now: Any) -> str:
        return kept._difference({"a": 1, "git_commit": before}, {"a": 1, "git_commit": now})

    assert difference(5, 5) == "" and difference([1, 2], [1, 2]) == ""
    assert difference("a" * 36, "b" * 37) == f"git commit was {'a' * 36} and is {'b' * 12}…"
    assert difference([1], [1, 2, 3]) == "git commit was 1 and is 3 of them"
    assert difference([], None) == "git commit was  and is None"
    assert kept._difference({"old": 1}, {}) == "old was 1 and is None"
    assert kept._difference({}, {"new": 1}) == "new was None and is 1"


def test_a_run_json_of_somebody_else_is_no_run(tmp_path: Path) -> None:
    def why(**meta: Any) -> str | None:
        (tmp_path / "run.json").write_text(json.dumps(meta))
        return directory._no_run(tmp_path)

    assert directory._no_run(tmp_path) == "has no run.json"
    good = {"schema": 1, "dstcc_version": "1", "argv": []}
    assert why(**good) is None
    for bad in ({"schema": 2}, {"dstcc_version": ""}, {"argv": None}):
        assert why(**good | bad) == "has a run.json that is not dstcc's"
    for lacking in good:
        rest = {key: value for key, value in good.items() if key != lacking}
        assert why(**rest) == "has a run.json that is damaged, or not dstcc's"
    (tmp_path / "run.json").write_text("[]")
    assert directory._no_run(tmp_path) == "has a run.json that is damaged, or not dstcc's"
    why(**good)
    (tmp_path / "mine.txt").touch()
    assert directory._no_run(tmp_path) == "holds mine.txt, which is no part of the run"


def test_a_seed_ends_with_its_longest_trial() -> None:
    def row(seed: int, **values: float) -> TrialRow:
        return TrialRow({**vars(TrialKey("a", "b", seed)), **values})

    rows = [row(1, end_s=5.0), row(1, end_s=9.0), row(1, end_s=7.0), row(2, end_s=3.0), row(3)]
    assert directory._ends_s(rows) == {1: 9.0, 2: 3.0}


def test_old_names_of_keys_and_controllers_are_todays() -> None:
    from dstcc.algorithms import RENAMED

    (old, new), *_ = RENAMED.items()
    meta: dict[str, Any] = {
        "layers": {"t": [{"told_bytes": 1, "left_bytes": 2}, {"left_bytes": 3}, None], "u": 5},
        "controllers": [
            {"name": "p", "algorithm": old, "trained_on": [{}]},
            {"name": "q", "algorithm": old, "trained_on": []},
        ],
        "warnings": ["before"],
    }
    directory._renamed(meta)
    assert meta["layers"]["t"] == [{"assigned_bytes": 1, "sent_bytes": 2}, {"sent_bytes": 3}, None]
    assert [one["algorithm"] for one in meta["controllers"]] == [new, old]
    assert meta["warnings"] == [
        "before",
        "layers: told_bytes, left_bytes are called assigned_bytes, sent_bytes now",
        f"p is what is called {new} now",
    ]
    today: dict[str, Any] = {"layers": {"t": [{"sent_bytes": 1}]}}
    directory._renamed(today)
    assert today == {"layers": {"t": [{"sent_bytes": 1}]}}


@pytest.mark.parametrize(
    ("asked", "has", "wanted"),
    [(True, True, True), (True, False, False), (False, True, False), (False, False, False)],
)
def test_pictures_are_judged_where_both_want_it(
    monkeypatch: pytest.MonkeyPatch, asked: bool, has: bool, wanted: bool
) -> None:
    seen: list[Any] = []

    def carry(*given: Any, jobs: int) -> Any:
        seen.append((*given, jobs))
        return iter("ab")

    monkeypatch.setattr(trials, "iter_trials", carry)
    scenario: Any = SimpleNamespace(video=SimpleNamespace(quality=has))
    source: Any = object()
    assert trials.run_trials(scenario, source, quality=asked, jobs=3) == ["a", "b"]
    ((_, given, judge, jobs),) = seen
    assert (given, judge.wanted, jobs) == (source, wanted, 3)


def test_outages_on_a_kernel_leave_time_for_a_full_queue() -> None:
    """10,000 and 1,500 bytes at a quarter and half of 1 Mbit/s are served in 11,500 · 8 / 125,000 = 0.736 s."""
    link = replace(
        net.link(1e6, 1.0, outages_s=((1.0, 2.0), (3.0, 3.736), (5.0, 5.5))),
        queue_bytes=10_000,
        rate_t_ns=(0, S),
        rate_share=(1.0, 0.25),
        hidden_t_ns=(0, S),
        hidden_share=(1.0, 0.5),
        unannounced_ns=((7 * S, 9 * S),),
        up_outages_ns=((1, 2),),
    )
    crossing = backends._crossing(link, 1500)
    assert crossing.outages_ns == ((1_736_000_000, 2 * S),)
    assert crossing.unannounced_ns == ((7_736_000_000, 9 * S),) and crossing.up_outages_ns == ()
    plain_link = replace(link, rate_t_ns=(), rate_share=(), hidden_t_ns=(), hidden_share=())
    assert backends._crossing(plain_link, 1500).outages_ns == (
        (1_092_000_000, 2 * S),
        (3_092_000_000, 3_736_000_000),
        (5_092_000_000, 5_500_000_000),
    )
    config = net.config(
        "cubic", (replace(plain_link, loss=Loss("packet", 0.1), up_loss=Loss("packet", 0.1)),)
    )
    (asked,) = backends.Kernel().oracle(config).links
    assert asked.loss == asked.up_loss == Loss()
    assert asked.outages_ns == backends._crossing(plain_link, config.transport.mss_bytes + 40).outages_ns


def test_the_way_back_has_the_acknowledgements_rate_and_outages() -> None:
    link = replace(
        net.link(1e6, 1.0, outages_s=((1.0, 2.0),)),
        up_rate_bps=5e3,
        up_rate_t_ns=(0, 5),
        up_rate_share=(1.0, 0.5),
        hidden_t_ns=(0, 5),
        hidden_share=(1.0, 0.5),
    )
    from dstcc.engine.passing import Line

    back = network_plan._back(Line("x", 3, 4, link))
    assert (back.name, back.tail, back.head) == ("x", 4, 3)
    assert (back.link.rate_bps, back.link.rate_t_ns, back.link.rate_share) == (5e3, (0, 5), (1.0, 0.5))
    assert (back.link.hidden_t_ns, back.link.hidden_share) == ((), ())
    assert back.link.outages_ns == link.outages_ns
    other = network_plan._back(Line("x", 3, 4, replace(link, up_outages_ns=((7, 8),))))
    assert other.link.outages_ns == ((7, 8),)


def test_a_value_is_freed_after_its_last_use_and_few_are_kept() -> None:
    made: list[str] = []

    def make(key: str) -> str:
        made.append(key)
        return key.upper()

    once: shared.Once[str, str] = shared.Once(["a", "a", "a", "b", "b", "c"], most=1)
    assert [once.get(key, partial(make, key)) for key in ("a", "b", "a", "a", "b", "c")] == list("ABAABC")
    assert made == ["a", "b", "b", "c"], "of two one is kept: b is made again"
    assert once._made == {}
    two: shared.Once[str, str] = shared.Once(["a", "a", "b", "b"], most=2)
    for key in "abab":
        two.get(key, partial(make, key))
    assert made[4:] == ["a", "b"] and two._made == {}
