"""LTP with learned code rates beside `gru-mpc` on the held-out missions: the table of docs/policies/gru-mpc.md.

    python -m experiments.forecast_rivals [--seeds 20] [--controller gru-mpc] [--only TEXT]

The rival is that of Chen et al. (arXiv 2506.22470, 2025) as dstcc has it (docs/algorithms.md): each matrix's code rate
is learned by reinforcement from the history of feedback, and what fails is sent again. Its tables are the shipped one
and those of trainings on the two missions of examples/learning/training, which are made here. Beside them stand LTP's
other rates. Values are `weighted_layers`, interquartile means with 95 % bootstrap intervals over seeds 501 and up;
behind them how much more `gru-mpc` plays, paired by seeds. All know the links' rates, contacts and deadlines.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import click
import numpy as np

from dstcc.learn.ltp_rates import train
from dstcc.ltp_rates.table import save
from dstcc.report.printed import heading, interval, line
from dstcc.scenario import Scenario, load_source
from dstcc.stats import estimate

from .played import mission, plays, values_of

LEARNING = Path(__file__).parents[1] / "examples" / "learning"
HELD_OUT = ("tide", "sinking", "relief")
TRAINING = ("onset", "slow-weather")
RATES = {"uncoded": "[0]", "delayed feedback": "delayed-feedback", "auto": "auto", "learned": "q-earth-mars"}
LTP = ("transport.mode=stream", "transport.congestion=ltp")


def learn(name: str, folder: Path, episodes: int) -> Path:
    """The file of a table that was learned on a mission of the training."""
    scenario = mission(LEARNING / "training" / f"{name}.toml", *LTP, "coding.repair=delayed-feedback")
    table = folder / f"{name}.json"
    save(train(scenario, load_source(scenario), episodes=episodes), table)
    return table


def played(scenario: Scenario) -> list[float]:
    """Each seed's `weighted_layers`, under the controller where one is named."""
    steered = bool(scenario.transport.controller)
    trials = [one for one in plays(scenario, jobs=None) if bool(one.key.controller) == steered]
    return values_of(trials)


@click.command(help=__doc__)
@click.option("--seeds", default=20, show_default=True, type=click.IntRange(2), help="From 501 on.")
@click.option("--episodes", default=60, show_default=True, type=click.IntRange(1), help="Of each training.")
@click.option("--controller", default="gru-mpc", show_default=True, help="A policy of coded packets.")
@click.option("--only", default="", help="Missions whose name holds this.")
def main(seeds: int, episodes: int, controller: str, only: str) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        rates = RATES | {f"learned on {name}": str(learn(name, Path(folder), episodes)) for name in TRAINING}
        missions = {name: LEARNING / "held-out" / f"{name}.toml" for name in HELD_OUT if only in name}
        given = (f"run.seeds={seeds}",)
        steered = (*given, f"transport.controller={controller}", "transport.congestion=open-loop")
        ours = {name: played(mission(path, *steered)) for name, path in missions.items()}
        heading(f"{controller} and its rivals", ("", *missions))
        line(controller, *map(interval, ours.values()))
        for name, repair in rates.items():
            cells = []
            for one, path in missions.items():
                theirs = played(mission(path, *LTP, *given, f"coding.repair={repair}"))
                more = estimate((np.array(ours[one]) - np.array(theirs)).tolist())
                cells.append(f"{interval(theirs)} ({more.value:+.3f} [{more.low:+.3f}, {more.high:+.3f}])")
            line(f"ltp, {name}", *cells)


if __name__ == "__main__":
    main()
