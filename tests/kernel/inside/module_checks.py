"""What the module must do, run as root in a guest: ``python module_checks.py FOLDER CHECK...``.

FOLDER holds ``dstcc_cc.ko`` and ``test``. Each check prints what it found as a line of JSON, or fails by an assertion.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import network
from dstcc_kernel import module
from dstcc_kernel.genetlink import (
    BUFFER,
    COMMAND,
    ERROR,
    HEADER,
    Family,
    NetlinkError,
    attribute,
    nest,
    split,
)
from dstcc_kernel.netlink import (
    ONE_Q16,
    Act,
    Action,
    ActionPart,
    Client,
    Command,
    Flags,
    GroupPart,
    Parameter,
)
from network import Network, transfer, two_paths

from dstcc.errors import KernelError

FOLDER = Path(sys.argv[1])
CONTROL = FOLDER / "dstcc_cc.ko"
CHECKS: dict[str, Callable[[], dict[str, Any]]] = {}


def check(function: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    """Enter a check by its name."""
    CHECKS[function.__name__] = function
    return function


@contextmanager
def loaded() -> Iterator[None]:
    """The module in the kernel."""
    module.load(CONTROL)
    try:
        yield
    finally:
        module.unload()


def unloaded() -> bool:
    try:
        module.unload()
    except KernelError:
        return False
    return True


@contextmanager
def connected(**how: Any) -> Iterator[tuple[Network, Client, network.Transfer]]:
    """A transfer under ``dstcc`` over both paths, and a client beside its sender."""
    with two_paths(**how) as net, inside_client(net) as client, transfer(net) as running:
        wait_for(lambda: len(client.subflows()) == 2)
        yield net, client, running


@contextmanager
def inside_client(net: Network) -> Iterator[Client]:
    with network.inside(net.sender):
        client = Client()
    with client:
        yield client


def wait_for(what: Callable[[], bool], limit_s: float = 20) -> None:
    end = time.monotonic() + limit_s
    while not what():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def windows(client: Client) -> list[int]:
    return [subflow.cwnd for subflow in client.subflows()]


def refused(name: str, what: Callable[[], object]) -> str:
    """The kernel's words when it refuses by that name."""
    try:
        what()
    except NetlinkError as error:
        assert error.name == name, error
        return error.text
    raise AssertionError(f"not refused ({name})")


@check
def law() -> dict[str, Any]:
    """The kernel gives the law's results."""
    module.load(FOLDER / "test/dstcc_law_test.ko")
    digest = int(Path("/sys/module/dstcc_law_test/parameters/digest").read_text())
    module.unload("dstcc_law_test")
    return {"digest": digest}


@check
def state() -> dict[str, Any]:
    """Two subflows of one connection tell who they are and what they did."""
    with loaded(), connected() as (net, client, running):
        time.sleep(2)
        first, second = client.subflows()
        running_bytes = running.received
        with network.inside(net.receiver), Client() as other:
            assert other.subflows() == [], "a namespace sees its own subflows only"
    for subflow, path, local_id in ((first, 1, 0), (second, 2, 1)):
        assert (subflow.local_address, subflow.remote_address) == (f"10.0.{path}.1", "10.0.1.2")
        assert (subflow.local_id, subflow.remote_id, subflow.remote_port) == (local_id, 0, 5001)
        assert 40_000 <= subflow.min_rtt_us <= subflow.srtt_us < 10**6
        assert subflow.mss == 1448 and subflow.sent >= subflow.delivered > 100
        assert subflow.acked_bytes >= (subflow.delivered - 50) * subflow.mss * 0.5
        assert 10**6 < subflow.delivery_rate < 50e6 / 8
        assert not subflow.steered and subflow.actions == 0
    assert first.token == second.token != 0
    assert running_bytes > 10**6
    return {"received": running_bytes, "srtt_us": [first.srtt_us, second.srtt_us]}


@check
def actions() -> dict[str, Any]:
    """W <- alpha W + beta, held whatever is lost, paced over the round trip, within the cap."""
    with loaded(), connected(loss_percent=1) as (_, client, _running):
        ids = [subflow.id for subflow in client.subflows()]
        client.set_parameters(headroom=0, slot_us=10**6)
        assert client.act([Action(ids[0], 0, 100), Action(ids[1], 0, 60)]) == 2
        assert windows(client) == [100, 60]
        client.act([Action(ids[0], ONE_Q16 * 5 // 4, 0), Action(ids[1], ONE_Q16, 7)])
        assert windows(client) == [125, 67]
        client.act([Action(ids[0], 0, 150), Action(ids[1], 0, 150)])
        time.sleep(3)
        held = client.subflows()
        assert [subflow.cwnd for subflow in held] == [150, 150]
        assert all(subflow.steered and subflow.lost > 20 for subflow in held)
        paces = [subflow.pacing_rate for subflow in held]
        for subflow in held:
            expected = subflow.cwnd * subflow.mss * 10**6 / subflow.srtt_us
            assert abs(subflow.pacing_rate / expected - 1) < 0.01
        client.set_parameters(headroom=2)
        client.act([Action(id, 64 * ONE_Q16) for id in ids])
        capped = client.subflows()
        assert all(s.cwnd == 2 * max(s.bdp, 10) and s.clamps == 1 for s in capped), capped
        client.set_cwnd_max(40)
        client.act([Action(id, ONE_Q16) for id in ids])
        assert windows(client) == [40, 40]
    return {"paces": paces, "capped": [subflow.cwnd for subflow in capped]}


@check
def window_opens_at_once() -> dict[str, Any]:
    """A window that grows lets data out without waiting for an ACK, a round trip away."""
    with loaded(), connected(delay_ms=2000) as (_, client, _running):
        ids = [subflow.id for subflow in client.subflows()]
        client.set_parameters(headroom=0)
        client.act([Action(id, 0, 20) for id in ids])
        wait_for(lambda: all(s.in_flight >= 15 for s in client.subflows()), 60)
        before = [subflow.sent for subflow in client.subflows()]
        client.act([Action(id, 0, 40) for id in ids])
        time.sleep(1)
        grown = [s.sent - b for s, b in zip(client.subflows(), before, strict=True)]
    assert all(n >= 2 for n in grown), grown
    return {"sent_within_a_quarter_round_trip": grown}


@check
def first_pace() -> dict[str, Any]:
    """Before its first ACK of data a subflow has a pace, 2 W a round trip or, while none is known, a second: MPTCP's
    scheduler makes a mean of it (avg_pacing_rate), and none at all would be 2^64 - 1 bytes a second."""
    paces = []
    for delay_ms in (200, 2000):
        with loaded(), two_paths(delay_ms=delay_ms) as net, inside_client(net) as client, transfer(net):
            wait_for(lambda: len(client.subflows()) == 1, 60)
            (first,) = client.subflows()
        assert first.delivered <= 1 and not first.steered, first
        expected = 2 * first.cwnd * first.mss * 10**6 / (first.srtt_us or 10**6)
        assert abs(first.pacing_rate / expected - 1) < 0.02, (first, expected)
        paces.append(first.pacing_rate)
    return {"paces": paces}


@check
def silence() -> dict[str, Any]:
    """After silence_slots without an action Reno takes the window; the next action takes it back."""
    with loaded(), connected(loss_percent=0.2) as (_, client, _running):
        ids = [subflow.id for subflow in client.subflows()]
        client.set_parameters(slot_us=100_000, silence_slots=4, headroom=0)
        client.act([Action(id, 0, 50) for id in ids])
        time.sleep(0.3)
        assert all(s.steered and s.cwnd == 50 for s in client.subflows())
        time.sleep(0.3)
        fallen = client.subflows()
        assert all(not s.steered and s.fallbacks == 1 for s in fallen)
        time.sleep(3)
        grown = windows(client)
        assert all(window != 50 for window in grown), "Reno moves its window"
        client.act([Action(id, 0, 30) for id in ids])
        assert all(s.steered and s.cwnd == 30 for s in client.subflows())
        client.act([Action(ids[0], None), Action(ids[1], ONE_Q16)])
        assert [s.steered for s in client.subflows()] == [False, True]
        time.sleep(8)
        reno = client.subflows()
        assert all(s.ssthresh < 2**31 - 1 and s.lost > 0 for s in reno), "Reno halves on loss"
    return {"reno": grown, "later": [(s.cwnd, s.ssthresh) for s in reno]}


@check
def reports() -> dict[str, Any]:
    """A report per slot, on time, until nobody listens."""
    with loaded(), connected() as (net, client, _running):
        with inside_client(net) as listener:
            listener.listen()
            client.set_parameters(slot_us=200_000, reports=True)
            got = [listener.report(2) for _ in range(10)]
        assert all(report is not None and len(report.subflows) == 2 for report in got)
        slots = [report.slot for report in got if report]
        times = [report.time_us for report in got if report]
        assert slots == list(range(slots[0], slots[0] + 10))
        assert 9 * 200_000 - 20_000 <= times[-1] - times[0] <= 9 * 200_000 + 20_000
        wait_for(lambda: not client.parameters().reports)
    return {"slots": slots}


@check
def lost_report() -> dict[str, Any]:
    """Of every third report the second message finds no memory: whoever listens is told, and gets no part of it."""
    count = 20  # subflows: more than fit one message
    with loaded(), two_paths() as net, inside_client(net) as client, ExitStack() as stack:
        for port in range(6000, 6000 + count):
            stack.enter_context(plain(net, port))
        with inside_client(net) as listener:
            listener.listen()
            client.set_parameters(slot_us=200_000, reports=True)
            told = [heard(listener) for _ in range(12)]
    whole = [told_ for told_ in told if not isinstance(told_, str)]
    assert told.count("ENOBUFS") == 4 == len(told) - len(whole), told
    slots = [slot for slot, _ in whole]
    assert all(slot % 3 != 2 and subflows == count for slot, subflows in whole), told
    assert slots == sorted(set(slots)) and slots[-1] - slots[0] <= 12, told
    return {}


def heard(listener: Client) -> str | tuple[int, int]:
    """The next report's slot and how many subflows it has, or the error's name in its place."""
    try:
        report = listener.report(2)
    except NetlinkError as error:
        return error.name
    assert report is not None
    return report.slot, len(report.subflows)


@check
def closing() -> dict[str, Any]:
    """A connection that closes under the control, or is reset with a full window in flight, lets the module go."""
    with two_paths() as net:
        for linger in (None, struct.pack("ii", 1, 0)):
            module.load(CONTROL)
            with network.inside(net.receiver):
                listener = socket.create_server((net.addresses[0], 5002))
            with network.inside(net.sender):
                sender = socket.socket()
            sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"dstcc")
            sender.connect((net.addresses[0], 5002))
            receiver, _ = listener.accept()
            with inside_client(net) as client:
                (subflow,) = client.subflows()
                assert (subflow.token, subflow.flags) == (None, 0), "plain TCP has no token"
                client.act([Action(subflow.id, 0, 20)])
                sender.sendall(bytes(200_000))
                if linger:
                    sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                sender.close()
                while not linger and receiver.recv(1 << 20):
                    pass
                receiver.close()
                listener.close()
                wait_for(lambda: client.subflows() == [])
            module.unload()
    return {}


@contextmanager
def plain(net: Network, port: int = 5003) -> Iterator[tuple[socket.socket, socket.socket, Client]]:
    """A connection of plain TCP under ``dstcc`` at rest, and a client beside its sender."""
    with network.inside(net.receiver):
        listener = socket.create_server((net.addresses[0], port))
    with network.inside(net.sender):
        sender = socket.socket()
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"dstcc")
    sender.connect((net.addresses[0], port))
    receiver, _ = listener.accept()
    with listener, sender, receiver, inside_client(net) as client:
        yield sender, receiver, client
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")


SHARED = 7
"""A group's number."""


@contextmanager
def sharing(
    net: Network, count: int, window: int, group: int = SHARED
) -> Iterator[tuple[list[socket.socket], Client, list[int]]]:
    """So many connections of plain TCP at rest, each under a window; those of a group share it. Their ids, too."""
    with ExitStack() as stack:
        lanes, client = [], stack.enter_context(inside_client(net))
        for port in range(6000, 6000 + count):
            sender, receiver, _ = stack.enter_context(plain(net, port))
            sender.setblocking(False)
            receiver.setblocking(False)
            lanes.append(sender)
        ids = [subflow.id for subflow in client.subflows()]
        client.set_parameters(slot_us=10**6, silence_slots=1000, headroom=0)
        client.act([Action(id, 0, window) for id in ids])
        if group:
            assert client.set_group(group, ids) == count
        yield lanes, client, ids


def most_under_way(client: Client, for_s: float) -> int:
    """Of the sums over all subflows, as they tell them and as their group does, looked at every 2 ms."""
    most, end = 0, time.monotonic() + for_s
    shared = any(subflow.group == SHARED for subflow in client.subflows())
    while time.monotonic() < end:
        under_way = sum(subflow.in_flight for subflow in client.subflows())
        most = max(most, under_way, client.group(SHARED).in_flight if shared else 0)
        time.sleep(0.002)
    return most


def congestion_window(lane: socket.socket) -> int:
    """What TCP has of it now: ``tcpi_snd_cwnd`` (include/uapi/linux/tcp.h)."""
    return int(struct.unpack_from("I", lane.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104), 80)[0])


def nap(for_s: float) -> bool:
    """Sleep; False."""
    time.sleep(for_s)
    return False


PLENTY = bytes(3_000_000)
"""More than any window here; the receiver's buffer holds it."""


@check
def group_bound() -> dict[str, Any]:
    """What is under way on the members together stays below the window, all of it when one alone has data."""
    found: dict[int | str, int] = {}
    for group in (0, SHARED):
        with loaded(), two_paths(delay_ms=200) as net, sharing(net, 4, 40, group) as (lanes, client, ids):
            for lane in lanes:
                lane.send(PLENTY)
            found[group] = most_under_way(client, 3)
            if group:
                state = client.group(SHARED)
                assert (state.window, state.members, state.beside) == (40, 4, 0)
                assert state.waiting >= 1 and state.unsent_bytes > 10**6
                assert [s.cwnd for s in client.subflows()] == [40] * 4, "each has its window"
                client.act([Action(id, 0, 30) for id in ids])
                time.sleep(1)
                found["smaller"] = most_under_way(client, 2)
                client.act([Action(ids[0], 0, 90)])
                assert client.group(SHARED).window == 45
                assert client.set_group(0, ids[:1]) == 1
                state = client.group(SHARED)
                assert (state.members, state.window) == (3, 30)
                client.act([Action(ids[0], 0, 30)])
                time.sleep(1)
                found["others"] = max(client.group(SHARED).in_flight for _ in range(3) if not nap(0.3))
                for _ in range(50):
                    found["left"] = max(found.get("left", 0), client.subflows()[0].in_flight)
                    time.sleep(0.01)
    with loaded(), two_paths(delay_ms=200) as net, sharing(net, 4, 40) as (lanes, client, _):
        lanes[2].send(PLENTY)
        found["alone"] = most_under_way(client, 3)
    assert found[0] == 160 and found[SHARED] == 40, found
    assert found["smaller"] == found["left"] == found["others"] == 30 and found["alone"] == 40, found
    return {str(name): value for name, value in found.items()}


@check
def group_window() -> dict[str, Any]:
    """The mean of the windows of those that are steered, of all where none is; each member's own bounds it, too."""
    with loaded(), two_paths(delay_ms=200) as net, sharing(net, 4, 40) as (lanes, client, ids):
        own = [10, 70, 40, 20]
        client.act([Action(id, 0, window) for id, window in zip(ids, own, strict=True)])
        means = [client.group(SHARED).window]
        client.act([Action(ids[0], None)])
        means.append(client.group(SHARED).window)
        client.act([Action(id, None) for id in ids[1:]])
        means.append(client.group(SHARED).window)
        client.act([Action(id, 0, window) for id, window in zip(ids, [70, 10, 40, 20], strict=True)])
        lanes[0].send(PLENTY)
        wait_for(lambda: client.group(SHARED).in_flight == 35)
        client.act([Action(id, 0, window) for id, window in zip(ids, own, strict=True)])
        before = client.subflows()[0].sent
        time.sleep(0.3)  # its pace would let 7 out
        more = client.subflows()[0].sent - before
        time.sleep(1)
        alone = most_under_way(client, 3)
    with loaded(), two_paths(delay_ms=200) as net, sharing(net, 4, 2) as (lanes, client, _):
        for lane in lanes:
            lane.send(PLENTY)
        least = most_under_way(client, 1)
    assert means == [35, (70 + 40 + 20) // 3, 35] and (more, alone) == (0, 10) and least == 2, (
        means,
        more,
        alone,
        least,
    )
    return {"means": means, "alone": alone, "least": least}


@check
def group_settles() -> dict[str, Any]:
    """Room that a member was granted and does not use goes to who waits, though neither hears an ACK for long; where
    somebody holds the member, as soon as that ends."""
    seen = []
    for held_s in (0, 1):
        with loaded(), two_paths(delay_ms=1000) as net, sharing(net, 2, 2) as (lanes, client, _):
            for _ in range(2):  # the second one waits for the first one's ACK (RFC 896), with all the room
                lanes[0].send(bytes(100))
                time.sleep(0.2)
            child = hold(lanes[0], held_s) if held_s else 0
            time.sleep(0.2 if held_s else 0)
            lanes[1].send(bytes(100))
            time.sleep(0.1)
            seen.append([subflow.in_flight for subflow in client.subflows()])
            if child:
                assert os.waitpid(child, 0)[1] == 0
                time.sleep(0.1)
                seen.append([subflow.in_flight for subflow in client.subflows()])
    assert seen == [[1, 1], [1, 0], [1, 1]], seen
    return {"in_flight": seen}


@check
def group_wakes() -> dict[str, Any]:
    """A member that has nothing under way gets room with another's ACKs, which has more to send than ever fits."""
    with loaded(), two_paths(delay_ms=1000) as net, sharing(net, 3, 30) as (lanes, client, _):
        lanes[0].send(PLENTY)
        time.sleep(7)
        assert client.group(SHARED).in_flight == 30
        for lane in lanes[1:]:
            lane.send(bytes(10 * 1448))
        time.sleep(4.5)  # 20 of 15 a second, by turns, and a round trip; TCP's probe comes after 6 s
        done = [subflow.acked_bytes for subflow in client.subflows()]
    assert all(acked >= 10 * 1448 for acked in done[1:]), done
    # One that has sent all it has does not ask for room, so that its ACKs alone tell of what they free.
    with loaded(), two_paths(delay_ms=1000) as net, sharing(net, 3, 60) as (lanes, client, ids):
        lanes[0].send(bytes(40 * 1448))
        time.sleep(1.95)  # all have left, and none is acknowledged
        client.act([Action(id, 0, 30) for id in ids])
        for lane in lanes[1:]:
            lane.send(bytes(10 * 1448))
        state = client.group(SHARED)
        assert (state.in_flight, state.waiting, state.window) == (40, 2, 30), state
        time.sleep(3)  # TCP's probe comes after 6 s
        sent = [subflow.sent for subflow in client.subflows()]
    assert sent == [40, 10, 10], sent
    return {"acked": done, "sent": sent}


@check
def group_pace() -> dict[str, Any]:
    """Members send a window a round trip together, the first segments of each connection included."""
    with loaded(), two_paths(delay_ms=200) as net, sharing(net, 4, 200) as (lanes, client, _):
        for lane in lanes:
            lane.send(PLENTY)
        sent = []
        for _ in range(3):
            time.sleep(0.1)
            sent.append(sum(subflow.sent for subflow in client.subflows()))
    assert all(abs(count / (50 * n) - 1) < 0.12 for n, count in enumerate(sent, start=1)), sent
    with loaded(), two_paths(delay_ms=200) as net, sharing(net, 20, 200) as (lanes, client, _):
        for lane in lanes:
            lane.send(bytes(1000))
        time.sleep(0.01)  # of the 40 ms that 20 segments take
        at_once = [sum(subflow.sent for subflow in client.subflows())]
    with loaded(), two_paths(delay_ms=200) as net, sharing(net, 1, 200) as (lanes, client, _):
        lanes[0].send(PLENTY)
        time.sleep(0.01)
        at_once.append(client.subflows()[0].sent)
    assert at_once[0] <= 8 and at_once[1] <= 12, at_once  # TCP's first ten leave at once, and count
    with loaded(), two_paths(delay_ms=200) as net, sharing(net, 20, 200) as (lanes, client, _):
        for turn in range(100):  # as much as the pace lets out, each time to another
            lanes[turn % 20].send(bytes(10 * 1448))
            time.sleep(0.02)
        by_turns = sum(subflow.sent for subflow in client.subflows())
    assert 950 <= by_turns <= 1000, by_turns
    return {"sent": sent, "at_once": at_once, "by_turns": by_turns}


@check
def group_beside() -> dict[str, Any]:
    """A smaller window sends at once beside what is under way, if told to; else when there is room again."""
    sent = []
    with loaded(), two_paths(delay_ms=500) as net, sharing(net, 2, 100) as (lanes, client, ids):
        for lane in lanes:
            lane.send(PLENTY)
        wait_for(lambda: client.group(SHARED).in_flight == 100)
        client.act([Action(id, 0, 50) for id in ids])
        for beside in (0, 100):
            client.set_group(SHARED, beside=beside)
            before = sum(subflow.sent for subflow in client.subflows())
            time.sleep(0.2)
            sent.append(sum(subflow.sent for subflow in client.subflows()) - before)
        state = client.group(SHARED)
        assert (state.window, state.beside) == (50, 100) and state.in_flight > 50
    assert sent[0] == 0 and 8 <= sent[1] <= 12, sent
    return {"sent": sent}


@check
def group_losses() -> dict[str, Any]:
    """Amid losses, of MPTCP's subflows too, the sum is passed by TCP's own probes at most, a segment a member."""
    with loaded(), two_paths(delay_ms=100, loss_percent=3) as net:
        with sharing(net, 4, 40) as (lanes, client, _):
            for lane in lanes:
                lane.send(PLENTY)
            plainly = most_under_way(client, 10)
            repeated = sum(subflow.retransmitted for subflow in client.subflows())
        with inside_client(net) as client, transfer(net):
            wait_for(lambda: len(client.subflows()) == 2)
            ids = [subflow.id for subflow in client.subflows()]
            client.act([Action(id, 0, 40) for id in ids])
            client.set_group(SHARED, ids)
            time.sleep(1)
            of_mptcp = most_under_way(client, 5)
    with loaded(), two_paths(delay_ms=50) as net, sharing(net, 4, 40) as (lanes, client, ids):
        lose(net, 100)
        for lane in lanes:
            lane.send(bytes(10 * 1448))  # nothing else to send: but for its repeats
        wait_for(lambda: client.group(SHARED).in_flight == 40)
        client.act([Action(id, 0, 10) for id in ids])
        wait_for(lambda: client.group(SHARED).in_flight <= 4)
        lose(net, 0)
        repeats = most_under_way(client, 5)
        assert all(subflow.acked_bytes >= 10 * 1448 for subflow in client.subflows())
    assert 40 <= plainly <= 44 and 40 <= of_mptcp <= 42 and repeats <= 14, (plainly, of_mptcp, repeats)
    assert repeated > 20, repeated
    return {"plain": plainly, "mptcp": of_mptcp, "repeated": repeated, "repeats": repeats}


@check
def group_silence() -> dict[str, Any]:
    """Without an agent every member is Reno's; the sum stays below the mean of their windows, which losses halve."""
    with loaded(), two_paths(delay_ms=50, loss_percent=3) as net, sharing(net, 4, 60) as (lanes, client, ids):
        for lane in lanes:
            lane.send(PLENTY)
        time.sleep(1)
        client.act([Action(id, None) for id in ids])
        bounds = deque([60], 100)  # of two round trips: what is under way goes as it is acknowledged
        passed = 0
        halved: dict[int, int] = {}
        for _ in range(2000):
            state, subflows = client.group(SHARED), client.subflows()
            assert not any(subflow.steered for subflow in subflows)
            for subflow in subflows:
                if subflow.ssthresh != 60:
                    halved.setdefault(subflow.id, subflow.ssthresh)
            bounds.append(state.window)
            passed = max(passed, state.in_flight - max(bounds))
            time.sleep(0.002)
        later = [(s.cwnd, s.ssthresh) for s in client.subflows()]
        client.act([Action(id, 0, 20) for id in ids])
        time.sleep(0.5)
        assert client.group(SHARED).window == 20 and most_under_way(client, 1) <= 24
    assert passed <= 4, passed
    assert all(cwnd < 60 and ssthresh < 60 for cwnd, ssthresh in later), later
    # Halves of each one's own window, not of what the group lent TCP of it.
    assert all(25 <= ssthresh <= 35 for ssthresh in halved.values()), halved
    return {"windows": later, "passed": passed, "halved": sorted(halved.values())}


@check
def group_ends() -> dict[str, Any]:
    """A group goes with its last member, whether that leaves, closes or is reset with others waiting for room."""
    reset = struct.pack("ii", 1, 0)
    for how in ("leave", "close", "reset"):
        with two_paths(delay_ms=100) as net:
            module.load(CONTROL)
            with sharing(net, 3, 20) as (lanes, client, ids):
                for lane in lanes:
                    lane.send(PLENTY)
                wait_for(lambda: client.group(SHARED).waiting >= 1)
                if how == "leave":
                    client.set_group(0, ids)
                    time.sleep(0.2)
                    assert sum(windows(client)) == 60 and all(s.group == 0 for s in client.subflows())
                elif how == "reset":
                    for lane in lanes:
                        lane.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
                        lane.connect_ex(("0.0.0.0", 0))
                else:
                    for lane in lanes[:2]:
                        lane.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
                    assert client.group(SHARED).members == 1
                    lanes[2].setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
                if how != "reset":
                    refused("ENOENT", lambda: client.group(SHARED))
            with inside_client(net) as client:
                refused("ENOENT", lambda: client.group(SHARED))
            module.unload()
    # Who waits with nothing under way hears no ACK: it has its window, and sends, as it leaves or goes elsewhere.
    with loaded(), two_paths(delay_ms=1000) as net, sharing(net, 3, 60) as (lanes, client, ids):
        lanes[0].send(bytes(40 * 1448))
        time.sleep(1.9)
        client.act([Action(id, 0, 30) for id in ids])
        for lane in lanes[1:]:
            lane.send(bytes(10 * 1448))
        assert [congestion_window(lane) for lane in lanes[1:]] == [0, 0]
        client.set_group(0, ids[1:2])
        client.set_group(SHARED + 1, ids[2:])
        time.sleep(0.05)
        own = congestion_window(lanes[1])
        sent = [subflow.sent for subflow in client.subflows()]
    assert own == 30 and sent == [40, 10, 10], (own, sent)
    return {"sent": sent}


@check
def group_refusals() -> dict[str, Any]:
    """Numbers, subflows, locks and rights; a message that is refused changes nothing."""
    with loaded(), two_paths() as net, sharing(net, 2, 20, group=0) as (lanes, client, ids):
        for what in (
            lambda: client.group(SHARED),
            lambda: client.set_group(SHARED, beside=1),
            lambda: client.set_group(SHARED, [ids[0], 10**6]),
        ):
            refused("ENOENT", what)
        refused("ERANGE", lambda: client.set_group(SHARED, [0]))
        refused("E2BIG", lambda: client.set_group(SHARED, ids * 33))
        assert [s.group for s in client.subflows()] == [0, 0]
        assert client.set_group(SHARED, ids) == 2
        refused("ERANGE", lambda: client.set_group(SHARED, beside=2**28 + 1))
        refused("EINVAL", lambda: client.family.request(Command.GROUP_SET))
        refused("EINVAL", lambda: client.family.request(Command.GROUP_GET))
        assert client.set_group(SHARED + 1, ids[:1]) == 1
        assert [s.group for s in client.subflows()] == [SHARED + 1, SHARED]
        with network.inside(net.receiver), Client() as other:
            refused("ENOENT", lambda: other.group(SHARED))
        child = hold(lanes[0], 2)
        time.sleep(1)
        assert client.set_group(SHARED, ids) == 1, "one that somebody holds is left where it is"
        assert os.waitpid(child, 0)[1] == 0
        assert client.set_group(SHARED, ids) == 2
        child = os.fork()
        if child == 0:
            network.move(net.sender)
            os.setuid(65534)
            with Client() as nobody:
                assert nobody.group(SHARED).members == 2
                refused("EPERM", lambda: nobody.set_group(SHARED, ids))
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    return {}


@check
def group_held() -> dict[str, Any]:
    """A member that somebody holds keeps what it has under way; the others go on, and it does after its release."""
    with loaded(), two_paths(delay_ms=50) as net, sharing(net, 2, 40) as (lanes, client, _):
        for lane in lanes:
            lane.send(PLENTY)
        time.sleep(0.5)
        child = hold(lanes[0], 3)
        time.sleep(1)
        before = [subflow.sent for subflow in client.subflows()]
        assert most_under_way(client, 1) <= 42
        during = [subflow.sent for subflow in client.subflows()]
        assert os.waitpid(child, 0)[1] == 0
        time.sleep(1)
        after = [subflow.sent for subflow in client.subflows()]
    assert during[0] == before[0] and during[1] - before[1] > 20, (before, during)
    assert after[0] - during[0] > 20, (during, after)
    return {}


def hold(held_: socket.socket, for_s: float) -> int:
    """Have a child hold a socket's lock for a time."""
    child = os.fork()
    if child == 0:
        words = f"fd={held_.fileno()} ms={for_s * 1000:.0f}".encode()
        with (FOLDER / "test/dstcc_hold_test.ko").open("rb") as file:
            refused_load = False
            try:
                module._call("finit_module", "hold", file.fileno(), words, 0)
            except KernelError as error:
                refused_load = "ENODEV" in str(error)
        os._exit(0 if refused_load else 1)
    return child


def lose(net: Network, percent: int) -> None:
    """Let so many packets of the sender's first path be lost from now on."""
    shape = f"qdisc change dev a0 root netem limit 500 delay 20ms rate 50mbit loss {percent}%"
    subprocess.run(["tc", "-n", net.sender, *shape.split()], check=True)


@check
def backup() -> dict[str, Any]:
    """A subflow is shown as a backup by the word of either end: the peer's alone, the other way round."""
    with loaded(), connected(backup=True) as (net, client, running):
        ours = [Flags.BACKUP in subflow.flags for subflow in client.subflows()]
        with network.inside(net.receiver), Client() as other:
            running.receiver.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"dstcc")
            wait_for(lambda: len(other.subflows()) == 2)
            theirs = [Flags.BACKUP in subflow.flags for subflow in other.subflows()]
            running.receiver.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
    assert ours == [False, True] and sorted(theirs) == [False, True], (ours, theirs)
    return {"ours": ours, "theirs": theirs}


@check
def held() -> dict[str, Any]:
    """A socket that somebody holds keeps nobody from seeing, setting and acting; its action comes with its release."""
    hold_s, quickly_s = 30.0, 0.5
    with (
        loaded(),
        two_paths() as net,
        plain(net) as (sender, _receiver, client),
        inside_client(net) as listener,
    ):
        (subflow,) = client.subflows()
        child = hold(sender, hold_s)
        time.sleep(1)
        begun = time.monotonic()
        listener.listen()
        client.set_parameters(slot_us=100_000, silence_slots=1000, headroom=0, reports=True)
        assert listener.report(quickly_s) is not None
        (seen,) = client.subflows()
        assert seen.cwnd == subflow.cwnd
        assert client.act([Action(subflow.id, 0, 30)]) == 1
        assert client.act([Action(subflow.id, 0, 33)]) == 1, "of several the last counts"
        client.set_parameters(slot_us=200_000)
        (during,) = client.subflows()
        took_s = time.monotonic() - begun
        assert took_s < 2 * quickly_s, took_s
        assert os.waitpid(child, 0)[1] == 0
        time.sleep(1)
        (after,) = client.subflows()
    assert (during.cwnd, during.steered) == (subflow.cwnd, False)
    assert (after.cwnd, after.steered, after.actions) == (33, True, 1)
    return {"took_s": took_s}


@check
def idle_silence() -> dict[str, Any]:
    """An agent's silence is noticed while nothing is acknowledged."""
    with loaded(), two_paths() as net, plain(net) as (_sender, _receiver, client):
        (subflow,) = client.subflows()
        client.set_parameters(slot_us=100_000, silence_slots=4)
        client.act([Action(subflow.id, ONE_Q16)])
        time.sleep(0.3)
        (before,) = client.subflows()
        time.sleep(0.3)
        (after,) = client.subflows()
    assert (before.steered, before.fallbacks) == (True, 0)
    assert (after.steered, after.fallbacks) == (False, 1)
    return {}


@check
def fallback_in_loss() -> dict[str, Any]:
    """Amid a timeout's repair Reno starts from one segment, with half the agent's window as its threshold."""
    with loaded(), two_paths() as net, plain(net) as (sender, _receiver, client):
        (subflow,) = client.subflows()
        client.set_parameters(slot_us=10**6, silence_slots=1000, headroom=0)
        client.act([Action(subflow.id, 0, 50)])
        lose(net, 100)
        sender.setblocking(False)
        sender.send(bytes(100_000))
        wait_for(lambda: client.subflows()[0].ca_state == 4)
        (lost,) = client.subflows()
        client.act([Action(subflow.id, None)])
        (fallen,) = client.subflows()
    assert (lost.cwnd, lost.steered) == (50, True)
    assert (fallen.cwnd, fallen.ssthresh, fallen.steered) == (1, 25, False)
    return {}


@check
def tcp_state() -> dict[str, Any]:
    """A state says where the connection is in its life."""
    with loaded(), two_paths() as net, plain(net) as (sender, receiver, client):
        states = [client.subflows()[0].tcp_state]
        sender.shutdown(socket.SHUT_WR)
        states.append(client.subflows()[0].tcp_state)
        time.sleep(1)
        states.append(client.subflows()[0].tcp_state)
    with loaded(), two_paths() as net, plain(net) as (_sender, receiver, client):
        receiver.shutdown(socket.SHUT_WR)
        time.sleep(1)
        states.append(client.subflows()[0].tcp_state)
    established, fin_wait_1, fin_wait_2, close_wait = 1, 4, 5, 8
    assert states == [established, fin_wait_1, fin_wait_2, close_wait], states
    return {}


@check
def bounded_headroom() -> dict[str, Any]:
    """The root of a user namespace has all rights over its network, but may not lift the guard of the machine's."""
    with loaded():
        child = os.fork()
        if child == 0:
            os._exit(_of_a_user_namespace())
        assert os.waitpid(child, 0)[1] == 0
        with two_paths() as net, inside_client(net) as client:
            client.set_parameters(headroom=0)
            client.set_parameters(headroom=1024)
            assert client.parameters().headroom == 1024
    return {}


def _of_a_user_namespace() -> int:
    new_user, new_network = 0x10000000, network.CLONE_NEWNET
    assert network.LIBC.unshare(new_user | new_network) == 0
    with Client() as client:
        client.set_parameters(headroom=4, silence_slots=7)
        said = refused("EPERM", lambda: client.set_parameters(headroom=0, silence_slots=8))
        assert "CAP_NET_ADMIN of the machine" in said
        refused("EPERM", lambda: client.set_parameters(headroom=5))
        kept = client.parameters()
        assert (kept.headroom, kept.silence_slots) == (4, 7), "a refusal sets nothing"
    return 0


@check
def refusals() -> dict[str, Any]:
    """Bad tokens, values, lengths and rights, each by name, and nothing is applied."""
    with loaded(), connected() as (net, client, _running):
        first, second = client.subflows()
        client.act([Action(first.id, 0, 20), Action(second.id, 0, 20)])
        said = [
            refused("ENOENT", lambda: client.act([Action(first.id, 0, 30), Action(10**6, ONE_Q16)])),
            refused("ENOENT", lambda: client.act([Action(first.id, 0, 30, token=(first.token or 0) ^ 1)])),
            refused("ERANGE", lambda: client.act([Action(first.id, 64 * ONE_Q16 + 1)])),
            refused("ERANGE", lambda: client.act([Action(first.id, 0, -(2**28) - 1)])),
            refused("ERANGE", lambda: client.act([Action(0, 0, 1)])),
            refused("EINVAL", lambda: client.act([Action(first.id, 0, 30), Action(first.id, 0, 31)])),
            refused("EINVAL", lambda: client.act([])),
            refused("ERANGE", lambda: client.set_parameters(slot_us=999)),
            refused("ERANGE", lambda: client.set_parameters(silence_slots=0)),
            refused("ERANGE", lambda: client.set_parameters(headroom=1025)),
            refused("ERANGE", lambda: client.set_cwnd_max(1)),
            refused(
                "EINVAL", lambda: client.family.request(Command.ACT, nest(Act.ACTION, attribute(99, b"")))
            ),
            refused("EINVAL", lambda: client.family.request(Command.LIMITS_SET)),
            refused("EOPNOTSUPP", lambda: client.family.request(99)),
            refused("EINVAL", lambda: one(client, attribute(ActionPart.SUBFLOW, b"\1\0"))),
        ]
        assert windows(client) == [20, 20]
        powerless(net, first.id)
    return {"said": said}


def powerless(net: Network, subflow: int) -> None:
    """Someone without rights reads, and may do nothing else."""
    child = os.fork()
    if child == 0:
        network.move(net.sender)
        os.setuid(65534)
        with Client() as client:
            assert len(client.subflows()) == 2
            refused("EPERM", lambda: client.act([Action(subflow, None)]))
            refused("EPERM", lambda: client.set_parameters(headroom=0))
            refused("EPERM", lambda: client.set_cwnd_max(2))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def one(client: Client, part: bytes) -> None:
    client.family.request(Command.ACT, nest(Act.ACTION, part))


@check
def killed_agent() -> dict[str, Any]:
    """An agent that dies in mid-run leaves a transfer under Reno and no report behind."""
    with loaded(), connected() as (net, client, running):
        client.set_parameters(slot_us=50_000, silence_slots=4, headroom=2)
        child = os.fork()
        if child == 0:
            network.move(net.sender)
            with Client() as agent:
                agent.listen()
                agent.set_parameters(reports=True)
                while report := agent.report(5):
                    agent.act([Action(s.id, ONE_Q16, 1) for s in report.subflows])
            os._exit(0)
        wait_for(lambda: all(s.steered and s.actions > 10 for s in client.subflows()))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        before = running.received
        wait_for(lambda: all(not s.steered for s in client.subflows()))
        wait_for(lambda: not client.parameters().reports)
        time.sleep(2)
        after = running.received - before
        assert after > 10**6
    return {"received_after": after}


@check
def policy() -> dict[str, Any]:
    """A policy drives: what it wants is what the kernel has, a slot after."""
    import numpy as np
    from dstcc_kernel.agent import Agent, Contact, Route

    from dstcc.learn.policies.policy import Policy
    from dstcc.learn.spaces.branched import MultiActions
    from dstcc.learn.spaces.observe import ObservationSpec

    act = MultiActions(subflows=2, layers=1, windows=((0.0, 64), (1.0, 0)), headroom=0)
    see = ObservationSpec("full", subflows=2, layers=1)
    bias = np.array([1, 0, 0, 1, 0, 1], np.float32)  # 64 segments; as it is; the layer on the second
    tensors = {"layers.0.weight": np.zeros((6, see.size), np.float32), "layers.0.bias": bias}
    by_hand = Policy(
        algorithm="by-hand",
        observation=see,
        action=act,
        network={"kind": "mlp", "activation": "relu"},
        tensors=tensors,
        seed=0,
        scenario_sha256="",
    )
    routes = [
        Route(frozenset({f"10.0.{path}.1"}), lambda now_s: Contact(0.02, True, float("inf")))
        for path in (1, 2)
    ]
    with loaded(), connected() as (_, client, _running):
        agent = Agent(by_hand, client, routes, layers=1, slot_s=0.2, scale=1.0, mss_bytes=1448)
        wait_for(lambda: not any(s.joining for s in client.subflows()))  # which is not the agent's yet
        kept = client.subflows()[1].cwnd
        for slot in range(1, 11):
            assert agent.decide(slot * 0.2, [0], [float("inf")]).layers == [1]
            time.sleep(0.2)
            first, second = client.subflows()
            assert first.steered and second.steered and first.cwnd == 64
            assert slot == 1 or second.cwnd == kept
            kept = second.cwnd
        time.sleep(1)
        assert not any(s.steered for s in client.subflows())
        agent.decide(3, [0], [float("inf")])
    return {"fallbacks": agent.totals.fallbacks}


@check
def cycles(count: int = 1000) -> dict[str, Any]:
    """Load and unload under traffic that comes and goes from the control, with state read meanwhile."""
    busy = 0
    with two_paths(delay_ms=5) as net, transfer(net, "cubic") as running:
        for i in range(count):
            module.load(CONTROL)
            running.control("dstcc")
            if i % 10 == 0:
                with inside_client(net) as client:
                    subflows = client.subflows()
                    client.act([Action(s.id, ONE_Q16, 1) for s in subflows])
                    client.set_group(SHARED, [s.id for s in subflows])
                busy += not unloaded()
            else:
                time.sleep(0.001)
            running.control("cubic" if i % 2 else "reno")
            module.unload()
        received = running.received
    assert busy == (count + 9) // 10, "a module in use cannot be unloaded"
    assert received > count * 1000
    return {"cycles": count, "received": received}


@check
def fuzz(count: int = 100_000) -> dict[str, Any]:
    """Malformed messages, drawn from a seed: the kernel refuses or takes them, and stays whole."""
    draw = random.Random(6)
    outcomes: dict[str, int] = {}
    with loaded(), connected(delay_ms=5) as (net, client, running):
        ids = [subflow.id for subflow in client.subflows()]
        with network.inside(net.sender), Family("dstcc", 1) as family:
            for i in range(count):
                number = send_raw(family, malformed(draw, family.id, ids))
                name = NetlinkError("", number).name if number else "accepted"
                outcomes[name] = outcomes.get(name, 0) + 1
                if i % 1000 == 0:
                    time.sleep(0.01)
                    running.control("dstcc" if i % 2000 else "cubic")
                    if i % 2000:
                        ids = [subflow.id for subflow in client.subflows()]
        running.control("dstcc")
        client.set_cwnd_max(2**28)
        client.set_parameters(slot_us=10**6, reports=False, headroom=2)
        assert len(client.subflows()) == 2
    assert outcomes["EINVAL"] > count // 10 and outcomes["accepted"] > 0
    return {"messages": count, "outcomes": outcomes}


def send_raw(family: Family, message: bytes) -> int:
    """Send a whole message as it is; the error's number that the kernel answers with, 0 for none. One too short to be a
    message gets no answer."""
    kernel = family._socket
    kernel.send(message)
    kernel.settimeout(0)
    worst = 0
    try:
        while True:
            for header, body in split(kernel.recv(BUFFER)):
                if header[1] == ERROR:
                    worst = worst or -struct.unpack_from("=i", body)[0]
    except BlockingIOError:
        return worst
    finally:
        kernel.settimeout(None)


def malformed(draw: random.Random, family: int, ids: list[int]) -> bytes:
    """A message that is right but for a few of its bytes, lengths, types, or not at all."""
    kinds = [
        (Command.ACT, [action(draw, ids) for _ in range(draw.choice([0, 1, 1, 2, 5, 70]))]),
        (Command.PARAMETERS_SET, [value(draw, draw.randrange(8)) for _ in range(draw.randrange(4))]),
        (Command.LIMITS_SET, [value(draw, Parameter.CWND_MAX)]),
        (Command.SUBFLOW_GET, [value(draw, draw.randrange(40)) for _ in range(draw.randrange(2))]),
        (Command.PARAMETERS_GET, [value(draw, draw.randrange(4)) for _ in range(draw.randrange(2))]),
        (Command.GROUP_SET, group_parts(draw, ids)),
        (Command.GROUP_GET, [value(draw, GroupPart.ID, draw.randrange(4))]),
        (draw.randrange(256), [draw.randbytes(draw.randrange(64))]),
    ]
    command, parts = draw.choices(kinds, weights=(8, 3, 2, 1, 1, 3, 1, 1))[0]
    payload = bytearray(
        COMMAND.pack(command, draw.choice([0, 1, 1, 2]), draw.choice([0, 0, 0, 7])) + b"".join(parts)
    )
    for _ in range(draw.choice([0, 0, 1, 1, 2, 8])):
        if payload:
            payload[draw.randrange(len(payload))] = draw.randrange(256)
    cut = draw.choice([len(payload)] * 3 + [draw.randrange(len(payload) + 1)])
    payload = payload[:cut]
    length = HEADER.size + len(payload)
    claimed = draw.choice([length] * 8 + [draw.randrange(1 << 16), length + 4])
    flags = draw.choice([5, 5, 5, 0x305, draw.randrange(1 << 16) | 1])
    return HEADER.pack(claimed, family, flags, draw.randrange(1 << 32), 0) + bytes(payload)


def group_parts(draw: random.Random, ids: list[int]) -> list[bytes]:
    parts = [value(draw, GroupPart.ID, draw.randrange(4))]
    parts += [value(draw, GroupPart.SUBFLOW, draw.choice(ids)) for _ in range(draw.choice([0, 1, 1, 2, 70]))]
    parts += [value(draw, draw.randrange(1, 12)) for _ in range(draw.choice([0, 0, 1, 2]))]
    return parts


def action(draw: random.Random, ids: list[int]) -> bytes:
    parts = [value(draw, ActionPart.SUBFLOW, draw.choice([*ids, *ids, 0, draw.randrange(1 << 32)]))]
    parts += [
        value(draw, kind) for kind in (2, 3, 4, 5, 6) if draw.random() < (0.1, 0.8, 0.5, 0.1, 0.02)[kind - 2]
    ]
    draw.shuffle(parts)
    return nest(draw.choice([Act.ACTION] * 9 + [2]), *parts)


def value(draw: random.Random, kind: int, given: int | None = None) -> bytes:
    number = given if given is not None else draw.choice([0, 1, 1000, ONE_Q16, draw.randrange(1 << 32)])
    body = struct.pack("=I", number)
    body = draw.choice([body] * 8 + [b"", body[:2], body + body, draw.randbytes(draw.randrange(32))])
    return attribute(kind, body)


@check
def ack_cost() -> dict[str, Any]:
    """Cycles of the processor per ACK, net of the loop around it; the least of three loads."""
    names = ("ours", "cubic", "cubic_alone", "loop")
    rounds = []
    with loaded():
        for _ in range(3):
            module.load(FOLDER / "test/dstcc_ack_bench.ko")
            parameters = Path("/sys/module/dstcc_ack_bench/parameters")
            rounds.append({name: int((parameters / name).read_text()) for name in names})
            module.unload("dstcc_ack_bench")
    least = {name: min(one[name] for one in rounds) for name in names}
    net = {name: (least[name] - least["loop"]) / 1000 for name in names if name != "loop"}
    return {
        "cycles": net,
        "ratio": net["ours"] / net["cubic"],
        "ratio_alone": net["ours"] / net["cubic_alone"],
    }


@check
def leaks() -> dict[str, Any]:
    """Fail for anything that kmemleak knows of; say whether the kernel has it."""
    file = Path("/sys/kernel/debug/kmemleak")
    if not file.exists():
        subprocess.run(["mount", "-t", "debugfs", "debug", "/sys/kernel/debug"], check=False)
    if not file.exists():
        return {"kmemleak": False}
    for _ in range(2):
        time.sleep(6)  # younger objects are not reported
        file.write_text("scan")
    report = file.read_text()
    assert "unreferenced object" not in report, report
    return {"kmemleak": True}


def main() -> None:
    """Run the checks that the command line names."""
    for word in sys.argv[2:]:
        name, _, count = word.partition("=")
        result = CHECKS[name](*([int(count)] if count else []))
        print(json.dumps({"check": name, **result}), flush=True)


if __name__ == "__main__":
    main()
