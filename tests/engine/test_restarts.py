"""A sender that restarts (dstcc/engine/restarts.py): what it sends again, what is lost, what arrives all the same.

One link of 100 full packets a second and a light time of 5 s, ``open-loop`` at its rate, and video of 40 packets a
second. A handshake takes 10 s.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dstcc.engine import (
    NEVER_NS,
    CodedStepper,
    Coding,
    EngineConfig,
    EngineResult,
    Flow,
    Loss,
    Objects,
    Restarts,
    Stepper,
    Transport,
    simulate,
)
from dstcc.engine.restarts import with_restarts
from tests.engine.net import MSS, QUICK_ACK, WIRE, S, bulk, link, live, ns

PACKETS = 40
RATE_BPS = 100 * 8 * WIRE


def config(
    *, restart_s: tuple[float, ...] = (49.9,), boot_s: float = 7.0, spool: bool = True, **more: object
) -> EngineConfig:
    transport = {
        "congestion": "open-loop",
        "scheduler": "minrtt",
        "constants": QUICK_ACK,
        "drop_late": False,
        **{name: more.pop(name) for name in list(more) if name in Transport.__dataclass_fields__},
    }
    fields: dict[str, object] = {
        "seed": 1,
        "links": (link(RATE_BPS, 10.0, queue_bdp=3),),
        "transport": Transport(**transport),  # type: ignore[arg-type]
        "objects": live(80, (PACKETS * MSS,)),
        "slot_ns": S,
        "restarts": Restarts(tuple(map(ns, restart_s)), ns(boot_s), spool),
    }
    return EngineConfig(**(fields | more))  # type: ignore[arg-type]


def again(result: EngineResult) -> float:
    """Packets sent more than once."""
    return result.totals.retransmitted_payload_bytes / MSS


# Chunk k is captured at k + 1 s and sent by k + 1.4 s; its last ACK comes at k + 11.4 s. At 49.9 s those up to k = 38
# are acknowledged, and 39 to 48 are under way. A connection stands again at 49.9 + 7 + 10 s and sends the ten first.


def test_with_a_spool_what_is_not_acknowledged_goes_again_and_nothing_else() -> None:
    result = simulate(config())
    assert (result.objects.complete_ns >= 0).all() and not result.objects.given_up.any()
    assert result.end_ns == result.objects.complete_ns.max()
    repeated = np.zeros(80)
    repeated[39:49] = PACKETS
    assert result.objects.retransmissions.tolist() == repeated.tolist()
    assert (result.objects.sent_bytes / MSS).tolist() == (PACKETS + repeated).tolist()
    assert again(result) == 10 * PACKETS
    assert result.totals.sent_payload_bytes == (80 + 10) * PACKETS * MSS
    assert result.objects.subflow.tolist() == [0] * 80


def test_what_is_under_way_at_a_restart_arrives_and_is_played_when_it_does() -> None:
    complete_s = simulate(config()).objects.complete_ns / S
    assert complete_s[39:49] == pytest.approx(np.arange(39, 49) + 1.4 + 5, abs=0.2)
    # The next one waited for the boot, a handshake, and the 400 packets before it.
    assert complete_s[49] == pytest.approx(49.9 + 7 + 10 + 4.4 + 5, abs=0.2)


def test_without_a_spool_what_is_not_under_way_is_lost() -> None:
    result = simulate(config(spool=False))
    lost = np.flatnonzero(result.objects.given_up)
    assert lost.tolist() == list(range(49, 56))  # captured at 50 to 56 s, while it booted
    assert (result.objects.complete_ns[lost] == -1).all() and (result.objects.sent_bytes[lost] == 0).all()
    assert (np.delete(result.objects.complete_ns, lost) >= 0).all()
    assert again(result) == 0


@pytest.mark.parametrize("restart_s", [(5.0,), (49.9, 60.0)])
def test_a_connection_that_sent_nothing_says_nothing_of_the_queue(restart_s: tuple[float, ...]) -> None:
    """A handshake takes 10 s: the first or the second connection ends before its first packet."""
    fixed = {"fixed": {"cwnd_segments": (2_000,)}}
    totals = simulate(
        config(restart_s=restart_s, congestion="fixed", parameters=fixed, objects=bulk(5_000 * MSS))
    ).totals
    assert totals.queue_p95_s == pytest.approx(10, abs=0.1)  # 1,000 packets beyond what a round trip takes
    assert totals.first_send_s == pytest.approx(5 + 7 + 10 if restart_s == (5.0,) else 10.0, abs=0.1)


def test_a_sender_that_is_not_up_again_before_the_end_gives_nothing_up() -> None:
    ended = simulate(config(restart_s=(50.0,), boot_s=10.0, spool=False, duration_ns=60 * S))
    assert not ended.objects.given_up.any()
    up_again = simulate(config(restart_s=(50.0,), boot_s=10.0, spool=False, duration_ns=61 * S))
    assert np.flatnonzero(up_again.objects.given_up).tolist() == list(range(49, 59))  # captured at 50 to 59 s


def test_what_was_before_a_restart_is_as_it_would_have_been() -> None:
    """With an outage that nobody announced, and a loss."""
    lossy = link(RATE_BPS, 10.0, queue_bdp=3, drops=((3, 1),), unannounced_ns=((20 * S, 22 * S),))
    made = config(links=(lossy,))
    once, restarted = simulate(replace(made, restarts=None)).objects, simulate(made).objects
    assert restarted.complete_ns[:30].tolist() == once.complete_ns[:30].tolist()
    assert once.complete_ns[20] > 24 * S + 5 * S  # lost in the outage
    assert restarted.retransmissions[:30].tolist() == once.retransmissions[:30].tolist()


def test_repeats_of_a_connection_and_of_the_next_one_are_added() -> None:
    result = simulate(config(links=(link(RATE_BPS, 10.0, queue_bdp=3, drops=((3, 1),)),)))
    assert result.objects.retransmissions[0] == 1
    assert result.totals.retransmitted_payload_bytes == result.objects.retransmissions.sum() * MSS


def test_a_layer_keeps_the_link_it_left_by_first() -> None:
    """At 68 s the second connection has sent a few of the ten chunks that it sends again."""
    subflow = simulate(config(duration_ns=68 * S)).objects.subflow
    assert subflow[:49].tolist() == [0] * 49 and subflow[60:].tolist() == [-1] * 20


def test_what_waits_in_the_queue_at_a_restart_never_leaves() -> None:
    # A window of two bandwidth-delay products keeps 1,000 packets in the queue. From 10 s to 30 s 2,000 left.
    fixed = {"fixed": {"cwnd_segments": (2_000,)}}
    lost = simulate(
        config(congestion="fixed", parameters=fixed, objects=bulk(10**7), restart_s=(30.0,), spool=False)
    )
    assert lost.objects.delivered_bytes[0] / MSS == pytest.approx(2_000, abs=3)
    assert lost.objects.given_up[0] == 1
    assert lost.totals.delivered_payload_bytes == lost.objects.delivered_bytes[0]


def test_a_layer_goes_on_where_its_acknowledged_bytes_end() -> None:
    # Of 2,000 packets sent from 10 to 30 s the first thousand are acknowledged.
    result = simulate(config(objects=bulk(5_000 * MSS), restart_s=(30.0,)))
    assert again(result) == pytest.approx(1_000, abs=3)
    assert result.objects.delivered_bytes[0] == 5_000 * MSS
    # Boot, handshake, 4,000 packets, light.
    assert result.objects.complete_ns[0] / S == pytest.approx(30 + 7 + 10 + 40 + 5, abs=0.5)


@pytest.mark.parametrize(
    ("mode", "lanes", "known"), [("stream", 1, [200, 0, 0, 0]), ("lanes", 4, [200, 0, 200, 100])]
)
def test_what_is_acknowledged_beyond_a_gap_goes_with_the_connection(
    mode: str, lanes: int, known: list[int]
) -> None:
    """The program reads from its socket what was handed on in order: in one stream nothing behind a gap, on lanes what
    the others have."""
    # Four layers of 200 packets from 10 s on; packet 200 never arrives. What left by 17 s is acknowledged by 27 s.
    stubborn = link(RATE_BPS, 10.0, drops=((200, 1_000),))
    sizes = [200 * MSS] * 4
    made = Objects(*(np.array(column) for column in ([0, 1, 2, 3], [0] * 4, sizes, [0] * 4, [NEVER_NS] * 4)))
    of = config(mode=mode, lanes_per_link=lanes, objects=made, links=(stubborn,), duration_ns=27 * S)
    ledger = simulate(replace(of, restarts=None, ledger=True)).ledger
    assert ledger is not None
    assert (ledger.acknowledged_bytes / MSS).tolist() == pytest.approx(known, abs=3)


def test_copies_count_once() -> None:
    """``redundant`` sends everything over both links; the slower one's ACKs say what is known already."""
    links = (link(RATE_BPS, 10.0), link(RATE_BPS, 14.0, name="slower"))
    made = config(links=links, scheduler="redundant", congestion="fixed", objects=live(60, (10 * MSS,)))
    # Captured by 39 s: sent within a tenth of a second, acknowledged ten later. The slower link's first copies are
    # acknowledged at 58 s; what the other link acknowledges after that counts all the same.
    for until_s in (49.9, 59.9):
        ledger = simulate(replace(made, restarts=None, ledger=True, duration_ns=ns(until_s))).ledger
        assert ledger is not None
        known, begun = int(until_s - 10), int(until_s)
        assert ledger.acknowledged_bytes.tolist() == [10 * MSS] * known + [0] * (60 - known)
        assert ledger.begun_bytes.tolist() == [10 * MSS] * begun + [0] * (60 - begun)


def test_what_fills_a_gap_sets_others_free() -> None:
    """Each layer has its own bytes, whichever segment's ACK lets them count."""
    sizes, releases = [9 * MSS, 5 * MSS, MSS], [0, 0, 90 * S]
    made = Objects(*(np.array(column) for column in ([0, 1, 2], [0] * 3, sizes, releases, [NEVER_NS] * 3)))
    of = config(objects=made, links=(link(RATE_BPS, 10.0, drops=((3, 1),)),))
    for until_s, known in ((20.5, [3, 0, 0]), (60, [9, 5, 0])):
        ledger = simulate(replace(of, restarts=None, ledger=True, duration_ns=ns(until_s))).ledger
        assert ledger is not None
        assert (ledger.acknowledged_bytes / MSS).tolist() == known
        assert (ledger.begun_bytes / MSS).tolist() == [9, 5, 0]


def test_ltp_takes_up_what_reports_did_not_claim() -> None:
    # 1,000 packets from 0 s on, a tenth lost: the report is there by 20.1 s, and repairs are done by 21.2 s.
    sizes, releases = [1_000 * MSS, MSS], [0, 200 * S]
    made = config(
        congestion="ltp",
        scheduler="none",
        links=(link(RATE_BPS, 10.0, loss=Loss("packet", rate=0.1)),),
        objects=Objects(*(np.array(column) for column in ([0, 1], [0, 0], sizes, releases, [NEVER_NS] * 2))),
        restart_s=(20.5,),
    )
    known = []
    for until_s in (20.3, 190):
        ledger = simulate(replace(made, restarts=None, duration_ns=ns(until_s), ledger=True)).ledger
        assert ledger is not None
        assert ledger.begun_bytes.tolist() == [1_000 * MSS, 0]
        known.append(ledger.acknowledged_bytes[0] / MSS)
    lost = 1_000 - known[0]
    assert 70 < lost < 130
    assert known[1] == 1_000
    result = simulate(made)
    assert result.objects.first_sent_ns[0] == 0
    assert result.objects.complete_ns[0] > 0 and result.objects.delivered_bytes[0] == 1_000 * MSS
    # Those that were lost go again: some in the half second before the restart, all after it, some of these twice.
    assert lost <= again(result) <= lost + 50 + 0.3 * lost


def test_ltp_without_a_spool_loses_what_it_did_not_send() -> None:
    result = simulate(config(congestion="ltp", scheduler="none", spool=False))
    assert np.flatnonzero(result.objects.given_up).tolist() == list(range(49, 56))
    assert again(result) == 0
    # No handshake: what is captured after the boot is there 5.4 s later.
    assert result.objects.complete_ns[56] / S == pytest.approx(57 + 5.4, abs=0.1)


def test_the_sender_is_silent_from_the_restart_to_the_end_of_its_handshake() -> None:
    samples = simulate(config()).samples
    assert sorted(set(samples.t_ns.tolist())) == samples.t_ns.tolist()  # each slot once
    quiet = (samples.t_ns > 50 * S) & (samples.t_ns <= 66 * S)
    assert samples.sent_segments[quiet].sum() == 0 and (samples.srtt_ns[quiet] == 0).all()
    assert samples.sent_segments[samples.t_ns == 68 * S][0] > 0


def test_a_window_begins_anew() -> None:
    made = config(congestion="newreno", objects=bulk(10**8), restart_s=(95.0,), duration_ns=130 * S)
    samples = simulate(made).samples
    at = {int(t) // S: int(cwnd) for t, cwnd in zip(samples.t_ns, samples.cwnd_segments, strict=True)}
    assert at[94] > 500  # eight round trips of slow start
    assert at[113] == 10


def test_each_restart_repeats_what_was_under_way_at_it() -> None:
    # At 49.9 s ten chunks are. From 66.9 s on they go first, at 100 packets a second: 310 by 70 s, none of which is
    # acknowledged then. From 87 s on all go once more, and 310 of them a third time.
    result = simulate(config(restart_s=(49.9, 70.0)))
    assert again(result) == pytest.approx(310 + 400, abs=3)
    assert result.objects.retransmissions[39] == 2 * PACKETS
    assert (result.objects.complete_ns >= 0).all()


def test_each_run_of_the_engine_counts_its_events() -> None:
    """Two connections, and the first once more with links that fall dark as it ends."""
    events: list[int] = []

    def run(one: EngineConfig) -> EngineResult:
        result = simulate(one)
        events.append(result.totals.events)
        return result

    assert with_restarts(config(), run).totals.events == sum(events) and len(events) == 3
    events.clear()
    assert (
        with_restarts(config(restart_s=(49.9, 80.0)), run).totals.events == sum(events) and len(events) == 5
    )


def test_a_log_has_what_a_sender_did_until_its_restart_and_what_became_of_that() -> None:
    """Its last packets arrive 5 s after the restart; what it would have sent then is in no log."""
    first, second = simulate(config(trace=True)).connections
    of_receiver = np.isin(first.trace.event, (1, 2))
    assert first.trace.t_ns[~of_receiver].max() <= ns(49.9) < first.trace.t_ns[of_receiver].max()
    assert first.trace.t_ns[of_receiver].max() == ns(49.4 + 5)
    assert second.trace.t_ns.min() >= ns(49.9 + 7)
    assert second.trace.t_ns.max() > ns(80) and not np.isin(second.trace.event, (1, 2)).all()
    for trace in (first.trace, second.trace):
        assert len({len(getattr(trace, name)) for name in ("t_ns", "event", "sender")}) == 1


def test_ranges_of_a_cut_log_are_of_its_acknowledgements() -> None:
    for connection in simulate(config(trace=True, **CODED)).connections:
        trace = connection.trace
        assert len(trace.range_row) == len(trace.ranges) > 40
        assert np.isin(trace.event[trace.range_row], (2, 3)).all() and (np.diff(trace.range_row) >= 0).all()
        assert (trace.ranges[:, 0] < trace.ranges[:, 1]).all()
        # one that arrived names what it named when it was sent, and was sent 5 s before
        sent, came = (np.flatnonzero(trace.event == event) for event in (2, 3))
        named = {row: trace.ranges[trace.range_row == row].tolist() for row in (sent[7], came[7])}
        assert named[sent[7]] == named[came[7]]
        assert trace.t_ns[came[7]] - trace.t_ns[sent[7]] == pytest.approx(ns(5), abs=ns(0.01))


def test_a_restart_after_the_end_changes_nothing() -> None:
    made = config(restart_s=(500.0,))
    with_, without = simulate(made), simulate(replace(made, restarts=None))
    assert with_.end_ns == without.end_ns and with_.totals == without.totals
    assert (with_.objects.complete_ns == without.objects.complete_ns).all()


# Coded packets without a handshake: chunk k is acknowledged by k + 11.4 s, with its tenth of repair by k + 11.5 s.
CODED: dict[str, Any] = {"mode": "coded", "handshake": False, "coding": Coding(np.arange(80), S, (0.1,))}


def test_coded_layers_that_do_not_arrive_are_coded_and_sent_anew() -> None:
    """All that leaves from 38.9 s on is lost."""
    dark = link(RATE_BPS, 10.0, queue_bdp=3, unannounced_ns=((ns(38.9), ns(50.0)),))
    result = simulate(config(links=(dark,), **CODED))
    assert (result.objects.complete_ns >= 0).all() and not result.objects.given_up.any()
    repeated = np.zeros(80)
    repeated[38:49] = PACKETS
    assert result.objects.retransmissions.tolist() == repeated.tolist()
    assert (result.objects.sent_bytes / MSS).tolist() == (PACKETS + repeated).tolist()
    complete_s = result.objects.complete_ns / S
    assert complete_s[49] == pytest.approx(49.9 + 7 + 0.4 + 5, abs=0.2)  # not behind the others


def test_coded_layers_without_a_spool_are_lost_with_what_is_captured_while_it_boots() -> None:
    result = simulate(config(spool=False, **CODED))
    assert np.flatnonzero(result.objects.given_up).tolist() == list(range(49, 56))
    assert again(result) == 0


def test_rows_of_blocks_are_those_of_one_connection_after_another() -> None:
    result = simulate(config(**CODED))
    coding = result.coding
    assert coding is not None
    assert (
        len(coding.source_packets) == 80 + 41
    )  # the second has those that the first could not know to be there
    assert coding.block.tolist() == [*range(39), *range(80, 121)]
    assert coding.source_packets[:80].tolist() == [PACKETS] * 49 + [0] * 31
    assert (coding.source_packets[80:] == [0] * 10 + [PACKETS] * 31).all()
    assert coding.whole[coding.source_packets > 0].all()
    assert result.totals.repair_payload_bytes == coding.repair_bytes.sum()
    assert result.totals.delivered_payload_bytes == result.objects.delivered_bytes.sum()


def test_a_layer_that_its_block_brought_back_is_acknowledged() -> None:
    """A packet of chunk 30 never arrives, and a packet of repair stands for it: that is not sent again."""
    lossy = link(RATE_BPS, 10.0, queue_bdp=3, drops=((30 * 44 + 3, 1),))
    result = simulate(config(links=(lossy,), **CODED))
    assert result.coding is not None and result.coding.recovered[30] == 1
    assert result.objects.retransmissions[30] == 0


def test_matrices_of_ltp_end_with_their_connection() -> None:
    none = np.zeros(0, dtype=np.int64)
    made = config(congestion="ltp", scheduler="none", coding=Coding(none, S, (0.1,)))
    result = simulate(made)
    assert (result.objects.complete_ns >= 0).all()
    assert again(result) == pytest.approx(10 * PACKETS, abs=PACKETS)
    coding = result.coding
    assert coding is not None and coding.block.max() == len(coding.source_packets) - 1
    assert result.totals.repair_payload_bytes == coding.repair_bytes.sum()
    assert coding.state is not None and len(coding.state) == len(coding.source_packets)


def test_the_duration_may_end_while_it_boots() -> None:
    result = simulate(config(duration_ns=55 * S))
    assert result.objects.complete_ns.max() <= 55 * S
    assert again(result) == 0


def test_what_builds_on_a_layer_that_is_given_up_goes_with_it() -> None:
    # Base layers are due 9 s after their capture, the others 60 s: when it is up again the older base layers are late.
    objects = live(80, (PACKETS // 2 * MSS, PACKETS // 2 * MSS), playout_s=60)
    objects.deadline_ns[objects.layer == 0] = objects.release_ns[objects.layer == 0] + 9 * S
    result = simulate(config(objects=objects, drop_late=True, spool=True))
    base, upper = (result.objects.given_up[objects.layer == layer] for layer in (0, 1))
    assert base[50:57].all() and upper[50:57].all()


def test_what_is_not_modelled_is_refused() -> None:
    for more, rule in (
        ({"links": (link(), link(flows=(Flow(),), name="other"))}, "background flows"),
        (
            {"congestion": "ltp", "scheduler": "none", "parameters": {"ltp": {"green_from_layer": (1,)}}},
            "green",
        ),
    ):
        with pytest.raises(ValueError, match=f"restarts: .*{rule}"):
            simulate(config(**more))
    with pytest.raises(ValueError, match="one connection"):
        Stepper(1, 1, 1).load(0, config())
    with pytest.raises(ValueError, match="restarts"):
        CodedStepper(1, 1, 1).load(0, config())


def test_a_connection_that_ends_with_the_restart_but_for_rounding_is_not_over() -> None:
    """In time that is scaled by 7, 49.9 s is no whole number of nanoseconds."""
    made = config()
    made = replace(made, transport=replace(made.transport, scale=7.0))

    def rounded(one: EngineConfig) -> EngineResult:
        result = simulate(one)
        return replace(result, end_ns=result.end_ns // 7 * 7)

    assert made.restarts is not None and made.restarts.at_ns[0] % 7 > 0
    assert (with_restarts(made, rounded).objects.complete_ns >= 0).all()
