"""What a guest runs to record a trajectory: ``python -m experiments.trajectories.inside FOLDER``.

Lays a spacecraft and Earth in a namespace each, with a third between them that holds the other ends of their devices
and no addresses: the C++ program beside this moves every packet there. ``FOLDER/setup.json`` says the rest.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from dstcc_kernel.module import load
from dstcc_kernel.netlink import Action, Client
from dstcc_kernel.rtnetlink import ON_LINK
from dstcc_kernel.topology import (
    CHECKSUMS,
    OFFLOADS,
    PAGES,
    allow_joins,
    common,
    enter,
    join_from,
    new_namespace,
    offloads_off,
    routes_of,
)

MACS = ("02:00:00:00:00:01", "02:00:00:00:00:02")
HOSTS = ("10.0.0.1", "10.0.0.2")
SLOT_US = 1_000_000


def main(folder: Path) -> int:
    """Carry out what the folder's ``setup.json`` says."""
    setup: dict[str, Any] = json.loads((folder / "setup.json").read_text())
    Path("/proc/sys/net/ipv4/tcp_mem").write_text(PAGES)
    if setup["module"] is not None:
        load(Path(setup["module"]))
    home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    spaces = [new_namespace(setup["buffer_bytes"], None, setup["sysctls"]) for _ in range(3)]
    enter(home)
    craft, relay, earth = spaces
    _lay(craft, relay, ("craft", "rcraft"), 0, setup)
    _lay(earth, relay, ("earth", "rearth"), 1, setup)
    if setup["addresses"]:
        _join(craft, earth, setup["addresses"])
    plan = folder / "plan.txt"
    plan.write_text(f"spaces {craft} {relay} {earth}\n" + setup["plan"] + f"out {folder / 'events.txt'}\n")
    with subprocess.Popen([setup["program"], str(plan)], pass_fds=spaces) as playing:
        if setup["decisions"]:
            enter(craft)
            time.sleep(max(0.0, setup["start_s"] + 0.001 - time.monotonic()))
            decide(folder / "events.txt", setup["decisions"], setup["silence_slots"])
        return playing.wait()


def decide(events: Path, decisions: list[tuple[float, int, int]], silence_slots: int) -> None:
    """Ask for windows of the spacecraft's one subflow, each at its time on the program's clock."""
    while not events.exists() or not (text := events.read_text()):
        time.sleep(0.001)
    start_s = int(text.split(maxsplit=1)[0]) / 1e9
    with Client() as client:
        client.set_parameters(slot_us=SLOT_US, silence_slots=silence_slots)
        for at_s, alpha_q16, beta in decisions:
            time.sleep(max(0.0, start_s + at_s - time.monotonic()))
            client.act([Action(client.subflows()[0].id, alpha_q16, beta)])


def _lay(host: int, relay: int, names: tuple[str, str], index: int, setup: dict[str, Any]) -> None:
    """A host's device, its other end in the relay, and its way to the other host."""
    with routes_of(host) as ip, routes_of(relay) as far:
        ip.pair(names, (MACS[index], None), relay, common(setup["mtu"]))
        device = ip.index(names[0])
        far.up(far.index(names[1]))
        offloads_off(host, names[0], (CHECKSUMS, *OFFLOADS))
        offloads_off(relay, names[1])
        ip.up(device)
        ip.address(device, HOSTS[index], 32)
        other = HOSTS[1 - index]
        ip.neighbour(device, other, MACS[1 - index])
        metrics = {"initcwnd": setup["initial_cwnd"]} if index == 0 else {}
        ip.route(f"{other}/32", device, scope=ON_LINK, metrics=metrics)


def _join(craft: int, earth: int, addresses: list[str]) -> None:
    """Have connections join further subflows from these addresses of the spacecraft's device."""
    for space in (craft, earth):
        allow_joins(space)
    with routes_of(craft) as ip:
        device = ip.index("craft")
        for number, address in enumerate(addresses, start=1):
            ip.address(device, address, 32)
            join_from(craft, number, address, backup=False)
    with routes_of(earth) as back:
        device = back.index("earth")
        for address in addresses:
            back.neighbour(device, address, MACS[0])
            back.route(f"{address}/32", device, scope=ON_LINK)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
