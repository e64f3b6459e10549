"""The cells of the grid: what is run on the simulator and on the kernel, as scenarios anybody could write down.

Three grids. ``saturated``: transfers without end, of 100 full packets' bandwidth-delay product and a queue of one more;
the rate follows from the round trip, so that cells of one row differ by constants of seconds only (RTO_MIN, delayed
ACK, HyStart, BBR's windows). ``large``: the same with 800 packets. ``mission``: live video of four layers over two
links, judged against deadlines; the second link has 3/2 of the first one's round trip and a tenth of its losses. One
has a third link, with twice the first one's round trip and a hundredth of its losses. Ten have one link, a shallow
queue and no losses. Smaller ones have lanes on one link: over queues of 0.2 to 0.3 of what it holds, one size a seed,
as nothing else is left to chance there; with losses both ways and an outage; in Mars' true time. Others have three
such links, with lanes and in one stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import sqrt
from typing import Any, NamedTuple

from dstcc_kernel.source import DEFAULT, RELEASES, release

from dstcc.scenario import Scenario

CONTROLS = ("cubic", "newreno", "westwood", "vegas", "bbr", "bic", "fixed")
RTTS_S = (0.1, 1.0, 10.0)
LOSSES = (0.0, 1e-4, 1e-3, 1e-2)
LINKS = (1, 2)
WIRE_BYTES = 1500
SATURATED_RTTS = {0.0: 150, 1e-4: 400, 1e-3: 600, 1e-2: 1500}
"""Longer where losses are many and windows small: a mean wants a hundred losses, the kernel's time goes by packets."""
MISSION_RTT_S = 25.0
"""The demo's 1,020 s at its scale."""
MISSION_LOAD = 0.83
"""Of what both links carry: the demo's."""
LAYER_SHARES = (0.6, 0.2, 0.1, 0.1)
CHUNKS_PER_RTT = 25
DELAY_RTTS = 2.5
SHALLOW = 0.25
"""Of the bandwidth-delay product: a queue that slow start overflows, and lanes of one link with it."""
SHALLOWS = {2: (0.2, 0.3), 8: (0.23, 0.3), 16: (0.23, 0.3)}
"""The same by lanes, from the first seed to the last of :data:`SIZES`."""
SIZES = 8
SHALLOW_PACKETS = {2: 200, 8: 400, 16: 800}
"""Bandwidth-delay products by lanes: the shallowest queue takes each lane's initial window and the ACK that ends its
handshake, a packet to netem. Where it does not, MPTCP falls back to TCP when a connection's first segment is lost."""
MARS_RTT_S = 400.0
WIDE_WINDOW = 16 << 20
"""Bytes of a receiver's window, over several links: more than two send buffers hold. 6.12 binds all of that
at once, and in the usual buffer what waits for the other subflow's data leaves no window for more (mptcp_space())."""
READ_SHARE = 1 / 40
"""Of a round trip, by which one-way delays of lossless transfers differ at most: round trips by the time between two
reads of the program (LOOKS_PER_RTT). Where in that time segments arrive decides, and one run shows one course."""
FEW_LOSSES = (("vegas", 0.1, 1e-4, 2, 100), ("cubic", 1.0, 1e-3, 1, 800))
"""Control, round trip, loss, links and bandwidth-delay product: where that counts with losses, too. It decides whether
CUBIC's HyStart ends a start before the queue overflows."""
PRIMES = (2, 3, 5)
"""Their roots have nothing in common."""


class Cell(NamedTuple):
    """A row of the table. Lengths and outages are counted in round trips of the first link."""

    grid: str
    congestion: str
    rtt_s: float
    loss: float
    links: int = 1
    bdp_packets: int = 100
    """Of each link."""
    length_rtts: int = 150
    mode: str = "stream"
    lanes: int = 1
    initial_cwnd: int = 10
    outage_rtts: int = 0
    """Of the first link, from a third of the run on."""
    kernel: str = DEFAULT
    """Which of :data:`~dstcc_kernel.source.RELEASES`."""
    queue_share: float = 1.0
    """Of the bandwidth-delay product, in each link's queue."""
    queue_to: float = 0.0
    """The share of the last of :data:`SIZES` seeds, where they differ by it; those between are as far apart."""
    up_loss: float = 0.0
    """Of ACKs."""
    longer_us: float = 0.0
    """By up to so much, one-way delays differ from seed to seed: where Linux's microseconds decide which of two equal
    round trips is the least, and losses are rare, seeds would else repeat one course."""

    @property
    def name(self) -> str:
        """Every field, so that results are kept under it."""
        lanes = f"lanes {self.lanes}" if self.mode == "lanes" else "stream"
        outage = f" outage {self.outage_rtts}" if self.outage_rtts else ""
        queue = f" queue {self.queue_share:g}" if self.queue_share != 1 else ""
        queue += f" to {self.queue_to:g}" if self.queue_to else ""
        acks = f" of ACKs {self.up_loss:g}" if self.up_loss else ""
        kernel = f" Linux {self.kernel}" if self.kernel != DEFAULT else ""
        longer = f" longer {self.longer_us:g}" if self.longer_us else ""
        start = f" iw {self.initial_cwnd}{outage}{queue}{longer}{kernel}"
        return (
            f"{self.grid} {self.congestion} rtt {self.rtt_s:g} loss {self.loss:g}{acks} links {self.links} "
            f"bdp {self.bdp_packets} length {self.length_rtts} {lanes}{start}"
        )

    def longer_s(self, seed: int, link: int) -> float:
        """Of a link's one-way delay; over seeds these fill the range evenly, each link's by itself."""
        return 1e-6 * self.longer_us * (seed * sqrt(PRIMES[link]) % 1)

    def queue_packets(self, seed: int) -> int:
        """Of each link."""
        share = self.queue_share
        if self.queue_to:
            share += (self.queue_to - share) * ((seed - 1) % SIZES) / (SIZES - 1)
        return round(share * self.bdp_packets)

    @property
    def alone(self) -> bool:
        """Has the kernel one run of it, as nothing is left to chance?"""
        return self.loss == 0.0 and not self.queue_to and not self.longer_us

    @property
    def judged(self) -> bool:
        """Is there video, so that layers are played?"""
        return self.grid == "mission"


SEEDS = {"saturated": 8, "large": 10, "mission": 20}
"""Runs of the kernel by default; where nothing is lost one a queue's size or delay, as such runs differ by nothing
else."""


def seeds_of(cell: Cell, wanted: int | None) -> int:
    """How many runs of the kernel a cell has."""
    if wanted is not None:
        return wanted
    if cell.alone:
        return 1
    return SIZES if cell.loss == 0.0 else SEEDS[cell.grid]


def grid() -> Iterator[Cell]:
    """All cells, on the kernel that is meant."""
    meant = release().name
    yield from (cell._replace(kernel=meant) for cell in _cells())


def _cells() -> Iterator[Cell]:
    for name, rtt_s, loss, links in product(CONTROLS, RTTS_S, LOSSES, LINKS):
        if name != "bic":
            yield _phased(Cell("saturated", name, rtt_s, loss, links, length_rtts=SATURATED_RTTS[loss]))
    for name, loss in product(CONTROLS, (0.0, 1e-4, 1e-3)):
        yield _phased(Cell("large", name, 1.0, loss, bdp_packets=800, length_rtts=60 if loss == 0.0 else 100))
    for window in (4, 40):
        yield _phased(Cell("large", "cubic", 1.0, 0.0, bdp_packets=800, length_rtts=60, initial_cwnd=window))
    yield from _missions()


def _phased(cell: Cell) -> Cell:
    """With delays that differ by seed where nothing else does, but under a window that never changes; and in two cells
    with so few losses that the seeds' courses are nearly one."""
    few = cell.congestion, cell.rtt_s, cell.loss, cell.links, cell.bdp_packets
    if (cell.loss > 0.0 and few not in FEW_LOSSES) or cell.congestion == "fixed":
        return cell
    return cell._replace(longer_us=1e6 * READ_SHARE * cell.rtt_s)


def _missions() -> Iterator[Cell]:
    """One mission, and others that differ from it in one thing."""
    base = Cell(
        "mission", "cubic", MISSION_RTT_S, 1e-3, 2, bdp_packets=800, length_rtts=28, mode="lanes", lanes=16
    )
    yield base
    for name in ("newreno", "westwood", "vegas", "bbr", "bic"):
        yield base._replace(congestion=name)
    for lanes in (1, 4):
        yield base._replace(lanes=lanes)
    yield base._replace(mode="stream", lanes=1)
    yield base._replace(congestion="newreno", mode="stream", lanes=1)
    for window in (4, 40):
        yield base._replace(initial_cwnd=window)
    for length in (12, 50):
        yield base._replace(length_rtts=length)
    yield base._replace(links=3)
    yield base._replace(outage_rtts=4)
    yield base._replace(loss=1e-2)
    alone = base._replace(loss=0.0, links=1, queue_share=SHALLOW)
    for name, lanes in product(("newreno", "westwood", "cubic"), (1, 2, 8)):
        yield alone._replace(congestion=name, lanes=lanes)
    yield alone._replace(congestion="bbr", lanes=2)
    yield from _small(alone._replace(bdp_packets=200))


def _small(alone: Cell) -> Iterator[Cell]:
    """Short runs, so that each cell can have many: lanes on one link, and three links."""
    for name, (lanes, (least, most)) in product(("cubic", "newreno", "westwood", "bbr"), SHALLOWS.items()):
        shallow = alone._replace(queue_share=least, queue_to=most, bdp_packets=SHALLOW_PACKETS[lanes])
        yield shallow._replace(congestion=name, lanes=lanes)
    troubled = alone._replace(queue_share=1.0, loss=1e-3, up_loss=1e-2, outage_rtts=4)
    for name in ("cubic", "newreno", "westwood"):
        yield troubled._replace(congestion=name, lanes=8)
    for name, lanes in product(("cubic", "newreno"), (2, 8)):
        yield alone._replace(congestion=name, lanes=lanes, rtt_s=MARS_RTT_S, queue_share=1.0, loss=1e-3)
    three = alone._replace(links=3, queue_share=1.0, loss=1e-3)
    for name in ("cubic", "newreno", "westwood"):
        yield three._replace(congestion=name, lanes=4)
    for name, longer_us in (("cubic", 0.0), ("newreno", 0.0), ("bbr", 20.0)):
        yield three._replace(congestion=name, mode="stream", lanes=1, longer_us=longer_us)


def scenario_of(cell: Cell, seed: int = 1) -> Scenario:
    """A cell as a scenario."""
    return _mission(cell, seed) if cell.judged else _transfer(cell, seed)


def _transfer(cell: Cell, seed: int) -> Scenario:
    """The source is more than the links carry, and nothing has a deadline."""
    length_s = cell.length_rtts * cell.rtt_s
    links = [_link(cell, seed, i, cell.rtt_s, cell.loss) for i in range(cell.links)]
    offered = 1.2 * sum(link["rate_bps"] for link in links)
    wide = cell.links > 1 and RELEASES[cell.kernel].scheduler == "linux"
    window: dict[str, Any] = {"receive_buffer_bytes": WIDE_WINDOW} if wide else {}
    if cell.congestion == "fixed":
        window["fixed_cwnd_segments"] = [cell.bdp_packets]
    return Scenario.model_validate(
        {
            "scenario": {"name": "fidelity", "duration_s": length_s},
            "video": {
                "synthetic": {"chunk_s": length_s, "layer_bps": [offered]},
                "source": "stored",
                "loop_to_s": length_s,
            },
            "link": links,
            "transport": {"congestion": cell.congestion, "initial_cwnd": cell.initial_cwnd, **window},
            "playout": {"mode": "stall"},
            "run": {"scale": 1, "slot_s": cell.rtt_s if cell.congestion == "fixed" else length_s / 20},
        }
    )


def _mission(cell: Cell, seed: int) -> Scenario:
    rtts = [cell.rtt_s * (1 + i / 2) for i in range(cell.links)]
    links = [_link(cell, seed, i, rtt, cell.loss / 10**i) for i, rtt in enumerate(rtts)]
    length_s = cell.length_rtts * cell.rtt_s
    if cell.outage_rtts:
        start_s = length_s / 3
        links[0]["outages"] = [[start_s, start_s + cell.outage_rtts * cell.rtt_s]]
    payload = MISSION_LOAD * sum(link["rate_bps"] for link in links)
    lanes = {"lanes_per_link": cell.lanes} if cell.mode == "lanes" else {}
    return Scenario.model_validate(
        {
            "scenario": {"name": "fidelity"},
            "video": {
                "synthetic": {
                    "chunk_s": cell.rtt_s / CHUNKS_PER_RTT,
                    "layer_bps": [share * payload for share in LAYER_SHARES],
                },
                "loop_to_s": length_s,
            },
            "link": links,
            "transport": {
                "mode": cell.mode,
                "congestion": cell.congestion,
                "initial_cwnd": cell.initial_cwnd,
                **lanes,
            },
            "playout": {"mode": "deadline", "delay_rtts": DELAY_RTTS},
            "run": {"scale": 1, "slot_s": cell.rtt_s},
        }
    )


def _link(cell: Cell, seed: int, number: int, rtt_s: float, loss: float) -> dict[str, Any]:
    bdp_bytes = cell.bdp_packets * WIRE_BYTES
    losses = {"loss": {"packet": loss}, "up_loss": {"packet": cell.up_loss}} if loss else {}
    return {
        "name": f"link {number}",
        "rate_bps": 8 * bdp_bytes / rtt_s,
        "delay_s": rtt_s / 2 + cell.longer_s(seed, number),
        "queue_bytes": WIRE_BYTES * cell.queue_packets(seed),
        **losses,
    }
