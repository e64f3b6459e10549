"""What a wrong setting costs QUIC at a distance: the points of examples/sweeps/quic-profile.toml, without guests.

    python -m experiments.quic_profile [--jobs 2] [-o docs/tables/quic-profile.csv]

Both ends are those of examples/quic/quic.py on aioquic, which has neither sockets nor a clock of its own: here they
have a virtual clock, and the links of examples/quic/relay.toml between them (rates, delays, breaks, storage, losses
without memory). A point takes a fraction of a second of processor time in place of a guest's four.
A row is a point and depends on nothing else; with ``-o`` rows that the file has already are kept.
"""

from __future__ import annotations

import csv
import heapq
import importlib.util
import io
import itertools
import math
import os
import random
import shlex
import signal
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import click
from dstcc_kernel.endhosts.planning import options_of

from dstcc.atomic import atomic_write
from dstcc.run.asked import read
from dstcc.scenario import Override, Scenario
from dstcc.sweeps.study import load_study

ROOT = Path(__file__).parents[1]
PROGRAM, STUDY = ROOT / "examples/quic/quic.py", ROOT / "examples/sweeps/quic-profile.toml"
HEADERS = 28
"""Bytes of IPv4 and UDP, which the links carry with a datagram."""
LONGEST_S = 8 * 86_400.0
"""As relay.toml: then the client is stopped."""
SERVER, CLIENT = ("10.0.0.2", 4433), ("10.0.0.1", 40_000)
LOOK_S = 1e-6
"""What it takes to look at the clock: a timer that is due again and again must not hold up time."""
SIZE = 100_000
AXES = ("window", "loss", "place", "break", "initial_rtt", "idle", "storage")


class Clock:
    """In the place of the module ``time``."""

    now = 0.0

    def monotonic(self) -> float:
        """Seconds of the run."""
        return self.now


@dataclass
class Hop:
    """One way of a link: a queue that storage bounds, a rate, breaks, a delay, losses."""

    rate_bps: float
    delay_s: float
    storage_bytes: float = math.inf
    breaks: tuple[tuple[float, float], ...] = ()
    loss: float = 0.0
    draws: random.Random = field(default_factory=lambda: random.Random(0))
    free_s: float = 0.0
    held: deque[tuple[float, int]] = field(default_factory=deque)
    """When each packet that waits or is in service has left, and its bytes."""
    held_bytes: int = 0
    dropped: int = 0
    lost: int = 0

    def pass_on(self, now: float, size: int) -> float | None:
        """When a packet that comes now is at the other end, if ever."""
        while self.held and self.held[0][0] <= now:
            self.held_bytes -= self.held.popleft()[1]
        if self.held_bytes + size > self.storage_bytes:
            self.dropped += 1
            return None
        begin, takes = max(now, self.free_s), size * 8 / self.rate_bps
        for start, end in self.breaks:
            if begin < end and begin + takes > start:
                begin = end
        self.free_s = begin + takes
        self.held.append((self.free_s, size))
        self.held_bytes += size
        if self.draws.random() < self.loss:
            self.lost += 1
            return None
        return self.free_s + self.delay_s


def ends(clock: Clock) -> ModuleType:
    """quic.py, with our clock."""
    spec = importlib.util.spec_from_file_location("quic_ends", PROGRAM)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.time = clock  # type: ignore[attr-defined]
    return module


class Line:
    """A socket's sending side."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send

    def sendto(self, data: bytes, _address: Any) -> None:
        """Put a datagram on the line."""
        self._send(data)


def play(
    get: Sequence[str], serve: Sequence[str], down: list[Hop], up: list[Hop], longest_s: float = LONGEST_S
) -> dict[str, Any]:
    """A page fetched by two command lines: what both ends say, and what the links did. ``up`` leads from Earth."""
    clock = Clock()
    module = ends(clock)
    client, server = module.Client(module.knobs_of(list(get))), module.Server(module.knobs_of(list(serve)))
    client.quic = client.connection(client.configuration(is_client=True, verify_mode=0, server_name="earth"))
    client.quic.connect(SERVER, now=0.0)
    order = itertools.count()
    coming: list[tuple[float, int, Any, int, bytes]] = []
    """Time, order, end, the next hop, data."""

    def advance(at: float, end: Any, hop: int, data: bytes) -> None:
        hops = up if end is client else down
        if hop == len(hops):
            heapq.heappush(coming, (at, next(order), end, -1, data))
            return
        arrival = hops[hop].pass_on(at, len(data) + HEADERS)
        if arrival is not None:
            heapq.heappush(coming, (arrival, next(order), end, hop + 1, data))

    lines = {
        client: Line(lambda data: advance(clock.now, server, 0, data)),
        server: Line(lambda data: advance(clock.now, client, 0, data)),
    }
    client.flush(lines[client])
    while not client.over:
        timers = [
            (max(timer, clock.now + LOOK_S), end)
            for end in (client, server)
            if end.quic is not None and not end.over and (timer := end.timer()) is not None
        ]
        timer, waiting = min(timers, key=lambda one: one[0], default=(math.inf, None))
        packet = coming[0][0] if coming else math.inf
        clock.now = min(timer, packet)
        if clock.now > longest_s:
            clock.now = longest_s
            break
        if packet <= timer:
            _, _, end, hop, data = heapq.heappop(coming)
            if hop >= 0 and hop < len(up if end is client else down):
                advance(clock.now, end, hop, data)
                continue
            if end.over:
                continue
            end.said["received_datagrams"] += 1
            end.take(data, SERVER if end is client else CLIENT)
        else:
            assert waiting is not None
            end = waiting
            end.tick()
        end.flush(lines[end])
    client.flush(lines[client])
    hops = (*down, *up)
    return {
        "client": client.said,
        "server": server.said,
        "why": client.why,
        "server_why": server.why,
        "ended_s": clock.now,
        "lost": sum(hop.lost for hop in hops),
        "dropped": sum(hop.dropped for hop in hops),
    }


def relay(scenario: Scenario) -> tuple[list[Hop], list[Hop]]:
    """The hops of relay.toml, each way. A packet that meets a break waits at the node before it."""
    link = scenario.link[1]
    breaks = tuple((begin, end) for begin, end in link.outages or ())
    loss = link.loss.packet if link.loss is not None else None
    if not isinstance(link.delay_s, int | float) or not isinstance(loss, int | float | None):
        raise click.ClickException(f"{link.name}: its delay and loss are numbers here")
    delay_s, lost = float(link.delay_s), float(loss or 0.0)
    stored = [float(node.storage_bytes or math.inf) for node in scenario.node]
    draws = [random.Random(number) for number in (1, 2)]
    down = [Hop(1e6, 0.01), Hop(1e6, delay_s, stored[1], breaks, lost, draws[0]), Hop(1e7, 0.02, stored[2])]
    up = [Hop(1e7, 0.02), Hop(1e6, delay_s, stored[2], breaks, lost, draws[1]), Hop(1e6, 0.01, stored[1])]
    return down, up


def run(scenario: Scenario) -> dict[str, Any]:
    """The scenario's programs, by their own command lines."""
    options = options_of(scenario, "python")
    at = options.command.index("get")
    return play(options.command[at:], shlex.split(options.on[0][1])[2:], *relay(scenario))


def point_of(number: int) -> dict[str, Any]:
    """A row."""
    study = load_study(STUDY)
    point = list(study.points())[number]
    settings = {**dict(study.settings), **dict(zip(study.keys, point.values, strict=True))}
    changed = [Override(tuple(key.split(".")), value) for key, value in settings.items()]
    scenario = read(point.scenario, changed, folder=study.folder)
    known = study.known(point)
    found = run(scenario)
    client, server = found["client"], found["server"]
    done = client.get("done_s") if client["bytes"] == SIZE else None
    return {
        "point": number,
        **{name: known[name] for name in AXES},
        "succeeded": int(done is not None),
        "connected_s": shown(client.get("connected_s")),
        "done_s": shown(done),
        "ended_s": shown(found["ended_s"]),
        "why": found["why"] if done is None else "",
        "client_bytes": client["sent_bytes"],
        "server_bytes": server["sent_bytes"],
        "server_packets": server["sent_datagrams"],
        "lost": found["lost"],
        "dropped": found["dropped"],
    }


def shown(seconds: float | None) -> str:
    """To the hundredth."""
    return "" if seconds is None else f"{seconds:.2f}"


def certify(folder: str, key: str = "ed25519") -> None:
    """Put the server's key and certificate there."""
    words = f"openssl req -x509 -newkey {key} -nodes -days 365 -subj /CN=earth -out cert.pem -keyout key.pem"
    subprocess.run(words.split(), check=True, cwd=folder, capture_output=True)


def begin(folder: str) -> None:
    """Be where the server finds its certificate. An Ed25519 signature always has 64 bytes; ECDSA's differ between runs,
    and what a small store drops with them."""
    os.chdir(folder)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@click.command()
@click.option("--jobs", default=1, show_default=True)
@click.option("--every", default=1, show_default=True, help="Only every so many points.")
@click.option("--first", default=0, show_default=True, help="The point to begin with.")
@click.option("-o", "--output", type=click.Path(path_type=Path))
def main(jobs: int, every: int, first: int, output: Path | None) -> None:
    """Print the points that the file has not, and write all."""
    count = len(list(load_study(STUDY).points()))
    rows = {}
    if output is not None and output.exists():
        with output.open() as file:
            rows = {int(row["point"]): row for row in csv.DictReader(file)}
    left = [number for number in range(first, count, every) if number not in rows]
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            ProcessPoolExecutor(jobs, initializer=begin, initargs=(folder,)) as pool,
        ):
            certify(folder)
            for row in pool.map(point_of, left):
                rows[row["point"]] = row
                click.echo(",".join(map(str, row.values())))
    finally:
        if output is not None and rows:
            text = io.StringIO()
            table = csv.DictWriter(text, list(next(iter(rows.values()))), lineterminator="\n")
            table.writeheader()
            table.writerows(rows[number] for number in sorted(rows))
            atomic_write(output, text.getvalue().encode())


if __name__ == "__main__":
    main()
