"""What an explanation says of decisions and packets that are given, by hand."""

from __future__ import annotations

from math import nan
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dstcc.explain.explanation import LinkTruth, _heard, _truth
from tests.explain.made import decided, made

S = 1_000_000_000


def test_the_share_lost_is_of_what_was_sent() -> None:
    truth = LinkTruth("near", 1.0, (0,), np.array([0, 1, 4]), np.array([0, 1, 1]))
    assert truth.loss() == pytest.approx([nan, 1.0, 0.25], nan_ok=True)


def test_parts_are_tenths_of_the_mission() -> None:
    """Of 100 s; a decision at the end of a part, and a chunk captured there, belongs to the next, but for the last. Of
    the second link each belief is the mean of two subflows, and nothing is known in the sixth part."""
    decisions = [
        decided(0.0, loss=[0.1, 0.2, 0.4]),
        decided(9.9, loss=[0.3, 0.2, 0.6]),
        decided(10.0, loss=[0.5, 0.0, 0.2]),
        decided(55.0),
        decided(100.0, loss=[0.7, 0.1, 0.1]),
    ]
    told = made(
        decisions,
        [[10, 10, 5, 0, 8], [0, 4, 4, 4, 4]],
        [[1, 4, 5, 0, 2], [0, 1, 2, 3, 4]],
        capture_s=np.array([0.0, 9.0, 10.0, 100.0, 105.0]),
        levels=np.array([2, -1, 0, 1, 2]),
    )
    parts = told.parts()
    assert [part["from_s"] for part in parts] == [10.0 * n for n in range(10)]
    assert [part["to_s"] for part in parts] == [10.0 * n + 10 for n in range(10)]
    first, second, last = parts[0], parts[1], parts[9]
    near, far = first["links"]
    assert (near["link"], near["believed_loss"], near["channel_loss"]) == (
        *("near", pytest.approx(0.2), pytest.approx(5 / 20)),
    )
    assert (far["link"], far["believed_loss"], far["channel_loss"]) == (
        *("far", pytest.approx(0.35), pytest.approx(1 / 4)),
    )
    assert (first["captured"], first["played"], first["in_full"]) == (2, 0.5, 0.5)
    assert [one["believed_loss"] for one in second["links"]] == pytest.approx([0.5, 0.1])
    assert [one["channel_loss"] for one in second["links"]] == pytest.approx([1.0, 0.5])
    assert (second["captured"], second["played"], second["in_full"]) == (1, 1.0, 0.0)
    assert [one["channel_loss"] for one in last["links"]] == pytest.approx([0.25, 1.0])
    assert (last["captured"], last["played"], last["in_full"]) == (2, 1.0, 0.5)
    unknown = parts[5]
    assert [(one["believed_loss"], one["channel_loss"]) for one in unknown["links"]] == [
        (None, None),
        (None, 0.75),
    ]
    assert (unknown["captured"], unknown["played"], unknown["in_full"]) == (0, None, None)


def test_choices_are_counted_and_a_guards_decision_fell_back() -> None:
    told = made(
        [
            decided(0.0, {"window": "×1", "layer 0": "subflow 1"}),
            decided(1.0, {}),
            decided(2.0, {"window": "×2", "layer 0": "subflow 1"}),
            decided(3.0, {"window": "×2", "layer 0": "subflow 1"}),
        ],
        [[1] * 4] * 2,
        [[0] * 4] * 2,
    )
    assert told.t_s.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert told.choices()["window"] == ["×1", "fell back", "×2", "×2"]
    assert told.shares() == {
        "window": [("×2", 0.5), ("×1", 0.25), ("fell back", 0.25)],
        "layer 0": [("subflow 1", 0.75), ("fell back", 0.25)],
    }
    assert told.finding() == (
        "ours decided 4 times; 66.7% of chunks were played, 33.3% in full. "
        "Changed over time: window and layer 0."
    )
    steady = made([decided(0.0, {"a": "x", "b": "y"})], [[1]] * 2, [[0]] * 2, levels=np.array([2, 0, -1]))
    assert steady.finding() == (
        "ours decided 1 times; 66.7% of chunks were played, 33.3% in full. Always the same: a x and b y."
    )


def test_the_document_has_all_of_it() -> None:
    told = made([decided(0.5, {"a": "x"}, loss=[0.5, 0.25, 1.0])], [[4], [2]], [[1], [2]])
    assert told.document() == {
        "trial": "made/s1",
        "scenario": "made",
        "policy": "ours",
        "observed": ["a", "b"],
        "decisions": [
            {
                "t_s": 0.5,
                "observation": [0.5, 1.0],
                "saw": {"pacing_bps": [0.0, 0.0, 0.0]},
                "believed": {"loss": [0.5, 0.25, 1.0]},
                "chose": {"a": "x"},
            }
        ],
        "links": [{"link": "near", "sent": [4], "lost": [1]}, {"link": "far", "sent": [2], "lost": [2]}],
        "shares": {"a": {"x": 1.0}},
        "parts": told.parts(),
    }


LINKS: Any = (
    SimpleNamespace(name="near", rate_bps=1_000_000, subflows=1, flows=()),
    SimpleNamespace(name="far", rate_bps=2_000_000, subflows=2, flows=()),
)


def test_packets_are_counted_from_one_decision_to_the_next() -> None:
    """Decisions at 1, 2 and 3 s; what was sent before the first counts as its. Not counted are what came back, what no
    channel carried (2), and a connection's first packet. Senders 1 and 2 are on the second link."""
    rows = [  # (time in tenths, sender, event, fate, SYN)
        *((5, 0, 0, 0, 0), (10, 0, 0, 1, 0), (19, 0, 0, 0, 0)),
        *((20, 1, 0, 1, 0), (29, 2, 0, 0, 0), (30, 2, 0, 1, 0), (90, 1, 0, 0, 0)),
        *((20, 0, 2, 1, 0), (20, 0, 0, 2, 0), (20, 0, 0, 1, 1)),
    ]
    t, sender, event, fate, syn = np.array(rows).T
    trace: Any = SimpleNamespace(t_ns=t * S // 10, sender=sender, event=event, fate=fate, syn=syn)
    outcome: Any = SimpleNamespace(links=LINKS, setup=SimpleNamespace(links=LINKS))
    near, far = _truth(outcome, [trace], np.array([1.0, 2.0, 3.0]))
    assert (near.name, near.rate_bps, near.subflows, near.reported) == ("near", 1e6, (0,), False)
    assert (far.name, far.rate_bps, far.subflows) == ("far", 2e6, (1, 2))
    assert (near.sent.tolist(), near.lost.tolist()) == ([3, 0, 0], [1, 0, 0])
    assert (far.sent.tolist(), far.lost.tolist()) == ([0, 2, 2], [0, 1, 1])
    twice = _truth(outcome, [trace, trace], np.array([1.0, 2.0, 3.0]))
    assert twice[1].sent.tolist() == [0, 4, 4]


def test_feedback_counts_for_the_slot_in_which_its_packets_left() -> None:
    """Decisions at 1, 2 and 3 s. The second tells of 5 packets of subflow 0 that left at 1.5 s, of which 2 are lost,
    and of 7 of subflow 2 that left at 2 s; the third of 4 of subflow 1 that left before all, and of none of 0."""
    saw: list[dict[str, list[float]]] = [
        {"heard": [0, 0, 0], "lost": [0, 0, 0], "sent_s": [0, 0, 0]},
        {"heard": [5, 0, 7], "lost": [2, 9, 0], "sent_s": [1.5, 1.0, 2.0]},
        {"heard": [0, 4, 1], "lost": [9, 3, 1], "sent_s": [1.5, 0.5, 3.5]},
    ]
    decisions: Any = [
        SimpleNamespace(saw={name: np.array(values, dtype=float) for name, values in one.items()})
        for one in saw
    ]
    outcome: Any = SimpleNamespace(setup=SimpleNamespace(links=LINKS))
    near, far = _heard(outcome, decisions, np.array([1.0, 2.0, 3.0]))
    assert (near.name, near.rate_bps, near.subflows, near.reported) == ("near", 1e6, (0,), True)
    assert (far.subflows, far.reported) == ((1, 2), True)
    assert (near.sent.tolist(), near.lost.tolist()) == ([5, 0, 0], [2, 0, 0])
    assert (far.sent.tolist(), far.lost.tolist()) == ([4, 7, 1], [3, 0, 1])
