"""What MPTCP's scheduler ``dstcc`` must do, run as root in a guest: ``python scheduler_checks.py FOLDER CHECK...``.

FOLDER holds ``dstcc_cc.ko``. Each check prints what it found as a line of JSON, or fails by an assertion.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import network
from dstcc_kernel import layers, module
from dstcc_kernel.genetlink import NetlinkError
from dstcc_kernel.netlink import Client, Subflow
from dstcc_kernel.path_manager import Backups
from network import Network, two_paths

CONTROL = Path(sys.argv[1]) / "dstcc_cc.ko"
PORT = 5001
BLOCK = 1 << 16
CHECKS: dict[str, Callable[[], dict[str, Any]]] = {}


def check(function: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    """Enter a check by its name."""
    CHECKS[function.__name__] = function
    return function


@dataclass
class Connection:
    """One that the checks write themselves, and what its other end got."""

    network: Network
    client: Client
    sender: network.socket.socket
    received: bytearray

    @property
    def subflows(self) -> list[Subflow]:
        return self.client.subflows()

    @property
    def token(self) -> int:
        token = self.subflows[0].token
        assert token
        return token

    def carried(self) -> dict[tuple[int, int], int]:
        return {(row.layer, row.local_id): row.carried for row in layers.carried(self.client, self.token)}

    def write(self, ranges: list[tuple[int, bytes]]) -> None:
        """Announce ranges of a layer's bytes, and write all of them at once."""
        layers.announce(self.client, self.token, [(layer, len(data), 0) for layer, data in ranges])
        self.sender.sendall(b"".join(data for _, data in ranges))

    def wait_for(self, written: int) -> None:
        """Until so many bytes have arrived in all, and each subflow's are acknowledged."""
        end = time.monotonic() + 600
        while len(self.received) < written or any(s.in_flight or s.unsent_bytes for s in self.subflows):
            assert time.monotonic() < end, f"{len(self.received)} of {written} bytes arrived"
            time.sleep(0.05)


@contextmanager
def connected(scheduler: str = layers.SCHEDULER, **how: Any) -> Iterator[Connection]:
    """A connection with a subflow on each of two paths, local ids 0 and 1."""
    module.load(CONTROL)
    try:
        with two_paths(**how) as net:
            with network.inside(net.sender):
                Path("/proc/sys/net/mptcp/scheduler").write_text(scheduler)
                client = Client()
                sender = network.socket.socket(
                    network.socket.AF_INET, network.socket.SOCK_STREAM, network.MPTCP
                )
            with network.inside(net.receiver):
                listener = network.socket.socket(
                    network.socket.AF_INET, network.socket.SOCK_STREAM, network.MPTCP
                )
            listener.bind((net.addresses[0], PORT))
            listener.listen(1)
            sender.setsockopt(network.socket.IPPROTO_TCP, network.socket.TCP_CONGESTION, b"dstcc")
            sender.connect((net.addresses[0], PORT))
            receiver, _ = listener.accept()
            received = bytearray()

            def receive() -> None:
                while block := receiver.recv(1 << 20):
                    received.extend(block)

            reader = threading.Thread(target=receive, daemon=True)
            reader.start()
            with client:
                connection = Connection(net, client, sender, received)
                sender.sendall(bytes(BLOCK))  # nobody announced it: the default scheduler's
                end = time.monotonic() + 20
                while len(connection.subflows) < 2 or len(received) < BLOCK:
                    assert time.monotonic() < end, "waited in vain"
                    time.sleep(0.05)
                time.sleep(1)
                yield connection
            sender.setsockopt(network.socket.IPPROTO_TCP, network.socket.TCP_CONGESTION, b"reno")
            sender.close()
            reader.join(timeout=30)
            receiver.close()
            listener.close()
    finally:
        module.unload()


def mixed(count: int, seed: int) -> list[tuple[int, bytes]]:
    """Ranges of three layers, from a byte to more than the kernel keeps in one piece."""
    chance = random.Random(seed)
    return [(chance.randrange(3), chance.randbytes(int(2 ** chance.uniform(0, 16)))) for _ in range(count)]


def by_path(connection: Connection) -> dict[int, int]:
    return {s.local_id or 0: s.acked_bytes for s in connection.subflows}


def told(ranges: list[tuple[int, bytes]], table: dict[int, int]) -> Counter[tuple[int, int]]:
    sums: Counter[tuple[int, int]] = Counter()
    for layer, data in ranges:
        sums[layer, table[layer]] += len(data)
    return sums


@check
def placement() -> dict[str, Any]:
    """Each range goes whole on the subflow that its layer has, and all of them arrive in their order."""
    tables = ({0: 0, 1: 1, 2: 0}, {0: 1, 1: 0, 2: 1}, {0: 0, 1: 0, 2: 0})
    expected: Counter[tuple[int, int]] = Counter()
    written = bytes(BLOCK)
    with connected(loss_percent=0.5) as connection:
        before = by_path(connection)
        for number, table in enumerate(tables):
            layers.set_table(connection.client, connection.token, table)
            ranges = mixed(layers.RANGES_MAX, number)
            connection.write(ranges)
            expected += told(ranges, table)
            written += b"".join(data for _, data in ranges)
            connection.wait_for(len(written))
        assert connection.received == written, "bytes in another order"
        rows = layers.carried(connection.client, connection.token)
        assert {(row.layer, row.local_id): row.carried for row in rows} == expected
        assert not any(row.strayed or row.moved or row.late for row in rows), rows
        # TCP's own count of each subflow says the same
        after = by_path(connection)
        risen = {path: after[path] - before[path] for path in after}
        assert risen == {path: sum(n for at, n in expected.items() if at[1] == path) for path in (0, 1)}
    return {"by_path": risen}


@check
def the_default_scheduler_does_otherwise() -> dict[str, Any]:
    """What `placement` compares would tell a kernel that ignores the table."""
    with connected("default") as connection:
        before = by_path(connection)
        ranges = mixed(layers.RANGES_MAX, 0)
        data = b"".join(data for _, data in ranges)
        connection.sender.sendall(data)
        connection.wait_for(BLOCK + len(data))
        after = by_path(connection)
        for what in (
            lambda: layers.set_table(connection.client, connection.token, {0: 0}),
            lambda: layers.announce(connection.client, connection.token, [(0, 1, 0)]),
            lambda: layers.carried(connection.client, connection.token),
        ):
            assert refused("EOPNOTSUPP", what) == "the connection has another scheduler"
    expected = told(ranges, {0: 0, 1: 1, 2: 0})
    shares = [sum(n for at, n in expected.items() if at[1] == path) for path in (0, 1)]
    risen = [after[path] - before[path] for path in (0, 1)]
    assert sum(risen) >= sum(shares)
    assert abs(risen[0] - shares[0]) > 1448, (risen, shares)
    return {"by_path": risen}


@check
def failure() -> dict[str, Any]:
    """What was on a subflow that died goes on the other; what the other had stays, and nothing is sent twice there."""
    with connected(rate_mbit=5) as connection:
        layers.set_table(connection.client, connection.token, {0: 0, 1: 1})
        first = [(layer, random.Random(layer).randbytes(300_000)) for layer in (0, 1)]
        connection.write(first)
        time.sleep(0.1)
        for device, host in (("b0", connection.network.sender), ("b1", connection.network.receiver)):
            shape = ["root", "netem", "limit", "500", "loss", "100%"]
            subprocess.run(["tc", "-n", host, "qdisc", "replace", "dev", device, *shape], check=True)
        last = [(layer, random.Random(2 + layer).randbytes(100_000)) for layer in (1, 0)]
        connection.write(last)
        written = bytes(BLOCK) + b"".join(data for _, data in (*first, *last))
        end = time.monotonic() + 600
        while len(connection.received) < len(written):
            assert time.monotonic() < end, f"{len(connection.received)} of {len(written)} bytes arrived"
            time.sleep(0.1)
        assert connection.received == written
        rows = {(row.layer, row.local_id): row for row in layers.carried(connection.client, connection.token)}
    assert sum(row.carried for row in rows.values()) == 800_000
    assert sum(row.carried for (layer, _), row in rows.items() if layer == 0) == 400_000
    assert rows[0, 0].carried == 400_000 and rows[0, 0].moved == 0
    other = rows[1, 0]
    assert other.moved > 0
    assert other.moved + other.strayed >= 100_000  # layer 1's last bytes came after the path's end
    assert other.strayed == other.carried
    return {"moved": other.moved, "strayed": other.strayed}


@check
def thrown_away() -> dict[str, Any]:
    """Without memory for sockets TCP takes what comes in order, and acknowledges it; MPTCP has no room and drops it.
    That goes again on the subflow that carried it, though nothing of it is under way there any more."""
    limits = Path("/proc/sys/net/ipv4/tcp_mem")
    usual = limits.read_text()
    with connected() as connection:
        layers.set_table(connection.client, connection.token, {0: 0, 1: 1})
        ranges = [(layer, random.Random(layer).randbytes(30_000)) for layer in (0, 1)]
        connection.write(ranges)
        limits.write_text("1 1 1")
        time.sleep(1)
        acknowledged = not any(s.in_flight or s.unsent_bytes for s in connection.subflows)
        limits.write_text(usual)
        missing = BLOCK + 60_000 - len(connection.received)
        assert acknowledged and missing > 0, (acknowledged, missing)
        connection.wait_for(BLOCK + 60_000)
        assert connection.received[BLOCK:] == b"".join(data for _, data in ranges)
        rows = layers.carried(connection.client, connection.token)
        assert {(row.layer, row.local_id): row.carried for row in rows} == {(0, 0): 30_000, (1, 1): 30_000}
    return {"missing": missing}


@check
def announcements() -> dict[str, Any]:
    """A range's own subflow wins over the table's; what was announced and not written is forgotten; late bytes."""
    with connected() as connection:
        client, token = connection.client, connection.token
        layers.announce(client, token, [(7, 1000, 0)])
        layers.announce(client, token, [(8, 500, 1)])
        connection.sender.sendall(bytes(1500))
        connection.wait_for(BLOCK + 1500)
        rows = layers.carried(client, token)
        assert [(row.layer, row.carried, row.late) for row in rows] == [(8, 500, 500)], rows
        layers.set_table(client, token, {1: 1})
        layers.announce(client, token, [(1, 100, 0)])
        connection.sender.sendall(bytes(100))
        layers.announce(client, token, [(1, 100, 0, 0)])
        connection.sender.sendall(bytes(100))
        connection.wait_for(BLOCK + 1700)
        assert {at: n for at, n in connection.carried().items() if at[0] == 1} == {(1, 1): 100, (1, 0): 100}
        assert refused("ENOENT", lambda: layers.set_table(client, token + 1, {0: 0})) == "no such connection"
        refused("ERANGE", lambda: layers.set_table(client, token, {64: 0}))
        refused("ERANGE", lambda: layers.announce(client, token, [(0, 0, 0)]))
        refused("E2BIG", lambda: layers.announce(client, token, [(0, 1, 0)] * 65))
    return {}


@check
def backup_flags() -> dict[str, Any]:
    """On any kernel: a subflow that no layer has gets nothing new, and something again once a layer has it."""
    shares = []
    module.load(CONTROL)
    with two_paths() as net:
        with network.inside(net.sender):
            client, backups = Client(), Backups([["10.0.1.1"], ["10.0.2.1"]])
        with client, backups, network.transfer(net):
            while len(client.subflows()) < 2:
                time.sleep(0.05)
            time.sleep(2)
            for links in ([0, 0, 0], [1, 1, 1], [0, 1, 0], [0, 0, 0], [0, -1, 0]):
                backups.keep(links)
                time.sleep(1)  # what was on its way when the flags changed
                before = {s.local_id: s.acked_bytes for s in client.subflows()}
                time.sleep(2)
                after = {s.local_id: s.acked_bytes for s in client.subflows()}
                shares.append([after[path] - before[path] for path in (0, 1)])
    module.unload()
    for carried, used in zip(shares, ({0}, {1}, {0, 1}, {0}, {0, 1}), strict=True):
        assert {path for path in (0, 1) if carried[path] > 100_000} == used, shares
    return {"shares": shares}


@check
def no_scheduler() -> dict[str, Any]:
    """A kernel that was not built with it says so."""
    module.load(CONTROL)
    with Client() as client:
        said = refused("EOPNOTSUPP", lambda: layers.set_table(client, 1, {0: 0}))
    module.unload()
    assert said == "the kernel has no MPTCP scheduler dstcc"
    return {}


def refused(name: str, what: Callable[[], object]) -> str:
    """The kernel's words when it refuses by that name."""
    try:
        what()
    except NetlinkError as error:
        assert error.name == name, error
        return error.text
    raise AssertionError(f"not refused ({name})")


if __name__ == "__main__":
    for name in sys.argv[2:]:
        print(json.dumps({"check": name, **CHECKS[name]()}), flush=True)
