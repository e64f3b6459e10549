"""A scenario's result in a sentence or two, no surer than its numbers."""

from __future__ import annotations

from dstcc.stats import FEW_SEEDS, SAME, Estimate, Paired

from .model import Algorithm, Section, paired
from .numbers import Unit, unit_for

KEY = "playback_ratio"
LEAST = 0.0005
"""Half of the last digit shown: a smaller difference reads as none."""
NAMED = 4
"""Of a longer list only so many are named; a table has the others."""


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
    sentences = [
        _leading(best, others, unit),
        _confidence(section, best, others, unit),
        _against(section, best),
        _failures(section),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _leading(best: Algorithm, others: list[Algorithm], unit: Unit) -> str:
    top = best.estimates[KEY]
    tied = [a for a in others if abs(a.estimates[KEY].value - top.value) <= SAME]
    behind = [a for a in others if a not in tied]
    names = _list([a.name for a in (best, *tied)])
    each = " each" if tied else ""
    text = f"{names}{each} played {_interval(top, unit)} of chunks"
    shown = behind if len(behind) <= NAMED + 1 else behind[:NAMED]
    parts = [f"{a.name} {unit.text(a.estimates[KEY].value)}" for a in shown]
    if len(shown) < len(behind):
        rest = [a.estimates[KEY].value for a in behind[NAMED:]]
        parts.append(f"{len(rest)} others between {unit.number(rest[-1])} and {unit.text(rest[0])}")
    return f"{text}; {_joined(parts)}." if parts else f"{text}."


def _confidence(section: Section, best: Algorithm, others: list[Algorithm], unit: Unit) -> str:
    """What disjoint intervals show, then what differences seed by seed show beyond them."""
    top = best.estimates[KEY]
    if not top.has_interval:
        return "One seed: no interval exists, so this says nothing about other draws of the links and losses."
    parts = []
    differences = paired(section, KEY, best)
    close = [a for a in others if a.estimates[KEY].overlaps(top)]
    apart = [a.name for a in close if a.name in differences and _side(differences[a.name]) < 0]
    unclear = [a.name for a in close if a.name not in apart]
    if unclear:
        parts.append(
            f"The intervals of {_list([best.name, *unclear])} overlap: these seeds do not tell them apart."
        )
    if len(apart) == 1:
        margin = _margin(differences[apart[0]], unit)
        parts.append(f"{apart[0]}: the intervals overlap, but seed by seed {best.name} is ahead, {margin}.")
    elif apart:
        parts.append(f"{_list(apart)}: the intervals overlap, but seed by seed {best.name} is ahead of each.")
    if others and not close:
        parts.append("Its interval overlaps no other.")
    if top.n < FEW_SEEDS:
        parts.append(
            f"With {top.n} seeds the intervals are narrower than they should be: take them as a hint."
        )
    return " ".join(parts)


def _against(section: Section, best: Algorithm) -> str:
    """Who is ahead of a chosen reference, seed by seed."""
    reference = section.reference
    if reference is None or reference is best:
        return ""
    differences = paired(section, KEY)
    groups = {"ahead": 1, "behind": -1, "not told apart": 0}
    found = {
        word: [name for name, one in differences.items() if _side(one) == side]
        for word, side in groups.items()
    }
    if not differences:
        return ""
    parts = [f"{word}: {_list(names)}" for word, names in found.items() if names]
    return f"Seed by seed against {reference.name}, {'; '.join(parts)}."


def _failures(section: Section) -> str:
    failed = sum(not trial.ok for trial in section.trials)
    if not failed:
        return ""
    return f"{failed} of {len(section.trials)} trials failed and {'is' if failed == 1 else 'are'} left out."


def _side(one: Paired) -> int:
    """+1 or −1 where the interval of the mean difference lies wholly above or below zero, as it is shown, else 0."""
    low, high = one.mean.bounds()
    return (low > LEAST) - (high < -LEAST)


def _margin(one: Paired, unit: Unit) -> str:
    low, high = one.mean.bounds()
    mean = unit.number(-one.mean.value)
    return (
        f"by {mean} points on average (95 % interval {unit.number(-high)}–{unit.number(-low)}) "
        f"and at {one.below} of {one.mean.n} seeds"
    )


def _interval(one: Estimate, unit: Unit) -> str:
    if one.low is None or one.high is None:
        return unit.text(one.value)
    return f"{unit.text(one.value)} (95 % interval {unit.number(one.low)}–{unit.number(one.high)})"


def _list(names: list[str]) -> str:
    if len(names) > NAMED + 2:
        return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} others"
    return _joined(names)


def _joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
