"""The result in a sentence or two, which claims no more than the figures support."""

from __future__ import annotations

from dstcc.stats import FEW_SEEDS, SAME, Estimate, Paired

from .comparison import (
    ALONE,
    BETTER_SEEDS,
    HEADLINE,
    LEADS,
    LOWER,
    PAIRED_LOWER,
    UNCLEAR,
    WORSE,
    Comparison,
    compare,
    compare_pooled,
    side,
)
from .model import Section, paired
from .numbers import unit_for
from .pooled import Pooled

UNIT = unit_for(HEADLINE.kind, [1.0])
NAMED = 4
"""Most names in a sentence; a table has the others."""


def verdict(section: Section) -> str:
    """The result of a section, how certain it is, and what it does not cover."""
    if section.best is None:
        return "No trial finished: there is nothing to compare."
    comparison = compare(section)
    if comparison is None:
        return "The trials finished, but none says how much was played."
    return _joined_sentences(
        leading(comparison),
        _comparison(comparison),
        equal_lanes(comparison),
        _knowing_rates(comparison),
        _against(section),
        _failures(section),
        _missing(comparison),
    )


def pooled_verdict(pooled: Pooled) -> str:
    """The result over all scenarios together."""
    comparison = compare_pooled(pooled)
    if comparison is None:
        return ""
    return _joined_sentences(
        leading(comparison),
        _comparison(comparison),
        equal_lanes(comparison),
        _knowing_rates(comparison),
        _missing(comparison),
    )


def leading(comparison: Comparison) -> str:
    """Which algorithm has most; where lanes and knowledge differ, the same sentence says so."""
    top = comparison.values[comparison.leader]
    if comparison.word(comparison.leader) == ALONE:
        rest = "and as no other algorithm here finds the links' rates out, there is nothing to rank it by"
        if not comparison.knows_rates:
            rest = "and there is nothing to rank it by"
        return f"{comparison.leader} brought home {_interval(top)} of the video, {rest}."
    tied = [name for name in comparison.rivals if abs(comparison.values[name].value - top.value) <= SAME]
    behind = [name for name in comparison.rivals if name not in tied]
    apart = _apart(comparison)
    names = _list([f"{name}{_with(comparison, name, apart)}" for name in (comparison.leader, *tied)])
    if tied:
        text = f"{names} each brought home {_interval(top)} of the video"
    elif comparison.word(comparison.leader) == LEADS:
        text = f"{names} brought home most video, {_interval(top)} of it"
    else:
        text = f"{names} brought home {_interval(top)} of the video, the highest value"
    shown = behind if len(behind) <= NAMED + 1 else behind[:NAMED]
    parts = [
        f"{name}{_with(comparison, name, apart)} {UNIT.text(comparison.values[name].value)}" for name in shown
    ]
    if len(shown) < len(behind):
        rest_of = [comparison.values[name].value for name in behind[NAMED:]]
        parts.append(f"{len(rest_of)} others between {UNIT.number(rest_of[-1])} and {UNIT.text(rest_of[0])}")
    return f"{text}; {_joined(parts)}." if parts else f"{text}."


def _apart(comparison: Comparison) -> bool:
    """Whether the contenders differ in lanes or in what they know."""
    known = [
        comparison.footings[name]
        for name in (comparison.leader, *comparison.rivals)
        if name in comparison.footings
    ]
    return len({(one.lanes, one.knows) for one in known}) > 1


def _with(comparison: Comparison, name: str, apart: bool) -> str:
    """An algorithm's lanes and knowledge in brackets, where contenders differ: ``(32/2 lanes, knows its queue)``."""
    one = comparison.footings.get(name)
    if one is None or not apart:
        return ""
    knows = f", knows {one.beyond}" if one.beyond else ""
    return f" ({one.lanes} lanes{knows})"


def equal_lanes(comparison: Comparison) -> str:
    """The values of the largest group of contenders with equal lanes, where the leader has other lanes."""
    groups: dict[tuple[int | None, int], list[str]] = {}
    for name in (comparison.leader, *comparison.rivals):
        if name in comparison.footings:
            groups.setdefault(comparison.footings[name].resources, []).append(name)
    leader = comparison.footings.get(comparison.leader)
    others = [names for resources, names in groups.items() if leader is None or resources != leader.resources]
    largest = max(others, key=len, default=[])
    if leader is None or len(largest) < 2:
        return ""
    ranked = [f"{name} {UNIT.text(comparison.values[name].value)}" for name in largest]
    shown = ranked if len(ranked) <= NAMED + 1 else [*ranked[:NAMED], f"{len(ranked) - NAMED} others less"]
    alone = "" if len(groups[leader.resources]) > 1 else f"{comparison.leader} is alone on its lanes. "
    lanes = comparison.footings[largest[0]].lanes.rstrip("+")
    return f"{alone}On equal lanes ({lanes}): {_joined(shown)}."


def _missing(comparison: Comparison) -> str:
    """Which algorithms are not ranked, and why."""
    if not comparison.missing:
        return ""
    parts = [f"{name} ({why})" for name, why in comparison.missing.items()]
    return f"Not ranked: {'; '.join(parts)}."


def _comparison(comparison: Comparison) -> str:
    """What disjoint intervals show, then what paired differences show beyond them."""
    top = comparison.values[comparison.leader]
    if not top.has_interval:
        return "One seed: no interval exists, so this says nothing about other draws of the links and losses."
    groups = {
        word: [n for n in comparison.rivals if comparison.word(n) == word]
        for word in (WORSE, LOWER, PAIRED_LOWER, UNCLEAR)
    }
    parts = []
    if worse := groups[WORSE]:
        whom = "each of the others" if len(worse) == len(comparison.rivals) > 1 else _list(worse)
        parts.append(f"It is better than {whom}: {_seeds(comparison)}, intervals that do not overlap.")
    if lower := groups[LOWER]:
        parts.append(f"Its interval does not overlap that of {_list(lower)}, but {_why_not(comparison)}.")
    elif comparison.doubt:
        parts.append(f"Mind that {comparison.doubt}.")
    parts += _seed_by_seed(comparison, groups[PAIRED_LOWER])
    if unclear := groups[UNCLEAR]:
        parts.append(
            f"The intervals of {_list([comparison.leader, *unclear])} overlap: these seeds do not tell them apart."
        )
    if comparison.seeds[comparison.leader] < FEW_SEEDS:
        parts.append(
            f"With {_seeds(comparison)} the intervals are narrower than they should be: take them as a hint."
        )
    return " ".join(parts)


def _seeds(comparison: Comparison) -> str:
    least = comparison.seeds[comparison.leader]
    return (
        f"{least} seeds"
        if least == comparison.values[comparison.leader].n
        else f"{least} seeds or more a scenario"
    )


def _why_not(comparison: Comparison) -> str:
    """What is missing for the word *better*."""
    if comparison.doubt:
        return f"{comparison.doubt}, so it is not called better"
    return f"better takes {BETTER_SEEDS} seeds of either"


def _seed_by_seed(comparison: Comparison, names: list[str]) -> list[str]:
    if len(names) == 1:
        margin = _margin(comparison.differences[names[0]])
        return [
            f"{names[0]}: the intervals overlap, but seed by seed {comparison.leader} is ahead, {margin}."
        ]
    if names:
        return [
            f"{_list(names)}: the intervals overlap, but seed by seed {comparison.leader} is ahead of each."
        ]
    return []


def _knowing_rates(comparison: Comparison) -> str:
    """The values of the algorithms that are given the links' rates."""
    given = [name for name in comparison.values if name in comparison.knows_rates]
    if not given:
        return ""
    values = [f"{UNIT.text(comparison.values[name].value)}" for name in given]
    verb = "is" if len(given) == 1 else "are"
    return f"{_list(given)} {verb} given the links' rates: {_joined(values[:NAMED])}."


def _against(section: Section) -> str:
    """Which algorithms are ahead of a chosen reference, seed by seed."""
    reference = section.reference
    if reference is None or reference is section.best:
        return ""
    differences = paired(section, HEADLINE.key)
    groups = {"ahead": 1, "behind": -1, "unclear": 0}
    names_by_word = {
        word: [name for name, one in differences.items() if side(one) == way] for word, way in groups.items()
    }
    if not differences:
        return ""
    parts = [f"{word}: {_list(names)}" for word, names in names_by_word.items() if names]
    return f"Seed by seed against {reference.name}, {'; '.join(parts)}."


def _failures(section: Section) -> str:
    failed = sum(not trial.ok for trial in section.trials)
    if not failed:
        return ""
    comparison = compare(section)
    beside = f"; {_list(sorted(comparison.failed))} not compared" if comparison and comparison.failed else ""
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
