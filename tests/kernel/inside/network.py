"""Two hosts on two paths, and an MPTCP transfer between them: what the tests of the congestion control run on.

Runs as root, in a guest or on the machine. The hosts are named, so that ``ip`` can set them up; the names have the
process's number in them and go with :func:`two_paths`.
"""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

MPTCP = 262
CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass
class Network:
    """The two hosts' namespaces by name."""

    sender: str
    receiver: str
    addresses: tuple[str, ...] = ("10.0.1.2", "10.0.2.2")
    """The receiver's, by path."""


@contextmanager
def inside(namespace: str) -> Iterator[None]:
    """Have this thread in a namespace: sockets that it opens belong there for good."""
    with Path("/proc/thread-self/ns/net").open() as before, Path("/run/netns", namespace).open() as there:
        _enter(there.fileno())
        try:
            yield
        finally:
            _enter(before.fileno())


def move(namespace: str) -> None:
    """Have this thread in a namespace for good."""
    with Path("/run/netns", namespace).open() as there:
        _enter(there.fileno())


@contextmanager
def two_paths(
    delay_ms: int = 20,
    rate_mbit: int = 50,
    *,
    loss_percent: float = 0,
    netem: bool = True,
    backup: bool = False,
) -> Iterator[Network]:
    """Lay two paths, each direction with this delay, rate and loss and 500 packets' room; plain without ``netem``. The
    second one is a ``backup`` by the sender's word."""
    network = Network(f"t{os.getpid()}s", f"t{os.getpid()}r")
    s, r = network.sender, network.receiver
    try:
        lines = [f"netns add {s}", f"netns add {r}"]
        for name in "ab":
            lines += [f"link add {name}0 netns {s} type veth peer name {name}1 netns {r}"]
        _ip(lines)
        for end, host in ((0, s), (1, r)):
            lines = ["link set lo up", "mptcp limits set subflow 4 add_addr_accepted 4"]
            for path, name in enumerate("ab", start=1):
                lines += [f"addr add 10.0.{path}.{end + 1}/24 dev {name}{end}"]
                lines += [
                    f"link set {name}{end} address 02:00:00:00:0{path}:0{end} gso_max_segs 1 txqueuelen 10000 up"
                ]
                neighbour = f"10.0.{path}.{2 - end} lladdr 02:00:00:00:0{path}:0{1 - end} dev {name}{end}"
                lines += [f"neigh replace {neighbour} nud permanent"]  # ARP gives up before light is back
            _ip(lines, host)
            with inside(host):
                _sysctls()
        _ip(["rule add from 10.0.2.1 table 2", "route add default via 10.0.2.2 dev b0 table 2"], s)
        _ip([f"mptcp endpoint add 10.0.2.1 dev b0 subflow{' backup' * backup}"], s)
        if netem:
            for device, host in (("a0", s), ("b0", s), ("a1", r), ("b1", r)):
                shape = f"qdisc add dev {device} root netem limit 500 delay {delay_ms}ms rate {rate_mbit}mbit"
                shape += f" loss {loss_percent}%" if loss_percent else ""
                subprocess.run(["tc", "-n", host, *shape.split()], check=True)
        yield network
    finally:
        for host in (s, r):
            subprocess.run(["ip", "netns", "del", host], check=False)


@dataclass
class Transfer:
    """A connection that sends as fast as it may until told to stop."""

    sender: socket.socket
    receiver: socket.socket
    listener: socket.socket
    received: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        """Begin to send and to receive."""
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._send, self._receive)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End both ways; the sockets are closed. What they leave in the kernel for some time uses no module."""
        self._stop.set()
        self.control("reno")
        for end in (self.sender, self.receiver):
            end.settimeout(0.01)
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for end in (self.sender, self.receiver, self.listener):
            end.close()

    def control(self, name: str) -> None:
        """Change the congestion control of every subflow."""
        self.sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())

    def _send(self) -> None:
        block = bytes(1 << 16)
        while not self._stop.is_set():
            try:
                self.sender.send(block)
            except TimeoutError:
                continue
            except OSError:
                return

    def _receive(self) -> None:
        while not self._stop.is_set():
            try:
                block = self.receiver.recv(1 << 20)
            except TimeoutError:
                continue
            except OSError:
                return
            if not block:
                return
            self.received += len(block)


@contextmanager
def transfer(
    network: Network, control: str = "dstcc", *, port: int = 5001, protocol: int = MPTCP
) -> Iterator[Transfer]:
    """Connect, and send from start to end of the block."""
    with inside(network.receiver):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((network.addresses[0], port))
    listener.listen(1)
    with inside(network.sender):
        sender = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    sender.connect((network.addresses[0], port))
    receiver, _ = listener.accept()
    sender.settimeout(0.2)
    receiver.settimeout(0.2)
    running = Transfer(sender, receiver, listener)
    running.start()
    try:
        yield running
    finally:
        running.stop()


def _sysctls() -> None:
    values = {
        "ipv4/conf/all/rp_filter": "0",
        "ipv4/conf/default/rp_filter": "0",
        "mptcp/enabled": "1",
        "ipv4/tcp_no_metrics_save": "1",
        "ipv4/tcp_rmem": "4096 8000000 64000000",
        "ipv4/tcp_wmem": "4096 4000000 64000000",
    }
    for name, value in values.items():
        Path("/proc/sys/net", name).write_text(value)
    # some kernels only: MPTCP however long a SYN takes
    for name, value in (
        ("ipv4/tcp_syn_linear_timeouts", "0"),
        ("mptcp/syn_retrans_before_tcp_fallback", "255"),
    ):
        if Path("/proc/sys/net", name).exists():
            Path("/proc/sys/net", name).write_text(value)
    for device in Path("/proc/sys/net/ipv4/conf").iterdir():
        (device / "rp_filter").write_text("0")


def _ip(lines: list[str], namespace: str | None = None) -> None:
    command = ["ip", *(["-n", namespace] if namespace else []), "-batch", "-"]
    subprocess.run(command, input="\n".join(lines) + "\n", text=True, check=True)


def _enter(file: int) -> None:
    if LIBC.setns(file, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
