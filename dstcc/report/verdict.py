"""The result in a sentence or two, which claims no more than the figures support."""

from __future__ import annotations

from dstcc.stats import FEW_SEEDS, SAME, Estimate

from .comparison import (
    ALONE,
    BETTER_SEEDS,
    HEADLINE,
    HIGHER_MEAN,
    LEADS,
    LOWER,
    UNCLEAR,
    WORSE,
    Comparison,
    Pair,
    compare,
    compare_pooled,
    side,
)
from .model import Section, paired
from .numbers import listed, unit_for
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
        return "The trials finished, but none has a value of what was played."
    return _joined_sentences(
        leading(comparison),
        _comparison(comparison),
        equal_lanes(comparison),
        without_rates(comparison),
        _compare_reference(section, comparison),
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
        without_rates(comparison),
        _missing(comparison),
    )


def leading(comparison: Comparison) -> str:
    """Which algorithm has most; where lanes and knowledge differ, the same sentence says so."""
    top = comparison.values[comparison.leader]
    higher = [name for name in comparison.failed if comparison.values[name].value > top.value + SAME]
    whose = " of those whose trials all finished" if higher else ""
    if comparison.word(comparison.leader) == ALONE:
        return f"{comparison.leader} delivered {_interval(top)} of the video, and there is nothing to rank it by."
    tied = [name for name in comparison.rivals if abs(comparison.values[name].value - top.value) <= SAME]
    behind = [name for name in comparison.rivals if name not in tied]
    apart = _apart(comparison)
    names = _list(
        [f"{name}{_describe_footing(comparison, name, apart)}" for name in (comparison.leader, *tied)]
    )
    if tied:
        text = f"{names} each delivered {_interval(top)} of the video"
    elif comparison.word(comparison.leader) == LEADS:
        text = f"{names} delivered most video{whose}, {_interval(top)} of it"
    else:
        text = f"{names} delivered {_interval(top)} of the video, the highest value{whose}"
    shown = behind if len(behind) <= NAMED + 1 else behind[:NAMED]
    parts = [
        f"{name}{_describe_footing(comparison, name, apart)} {UNIT.text(comparison.values[name].value)}"
        for name in shown
    ]
    if len(shown) < len(behind):
        rest_of = [comparison.values[name].value for name in behind[NAMED:]]
        least, most = UNIT.number(rest_of[-1]), UNIT.number(rest_of[0])
        between = "" if least == most else f"between {least} and "
        parts.append(f"{len(rest_of)} others {between}{UNIT.text(rest_of[0])}")
    return f"{text}; {listed(parts)}." if parts else f"{text}."


def _apart(comparison: Comparison) -> bool:
    """Whether the contenders differ in lanes or side information."""
    known = [
        comparison.footings[name]
        for name in (comparison.leader, *comparison.rivals)
        if name in comparison.footings
    ]
    return len({(one.lanes, *one.knows) for one in known}) > 1


def _describe_footing(comparison: Comparison, name: str, apart: bool) -> str:
    """An algorithm's lanes and side information in brackets, where they differ: ``(32/2 lanes, knows its queue)``."""
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
    alone = "" if len(groups[leader.resources]) > 1 else f"{comparison.leader} is alone on its lanes. "
    lanes = comparison.footings[largest[0]].lanes.rstrip("+")
    return f"{alone}On equal lanes ({lanes}): {_ranked(comparison, largest)}."


def without_rates(comparison: Comparison) -> str:
    """The values of those that learn the links' rates by what comes back, where the leader need not."""
    leader = comparison.footings.get(comparison.leader)
    others = [
        name for name in comparison.rivals if (one := comparison.footings.get(name)) and not one.shows_rates
    ]
    if leader is None or not leader.shows_rates or not others:
        return ""
    return (
        f"Of those without r, l or q, which have to measure the links' rates: {_ranked(comparison, others)}."
    )


def _ranked(comparison: Comparison, names: list[str]) -> str:
    """Some of the algorithms with their values, in the order of the ranking."""
    values = [comparison.values[name].value for name in names]
    ranked = [f"{name} {UNIT.text(value)}" for name, value in zip(names, values, strict=True)]
    if len(ranked) <= NAMED + 1:
        return listed(ranked)
    rest = "less" if values[NAMED] < values[NAMED - 1] else "with no more"
    return listed([*ranked[:NAMED], f"{len(ranked) - NAMED} others {rest}"])


def _missing(comparison: Comparison) -> str:
    """Which algorithms are not ranked, and why."""
    if not comparison.missing:
        return ""
    parts = [f"{name} ({why})" for name, why in comparison.missing.items()]
    return f"Not ranked: {'; '.join(parts)}."


def _comparison(comparison: Comparison) -> str:
    """What the differences at the same seeds show."""
    top = comparison.values[comparison.leader]
    tied = any(abs(comparison.values[name].value - top.value) <= SAME for name in comparison.rivals)
    leader, own = (comparison.leader, f"that of {comparison.leader}") if tied else ("It", "its own")
    if not top.has_interval:
        return "One seed: no interval exists, so this says nothing about other draws of the links and losses."
    groups = {
        word: [n for n in comparison.rivals if comparison.word(n) == word]
        for word in (WORSE, LOWER, HIGHER_MEAN, UNCLEAR)
    }
    parts = []
    if worse := groups[WORSE]:
        whom = "each of the others" if len(worse) == len(comparison.rivals) > 1 else _list(worse)
        parts.append(f"{leader} is better than {whom}{_margin(comparison, worse)}.")
    if lower := groups[LOWER]:
        parts.append(
            f"{leader} is ahead of {_list(lower)}{_margin(comparison, lower)}, but {_why_not(comparison)}."
        )
    elif comparison.doubt:
        parts.append(f"Mind that {comparison.doubt}.")
    if higher := groups[HIGHER_MEAN]:
        parts.append(
            f"The mean of {_list(higher)} is higher than {own}, though the interquartile mean is not."
        )
    if unclear := groups[UNCLEAR]:
        parts.append(f"These seeds show no difference between {_list([comparison.leader, *unclear])}.")
    if comparison.seeds[comparison.leader] < FEW_SEEDS:
        parts.append(f"With {_seeds(comparison)} the intervals cover less than 95 %: take them as a hint.")
    return " ".join(parts)


def _seeds(comparison: Comparison) -> str:
    least = comparison.seeds[comparison.leader]
    if least == comparison.values[comparison.leader].n:
        return f"{least} seeds"
    return f"{least} seeds or more a scenario"


def _why_not(comparison: Comparison) -> str:
    """What is missing for the word *better*."""
    if comparison.doubt:
        return f"{comparison.doubt}, so it is not called better"
    return f"“better” requires {BETTER_SEEDS} seeds of each"


def _margin(comparison: Comparison, names: list[str]) -> str:
    """By how much the leader is ahead of the only one named, and at how many seeds."""
    if len(names) > 1:
        return ""
    one = comparison.differences[names[0]]
    low, high = one.mean.bounds()
    return (
        f" by {UNIT.number(-one.mean.value)} points on average (95 % interval {UNIT.number(-high)} to "
        f"{UNIT.number(-low)}) and at {one.below} of {one.mean.n} seeds"
    )


def _compare_reference(section: Section, comparison: Comparison) -> str:
    """Which algorithms are ahead of a chosen reference at the same seeds; with few seeds nothing is said."""
    reference = section.reference
    if reference is None or reference is section.best:
        return ""
    sides = {
        name: side(one, comparison.adjusted[Pair((name, reference.name))])
        for name, one in paired(section, HEADLINE.key).items()
        if one.mean.n >= BETTER_SEEDS
    }
    names_by_word = {
        word: [name for name, way in sides.items() if way == of]
        for word, of in (("ahead", 1), ("behind", -1), ("unclear", 0))
    }
    parts = [f"{word}: {_list(names)}" for word, names in names_by_word.items() if names]
    return f"Against {reference.name} at the same seeds, {'; '.join(parts)}." if parts else ""


def _failures(section: Section) -> str:
    failed = sum(not trial.ok for trial in section.trials)
    if not failed:
        return ""
    comparison = compare(section)
    beside = f"; {_list(sorted(comparison.failed))} not compared" if comparison and comparison.failed else ""
    return f"{failed} of {len(section.trials)} trials failed and {'is' if failed == 1 else 'are'} left out{beside}."


def _interval(one: Estimate) -> str:
    if one.low is None or one.high is None:
        return UNIT.text(one.value)
    return f"{UNIT.text(one.value)} (95 % interval {UNIT.number(one.low)}–{UNIT.number(one.high)})"


def _list(names: list[str]) -> str:
    if len(names) > NAMED + 2:
        return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} others"
    return listed(names)


def _joined_sentences(*sentences: str) -> str:
    return " ".join(sentence for sentence in sentences if sentence)
