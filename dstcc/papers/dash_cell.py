"""A cell that is a DASH client's session over a scenario's links, under one algorithm and seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.engine.config import NEVER_NS, Objects
from dstcc.errors import InputError, RunError

from .cells import Outcome
from .dash import Client, Session, mean, play
from .trial_cell import TrialCell, source_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.engine import EngineConfig
    from dstcc.learn.policies.policy import Policy

    Int64Array = NDArray[np.int64]

TAKES = 2
"""What is taken from a session; a change of that makes another number, and another cell."""
BITRATES = "bitrates="
"""A setting of a point of such a figure that is the client's: ``bitrates=1e6,5e6``; no key of the scenario."""
FROM, TO = (0, 50, 100, 150, 200, 250), 300
"""The stretches of Lee and Yoo's tables begin at these chunks; a shorter session has no bit rates of them."""


def of_scenario(settings: tuple[str, ...]) -> tuple[str, ...]:
    """Those that are no client's."""
    return tuple(one for one in settings if not one.startswith(BITRATES))


@dataclass(frozen=True)
class DashCell:
    """One session; the scenario's synthetic video says how many chunks of which length there are."""

    path: Path
    settings: tuple[str, ...]
    name: str
    seed: int

    alone = False

    @property
    def trial(self) -> TrialCell:
        """The trial whose links and algorithm it uses."""
        return TrialCell(self.path, of_scenario(self.settings), self.name, self.seed)

    @property
    def label(self) -> str:
        """Which session."""
        return f"client of {self.trial.label}"

    @property
    def client(self) -> Client:
        """The client, of the setting ``bitrates=``, or one that has the scenario's own bit rate only."""
        source = source_of(self.trial.path, self.trial.settings)
        given = [one.removeprefix(BITRATES) for one in self.settings if one.startswith(BITRATES)]
        chunk_ns = int(source.columns.chunk_ns[0])
        if source.layers != 1:
            raise InputError(f"{self.path}: a DASH client's video has one layer")
        own = round(8 * int(source.columns.payload_bytes[0]) / (chunk_ns / 1e9))
        rates = tuple(round(float(one)) for one in given[-1].split(",")) if given else (own,)
        return Client(bitrates_bps=rates, chunks=len(source.columns.chunk_ns), chunk_ns=chunk_ns)

    def identity(self) -> dict[str, Any]:
        """See :class:`dstcc.papers.cells.Cell`."""
        client = self.client
        return {**self.trial.identity(), "kind": "dash", "takes": TAKES, "client": vars(client)}

    def run(self, scratch: Path) -> Outcome:
        """See :class:`dstcc.papers.cells.Cell`."""
        client = self.client
        network = self._network()
        session = play(client, network.carry)
        rates, downloads = session.requests.bitrates_bps, session.download_ns / 1e6
        values: dict[str, float | None] = {"stall_s": session.requests.stall_ns / 1e9}
        values["mean_bitrate_bps"] = float(rates.mean())
        for first in (one for one in FROM if one < client.chunks):
            values[f"download_ms from {first}"] = mean(downloads, first, client.chunks)
            if client.chunks == TO:
                values[f"bitrate_bps from {first}"] = mean(rates, first, TO)
        late = values.get("download_ms from 150")
        values["download_fall_ms"] = None if late is None else float(downloads.mean()) - late
        values["decisions_a_chunk"] = float(np.ceil(session.download_ns / network.slot_ns).mean())
        values |= network.judged(session)
        return Outcome(
            values, {"download_ms": downloads.tolist(), "bitrate_bps": [float(one) for one in rates]}
        )

    def _network(self) -> Network:
        from dstcc.run.trials import load_controllers, steering, trial_keys
        from dstcc.scenario import draw_trial, engine_config

        scenario = self.trial.scenario
        source = source_of(self.trial.path, self.trial.settings)
        setup = draw_trial(scenario, source, self.seed)
        (key,) = trial_keys(scenario)
        policy = steering(key, scenario, load_controllers(scenario, source))
        assert policy is None or policy.mode == "tcp"  # a bottleneck of TCP, see trial_cell.py
        return Network(self.label, engine_config(scenario, setup, key.congestion, key.scheduler), policy)


@dataclass(frozen=True)
class Network:
    """The links and the server under an algorithm."""

    label: str
    config: EngineConfig
    policy: Policy | None

    @property
    def slot_ns(self) -> int:
        """How often a scheduler that learns decides."""
        return self.config.slot_ns

    def asked(self, asked_ns: Int64Array, sizes_bytes: Int64Array) -> EngineConfig:
        """A trial of these requests, each of which takes the shortest way up."""
        light = min(min(link.delay_ns) for link in self.config.links)
        chunks = np.arange(len(asked_ns), dtype=np.int64)
        objects = Objects(
            chunk=chunks,
            layer=np.zeros_like(chunks),
            payload_bytes=sizes_bytes,
            release_ns=asked_ns + light,
            deadline_ns=np.full_like(chunks, NEVER_NS),
        )
        return replace(self.config, objects=objects)

    def carry(self, asked_ns: Int64Array, sizes_bytes: Int64Array) -> Int64Array:
        """When each chunk was whole; raises :class:`RunError` for one that never was."""
        from dstcc.run.backends import backend_of

        result = backend_of("simulator").carry(self.asked(asked_ns, sizes_bytes), self.policy)
        if (result.objects.complete_ns < 0).any():
            raise RunError(f"{self.label}: a chunk never came")
        return result.objects.complete_ns

    def judged(self, session: Session) -> dict[str, float | None]:
        """How far the server's chunk manager is from the client: ``server_below_ms``, by how much the download times
        that it works out from acknowledgements are shorter than the client's, and ``server_below_percent``. Only a
        policy has a chunk manager."""
        if self.policy is None:
            return {"server_below_ms": None, "server_below_percent": None}
        sizes = np.array([bits // 8 for bits in session.requests.bitrates_bps.tolist()], dtype=np.int64)
        ends = session.requests.asked_ns + session.download_ns
        gaps, shares, told = [], [], 0
        for time_ns, rate in _chunk_rates(self.policy, self.asked(session.requests.asked_ns, sizes)):
            # What is told now is of chunks that ended since it was last told; of two of them only the sum.
            known = int(np.searchsorted(ends, time_ns, side="right"))
            if known - told == 1:
                span = session.download_ns[told] / 1e6
                gaps.append(float(span - sizes[told] / rate * 1e3))
                shares.append(100 * gaps[-1] / float(span))
            told = known
        if not gaps:
            return {"server_below_ms": None, "server_below_percent": None}
        return {"server_below_ms": float(np.mean(gaps)), "server_below_percent": float(np.mean(shares))}


def _chunk_rates(policy: Policy, config: EngineConfig) -> Iterator[tuple[int, float]]:
    """At the ends of slots in which a chunk was whole by the server's acknowledgements: time, and size over download
    time in bytes a second."""
    from dstcc.engine.stepper import EPISODE_VALUES, RUNNING
    from dstcc.learn.env.episodes import steered
    from dstcc.learn.env.runner import Runner

    runner = Runner(1, policy.observation, policy.action)
    runner.begin(0, steered(config, policy.action))
    policy = replace(policy)
    rate = EPISODE_VALUES.index("chunks_bytes_per_s")
    while runner.stepper.done[0] == RUNNING:
        runner.step(policy.action.greedy(policy.outputs(runner.observations)))
        if (seen := float(runner.stepper.episode_values[0, rate])) > 0:
            yield round(runner.time_s(0) * 1e9), seen
