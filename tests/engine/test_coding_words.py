"""Blocks that are interleaved of several code words: each word is brought back by itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dstcc.engine import Coding, CodingResults, EngineResult, Link, Objects, simulate
from dstcc.engine._testing import coding as parts

from .net import MSS, config, link, live, ns

ROOM = 16
"""Packets of a code word; more than any test sends."""


def run(
    objects: Objects,
    links: Link,
    *,
    words: tuple[int, ...] = (2,),
    word_packets: int = ROOM,
    repair: tuple[float, ...] | None = (0.25,),
    congestion: str = "open-loop",
) -> EngineResult:
    """One block, sent without a handshake."""
    made = config(congestion, links, objects=objects, mode="coded", handshake=False, layer_first=True)
    coding = Coding(objects.chunk // 1000, ns(1000), repair, word_packets=word_packets, words=words)
    return simulate(replace(made, coding=coding))


def pairs(chunks: int = 4, **more: object) -> Objects:
    """Chunks of one layer of two packets, a second apart: packets 0, 2, 4, 6 are one word, the others another."""
    return live(chunks, (2 * MSS,), **more)  # type: ignore[arg-type]


def lossy(*numbers: int) -> Link:
    """A link that loses these packets."""
    return link(drops=tuple((number, 1) for number in numbers))


def coded(result: EngineResult) -> CodingResults:
    assert result.coding is not None
    return result.coding


@pytest.mark.parametrize(
    ("words", "lost", "whole"),
    [((1,), (4, 6), 1), ((2,), (4, 6), 0), ((2,), (4, 7), 1), ((2,), (4, 8), 0), ((2,), (4, 9), 1)],
)
def test_each_word_is_brought_back_by_its_own_packets(
    words: tuple[int, ...], lost: tuple[int, ...], whole: int
) -> None:
    """Eight packets and two of repair, 8 and 9, one a word; no time for more."""
    result = coded(run(pairs(playout_s=1.2), lossy(*lost), words=words))
    assert (result.source_packets[0], result.repair_packets[0], result.whole[0]) == (8, 2, whole)
    assert (result.decoded_ns[0] >= 0) == bool(whole)


def test_fresh_packets_go_to_the_word_that_is_short() -> None:
    result = coded(run(pairs(), lossy(1, 3)))
    assert (result.whole[0], result.planned_packets[0]) == (1, 2)
    # Packet 3 is three below 7, which is lost at 3 s and 3/8 of a round trip; as in test_coding.py two go for the one
    assert result.repair_packets[0] == 4
    assert result.recovered.tolist() == [1, 1, 0, 0]


def test_a_word_that_is_full_gets_no_more() -> None:
    result = coded(run(pairs(), lossy(0, 2), word_packets=5))
    assert (result.whole[0], result.repair_packets[0]) == (0, 2)


def test_a_word_counts_on_what_it_doubted_once_that_is_there() -> None:
    # Five chunks of eight packets, a second apart. Light takes 4 s, and 7 s from 6.6 s on: what goes at 3 and 4
    # s is heard of after 11 s, of each word eight packets, which have been doubted by then; ten went for them,
    # of which fewer than eight arrive 3 times in a thousand where 3 in a hundred are lost. Of the first word
    # three of 20 are lost at 5 s, which those make good.
    channel = link(
        delay_t_ns=(0, ns(6.5), ns(6.6)),
        delay_ns=(ns(4), ns(4), ns(7)),
        drops=tuple((n, 1) for n in (32, 34, 36)),
    )
    result = run(live(5, (8 * MSS,)), channel, word_packets=64, repair=(0.0,), congestion="paced")
    assert (coded(result).whole[0], coded(result).repair_packets[0]) == (1, 20)


def test_words_share_what_is_planned() -> None:
    """Of an odd number the first has one more; it brings back two losses there and none in the other."""
    for lost, whole in (((4, 6), 1), ((5, 7), 0), ((4, 7), 1)):
        result = coded(run(pairs(playout_s=1.2), lossy(*lost), repair=(0.375,)))
        assert (result.repair_packets[0], result.whole[0]) == (3, whole), lost


def test_a_word_without_source_packets_needs_none() -> None:
    result = coded(run(live(1, (MSS,)), lossy(0), words=(3,), repair=(1.0,)))
    assert (result.source_packets[0], result.repair_packets[0], result.whole[0]) == (1, 1, 1)


def test_one_word_is_as_before() -> None:
    plain = run(pairs(), lossy(0, 2, 4), words=(), word_packets=0)
    one = run(pairs(), lossy(0, 2, 4), words=(1,), word_packets=ROOM)
    assert plain.objects.complete_ns.tolist() == one.objects.complete_ns.tolist()
    assert plain.totals == one.totals


def test_auto_plans_for_each_word() -> None:
    """q = 1 - (1 - q_word)^W, of a W-th of the packets each: 40 packets and 4 in two words are two of 20 and 2."""
    word = parts.object_loss(10, 20, 2, 0.05)
    assert parts.object_loss(10, 40, 4, 0.05, words=2) == pytest.approx(1 - (1 - word) ** 2)
    assert parts.object_loss(10, 40, 5, 0.05, words=2) == parts.object_loss(10, 40, 4, 0.05, words=2)
    assert parts.object_loss(10, 40, 4, 0.05, words=2) > 1.5 * parts.object_loss(10, 40, 4, 0.05)
    # a burst of ten is five in each word
    spread = parts.object_loss(10, 20, 2, 0.05, bursts=5.0)
    assert parts.object_loss(10, 40, 4, 0.05, bursts=10.0, words=2) == pytest.approx(1 - (1 - spread) ** 2)


@pytest.mark.parametrize(
    ("knobs", "rule"),
    [
        ({"words": (0,)}, "1 to 256 code words"),
        ({"words": (257,)}, "1 to 256 code words"),
        ({"word_packets": 70_000}, "at most its code's packets"),
        ({"word_packets": 4, "words": (2,)}, "more packets than its code"),
    ],
)
def test_what_makes_no_sense_is_refused(knobs: dict[str, object], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        run(pairs(), link(), **knobs)  # type: ignore[arg-type]


def test_raptorq_has_no_words() -> None:
    made = config("open-loop", link(), objects=pairs(), mode="coded", handshake=False)
    coding = Coding(pairs().chunk // 1000, ns(1000), (0.1,), "raptorq", words=(2,))
    with pytest.raises(ValueError, match="one word each"):
        simulate(replace(made, coding=coding))
