"""What a policy of coded packets, or `dstcc`, plays in the simulator and on the kernel, by the same seeds.

    python -m experiments.coded_kernel MISSION [--controller gru-mpc] [--seeds 4] [--first 1] [--set KEY=VALUE]...
        [--jobs 1]

A row a seed: `weighted_layers` of both, the kernel's less the simulator's, and the slots that the policy's guard took;
then the means, with the 95 % bootstrap interval of the mean difference. At one seed hidden states change at the same
times on both, packets are lost by draws of their own. `dstcc` has the mission's links and video, and its own transport.
Exit status 1: the mean difference is beyond 0.03, for `dstcc` 0.02.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dstcc.report.printed import heading, line
from dstcc.run import Trial
from dstcc.scenario import Scenario
from dstcc.stats import paired_difference

from .played import alone, plays
from .played import mission as mission_of

WITHIN, OURS_WITHIN = 0.03, 0.02
"""What the backends may differ by."""
OURS = "dstcc"


def trials_of(scenario: Scenario, backend: str, jobs: int) -> dict[int, Trial]:
    """The trials under the scenario's policy, by seed."""
    steered = bool(scenario.transport.controller) and OURS not in scenario.transport.controller
    return {one.key.seed: one for one in plays(scenario, jobs=jobs, backend=backend, steered=steered)}


def scenario_of(mission: Path, controller: str, seeds: range, overrides: tuple[str, ...]) -> Scenario:
    """The mission under that controller alone."""
    run = {"seed": seeds.start, "seeds": len(seeds)}
    if controller == OURS:
        return alone(
            mission_of(mission, "variant=[]", "expect={}", *overrides), f'controller = "{OURS}"', run
        )
    given = [f"transport.controller={controller}", *(f"run.{key}={value}" for key, value in run.items())]
    return mission_of(mission, *given, *overrides)


def metric(trial: Trial, name: str) -> float:
    """Of a trial that ran to its end."""
    if trial.metrics is None:
        raise click.ClickException(f"{trial.id}: {trial.error}")
    return float(trial.metrics.flat()[name] or 0.0)


@click.command()
@click.argument("mission", type=click.Path(exists=True, path_type=Path))
@click.option("--controller", default="gru-mpc", show_default=True)
@click.option("--seeds", default=4, show_default=True)
@click.option("--first", default=1, show_default=True, help="The first seed.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE")
@click.option("--jobs", default=1, show_default=True)
def main(
    mission: Path, controller: str, seeds: int, first: int, overrides: tuple[str, ...], *, jobs: int
) -> None:
    """Print the table."""
    scenario = scenario_of(mission, controller, range(first, first + seeds), overrides)
    simulated, carried = (trials_of(scenario, name, jobs) for name in ("simulator", "kernel"))
    titles = ("seed", "simulator", "kernel", "difference", "guard, simulator", "guard, kernel")
    heading(f"{scenario.scenario.name}, {controller}", titles)
    played = [
        {seed: metric(one, "weighted_layers") for seed, one in all_.items()} for all_ in (simulated, carried)
    ]
    for seed in played[0]:
        guards = [f"{metric(all_[seed], 'guard_actions'):.0f}" for all_ in (simulated, carried)]
        ours, theirs = played[0][seed], played[1][seed]
        line(str(seed), f"{ours:.4f}", f"{theirs:.4f}", f"{theirs - ours:+.4f}", *guards)
    paired = paired_difference(played[1], played[0])
    if paired is None:
        return
    low, high = paired.mean.bounds()
    means = [f"{sum(values.values()) / len(values):.4f}" for values in played]
    line("mean", *means, f"{paired.mean.value:+.4f} [{low:+.4f}, {high:+.4f}]", "", "")
    sys.exit(int(abs(paired.mean.value) > (OURS_WITHIN if controller == OURS else WITHIN)))


if __name__ == "__main__":
    main()
