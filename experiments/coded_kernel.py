"""What a policy of coded packets plays in the simulator and on the kernel, by the same seeds.

    python -m experiments.coded_kernel MISSION [--controller gru-mpc] [--seeds 4] [--set KEY=VALUE]... [--jobs 1]

A row a seed: `weighted_layers` of both, the kernel's less the simulator's, and the slots that the policy's guard took;
then the means, with the 95 % bootstrap interval of the mean difference. At one seed hidden states change at the same
times on both, packets are lost by draws of their own. Exit status 1: the mean difference is beyond 0.03.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dstcc.report.printed import heading, line
from dstcc.run.backends import backend_of
from dstcc.run.trials import Judge, Trial, iter_trials, load_controllers, trial_keys
from dstcc.scenario import Scenario, load_scenario, load_source, parse_override
from dstcc.stats import paired_difference

WITHIN = 0.03
"""What the backends may differ by."""


def trials_of(scenario: Scenario, backend: str, jobs: int) -> dict[int, Trial]:
    """The trials under the scenario's policy, by seed."""
    source, carrier = load_source(scenario), backend_of(backend)
    policies = load_controllers(scenario, source)
    carrier.check(scenario, source, policies)
    keys = [key for key in trial_keys(scenario) if key.controller is not None]
    judge = Judge(source, wanted=False)
    trials = iter_trials(scenario, source, judge, backend=carrier, policies=policies, jobs=jobs, only=keys)
    return {trial.key.seed: trial for trial in trials}


def metric(trial: Trial, name: str) -> float:
    """Of a trial that ran to its end."""
    if trial.metrics is None:
        raise click.ClickException(f"{trial.id}: {trial.error}")
    return float(trial.metrics.flat()[name] or 0.0)


@click.command()
@click.argument("mission", type=click.Path(exists=True, path_type=Path))
@click.option("--controller", default="gru-mpc", show_default=True)
@click.option("--seeds", default=4, show_default=True)
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE")
@click.option("--jobs", default=1, show_default=True)
def main(mission: Path, controller: str, seeds: int, overrides: tuple[str, ...], jobs: int) -> None:
    """Print the table."""
    given = [f"transport.controller={controller}", f"run.seeds={seeds}", *overrides]
    scenario = load_scenario(mission, [parse_override(one) for one in given])
    simulated, carried = (trials_of(scenario, name, jobs) for name in ("simulator", "kernel"))
    titles = ("seed", "simulator", "kernel", "difference", "guard, simulator", "guard, kernel")
    heading(f"{scenario.scenario.name}, {controller}", titles)
    plays = [
        {seed: metric(one, "weighted_layers") for seed, one in all_.items()} for all_ in (simulated, carried)
    ]
    for seed in plays[0]:
        guards = [f"{metric(all_[seed], 'guard_actions'):.0f}" for all_ in (simulated, carried)]
        ours, theirs = plays[0][seed], plays[1][seed]
        line(str(seed), f"{ours:.4f}", f"{theirs:.4f}", f"{theirs - ours:+.4f}", *guards)
    paired = paired_difference(plays[1], plays[0])
    if paired is None:
        return
    low, high = paired.mean.bounds()
    means = [f"{sum(values.values()) / len(values):.4f}" for values in plays]
    line("mean", *means, f"{paired.mean.value:+.4f} [{low:+.4f}, {high:+.4f}]", "", "")
    sys.exit(int(abs(paired.mean.value) > WITHIN))


if __name__ == "__main__":
    main()
