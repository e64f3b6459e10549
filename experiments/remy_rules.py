"""Make a rule table: ``python -m experiments.remy_rules [--seed N] [--evaluations N] [--output FILE] [--force]``.

Winstein and Balakrishnan's search, with one change that saves evaluations: a rule is split in two along the axis of the
memory that gains most, instead of in halves along all axes. The search starts with one rule and repeats two steps: it
improves the actions one component at a time, then it tries every split of every rule. The objective is theirs with
δ = 1, the mean over networks and flows of log(throughput / fair share) - log(mean RTT / RTT without queue). Networks
are drawn once, so the objective is a function of the rules, and the same seed gives the same table. It takes two to
three minutes on one core.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from dstcc.atomic import atomic_write
from dstcc.engine import NEVER_NS, EngineConfig, Flow, Link, Loss, Objects, Transport, simulate
from dstcc.errors import InputError
from dstcc.outputs import Kind, check_output
from dstcc.remy.table import MEMORY, Rule, RuleTable, load, numbers

RANGE = {
    "bdp_packets": (10.0, 500.0),
    "rtt_s": (0.1, 2400.0),
    "loss": (1e-5, 1e-2),
    "queue_bdp": (0.5, 2.0),
    "flows": (1.0, 2.0),
}
"""The range of the networks' parameters; all but the number of flows are drawn uniformly in the logarithm."""
NETWORKS = 16
ROUND_TRIPS = 120
WIRE, MSS = 1500, 1460
SPLITS = {0: (0.002, 0.01, 0.05), 1: (0.002, 0.01, 0.05), 2: (0.002, 0.01, 0.05), 3: (1.05, 1.2, 1.5, 2.0)}
"""Where each axis may be split: gaps of 1/500, 1/100, 1/20 of an RTT; RTT ratios."""
STEPS = {
    "multiple": (-0.4, -0.1, -0.02, 0.02, 0.1, 0.4),
    "increment": (-8.0, -1.0, 1.0, 8.0),
    "spacing": (-0.5, 0.5),
}
SHIPPED = Path(__file__).parents[1] / "dstcc/remy/trained.json"
BOUNDS = {"multiple": (0.1, 2.0), "increment": (-16.0, 64.0), "spacing": (0.0, 1.0)}


def _no_table(path: Path) -> str | None:
    try:
        load(path)
    except (InputError, RecursionError):
        return "is no rule table"
    return None


TABLE = Kind("a rule table", _no_table)
"""What is written here."""


def save(table: RuleTable, path: Path, *, force: bool = False) -> None:
    """Write a table; ``force`` replaces an existing table, and nothing else."""
    document = {"trained": table.trained, "memory": MEMORY, "rules": [asdict(rule) for rule in table.rules]}
    atomic_write(path, json.dumps(document, indent=1) + "\n", replaces=TABLE if force else None)


def split(rule: Rule, axis: int, at: float) -> tuple[Rule, Rule]:
    """Two rules of the same action: below and above ``at``."""
    below = (*rule.high[:axis], at, *rule.high[axis + 1 :])
    above = (*rule.low[:axis], at, *rule.low[axis + 1 :])
    return replace(rule, high=below), replace(rule, low=above)


def networks(seed: int, count: int = NETWORKS) -> tuple[EngineConfig, ...]:
    """Draw networks from the range."""
    rng = np.random.default_rng(seed)

    def draw(name: str) -> float:
        low, high = RANGE[name]
        return float(math.exp(rng.uniform(math.log(low), math.log(high))))

    return tuple(
        _network(
            bdp_packets=draw("bdp_packets"),
            rtt_s=draw("rtt_s"),
            loss=draw("loss"),
            queue_bdp=draw("queue_bdp"),
            flows=int(rng.integers(1, 3)),
            seed=seed,
        )
        for _ in range(count)
    )


def _network(
    *, bdp_packets: float, rtt_s: float, loss: float, queue_bdp: float, flows: int, seed: int
) -> EngineConfig:
    one = np.ones(1, dtype=np.int64)
    rate_bps = bdp_packets * WIRE * 8 / rtt_s
    link = Link(
        name="link",
        rate_bps=rate_bps,
        up_rate_bps=rate_bps,
        delay_t_ns=(0,),
        delay_ns=(round(rtt_s / 2 * 1e9),),
        queue_bytes=max(round(queue_bdp * bdp_packets * WIRE), 2 * WIRE),
        up_queue_bytes=10**9,
        loss=Loss("packet", loss),
        flows=(Flow(),) * (flows - 1),
    )
    return EngineConfig(
        seed=seed,
        links=(link,),
        transport=Transport("remy", "minrtt", scale=max(1.0, rtt_s / 40)),
        objects=Objects(0 * one, 0 * one, 10**12 * one, 0 * one, NEVER_NS * one),
        slot_ns=round(rtt_s * 1e9),
        duration_ns=round(ROUND_TRIPS * rtt_s * 1e9),
    )


def _with(rules: tuple[Rule, ...]) -> dict[str, dict[str, tuple[float, ...]]]:
    return {"remy": {"rules": numbers(rules)}}


def utility(config: EngineConfig, rules: tuple[Rule, ...]) -> float:
    """log(throughput / fair share) - log(RTT / RTT without queue), mean over the flows."""
    result = simulate(replace(config, transport=replace(config.transport, parameters=_with(rules))))
    link = config.links[0]
    flows = 1 + len(link.flows)
    carried = [float(result.samples.delivered_bytes.sum())]
    carried += [float(flow.slot_delivered_bytes.sum()) for flow in result.flows]
    fair = link.rate_bps / 8 * MSS / WIRE * config.duration_ns / 1e9 / flows
    empty_s = 2 * link.delay_ns[0] / 1e9 + 8 * (WIRE / link.rate_bps + 40 / link.up_rate_bps)
    seen_s = result.totals.rtt_sum_s / max(result.totals.rtt_samples, 1)
    delay = math.log(max(seen_s, empty_s) / empty_s)
    return statistics.fmean(math.log(max(bytes_, 1.0) / fair) - delay for bytes_ in carried)


class Trainer:
    """The search; every evaluation runs every network once."""

    def __init__(self, seed: int, evaluations: int, say: Callable[[str], None]) -> None:
        self.seed = seed
        self.left = evaluations
        self.evaluations = evaluations
        self._networks = networks(seed)
        self._say = say

    def score(self, rules: tuple[Rule, ...]) -> float:
        """Mean utility over the networks."""
        self.left -= 1
        return statistics.fmean(utility(network, rules) for network in self._networks)

    def train(self) -> RuleTable:
        """Improve and split until the utility stops growing or the evaluations are used up."""
        rules: tuple[Rule, ...] = (Rule(),)
        best = self.score(rules)
        while self.left > 0:
            before = best
            rules, best = self._improve(rules, best)
            rules, best = self._split(rules, best)
            self._say(f"{len(rules)} rules, utility {best:.4f}, {self.left} evaluations left")
            if best <= before:
                break
        return RuleTable(rules, self._record(best))

    def _improve(self, rules: tuple[Rule, ...], best: float) -> tuple[tuple[Rule, ...], float]:
        """Hill climbing on one component of one action at a time, while the utility grows."""
        improved = True
        while improved and self.left > 0:
            improved = False
            for index in range(len(rules)):
                for action in _neighbours(rules[index]):
                    if self.left <= 0:
                        return rules, best
                    trial = (*rules[:index], action, *rules[index + 1 :])
                    score = self.score(trial)
                    if score > best + 1e-4:
                        rules, best, improved = trial, score, True
        return rules, best

    def _split(self, rules: tuple[Rule, ...], best: float) -> tuple[tuple[Rule, ...], float]:
        """The split that gains most when one of its halves takes a neighbouring action."""
        winner = rules
        for index, rule in enumerate(rules):
            for axis, points in SPLITS.items():
                for at in points:
                    if not rule.low[axis] < at < rule.high[axis]:
                        continue
                    below, above = split(rule, axis, at)
                    for pair in ((_gentler(below), above), (below, _gentler(above)), (_bolder(below), above)):
                        if self.left <= 0:
                            return winner, best
                        trial = (*rules[:index], *pair, *rules[index + 1 :])
                        score = self.score(trial)
                        if score > best + 1e-4:
                            winner, best = trial, score
        return winner, best

    def _record(self, best: float) -> dict[str, object]:
        return {
            "range": {name: list(bounds) for name, bounds in RANGE.items()},
            "objective": "mean of log(throughput / fair share) - log(RTT / RTT without queue)",
            "utility": round(best, 4),
            "networks": NETWORKS,
            "seed": self.seed,
            "evaluations": self.evaluations,
        }


def _neighbours(rule: Rule) -> Iterator[Rule]:
    for name, steps in STEPS.items():
        for step in steps:
            low, high = BOUNDS[name]
            value = min(max(round(getattr(rule, name) + step, 6), low), high)
            if value != getattr(rule, name):
                yield replace(rule, **{name: value})


def _gentler(rule: Rule) -> Rule:
    return replace(rule, multiple=max(rule.multiple * 0.8, BOUNDS["multiple"][0]))


def _bolder(rule: Rule) -> Rule:
    return replace(rule, multiple=min(rule.multiple * 1.5, BOUNDS["multiple"][1]))


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.remy_rules", description="Train a rule table for remy."
    )
    parser.add_argument("--seed", type=int, default=1, help="of the networks and their losses")
    parser.add_argument("--evaluations", type=int, default=4000, help="of the objective at most")
    parser.add_argument("--output", type=Path, default=SHIPPED, help="JSON file")
    parser.add_argument("--force", action="store_true", help="in the place of a rule table that is there")
    options = parser.parse_args(arguments)
    try:
        check_output(options.output, TABLE, force=options.force)
    except InputError as error:
        print(f"remy_rules: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    table = Trainer(options.seed, options.evaluations, lambda line: print(line, flush=True)).train()
    save(table, options.output, force=options.force)
    print(f"{options.output}: {len(table.rules)} rules, utility {table.trained['utility']}")


if __name__ == "__main__":
    main()
