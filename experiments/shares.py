"""Who gets how much of a link: the tables of docs/learning.md on sharing.

    python -m experiments.shares [--seeds 10] [--only NAME]

Two of dstcc-lanes on examples/sharing/two-of-a-kind.toml, where there is room for both, and where the other sends all
it can. Then each controller's connection on examples/sharing/two-greedy.toml, beside a flow of its own kind and
beside one of CUBIC; both have more to send than the link carries. Values are interquartile means with 95 % bootstrap
intervals over seeds 1 and up: the share of what both had acknowledged that was the connection's, and Jain's index of
both, over the time in which both send.
"""

from __future__ import annotations

from pathlib import Path

import click

from dstcc.algorithms import CONTROLLERS
from dstcc.report.printed import heading, interval, line
from dstcc.scenario import Scenario

from .played import metrics_of, mission, plays

SHARING = Path(__file__).parents[1] / "examples" / "sharing"
SCENARIO = SHARING / "two-greedy.toml"
OTHER = "the other's throughput_bps"
KIND = SHARING / "two-of-a-kind.toml"
ALL_IT_CAN = "link.0.flows.0.rate_bps="
OTHERS = {
    "needs as much": (),
    "sends all it can": (ALL_IT_CAN,),
    "the same, from an hour on": (ALL_IT_CAN, "link.0.flows.0.start_s=3600"),
}
"""What the other of two of a kind does, and what of the scenario makes it so."""
UNSHARED = ("gru-mpc", "mpquic-rl")
"""Under gru-mpc a flow of the same control would be TCP's open loop; a controller of schedulers has CUBIC's windows."""
NAMES = ("cubic", *(name for name in CONTROLLERS if name not in UNSHARED))
BESIDE = ("same", "cubic")


def scenario_of(name: str, beside: str, seeds: int) -> Scenario:
    """The scenario under a control or controller, beside a flow of ``beside``."""
    kind = "controller" if name in CONTROLLERS else "congestion"
    other = "congestion" if kind == "controller" else "controller"
    overrides = [
        f"transport.{kind}=[{name!r}]",
        f"transport.{other}=[]",
        f"link.0.flows.0.congestion={beside}",
        f"run.seeds={seeds}",
    ]
    return mission(SCENARIO, *overrides)


def measured(scenario: Scenario) -> dict[str, list[float | None]]:
    """Metrics of a trial and the rate of the other, seed by seed. Raises ClickException where a trial failed."""
    trials = plays(scenario, jobs=None)
    metrics_of(trials)
    outcomes = [trial.outcome for trial in trials if trial.outcome is not None]
    rates = [[float(str(flow["throughput_bps"] or 0)) for flow in one.flows] for one in outcomes]
    values = {key: [one.metrics.values[key] for one in outcomes] for key in outcomes[0].metrics.values}
    return values | {OTHER: [sum(one) for one in rates]}


def shares(name: str, beside: str, seeds: int) -> dict[str, list[float]]:
    """Each seed's ``own_share`` and ``fairness_jain``; nothing counts as 0."""
    values = measured(scenario_of(name, beside, seeds))
    return {key: [float(value or 0) for value in values[key]] for key in ("own_share", "fairness_jain")}


def print_of_a_kind(seeds: int) -> None:
    """A row for what the other does."""
    heading("Two of dstcc-lanes", ("the other", "`weighted_layers`", "`own_share`", "the other's kbit/s"))
    for other, overrides in OTHERS.items():
        texts = (*overrides, f"run.seeds={seeds}")
        values = measured(mission(KIND, *texts))
        cells = (
            "–" if None in values[key] else interval([float(one or 0) for one in values[key]], digits, unit)
            for key, digits, unit in (("weighted_layers", 3, 1), ("own_share", 3, 1), (OTHER, 1, 1e3))
        )
        line(other, *cells)


@click.command(help=__doc__)
@click.option("--seeds", default=10, show_default=True, type=click.IntRange(2), help="From 1 on.")
@click.option("--only", type=click.Choice(NAMES), help="One controller.")
def main(seeds: int, only: str | None) -> None:
    """Print the tables."""
    if only in (None, "dstcc-lanes"):
        print_of_a_kind(seeds)
    heading("Two greedy", ("", "beside its own kind: share", "Jain", "beside CUBIC: share", "Jain"))
    for name in NAMES:
        if only in (None, name):
            both = [shares(name, beside, seeds) for beside in BESIDE]
            line(f"`{name}`", *(interval(values[key]) for values in both for key in values))


if __name__ == "__main__":
    main()
