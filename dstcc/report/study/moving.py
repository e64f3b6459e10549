"""What else changes where a key of a scenario varies: keys of the same axis, and defaults that are computed from it."""

from __future__ import annotations

from collections.abc import Iterator

from dstcc.errors import DstccError
from dstcc.scenario import Scenario, load_scenario
from dstcc.scenario.load import Override
from dstcc.sweeps.study import Study

SAME_AXIS = " (the same axis)"


def moves_with(study: Study, key: str) -> tuple[str, ...]:
    """In words; of a study with several scenarios what is so in any. A scenario that cannot be read says nothing."""
    together = [axis for axis in study.axes if key in axis.keys]
    found = [
        f"{name}{SAME_AXIS}"
        for axis in together
        for other, name in zip(axis.keys, axis.names, strict=True)
        if other != key
    ]
    set_or_varied = {name for name, _ in study.settings} | set(study.keys)
    for path in study.scenarios:
        try:
            scenario = load_scenario(
                path, [Override(tuple(name.split(".")), value) for name, value in study.settings]
            )
        except DstccError:
            continue
        found += [what for what, keys in _computed(scenario, key) if not keys & set_or_varied]
    return tuple(dict.fromkeys(found))


def _computed(scenario: Scenario, key: str) -> Iterator[tuple[str, set[str]]]:
    """What is computed from the key, and the keys that would fix it."""
    parts = key.split(".")
    if len(parts) != 3 or parts[0] != "link" or not parts[1].isdigit() or int(parts[1]) >= len(scenario.link):
        return
    link, which = scenario.link[int(parts[1])], parts[2]
    if which == "delay_s":
        if scenario.playout.delay_s is None:
            yield "the playout delay (in round trips of the longest link)", {"playout.delay_s"}
        if scenario.run.scale is None:
            yield "the time scale", {"run.scale"}
        if scenario.run.slot_s is None:
            yield "the slot", {"run.slot_s"}
    if which == "rate_bps" and link.up_rate_bps in (None, "rate_bps"):
        yield "the uplink's rate", {f"link.{parts[1]}.up_rate_bps"}
    if which in ("delay_s", "rate_bps") and link.queue_bytes is None:
        yield "the queue (a bandwidth-delay product)", {f"link.{parts[1]}.queue_bytes"}
