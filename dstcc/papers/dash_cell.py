"""A cell that is a DASH client's session over a scenario's links, under one algorithm and seed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.arrays import Int64Array
from dstcc.engine.config import NEVER_NS, Objects
from dstcc.engine.stepper import EPISODE_VALUES, RUNNING
from dstcc.errors import InputError, RunError
from dstcc.learn.algorithms.recipes import recipe_of
from dstcc.learn.env.episodes import steered
from dstcc.learn.env.runner import Runner
from dstcc.learn.policies.policy import Policy
from dstcc.run.backends import backend_of
from dstcc.run.trials import load_controllers, steering, trial_keys
from dstcc.scenario import draw_trial, engine_config

from .cells import Outcome
from .dash import S_NS, Carried, Client, Session, Supposed, mean, play
from .explore import Explorer, measured
from .server import Chooser, Server
from .training_cell import need_torch
from .trial_cell import TrialCell, source_of

if TYPE_CHECKING:
    from dstcc.engine import EngineConfig

    from .model import Exploring


TAKES = 3
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
    exploring: Exploring | None = None
    """How its policy acts at random."""

    @property
    def alone(self) -> bool:
        """A learner sets how its arithmetic is done for the whole process."""
        return self.exploring is not None and self.exploring.learns

    @property
    def trial(self) -> TrialCell:
        """The trial whose links and algorithm it uses."""
        return TrialCell(self.path, of_scenario(self.settings), self.name, self.seed)

    @property
    def label(self) -> str:
        """Which session."""
        how = self.exploring
        return f"client of {self.trial.label}{f', {how.words}' if how else ''}"

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
        counts = self.exploring is None or self.exploring.counts_random
        chunks = len(source.columns.chunk_ns)
        return Client(bitrates_bps=rates, chunks=chunks, chunk_ns=chunk_ns, counts_random=counts)

    def identity(self) -> dict[str, Any]:
        """See :class:`dstcc.papers.cells.Cell`."""
        client = self.client
        own = {**self.trial.identity(), "kind": "dash", "takes": TAKES, "client": vars(client)}
        if self.exploring is None:
            return own
        return {**own, "exploring": self.exploring.model_dump(), **_recipe_of(self.exploring)}

    def run(self, scratch: Path) -> Outcome:
        """See :class:`dstcc.papers.cells.Cell`."""
        client = self.client
        network = self._network()
        session = play(client, network.carry)
        self._network().confirm(session)
        rates, downloads = session.requests.bitrates_bps, session.download_ns / 1e6
        values: dict[str, float | None] = {"stall_s": session.requests.stall_ns / 1e9}
        values["mean_bitrate_bps"] = float(rates.mean())
        for first in (one for one in FROM if one < client.chunks):
            values[f"download_ms from {first}"] = mean(downloads, first, client.chunks)
            calm = downloads[first:][~session.random[first:]]
            values[f"undisturbed_ms from {first}"] = float(calm.mean()) if calm.size else None
            if client.chunks == TO:
                values[f"bitrate_bps from {first}"] = mean(rates, first, TO)
        late = values.get("download_ms from 150")
        values["download_fall_ms"] = None if late is None else float(downloads.mean()) - late
        values["decisions_a_chunk"] = float(np.ceil(session.download_ns / network.slot_ns).mean())
        values["download_sd_ms"] = float(downloads.std())
        values["random_chunks_percent"] = 100 * float(session.random.mean())
        decisions = network.explorer.decisions if network.explorer else []
        values |= network.judged(session) | measured(decisions)
        series = {"download_ms": downloads.tolist(), "bitrate_bps": [float(one) for one in rates]}
        if decisions:
            series["epsilon"] = [one.epsilon for one in decisions]
            series["epsilon_by_buffer"] = [one.epsilon * one.rich for one in decisions]
        return Outcome(values, series)

    def _network(self) -> Network:
        scenario = self.trial.scenario
        source = source_of(self.trial.path, self.trial.settings)
        setup = draw_trial(scenario, source, self.seed)
        (key,) = trial_keys(scenario)
        policy = steering(key, scenario, load_controllers(scenario, source))
        assert policy is None or isinstance(policy, Policy)  # a bottleneck of TCP, see trial_cell.py
        config = engine_config(scenario, setup, key.congestion, key.scheduler)
        return Network(self.label, config, policy, self.exploring, self.seed)


class Network:
    """The links and the server under an algorithm."""

    def __init__(
        self,
        label: str,
        config: EngineConfig,
        policy: Policy | None = None,
        exploring: Exploring | None = None,
        seed: int = 0,
    ) -> None:
        """Raises :class:`InputError` for a policy with a memory, and one that is to act at random and is none."""
        if exploring is not None and policy is None:
            raise InputError(f"{label}: no policy, so it cannot act at random")
        self.label, self.config, self.policy, self.exploring = label, config, policy, exploring
        self.explorer = Explorer(exploring, seed) if exploring else None
        self._server = Server(policy, self._chooser(policy, seed)) if policy else None

    @property
    def slot_ns(self) -> int:
        """How often a scheduler that learns decides."""
        return self.config.slot_ns

    def asked(self, supposed: Supposed) -> EngineConfig:
        """A trial of these requests, each of which takes the shortest way up."""
        chunks = np.arange(len(supposed.asked_ns), dtype=np.int64)
        objects = Objects(
            chunk=chunks,
            layer=np.zeros_like(chunks),
            payload_bytes=supposed.sizes_bytes,
            release_ns=supposed.asked_ns + self._light_ns,
            deadline_ns=np.full_like(chunks, NEVER_NS),
        )
        return replace(self.config, objects=objects)

    def carry(self, supposed: Supposed) -> Carried:
        """When each chunk was whole; raises :class:`RunError` for one that never was."""
        config, random = self.asked(supposed), np.zeros(len(supposed.asked_ns), dtype=np.bool_)
        whole_ns = self._whole_ns(config, supposed)
        if (whole_ns < 0).any():
            raise RunError(f"{self.label}: a chunk never came")
        if self.explorer is not None:
            random = self.explorer.touched(supposed.asked_ns, whole_ns, self.slot_ns)
        return Carried(whole_ns, random)

    def _whole_ns(self, config: EngineConfig, supposed: Supposed) -> Int64Array:
        if self._server is None:
            return backend_of("simulator").carry(config).objects.complete_ns
        columns = (config.objects.release_ns, supposed.sizes_bytes, supposed.store_ns)
        if self.explorer is not None and self.exploring is not None:
            self.explorer.hear(columns[0], supposed.store_ns >= self.exploring.rich_s * S_NS)
        with self._arithmetic():
            requests = tuple(zip(*(column.tolist() for column in columns), strict=True))
            return self._server.carry(config, requests).objects.complete_ns

    def _arithmetic(self) -> AbstractContextManager[None]:
        if self.exploring is None or not self.exploring.learns:
            return nullcontext()
        from dstcc.learn.training.loop import deterministic

        return deterministic()

    def _chooser(self, policy: Policy, seed: int) -> Chooser | None:
        if self.explorer is None or self.exploring is None or not self.exploring.learns:
            return self.explorer
        need_torch()
        from .learn_anew import LearnAnew, Lessons

        return LearnAnew(Lessons(policy, seed), self.explorer, self.config.transport.mss_bytes)

    @property
    def _light_ns(self) -> int:
        return min(min(link.delay_ns) for link in self.config.links)

    def confirm(self, session: Session) -> None:
        """Simulate a session's requests; raises :class:`RunError` where something else comes out. Of a network that
        has simulated nothing before: no action of it is taken without being asked for."""
        if self.policy is None:
            return
        carried = self.carry(session.supposed)
        spans = carried.whole_ns - session.requests.asked_ns
        if (spans != session.download_ns).any() or (carried.random != session.random).any():
            raise RunError(f"{self.label}: the requests found do not lead to themselves")

    def judged(self, session: Session) -> dict[str, float | None]:
        """How far the server's chunk manager is from the client: ``server_below_ms``, by how much the download times
        that it works out from acknowledgements are shorter than the client's, and ``server_below_percent``. Only a
        policy has a chunk manager; of one that acts at random that is not looked at."""
        if self.policy is None or self.exploring is not None:
            return {"server_below_ms": None, "server_below_percent": None}
        sizes = session.supposed.sizes_bytes
        ends = session.requests.asked_ns + session.download_ns
        gaps, shares, told = [], [], 0
        for time_ns, rate in _chunk_rates(self.policy, self.asked(session.supposed)):
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


def _recipe_of(how: Exploring) -> dict[str, Any]:
    """What a learner learns by."""
    if not how.learns:
        return {}
    need_torch()

    from .learn_anew import LEARNER

    return {"recipe": recipe_of(LEARNER).document()}


def _chunk_rates(policy: Policy, config: EngineConfig) -> Iterator[tuple[int, float]]:
    """At the ends of slots in which a chunk was whole by the server's acknowledgements: time, and size over download
    time in bytes a second."""
    runner = Runner(1, policy.observation, policy.action)
    runner.begin(0, steered(config, policy.action))
    policy = replace(policy)
    rate = EPISODE_VALUES.index("chunks_bytes_per_s")
    while runner.stepper.done[0] == RUNNING:
        runner.step(policy.action.greedy(policy.outputs(runner.observations)))
        if (seen := float(runner.stepper.episode_values[0, rate])) > 0:
            yield round(runner.time_s(0) * 1e9), seen
