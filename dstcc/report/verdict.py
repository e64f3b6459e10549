"""A result in a sentence or two, no surer than its numbers."""

from __future__ import annotations

from dstcc.stats import FEW_SEEDS, SAME, Estimate, Paired

from .contest import (
    BETTER_SEEDS,
    HEADLINE,
    LOWER,
    PAIRED_LOWER,
    UNCLEAR,
    WORSE,
    Contest,
    contest,
    pooled_contest,
    side,
)
from .model import Section, paired
from .numbers import unit_for
from .pooled import Pooled

UNIT = unit_for(HEADLINE.kind, [1.0])
NAMED = 4
"""Of a longer list only so many are named; a table has the others."""


def verdict(section: Section) -> str:
    """What the section found, how sure that is, and what it does not say."""
    if section.best is None:
        return "No trial finished: there is nothing to compare."
    found = contest(section)
    if found is None:
        return "The trials finished, but none says how much was played."
    return _joined_sentences(
        _leading(found), _comparison(found), _told(found), _against(section), _failures(section)
    )


def pooled_verdict(pooled: Pooled) -> str:
    """The same over all scenarios together."""
    found = pooled_contest(pooled)
    if found is None:
        return ""
    return _joined_sentences(_leading(found), _comparison(found), _told(found))


def _leading(found: Contest) -> str:
    top = found.values[found.leader]
    tied = [name for name in found.rivals if abs(found.values[name].value - top.value) <= SAME]
    behind = [name for name in found.rivals if name not in tied]
    names, each = _list([found.leader, *tied]), " each" if tied else ""
    what = f"{_interval(top)} of the video" if tied else f"most video, {_interval(top)} of it"
    text = f"{names}{each} brought home {what}"
    shown = behind if len(behind) <= NAMED + 1 else behind[:NAMED]
    parts = [f"{name} {UNIT.text(found.values[name].value)}" for name in shown]
    if len(shown) < len(behind):
        rest = [found.values[name].value for name in behind[NAMED:]]
        parts.append(f"{len(rest)} others between {UNIT.number(rest[-1])} and {UNIT.text(rest[0])}")
    return f"{text}; {_joined(parts)}." if parts else f"{text}."


def _comparison(found: Contest) -> str:
    """What disjoint intervals show, then what differences seed by seed show beyond them."""
    top = found.values[found.leader]
    if not top.has_interval:
        return "One seed: no interval exists, so this says nothing about other draws of the links and losses."
    groups = {
        word: [n for n in found.rivals if found.word(n) == word]
        for word in (WORSE, LOWER, PAIRED_LOWER, UNCLEAR)
    }
    parts = []
    if worse := groups[WORSE]:
        whom = "each of the others" if len(worse) == len(found.rivals) > 1 else _list(worse)
        parts.append(f"It is better than {whom}: {_seeds(found)}, intervals that do not overlap.")
    if lower := groups[LOWER]:
        parts.append(f"Its interval does not overlap that of {_list(lower)}, but {_why_not(found)}.")
    elif found.doubt:
        parts.append(f"Mind that {found.doubt}.")
    parts += _seed_by_seed(found, groups[PAIRED_LOWER])
    if unclear := groups[UNCLEAR]:
        parts.append(
            f"The intervals of {_list([found.leader, *unclear])} overlap: these seeds do not tell them apart."
        )
    if found.seeds[found.leader] < FEW_SEEDS:
        parts.append(
            f"With {_seeds(found)} the intervals are narrower than they should be: take them as a hint."
        )
    return " ".join(parts)


def _seeds(found: Contest) -> str:
    least = found.seeds[found.leader]
    return f"{least} seeds" if least == found.values[found.leader].n else f"{least} seeds or more a scenario"


def _why_not(found: Contest) -> str:
    """What is missing for the word *better*."""
    if found.doubt:
        return f"{found.doubt}, so it is not called better"
    return f"better takes {BETTER_SEEDS} seeds of either"


def _seed_by_seed(found: Contest, names: list[str]) -> list[str]:
    if len(names) == 1:
        margin = _margin(found.differences[names[0]])
        return [f"{names[0]}: the intervals overlap, but seed by seed {found.leader} is ahead, {margin}."]
    if names:
        return [f"{_list(names)}: the intervals overlap, but seed by seed {found.leader} is ahead of each."]
    return []


def _told(found: Contest) -> str:
    """How far the leader is from those that need not find the rates out."""
    told = [name for name in found.values if name in found.told]
    if not told:
        return ""
    values = [f"{UNIT.text(found.values[name].value)}" for name in told]
    verb = "is" if len(told) == 1 else "are"
    return f"{_list(told)} {verb} told the links' rates: {_joined(values[:NAMED])}."


def _against(section: Section) -> str:
    """Who is ahead of a chosen reference, seed by seed."""
    reference = section.reference
    if reference is None or reference is section.best:
        return ""
    differences = paired(section, HEADLINE.key)
    groups = {"ahead": 1, "behind": -1, "not told apart": 0}
    found = {
        word: [name for name, one in differences.items() if side(one) == way] for word, way in groups.items()
    }
    if not differences:
        return ""
    parts = [f"{word}: {_list(names)}" for word, names in found.items() if names]
    return f"Seed by seed against {reference.name}, {'; '.join(parts)}."


def _failures(section: Section) -> str:
    failed = sum(not trial.ok for trial in section.trials)
    if not failed:
        return ""
    found = contest(section)
    beside = f"; {_list(sorted(found.failed))} not compared" if found and found.failed else ""
    return f"{failed} of {len(section.trials)} trials failed and {'is' if failed == 1 else 'are'} left out{beside}."


def _margin(one: Paired) -> str:
    low, high = one.mean.bounds()
    mean = UNIT.number(-one.mean.value)
    return (
        f"by {mean} points on average (95 % interval {UNIT.number(-high)}–{UNIT.number(-low)}) "
        f"and at {one.below} of {one.mean.n} seeds"
    )


def _interval(one: Estimate) -> str:
    if one.low is None or one.high is None:
        return UNIT.text(one.value)
    return f"{UNIT.text(one.value)} (95 % interval {UNIT.number(one.low)}–{UNIT.number(one.high)})"


def _list(names: list[str]) -> str:
    if len(names) > NAMED + 2:
        return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} others"
    return _joined(names)


def _joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _joined_sentences(*sentences: str) -> str:
    return " ".join(sentence for sentence in sentences if sentence)
