"""The user's files that a scenario reads, which no output may replace."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from dstcc.errors import StreamError
from dstcc.extensions import is_file

from .coding import is_rates_file
from .model import Scenario, Transport
from .variant import Variant


def files_of(scenario: Scenario) -> tuple[Path, ...]:
    """Files and folders that a scenario names: its video and that video's source, profiles, contact plans, algorithms
    and policies; some may not exist."""
    video, transport = scenario.video, scenario.transport
    named = [video.input, video.stream]
    named += [name for link in scenario.link for name in (link.profile, link.contacts)]
    transports: list[Transport | Variant] = [transport, *scenario.variant]
    for named_by in transports:
        algorithms = (*_each(named_by.congestion), *_each(named_by.scheduler))
        named += [name.rpartition(":")[0] for name in algorithms if is_file(name)]
        named += _each(named_by.controller)
    named += [str(one) for one in _rates(scenario) if is_rates_file(one)]
    paths = [Path(name) for name in named if name is not None]
    if video.stream is not None:
        from dstcc_svc import load_manifest

        with suppress(StreamError):
            paths.append(load_manifest(Path(video.stream)).source_path)
    return tuple(paths)


def _rates(scenario: Scenario) -> list[object]:
    """What ``repair`` says in the scenario and in its variants."""
    coding = [one.set.get("coding") for one in scenario.variant]
    own = [one.get("repair") for one in coding if isinstance(one, dict)]
    return [scenario.coding.repair if scenario.coding else None, *own]


def _each(names: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else names or ()
