"""A policy that steers TCP's subflows and lanes: what it sees, what it may do, and the network in between."""

from __future__ import annotations

from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from dstcc.arrays import Float32Array
from dstcc.engine.config import SAME
from dstcc.errors import InputError, PolicyError
from dstcc.frozen import dataclass
from dstcc.learn.spaces.actions import ActionSpace
from dstcc.learn.spaces.observe import ObservationSpec
from dstcc.learn.spaces.registry import parse_actions

from .controller import CODED_ACTION, Controller, Watcher, origin, read_policy
from .network import NETWORKS, Network

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.engine import EngineConfig
    from dstcc.scenario import Scenario, Source

    from .pilot import TcpPilot


@dataclass(frozen=True, kw_only=True)
class Policy(Controller):
    """A policy of TCP.

    Raises ValueError when the tensors do not fit the spaces or hold anything but finite float32.
    """

    observation: ObservationSpec
    action: ActionSpace
    network: dict[str, Any]
    """Its ``kind`` and whatever that kind needs; see :mod:`dstcc.learn.policies.network`."""
    _run: Network = field(init=False, repr=False, compare=False)

    mode: ClassVar[Literal["tcp"]] = "tcp"

    def __post_init__(self) -> None:
        """Build the network."""
        for name, tensor in self.tensors.items():
            if tensor.dtype != np.float32 or not np.isfinite(tensor).all():
                raise ValueError(f"tensor {name}: finite float32 numbers only")
        build = NETWORKS.get(str(self.network.get("kind")))
        if build is None:
            raise ValueError(f"network kind {self.network.get('kind')!r}: one of {', '.join(NETWORKS)}")
        network = build(self.network, self.tensors, self.observation.size, self.action.outputs)
        object.__setattr__(self, "_run", network)

    def outputs(self, observations: NDArray[np.float32]) -> Float32Array:
        """The network's outputs (K, outputs) for observations (K, size).

        Raises :class:`PolicyError` for another shape or an observation with NaN.
        """
        if observations.ndim != 2 or observations.shape[1] != self.observation.size:
            raise PolicyError(
                f"policy {self.name}: observations have the shape (K, {self.observation.size}), "
                f"not {observations.shape}"
            )
        if np.isnan(observations).any():
            raise PolicyError(f"policy {self.name}: an observation holds NaN")
        return self._run(np.asarray(observations, dtype=np.float32))

    def act(self, observations: NDArray[np.float32]) -> NDArray[Any]:
        """The greedy actions for observations (K, size), as :meth:`Runner.step` takes them."""
        return self.action.greedy(self.outputs(observations))

    @property
    def knows(self) -> tuple[str, ...]:
        """What it sees, and what its actions rest on: keys of :data:`dstcc.algorithms.KNOWLEDGE`."""
        seen = {name.rpartition(".")[2] for name in self.observation.names}
        knows = {
            "queue": "queue" in seen or self.action.measured,
            "contacts": "link_up" in seen or self.action.measured,
        }
        return tuple(key for key, known in knows.items() if known)

    @property
    def copies(self) -> str:
        """What may go a second time, a key of :data:`dstcc.algorithms.COPIES` or empty."""
        return "spare" if self.action.copying else ""

    @property
    def simulator_only(self) -> str:
        """See :class:`Controller`."""
        return self.action.simulator_only

    @property
    def lanes(self) -> int:
        """How many it asks for per link; 0 for the scenario's."""
        return self.action.lanes

    @property
    def most(self) -> tuple[int, int]:
        """The most subflows and layers that it knows."""
        return self.action.subflows, self.action.layers

    def spaces(self) -> dict[str, Any]:
        """See :class:`Controller`."""
        return {
            "observation": self.observation.document(),
            "action": self.action.document(),
            "network": self.network,
        }

    def check_scenario(self, scenario: Scenario, source: Source) -> None:
        """Refuse background flows that nothing would ever hold: the simulator would send without end."""
        if self.action.bounded:
            return
        for way in scenario.ways:
            for entry, flow in enumerate(way.flows):
                if flow.congestion == SAME and flow.rate_bps is None and flow.bytes is None:
                    raise InputError(
                        f"{scenario.scenario.name}: {way.key}.flows.{entry}.congestion: '{SAME}' under the policy "
                        f"{self.name} needs rate_bps or bytes: nothing bounds its windows but what there is to send"
                    )

    def on_lanes(self, most: int | None) -> Self:
        """The same with at most so many lanes per link; one that takes the scenario's lanes stays as it is."""
        if most is None or self.action.lanes <= most:
            return self
        return replace(self, action=replace(self.action, lanes=most))

    def steered(self, config: EngineConfig) -> EngineConfig:
        """A trial as an agent with its actions steers it."""
        from dstcc.learn.env.episodes import steered

        return steered(config, self.action)

    def pilot(self, config: EngineConfig, layers: int, watcher: Watcher | None) -> TcpPilot:
        """Who steers one connection, with the guard beside it."""
        from .pilot import TcpPilot

        return TcpPilot(self, config, watcher)


def save_policy(path: Path, policy: Policy) -> None:
    """Write a policy file, whole or not at all."""
    policy.save(path)


def load_policy(name_or_file: str | Path) -> Policy:
    """Read a shipped policy by its name, or a policy file.

    Raises :class:`PolicyError` for a file that is missing, too large, truncated, of another kind or schema, changed
    since it was written, or whose weights do not fit its spaces.
    """
    path, header, tensors = read_policy(name_or_file)
    if header["action"].get("kind") == CODED_ACTION:
        raise PolicyError(f"{path}: has other actions: it steers layers coded over packets, not TCP")
    try:
        return Policy(
            observation=ObservationSpec.parse(header["observation"]),
            action=parse_actions(header["action"]),
            network=header["network"],
            tensors=tensors,
            **origin(path, header),
        )
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise PolicyError(f"{path}: {error}") from None
