"""What the parts of `dstcc` bring: it, and it without each.

    python -m experiments.own_parts [--seeds 10] [--first 801] [CELL..]

Cells are those of `experiments.rivals`. *no forecaster* leaves repair to the engine's rule, however losses change,
*no coding* repairs losses by no packet that was planned (lost blocks are still
completed a round trip later), *a tenth* has that share of repair in the place of what its belief in losses gains most
by, *no plan* begins with a handshake and knows of no contact, *bbr-scaled* has BBR's rates in the place of `paced`'s.
Interquartile means of `weighted_layers` with 95 % bootstrap intervals.
"""

from __future__ import annotations

import click

from dstcc.report.printed import heading, interval, line
from dstcc.scenario import Scenario, load_source

from .played import alone, plays, values_of
from .rivals import Cell, cells

CODED = 'mode = "coded", handshake = {handshake}, congestion = "{congestion}"'
PARTS: dict[str, tuple[str, float | str | None]] = {
    "dstcc": ('controller = "dstcc"', None),
    "no forecaster": (CODED.format(handshake="false", congestion="paced"), "auto"),
    "no coding": (CODED.format(handshake="false", congestion="paced"), 0.0),
    "a tenth": (CODED.format(handshake="false", congestion="paced"), 0.1),
    "no plan": (CODED.format(handshake="true", congestion="paced"), "auto"),
    "bbr-scaled": (CODED.format(handshake="false", congestion="bbr-scaled"), "auto"),
}
"""Of each its `[transport]` and its repair: a share of each layer, or the rule."""
CELLS = ("table 1, 1.5 RTT", "loss 1e-1", "sinking", "dark, unannounced", "further-on", "handover")


def without(cell: Cell, part: str, seed: int) -> Scenario:
    """A cell under one of :data:`PARTS`."""
    transport, repair = PARTS[part]
    plain, more = cell.plain(), {}
    if repair is not None:
        share = isinstance(repair, float)
        more["coding"] = {"repair": [repair] * load_source(plain).layers if share else repair}
    return alone(plain, transport, {"seed": seed, "seeds": 1}, **more)


def weights(cell: Cell, part: str, seeds: range) -> list[float]:
    """What it plays, a value a seed."""
    return [value for seed in seeds for value in values_of(plays(without(cell, part, seed)))]


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--seeds", default=10, show_default=True)
@click.option("--first", default=801, show_default=True, help="The first seed.")
def main(names: tuple[str, ...], seeds: int, first: int) -> None:
    """Print the table."""
    heading("Parts", ("cell", *PARTS))
    for cell in cells():
        if cell.name in (names or CELLS):
            line(cell.name, *(interval(weights(cell, part, range(first, first + seeds))) for part in PARTS))


if __name__ == "__main__":
    main()
