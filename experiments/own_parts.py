"""What the parts of `dstcc` bring: it, and it without each.

    python -m experiments.own_parts [--seeds 10] [--first 801] [CELL..]

Cells are those of `experiments.rivals`. *no coding* repairs losses by no packet that was planned (lost blocks are still
completed a round trip later), *a tenth* has that share of repair in the place of what its belief in losses gains most
by, *no plan* begins with a handshake and knows of no contact, *bbr-scaled* has BBR's rates in the place of `paced`'s.
Interquartile means of `weighted_layers` with 95 % bootstrap intervals.
"""

from __future__ import annotations

import click

from dstcc.run.trials import run_trials
from dstcc.scenario import load_source, parse_override
from dstcc.scenario.model import Scenario
from scripts.published.printed import heading, interval, line

from .rivals import Cell, cells

CODED = 'mode = "coded", handshake = {handshake}, congestion = "{congestion}"'
PARTS: dict[str, tuple[str, float | str | None]] = {
    "dstcc": ('controller = "dstcc"', None),
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
    plain = cell.plain()
    keys = parse_override(f"transport={{{transport}, mss_bytes = {plain.transport.mss_bytes}}}").value
    changed = plain.model_dump(exclude_unset=True, exclude={"transport", "coding"}) | {"transport": keys}
    changed["run"] = changed.get("run", {}) | {"seed": seed, "seeds": 1}
    if repair is not None:
        share = isinstance(repair, float)
        changed["coding"] = {"repair": [repair] * load_source(plain).layers if share else repair}
    return Scenario.model_validate(changed)


def weight(scenario: Scenario) -> float:
    """What its one trial plays."""
    (trial,) = run_trials(scenario, quality=False, jobs=1)
    if trial.metrics is None:
        raise click.ClickException(f"{trial.id}: {trial.error}")
    return trial.metrics.flat()["weighted_layers"] or 0.0


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--seeds", default=10, show_default=True)
@click.option("--first", default=801, show_default=True, help="The first seed.")
def main(names: tuple[str, ...], seeds: int, first: int) -> None:
    """Print the table."""
    heading("Parts", ("cell", *PARTS))
    for cell in cells():
        if cell.name in (names or CELLS):
            span = range(first, first + seeds)
            line(
                cell.name,
                *(interval([weight(without(cell, part, seed)) for seed in span]) for part in PARTS),
            )


if __name__ == "__main__":
    main()
