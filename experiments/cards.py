"""The tables on the model cards of the papers' controllers, each printed anew: docs/policies/NAME.md.

    python -m experiments.cards [--only NAME] [--row TEXT] [--seeds 20]

Every row runs on the same seeds. Values are interquartile means with 95 % bootstrap intervals over the seeds; *lanes*
are ordering domains / windows over all links. Who steers a window a link stands beside stock controls with as many
windows, and with what MPTCP connections side by side have: a window a lane.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import click

from dstcc.report import printed
from dstcc.run import plan, run_trials
from dstcc.run.footing import lanes
from dstcc.scenario import Scenario, load_source
from dstcc.scenario.variant import Variant, as_variant
from dstcc.stats import estimate

from .played import metrics_of, mission

TABLE_1 = Path("examples/iodst/table-1.toml")
DIVERSE = Path("examples/multipath/mpquic-diverse.toml")
LOSSY = Path("examples/sharing/pbq-lossy.toml")
LINK: Mapping[str, Any] = {"window": "link"}
LANE: Mapping[str, Any] = {"window": "lane"}
STREAM: Mapping[str, Any] = {"mode": "stream"}
PUBLISHED = (
    ("cubic", "minrtt", "+164.86 %"),
    ("westwood", "minrtt", "+75 %"),
    ("bbr", "minrtt", "+104.17 %"),
    ("drl-cc", "", "+157.89 %"),
    ("cubic", "qle-ds", "+66 %"),
)
"""Peer, scheduler (none: a controller), and how much more IoDST-DQN played of the video; Ha et al., 2023."""


@dataclass(frozen=True)
class CardRow:
    """Whom a line is about."""

    name: str
    scheduler: str = "minrtt"
    """Empty for a controller."""
    settings: tuple[tuple[str, Any], ...] = ()

    def variant(self) -> Variant:
        """As a scenario has it."""
        if not self.scheduler:
            return Variant(label="row", controller=self.name, set=dict(self.settings))
        return Variant(label="row", congestion=self.name, scheduler=self.scheduler, set=dict(self.settings))


@dataclass(frozen=True)
class Measured:
    """A row's trials on one scenario."""

    lanes: str
    values: dict[str, list[float]]
    """Metric to its value seed by seed."""

    def shown(self, metric: str, digits: int = 3, unit: float = 1.0) -> str:
        """Interquartile mean and interval."""
        return printed.interval(self.values[metric], digits, unit)

    def middle(self, metric: str) -> float:
        """The interquartile mean."""
        return estimate(self.values[metric]).value


def controller(name: str) -> CardRow:
    """Under a policy."""
    return CardRow(name, "")


def stock(name: str, settings: Mapping[str, Any], scheduler: str = "minrtt") -> CardRow:
    """Under a stock control."""
    return CardRow(name, scheduler, tuple(settings.items()))


class Bench:
    """Scenarios' trials, each once."""

    def __init__(self, seeds: int, only_row: str = "") -> None:
        self.seeds, self.only_row = seeds, only_row
        self.run = cache(self._run)

    def wanted(self, rows: Iterable[CardRow]) -> list[CardRow]:
        """Those of the rows that are to be printed."""
        return [row for row in rows if self.only_row in (row.name, row.scheduler, "")]

    def _run(self, path: Path, delay: str, row: CardRow) -> Measured:
        scenario = self._scenario(path, delay)
        variant = as_variant(scenario, row.variant())
        variant.check()
        source = load_source(variant)
        trials = run_trials(variant, source, quality=False)
        metrics = [one.values for one in metrics_of(trials)]
        values = {name: [_number(one[name]) for one in metrics] for name in metrics[0]}
        (footing,) = plan(variant, source, "simulator").algorithms
        return Measured(lanes(footing.document()), values)

    def _scenario(self, path: Path, delay: str) -> Scenario:
        scenario = mission(path, *filter(None, (delay,)))
        run = scenario.run.model_copy(update={"seed": 1, "seeds": self.seeds})
        return scenario.model_copy(update={"run": run})


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def table(name: str, titles: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """A heading and a table, row by row as they come."""
    printed.heading(name, titles)
    for row in rows:
        printed.line(*row)


def on_table_1(bench: Bench, name: str, *stocks: str, beside: str = "") -> None:
    """A controller of two links at a playout delay of two round trips, and of one and a half."""
    late, soon = "playout.delay_rtts=2", "playout.delay_rtts=1.5"
    rows = [controller(one) for one in (name, beside) if one]
    rows += [stock(one, settings) for one in stocks for settings in (LINK, LANE)]
    rows.append(stock("cubic", STREAM))
    titles = ("", "lanes", "`weighted_layers`", "`playback_ratio`", "throughput, Mbit/s", "weighted, 1.5 RTT")

    def line(row: CardRow) -> list[str]:
        measured = bench.run(TABLE_1, late, row)
        return [
            *(
                f"`{row.name}`",
                measured.lanes,
                measured.shown("weighted_layers"),
                measured.shown("playback_ratio"),
            ),
            f"{measured.middle('throughput_bps') / 1e6:.3f}",
            bench.run(TABLE_1, soon, row).shown("weighted_layers"),
        ]

    table(f"{name}: table 1, delay 2 round trips", titles, map(line, bench.wanted(rows)))


def beside_the_paper(bench: Bench) -> None:
    """How much more iodst-dqn plays than the paper's peers."""
    if bench.only_row:
        return
    delay = "playout.delay_rtts=2"
    ours = bench.run(TABLE_1, delay, controller("iodst-dqn")).middle("playback_ratio")

    def line(one: tuple[str, str, str]) -> list[str]:
        name, scheduler, published = one
        ways = (LINK, LANE, STREAM) if scheduler else ({},)
        results = []
        for way in ways:
            measured = bench.run(TABLE_1, delay, CardRow(name, scheduler, tuple(way.items())))
            more = 100 * (ours / max(measured.middle("playback_ratio"), 1e-9) - 1)
            results.append(f"{measured.shown('playback_ratio')}: {more:+,.0f} %")
        results += ["–"] * (3 - len(results))
        return [f"{name}, {scheduler}" if scheduler == "qle-ds" else name, published, *results]

    titles = ("than", "published", "16 lanes, a window a link", "16 lanes, a window each", "one stream")
    table(
        "iodst-dqn beside the paper: plays, and how much more iodst-dqn plays", titles, map(line, PUBLISHED)
    )


def iodst_dqn(bench: Bench) -> None:
    """Ha et al."""
    on_table_1(bench, "iodst-dqn", "cubic", "westwood", "bbr-scaled", "bbr")
    beside_the_paper(bench)


def iodst_dqn_plus(bench: Bench) -> None:
    """The same agent with what delay asks for."""
    on_table_1(bench, "iodst-dqn+", "cubic", "open-loop", beside="iodst-dqn")


def iodst_q(bench: Bench) -> None:
    """Q-learning with a table, on the same state."""
    on_table_1(bench, "iodst-q", "cubic", "newreno")


def drl_cc(bench: Bench) -> None:
    """Xu et al."""
    on_table_1(bench, "drl-cc", "cubic", "bbr-scaled")
    rows = bench.wanted([controller("drl-cc"), stock("bbr", LINK)])
    lines = ((f"`{row.name}`", bench.run(LOSSY, "", row).shown("throughput_bps", 2, 1e6)) for row in rows)
    table("drl-cc on ten terrestrial megabits", ("", "throughput, Mbit/s"), lines)
    again = (
        (f"`{row.name}`", bench.run(TABLE_1, "playout.delay_rtts=2", row).shown("retransmitted_ratio", 2))
        for row in bench.wanted([controller("drl-cc")])
    )
    table("drl-cc sends again, on table 1", ("", "`retransmitted_ratio`"), again)


def mpquic_rl(bench: Bench) -> None:
    """Lee and Yoo."""
    stocks = ("minrtt", "blest", "ecf", "peekaboo", "fast-only")
    rows = [controller("mpquic-rl"), *(stock("cubic", {}, scheduler) for scheduler in stocks)]

    def line(row: CardRow) -> list[str]:
        name = row.scheduler or row.name
        shares = (bench.run(DIVERSE, f"playout.delay_s={s}", row).shown("playback_ratio") for s in (0.3, 0.4))
        return [f"`{name}`", *shares]

    table("mpquic-rl: whole in time", ("", "within 0.3 s", "within 0.4 s"), map(line, bench.wanted(rows)))


def pbq(bench: Bench) -> None:
    """Zhang et al."""
    stocks = ("bbr", "remy", "bic", "newreno", "ledbat", "cubic", "vegas")
    rows = [controller("pbq"), *(stock(name, {}) for name in stocks)]

    def line(row: CardRow) -> list[str]:
        measured = bench.run(LOSSY, "", row)
        ms = measured.shown("mean_rtt_s", 0, 1e-3)
        return [f"`{row.name}`", measured.shown("throughput_bps", 2, 1e6), ms]

    titles = ("", "throughput, Mbit/s", "mean round trip, ms")
    table("pbq: four flows, 2.5 % of losses", titles, map(line, bench.wanted(rows)))


CARDS: dict[str, Callable[[Bench], None]] = {
    "iodst-dqn": iodst_dqn,
    "iodst-dqn+": iodst_dqn_plus,
    "iodst-q": iodst_q,
    "drl-cc": drl_cc,
    "mpquic-rl": mpquic_rl,
    "pbq": pbq,
}


@click.command(help=__doc__)
@click.option("--only", type=click.Choice(list(CARDS)), help="One card.")
@click.option("--row", default="", help="The rows of one algorithm or scheduler.")
@click.option("--seeds", default=20, show_default=True, type=click.IntRange(2), help="From 1 on.")
def main(only: str | None, row: str, seeds: int) -> None:
    """Print the tables."""
    began = time.monotonic()
    bench = Bench(seeds, row)
    for name, card in CARDS.items():
        if only in (None, name):
            card(bench)
    click.echo(f"took {time.monotonic() - began:,.0f} s", err=True)


if __name__ == "__main__":
    main()
