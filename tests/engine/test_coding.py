"""Layers coded over packets: what is sent, lost, brought back and given up, on links with scripted losses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dstcc.engine import Coding, CrossTraffic, EngineResult, Link, Loss, Objects, simulate
from dstcc.engine._testing import coding as parts

from .net import MSS, config, link, live, ns, rates, relayed

LIGHT_S = 0.5
PACKET_S = 1e-3
"""1,500 bytes at 12 Mbit/s."""


def blocks_of(objects: Objects, chunks: int) -> np.ndarray:
    """Periods of so many chunks each."""
    return objects.chunk // chunks


def run(
    objects: Objects,
    links: Link | tuple[Link, ...],
    *,
    repair: tuple[float, ...] | None = (),
    chunks: int = 1000,
    code: str = "mds",
    place: str = "same",
    congestion: str = "open-loop",
    **knobs: object,
) -> EngineResult:
    """A trial of ``coded`` without a handshake, unless told otherwise, with blocks of so many chunks."""
    wanted: dict[str, object] = {"mode": "coded", "handshake": False, "layer_first": True}
    made = config(congestion, links, objects=objects, **(wanted | knobs))  # type: ignore[arg-type]
    coding = Coding(blocks_of(objects, chunks), ns(chunks), repair, code, place)
    return simulate(replace(made, coding=coding))


def pairs(chunks: int = 4, **more: object) -> Objects:
    """Chunks of one layer of two packets, a second apart."""
    return live(chunks, (2 * MSS,), **more)  # type: ignore[arg-type]


def lossy(*numbers: int) -> Link:
    """A link that loses these packets."""
    return link(drops=tuple((number, 1) for number in numbers))


def test_source_packets_go_as_they_are_and_are_there_at_once() -> None:
    result = run(pairs(), link(), repair=(0.25,))
    # Released at 1 s, 2 s, ..: the second packet is on the line 2 ms later and arrives with the light.
    done = [ns(second + 2 * PACKET_S + LIGHT_S) for second in (1, 2, 3, 4)]
    assert result.objects.complete_ns.tolist() == done
    assert result.totals.last_delivery_s == pytest.approx(done[-1] / ns(1))
    coding = result.coding
    assert coding is not None
    assert (coding.source_packets[0], coding.repair_packets[0], coding.whole[0]) == (8, 2, 1)  # 0.25 x 8
    assert coding.recovered.tolist() == [0, 0, 0, 0]
    assert result.totals.repair_payload_bytes == 2 * MSS
    assert result.totals.sent_payload_bytes == 10 * MSS
    assert result.totals.retransmitted_payload_bytes == 0


def test_a_share_is_rounded_up() -> None:
    for share, packets in ((0.0, 0), (0.01, 1), (0.125, 1), (0.126, 2), (0.5, 4)):
        coding = run(pairs(), link(), repair=(share,)).coding
        assert coding is not None
        assert coding.repair_packets[0] == packets


def test_a_block_is_brought_back_by_any_k() -> None:
    result = run(pairs(), lossy(2), repair=(0.25,))
    # Packet 2 is the second chunk's first. The block closes with the fourth chunk, at 4 s: its first repair packet
    # is the third
    # on the line, and with it 8 of 8 + 2 packets have arrived.
    back = ns(4 + 3 * PACKET_S + LIGHT_S)
    assert result.objects.complete_ns[1] == back
    coding = result.coding
    assert coding is not None
    assert coding.recovered.tolist() == [0, 1, 0, 0]
    assert coding.decoded_ns[0] == back
    assert (coding.repair_packets[0], coding.planned_packets[0], coding.whole[0]) == (2, 2, 1)
    assert result.totals.recovered_payload_bytes == MSS
    assert result.totals.delivered_payload_bytes == 8 * MSS


def test_packets_that_leave_a_block_short_are_made_up_with_fresh_repair() -> None:
    result = run(pairs(), lossy(0, 2, 4), repair=(0.25,))
    # 5 of source and 2 of repair are 1 too few. That the third is lost shows 9/8 round trips after it was sent, at
    # 3 s; a share
    # of (3 + 3) / (5 + 3 + 100) of packets is lost, so that 2 go for the 1 (0.056^2 < 1 %): the first brings all back.
    coding = result.coding
    assert coding is not None
    assert (coding.planned_packets[0], coding.repair_packets[0]) == (2, 4)
    assert result.totals.retransmitted_payload_bytes == 2 * MSS
    assert coding.recovered.tolist() == [1, 1, 1, 0]
    assert ns(4.125 + LIGHT_S) < result.objects.complete_ns[0] < ns(4.14 + LIGHT_S)


def test_a_block_that_would_be_late_gets_no_more() -> None:
    result = run(pairs(playout_s=1.2), lossy(0, 2, 4), repair=(0.25,))
    # The third chunk, the last that lacks a packet, is due at 3 s + 1.2 s. Its loss shows at 4.13 s, and light
    # takes 0.5 s.
    coding = result.coding
    assert coding is not None
    assert (coding.repair_packets[0], coding.whole[0]) == (2, 0)
    assert result.objects.complete_ns.tolist()[:3] == [-1, -1, -1]
    assert result.objects.complete_ns[3] > 0


def test_a_last_packet_that_is_lost_is_found_by_a_probe() -> None:
    result = run(live(1, (MSS,)), lossy(0))
    # Nothing behind it shows the loss: after a timeout of 3 s a byte goes out, whose ACK does.
    assert result.coding is not None
    assert result.coding.recovered.tolist() == [1]
    assert result.totals.sent_payload_bytes == pytest.approx(2 * MSS, abs=MSS + 2)
    assert result.totals.timeouts >= 1


def test_a_handshake_takes_a_round_trip() -> None:
    objects = live(1, (MSS,), chunk_s=0.1)
    assert run(objects, link()).objects.first_sent_ns[0] == ns(0.1)
    # A SYN of 40 bytes and its answer are 8 x 40 / 12e6 s each on the line.
    assert run(objects, link(), handshake=True).objects.first_sent_ns[0] == ns(1) + 2 * ns(320 / 12e6)


def test_without_a_handshake_nothing_is_sent_in_an_outage() -> None:
    away = link(outages_s=((2.5, 4.5),))
    objects = pairs(8)
    assert run(objects, away).totals.lost_channel_packets == 0
    assert run(objects, away).objects.first_sent_ns[2] == ns(4.5)
    assert run(objects, away, handshake=True).totals.lost_channel_packets > 0


@pytest.mark.parametrize(("place", "sent"), [("same", (6, 0)), ("other", (4, 2)), ("spread", (5, 1))])
def test_where_repair_goes(place: str, sent: tuple[int, int]) -> None:
    # Four chunks of one packet: all go over the first link, whose round trip is the shorter. Two of repair follow
    # the last: on
    # the same link they wait a millisecond each; in turn the first takes the link that is free.
    links = (link(rtt_s=1.0), link(rtt_s=1.2))
    result = run(live(4, (MSS,)), links, repair=(0.5,), place=place)
    samples = result.samples
    by_link = tuple(int(samples.sent_segments[samples.subflow == s].sum()) for s in (0, 1))
    assert by_link == sent


def test_repair_that_is_spread_goes_over_the_links_in_turn() -> None:
    """Both are free, as Reno has no pace: of 4 repair packets each link has two."""
    links = (link(rtt_s=1.0), link(rtt_s=1.2))
    result = run(
        live(8, (MSS,)), links, repair=(0.5,), place="spread", congestion="newreno", initial_cwnd=100
    )
    sent = result.samples.sent_segments
    assert [int(sent[result.samples.subflow == s].sum()) for s in (0, 1)] == [10, 2]


def test_a_layer_goes_a_block_later_than_the_one_below_it() -> None:
    """A base layer takes 0.2 s on the line, the layer above it 3 s; they are released at 1 s, 2 s, 3 s.

    With blocks of 4 s the turn of the first higher layer is at 5 s, so that each base layer goes as it comes. With
    blocks of 1 s it is at 2 s: the base layer of 2 s goes first, which is the lower one, and that of 3 s waits until
    all 3,000 packets have gone, at 1 + 0.2 + 3 + 0.2 s.
    """
    objects = live(3, (200 * MSS, 3000 * MSS), playout_s=60.0)
    base = objects.layer == 0
    far = run(objects, link(), chunks=4).objects.first_sent_ns[base]
    assert np.abs(far - objects.release_ns[base]).max() <= ns(2 * PACKET_S)
    near = run(objects, link(), chunks=1).objects.first_sent_ns[base]
    assert np.abs(near[:2] - objects.release_ns[base][:2]).max() <= ns(2 * PACKET_S)
    assert abs(int(near[2]) - ns(4.4)) <= ns(2 * PACKET_S)


def test_repair_goes_another_way_only_if_that_is_in_time() -> None:
    # 1.4 s after capture, and the other link's light takes 1.5 s
    links = (link(rtt_s=1.0), link(rtt_s=3.0))
    result = run(live(4, (MSS,), playout_s=1.4), links, repair=(0.5,), place="other")
    assert result.samples.sent_segments[result.samples.subflow == 1].sum() == 0
    assert result.coding is not None
    assert result.coding.repair_packets[0] == 2


def test_what_no_link_can_bring_in_time_is_given_up() -> None:
    result = run(pairs(playout_s=0.4), link())
    assert result.objects.given_up.tolist() == [1, 1, 1, 1]
    assert result.totals.data_packets == 0


def test_a_slow_link_takes_what_it_can_bring_in_time() -> None:
    # 1.2 s after capture: light takes 0.5 s over one link and 1.5 s over the other
    links = (link(rtt_s=1.0, rate_bps=1.2e6), link(rtt_s=3.0))
    result = run(pairs(playout_s=1.2), links)
    assert (result.objects.subflow == 0).all()
    assert (result.objects.complete_ns > 0).all()


def test_base_layers_go_first_and_their_repair_with_them() -> None:
    # 120 kbit/s are 10 packets a second, 8 of the base layer and 8 of another are wanted: all of the base layer is
    # in time,
    # and its repair (0.125 x 8, in blocks of one chunk), and of the other what is left.
    objects = live(30, (8 * MSS, 8 * MSS), playout_s=3.0)
    result = run(objects, link(rate_bps=120e3), repair=(0.125,), chunks=1)
    played = in_time(result, objects)
    assert played[objects.layer == 0].all()
    assert not played[objects.layer == 1].all()
    assert result.coding is not None
    assert (result.coding.repair_packets[::2] == 1).all()
    # what builds on nothing is not sent
    assert result.objects.given_up[objects.layer == 1].sum() >= 15


def in_time(result: EngineResult, objects: Objects) -> np.ndarray:
    """Which objects are there by their deadlines."""
    return (result.objects.complete_ns >= 0) & (result.objects.complete_ns <= objects.deadline_ns)


def tenths(packets: int) -> Link:
    """Every tenth packet is lost of 10 a second, and light takes 10 s."""
    return link(rate_bps=120e3, rtt_s=20.0, drops=tuple((number, 1) for number in range(0, packets, 10)))


def test_what_goes_goes_so_early_that_repair_can_bring_it_back() -> None:
    # 8 packets and 1 of repair a second; the handshake leaves 20 s of them waiting. Light takes 10 s of the 25 s
    # there are, and a block spans 3 s from its first chunk's release to its last's: at 20 s a chunk that is released
    # by 20 + 10 + 3 + 0.8 (its packets) - 25 s = 8.8 s is given up. From then on repair is in time for all that goes.
    objects = live(60, (8 * MSS,), playout_s=25)
    result = run(objects, tenths(1000), repair=(0.125,), chunks=4, handshake=True)
    sent = result.objects.first_sent_ns >= 0
    assert sent.tolist() == [False] * 8 + [True] * 52
    assert in_time(result, objects)[sent].all()
    # Without repair there is nothing to wait for: what is released by 20 + 10 + 0.8 - 25 = 5.8 s.
    for repair in ((), (0.0,)):
        alone = run(objects, tenths(0), repair=repair, chunks=4, handshake=True)
        assert np.flatnonzero(alone.objects.first_sent_ns >= 0)[0] == 5


def test_a_long_link_takes_what_its_repair_is_in_time_for() -> None:
    # 5 packets a second over each link, light takes 10 s and 20 s: the second, free at 40 s, passes over what has
    # waited for more than 40 - 20 - 3 s, which the first still delivers.
    slow = {"rate_bps": 60e3, "drops": tuple((number, 1) for number in range(0, 1000, 20))}
    links = (link(rtt_s=20.0, **slow), link(rtt_s=40.0, **slow))  # type: ignore[arg-type]
    objects = live(120, (8 * MSS,), playout_s=40)
    result = run(objects, links, repair=(0.125,), chunks=4, handshake=True)
    sent = result.objects.first_sent_ns >= 0
    waited = (result.objects.first_sent_ns - objects.release_ns)[sent & (result.objects.subflow == 1)]
    assert len(waited) > 20
    assert waited.max() <= ns(17)
    assert (result.objects.first_sent_ns - objects.release_ns)[result.objects.subflow == 0].max() > ns(17)
    # All that goes is in time but a chunk of the block under way at 40 s, part of which the first link brings later.
    assert (~in_time(result, objects)[sent]).sum() == 1


@pytest.mark.parametrize("repair", [(), (0.1,)])
def test_what_is_begun_is_finished(repair: tuple[float, ...]) -> None:
    # 11 packets a second are wanted of 10 there are: a chunk is given up once not all of its packets are in time.
    objects = live(200, (11 * MSS,), playout_s=8)
    result = run(objects, link(rate_bps=120e3), repair=repair, chunks=4)
    given_up = result.objects.given_up == 1
    assert 10 < given_up.sum() < 40
    assert set(result.objects.sent_bytes[given_up].tolist()) == {0}
    assert in_time(result, objects)[~given_up].all()


def test_what_would_be_late_by_its_headers_alone_is_not_begun() -> None:
    # 1,000 packets of 1,460 bytes take 0.973 s without their headers and 1 s with them; 0.99 s are left beside light.
    for playout_s, sent in ((LIGHT_S + 0.99, 0), (LIGHT_S + 1.01, 1000)):
        result = run(live(1, (1000 * MSS,), playout_s=playout_s), link())
        assert result.objects.sent_bytes.tolist() == [sent * MSS]
        assert result.objects.given_up.tolist() == [int(sent == 0)]


def test_repair_takes_a_link_that_is_in_time_for_all_it_can_bring_back() -> None:
    # It leaves at 4 s. The other link would bring it at 5.5 s, in time for the last three chunks, and the same one at
    # 4.5 s, in time for the first, whose packet is lost.
    links = (link(rtt_s=1.0, drops=((0, 1),)), link(rtt_s=3.0))
    objects = live(4, (MSS,), playout_s=3.6)
    result = run(objects, links, repair=(0.25,), place="other")
    assert result.samples.sent_segments[result.samples.subflow == 1].sum() == 0
    assert result.objects.complete_ns[0] == ns(4 + 2 * PACKET_S + LIGHT_S)
    # It is on the other where no link is in time for the first.
    late = run(live(4, (MSS,), playout_s=3.4), links, repair=(0.25,), place="other")
    assert late.samples.sent_segments[late.samples.subflow == 1].sum() == 1


def test_repair_costs_nothing_that_there_is_rate_for_and_then_the_highest_layer() -> None:
    # In 4 s 40 packets can go: 20 of the base layer and 16 of the other are sent, and of repair 2 or 8.
    objects = live(200, (5 * MSS, 4 * MSS), playout_s=10)
    fits, does_not = (
        run(objects, link(rate_bps=120e3), repair=(share, share), chunks=4) for share in (0.05, 0.2)
    )
    assert in_time(fits, objects).all()
    played = in_time(does_not, objects)
    assert played[objects.layer == 0].all()
    # Of the other, with 4 of repair, 20 packets are wanted and 16 can go: 0.8 of all, and what may wait when the
    # mission ends: 10 - 0.5 - 3 s, in which 65 of all 1,000 packets go.
    assert 0.8 <= played[objects.layer == 1].mean() < 0.9


def test_raptorq_fails_to_bring_back_one_block_in_a_hundred() -> None:
    # 1,000 blocks of 2 source packets and 1 of repair, the first of which is lost: k packets, none extra. No repeat
    # would be
    # in time. 1 % fail: 10, with a deviation of 3.1.
    objects = live(1000, (2 * MSS,), chunk_s=0.1, playout_s=0.7)
    losses = lossy(*range(0, 3000, 3))
    failed = {}
    for code in ("mds", "raptorq"):
        coding = run(objects, losses, repair=(0.5,), chunks=1, code=code).coding
        assert coding is not None
        assert (coding.arrived_packets == 2).all()
        failed[code] = int((coding.whole == 0).sum())
    assert failed["mds"] == 0
    assert 2 <= failed["raptorq"] <= 22


def test_raptorq_wants_two_more_than_k_once_a_packet_is_lost() -> None:
    # 7 of 8 and 2 of repair: k + 1 arrive, and a sender that knows of the loss sends more (two for the one, as some
    # are lost).
    mds = run(pairs(), lossy(2), repair=(0.25,)).coding
    raptorq = run(pairs(), lossy(2), repair=(0.25,), code="raptorq").coding
    assert mds is not None and raptorq is not None
    assert mds.repair_packets[0] == 2
    assert raptorq.repair_packets[0] > 2
    without = run(pairs(), link(), repair=(0.25,), code="raptorq").coding
    assert without is not None
    assert without.repair_packets[0] == 2


def test_lost_acks_are_no_losses() -> None:
    # Each ACK names the newest 32 ranges, so that half of them may go.
    result = run(live(200, (4 * MSS,)), link(up_loss=Loss("packet", 0.5)), repair=(0.1,))
    assert result.samples.lost_segments.sum() == 0
    assert (result.objects.complete_ns > 0).all()


@pytest.mark.parametrize(
    "congestion", ["cubic", "newreno", "bbr", "bbr-scaled", "westwood", "vegas", "olia", "ledbat"]
)
def test_every_kind_of_law_carries_it(congestion: str) -> None:
    objects = live(60, (8 * MSS, 8 * MSS))
    links = (link(rtt_s=0.4, loss=Loss("packet", 0.01)), link(rtt_s=0.6, loss=Loss("packet", 0.01)))
    result = run(objects, links, repair=(0.2, 0.1), chunks=5, congestion=congestion, handshake=True)
    assert (result.objects.complete_ns > 0).all()
    assert result.totals.delivered_payload_bytes == objects.payload_bytes.sum()


def test_auto_sends_more_where_more_is_lost() -> None:
    # Light takes 4 s and a block 5: 10 s are enough for repair, and 12 s would be for what is asked for after a
    # round trip.
    objects = live(200, (8 * MSS, 8 * MSS), playout_s=10)
    shares = []
    for loss in (0.0, 0.03, 0.1):
        losses = Loss("packet", loss) if loss else Loss()
        result = run(objects, link(rate_bps=1.2e6, rtt_s=8.0, loss=losses), repair=None, chunks=5)
        shares.append(result.totals.repair_payload_bytes / result.totals.sent_payload_bytes)
        assert in_time(result, objects).mean() > 0.97
    assert shares[0] < 0.1
    assert shares[0] < shares[1] < shares[2] < 0.5


def planned_of(
    loss: float, playout_s: float = 12, repair: tuple[float, ...] | None = None, congestion: str = "paced"
) -> np.ndarray:
    """Repair packets of blocks of 40, one every 5 s, of which nothing is heard for 8 s."""
    objects = live(120, (8 * MSS,), playout_s=playout_s)
    channel = link(rate_bps=1.2e6, rtt_s=8.0, loss=Loss("packet", loss) if loss else Loss())
    coding = run(objects, channel, repair=repair, chunks=5, drop_late=True, congestion=congestion).coding
    assert coding is not None
    return coding.planned_packets


def test_blocks_whose_losses_were_underrated_get_more_while_it_is_in_time() -> None:
    # Block 0 is sent from 1 s on. At 9 s it is heard of, and what is sent then is in time for chunks due from 13 s on.
    before, topped = planned_of(0.0), planned_of(0.1)
    # They were insured, and what has arrived by then needs no more.
    assert (1.1 * before[:2] <= topped[:2]).all() and (topped[:2] < 25).all()
    # With chunks due from 1 s + 6 s on nothing is.
    assert planned_of(0.1, playout_s=6)[0] == planned_of(0.0, playout_s=6)[0]
    # Constant shares stay, and a law that cannot tell losses of the channel from those of a full queue adds nothing.
    assert set(planned_of(0.1, repair=(0.1,))) == {4}
    assert planned_of(0.1, congestion="open-loop")[0] == planned_of(0.0, congestion="open-loop")[0]


@pytest.mark.parametrize(("apart", "again"), [(30, False), (15, True)])
def test_blocks_are_planned_again_where_losses_have_risen_by_a_quarter(apart: int, again: bool) -> None:
    # After m of them a share of (3 + m) / (100 + apart m) is lost: at most 4 / 130, or 5 / 130 with the second.
    objects = live(120, (8 * MSS,), playout_s=12)
    planned = []
    for lost in ((), tuple((number, 1) for number in range(apart - 1, 1000, apart))):
        channel = link(rate_bps=1.2e6, rtt_s=8.0, drops=lost)
        coding = run(objects, channel, repair=None, chunks=5, congestion="paced").coding
        assert coding is not None
        planned.append(int(coding.planned_packets[1]))
    assert (planned[1] > planned[0]) is again


def test_what_no_fresh_packet_can_make_good_is_insured_the_less_the_longer_losses_were_heard_of() -> None:
    # Light takes 4 s, so that a fresh packet arrives 12 s after the lost one was sent, and blocks take 5 s. Of 100
    # packets three are lost all the time.
    steady = tuple((number, 1) for number in range(33, 1100, 33))
    channel = link(rate_bps=1.2e6, rtt_s=8.0, drops=steady)
    insured, answered = (
        run(
            live(120, (8 * MSS,), playout_s=playout_s),
            channel,
            repair=None,
            chunks=5,
            congestion="paced",
            drop_late=True,
        ).coding.planned_packets
        for playout_s in (16.9, 17.1)
    )
    # a = 1/2 at first: phi = 1 + 39 / (0.5 / 0.03 + 1) = 3.2 instead of 1.
    assert insured[0] > answered[0]
    # Heard of for over 12 round trips a is 6.5: phi = 1 + 39 / (6.5 / 0.03 + 1) = 1.2.
    assert answered[-1] <= insured[-1] < insured[0]
    # As much is planned for all where the sender's law has no reports.
    assert (
        planned_of(0.0, 16.9, congestion="open-loop")[0] == planned_of(0.0, 17.1, congestion="open-loop")[0]
    )


def test_between_outages_that_nobody_announced_single_losses_are_repaired() -> None:
    """Every hundredth packet is lost, and three times 300 of them. A block of 200 goes whole then, and no repair helps;
    in the others two are lost, and hardly ever six."""
    gone = {number + lost for number in (3000, 5000, 7000) for lost in range(300)}
    drops = tuple((number, 1) for number in sorted(gone | set(range(0, 20_000, 100))))
    channel = link(rate_bps=1.2e6, rtt_s=8.0, drops=drops)
    coding = run(
        live(300, (40 * MSS,), playout_s=17.5), channel, repair=None, chunks=5, congestion="paced"
    ).coding
    assert coding is not None and set(coding.source_packets) == {200}
    later = coding.planned_packets[25:43]
    assert later.min() >= 6 and later.max() <= 12
    # Once outages are far enough behind for groups of a hundred, such a group is repaired.
    assert coding.planned_packets[-8:].min() >= 90


def test_losses_that_come_together_get_more_repair_than_as_many_apart() -> None:
    # One in 20 packets is lost, each by itself or eight in a row: blocks of 40 and their repair lose 2 or 3 each, or
    # 8 or none. By chance the variance of their number would be 40 x 0.05 x 0.95 = 1.9.
    objects = live(240, (8 * MSS,), playout_s=12)
    singly = tuple((number, 1) for number in range(19, 1200, 20))
    together = tuple((number + k, 1) for number in range(19, 1200, 160) for k in range(8))
    planned = []
    for drops in (singly, together):
        channel = link(rate_bps=1.2e6, rtt_s=8.0, drops=drops)
        coding = run(objects, channel, repair=None, chunks=5, congestion="paced").coding
        assert coding is not None
        planned.append(coding.planned_packets[20])
    assert planned[0] < planned[1]


@pytest.mark.parametrize("words", [1, 2])
@pytest.mark.parametrize("dark_s", [0.0, 31.3])
def test_what_a_silent_path_has_not_answered_goes_over_another(dark_s: float, words: int) -> None:
    # Either line has room for all. One loses all from then on, which nobody is told. What went there is doubted after
    # 9/8 of 8 s, packet by packet as it looks every half second: a block's last is 4 s younger than its first, and
    # on Earth 4.2 s after its doubt.
    objects = live(80, (4 * MSS,), playout_s=4 + 9 + 0.5 + 4.2 + 1)
    silent = link(rate_bps=1.2e6, rtt_s=8.0, unannounced_ns=((ns(dark_s), ns(1000)),))
    links = (link(rate_bps=1.2e6, rtt_s=8.4), silent)
    made = config(
        "paced", links, objects=objects, mode="coded", handshake=False, layer_first=True, drop_late=True
    )
    blocks = blocks_of(objects, 5)
    coding = Coding(blocks, ns(5), None, word_packets=64, words=(words,) * (int(blocks.max()) + 1))
    result = simulate(replace(made, coding=coding))
    assert in_time(result, objects).all()
    sent = result.samples.sent_segments
    assert sent[result.samples.subflow == 1].sum() > 0
    # Only what was under way when the path fell silent goes twice.
    assert result.totals.sent_payload_bytes < (80 + 2 * 9) * 4 * MSS * 1.3


@pytest.mark.parametrize("away_s", [(), ((20.0, 60.0),)])
def test_what_an_outage_of_the_uplink_hides_is_reported_after_it(
    away_s: tuple[tuple[float, float], ...],
) -> None:
    # Every tenth of a thousand packets is lost. For 40 s nothing goes back: 40 ranges and more; a report names 32.
    objects = live(100, (10 * MSS,), playout_s=80)
    channel = link(
        rate_bps=1.2e6,
        rtt_s=4.0,
        drops=tuple((number, 1) for number in range(0, 1000, 10)),
        up_rate_bps=8e3,
        up_outages_ns=tuple((ns(a), ns(b)) for a, b in away_s),
    )
    result = run(objects, channel, repair=None, chunks=5, drop_late=True, slot_s=10, congestion="paced")
    assert result.samples.lost_segments.sum() == 100
    assert in_time(result, objects).all()


@pytest.mark.parametrize(("up_bps", "playout_s"), [(2e3, 3.65), (8e3, 3.4)])
def test_a_report_on_a_slow_uplink_names_what_is_news_in_three(up_bps: float, playout_s: float) -> None:
    # Ten packets a second, of which one is lost, and what is lost goes again. A range in 32 reports made one of 172
    # bytes, 0.69 s at 2 kbit/s; with two or three ranges it has 56, 0.22 s. The next begins 1.25 x 0.22 s after it, and
    # a packet later the loss is seen: 3 s of light, 0.1, 0.28 and 0.22 s are 3.6.
    objects = live(200, (10 * MSS,), playout_s=playout_s)
    lost = tuple((number, 1) for number in range(0, 3000, 10))
    channel = link(rate_bps=1.2e6, rtt_s=2.0, drops=lost, up_rate_bps=up_bps)
    result = run(objects, channel, repair=(0.0,), chunks=1, drop_late=True, congestion="paced")
    assert in_time(result, objects).all()


def every_other(packets: int) -> EngineResult:
    """Of so many at once every other one is lost. A report tells of 16 new ranges, half of what it names, takes 0.86 s,
    and the next goes when the uplink has time for it."""
    channel = link(rtt_s=4.0, up_rate_bps=2e3, drops=tuple((number, 1) for number in range(0, packets, 2)))
    objects = live(1, (packets * MSS,), playout_s=60)
    result = run(objects, channel, repair=(0.0,), chunks=1, drop_late=True, duration_s=80, congestion="paced")
    assert in_time(result, objects).all()
    return result


def test_reports_follow_each_other_until_all_is_told_though_no_more_comes_in() -> None:
    # 32 ranges, which reports name within the 2 s that data take. Who waited for more to come in would leave the sender
    # to doubt the rest.
    result = every_other(64)
    assert result.coding is not None
    assert 32 <= result.coding.repair_packets[0] < 1.1 * 32


def test_what_is_too_much_to_be_named_is_counted() -> None:
    # 300 ranges would take 16 s. Nobody knows which half of what is passed over is there, and all of it is sent again.
    result = every_other(600)
    assert result.coding is not None
    assert 500 < result.coding.repair_packets[0] < 600
    assert result.objects.complete_ns[0] < ns(12)


def test_reports_are_no_longer_for_a_queue_that_data_wait_in() -> None:
    # Light takes a second, of which a sixteenth is no time for a report of 2 kbit/s: it names what is news in three. Of
    # the half minute that packets wait at a node, as long as others fill its queue, a sixteenth were time for all 32.
    # With two ranges more than one a report has 56 bytes, and the next begins 1.25 x 0.224 s later.
    way = relayed(
        link(rate_bps=1.2e6, rtt_s=2.0, loss=Loss("packet", 0.1)), 240e3, 10**6, CrossTraffic(240e3)
    )
    line = replace(way.onward[0].line, up_rate_bps=2e3)
    way = replace(way, onward=(replace(way.onward[0], line=line),))
    objects = live(200, (10 * MSS,))
    result = run(objects, way, repair=(0.0,), chunks=1, congestion="paced", duration_s=200)
    assert result.totals.rtt_samples > (200 - 2) / (1.25 * 0.224)


@pytest.mark.parametrize("up_loss", [0.1, 0.3])
def test_a_report_that_is_lost_is_made_good_by_the_next_two(up_loss: float) -> None:
    # No packet is lost. What a report alone has named would be held to be lost and be sent again.
    objects = live(400, (10 * MSS,), playout_s=9)
    lost = tuple((number, 1) for number in range(0, 6000, 10))
    channel = link(rate_bps=1.2e6, rtt_s=2.0, drops=lost, up_rate_bps=2e3, up_loss=Loss("packet", up_loss))
    result = run(objects, channel, repair=(0.0,), chunks=1, drop_late=True, congestion="paced")
    assert in_time(result, objects).all()
    again = result.samples.lost_segments.sum() / result.samples.sent_segments.sum()
    assert again < 0.1 + 2 * up_loss**3


def test_subflows_share_a_slow_line_on_their_reports_way_back() -> None:
    # The line from Earth is quick, the one behind it has 2 kbit/s. Each sends reports at four fifths of its share.
    objects = live(100, (10 * MSS,), playout_s=30)
    for subflows in (1, 3, 6):
        on = link(rate_bps=1.2e6, rtt_s=2.0, subflows=subflows, loss=Loss("packet", 0.05))
        way = relayed(on, 1.2e6, 10**7)
        line = replace(way.onward[0].line, up_rate_bps=1e6)
        way = replace(way, up_rate_bps=2e3, onward=(replace(way.onward[0], line=line),))
        result = run(objects, way, repair=None, chunks=5, drop_late=True, slot_s=10, congestion="paced")
        assert result.samples.srtt_ns.max() < ns(2.7)


def test_of_stored_video_that_a_link_cannot_carry_all_is_played_but_what_does_not_fit() -> None:
    # 10 packets a second of a source on a line for 9.5; a hundredth is lost. All is there from the start, and a chunk
    # is needed a second after the one before.
    objects = live(600, (10 * MSS,), playout_s=30)
    stored = replace(objects, release_ns=np.zeros_like(objects.release_ns))
    channel = link(rate_bps=9.5 * 1500 * 8, rtt_s=4.0, loss=Loss("packet", 0.01))
    for congestion in ("open-loop", "paced"):
        result = run(stored, channel, repair=None, chunks=5, drop_late=True, congestion=congestion)
        assert in_time(result, stored).mean() > 0.85


def stored(chunks: int, layers: tuple[int, ...], playout_s: float) -> Objects:
    """All is there from the start, and a chunk is needed a second after the one before."""
    objects = live(chunks, layers, playout_s=playout_s)
    return replace(objects, release_ns=0 * objects.release_ns)


def run_stored(objects: Objects, repair: tuple[float, ...] | None, layer_first: bool = False) -> EngineResult:
    """Ten packets a second over a second of light, in blocks of four chunks."""
    on = link(rate_bps=120e3, rtt_s=2.0)
    return run(objects, on, repair=repair, chunks=4, drop_late=True, layer_first=layer_first)


def test_stored_layers_go_in_the_order_of_their_deadlines() -> None:
    # 8 packets a second of 10: 480 take 48 s, and base layers first 24 s, by which the first 14 chunks were needed.
    objects = stored(60, (4 * MSS, 4 * MSS), 10)
    result = run_stored(objects, (0.0, 0.0))
    assert in_time(result, objects).all()


def test_of_stored_video_that_a_link_cannot_carry_the_lower_layers_are_played() -> None:
    # 18 packets a second of 10: of the lower two layers' 720 at most 690 are there by the last deadline, at 70 s. Who
    # sends all by its deadline brings a third layer, and three quarters of the second.
    objects = stored(60, (6 * MSS, 6 * MSS, 6 * MSS), 10)
    on = link(rate_bps=120e3, rtt_s=2.0)
    result = run(objects, on, repair=None, chunks=1, drop_late=True, layer_first=False)
    there = in_time(result, objects)
    assert there[objects.layer == 0].all()
    assert there[objects.layer == 1].mean() > 0.85


def test_repair_has_no_more_of_a_period_than_what_has_gone_leaves() -> None:
    # A period of four chunks carries 40 packets, of which the lower layers take 36: repair of the third, which has
    # 16, would cost more of it than it brings.
    coded = run_stored(stored(60, (5 * MSS, 4 * MSS, 4 * MSS), 10), None, layer_first=True).coding
    assert coded is not None
    assert coded.planned_packets.sum() == 0


def test_repair_has_what_nothing_else_needs() -> None:
    # Fifty packets and nothing else for 40 s, in which 370 can go; the period itself carries ten.
    on = link(rate_bps=120e3, rtt_s=4.0, outages_s=((1000.0, 1001.0),))
    coded = run(live(1, (10 * MSS, 40 * MSS), playout_s=40), on, repair=None, chunks=1, drop_late=True).coding
    assert coded is not None
    assert coded.planned_packets[0] >= 3 and coded.planned_packets[1] >= 6


@pytest.mark.parametrize(
    ("packets", "nth", "playout_s", "light_s", "least"),
    [
        # 13 packets a second, blocks of 13: fresh packets are less than two of repair for each block. In all 1,400 can
        # be there, of which 140 are lost: 0.8 of 1,560. Who admits as much but waits gets 0.73, who has no plan 0.53.
        (13, 10, 20.0, 2.0, 0.75),
        # Blocks of a packet, 12.5 a second: for what is lost the wait is worth more than answers. With them 0.77.
        (1, 10, 20.0, 2.0, 0.79),
        # A round trip of 8 s and a block take 9 of the 8 s there are beside light: with such answers 0.43.
        (13, 5, 12.0, 4.0, 0.47),
    ],
)
def test_what_is_admitted_leaves_earlier_where_fresh_packets_gain_more_than_a_shorter_wait_costs(
    packets: int, nth: int, playout_s: float, light_s: float, least: float
) -> None:
    """More than ten packets a second on a line for ten, of which every n-th is lost, for two minutes."""
    chunk_s = 1.0 if packets > 1 else 0.08
    objects = live(int(120 / chunk_s), (packets * MSS,), chunk_s=chunk_s, playout_s=playout_s)
    drops = tuple((number, 1) for number in range(nth - 1, 2000, nth))
    on = link(rate_bps=120e3, rtt_s=2 * light_s, drops=drops)
    made = config(
        "open-loop", on, objects=objects, mode="coded", handshake=False, layer_first=True, drop_late=True
    )
    result = simulate(replace(made, coding=Coding(blocks_of(objects, 1), ns(chunk_s), None)))
    assert in_time(result, objects).mean() > least


def test_who_has_released_all_takes_nothing_for_what_is_to_come() -> None:
    # All is there at 1 s. Were it taken to go on, the lower layer's future would take the place of the higher one.
    objects = stored(30, (5 * MSS, 4 * MSS), 4)
    objects = replace(objects, release_ns=objects.release_ns + ns(1))
    result = run(objects, link(rate_bps=120e3), repair=(0.0, 0.0), chunks=4, drop_late=True)
    assert in_time(result, objects).all()


def test_repair_is_planned_for_the_time_in_which_all_of_a_chunk_must_leave() -> None:
    # A chunk a second, of three layers of two packets, which must leave in 0.6 s: 6.5 packets do, and so none of repair
    # has room beside them. In a second there were room for four.
    objects = live(60, (2 * MSS, 2 * MSS, 2 * MSS), playout_s=2.6)
    result = run(
        objects, link(rate_bps=6.5 / 0.6 * 1500 * 8, rtt_s=4.0), repair=None, chunks=1, drop_late=True
    )
    assert in_time(result, objects).mean() > 0.9


def planned_on(
    on: Link | tuple[Link, ...], *, playout_s: float | None, drop_late: bool = False
) -> np.ndarray:
    """Repair packets that are planned for blocks of a chunk of ten packets, by block."""
    objects = live(40, (10 * MSS,), playout_s=playout_s)
    coding = run(objects, on, repair=None, chunks=1, congestion="paced", drop_late=drop_late).coding
    assert coding is not None
    return coding.planned_packets


def test_repair_is_planned_for_what_the_contacts_bring_in_the_wait_after_next() -> None:
    # Ten packets a second of which seven are source; a layer waits for 20 s. Of 25 to 45 s, the wait after that of the
    # first blocks, 15 s are dark: 12 packets in 5 s. Of 45 to 65 s 3 are: 42 packets for 35.
    objects = live(40, (4 * MSS, 3 * MSS), playout_s=20)
    channel = link(rate_bps=120e3, rtt_s=8.0, outages_s=((27.0, 45.0),))
    coding = run(objects, channel, repair=None, chunks=5, drop_late=True).coding
    assert coding is not None
    planned = coding.planned_packets.reshape(8, 2).sum(axis=1)
    assert planned[0] <= 1 and planned[4] >= 5


def test_blocks_are_planned_again_without_what_a_silent_path_has_not_answered() -> None:
    # One of two lines loses all from then on, the other every eighth packet, which is heard of while packets of the
    # sixth block, five chunks of four, are doubted: who counted on those would plan one of repair for it.
    objects = live(80, (4 * MSS,), playout_s=20)
    silent = link(rate_bps=1.2e6, rtt_s=8.0, unannounced_ns=((ns(31.3), ns(1000)),))
    other = link(rate_bps=1.2e6, rtt_s=8.4, drops=tuple((n, 1) for n in range(4, 2000, 8)))
    coding = run(objects, (other, silent), repair=None, chunks=5, drop_late=True, congestion="paced").coding
    assert coding is not None
    assert coding.planned_packets[5] >= 5


def test_the_more_round_trips_fresh_packets_have_the_less_repair_is_planned() -> None:
    # Light, 2 s, and no, one or two round trips of 4 s. Blocks of 1 s are insured until 7 s.
    on = link(rate_bps=1.2e6, rtt_s=4.0)
    none, first, one, second = (planned_on(on, playout_s=s, drop_late=True)[0] for s in (5.9, 7.1, 9.9, 10.1))
    assert none > first == one > second
    # Over paths alike those of the longest count, and without deadlines what is later is worse.
    far = (on, link(rate_bps=1.2e6, rtt_s=4.4))
    assert planned_on(far, playout_s=10.1, drop_late=True)[0] == one
    assert none > planned_on(on, playout_s=None)[0] > one


def test_round_trips_begin_with_the_path_that_loses() -> None:
    # What the near path loses is heard of after 0.4 s and goes again over the far one, which takes 2 s, and once more
    # 4 s later; if it is as far, there is no time for that.
    far, losses = link(rate_bps=1.2e6, rtt_s=4.0), tuple((n, 1) for n in range(2, 4000, 12))
    near, nearly_as_far = (
        planned_on((link(rate_bps=1.2e6, rtt_s=rtt_s, drops=losses), far), playout_s=6.9, drop_late=True)[-8:]
        for rtt_s in (0.4, 3.9)
    )
    assert near.sum() < nearly_as_far.sum()


@pytest.mark.parametrize(
    ("away", "little"),
    [
        ({"outages_s": ((1000.0, 1001.0),)}, True),
        # What is sent anew at 5 s goes at 7; at 11 it is answered, and there at 13: by 15.1 s, and not by 12.9.
        ({"outages_s": ((5.0, 7.0),), "playout_s": 12.2}, True),
        ({"outages_s": ((5.0, 7.0),), "playout_s": 11.8}, False),
        # An answer that is due at 7 s waits for a contact: reports of so long may not name all.
        ({"up_outages_ns": ((ns(6.5), ns(7.5)),), "playout_s": 20.0}, False),
        ({"up_outages_ns": ((ns(1000), ns(1001)),)}, True),
    ],
)
def test_round_trips_are_counted_by_the_plan(away: dict[str, Any], little: bool) -> None:
    """As in the last test, of the first block."""
    playout_s = away.get("playout_s", 10.1)
    on = link(rate_bps=1.2e6, rtt_s=4.0, outages_s=away.get("outages_s", ()))
    on = replace(on, up_outages_ns=away.get("up_outages_ns"))
    assert (planned_on(on, playout_s=playout_s, drop_late=True)[0] < 3) == little


def test_what_was_under_way_is_answered_no_later_for_being_planned_again() -> None:
    """Chunks of 26 s have two round trips of 8 s. From 20 s on every second packet is lost, known from 28 s on:
    those of 12 s on have 10 s left, and were answered by then."""
    objects = live(60, (10 * MSS,), playout_s=26)
    lost = tuple((number, 1) for number in range(200, 900, 2))
    on = link(rate_bps=1.2e6, rtt_s=8.0, drops=lost)
    coding = run(objects, on, repair=None, chunks=1, congestion="paced", drop_late=True).coding
    assert coding is not None
    assert coding.planned_packets[10:20].max() <= 3


@pytest.mark.parametrize(("chunks", "dark", "planned"), [(600, False, 1), (600, True, 0), (1, False, 2)])
def test_repair_of_stored_video_is_planned_for_what_its_contacts_bring(
    chunks: int, dark: bool, planned: int
) -> None:
    """A chunk of a packet a second on a line for 2.5, with room for a packet of repair, for two of a lone chunk. It is
    there for 10 of 30 s: 0.8 packets a second, of which repair would take half for three in a hundred. Until the first
    is there, 1.5 s, nothing can be; what goes then counts whole, though a lone chunk has only 5 s."""
    objects = live(chunks, (MSS,), playout_s=4)
    stored = replace(objects, release_ns=0 * objects.release_ns)
    away = tuple((30.0 * k + 10, 30.0 * k + 30) for k in range(21)) if dark else ((1000.0, 1001.0),)
    on = link(rate_bps=2.5 * 1500 * 8, rtt_s=3.0, outages_s=away)
    coding = run(stored, on, repair=None, chunks=1, drop_late=True, layer_first=False).coding
    assert coding is not None
    assert coding.planned_packets[0] == planned


@pytest.mark.parametrize(("playout_s", "fresh"), [(7.0, 2), (11.5, 1)])
def test_a_loss_that_can_be_answered_twice_is_answered_by_fewer_packets(playout_s: float, fresh: int) -> None:
    """One packet is lost, known 4.5 s later. By 7 s one answer is there, of two packets since one is lost three times
    in a hundred; by 11.5 s a second one would be, and once in a thousand times both are lost."""
    on = link(rate_bps=1.2e6, rtt_s=4.0, drops=((5, 1),))
    coding = run(
        live(1, (10 * MSS,), playout_s=playout_s), on, repair=(0.0,), chunks=1, drop_late=True
    ).coding
    assert coding is not None
    assert coding.repair_packets.sum() == fresh


@pytest.mark.parametrize("lost", [1, 2, 4, 6])
def test_the_last_fresh_packets_of_a_block_are_enough_together(lost: int) -> None:
    """Of twenty packets every other one is lost, known one after another, with no time for a second answer: fewer than
    so many of all that answer arrive in 0.3 / 20 of all times, at the share of the last loss, (3 + m) / (100 + 2 m)."""
    drops = tuple((number, 1) for number in range(1, 2 * lost, 2))
    on = link(rate_bps=1.2e6, rtt_s=4.0, drops=drops)
    coded = run(live(1, (20 * MSS,), playout_s=7.0), on, repair=(0.0,), chunks=1, drop_late=True).coding
    assert coded is not None
    assert coded.repair_packets[0] == parts.fresh(lost, (3 + lost) / (100 + 2 * lost), 0.3 / 20)


def test_the_last_fresh_packets_are_for_what_paths_lose_that_are_heard() -> None:
    """One path loses half of 160 packets and is silent from 31.3 s on; the other loses one of 450, later. At the share
    of both, a seventh, two would go for it; one goes, lost once in 180 times."""
    half = tuple((number, 1) for number in range(0, 300, 2))
    silent = link(rate_bps=1.2e6, rtt_s=3.0, drops=half, unannounced_ns=((ns(31.3), ns(1000)),))
    other = link(rate_bps=1.2e6, rtt_s=4.0, drops=((455, 1),))
    objects = live(100, (10 * MSS,), playout_s=7.0)
    coded = run(objects, (other, silent), repair=(0.0,), chunks=1, drop_late=True, congestion="paced").coding
    assert coded is not None
    assert coded.repair_packets[40:].sum() == 1


def test_the_last_fresh_packets_are_no_more_for_a_path_of_which_little_is_heard() -> None:
    """A loss of 900 packets is answered by one. Another path, ten times as quick, was heard of for a few packets, of
    which three in a hundred are taken to be lost: for that share two would go."""
    near = link(rate_bps=1.2e6, rtt_s=4.0, drops=((905, 1),))
    new = link(rate_bps=12e6, rtt_s=4.4, outages_s=((0.0, 91.5),))
    objects = live(100, (10 * MSS,), playout_s=7.0)
    coded = run(objects, (near, new), repair=(0.0,), chunks=1, drop_late=True).coding
    assert coded is not None
    assert coded.repair_packets.sum() == 1


def test_a_block_is_planned_for_the_round_trips_that_are_left_when_it_closes() -> None:
    """The base layer is sent by 2 s, when there is time for two round trips of 4 s until 12.5 s; the forty packets
    above it by 6 s, with time for one: as much repair as where there was one from the start, and more than with two."""
    line, layers = link(rate_bps=120e3, rtt_s=4.0), (10 * MSS, 40 * MSS)
    planned = []
    for playout_s in (11.5, 13.5, 17.5):
        coded = run(live(1, layers, playout_s=playout_s), line, repair=None, chunks=10, drop_late=True).coding
        assert coded is not None
        planned.append(int(coded.planned_packets[1]))
    assert planned[0] == planned[1] >= 4
    assert planned[2] <= 2


def test_who_does_not_plan_again_counts_on_no_fresh_packets_where_a_link_goes_away() -> None:
    """Without reports repair is planned once. In two round trips fresh packets make good what it does not bring, but
    for a link that is called away, if only once the video is over."""
    steady, leaves = (link(rate_bps=1.2e6, rtt_s=2.0, outages_s=away) for away in ((), ((900.0, 901.0),)))
    planned = []
    for congestion in ("open-loop", "paced"):
        for on in (steady, leaves):
            objects = live(40, (10 * MSS,), playout_s=20.0)
            coding = run(
                objects,
                on,
                repair=None,
                chunks=1,
                congestion=congestion,
                drop_late=True,
                parameters=rates(1.2e6),
            ).coding
            assert coding is not None
            planned.append(int(coding.planned_packets[0]))
    open_steady, open_leaves, paced_steady, paced_leaves = planned
    assert open_steady == paced_steady == paced_leaves < 3 <= open_leaves


def test_before_it_was_heard_of_a_path_over_nodes_gets_a_seventh_of_repair_at_most() -> None:
    on = link(rate_bps=1.2e6, rtt_s=8.0)
    way = relayed(on, 1.2e6, 10**7)
    alone, over = (planned_on(one, playout_s=13.2, drop_late=True) for one in (on, way))
    assert alone[0] >= 3 and over[0] == 1  # 1.15 x 10 packets are 11
    # Once 512 packets were heard of, the share of losses is known.
    lossy = relayed(replace(on, loss=Loss("packet", 0.1)), 1.2e6, 10**7)
    longer = live(100, (10 * MSS,), playout_s=13.2)
    coding = run(longer, lossy, repair=None, chunks=1, congestion="paced", drop_late=True).coding
    assert coding is not None
    assert coding.planned_packets[0] == 1 and coding.planned_packets[-8:].min() >= 6


def test_what_is_to_come_is_counted_whole_where_not_all_fits() -> None:
    # 6, 5 and 4 packets a second on a line for 10, until 450 s; a chunk has 300 s. The mission carries 4,480 packets:
    # the base layer of all chunks, and of the next layer nearly all; the highest would take its place.
    objects = live(400, (6 * MSS, 5 * MSS, 4 * MSS), playout_s=300)
    result = run(
        objects, link(rate_bps=10 * 1500 * 8, rtt_s=4.0), repair=(0.0, 0.0, 0.0), chunks=10, drop_late=True,
        duration_s=450, congestion="paced",
    )  # fmt: skip
    there = in_time(result, objects).reshape(400, 3)
    assert there[:, 0].mean() > 0.98
    assert there[:, 1].mean() > 0.85
    assert there[:, 2].mean() < 0.15


def test_with_many_round_trips_a_small_overload_costs_the_highest_layer() -> None:
    # A quarter more than the line carries, and 75 round trips of playout: of the lower layers nothing is late.
    objects = live(400, (6 * MSS, 5 * MSS, 4 * MSS), playout_s=300)
    result = run(
        objects, link(rate_bps=12 * 1500 * 8, rtt_s=4.0), repair=(0.0, 0.0, 0.0), chunks=10, drop_late=True,
        duration_s=450, congestion="paced",
    )  # fmt: skip
    there = in_time(result, objects).reshape(400, 3)
    assert there[:, :2].mean() > 0.99 and there[:, 2].mean() > 0.5


def test_what_is_back_gets_no_more() -> None:
    """The first blocks lose nothing and are known to be there when the losses begin."""
    objects = live(60, (8 * MSS,))
    lost = tuple((number, 1) for number in range(400, 500, 4))
    planned = []
    for drops in (lost, ()):
        channel = link(rate_bps=1.2e6, rtt_s=2.0, drops=drops)
        coding = run(objects, channel, repair=None, chunks=5, congestion="paced").coding
        assert coding is not None
        planned.append(coding.planned_packets)
    assert planned[0][:7].tolist() == planned[1][:7].tolist()
    assert planned[0].sum() > planned[1].sum()


def test_the_same_trial_has_the_same_result() -> None:
    objects = live(100, (4 * MSS, 4 * MSS), playout_s=1.4)
    channel = link(loss=Loss("packet", 0.05))
    first, second = (run(objects, channel, repair=None, chunks=5) for _ in range(2))
    assert first.objects.complete_ns.tolist() == second.objects.complete_ns.tolist()
    assert first.totals == second.totals


@pytest.mark.parametrize(
    ("knobs", "rule"),
    [
        ({"scheduler": "round-robin"}, "minrtt"),
        ({"congestion": "agent"}, "congestion control of its own"),
        ({"receive_buffer_bytes": 10**6}, "receive buffer"),
        ({"lanes_per_link": 2}, "neither lanes"),
        ({"mode": "lanes"}, "handshake"),
        ({"repair": (-0.1,)}, "share"),
        ({"repair": (float("nan"),)}, "share"),
        ({"code": "lt"}, "none of mds, raptorq"),
        ({"place": "here"}, "none of same, other, spread"),
    ],
)
def test_what_makes_no_sense_is_refused(knobs: dict[str, object], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        run(pairs(), link(), **knobs)  # type: ignore[arg-type]


def test_a_block_has_no_more_packets_than_its_code() -> None:
    big = live(1, (65_535 * 100,))
    run(big, link(rate_bps=1e9), mss_bytes=100, repair=(0.0,))
    with pytest.raises(ValueError, match="more packets than its code"):
        run(big, link(rate_bps=1e9), mss_bytes=100, repair=(0.001,))
    with pytest.raises(ValueError, match="more packets than its code"):
        run(big, link(rate_bps=1e9), mss_bytes=100, code="raptorq")  # 56,403 of source at most


def test_where_playout_waits_for_base_layers_the_others_are_there_before_them() -> None:
    # 9 packets a second on a line for 6, a hundredth lost; a chunk is shown once its base layer is there.
    objects = live(120, (3 * MSS, 3 * MSS, 3 * MSS))
    channel = link(rate_bps=6 * 1500 * 8, rtt_s=20.0, loss=Loss("packet", 0.01))
    for congestion in ("open-loop", "paced"):
        done = run(objects, channel, repair=None, chunks=5, drop_late=False, congestion=congestion).objects
        base, *others = (done.complete_ns[objects.layer == layer] for layer in range(3))
        assert np.mean([(other <= base).mean() for other in others]) > 0.95
    # Where nothing waits for its turn the base layer goes at once, behind the other six packets of its chunk.
    done = run(
        objects, link(rate_bps=12 * 1500 * 8, rtt_s=20.0), repair=None, chunks=5, drop_late=False
    ).objects
    assert done.complete_ns[0] / 1e9 == pytest.approx(1 + 10 + 9 / 12, abs=0.1)
