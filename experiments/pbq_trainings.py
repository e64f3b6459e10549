"""How much PBQ's training decides.

    python -m experiments.pbq_trainings -o FOLDER [--trainings 5] [--seeds 5]

Trains `pbq` on examples/sharing/pbq-training with seeds 1 and up, as its card says; FOLDER keeps each training, and
what is there is not trained again. Each policy, and BBR, then drives two flows over the paper's test link, whose losses
differ from seed to seed. Values are interquartile means, those over all trainings with 95 % intervals by a bootstrap
over trainings and seeds; *least* and *most* are of single trainings.
"""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from dstcc.learn.policies.controller import POLICY
from dstcc.report import printed
from dstcc.scenario import Scenario
from dstcc.scenario.variant import Variant, as_variant
from dstcc.stats import interquartile_mean

from .dqn_plus import shown
from .played import mission, plays

NAME, CONTROL = "pbq", "bbr"
TRAINED_ON = Path("examples/sharing/pbq-training")
LINK = Path("examples/papers/pbq/link.toml")
LOSSES = (0.0, 0.01, 0.025, 0.1)
METRICS = (("throughput_bps", "throughput, Mbit/s", 1e6), ("mean_rtt_s", "mean round trip, s", 1.0))


def trained(folder: Path, seed: int) -> Path:
    """A training's policy; trains it, or goes on, where it is not complete."""
    from dstcc.learn.training.loop import train

    run = folder / str(seed)
    return (
        train(TRAINED_ON, run, algorithm=NAME, seed=seed, resume=True).policy
        if not done(run)
        else run / POLICY
    )


def done(run: Path) -> bool:
    """Whether a training has taken all its steps."""
    from dstcc.learn.algorithms.recipes import recipe_of
    from dstcc.learn.training.loop import saved_of

    return run.exists() and saved_of(run, click.echo)[1]["steps"] >= recipe_of(NAME).steps


def carried(policy: str, loss: float, seeds: int) -> dict[str, list[float]]:
    """What a policy, or the control, carries over the link."""
    row = Variant(label="row", controller=policy)
    if policy == CONTROL:
        row = Variant(label="row", congestion=policy, scheduler="minrtt")
    scenario: Scenario = as_variant(mission(LINK, f"link.0.loss.packet={loss}", f"run.seeds={seeds}"), row)
    trials = [trial.metrics for trial in plays(scenario) if trial.metrics is not None]
    return {metric: [float(one.values[metric] or 0.0) for one in trials] for metric, _, _ in METRICS}


@click.command(help=__doc__)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder of the trainings."
)
@click.option("--trainings", default=5, show_default=True, type=click.IntRange(2), help="Seeds from 1 on.")
@click.option("--seeds", default=5, show_default=True, type=click.IntRange(2), help="Of the link, from 1 on.")
def main(output: Path, *, trainings: int, seeds: int) -> None:
    """Train what lacks, and print the table."""
    policies = [str(trained(output, seed)) for seed in range(1, trainings + 1)]
    titles = ("lost, %", "", f"{trainings} trainings", "least", "most", CONTROL)
    printed.heading("Trainings of pbq", titles)
    for loss in LOSSES:
        each = [carried(policy, loss, seeds) for policy in policies]
        control = carried(CONTROL, loss, seeds)
        for metric, title, unit in METRICS:
            values = np.array([one[metric] for one in each]) / unit
            single = [float(interquartile_mean(row)) for row in values]
            printed.line(
                f"{100 * loss:g}",
                title,
                shown(values),
                f"{min(single):.3f}",
                f"{max(single):.3f}",
                printed.interval(control[metric], 3, unit),
            )


if __name__ == "__main__":
    main()
