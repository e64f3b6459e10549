"""What a trial is estimated to take, term by term. How near that comes is for tests/run/test_work.py to say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from dstcc.engine.config import CrossTraffic, EngineConfig, Flow, Hop, Node, Objects, Restarts, Transport
from dstcc.errors import InputError, ScenarioError
from dstcc.scenario.work import (
    Limits,
    Work,
    about,
    check_objects,
    check_work,
    in_force,
    limited,
    parse_limits,
    work_of,
)
from tests.engine.net import S, link, ns

QUEUE = 15_000
"""Bytes: ten packets."""


def config(*links, scheduler: str = "minrtt", lanes: int = 3, **more) -> EngineConfig:
    """Five layers of ten packets and one of a byte, over a line of 1,000 packets of 1,500 bytes a second, half a second
    long; slots of 0.1 s."""
    sizes = [14_600] * 5 + [1]
    objects = Objects(
        chunk=np.arange(6),
        layer=np.zeros(6, dtype=np.int64),
        payload_bytes=np.array(sizes),
        release_ns=np.zeros(6, dtype=np.int64),
        deadline_ns=np.full(6, 10 * S),
    )
    transport = Transport("cubic", scheduler, mode="lanes", lanes_per_link=lanes)
    links = links or (line(),)
    return EngineConfig(1, tuple(links), transport, objects, ns(0.1), **more)


def line(**more):
    return link(12e6, 1.0, **({"queue_bytes": QUEUE, "subflows": 2} | more))


def over(own, onward):
    """A path over a node from the one line to the other."""
    return replace(own, onward=(Hop(7, Node("relay", 1), onward),))


def nonzero(quantity: Mapping[str, float]) -> dict[str, object]:
    return {key: pytest.approx(value) for key, value in quantity.items() if value}


def test_a_trial_without_others() -> None:
    """51 packets, 10 s. In flight or in the queue are those 51: a window has 1,000 and the queue 10."""
    work = work_of(config(), 10.0, trials=7, logs=True)
    assert nonzero(work.events) == {"video": 4 * 51, "run.slot_s": 100}
    assert nonzero(work.memory) == {
        "video": 4e6 + 6 * 400,
        "run.slot_s": 100 * 2 * 260,
        "link.0.queue_bytes": 51 * 60,
        "transport.lanes_per_link": 2 * 3 * 256,
    }
    assert nonzero(work.bytes) == {
        "video": 7 * 6 * 16,
        "run.slot_s": 7 * 200 * 24,
        "--qlog, --pcapng": 7 * 51 * 500,
    }
    assert work.total("events") == 304
    assert work.memory["video"] == 4_002_400
    assert nonzero(work_of(config(), 10.0).bytes) == {"video": 6 * 16, "run.slot_s": 200 * 24}


def test_no_more_packets_than_the_links_carry() -> None:
    """In 20 ms a line carries 20 packets, two lines carry 40; a redundant scheduler has each packet on both."""
    assert work_of(config(), 0.02).events["video"] == pytest.approx(4 * 20)
    assert work_of(config(line(), line()), 0.02).events["video"] == pytest.approx(4 * 40)
    assert work_of(config(line(), line()), 10.0).events["video"] == 4 * 51
    twice = config(line(), line(), scheduler="redundant")
    assert work_of(twice, 10.0).events["video"] == 4 * 102


def test_each_hop_takes_as_much_as_a_packet() -> None:
    """51 packets over a node are sent twice; of two links with as many packets each, one has it."""
    assert work_of(config(over(line(), line())), 10.0).events["video"] == 2 * 4 * 51
    assert work_of(config(over(line(), line()), line()), 10.0).events["video"] == 1.5 * 4 * 51


def test_what_is_in_flight_or_in_queues_where_there_is_more_video() -> None:
    """A line of 10 packets a second: 10 in flight over a second there and back, 10 in the queue, 4 in a node's. The
    longest of a table of delays counts."""
    slow = replace(line(), rate_bps=1.2e5, delay_t_ns=(0, S), delay_ns=(ns(0.1), ns(0.5)))
    assert work_of(config(slow), 1e3).memory["link.0.queue_bytes"] == pytest.approx(20 * 60)
    assert work_of(config(over(slow, line(queue_bytes=6_000))), 1e3).memory[
        "link.0.queue_bytes"
    ] == pytest.approx(24 * 60)
    two = work_of(config(slow, line()), 1e3)
    assert two.memory["link.0.queue_bytes"] == pytest.approx(20 * 60)
    assert two.memory["link.1.queue_bytes"] == pytest.approx(51 * 60)
    assert two.memory["transport.lanes_per_link"] == 2 * 2 * 3 * 256
    assert two.memory["run.slot_s"] == pytest.approx(1e4 * 4 * 260)


@pytest.mark.parametrize("beyond", [False, True], ids=["own", "beyond a node"])
@pytest.mark.parametrize(
    ("source", "datagrams", "periods"),
    [
        (CrossTraffic(1.2e6), 1000, 0),  # 100 a second for 10 s
        (CrossTraffic(1.2e6, packet_bytes=150), 10_000, 0),
        (CrossTraffic(1.2e6, start_ns=S, stop_ns=4 * S), 300, 0),
        (CrossTraffic(1.2e6, start_ns=S), 900, 0),
        (CrossTraffic(1.2e6, start_ns=11 * S), 0, 0),
        (CrossTraffic(1.2e6, on_ns=S, off_ns=3 * S), 250, 5),  # a quarter of the time; ten turns in 20 s
        (CrossTraffic(1e15, packet_bytes=1, stop_ns=S), 1e9, 0),  # one a nanosecond
    ],
)
def test_datagrams_of_others(source: CrossTraffic, datagrams: float, periods: float, beyond: bool) -> None:
    """Two events each, and two for each burst and each gap."""
    shared = line(cross_traffic=(source,))
    one = over(line(), shared) if beyond else shared
    work = work_of(config(line(), one, trace=True), 10.0)
    key = f"link.{7 if beyond else 1}.cross_traffic.0."
    others = {name: value for name, value in work.events.items() if name not in ("video", "run.slot_s")}
    assert others == {
        f"{key}rate_bps": pytest.approx(2 * datagrams),
        f"{key}on_s": pytest.approx(2 * periods),
    }
    assert work.memory["--qlog, --pcapng"] == pytest.approx(100 * (51 + (2 * datagrams + 2 * periods) / 4))


def test_several_sources_are_several_keys() -> None:
    work = work_of(config(line(cross_traffic=(CrossTraffic(1.2e6), CrossTraffic(2.4e6)))), 10.0)
    assert work.events["link.0.cross_traffic.0.rate_bps"] == pytest.approx(2_000)
    assert work.events["link.0.cross_traffic.1.rate_bps"] == pytest.approx(4_000)


@pytest.mark.parametrize(
    ("flow", "events"),
    [
        (Flow(), {"flows": 4 * 5_000}),  # half the line for 10 s
        (Flow(start_ns=2 * S), {"flows": 4 * 4_000}),
        (Flow(start_ns=2 * S, stop_ns=5 * S), {"flows": 4 * 1_500}),
        (Flow(start_ns=12 * S), {}),
        (Flow(payload_bytes=14_600), {"flows": 4 * 11}),  # ten packets and a handshake
        (Flow(start_ns=ns(9.998), payload_bytes=14_600), {"flows": 4}),
        (Flow(source=CrossTraffic(1.2e6)), {"flows": 4 * 1_000, "flows.rate_bps": 1_000}),
        (Flow(source=CrossTraffic(1.2e8)), {"flows": 4 * 5_000, "flows.rate_bps": 1e5}),
        (
            Flow(source=CrossTraffic(1.2e6, on_ns=S, off_ns=S)),
            {"flows": 4 * 500, "flows.rate_bps": 500, "flows.on_s": 20},
        ),
    ],
)
def test_connections_of_others_share_the_line(flow: Flow, events: dict[str, float]) -> None:
    """Beside one that never sends; four events a packet, one for each write, two for each burst and gap."""
    idle = Flow(start_ns=100 * S)
    work = work_of(config(line(flows=(flow, idle))), 10.0)
    others = {name: value for name, value in work.events.items() if name not in ("video", "run.slot_s")}
    assert nonzero(others) == {f"link.0.{key}": pytest.approx(value) for key, value in events.items()}
    assert work.memory["link.0.flows"] == pytest.approx(2 * 60 * 1_010)


def test_flows_of_a_link_add_up() -> None:
    writes = Flow(source=CrossTraffic(1.2e6, on_ns=S, off_ns=S))
    work = work_of(config(line(flows=(writes, writes))), 10.0)
    assert work.events["link.0.flows.rate_bps"] == pytest.approx(1_000)
    assert work.events["link.0.flows.on_s"] == pytest.approx(40)
    assert work.events["link.0.flows"] == pytest.approx(2 * 4 * 500)


def test_a_flows_memory_has_an_end() -> None:
    wide = link(12e9, 1.0, queue_bytes=QUEUE, flows=(Flow(),))  # a window of a million packets
    assert work_of(config(wide), 1.0).memory["link.0.flows"] == pytest.approx(60 * 1e5)


def test_restarts_send_others_traffic_again_from_the_start() -> None:
    """The video twice, and others' five times: twice more for each of two restarts."""
    restarts = Restarts((2 * S, 5 * S), S, True)
    one = line(cross_traffic=(CrossTraffic(1.2e6),))
    plain = work_of(config(one), 10.0)
    again = work_of(config(one, restarts=restarts), 10.0)
    others = 100 + 2_000
    assert plain.total("events") == pytest.approx(204 + others)
    assert again.total("events") == pytest.approx(2 * 204 + others + 4 * others)
    assert again.events["transport.restart"] == pytest.approx(204 + 4 * others)


def test_the_most_of_several_beside_its_limit() -> None:
    works = [Work({"a": 5, "b": 1}, {"a": 1}, {}), Work({"a": 2}, {"a": 3}, {"x": 4})]
    with limited({"memory": 7}):
        assert about(iter(works)) == {
            "events": {"estimate": 6, "limit": 2e10},
            "memory": {"estimate": 3, "limit": 7},
            "bytes": {"estimate": 4, "limit": 1e11},
        }


@pytest.mark.parametrize(
    ("total", "above"),
    [(1001, "2e3"), (1999, "2e3"), (2001, "3e3"), (9.4e5, "10e5"), (9.6e5, "1e6"), (2e3, "2e3")],
)
def test_the_limit_that_is_proposed_is_round_and_enough(total: float, above: str) -> None:
    work = Work({"small": 1.0, "large": total - 1.0}, {}, {})
    with limited({"events": 1000}), pytest.raises(ScenarioError) as error:
        check_work("mine", work)
    assert str(error.value).startswith("mine: large: would take about ")
    assert f"more than the limit of 1e+03; --limit events={above} lets it run" in str(error.value)
    with limited({"events": float(above)}):
        check_work("mine", work)


def test_a_limit_is_the_most_that_runs() -> None:
    with limited({"memory": 1000}):
        check_work("mine", Work({}, {"a": 1000.0}, {}))
        with pytest.raises(ScenarioError, match="1e\\+03 bytes of memory for a trial, more than"):
            check_work("mine", Work({}, {"a": 1000.5}, {}))
    check_objects(2.5e6, 2, "video.layers")  # 2 GB
    with pytest.raises(
        ScenarioError, match=r"^video: video\.layers: would take about 2e\+09 bytes of memory"
    ):
        check_objects(2.5e6 + 1, 2, "video.layers")


def test_limits_hold_until_their_block_ends_however_it_does() -> None:
    usual = {"events": 2e10, "memory": 2e9, "bytes": 1e11}
    assert in_force() == usual == vars(Limits())
    with pytest.raises(ZeroDivisionError), limited({"events": 5}), limited({"bytes": 6}):
        assert in_force() == {"events": 5, "memory": 2e9, "bytes": 6}
        raise ZeroDivisionError
    assert in_force() == usual
    for wrong in ({"events": 0}, {"memory": -1}, {"bytes": float("nan")}, {"time": 1}):
        with pytest.raises(InputError, match="and a number above 0"), limited(wrong):
            raise AssertionError
    assert in_force() == usual


def test_limits_are_read_with_units_and_spaces() -> None:
    assert parse_limits([]) == {}
    assert parse_limits(["bytes=0.5"]) == {"bytes": 0.5}
    assert parse_limits([" events = 5 ", "memory=2 KiB", "bytes=7"]) == {
        "events": 5,
        "memory": 2048,
        "bytes": 7,
    }
    for text in ("events", "events=", "events=0", "events=5GB", "memory=-1", "time=1"):
        with pytest.raises(InputError, match=f"--limit {text}: must be"):
            parse_limits([text])
