"""Background flows: other people's TCP connections, and their datagrams, on a shared link."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstcc.engine import (
    AGENT,
    CONGESTION_NAMES,
    CrossTraffic,
    EngineConfig,
    Flow,
    FlowResult,
    Link,
    Loss,
    Stepper,
    simulate,
)
from dstcc.engine.config import AGENT_LATE
from dstcc.engine.stepper import FLOW_VALUES, ONE_Q16, SUBFLOW_VALUES
from tests.sampling import examples

from . import net

CLOSED = ("newreno", "cubic", "westwood")


@pytest.mark.parametrize("congestion", CLOSED)
def test_equals_share_equally(congestion: str) -> None:
    shares = net.shares_bps(net.sharing(congestion, rivals=("same",)))
    assert net.jain(shares) >= 0.95
    # and leave no room: 10 Mbit/s less headers, 1460 of 1500 bytes
    assert sum(shares) >= 0.95 * 10e6 * net.MSS / net.WIRE


@pytest.mark.parametrize("flows", [2, 4, 8])
def test_the_pbq_experiment_shares_ten_megabits(flows: int) -> None:
    # 10 Mbit/s, 100 ms, 75 kB of queue: 2 to 8 flows of the algorithm under test.
    shared = net.link(10e6, 0.1, flows=(Flow(),) * (flows - 1), queue_bytes=75_000)
    shares = net.shares_bps(net.run("newreno", shared, duration_s=300))
    assert len(shares) == flows
    assert net.jain(shares) >= 0.95
    assert sum(shares) == pytest.approx(10e6 * net.MSS / net.WIRE, rel=0.05)


def test_uncoupled_subflows_take_a_share_each() -> None:
    # Two NewReno subflows beside one NewReno flow: two thirds. (What coupled controls are there to prevent.)
    ours, other = net.shares_bps(net.sharing("newreno", subflows=2))
    assert ours / (ours + other) == pytest.approx(2 / 3, abs=0.05)


def test_a_flow_is_alone_with_the_link_before_and_after() -> None:
    # From second 20 to 40 two share; a stopped flow leaves within a few round trips.
    shared = net.link(10e6, 0.1, flows=(Flow("newreno", start_ns=net.ns(20), stop_ns=net.ns(40)),))
    result = net.run("newreno", shared, duration_s=60, slot_s=1)
    flow = result.flows[0]
    second = np.arange(1, len(flow.slot_delivered_bytes) + 1)  # the slot ends there
    assert flow.slot_delivered_bytes[second <= 20].sum() == 0
    assert flow.slot_delivered_bytes[(second > 25) & (second <= 40)].min() > 0
    assert flow.slot_delivered_bytes[second > 42].sum() == 0
    full = 10e6 * net.MSS / net.WIRE / 8
    together = result.samples.delivered_bytes + flow.slot_delivered_bytes
    assert together[(second > 5) & (second < 60)].mean() > 0.95 * full


def test_a_flow_of_so_many_bytes_completes() -> None:
    shared = net.link(10e6, 0.1, loss=Loss("packet", 0.01), flows=(Flow("cubic", payload_bytes=1_000_001),))
    flow = net.run("cubic", shared, duration_s=60).flows[0]
    assert flow.delivered_bytes == 1_000_001
    assert flow.sent_bytes == 1_000_001 + flow.retransmitted_bytes
    # 685 packets of which each is lost with 1 %; alone the line would take 0.8 s, the handshake and the way 0.15 s.
    assert net.ns(0.95) < flow.complete_ns < net.ns(60)


def test_a_flow_carries_what_its_application_writes() -> None:
    # 1 Mbit/s on the wire, on half the time, on a link with room: 30 s worth in 60 s.
    half = CrossTraffic(1e6, on_ns=net.ns(0.5), off_ns=net.ns(0.5))
    shared = net.link(10e6, 0.1, flows=(Flow("newreno", source=half),))
    flow = net.run("fixed", shared, duration_s=60, parameters=net.windows(10)).flows[0]
    assert flow.delivered_bytes * 8 / 60 == pytest.approx(0.5e6 * net.MSS / net.WIRE, rel=0.02)
    assert flow.lost_segments == 0


def test_acknowledgements_share_the_other_direction() -> None:
    # 8 senders' ACKs over a return channel that carries a tenth of what the data's line would call for at an ACK per
    # two segments: data flows at a tenth, or at half of that where packets come too far apart to be answered in pairs.
    rate = 10e6
    acks = rate / (net.WIRE * 8) / 2 * 40 * 8
    shared = net.link(rate, 0.1, up_rate_bps=acks / 10, flows=(Flow("fixed"),) * 7)
    shares = net.shares_bps(net.run("fixed", shared, duration_s=60, parameters=net.windows(11)))
    assert 0.045 * rate <= sum(shares) <= 0.1 * rate


def test_flows_do_not_touch_the_channel_of_others() -> None:
    # A flow on link 1 changes nothing on link 0, where layer 0 is pinned.
    def first(flows: tuple[Flow, ...]) -> np.ndarray:
        left = net.link(2e6, 0.2, loss=Loss("packet", 0.02))
        right = net.link(2e6, 0.2, loss=Loss("packet", 0.02), flows=flows)
        objects = net.live(30, (20_000, 20_000))
        result = net.run(
            "fixed",
            (left, right),
            objects=objects,
            scheduler="layer-pinned",
            mode="lanes",
            layer_links=(0, 1),
        )
        return result.objects.complete_ns[::2]

    np.testing.assert_array_equal(first(()), first((Flow("newreno"),)))


def on_and_off(result_bytes: np.ndarray) -> tuple[float, float]:
    """Mean lengths of runs of non-zero and of zero entries."""
    busy = result_bytes > 0
    edges = np.flatnonzero(np.diff(busy.astype(np.int8)))
    runs, first = np.diff(edges), busy[edges[0] + 1]
    return runs[0 if first else 1 :: 2].mean(), runs[1 if first else 0 :: 2].mean()


@pytest.mark.parametrize("periods", ["exponential", "pareto"])
def test_random_periods_have_their_means(periods: str) -> None:
    # Datagrams at the line's rate in on periods of mean 1 s, off periods of mean 3 s: a quarter of the line is gone,
    # and what is seen through an application's writes has those means.
    source = CrossTraffic(1e6, on_ns=net.ns(1), off_ns=net.ns(3), periods=periods, pareto_shape=2.5)
    shared = net.link(100e6, 0.001, queue_bytes=10**6, flows=(Flow("fixed", source=source),))
    objects = net.live(1, (1,), chunk_s=40_000)
    flow = net.run("fixed", shared, objects=objects, slot_s=0.05, duration_s=40_000).flows[0]
    assert flow.delivered_bytes * 8 / 40_000 == pytest.approx(0.25e6 * net.MSS / net.WIRE, rel=0.05)
    on, off = on_and_off(flow.slot_delivered_bytes)
    assert on * 0.05 == pytest.approx(1.05, rel=0.1)  # a slot that is touched at all counts
    assert off * 0.05 == pytest.approx(2.95, rel=0.1)


def test_random_periods_are_the_seeds_and_each_sources_own() -> None:
    source = CrossTraffic(5e6, on_ns=net.ns(0.5), off_ns=net.ns(0.5), periods="pareto")
    shared = net.link(10e6, 0.1, flows=(Flow("newreno", source=source), Flow("newreno", source=source)))

    def written(seed: int) -> list[int]:
        return [
            flow.sent_bytes - flow.retransmitted_bytes
            for flow in net.run("newreno", shared, seed=seed, duration_s=30).flows
        ]

    assert written(1) == written(1)
    assert len({*written(1), *written(2)}) == 4


def test_n_datagram_sources_take_their_shares() -> None:
    # Four of 2 Mbit/s each on 12 Mbit/s leave a third; the window's other two thirds wait in the queue.
    shared = net.link(12e6, 0.1, queue_bdp=4, cross_traffic=(CrossTraffic(2e6),) * 4)
    assert net.utilisation(net.run("fixed", shared, duration_s=60), 12e6) == pytest.approx(1 / 3, abs=0.02)


def test_links_with_several_subflows_join_them_all() -> None:
    result = net.run("cubic", (net.link(4e6, 0.1, subflows=2), net.link(2e6, 0.2, subflows=3)), duration_s=60)
    carried = np.bincount(result.samples.subflow, result.samples.delivered_bytes)
    assert len(carried) == 5
    assert (carried > 0).all()
    assert 8 * carried[:2].sum() / 60 == pytest.approx(4e6 * net.MSS / net.WIRE, rel=0.05)
    assert 8 * carried[2:].sum() / 60 == pytest.approx(2e6 * net.MSS / net.WIRE, rel=0.05)


@pytest.mark.parametrize("congestion", ["fixed", "open-loop"])
def test_subflows_divide_what_one_would_be_told(congestion: str) -> None:
    # Three times a third of the rate (or of the BDP) fills the line and no queue.
    result = net.run(congestion, net.link(12e6, 0.5, subflows=3, queue_bdp=3), duration_s=60)
    assert net.utilisation(result, 12e6) == pytest.approx(1, abs=0.02)
    assert result.totals.queue_p95_s < 0.03


def test_rules_of_sharing() -> None:
    with pytest.raises(ValueError, match="1 to 128 subflows"):
        net.run("cubic", (net.link(subflows=128), net.link()))
    with pytest.raises(ValueError, match="layer_links need one subflow"):
        net.run("cubic", net.link(subflows=2), scheduler="layer-pinned", layer_links=(0,))
    with pytest.raises(ValueError, match="stops after it starts"):
        net.run("cubic", net.link(flows=(Flow("cubic", start_ns=5, stop_ns=5),)))
    with pytest.raises(ValueError, match="unknown congestion control 'reno'"):
        net.run("cubic", net.link(flows=(Flow("reno"),)))
    with pytest.raises(ValueError, match="shapes above 1"):
        net.run("cubic", net.link(cross_traffic=(CrossTraffic(1e6, periods="pareto", pareto_shape=1.0),)))
    with pytest.raises(ValueError, match="'weibull' is none of constant, exponential, pareto"):
        net.run("cubic", net.link(cross_traffic=(CrossTraffic(1e6, periods="weibull"),)))


def sources() -> st.SearchStrategy[CrossTraffic]:
    return st.builds(
        CrossTraffic,
        rate_bps=st.floats(1e3, 5e6),
        packet_bytes=st.integers(29, 1500),
        start_ns=st.integers(0, 20 * net.S),
        stop_ns=st.integers(20 * net.S, 60 * net.S),
        on_ns=st.integers(net.S // 100, 10 * net.S),
        off_ns=st.integers(0, 10 * net.S),
        periods=st.sampled_from(["constant", "exponential", "pareto"]),
        pareto_shape=st.floats(1.05, 3),
    )


flows = st.builds(
    Flow,
    congestion=st.sampled_from(["same", *CONGESTION_NAMES]),
    start_ns=st.integers(0, 20 * net.S),
    stop_ns=st.integers(20 * net.S + 1, 80 * net.S),
    payload_bytes=st.one_of(st.just(0), st.integers(1, 3_000_000)),
    source=st.one_of(st.none(), sources()),
)


@st.composite
def crowded(draw: st.DrawFn) -> EngineConfig:
    def link(count: int) -> Link:
        rate = draw(st.sampled_from([2e5, 2e6, 2e7]))
        return net.link(
            rate,
            draw(st.floats(0.01, 2)),
            queue_bdp=draw(st.sampled_from([0.05, 1.0, 5.0])),
            loss=draw(st.sampled_from([None, Loss("packet", 0.01), Loss("packet", 0.2)])),
            up_rate_bps=rate * draw(st.sampled_from([0.05, 1.0])),
            up_queue_bytes=draw(st.sampled_from([5_000, 10**7])),
            outages_s=draw(st.sampled_from([(), ((5.0, 15.0),)])),
            cross_traffic=tuple(draw(st.lists(sources(), max_size=2))),
            subflows=count,
            flows=tuple(draw(st.lists(flows, max_size=4))),
        )

    links = tuple(link(draw(st.integers(1, 3))) for _ in range(draw(st.integers(1, 2))))
    config = net.config(
        draw(st.sampled_from(CONGESTION_NAMES)),
        links,
        objects=net.live(20, (20_000, 10_000), playout_s=draw(st.sampled_from([None, 5.0]))),
        scheduler=draw(st.sampled_from(["minrtt", "round-robin", "redundant", "layer-pinned"])),
        mode=draw(st.sampled_from(["stream", "lanes"])),
        duration_s=draw(st.floats(10, 100)),
        slot_s=1.0,
        seed=draw(st.integers(0, 10**6)),
    )
    return config


@given(crowded())
@examples(80)
def test_every_crowd_keeps_the_books(config: EngineConfig) -> None:
    result = simulate(config)
    given_flows = [flow for link in config.links for flow in link.flows]
    assert len(result.flows) == len(given_flows)
    for asked, flow in zip(given_flows, result.flows, strict=True):
        assert flow.delivered_bytes + flow.retransmitted_bytes <= flow.sent_bytes
        assert flow.slot_delivered_bytes.sum() <= flow.delivered_bytes
        if asked.payload_bytes:
            assert flow.delivered_bytes <= asked.payload_bytes
            assert (flow.complete_ns >= 0) == (flow.delivered_bytes == asked.payload_bytes)
        slots = net.ns(1.0) * np.arange(1, len(flow.slot_sent_segments) + 1)
        assert flow.slot_sent_segments[slots <= asked.start_ns].sum() == 0
    totals = result.totals
    assert totals.sent_payload_bytes == result.objects.sent_bytes.sum()
    assert totals.delivered_payload_bytes == result.objects.delivered_bytes.sum()


@given(crowded())
@examples(20)
def test_the_same_crowd_gives_the_same_bytes(config: EngineConfig) -> None:
    first, second = simulate(config), simulate(config)
    np.testing.assert_equal(dataclasses.asdict(first), dataclasses.asdict(second))


# ------------------------------------------------------------------------------ flows of the controller under test


def steered(*given: Flow, scheduler: str = AGENT, slot_s: float = 1.0, **more: object) -> Stepper:
    """A trial under an agent with such flows on a link of 12 Mbit/s and 1 s, a row for each that is steered."""
    rows = sum(flow.congestion == "same" for flow in given)
    stepper = Stepper(1, 1, 1, flows=rows)
    outages_s = more.pop("outages_s", ())
    shared = net.link(12e6, 1.0, flows=given, outages_s=outages_s)  # type: ignore[arg-type]
    stepper.load(
        0,
        net.config(AGENT, shared, scheduler=scheduler, slot_s=slot_s, headroom=0, **more),  # type: ignore[arg-type]
    )
    return stepper


def of_flow(stepper: Stepper, name: str, flow: int = 0) -> float:
    names = SUBFLOW_VALUES if name in SUBFLOW_VALUES else FLOW_VALUES
    values = stepper.flow_subflow_values if name in SUBFLOW_VALUES else stepper.flow_values
    return float(values[0, flow, names.index(name)])


def test_each_flow_of_the_controller_holds_the_window_it_is_told() -> None:
    stepper = steered(Flow(), Flow("cubic", payload_bytes=10_000), Flow())
    stepper.alpha_q16[:], stepper.beta[:] = 0, 30
    stepper.flow_alpha_q16[:], stepper.flow_beta[:] = 0, ((50, 70),)
    for _ in range(10):
        stepper.step()
    result = stepper.result(0)
    assert result.samples.cwnd_segments[-1] == 30
    assert [flow.slot_cwnd_segments[-1] for flow in result.flows][::2] == [50, 70]
    # a window a round trip of 1 s: so many segments a slot
    assert [flow.slot_sent_segments[-1] for flow in result.flows][::2] == pytest.approx([50, 70], abs=1)
    assert [of_flow(stepper, "cwnd_segments", k) for k in (0, 1)] == [50, 70]


def test_flows_of_a_controller_that_nobody_speaks_to_are_newreno() -> None:
    def flow(kind: Flow, rows: int) -> FlowResult:
        stepper = Stepper(1, 1, 1, flows=rows)
        stepper.load(0, net.config(AGENT, net.link(12e6, 1.0, flows=(kind,)), duration_s=60))
        stepper.alpha_q16[:], stepper.beta[:] = 0, 30
        while not stepper.done[0]:
            stepper.step()
        return stepper.result(0).flows[0]

    silent, unseen, reno = flow(Flow(), 1), flow(Flow(), 0), flow(Flow("newreno"), 0)
    for name in ("slot_cwnd_segments", "slot_delivered_bytes", "slot_sent_segments"):
        np.testing.assert_array_equal(getattr(silent, name), getattr(reno, name))
        np.testing.assert_array_equal(getattr(unseen, name), getattr(reno, name))


@pytest.mark.parametrize("headroom", [2, 3])
def test_a_flows_window_has_the_controllers_bounds(headroom: int) -> None:
    # So many times the initial window of 10 while nothing is measured, then the link's BDP of 1,000.
    stepper = Stepper(1, 1, 1, flows=1)
    shared = net.link(12e6, 1.0, queue_bdp=4.0, flows=(Flow(),))
    stepper.load(0, net.config(AGENT, shared, slot_s=1.0, headroom=headroom, duration_s=60))
    stepper.alpha_q16[:], stepper.beta[:] = 0, 2
    stepper.flow_alpha_q16[:] = 16 * ONE_Q16
    windows = []
    while not stepper.done[0]:
        stepper.step()
        windows.append(of_flow(stepper, "cwnd_segments"))
    assert windows[1:3] == [10, 10 * headroom]
    assert max(windows) == pytest.approx(headroom * 1000, rel=0.02)
    assert of_flow(stepper, "clamps") > 20


def test_a_flow_under_a_controller_by_turns_rests_while_its_link_is_away() -> None:
    def sent(scheduler: str) -> np.ndarray:
        stepper = steered(Flow(), scheduler=scheduler, outages_s=((10.0, 30.0),), duration_s=60)
        stepper.alpha_q16[:], stepper.beta[:] = 0, 2
        stepper.flow_alpha_q16[:], stepper.flow_beta[:] = 0, 50
        while not stepper.done[0]:
            stepper.step()
        return stepper.result(0).flows[0].slot_sent_segments

    by_turns, otherwise = sent(AGENT_LATE), sent(AGENT)
    assert by_turns[11:30].sum() == 0  # from the slot that begins with the outage
    assert otherwise[11:30].sum() > 0  # what the outage took is repeated, to no avail
    assert by_turns[35:].min() >= 49  # and the window is in use again


def test_a_flows_values_add_up_to_its_result() -> None:
    stepper = steered(Flow(start_ns=net.ns(5.5), payload_bytes=400_000), duration_s=60)
    stepper.flow_alpha_q16[:], stepper.flow_beta[:] = 0, 40
    sums = dict.fromkeys(("sent_segments", "lost_segments", "delivered_bytes"), 0.0)
    while not stepper.done[0]:
        stepper.step()
        age = of_flow(stepper, "age_s")
        assert age == pytest.approx(max(stepper.episode_values[0, 0] - 5.5, 0))
        assert of_flow(stepper, "started") == (age > 0)
        assert of_flow(stepper, "slot_s") == pytest.approx(min(age, 1.0))
        for name in sums:
            sums[name] += of_flow(stepper, name)
    flow = stepper.result(0).flows[0]
    assert sums["delivered_bytes"] == flow.slot_delivered_bytes.sum() == 400_000
    assert sums["sent_segments"] == flow.slot_sent_segments.sum()
    assert sums["lost_segments"] == flow.lost_segments
    assert (of_flow(stepper, "written_bytes"), of_flow(stepper, "unsent_bytes")) == (400_000, 0)


def test_what_a_flows_application_wrote_is_its_source() -> None:
    # 12 kbit/s on the wire: 1,460 bytes of payload each second from 2 s on.
    written = CrossTraffic(12_000, start_ns=net.ns(2))
    stepper = steered(Flow(start_ns=net.ns(2), source=written), Flow(stop_ns=net.ns(4)))
    for _ in range(10):
        stepper.step()
    # at 2, 3, .. 10 s
    assert of_flow(stepper, "writes") == 9
    assert of_flow(stepper, "written_bytes") == 9 * 1460
    assert of_flow(stepper, "written_over_s") == pytest.approx(8)
    # what sends all it can has written without end, and sends nothing new once stopped
    assert of_flow(stepper, "written_bytes", 1) == np.inf
    assert of_flow(stepper, "unsent_bytes", 1) == 0


def test_a_stepper_has_rows_for_all_flows_or_none() -> None:
    trial = net.config(AGENT, net.link(flows=(Flow(), Flow())))
    with pytest.raises(ValueError, match="more flows of the controller"):
        Stepper(1, 1, 1, flows=1).load(0, trial)
    Stepper(1, 1, 1).load(0, trial)
