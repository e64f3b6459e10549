"""The initial window that a laid link gives, run as root in a guest: ``python initial_windows.py MODULE``.

Prints a line of JSON with the route as the kernel has it, and one for each round trip, protocol and number of lost
SYNs: the window a connection begins with, and the cap of our module for it.
"""

from __future__ import annotations

import json
import re
import select
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

from dstcc_kernel import module
from dstcc_kernel.netlink import Action, Client
from dstcc_kernel.topology import (
    FIRST_TABLE,
    Shape,
    Topology,
    Wire,
    build,
    craft_address,
    earth_address,
    inside,
)

WINDOW, RTO_MIN_MS, PORT = 40, 700, 5000
PROTOCOLS = {"TCP": socket.IPPROTO_TCP, "MPTCP": 262}
CWND_AT, BUFFER_BYTES = 80, 1 << 22
"""``tcpi_snd_cwnd`` in ``struct tcp_info``; any buffer."""


def main() -> None:
    """Go through round trips below and above the second after which a SYN is repeated."""
    module.load(Path(sys.argv[1]))
    for rtt_s in (0.5, 20.0):
        up = Shape(round(rtt_s * 1e9 / 2), 0.0, 1e7, 1000)
        with build(BUFFER_BYTES) as topology:
            topology.lay(0, Wire(up, up, 1536, 36, 24, WINDOW, RTO_MIN_MS), [craft_address(0)])
            print(json.dumps({"route": metrics_of(topology)}))
            for name in PROTOCOLS:
                for lost in range(4):
                    window, cap = begin(topology, up, name, lost)
                    result = {"rtt_s": rtt_s, "protocol": name, "lost": lost, "window": window, "cap": cap}
                    print(json.dumps(result), flush=True)


def metrics_of(topology: Topology) -> dict[str, int]:
    """Of the spacecraft's route, as iproute2 reads them."""
    words = ["ip", "route", "show", "table", str(FIRST_TABLE)]
    with inside(topology.craft):
        text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    found = re.search(r"initcwnd (\d+)(?: rto_min lock (\d+)ms| rto_min (\d+)ms)?", text)
    assert found is not None, text
    return {"initcwnd": int(found[1]), "rto_min_ms": int(found[2] or found[3] or 0)}


def begin(topology: Topology, up: Shape, protocol: str, lost: int) -> tuple[int, int]:
    """Connect while so many SYNs are lost; the first window, and the largest that an action gets."""
    with inside(topology.earth):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, PROTOCOLS[protocol])
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((earth_address(0), PORT))
    listener.listen(1)
    with inside(topology.craft):
        sender = socket.socket(socket.AF_INET, socket.SOCK_STREAM, PROTOCOLS[protocol])
        client = Client()
    with listener, sender, client:
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"dstcc")
        sender.bind((craft_address(0), 0))
        sender.setblocking(False)
        if lost:
            topology.change(0, Shape(up.delay_ns, 1.0, up.rate_bps, up.queue_packets), up=False)
        sender.connect_ex((earth_address(0), PORT))
        if lost:
            time.sleep(2**lost - 1.5)  # SYNs leave after 0, 1, 3, 7 s
            topology.change(0, up, up=False)
        select.select([], [sender], [])
        info = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        (window,) = struct.unpack_from("=I", info, CWND_AT)
        (subflow,) = client.subflows()
        client.act([Action(subflow.id, 0, 1 << 20)])
        (capped,) = client.subflows()
    time.sleep(600)  # until what it leaves in the kernel is gone
    return window, capped.cwnd


if __name__ == "__main__":
    main()
