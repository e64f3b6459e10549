"""Live streams without losses over two and three links, on the simulator and on the kernel that is meant.

    python -m experiments.live_streams [--congestion NAME]... [--links N]...

The grid's mission (`experiments.fidelity.cells`) as one MPTCP connection, over links of 160 to 230 packets: nothing
is drawn,
so what is varied is the size of the links. A row a control and number of links: the means of both over the sizes, the
simulator's to the kernel's, and the ratios' range.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from math import inf
from statistics import fmean

from dstcc_kernel.source import release

from experiments.fidelity.cells import MISSION_RTT_S, Cell
from experiments.fidelity.measure import Seen, carried, simulated

CONTROLS = ("cubic", "newreno", "bbr")
SIZES = (160, 180, 200, 230)
LENGTH_RTTS = 28


def compared(name: str, links: int) -> str:
    """One row of the table."""
    cells = [
        Cell("mission", name, MISSION_RTT_S, 0.0, links, size, LENGTH_RTTS, kernel=release().name)
        for size in SIZES
    ]
    ours, real = [simulated(cell, 1) for cell in cells], [carried(cell, 1) for cell in cells]
    parts = [
        _pair([getattr(seen, field) for seen in ours], [getattr(seen, field) for seen in real])
        for field in FIELDS
    ]
    return f"| {name} | {links} | {' | '.join(parts)} |"


FIELDS = [field for field in Seen._fields if field != "mean_rtt_s"]
HEAD = "| control | links | throughput, kbit/s | repeated | weighted layers |\n|---|---|---|---|---|"


def _pair(ours: Sequence[float], real: Sequence[float]) -> str:
    unit = 1e3 if fmean(real) > 1 else 1.0
    ratios = sorted(one / other if other else inf for one, other in zip(ours, real, strict=True))
    means = " / ".join(f"{fmean(values) / unit:.3g}" for values in (ours, real))
    return f"{means} = {fmean(ours) / fmean(real):.3f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--congestion", action="append", choices=CONTROLS)
    parser.add_argument("--links", action="append", type=int, choices=(2, 3))
    options = parser.parse_args(argv)
    print(HEAD, flush=True)
    for name in options.congestion or CONTROLS:
        for links in options.links or (2, 3):
            print(compared(name, links), flush=True)


if __name__ == "__main__":
    main()
