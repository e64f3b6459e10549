"""A cell that is a DASH client's session over a scenario's links, under one algorithm and seed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.engine.config import NEVER_NS, Objects
from dstcc.errors import InputError, RunError

from .cells import Outcome
from .dash import Client, mean, play
from .trial_cell import TrialCell, source_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int64Array = NDArray[np.int64]

BITRATES = "bitrates="
"""A setting of a point of such a figure that is the client's: ``bitrates=1e6,5e6``; no key of the scenario."""
FROM = (0, 50, 100, 150, 200, 250)
"""The stretches of Lee and Yoo's tables begin at these chunks and last to the end."""


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
        return {**self.trial.identity(), "kind": "dash", "client": vars(client)}

    def run(self, scratch: Path) -> Outcome:
        """See :class:`dstcc.papers.cells.Cell`."""
        client = self.client
        session = play(client, self._carried())
        rates, downloads = session.requests.bitrates_bps, session.download_ns / 1e6
        values: dict[str, float | None] = {"stall_s": session.requests.stall_ns / 1e9}
        for first in (one for one in FROM if one < client.chunks):
            values[f"bitrate_bps from {first}"] = mean(rates, first, client.chunks)
            values[f"download_ms from {first}"] = mean(downloads, first, client.chunks)
        last = downloads[min(150, client.chunks // 2) :]
        values["download_p95_ms"] = float(np.quantile(last, 0.95, method="inverted_cdf"))
        return Outcome(
            values, {"download_ms": downloads.tolist(), "bitrate_bps": [float(one) for one in rates]}
        )

    def _carried(self) -> Any:
        from dstcc.run.backends import backend_of
        from dstcc.run.trials import load_controllers, steering, trial_keys
        from dstcc.scenario import draw_trial, engine_config

        scenario = self.trial.scenario
        source = source_of(self.trial.path, self.trial.settings)
        setup = draw_trial(scenario, source, self.seed)
        (key,) = trial_keys(scenario)
        policy = steering(key, scenario, load_controllers(scenario, source))
        backend = backend_of("simulator")
        light = min(min(link.delay_ns) for link in setup.links)

        def carried(asked: Int64Array, sizes: Int64Array) -> Int64Array:
            objects = Objects(
                chunk=np.arange(len(asked), dtype=np.int64),
                layer=np.zeros(len(asked), dtype=np.int64),
                payload_bytes=sizes,
                release_ns=asked + light,  # a request takes the way up
                deadline_ns=np.full(len(asked), NEVER_NS, dtype=np.int64),
            )
            config = engine_config(scenario, replace(setup, objects=objects), key.congestion, key.scheduler)
            done = backend.carry(config, policy).objects.complete_ns
            if (done < 0).any():
                raise RunError(f"{self.label}: a chunk never came")
            return done

        return carried
