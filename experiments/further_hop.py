"""A bottleneck two hops on, beside the same on a single hop: each control's share of what others leave it.

    python -m experiments.further_hop [--seeds 3] [CONTROL..]

A line of 1 Mbit/s carries 500 kbit/s of others' datagrams, 10 s one way and with a queue of one bandwidth-delay
product. It is the only link, or the third behind two of 4 Mbit/s and nodes that store as much as that queue. The video
has 2 Mbit/s and no deadline. A share is the payload that arrived between 1,000 and 5,000 s of what the datagrams leave:
interquartile means with 95 % bootstrap intervals over seeds 1 and up.
"""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from dstcc.algorithms import CONGESTION, COUPLED
from dstcc.report.printed import heading, interval, line
from dstcc.scenario import Scenario
from dstcc.scenario.load import parse_scenario

from .played import plays

RATE_BPS, OTHERS_BPS, LIGHT_S = 1_000_000, 500_000, 10.0
FASTER_BPS = 4_000_000
QUEUE_BYTES = round(RATE_BPS / 8 * 2 * LIGHT_S)
FROM_S, TO_S = 1000, 5000
OWN = "dstcc"
CONTROLS = (*(name for name in CONGESTION if name not in ("agent", *COUPLED)), OWN)
"""Coupled controls weigh one path against another, which a connection of one has not."""
PAYLOAD = 1460 / 1500


def scenario_of(control: str, hops: int, seeds: int) -> Scenario:
    """The bottleneck at the end of so many hops, of the same light time in all."""
    last = {
        "rate_bps": RATE_BPS,
        "queue_bytes": QUEUE_BYTES,
        "loss": {"packet": 1e-4},
        "cross_traffic": [{"rate_bps": OTHERS_BPS}],
    }
    links: list[dict[str, Any]] = [{"rate_bps": FASTER_BPS} for _ in range(hops - 1)] + [last]
    names = ["rover", *(f"node{number}" for number in range(1, hops)), "earth"]
    for number, link in enumerate(links):
        link |= {"name": f"hop{number}", "delay_s": LIGHT_S / hops, "up_rate_bps": 100_000}
        if hops > 1:
            link |= {"from": names[number], "to": names[number + 1]}
    document: dict[str, Any] = {
        "scenario": {"name": f"{control} over {hops}", "duration_s": TO_S},
        "video": {"synthetic": {"chunk_s": 1.0, "layer_bps": [2_000_000]}, "loop_to_s": TO_S},
        "link": links,
        "transport": {"controller": OWN} if control == OWN else {"congestion": control},
        "playout": {"delay_s": float(TO_S)},
        "run": {"seeds": seeds, "slot_s": 20},
    }
    if hops > 1:
        document["path"] = [{"via": [link["name"] for link in links]}]
        document["node"] = [
            {"name": name, **({"storage_bytes": QUEUE_BYTES} if name.startswith("node") else {})}
            for name in names
        ]
    return parse_scenario(document, source=f"{control} over {hops}")


def shares(control: str, hops: int, seeds: int) -> list[float]:
    """One a seed."""
    found = []
    for trial in plays(scenario_of(control, hops, seeds)):
        if trial.outcome is None:
            raise click.ClickException(f"{trial.id}: {trial.error}")
        objects, payload = trial.outcome.result.objects, trial.outcome.setup.objects.payload_bytes
        at_s = objects.complete_ns / 1e9
        there = np.where((at_s >= FROM_S) & (at_s < TO_S), payload, 0).sum()
        found.append(float(there) * 8 / ((RATE_BPS - OTHERS_BPS) * PAYLOAD * (TO_S - FROM_S)))
    return found


@click.command(help=__doc__)
@click.argument("controls", nargs=-1, type=click.Choice(CONTROLS))
@click.option("--seeds", default=3, show_default=True, type=click.IntRange(2), help="From 1 on.")
def main(controls: tuple[str, ...], seeds: int) -> None:
    """Print the table."""
    heading("Further hop", ("control", "single hop", "two hops on"))
    for control in controls or CONTROLS:
        line(f"`{control}`", *(interval(shares(control, hops, seeds)) for hops in (1, 3)))


if __name__ == "__main__":
    main()
