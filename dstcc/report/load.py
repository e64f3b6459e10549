"""Reads runs and pools them into sections, with notes on seeds and trials that cannot be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dstcc.algorithms import OWN, TRANSFERS, algorithm_name, mark
from dstcc.errors import InputError, RunError, did_you_mean
from dstcc.metrics import LEVELS
from dstcc.run import Run, load_run
from dstcc.run.record import LINKS, parse, parse_contacts

from .catalogue import METRICS
from .controllers import chosen_on, distinguished, labelled, namesakes
from .model import LEARNED, TRANSFER, Algorithm, Report, Section, Trial, TrialLink, plain_name

LISTED = 5
"""Most trials or seeds that a list names."""


def load_report(paths: Sequence[Path], against: str | None = None) -> Report:
    """Read and pool runs; :class:`~dstcc.errors.RunError` names the file that cannot be used.

    ``against`` chooses the reference of each section that has it; :class:`~dstcc.errors.InputError` if none has it.
    """
    pools: dict[tuple[object, ...], list[Run]] = {}
    runs: list[Run] = []
    seen: set[Path] = set()
    for path in paths:
        if path.resolve() in seen:
            raise RunError(f"{path}: given twice")
        seen.add(path.resolve())
        runs.append(run := load_run(path))
        key = (run.meta.get("scenario_sha256"), run.meta.get("backend"), run.meta.get("scale"))
        pools.setdefault(key, []).append(run)
    ambiguous = namesakes(runs)
    comparisons = len(pools) + (len(pools) > 1)
    sections = (_section(pooled, ambiguous) for pooled in pools.values())
    report = Report(tuple(replace(section, comparisons=comparisons) for section in sections))
    if against is None:
        return report
    name = _chosen(report, against)
    return Report(tuple(replace(section, against=name) for section in report.sections))


def _chosen(report: Report, against: str) -> str:
    """The algorithm of that name, given with or without its marks, that finished somewhere."""
    finished = dict.fromkeys(a.name for section in report.sections for a in section.finished)
    names = {plain_name(name): name for name in finished} | {name: name for name in finished}
    if against in names:
        return names[against]
    hint = did_you_mean(against, names)
    known = ", ".join(finished) or "none finished"
    raise InputError(f"--against: '{against}' is no algorithm of these runs ({known}){hint}")


def _section(runs: list[Run], ambiguous: frozenset[str]) -> Section:
    pooled: dict[str, dict[int, Trial]] = {}
    twice: dict[tuple[Path, Path, bool], list[str]] = {}
    notes = [f"{run.path}: {warning}" for run in runs for warning in run.meta.get("warnings") or ()]
    for run in runs:
        for row in run.trials:
            trial = _trial(run, row, ambiguous)
            known = pooled.setdefault(trial.algorithm, {}).setdefault(trial.seed, trial)
            if known is not trial:
                twice.setdefault((known.run.path, run.path, _alike(known, trial)), []).append(trial.id)
    notes += [_duplicate_note(*key, ids) for key, ids in twice.items()]
    algorithms = tuple(
        Algorithm(name, tuple(trials[seed] for seed in sorted(trials))) for name, trials in pooled.items()
    )
    section = Section(tuple(runs), algorithms, tuple(notes))
    _check_seeds(section)
    return replace(section, notes=(*notes, *_split_notes(section), *_chosen_notes(section)))


def _check_seeds(section: Section) -> None:
    """Raise RunError for an algorithm without a common seed with any other: their links and losses would differ."""
    seeds = {a.name: {trial.seed for trial in a.trials} for a in section.algorithms}
    for algorithm in section.algorithms:
        chosen = seeds[algorithm.name]
        others = set().union(*(seeds_of for name, seeds_of in seeds.items() if name != algorithm.name))
        if others and not chosen & others:
            raise RunError(
                f"{algorithm.trials[0].run.path}: {algorithm.name} was run with {_seed_list(chosen)}, the other "
                f"algorithms of {section.name} with {_seed_list(others)}: without a common seed they met different "
                "links and losses and cannot be compared; run it again with theirs (--seed, --seeds)"
            )


def _seed_list(seeds: set[int]) -> str:
    """``seed 4``, ``seeds 1–10`` or ``seeds 1, 5, 9``."""
    ordered = sorted(seeds)
    if len(ordered) > 2 and ordered[-1] - ordered[0] == len(ordered) - 1:
        return f"seeds {ordered[0]}–{ordered[-1]}"
    listed = ", ".join(map(str, ordered[:LISTED])) + (", .." if len(ordered) > LISTED else "")
    return f"seed{'s' if len(ordered) > 1 else ''} {listed}"


def _split_notes(section: Section) -> list[str]:
    """Notes that say why some seeds, or all, cannot be compared."""
    versions = {(run.meta.get("dstcc_version"), run.meta.get("git_commit")) for run in section.runs}
    notes = []
    if len(versions) > 1:
        notes.append(
            "The runs were written by different versions or commits: if draws changed between them, the same seed "
            "is not the same channel and differences seed by seed mean less."
        )
    lacking = {a.name: set(section.seeds) - {trial.seed for trial in a.trials} for a in section.algorithms}
    if any(lacking.values()):
        who = "; ".join(f"{name} lacks {_seed_list(seeds)}" for name, seeds in lacking.items() if seeds)
        notes.append(
            f"The algorithms were not all run with the same seeds ({who}): their values are of different links and "
            "losses. Differences seed by seed use the seeds that both sides have."
        )
    if section.split_seeds:
        seeds = ", ".join(map(str, sorted(section.split_seeds)))
        notes.append(f"Seeds whose trials drew different links are left out of the differences: {seeds}.")
    return notes


def _chosen_notes(section: Section) -> list[str]:
    """Notes that say what people chose by what it played here, and on which seeds."""
    said = (chosen_on(section, algorithm) for algorithm in section.algorithms)
    return [f"{one[0].upper()}{one[1:]}." for one in said if one]


def _alike(known: Trial, other: Trial) -> bool:
    return known.ok == other.ok and dict(known.metrics) == dict(other.metrics)


def _duplicate_note(first: Path, second: Path, alike: bool, ids: list[str]) -> str:
    listed = ", ".join(ids[:LISTED]) + (f" and {len(ids) - LISTED} others" if len(ids) > LISTED else "")
    verb = "is" if len(ids) == 1 else "are"
    verdict = "the same result" if alike else "a DIFFERENT result; compare versions and commits below"
    return f"{listed} {verb} in {first} and in {second}, with {verdict}; the first is used."


def _trial(run: Run, row: Mapping[str, Any], ambiguous: frozenset[str]) -> Trial:
    try:
        controller = row["controller"] and distinguished(run, row["controller"], ambiguous)
        variant = row["variant"] and labelled(run, row["variant"], ambiguous)
        name = _name(controller, row["congestion"], row["scheduler"], variant)
        return Trial(
            run=run,
            id=str(row["id"]),
            algorithm=str(name),
            congestion=row["congestion"],
            scheduler=row["scheduler"],
            controller=row["controller"],
            variant=row["variant"],
            seed=int(row["seed"]),
            ok=row["status"] == "ok",
            error=str(row.get("error") or ""),
            metrics={metric.key: row[metric.key] for metric in METRICS if row[metric.key] is not None},
            played=_played(row),
            links=_links(parse(row.get("links"), LINKS, "links")),
            contacts=tuple(parse_contacts(row.get("contacts"))),
        )
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise RunError(f"{run.path / 'trials.parquet'}: a trial's row cannot be used: {error!r}") from error


def _name(controller: str | None, congestion: str, scheduler: str, variant: str | None) -> str:
    if controller == OWN:
        return variant or controller
    if controller:
        return f"{variant or controller} {LEARNED}"
    transfer = f" {TRANSFER}" if congestion in TRANSFERS else ""
    return f"{variant or algorithm_name(congestion, scheduler)}{transfer}{mark(congestion, scheduler)}"


def _played(row: Mapping[str, Any]) -> dict[int, float]:
    return {level: row[name] for level, name in enumerate(LEVELS, -1) if row.get(name) is not None}


def _links(drawn: list[dict[str, Any]]) -> tuple[TrialLink, ...]:
    """The drawn links of a trial; a value that is not a plain number (a table over time) is unknown."""
    links = []
    for link in drawn:
        delay, rtt = _number(link.get("delay_s")), _number(link.get("rtt_s"))
        if rtt is None and delay is not None:
            rtt = 2 * delay
        name, rate_bps = str(link.get("name", "")), _number(link.get("rate_bps"))
        links.append(TrialLink(name, rate_bps, rtt, link.get("outages") or 0))
    return tuple(links)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
