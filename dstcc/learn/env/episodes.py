"""From scenarios and a seed to a trial that an agent steers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dstcc.engine import AGENT, EngineConfig
from dstcc.errors import ScenarioError
from dstcc.learn.spaces.actions import CONTROLS, ActionSpace
from dstcc.scenario import (
    Scenario,
    Source,
    content_hash,
    draw_trial,
    engine_config,
    load_scenario,
    load_source,
    parse_scenario,
)

TABLE_1: dict[str, Any] = {
    "scenario": {"name": "iodst table 1"},
    "video": {"synthetic": {"chunk_s": 1.0, "layer_bps": [124_000, 109_000, 78_000]}, "loop_to_s": 14_400},
    "link": [
        {
            "name": "link 1",
            "rate_bps": 115_200,
            "delay_s": {"uniform": [255, 600]},
            "loss": {"packet": {"log_uniform": [1e-4, 1e-2]}},
        },
        {
            "name": "link 2",
            "rate_bps": 240_000,
            "delay_s": {"uniform": [300, 1200]},
            "loss": {"packet": {"log_uniform": [1e-5, 1e-3]}},
        },
    ],
    "transport": {"mode": "lanes", "lanes_per_link": 16},
}
"""Table 1 of Ha et al., ICT Express 2023, four hours of a live source at 90 % of the links' payload rate; what the
environment draws from by default."""


class Episodes:
    """The trials of one or more scenarios, one per seed.

    A seed stands for the draws that ``dstcc emulate --seed`` makes of it; of several scenarios it picks one as
    well.
    """

    def __init__(self, scenarios: Sequence[Scenario | Path | str] = ()) -> None:
        """Read the scenarios and their videos; raises :class:`~dstcc.errors.ScenarioError` as loading does.

        Without any there is :data:`TABLE_1`.
        """
        read = [
            given if isinstance(given, Scenario) else load_scenario(given) for given in _each(scenarios)
        ] or [parse_scenario(TABLE_1, source="table 1")]
        self.scenarios: tuple[Scenario, ...] = tuple(read)
        for scenario in read:
            if scenario.transport.restart is not None:
                raise ScenarioError(
                    f"{scenario.scenario.name}: transport.restart: an episode is one connection; train without it"
                )
        self.sources: tuple[Source, ...] = tuple(map(load_source, read))

    @property
    def subflows(self) -> int:
        """The most that a scenario has."""
        return max(scenario.subflows for scenario in self.scenarios)

    @property
    def layers(self) -> int:
        """The most that a source has."""
        return max(source.layers for source in self.sources)

    @property
    def content_hash(self) -> str:
        """SHA-256 over the scenarios' own, for a policy's file."""
        hashes = [content_hash(scenario) for scenario in self.scenarios]
        return hashes[0] if len(hashes) == 1 else hashlib.sha256("\n".join(hashes).encode()).hexdigest()

    def pick(self, seed: int) -> int:
        """Which of the scenarios a seed draws: each seed the next one, and then from the first again."""
        return seed % len(self.scenarios)

    def config(self, seed: int, action: ActionSpace) -> EngineConfig:
        """The trial of a seed, 0 ≤ seed < 2^62, for an agent with that action space to steer."""
        index = self.pick(seed)
        scenario = self.scenarios[index]
        return steered(
            engine_config(scenario, draw_trial(scenario, self.sources[index], seed), AGENT, AGENT), action
        )


def _each(scenarios: Sequence[Scenario | Path | str]) -> Iterator[Scenario | Path]:
    """Scenarios and files; of a folder its ``*.toml`` by name. Raises ScenarioError for a folder without any."""
    for given in scenarios:
        if isinstance(given, Scenario) or not Path(given).is_dir():
            yield given if isinstance(given, Scenario) else Path(given)
            continue
        files = sorted(Path(given).glob("*.toml"))
        if not files:
            raise ScenarioError(f"{given}: a folder without scenarios (*.toml)")
        yield from files


def steered(config: EngineConfig, action: ActionSpace) -> EngineConfig:
    """A trial as an agent with that action space steers it."""
    transport = replace(
        config.transport,
        congestion=action.control,
        scheduler=action.scheduler,
        layer_links=(),
    )
    if action.control in CONTROLS.values():
        headroom = {action.control: {"headroom": (action.headroom,)}}
        transport = replace(transport, parameters={**transport.parameters, **headroom})
    if action.lanes:
        transport = replace(transport, mode="lanes", lanes_per_link=action.lanes)
    slot_ns = config.slot_ns
    if action.slot_rtts:
        shortest = min(2 * min(link.delay_ns) for link in config.links)
        chunks = int(config.objects.chunk.max()) + 1
        slot_ns = max(int(action.slot_rtts * shortest), int(config.objects.release_ns.max()) // chunks, 1)
    return replace(config, transport=transport, slot_ns=slot_ns)
