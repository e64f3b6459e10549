"""What trainings of ``gru-mpc`` play beside the ladder's other baselines: the tables of docs/policies/gru-mpc.md.

    dstcc ladder SCENARIO.. -o runs/ladder --controller gru-mpc
    python -m experiments.forecast_proof SCENARIO.. --ladder runs/ladder --runs runs/f1 runs/f2 .. -o proof.json

plays the policy of each run of ``dstcc train`` on the ladder's seeds and prints, per scenario and over all of them:
interquartile means with 95 % intervals by a bootstrap over trainings and seeds, the share of the gap between the best
tuned rule and ``planner-law`` that is closed, the probability of improvement, the worst training, and the learning
curve with its spread. Two rules stand beside the best of the ladder's: ``threshold``, and the measured loss of the
last round trip with three deviations, untuned. What was played is kept in the file of ``-o``; what is there is not
played again.
"""

from __future__ import annotations

import argparse
import csv
import json
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dstcc.coded.fleet import Fleet
from dstcc.coded.planner import Planner
from dstcc.coded.rules import Margin
from dstcc.coded.seen import Mission, RepairDecision, Seen
from dstcc.forecast.files import load_forecaster
from dstcc.forecast.sender import Forecasting
from dstcc.scenario import load_scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dstcc.arrays import Float64Array

BOOTSTRAP, SEED = 1_000, 1
SIGMA = "loss + 3 sigma"
RIVALS = ("best tuned rule", "best-constant", "random", "planner-belief", "threshold", SIGMA)
TOLD = {"threshold": "tuned-rule", SIGMA: SIGMA}
"""Rules by name, and their baseline."""
Of = TypeVar("Of", Mission, Seen)


def rows_of(of: Of, rows: slice) -> Of:
    """The same for some of the trials."""
    taken = {
        one.name: getattr(of, one.name)[rows]
        for one in fields(of)
        if isinstance(getattr(of, one.name), np.ndarray)
    }
    return replace(of, **taken)


class SideBySide:
    """Several policies on trials of their own, under one planner: each plays what it plays alone."""

    name = "side by side"

    def __init__(self, policies: Sequence[Path], seeds: int) -> None:
        self._senders = [Forecasting(load_forecaster(path)) for path in policies]
        self._rows = [slice(k * seeds, (k + 1) * seeds) for k in range(len(policies))]

    def begin(self, mission: Mission) -> None:
        """Of all trials, policy by policy."""
        self._planner = Planner(mission)
        for sender, rows in zip(self._senders, self._rows, strict=True):
            sender.begin(rows_of(mission, rows))

    def decide(self, seen: Seen) -> RepairDecision:
        """Beliefs by policy, planned together."""
        parts = [rows_of(seen, rows) for rows in self._rows]
        beliefs = [sender.expect(part) for sender, part in zip(self._senders, parts, strict=True)]
        planned = self._planner.plan(seen, np.concatenate(beliefs)).repair
        kept = [
            sender.guarded(part, belief, RepairDecision(planned[rows])).repair
            for sender, part, belief, rows in zip(self._senders, parts, beliefs, self._rows, strict=True)
        ]
        return RepairDecision(np.concatenate(kept))


def play_sigma(scenario: Path, seeds: Sequence[int]) -> Float64Array:
    """(seeds,): what the measured loss and three deviations play."""
    rule = Margin({"memory_rtts": 1.0, "kappa": 3.0, "decay": 1.0})
    return Fleet(load_scenario(scenario), tuple(seeds)).run(rule)


def play(scenario: Path, seeds: Sequence[int], policies: Sequence[Path]) -> Float64Array:
    """(policies, seeds): the share of all weight that is played."""
    fleet = Fleet(load_scenario(scenario), tuple(seeds) * len(policies))
    return fleet.run(SideBySide(policies, len(seeds))).reshape(len(policies), len(seeds))


class Ladder:
    """The baselines of a ladder's folders, by scenario: a value a seed."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.baselines: dict[str, dict[str, dict[str, dict[int, float]]]] = {}
        for folder in folders:
            for one in json.loads((folder / "ladder.json").read_text())["ladder"]:
                values = {int(seed): value for seed, value in one["values"].items()}
                self.baselines.setdefault(one["scenario"], {}).setdefault(one["rung"], {})[one["name"]] = (
                    values
                )

    def seeds(self, scenario: str) -> list[int]:
        """Those that it was climbed on."""
        return list(next(iter(self.baselines[scenario]["clairvoyant"].values())))

    def add(self, scenario: str, baseline: str, values: Sequence[float]) -> None:
        """A baseline that the ladder has not, in the order of its seeds."""
        self.baselines[scenario][baseline] = {baseline: dict(zip(self.seeds(scenario), values, strict=True))}

    def best(self, scenario: str, baseline: str) -> Float64Array:
        """(seeds,): of the best of a kind; ``best tuned rule`` is the best of this scenario in hindsight."""
        if baseline in TOLD:
            return np.array(list(self.baselines[scenario][TOLD[baseline]][baseline].values()))
        named = self.baselines[scenario]["tuned-rule" if baseline == "best tuned rule" else baseline]
        return np.array(list(max(named.values(), key=lambda values: sum(values.values())).values()))


def intervals(
    learned: list[Float64Array], others: list[dict[str, Float64Array]], statistic: Any
) -> tuple[float, float, float]:
    """A statistic of all scenarios with its interval; trainings are drawn for all alike, seeds a scenario each."""
    draws = np.random.default_rng(SEED)
    found = []
    for _ in range(BOOTSTRAP):
        trainings = draws.integers(len(learned[0]), size=len(learned[0]))
        one, rest = [], []
        for values, other in zip(learned, others, strict=True):
            seeds = draws.integers(values.shape[1], size=values.shape[1])
            one.append(values[trainings][:, seeds])
            rest.append({name: of[seeds] for name, of in other.items()})
        found.append(statistic(one, rest))
    low, high = np.quantile(found, [0.025, 0.975])
    return float(statistic(learned, others)), float(low), float(high)


def middle(values: Float64Array) -> float:
    """The interquartile mean over trainings and seeds: :func:`dstcc.stats.interquartile_mean`, quicker."""
    flat = np.sort(values, axis=None)
    out = len(flat) // 4
    return float(flat[out : len(flat) - out].mean())


def of_learned(learned: list[Float64Array], _: list[dict[str, Float64Array]]) -> float:
    """The mean over scenarios of interquartile means."""
    return float(np.mean([middle(values) for values in learned]))


def of_other(name: str) -> Any:
    """The same of a baseline."""
    return lambda _, others: float(np.mean([middle(other[name]) for other in others]))


def more_than(name: str) -> Any:
    """Means over trainings and seeds, less those of a baseline; paired by seeds."""
    return lambda learned, others: float(
        np.mean([values.mean() - other[name].mean() for values, other in zip(learned, others, strict=True)])
    )


def closed(learned: list[Float64Array], others: list[dict[str, Float64Array]]) -> float:
    """Of the gap between the best tuned rule and the planner that knows the loss model, in means."""
    rule = sum(other["best tuned rule"].mean() for other in others)
    law = sum(other["planner-law"].mean() for other in others)
    return float((sum(values.mean() for values in learned) - rule) / (law - rule))


def improves(name: str) -> Any:
    """The probability of improvement: how often a training plays more than another on the same seed; ties are half."""

    def share(learned: list[Float64Array], others: list[dict[str, Float64Array]]) -> float:
        shares = [
            (values > other[name]).mean() + 0.5 * (values == other[name]).mean()
            for values, other in zip(learned, others, strict=True)
        ]
        return float(np.mean(shares))

    return share


def curve(runs: Sequence[Path]) -> list[str]:
    """Rows of the learning curve: mean and spread over trainings of the score at each evaluation."""
    points: dict[int, list[float]] = {}
    for run in runs:
        with (run / "curves.csv").open() as file:
            for row in csv.DictReader(file):
                points.setdefault(int(row["step"]), []).append(float(row["score"]))
    return [
        f"| {step:,} | {np.mean(scores):.3f} | {min(scores):.3f} to {max(scores):.3f} | {len(scores)} |"
        for step, scores in sorted(points.items())
    ]


def tables(names: Sequence[str], ladder: Ladder, played: dict[str, Float64Array]) -> list[str]:
    """All tables as Markdown."""
    others = [
        {name: ladder.best(one, name) for name in ("planner-law", *RIVALS) if _has(ladder, one, name)}
        for one in names
    ]
    learned = [played[one] for one in names]
    groups = [([k], one) for k, one in enumerate(names)]
    if len(names) > 1:
        groups.append((list(range(len(names))), "all"))

    def said(statistic: Any, group: list[int], sign: str = "") -> str:
        value, low, high = intervals([learned[k] for k in group], [others[k] for k in group], statistic)
        return f"{value:{sign}.3f} [{low:{sign}.3f}, {high:{sign}.3f}]"

    baselines = [name for name in ("planner-law", *RIVALS) if all(name in other for other in others)]
    rows = ["| | " + " | ".join(name for _, name in groups) + " |", "|---|" + "---|" * len(groups)]
    rows.append("| **gru-mpc** | " + " | ".join(said(of_learned, group) for group, _ in groups) + " |")
    for baseline in baselines:
        rows.append(
            f"| {baseline} | " + " | ".join(said(of_other(baseline), group) for group, _ in groups) + " |"
        )
    for baseline in baselines[1:]:
        cells = " | ".join(said(more_than(baseline), group, "+") for group, _ in groups)
        rows.append(f"| more than {baseline} | {cells} |")
    rows.append(
        "| share of the gap closed | " + " | ".join(said(closed, group) for group, _ in groups) + " |"
    )
    for baseline in baselines[1:3]:
        cells = " | ".join(said(improves(baseline), group) for group, _ in groups)
        rows.append(f"| probability of improvement on {baseline} | {cells} |")
    worst = [
        min(float(one.mean()) for one in values) - float(other["best tuned rule"].mean())
        for values, other in zip(learned, others, strict=True)
    ]
    rows.append(
        "| worst training less the best tuned rule | "
        + " | ".join(f"{min(worst[k] for k in group):+.3f}" for group, _ in groups)
        + " |"
    )
    return rows


def _has(ladder: Ladder, scenario: str, baseline: str) -> bool:
    if baseline in TOLD:
        return baseline in ladder.baselines[scenario].get(TOLD[baseline], {})
    return ("tuned-rule" if baseline == "best tuned rule" else baseline) in ladder.baselines[scenario]


def main(argv: Sequence[str] | None = None) -> int:
    """Play what is not played yet, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scenarios", nargs="+", type=Path)
    parser.add_argument("--ladder", nargs="+", type=Path, required=True, help="folders of dstcc ladder")
    parser.add_argument("--runs", nargs="+", type=Path, required=True, help="folders of dstcc train")
    parser.add_argument("-o", "--output", type=Path, required=True, help="file of what was played")
    arguments = parser.parse_args(argv)
    ladder = Ladder(arguments.ladder)
    kept: dict[str, dict[str, list[float]]] = {}
    if arguments.output.exists():
        kept = json.loads(arguments.output.read_text())
    names, played = [], {}
    for path in arguments.scenarios:
        name = load_scenario(path).scenario.name
        known = kept.setdefault(name, {})
        lacking = [run for run in arguments.runs if str(run) not in known]
        if lacking:
            found = play(path, ladder.seeds(name), [run / "policy.safetensors" for run in lacking])
            known |= {str(run): values.tolist() for run, values in zip(lacking, found, strict=True)}
            arguments.output.write_text(json.dumps(kept, indent=1) + "\n")
        if SIGMA not in known:
            known[SIGMA] = play_sigma(path, ladder.seeds(name)).tolist()
            arguments.output.write_text(json.dumps(kept, indent=1) + "\n")
        ladder.add(name, SIGMA, known[SIGMA])
        names.append(name)
        played[name] = np.array([known[str(run)] for run in arguments.runs])
    print("\n".join(tables(names, ladder, played)))
    print("\n| steps | score | spread | trainings |\n|---|---|---|---|")
    print("\n".join(curve(arguments.runs)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
