"""The report as one HTML page that needs no network."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby
from pathlib import Path
from typing import Any

from dstcc.errors import RunError
from dstcc.layers import level_name
from dstcc.reading import read_text
from dstcc.stats import FEW_SEEDS

from .catalogue import METRIC, METRICS, TERMS, Metric
from .comparison import ALONE
from .contacts import ContactTable, contact_table
from .controllers import policies_of
from .data import Rows, frontier_rows, layers_rows, paired_rows, profile_rows, transport_rows
from .decision import MissionResult, decide
from .figures import style
from .figures.frontier import frontier_figure
from .figures.layers import layers_figure
from .figures.looks import Looks
from .figures.looks import looks as looks_of
from .figures.paired import paired_figure, paired_metrics
from .figures.profiles import BANDED, Panels, profile_figure
from .figures.section import FIGURES, finding
from .figures.transport import QUANTITIES, Quantity, transport_figure, without_line
from .footing import Footing, footings_of, legend
from .frontier import BOUND_NAME, Frontier, FrontierRow, frontiers, table, titles
from .mission import Mission, describe_mission
from .model import Report, Section, Trial, plain_name
from .numbers import grouped, quantity
from .pictures import Screening, Screenings
from .pooled import Pooled, pool, pooled_profiles, section_profiles
from .ranking import Ranked, headings, words_of
from .summary import (
    PairedRow,
    SummaryRow,
    command_line,
    mean_differences,
    paired_table,
    pooled_ranking,
    pooled_table,
    section_differences,
    section_ranking,
    summary_table,
)
from .tables import Tables
from .template import TEMPLATES, Plot, fill
from .verdict import pooled_verdict, verdict


@dataclass(frozen=True)
class Drawn(Plot):
    """A figure whose numbers can be written beside the page."""

    name: str
    """Of its files."""
    rows: Callable[[], Rows]
    """The numbers that it draws."""


class SectionView:
    """A section as the template needs it; figures are drawn when the template uses them."""

    def __init__(
        self,
        section: Section,
        title: str,
        index: int,
        looks: Looks,
        screening: Screening | str = "",
    ) -> None:
        self.section = section
        self.screening = screening if isinstance(screening, Screening) else None
        self.no_pictures = screening if isinstance(screening, str) else ""
        self.id = f"s{index}"
        self.name = title
        self.verdict = verdict(section)
        self.footings = footings_of(section)
        self.ranking = RankingView(section_ranking(section), looks, self.footings.values())
        self.policies = policies_of(section)
        self.algorithms = [(a.name, style.swatch(looks[a.name])) for a in section.finished]
        self._looks = looks
        self._tables = Tables()

    @cached_property
    def mission(self) -> Mission:
        """The mission at a glance."""
        return describe_mission(self.section, self._tables)

    @property
    def groups(self) -> list[tuple[str, list[SummaryRow]]]:
        """The summary, split into the metrics' groups."""
        rows = summary_table(self.section)
        return [(name, list(group)) for name, group in groupby(rows, key=lambda row: row.metric.group)]

    @property
    def has_intervals(self) -> bool:
        """Whether any algorithm has at least two seeds."""
        return any(one.has_interval for a in self.section.finished for one in a.estimates.values())

    @property
    def few_seeds(self) -> bool:
        """Whether so few seeds call for a warning about the intervals."""
        return self.has_intervals and len(self.section.seeds) < FEW_SEEDS

    @property
    def failed(self) -> list[Trial]:
        """Trials that failed."""
        return [trial for trial in self.section.trials if not trial.ok]

    @property
    def representative(self) -> str:
        """Which trials the figures over time show."""
        trials = self.section.representative
        if len({trial.seed for trial in trials}) == 1:
            seeds = f"seed {trials[0].seed}"
        else:
            seeds = ", ".join(f"{trial.algorithm}: seed {trial.seed}" for trial in trials)
        return f"{seeds}; {self.chosen}" if self.chosen else seeds

    @property
    def chosen(self) -> str:
        """Which of the algorithms those figures show; empty where they show all."""
        shown, finished = len(self.section.pictured), len(self.section.finished)
        return (
            f"of {finished} algorithms the {shown - 1} that delivered most, and the last"
            if shown < finished
            else ""
        )

    @cached_property
    def decision(self) -> MissionResult | None:
        """What a mission would get."""
        return decide(self.section, self._tables)

    def swatch(self, name: str) -> tuple[str, int]:
        """The colour of an algorithm."""
        return style.swatch(self._looks[name])

    @cached_property
    def contacts(self) -> ContactTable:
        """What each contact delivered."""
        return contact_table(self.section)

    def layers(self, shown: Collection[str] | None = None, *, on_paper: bool = False) -> Drawn:
        """The layers-played bars, of all algorithms or of those ``shown``."""
        names = {level: level_name(level, len(self.section.levels) - 1) for level in self.section.levels}
        said = "; ".join(
            f"{a.name}: "
            + ", ".join(f"{names[level]} {share * 100:.0f} %" for level, share in a.played.items())
            for a in self.section.finished
        )
        label = f"Share of chunks played up to each layer. {said}."
        draw = partial(layers_figure, self.section, names=shown, on_paper=on_paper)
        return self._plot("layers", draw, label, lambda: layers_rows(self.section))

    def _plot(self, key: str, draw: Callable[..., str], label: str, rows: Callable[[], Rows]) -> Drawn:
        return _drawn(f"{self.id}-{key}", self.id, draw, label, rows)

    def transport(self) -> Iterator[tuple[str, Drawn, str]]:
        """Window, RTT and throughput: title and figure of each, and which algorithms have no line in it and why."""
        for what in QUANTITIES:
            without = without_line(self.section, self._tables, what)
            if len(without) == len(self.section.representative):
                continue
            draw = partial(transport_figure, self.section, self._tables, what, self._looks)
            whose: dict[str, list[str]] = {}
            for name, why in without.items():
                whose.setdefault(why, []).append(name)
            left_out = "".join(
                f" Without a line: {', '.join(names)} ({why})." for why, names in whose.items()
            )
            rows = partial(transport_rows, self.section, self._tables, what)
            plot = self._plot(what.key, draw, self._transport_label(what), rows)
            yield what.title, plot, left_out

    def _transport_label(self, what: Quantity) -> str:
        said = finding(self.section.pictured, what.metric) if what.metric else ""
        mean = f" {METRIC[what.metric].label}: {said}." if what.metric else ""
        return f"{what.title} of each algorithm and link over mission time, {self.representative}.{mean}"

    def figures(self, place: str) -> Iterator[tuple[str, str, Drawn, str]]:
        """Key, title, figure and caption of each registered figure of that place."""
        for _key, one in sorted(FIGURES.items()):
            if one.place == place and one.wanted(self.section):
                draw = partial(one.draw, self.section, self._tables, self._looks)
                rows = partial(one.rows, self.section, self._tables)
                yield one.key, one.title, self._plot(one.key, draw, one.label(self), rows), one.caption(self)

    @cached_property
    def paired_metrics(self) -> tuple[Metric, ...]:
        """The metrics that can be compared seed by seed; empty with fewer than two common seeds."""
        return paired_metrics(self.section)

    @cached_property
    def profile_panels(self) -> Panels:
        """The metrics with a performance profile; empty with one seed or where all trials have equal values."""
        return section_profiles(self.section)

    def profiles(self) -> Drawn:
        """The performance profiles."""
        return _profile_plot(self.profile_panels, self._looks, {self.best, self.reference}, self.id)

    def paired(self) -> Drawn:
        """Differences to the reference, as a figure."""
        draw = partial(paired_figure, self.section, self._looks)
        means = "; ".join(
            f"{metric.label.lower()}: "
            + ", ".join(f"{plain_name(name)} {text}" for name, text in mean_differences(self.section, metric))
            for metric in self.paired_metrics
        )
        label = f"Differences to {self.reference} over common seeds. Means: {means}."
        return self._plot("paired", draw, label, lambda: paired_rows(self.section))

    def paired_rows(self) -> list[PairedRow]:
        """Differences to the reference, as text."""
        return paired_table(section_differences(self.section))

    @property
    def reference(self) -> str:
        """The name of the algorithm that the others are compared with."""
        return self.section.reference.name if self.section.reference else ""

    @property
    def best(self) -> str:
        """The best algorithm's name."""
        return self.section.best.name if self.section.best else ""

    @property
    def settings(self) -> list[dict[str, Any]]:
        """The settings that are needed to repeat each run."""
        commands = command_line(self.section)
        return [
            {
                "command": command,
                "path": str(run.path),
                "rows": _settings(run.meta),
                "scenario": _toml(run.path),
            }
            for run, command in zip(self.section.runs, commands, strict=True)
        ]


class RankingView:
    """The table at the top as the template needs it."""

    def __init__(self, rows: list[Ranked], looks: Looks, footings: Iterable[Footing]) -> None:
        self.rows = [(row, style.swatch(looks[row.name])) for row in rows]
        self.words = words_of(rows)
        self.alone = any(row.leader and row.word == ALONE for row in rows)
        """Whether nothing ranks the leader, so that no colour praises it."""
        self.legend = legend(footings)
        self.headings = headings()


class PooledView:
    """All scenarios together as the template needs them."""

    def __init__(self, pooled: Pooled, looks: Looks) -> None:
        self.verdict = pooled_verdict(pooled)
        self.ranking = RankingView(pooled_ranking(pooled), looks, pooled.footings.values())
        self.metrics = pooled.metrics
        self.reference = pooled.reference
        self.rows = [(name, style.swatch(looks[name]), cells) for name, cells in pooled_table(pooled)]
        self.paired_rows = paired_table([(metric, pooled.paired(metric)) for metric in pooled.metrics])
        self.profile_panels = pooled_profiles(pooled)
        self.has_intervals = pooled.estimate(pooled.best, pooled.metrics[0]).has_interval
        self._looks, self._named = looks, {pooled.best, pooled.reference}

    def profiles(self) -> Drawn:
        """The performance profiles over all scenarios."""
        return _profile_plot(self.profile_panels, self._looks, self._named, "all")


class FrontierView:
    """A frontier as the template needs it."""

    def __init__(self, frontier: Frontier, index: int, looks: Looks) -> None:
        self.frontier = frontier
        self.id = f"f{index}"
        self.name = frontier.name
        self.finding = frontier.finding
        self.names = [(name, style.swatch(looks[name])) for name in frontier.pictured]
        self.left_out = len(frontier.names) - len(frontier.pictured)
        self.bound = BOUND_NAME
        self.has_intervals = any(
            one is not None and one.has_interval for name in frontier.names for one in frontier.line(name)
        )
        self._looks = looks

    @property
    def rows(self) -> list[FrontierRow]:
        """A row for each delay."""
        return table(self.frontier, self.frontier.pictured)

    def plot(self) -> Drawn:
        """The figure; its label says what it shows."""
        said = f"Weighted layers over playout delay, {self.name}. {self.finding}"
        svg = frontier_figure(self.frontier, self._looks, self.id)
        return Drawn(svg, said, "", f"{self.id}-frontier", lambda: frontier_rows(self.frontier))


def _profile_plot(panels: Panels, looks: Looks, named: set[str], salt: str) -> Drawn:
    halves = "; ".join(
        f"{metric.label.lower()}: "
        + ", ".join(
            f"{plain_name(name)} {quantity(metric.kind, one.median)}" for name, one in profiles.items()
        )
        for metric, profiles in panels
    )
    said = f"Share of trials that reach a value or more, a line per algorithm. Half of the trials reach, {halves}."
    draw = partial(profile_figure, panels, looks, named)
    return _drawn(f"{salt}-profiles", salt, draw, said, lambda: profile_rows(panels))


def _drawn(name: str, salt: str, draw: Callable[..., str], label: str, rows: Callable[[], Rows]) -> Drawn:
    """A figure for a wide page and for a phone; ``draw`` takes a salt for ids, and whether it is narrow."""
    return Drawn(draw(salt=salt), label, draw(salt=f"{salt}n", narrow=True), name, rows)


def render_html(report: Report, screenings: Screenings | None = None) -> str:
    """The page; the same runs give the same bytes."""
    return draw_page(report, screenings)[0]


def draw_page(
    report: Report, screenings: Screenings | None = None, folder: str = "", *, data: bool = False
) -> tuple[str, list[Drawn]]:
    """The page and its figures; the page links to their files in ``folder``, seen from it, unless that is empty, with
    ``data`` to their numbers, too."""
    looks = looks_of(report.algorithms)
    screenings = screenings or Screenings(("",) * len(report.sections))
    sections = [
        SectionView(section, title, index, looks, screening)
        for index, (section, title, screening) in enumerate(
            zip(report.sections, titles(report), screenings.by_section, strict=True), 1
        )
    ]
    found = [FrontierView(one, index, looks) for index, one in enumerate(frontiers(report), 1)]
    script = (TEMPLATES / "screening.js").read_text(encoding="utf-8")
    pooled = pool(report)
    title = sections[0].name if len(sections) == 1 else f"{len(sections)} scenarios compared"
    if len(found) == 1 and len(found[0].frontier.sections) == len(sections):
        title = f"{found[0].name} over playout delay"
    plots: list[Drawn] = []

    def keep(plot: Drawn) -> str:
        plots.append(plot)
        return folder

    page = fill(
        TEMPLATES / "report.html",
        keep=keep,
        data=data,
        title=title,
        sections=sections,
        frontiers=found,
        pooled=PooledView(pooled, looks) if pooled else None,
        banded=BANDED,
        script=script if any(view.screening for view in sections) else "",
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        clip=screenings.address,
        clips_beside=screenings.folder is not None,
        swatch=lambda name: style.swatch(looks[name]) if name in looks else "",
        metrics=METRICS,
        terms=TERMS,
        quantity=quantity,
        grouped=grouped,
        reference={what.key: what.reference_name for what in QUANTITIES},
    )
    return page, plots


def _settings(meta: dict[str, Any]) -> list[tuple[str, str]]:
    machine = meta.get("machine") or {}
    words = (
        [f"{key}: {value}" for key, value in machine.items()] if isinstance(machine, dict) else [str(machine)]
    )
    wall = meta.get("wall_s")
    return [
        ("dstcc", str(meta.get("dstcc_version", "unknown"))),
        ("Git commit", str(meta.get("git_commit") or "unknown")),
        ("Scenario SHA-256", str(meta.get("scenario_sha256", "unknown"))),
        ("Seeds", ", ".join(str(seed) for seed in meta.get("seeds") or [])),
        ("Backend, scale", f"{meta.get('backend', 'unknown')}, {meta.get('scale') or 1:g}"),
        ("Machine", ", ".join(words) or "unknown"),
        ("Wall time", quantity("seconds", float(wall)) if wall is not None else "unknown"),
    ]


def _toml(path: Path) -> str:
    return read_text(path / "scenario.toml", RunError)
