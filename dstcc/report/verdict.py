"""A scenario's result in a sentence or two, no surer than its numbers."""

from __future__ import annotations

from dstcc.stats import FEW_SEEDS, Estimate

from .model import TIE, Algorithm, Section, paired_to_best
from .numbers import Unit, unit_for

KEY = "playback_ratio"


def verdict(section: Section) -> str:
    """What the section found, how sure that is, and what it does not say."""
    best = section.best
    if best is None:
        return "No trial finished: there is nothing to compare."
    measured = [a for a in section.finished if KEY in a.estimates]
    if best not in measured:
        return "The trials finished, but none says how many chunks were played."
    unit = unit_for("share", [1.0])
    others = sorted((a for a in measured if a is not best), key=lambda a: -a.estimates[KEY].value)
    sentences = [_leading(best, others, unit), _confidence(section, best, others), _failures(section)]
    return " ".join(sentence for sentence in sentences if sentence)


def _leading(best: Algorithm, others: list[Algorithm], unit: Unit) -> str:
    top = best.estimates[KEY]
    tied = [a for a in others if abs(a.estimates[KEY].value - top.value) <= TIE]
    behind = [a for a in others if a not in tied]
    names = _list([a.name for a in (best, *tied)])
    each = " each" if tied else ""
    text = f"{names}{each} played {_interval(top, unit)} of chunks"
    if behind:
        text += f"; {_list([f'{a.name} {unit.text(a.estimates[KEY].value)}' for a in behind])}"
    return f"{text}."


def _confidence(section: Section, best: Algorithm, others: list[Algorithm]) -> str:
    top = best.estimates[KEY]
    if not top.has_interval:
        return "One seed: no interval exists, so this says nothing about other draws of the links and losses."
    parts = []
    differences = paired_to_best(section, KEY)
    close = [a for a in others if a.estimates[KEY].overlaps(top)]
    apart = [a.name for a in close if a.name in differences and _clear(differences[a.name])]
    unclear = [a.name for a in close if a.name not in apart]
    if unclear:
        parts.append(
            f"The intervals of {_list([best.name, *unclear])} overlap: these seeds do not tell them apart."
        )
    if apart:
        parts.append(f"{_list(apart)}: the intervals overlap, but seed by seed {best.name} is ahead.")
    if others and not close:
        parts.append("Its interval overlaps no other.")
    if top.n < FEW_SEEDS:
        parts.append(
            f"With {top.n} seeds the intervals are narrower than they should be: take them as a hint."
        )
    return " ".join(parts)


def _failures(section: Section) -> str:
    failed = sum(not trial.ok for trial in section.trials)
    if not failed:
        return ""
    return f"{failed} of {len(section.trials)} trials failed and {'is' if failed == 1 else 'are'} left out."


def _clear(difference: Estimate) -> bool:
    return difference.bounds()[1] < 0.0


def _interval(one: Estimate, unit: Unit) -> str:
    if one.low is None or one.high is None:
        return unit.text(one.value)
    return f"{unit.text(one.value)} (95 % interval {unit.number(one.low)}–{unit.number(one.high)})"


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
