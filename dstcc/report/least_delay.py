"""The least playout delays of a run or a plan, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def words(delays: Sequence[Mapping[str, float | None]]) -> str:
    """The greatest in words: ``2,713.4 s (the greatest of seeds 1 to 3; the least is 2,690 s)``."""
    known = [delay for one in delays if (delay := one["delay_s"]) is not None]
    if not known:
        return "none, as the run ends first"
    text = f"{max(known):,.6g} s"
    if away := len(delays) - len(known):
        return f"none at {away} of {len(delays)} seeds, as the run ends first; {text} is enough at the others"
    if len(known) == 1:
        return text
    seeds = f"seeds {delays[0]['seed']} to {delays[-1]['seed']}"
    return f"{text} (the greatest of {seeds}; the least is {min(known):,.6g} s)"
