"""Rates that change, under the transports that are given them, codes' frames, acknowledgements and handshakes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dstcc.engine import Coding, EngineResult, Link, Loss, clairvoyant_weight, opening, simulate

from .net import MSS, WIRE, config, link, live, ns, rates, run
from .test_channel_changing import coded, line
from .test_channel_frames import frames
from .test_ltp import blocks

HALF = ((0, 0.5),)


def counted(result: EngineResult) -> dict[str, float]:
    """What the engine counts of a trial."""
    return {name: value for name, value in vars(result.totals).items() if value is not None}


def hidden(*rows: tuple[float, float], **more: object) -> Link:
    """12 Mbit/s, of which the channel leaves a share from each time on, and nobody knows."""
    return link(hidden_t_ns=tuple(ns(t) for t, _ in rows), hidden_share=tuple(s for _, s in rows), **more)  # type: ignore[arg-type]


def up_line(*rows: tuple[float, float], **more: object) -> Link:
    """The acknowledgements' direction has a share of its 12 Mbit/s from each time on."""
    return link(up_rate_t_ns=tuple(ns(t) for t, _ in rows), up_rate_share=tuple(s for _, s in rows), **more)  # type: ignore[arg-type]


def half_link(**more: object) -> Link:
    """Half the rate all along, and all of it for acknowledgements."""
    return link(6e6, up_rate_bps=12e6, up_loss=Loss(), **more)  # type: ignore[arg-type]


def ltp(links: Link | tuple[Link, ...], packets: int = 20, **more: object) -> EngineResult:
    """One block of so many full segments, there at 1 s."""
    return run("ltp", links, objects=live(1, (packets * MSS,)), scheduler="none", **more)


def paced(on: Link, packets: int = 20, **more: object) -> EngineResult:
    """The same under open-loop, coded over packets and without a handshake."""
    made = config(
        "open-loop",
        on,
        objects=live(1, (packets * MSS,)),
        mode="coded",
        handshake=False,
        **more,  # type: ignore[arg-type]
    )
    return simulate(replace(made, coding=Coding(made.objects.chunk, ns(1), ())))


# ------------------------------------------------------------------------------------------- ltp and open-loop


def test_ltp_sends_at_the_rate_that_the_plan_has_then() -> None:
    # 20 packets of 1 ms from 1 s on; from 1.0105 s on the line has half: 10.5 ms of work are done, 9.5 take 19 ms.
    # Light takes 0.5 s. The queue has room for two packets: nothing ever waits for the line.
    done = ltp(replace(line((0, 1.0), (1.0105, 0.5)), queue_bytes=2 * WIRE))
    assert done.objects.complete_ns[0] == pytest.approx(ns(1.0105 + 0.019 + 0.5), abs=2)
    assert done.totals.dropped_queue_packets == done.totals.timeouts == 0


def test_ltp_at_half_the_rate_all_along_is_ltp_on_a_link_of_half_the_rate() -> None:
    for loss in (Loss(), Loss("periodic", 1 / 7)):
        half = ltp(line(*HALF, loss=loss, up_loss=Loss()), 40)
        slow = ltp(half_link(loss=loss), 40)
        assert counted(half) == pytest.approx(counted(slow), rel=1e-6)  # each packet rounds to a nanosecond
        assert half.objects.complete_ns[0] == pytest.approx(slow.objects.complete_ns[0], abs=100)


def test_ltp_is_not_told_what_nobody_announced() -> None:
    # It sends a packet a millisecond, of which the line carries every second one while two wait: of 20 some 9 are
    # dropped, and of the repeats of these some 4.
    on = replace(hidden(*HALF), queue_bytes=2 * WIRE)
    assert 9 <= ltp(on).totals.dropped_queue_packets <= 16
    assert ltp(replace(line(*HALF), queue_bytes=2 * WIRE)).totals.dropped_queue_packets == 0


def test_a_told_rate_is_kept_whatever_the_plan_has() -> None:
    on = replace(line((0, 0.25)), queue_bytes=2 * WIRE)
    for made in (ltp(on, parameters=rates(12e6)), paced(on, parameters=rates(12e6))):
        assert made.totals.dropped_queue_packets > 5
    slow = replace(line((0, 0.25), (2, 1.0)), queue_bytes=2 * WIRE)
    # 20 packets of 1,500 bytes at 1.2 Mbit/s take 0.2 s, before and after the change.
    for made in (ltp(slow, parameters=rates(1.2e6)), paced(slow, parameters=rates(1.2e6))):
        assert made.objects.complete_ns[0] == pytest.approx(ns(1 + 19 * 0.01 + 4e-3 + 0.5), abs=ns(1e-6))


def test_ltp_takes_the_link_that_brings_a_block_there_first_at_the_rates_to_come() -> None:
    # 20 packets from 1 s on: the first link has carried one when it slows to a hundredth, and takes 1.9 s for the
    # others; the second takes 4 ms for each, 80 ms. At its first rate the first link would be done in 20 ms.
    slows = line((0, 1.0), (1.001, 0.01))
    assert ltp((slows, link(3e6))).objects.subflow[0] == 1
    assert ltp((line((0, 1.0)), link(3e6))).objects.subflow[0] == 0
    # One that speeds up again in time is taken.
    recovers = line((0, 1.0), (1.001, 0.01), (1.01, 1.0))
    assert ltp((recovers, link(3e6))).objects.subflow[0] == 0


def test_ltp_waits_for_answers_as_long_as_the_rates_of_their_time_need() -> None:
    # The report has some 56 bytes, which take 37 ms at a thousandth of 12 Mbit/s: more than the margin of 4 ms at full
    # rate.
    done = ltp(up_line((0, 1.0), (1.2, 1e-3)))
    assert done.totals.timeouts == 0
    assert done.totals.retransmitted_payload_bytes == 0


def test_ltp_puts_nothing_into_an_outage_that_it_could_not_finish_at_the_rate_of_then() -> None:
    # At a hundredth a packet takes 100 ms; the link goes down 50 ms after the block is there, until 2 s.
    on = replace(line((0, 0.01)), outages_ns=((ns(1.05), ns(2)),))
    done = ltp(on, 3)
    assert done.totals.lost_channel_packets == 0
    assert done.objects.complete_ns[0] == pytest.approx(ns(2 + 0.3 + 0.5), abs=5)


def test_open_loop_paces_at_the_rate_that_the_plan_has_then() -> None:
    on = replace(line((0, 1.0), (1.0105, 0.5)), queue_bytes=2 * WIRE)
    done = paced(on)
    assert done.totals.dropped_queue_packets == 0
    assert done.objects.complete_ns[0] == pytest.approx(ns(1.0105 + 0.019 + 0.5), abs=20)
    # From a thousandth (a packet a second) to all of it at 1.5 s: the next packet leaves when the line has carried the
    # first, half of which is in the second rate, not a second after it.
    rises = paced(replace(line((0, 1e-3), (1.5, 1.0)), queue_bytes=2 * WIRE))
    assert rises.totals.dropped_queue_packets == 0
    # Of 20 ms of work 0.5 ms are done at 1.5 s.
    assert rises.objects.complete_ns[0] == pytest.approx(ns(1.5 + 0.0195 + 0.5), abs=20)


def test_open_loop_over_tcp_follows_the_plan_as_well() -> None:
    on = replace(line((0, 1.0), (3, 0.1)), queue_bytes=4 * WIRE)
    made = run("open-loop", on, objects=live(8, (400 * MSS,)), duration_s=12.0)
    assert made.totals.dropped_queue_packets == 0
    unaware = run(
        "open-loop",
        replace(hidden((0, 1.0), (3, 0.1)), queue_bytes=4 * WIRE),
        objects=live(8, (400 * MSS,)),
        duration_s=12.0,
    )
    assert unaware.totals.dropped_queue_packets > 100


# ------------------------------------------------------------------------------------- acknowledgements, handshakes


def test_acknowledgements_are_served_at_their_rate() -> None:
    # The report on a block leaves as soon as it is there, at 1.52 s; its 56 bytes take 37 us at 12 Mbit/s, and at a
    # thousandth 37 ms, 37 ms less 37 us more. The second block keeps the run going.
    def round_trip_s(on: Link) -> float:
        made = run("ltp", on, objects=live(2, (20 * MSS,), chunk_s=4), scheduler="none")
        assert made.totals.rtt_samples == 1
        return made.totals.rtt_sum_s

    assert round_trip_s(up_line((0, 1.0))) == round_trip_s(link())
    report_s = (40 + 12 + 3 + 3) * 8 / 12e6
    more_s = round_trip_s(up_line((0, 1e-3))) - round_trip_s(link())
    assert more_s == pytest.approx(999 * report_s, rel=0.1)


def test_a_handshake_begins_where_its_service_fits_at_the_rate_of_then() -> None:
    # A SYN of 40 bytes takes 27 us at 12 Mbit/s and 27 ms at a thousandth: before an outage from 10 ms on only the
    # first fits.
    dark = ((ns(0.01), ns(5)),)
    assert opening(replace(link(), outages_ns=dark, up_outages_ns=())) == 0
    assert opening(replace(line((0, 1e-3)), outages_ns=dark, up_outages_ns=())) == ns(5)
    # Its answer leaves at 0.5 s and would be cut at 0.51 s; the next time it can be answered is 5 s, half a second of
    # light after the SYN's end.
    answers = ((ns(0.51), ns(5)),)
    assert opening(replace(link(), outages_ns=(), up_outages_ns=answers)) == 0
    late = opening(replace(up_line((0, 1e-3)), outages_ns=(), up_outages_ns=answers))
    assert late == pytest.approx(ns(4.5), abs=ns(1e-4))
    both = opening(
        replace(up_line((0, 1e-3)), rate_t_ns=(0,), rate_share=(1e-3,), outages_ns=(), up_outages_ns=answers)
    )
    assert both == pytest.approx(ns(4.5 - 0.0267), abs=ns(1e-4))


# -------------------------------------------------------------------------------------------------- codes' frames


def test_a_slower_line_has_longer_frames_and_loses_the_same_ones() -> None:
    for bits in (1000, 9000, 1):
        curve = (-10.0, 10.0, [0.0, -1.0, -2.0]) if bits > 1 else (-10.0, 10.0, [-3.0, -4.0, -6.0])
        loss = frames(-2.0, bits=bits, curve=curve)
        half, slow = (
            paced(line(*HALF, loss=loss, up_loss=Loss()), 300),
            paced(half_link(loss=loss), 300),
        )
        assert half.totals.lost_channel_packets > 10
        if bits > 1:
            assert counted(half) == pytest.approx(
                counted(slow), rel=1e-6
            )  # each packet rounds to a nanosecond


def test_frames_go_by_the_rate_in_the_middle_of_a_run() -> None:
    # 1,000 bits at 12 Mbit/s: 12 frames a packet. All frames of the second half are erased: those that begin from 1.5 s
    # on, when the rate falls to a quarter. Packets 1 to 500 leave at full rate from 1 s on, one a millisecond.
    loss = frames([10.0, 10.0, -10.0], t_s=[0.0, 1.499999999, 1.5], curve=(-10.0, 10.0, [0.0, -9.0, -12.0]))
    on = line((0, 1.0), (1.5, 0.25), loss=loss, up_loss=Loss())
    made = paced(replace(on, queue_bytes=10**6), 600, duration_s=3.0)
    assert made.totals.arrived_payload_bytes == 500 * MSS
    # The boundary is exact however short the packets before it: one that ends a microsecond later has an erased frame.
    cut = frames(
        [10.0, 10.0, -10.0], t_s=[0.0, 1.499998999, 1.499999], curve=(-10.0, 10.0, [0.0, -9.0, -12.0])
    )
    late = line((0, 1.0), (1.499999, 0.25), loss=cut, up_loss=Loss())
    # The last frame of packet 500 begins at 1.5 s - 1000 / 12e6 s, before the change: it goes by the rate that it began
    # with.
    assert paced(late, 600, duration_s=3.0).totals.arrived_payload_bytes == 500 * MSS


@pytest.mark.parametrize("change_s", [1.2, 1.9, 2.7])
def test_frames_on_either_side_of_a_change_go_by_the_rate_of_theirs(change_s: float) -> None:
    # As above, wherever in its second the change is: a packet a millisecond from 1 s on, those before it arrive.
    cut = frames(
        [10.0, 10.0, -10.0], t_s=[0.0, change_s - 1e-9, change_s], curve=(-10.0, 10.0, [0.0, -9.0, -12.0])
    )
    on = line((0, 1.0), (change_s, 0.25), loss=cut, up_loss=Loss())
    made = paced(replace(on, queue_bytes=10**7), 1800, duration_s=9.0)
    assert made.totals.arrived_payload_bytes == round((change_s - 1) * 1000) * MSS


def test_a_frame_that_a_change_lengthens_goes_by_the_rate_at_which_it_began() -> None:
    # A packet is one frame of 1 ms. That of packet 1001 begins at 2 s, and 0.1 ms later the rate falls to a quarter,
    # and Eb/N0 with it: the frame ends at 2.0037 s, its middle is behind the change.
    cut = frames(
        [10.0, 10.0, -10.0],
        t_s=[0.0, 2.000099999, 2.0001],
        bits=8 * WIRE,
        curve=(-10.0, 10.0, [0.0, -9.0, -12.0]),
    )
    on = line((0, 1.0), (2.0001, 0.25), loss=cut, up_loss=Loss())
    made = paced(replace(on, queue_bytes=10**7), 1100, duration_s=9.0)
    assert made.totals.arrived_payload_bytes == 1001 * MSS


def test_uncoded_bits_go_by_time_whatever_the_rate() -> None:
    # 100 packets at a quarter of the rate, from 1 to 1.4 s. Counted by the line's work, which is four times as slow, or
    # by the time that this would take, Eb/N0 would be that of 0.3 or of 4 s.
    ebn0_db, times_s = [-10.0, -10.0, 10.0, 10.0, -10.0], [0.0, 0.8, 0.800000001, 2.0, 2.000000001]
    loss = frames(ebn0_db, t_s=times_s, bits=1, curve=(-10.0, 10.0, [0.0, -9.0, -12.0]))
    made = paced(line((0, 0.25), loss=loss, up_loss=Loss()), 100, duration_s=3.0)
    assert made.totals.arrived_payload_bytes == 100 * MSS


def test_uncoded_bits_err_as_eb_n0_says_on_each_side_of_a_change() -> None:
    loss = frames(
        [10.0, 10.0, -10.0], t_s=[0.0, 1.499999999, 1.5], bits=1, curve=(-10.0, 10.0, [0.0, -9.0, -12.0])
    )
    made = paced(line((0, 1.0), (1.5, 0.25), loss=loss, up_loss=Loss()), 600, duration_s=3.0)
    assert made.totals.arrived_payload_bytes == 500 * MSS


# ----------------------------------------------------------------------------------------------------- the bound


def test_the_bound_counts_outages_frames_and_states_at_changing_rates() -> None:
    def bound(on: Link) -> float:
        made = config("cubic", on, objects=live(40, (2 * MSS,) * 250, chunk_s=0.1, playout_s=0.8))
        return clairvoyant_weight(made, np.ones(40 * 250))

    dark = ((ns(1.1), ns(1.3)), (ns(2.05), ns(2.9)))
    for more in ({"outages_ns": dark}, {"loss": frames(5.0), "outages_ns": dark}):
        quarter = bound(line((0, 0.25), **more))
        assert quarter == pytest.approx(bound(link(3e6, **more)), rel=0.01)
        assert quarter < 0.5 * bound(link(**more))
        assert bound(hidden((0, 0.25), **more)) == quarter
    assert bound(replace(line((0, 0.5)), hidden_t_ns=(0,), hidden_share=(0.5,))) == bound(line((0, 0.25)))


def test_hidden_and_announced_steps_multiply_at_their_own_times() -> None:
    # All of it until 1.005 s, a half until 1.01 s, a quarter from then on: 5 + 2.5 ms of work are done, 12.5 take
    # 50 ms.
    both = replace(line((0, 1.0), (1.005, 0.5)), hidden_t_ns=(0, ns(1.01)), hidden_share=(1.0, 0.5))
    assert coded(both).objects.complete_ns[0] == pytest.approx(ns(1.01 + 0.05 + 0.5), abs=2)


@pytest.mark.parametrize("way", ["up_rate", "hidden"])
def test_rates_of_every_kind_are_checked(way: str) -> None:
    for rows, rule in ((((1, 1.0),), "begins at 0"), (((0, 0.0),), "1e-6 to 1")):
        made = {f"{way}_t_ns": tuple(ns(t) for t, _ in rows), f"{way}_share": tuple(s for _, s in rows)}
        with pytest.raises(ValueError, match=rule):
            run("ltp", link(**made), duration_s=1, scheduler="none")  # type: ignore[arg-type]


@pytest.mark.parametrize("repair", [(0.2,), None])
def test_blocks_in_matrices_follow_the_plan(repair: tuple[float, ...] | None) -> None:
    # ltp with erasure coding: a matrix takes what the line carries in block_ns, at the rate of then. Where its repair
    # is left to ltp (None), that is the most that source and repair may be.
    loss = Loss("periodic", 1 / 7)

    def made(on: Link) -> EngineResult:
        config_ = config("ltp", on, objects=blocks(30, 10), scheduler="none", slot_s=0.1)
        return simulate(replace(config_, coding=Coding(np.zeros(0, dtype=np.int64), ns(0.05), repair)))

    half, slow = made(line(*HALF, loss=loss, up_loss=Loss())), made(half_link(loss=loss))
    assert counted(half) == pytest.approx(counted(slow), rel=1e-6)  # each packet rounds to a nanosecond
    assert half.totals.repair_payload_bytes > 0


def test_what_ltp_keeps_in_hand_for_a_repeat_is_counted_at_the_rates_of_then() -> None:
    # Until 2 s a segment takes a second: the margin is 2 s, and from then on 2 ms for each way. At 3 s a block of 1,800
    # segments (1.8 s, and 0.5 s of light) is due in 3.7 s, another one much later. A repeat takes a round trip and the
    # margin, 1.004 s, so that the first is to be there within 2.7 s: it goes first. With 2 s more, of which half of
    # what is spare is the most (1.6 s), it would have to be there within 2.1 s, and would wait for the other.
    objects = live(2, (1800 * MSS,), chunk_s=1.0)
    payload = np.array([1800 * MSS, 20 * MSS], dtype=np.int64)
    deadline = np.array([ns(3 + 3.7), ns(30)], dtype=np.int64)
    two = replace(objects, payload_bytes=payload, release_ns=np.full(2, ns(3)), deadline_ns=deadline)
    on = line((0, 1e-3), (2, 1.0))
    done = run("ltp", on, objects=two, scheduler="none", duration_s=40.0).objects.complete_ns
    assert done[0] == pytest.approx(ns(3 + 1.8 + 0.5), abs=ns(0.01))
    assert done[1] > done[0]
