"""The table of a run's trials for people: the results of each algorithm, and what it knew and was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .output import plain_table, say, show_figures

if TYPE_CHECKING:
    from rich.table import Table

    from dstcc.run import TrialRow

SHOWN = {
    "playback_ratio": ("played", "{:.1%}"),
    "full_quality_ratio": ("in full", "{:.1%}"),
    "weighted_layers": ("weight", "{:.1%}"),
    "oracle_ratio": ("of bound", "{:.1%}"),
    "bytes_in_time": ("MB in time", "{:,.1f}"),
    "full_quality_bytes": ("MB in full", "{:,.1f}"),
    "sent_bytes": ("MB sent", "{:,.1f}"),
    "startup_s": ("start s", "{:,.1f}"),
    "stalls": ("stalls", "{:.0f}"),
    "stall_s": ("stall s", "{:,.1f}"),
    "completion_s": ("done s", "{:,.1f}"),
    "fairness_jain": ("fair", "{:.3f}"),
    "own_share": ("share", "{:.1%}"),
    "psnr_db": ("PSNR", "{:.2f}"),
    "vmaf": ("VMAF", "{:.1f}"),
}
"""The metrics of the table for people, headings and formats; those that no trial has are left out."""
HOME = ("bytes_in_time", "full_quality_bytes")
"""What was delivered. The second is shown for runs with outages only: it says what the passes delivered. So is the
first in a table with a row for each algorithm."""
MEGABYTES = (*HOME, "sent_bytes")
"""Metrics that are bytes."""
RANKS = "weighted_layers"
"""The metric that also shows its mean and its worst seed where the table has a row for each algorithm."""
HEADLINES = (RANKS, "bytes_in_time")
"""Metrics shown with their confidence intervals where the table has a row for each algorithm."""
SINGLE = ("oracle_ratio",)
"""Metrics that a table with a row for each algorithm has no room for."""
LONG = 40
"""Characters from which a name and its mark take two lines."""
MOST_ROWS = 30
"""With more trials than this the table has a row for each algorithm, with the values over its seeds."""


def show_trials(title: str, done: Sequence[TrialRow], algorithms: Sequence[Mapping[str, Any]]) -> None:
    """Print the table, and below it a legend of its abbreviations; ``algorithms`` is ``run.json``'s."""
    show_figures(_table(title, done, {one["name"]: one for one in algorithms}))
    for line in [*others(done), *legend(algorithms)]:
        say(line)


def others(done: Sequence[TrialRow]) -> list[str]:
    """The throughput of background flows beside each algorithm: a line per congestion control and link, over seeds."""
    rates_by_flow: dict[tuple[str, str, str], list[float]] = {}
    trials: dict[str, set[str]] = {}
    for trial in done:
        for flow in trial.flows:
            key = trial.key.name, str(flow["link"]), str(flow["congestion"])
            rates_by_flow.setdefault(key, []).append(float(str(flow["throughput_bps"] or 0)))
            trials.setdefault(trial.key.name, set()).add(trial.id)
    lines = []
    for (name, link, control), rates in rates_by_flow.items():
        each, count = sum(rates) / len(rates), len(rates) // len(trials[name])
        flows = f"a {control} flow with" if count == 1 else f"{count:,} {control} flows with a mean of"
        lines.append(f"beside {name} on {link}: {flows} {each:,.0f} bit/s")
    return lines


def show_algorithms(algorithms: Sequence[Mapping[str, Any]]) -> None:
    """Print what each algorithm would know and be given."""
    table = plain_table(pad_edge=False, collapse_padding=True)
    for heading in ("algorithm", "knows", "lanes", "S"):
        table.add_column(heading, justify="right" if heading in ("lanes", "S") else "left", no_wrap=True)
    for one in algorithms:
        table.add_row(one["name"], *_footing(one, True))
    show_figures(table)
    for line in legend(algorithms)[: 2 + _scales(algorithms)]:
        say(line)


def legend(algorithms: Sequence[Mapping[str, Any]]) -> list[str]:
    """The lines that explain the columns *knows*, *lanes* and *S* for these algorithms."""
    from dstcc.algorithms import COPIES, KNOWLEDGE

    used = [known for key, known in KNOWLEDGE.items() if any(key in one["knows"] for one in algorithms)]
    copied = [what for key, what in COPIES.items() if any(one["copies"] == key for one in algorithms)]
    lines = ["lanes: ordering domains/windows over all links" + "".join(f"; +: {what}" for what in copied)]
    if used:
        lines.insert(0, f"knows: {'; '.join(f'{known.letter} {known.what}' for known in used)}")
    if _scales(algorithms):
        lines.append("S: mission seconds to an emulated one, by which its constants in seconds are stretched")
    return [*lines, *_distortions(algorithms)]


def _distortions(algorithms: Sequence[Mapping[str, Any]]) -> list[str]:
    """For each scale, its effects on constants, and the algorithms that they concern."""
    algorithms_by_effect: dict[tuple[float, str], list[str]] = {}
    for one in algorithms:
        for what in one["distorts"]:
            algorithms_by_effect.setdefault((one["scale"], what), []).append(one["name"])
    lines = []
    for scale in dict.fromkeys(scale for scale, _ in algorithms_by_effect):
        those = {what: names for (of, what), names in algorithms_by_effect.items() if of == scale}
        most = max(map(len, those.values()))
        effects = [
            what if len(names) == most else f"{what} ({', '.join(names)})" for what, names in those.items()
        ]
        lines.append(f"at S = {scale:g}: {'; '.join(effects)}")
    return lines


def _scales(algorithms: Sequence[Mapping[str, Any]]) -> bool:
    return len({one["scale"] for one in algorithms}) > 1


def _table(title: str, done: Sequence[TrialRow], algorithms: Mapping[str, Mapping[str, Any]]) -> Table:
    rows = [(name, trials, _values(trials)) for name, trials in _rows(done)]
    pooled, apart = len(rows) < len(done), _scales(list(algorithms.values()))
    names = [name for name in SHOWN if any(values.get(name) is not None for _, _, values in rows)]
    passes = any(trial.contacts for trial in done)
    left_out = (*(SINGLE if pooled else ()), *(() if passes else HOME if pooled else HOME[1:]))
    names = [name for name in names if name not in left_out]
    table = plain_table(title=title, pad_edge=False, collapse_padding=True)
    table.add_column("algorithm" if pooled else "trial", no_wrap=True)
    if pooled:
        table.add_column("seeds", justify="right", no_wrap=True)
    for name in names:
        table.add_column(SHOWN[name][0], justify="right", no_wrap=True)
        if pooled and name in HEADLINES:
            for heading in ("95 %", *(("mean", "worst") if name == RANKS else ())):
                table.add_column(heading, justify="right", no_wrap=True)
    for heading in ("knows", "lanes", *(("S",) if apart else ())):
        table.add_column(heading, justify="right" if heading != "knows" else "left", no_wrap=True)
    for name, trials, values in rows:
        cells = [name, *([_seeds(trials)] if pooled else [])]
        for key in names:
            cells.append(_cell(key, values.get(key)) if values else "failed" if key == names[0] else "")
            if pooled and key in HEADLINES:
                cells += [_interval(trials, key), *(_spread(trials, key) if key == RANKS else ())]
        table.add_row(*cells, *_footing(algorithms[trials[0].key.name], apart))
    return table


def _rows(done: Sequence[TrialRow]) -> list[tuple[str, list[TrialRow]]]:
    """Names and trials of the rows: one per trial, or one per algorithm where trials are many."""
    from dstcc.algorithms import mark

    if len(done) <= MOST_ROWS:
        names = [(trial.id, mark(trial.key.congestion, trial.key.scheduler).strip()) for trial in done]
        return [
            (f"{name} {note}".strip() if len(name) + len(note) < LONG else f"{name}\n{note}", [trial])
            for (name, note), trial in zip(names, done, strict=True)
        ]
    grouped: dict[str, list[TrialRow]] = {}
    for trial in done:
        grouped.setdefault(trial.key.name, []).append(trial)
    marks = {
        name: mark(trials[0].key.congestion, trials[0].key.scheduler).strip()
        for name, trials in grouped.items()
    }
    return [(f"{name}\n{marks[name]}".strip(), trials) for name, trials in grouped.items()]


def _seeds(trials: Sequence[TrialRow]) -> str:
    finished = sum(trial.metrics is not None for trial in trials)
    return f"{len(trials)}" if finished == len(trials) else f"{finished} of {len(trials)}"


def _values(trials: Sequence[TrialRow]) -> dict[str, float | None]:
    """The metrics of a trial, or over seeds the values that reports give; empty if all trials failed."""
    from dstcc.stats import estimate

    metrics = [trial.metrics.values for trial in trials if trial.metrics]
    if len(trials) == 1 or not metrics:
        return dict(metrics[0]) if metrics else {}
    samples = {name: [value for one in metrics if (value := one.get(name)) is not None] for name in SHOWN}
    return {name: estimate(values).value for name, values in samples.items() if values}


def _over_seeds(trials: Sequence[TrialRow], key: str) -> list[float]:
    candidates = [trial.metrics.values.get(key) for trial in trials if trial.metrics]
    return [value for value in candidates if value is not None]


def _spread(trials: Sequence[TrialRow], key: str) -> tuple[str, str]:
    """Mean and worst of the seeds, beside the interquartile mean."""
    values = _over_seeds(trials, key)
    return (_cell(key, sum(values) / len(values)), _cell(key, min(values))) if values else ("–", "–")


def _interval(trials: Sequence[TrialRow], key: str) -> str:
    from dstcc.stats import estimate

    values = _over_seeds(trials, key)
    low, high = estimate(values).bounds() if len(values) > 1 else (0.0, 0.0)
    unit = 1e6 if key in MEGABYTES else 0.01
    return f"{low / unit:,.1f}–{high / unit:,.1f}" if len(values) > 1 else "–"


def _footing(one: Mapping[str, Any], scale: bool) -> list[str]:
    from dstcc.algorithms import letters
    from dstcc.run.footing import lanes

    cells = [letters(one["knows"]), f"{lanes(one)}{'+' if one['copies'] else ''}"]
    return [*cells, f"{one['scale']:g}"] if scale else cells


def _cell(name: str, value: float | None) -> str:
    return "–" if value is None else SHOWN[name][1].format(value / 1e6 if name in MEGABYTES else value)
