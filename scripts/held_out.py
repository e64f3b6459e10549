"""What a controller plays on missions it never saw, beside the project's algorithms: the tables of its model card.

    python scripts/held_out.py [--controller dstcc] [--choice 1,2,0,1] [--seeds 10] [--first 301] [--json FILE]
        [--again FILE] [FOLDER]

For every scenario of FOLDER (examples/iodst/held-out), and at four playout delays for table-1.toml, it runs the
controller; the best algorithm that is not told the rates; open-loop, which is told them, with 16 lanes a link and with
1,024; and the clairvoyant bound. Who the best are is found on table-1.toml at a delay of 1.5, seeds 101 and up: every
congestion control with minrtt in every mode, then the best three controls with every scheduler in every mode; the best
five of all run on each scenario's seeds, and the one that plays most there counts. Values are interquartile means of
`weighted_layers` with 95 % bootstrap intervals over the seeds. --again takes all but the controller from an earlier
--json.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from dstcc import algorithms
from dstcc.engine import AGENT, EngineConfig, clairvoyant_weight, simulate
from dstcc.learn.drive import drive
from dstcc.learn.policy import Policy, load_policy
from dstcc.metrics import play_by_deadline
from dstcc.scenario import engine_config, load_scenario, load_source, settle
from dstcc.scenario.lanes import MAX_WINDOWS_PER_LINK
from dstcc.scenario.load import parse_override
from dstcc.stats import estimate
from dstcc.weights import layer_weights

DELAYS = (1.0, 1.25, 1.5, 2.0)
TOLD = ("fixed", "open-loop")
"""What knows the links' rates or bandwidth-delay products beforehand; ltp, which does too, is no congestion control."""
MODES = (("lanes", 16), ("lanes", 1024), ("stream", 1))
SCREENED = 101
"""The first seed of the search for the best."""
Combination = tuple[str, str, str, int]
"""Control, scheduler, mode, lanes per link."""


def played(config: EngineConfig, policy: Policy | None = None) -> tuple[float, float]:
    """``weighted_layers``, and the share of chunks not played at all of those after the longest link's first RTT."""
    result = simulate(config) if policy is None else drive(policy, config)
    levels = play_by_deadline(config.objects, result).levels
    weights = layer_weights(
        np.arange(int(config.objects.layer.max()) + 1), int(config.objects.layer.max()) + 1
    )
    share = (weights * (levels[:, None] >= np.arange(len(weights)))).sum() / (weights.sum() * len(levels))
    round_trip_ns = 2 * max(max(link.delay_ns) for link in config.links)
    later = config.objects.release_ns[config.objects.layer == 0] > round_trip_ns
    return float(share), float((levels[later] < 0).mean())


class Mission:
    """A scenario's trials: everybody meets the same draws."""

    def __init__(
        self, path: Path, delay: float | None, seeds: Iterable[int], pool: ThreadPoolExecutor
    ) -> None:
        overrides = [] if delay is None else [parse_override(f"playout.delay_rtts={delay}")]
        self.name, self.scenario, self.pool = path.stem, load_scenario(path, overrides), pool
        self.delay = self.scenario.playout.delay_rtts
        source = load_source(self.scenario)
        self.layers, self.paths = source.layers, len(self.scenario.link)
        self.settings = [settle(self.scenario, source, seed) for seed in seeds]

    def configs(self, told: Combination) -> list[EngineConfig]:
        """The trials of a combination."""
        control, scheduler, mode, lanes = told
        keys = {"mode": mode, "lanes_per_link": lanes, "congestion": control, "scheduler": scheduler}
        if lanes > MAX_WINDOWS_PER_LINK:
            keys["window"] = "link"
        known = self.scenario.transport.model_dump(exclude_unset=True, exclude={"window", "controller"})
        transport = type(self.scenario.transport).model_validate(known | keys)
        scenario = self.scenario.model_copy(update={"transport": transport})
        return [engine_config(scenario, setting, control, scheduler) for setting in self.settings]

    def trials(self, told: Combination) -> NDArray[np.float64]:
        """Seed by seed, (seeds, 2)."""
        return np.array(list(self.pool.map(played, self.configs(told))))

    def driven(self, policy: Policy) -> NDArray[np.float64]:
        """The same under a policy."""
        configs = [engine_config(self.scenario, setting, AGENT, AGENT) for setting in self.settings]
        return np.array(list(self.pool.map(lambda config: played(config, policy), configs)))

    def bound(self) -> NDArray[np.float64]:
        """What a clairvoyant sender plays, seed by seed."""

        def one(config: EngineConfig) -> float:
            weights = layer_weights(config.objects.layer, self.layers)
            return float(clairvoyant_weight(config, weights) / weights.sum())

        return np.array(list(self.pool.map(one, self.configs(("open-loop", "minrtt", "lanes", 16)))))

    def screen(self) -> list[Combination]:
        """The best five that are not told the rates."""

        def makes_sense(told: Combination) -> bool:
            kinds = ((told[0], "congestion"), (told[1], "scheduler"))
            return not any(
                algorithms.unmet(name, kind, paths=self.paths, mode=told[2], layers=self.layers)
                for name, kind in kinds
            )

        found: dict[Combination, float] = {}

        def run(controls: Iterable[str], schedulers: Iterable[str]) -> list[Combination]:
            every = [(c, s, *mode) for c in controls for s in schedulers for mode in MODES]
            for told in filter(makes_sense, every):
                if told not in found:
                    found[told] = float(self.trials(told)[:, 0].mean())
            return sorted(found, key=lambda told: -found[told])

        first = run([c for c in algorithms.CONGESTION if c not in TOLD], ["minrtt"])
        best = run(list(dict.fromkeys(told[0] for told in first))[:3], algorithms.SCHEDULERS)
        return best[:5]


def rivals(mission: Mission, finalists: list[Combination]) -> dict[str, Any]:
    """All but the controller."""
    tried = {told: mission.trials(told)[:, 0] for told in finalists}
    winner = max(tried, key=lambda told: estimate(tried[told].tolist()).value)
    row: dict[str, Any] = {"scenario": mission.name, "delay_rtts": mission.delay}
    row |= {"best_name": "{}+{} {}/{}".format(*winner), "best": tried[winner].tolist()}
    for lanes in (16, 1024):
        row[f"told_{lanes}"] = mission.trials(("open-loop", "minrtt", "lanes", lanes))[:, 0].tolist()
    return row | {"bound": mission.bound().tolist()}


def cells(row: dict[str, Any]) -> list[str]:
    """A line of the table."""

    def shown(values: Any) -> str:
        found = estimate(list(values))
        return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"

    ours, best = np.array(row["controller"]), np.array(row["best"])
    low, high = (estimate(values.tolist()).bounds() for values in (ours, best))
    verdict = "wins" if low[0] > high[1] else "loses" if low[1] < high[0] else "ties"
    parts = (ours, best, row["told_16"], row["told_1024"], ours / np.array(row["bound"]), row["silent"])
    texts = [shown(part) for part in parts]
    texts.insert(
        2, f"{row['best_name']}: {verdict}, worst {float((ours / np.maximum(best, 1e-9)).min()):.2f}×"
    )
    return [row["scenario"], f"{row['delay_rtts']:g}", *texts]


def always(policy: Policy, choice: str) -> Policy:
    """A policy that makes the same choice all the time: of every subflow, then of each other branch."""
    first, *rest = map(int, choice.split(","))
    outputs = [np.eye(len(policy.action.windows))[first]]
    outputs += [
        np.eye(count)[told] for count, told in zip(policy.action.branches[-len(rest) :], rest, strict=True)
    ]
    tensors = {name: np.zeros_like(tensor) for name, tensor in policy.tensors.items()}
    tensors["window.out.bias"] = outputs[0].astype(np.float32)
    tensors["rest.out.bias"] = np.concatenate(outputs[1:]).astype(np.float32)
    return replace(policy, tensors=tensors)


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(path_type=Path), default=Path("examples/iodst/held-out"))
@click.option("--controller", default="dstcc", show_default=True, help="A shipped policy's name or a file.")
@click.option(
    "--choice", help="Make this choice of the controller's all the time, such as 1,2,0,1, the usual one."
)
@click.option("--seeds", default=10, show_default=True)
@click.option("--first", default=301, show_default=True, help="The first seed.")
@click.option("--only", default="", help="Scenarios whose file name contains this.")
@click.option("--json", "out", type=click.Path(path_type=Path), help="Write seed by seed values there.")
@click.option("--again", type=click.Path(path_type=Path), help="An earlier --json.")
def main(
    folder: Path,
    *,
    controller: str,
    choice: str | None,
    seeds: int,
    first: int,
    only: str,
    out: Path | None,
    again: Path | None,
) -> None:
    """Print the table."""
    policy, rows = load_policy(controller), []
    if choice is not None:
        policy = always(policy, choice)
    before = {(r["scenario"], r["delay_rtts"]): r for r in json.loads(again.read_text())} if again else {}
    titles = [
        "scenario",
        "delay",
        "controller",
        "best not told the rates",
        "which: controller",
        "open-loop, 16 lanes",
    ]
    titles += ["open-loop, 1,024 lanes", "oracle ratio", "not played after 1 RTT"]
    print("| " + " | ".join(titles) + " |\n|" + "---|" * len(titles))
    with ThreadPoolExecutor(2) as pool:
        finalists: list[Combination] = []
        for path in sorted(folder.glob("*.toml"), key=lambda p: (p.stem != "table-1", p.stem)):
            for delay in DELAYS if path.stem == "table-1" else (None,):
                if only not in path.stem:
                    continue
                mission = Mission(path, delay, range(first, first + seeds), pool)
                row = before.get((mission.name, mission.delay))
                if row is None:
                    screened = range(SCREENED, SCREENED + 2)
                    finalists = finalists or Mission(folder / "table-1.toml", 1.5, screened, pool).screen()
                    row = rivals(mission, finalists)
                ours = mission.driven(policy)
                row |= {"controller": ours[:, 0].tolist(), "silent": ours[:, 1].tolist()}
                rows.append(row)
                print("| " + " | ".join(cells(row)) + " |")
                sys.stdout.flush()
                if out is not None:
                    out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
