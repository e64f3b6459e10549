"""What a policy of coded packets and its rivals play, over playout delay and over bytes sent.

    python -m experiments.forecast_front SCENARIO.. [--controller gru-mpc] [--delays 0.7 0.9 1.2 1.6] -o front.json

Each scenario is played at each playout delay (in round trips) by the policy, by the ladder's planner on its filter's
belief, by the shipped rules, and by constants, one share for all layers. Rules and constants are the best of a scenario
and delay in hindsight. Printed are means over scenarios and seeds: of `weighted_layers`, with a 95 % bootstrap interval
over seeds, and of bytes sent by bytes of source. A star stands where no other row of the same delay plays as much with
as few bytes. What was played is kept in the file of ``-o``; what is there is not played again.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dstcc.coded.fleet import Fleet
from dstcc.coded.rules import CHOICES, Automatic, Constant
from dstcc.coded.stored import SHIPPED, load_rules
from dstcc.forecast.files import load_forecaster
from dstcc.forecast.sender import Forecasting
from dstcc.ladder.believing import PlannerOnBelief
from dstcc.scenario import load_scenario, parse_override

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dstcc.arrays import Float64Array
    from dstcc.coded.seen import Sender

FIRST_SEED = 501
BOOTSTRAP, SEED = 1_000, 1
Played = list[list[float]]
"""Of a sender: by seed its share of the weight, and its bytes sent by bytes of source."""


def senders(controller: str, fleet: Fleet) -> list[tuple[str, Sender]]:
    """Each with the row that it belongs to: of a row the best counts."""
    policy = load_forecaster(controller)
    found: list[tuple[str, Sender]] = [
        (policy.name, Forecasting(policy)),
        ("planner-belief", PlannerOnBelief()),
        *(("best tuned rule", rule) for rule in load_rules(SHIPPED)),
    ]
    if fleet.automatic:
        found.append(("best tuned rule", Automatic()))
    return [*found, *(("best constant", Constant((share,) * fleet.layers)) for share in CHOICES[::2])]


def play(path: Path, delay: float, seeds: int, controller: str) -> dict[str, Played]:
    """By row: the best of its senders."""
    scenario = load_scenario(path, [parse_override(f"playout.delay_rtts={delay}")])
    fleet = Fleet(scenario, range(FIRST_SEED, FIRST_SEED + seeds))
    source = float(fleet.configs[0].objects.payload_bytes.sum())
    best: dict[str, Played] = {}
    for row, sender in senders(controller, fleet):
        results = fleet.results(sender)
        values = [fleet.value(*pair) for pair in zip(fleet.configs, results, strict=True)]
        sent = [float(one.totals.sent_payload_bytes) / source for one in results]
        if row not in best or np.mean(values) > np.mean(best[row][0]):
            best[row] = [values, sent]
    return best


def unbeaten(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Of (played, sent): whether no other plays as much with as few bytes, and one of both better."""
    return [
        not any(p >= played and s <= sent and (p, s) != (played, sent) for p, s in points)
        for played, sent in points
    ]


def interval(values: Float64Array) -> tuple[float, float]:
    """Of the mean over scenarios and seeds of (scenarios, seeds), by a bootstrap over each scenario's seeds."""
    draws = np.random.default_rng(SEED)
    picks = draws.integers(values.shape[1], size=(BOOTSTRAP, *values.shape))
    means = np.take_along_axis(values[None].repeat(BOOTSTRAP, axis=0), picks, axis=2).mean(axis=(1, 2))
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def table(played: dict[float, list[dict[str, Played]]]) -> list[str]:
    """Rows as Markdown; by delay what each scenario's rows played."""
    rows = ["| RTTs | | weighted_layers | sent by source | |", "|---|---|---|---|---|"]
    for delay, scenarios in sorted(played.items()):
        of = {name: np.array([one[name] for one in scenarios]) for name in scenarios[0]}
        points = [(float(part[:, 0].mean()), float(part[:, 1].mean())) for part in of.values()]
        for (name, part), (value, sent), star in zip(of.items(), points, unbeaten(points), strict=True):
            low, high = interval(part[:, 0])
            mark = "*" if star else ""
            rows.append(f"| {delay:g} | {name} | {value:.3f} [{low:.3f}, {high:.3f}] | {sent:.3f} | {mark} |")
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    """Play what is not played yet, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scenarios", nargs="+", type=Path)
    parser.add_argument("--controller", default="gru-mpc", help="a policy of coded packets, by name or file")
    parser.add_argument(
        "--delays", nargs="+", type=float, default=[0.7, 0.9, 1.2, 1.6], help="in round trips"
    )
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("-o", "--output", type=Path, required=True, help="file of what was played")
    arguments = parser.parse_args(argv)
    kept: dict[str, dict[str, Played]] = {}
    if arguments.output.exists():
        kept = json.loads(arguments.output.read_text())
    played: dict[float, list[dict[str, Played]]] = {}
    for path in arguments.scenarios:
        for delay in arguments.delays:
            key = f"{path} {delay:g} {arguments.controller} {arguments.seeds}"
            if key not in kept:
                kept[key] = play(path, delay, arguments.seeds, arguments.controller)
                arguments.output.write_text(json.dumps(kept, indent=1) + "\n")
            played.setdefault(delay, []).append(kept[key])
    print("\n".join(table(played)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
