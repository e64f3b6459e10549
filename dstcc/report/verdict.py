"""A result in a sentence or two, no surer than its numbers."""

from __future__ import annotations

from dstcc.stats import FEW_SEEDS, SAME, Estimate, Paired

from .contest import (
    ALONE,
    BETTER_SEEDS,
    HEADLINE,
    LEADS,
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
        leading(found),
        _comparison(found),
        equal_lanes(found),
        _told(found),
        _against(section),
        _failures(section),
        _missing(found),
    )


def pooled_verdict(pooled: Pooled) -> str:
    """The same over all scenarios together."""
    found = pooled_contest(pooled)
    if found is None:
        return ""
    return _joined_sentences(
        leading(found), _comparison(found), equal_lanes(found), _told(found), _missing(found)
    )


def leading(found: Contest) -> str:
    """Who has most, and with what: lanes and knowledge that differ are in the same sentence."""
    top = found.values[found.leader]
    if found.word(found.leader) == ALONE:
        rest = "and as no other algorithm here finds the links' rates out, there is nothing to rank it by"
        if not found.told:
            rest = "and there is nothing to rank it by"
        return f"{found.leader} brought home {_interval(top)} of the video, {rest}."
    tied = [name for name in found.rivals if abs(found.values[name].value - top.value) <= SAME]
    behind = [name for name in found.rivals if name not in tied]
    apart = _apart(found)
    names = _list([f"{name}{_with(found, name, apart)}" for name in (found.leader, *tied)])
    if tied:
        text = f"{names} each brought home {_interval(top)} of the video"
    elif found.word(found.leader) == LEADS:
        text = f"{names} brought home most video, {_interval(top)} of it"
    else:
        text = f"{names} brought home {_interval(top)} of the video, the highest value"
    shown = behind if len(behind) <= NAMED + 1 else behind[:NAMED]
    parts = [f"{name}{_with(found, name, apart)} {UNIT.text(found.values[name].value)}" for name in shown]
    if len(shown) < len(behind):
        rest_of = [found.values[name].value for name in behind[NAMED:]]
        parts.append(f"{len(rest_of)} others between {UNIT.number(rest_of[-1])} and {UNIT.text(rest_of[0])}")
    return f"{text}; {_joined(parts)}." if parts else f"{text}."


def _apart(found: Contest) -> bool:
    """Whether the contenders differ in lanes or in what they know."""
    known = [found.footings[name] for name in (found.leader, *found.rivals) if name in found.footings]
    return len({(one.lanes, one.knows) for one in known}) > 1


def _with(found: Contest, name: str, apart: bool) -> str:
    """What an algorithm knows and has, in brackets, where contenders differ: ``(32/2 lanes, knows its queue)``."""
    one = found.footings.get(name)
    if one is None or not apart:
        return ""
    knows = f", knows {one.beyond}" if one.beyond else ""
    return f" ({one.lanes} lanes{knows})"


def equal_lanes(found: Contest) -> str:
    """How contenders stand whose lanes are equal, where the leader's are not theirs."""
    groups: dict[tuple[int | None, int], list[str]] = {}
    for name in (found.leader, *found.rivals):
        if name in found.footings:
            groups.setdefault(found.footings[name].resources, []).append(name)
    own = found.footings.get(found.leader)
    others = [names for resources, names in groups.items() if own is None or resources != own.resources]
    largest = max(others, key=len, default=[])
    if own is None or len(largest) < 2:
        return ""
    ranked = [f"{name} {UNIT.text(found.values[name].value)}" for name in largest]
    shown = ranked if len(ranked) <= NAMED + 1 else [*ranked[:NAMED], f"{len(ranked) - NAMED} others less"]
    alone = "" if len(groups[own.resources]) > 1 else f"{found.leader} is alone on its lanes. "
    lanes = found.footings[largest[0]].lanes.rstrip("+")
    return f"{alone}On equal lanes ({lanes}): {_joined(shown)}."


def _missing(found: Contest) -> str:
    """Who has no place in the ranking, and why."""
    if not found.missing:
        return ""
    parts = [f"{name} ({why})" for name, why in found.missing.items()]
    return f"Not ranked: {'; '.join(parts)}."


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
