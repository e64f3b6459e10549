"""The files of the user's that a scenario reads, which no output may take the place of."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from dstcc.errors import StreamError
from dstcc.extensions import is_file

from .model import Scenario, Transport
from .variant import Variant


def files_of(scenario: Scenario) -> tuple[Path, ...]:
    """Files and folders that a scenario names: its video and what that was made from, profiles, contact plans,
    algorithms and policies; some may not be there."""
    video, transport = scenario.video, scenario.transport
    named = [video.input, video.stream]
    named += [name for link in scenario.link for name in (link.profile, link.contacts)]
    told: list[Transport | Variant] = [transport, *scenario.variant]
    for one in told:
        algorithms = (*_each(one.congestion), *_each(one.scheduler))
        named += [name.rpartition(":")[0] for name in algorithms if is_file(name)]
        named += _each(one.controller)
    found = [Path(name) for name in named if name is not None]
    if video.stream is not None:
        from dstcc_svc import load_manifest

        with suppress(StreamError):
            found.append(load_manifest(Path(video.stream)).source_path)
    return tuple(found)


def _each(names: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else names or ()
