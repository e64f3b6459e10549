"""Who gets how much of a link: the table of docs/learning.md on sharing.

    python scripts/shares.py [--seeds 10] [--only NAME] [--congestion NAME]

Each controller's connection on examples/sharing/two-greedy.toml, beside a flow of its own kind and beside one of CUBIC;
both have more to send than the link carries. Values are interquartile means with 95 % bootstrap intervals over seeds 1
and up: the share of what both had acknowledged that was the connection's, and Jain's index of both, over the time in
which both send.
"""

from __future__ import annotations

from pathlib import Path

import click

from dstcc.algorithms import CONTROLLERS
from dstcc.report.printed import interval, line
from dstcc.run import run_trials
from dstcc.scenario import Scenario, load_scenario, load_source, parse_override

SCENARIO = Path(__file__).parents[1] / "examples" / "sharing" / "two-greedy.toml"
UNSHARED = ("gru-mpc", "mpquic-rl")
"""Coded packets have no TCP flows beside them; a controller of schedulers has CUBIC's windows."""
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
    return load_scenario(SCENARIO, [parse_override(text) for text in overrides])


def shares(name: str, beside: str, seeds: int) -> dict[str, list[float]]:
    """Each seed's ``own_share`` and ``fairness_jain``; nothing counts as 0."""
    scenario = scenario_of(name, beside, seeds)
    trials = run_trials(scenario, load_source(scenario), quality=False)
    failed = [f"{trial.id}: {trial.error}" for trial in trials if trial.metrics is None]
    if failed:
        raise click.ClickException("; ".join(failed))
    rows = [trial.metrics.values for trial in trials if trial.metrics is not None]
    return {key: [float(row[key] or 0) for row in rows] for key in ("own_share", "fairness_jain")}


@click.command(help=__doc__)
@click.option("--seeds", default=10, show_default=True, type=click.IntRange(2), help="From 1 on.")
@click.option("--only", type=click.Choice(NAMES), help="One controller.")
def main(seeds: int, only: str | None) -> None:
    """Print the table."""
    titles = ("", "beside its own kind: share", "Jain", "beside CUBIC: share", "Jain")
    line(*titles)
    print("|" + "---|" * len(titles), flush=True)
    for name in NAMES:
        if only in (None, name):
            both = [shares(name, beside, seeds) for beside in BESIDE]
            line(f"`{name}`", *(interval(values[key]) for values in both for key in values))


if __name__ == "__main__":
    main()
