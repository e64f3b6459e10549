from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from .config import EngineConfig, Link, Node

CONGESTION_NAMES: tuple[str, ...]
CODED_CONGESTION_NAMES: tuple[str, ...]
SCHEDULER_NAMES: tuple[str, ...]
TRANSFER_NAMES: tuple[str, ...]
LOSS_KINDS: tuple[str, ...]
PACING_STEPS: tuple[float, float]
PATH_STATES: tuple[Any, Any, Any]
PROBING: tuple[float, float, float, float]
RATE_GAINS: tuple[float, float]
FURTHER_ON: tuple[float, float, float, float]
PARAMETERS: dict[str, tuple[str, ...]]

SUBFLOW_VALUES: tuple[str, ...]
LAYER_VALUES: tuple[str, ...]
EPISODE_VALUES: tuple[str, ...]
FLOW_VALUES: tuple[str, ...]

CODED_SUBFLOW_VALUES: tuple[str, ...]
CODED_LAYER_VALUES: tuple[str, ...]
CODED_EPISODE_VALUES: tuple[str, ...]

class Stepper:
    def __init__(self, episodes: int, subflows: int, layers: int, flows: int, threads: int) -> None: ...
    def load(self, episode: int, config: EngineConfig) -> None: ...
    def step(self) -> None: ...
    def result(self, episode: int) -> dict[str, Any]: ...
    @property
    def arrays(self) -> dict[str, NDArray[Any]]: ...

CodedStepper = Stepper  # of the same face

class PacingLimit:
    def __init__(self, packet_bytes: float, alternates: bool = False) -> None: ...
    def take(
        self,
        slot_s: float,
        srtt_s: float,
        up: bool,
        delivered: float,
        lost: float,
        limit: float,
        queue_seen: bool,
        rate: float,
        probed: bool,
        slower: tuple[float, float, float],
        faster: tuple[float, float, float],
    ) -> None: ...
    @property
    def limit(self) -> float: ...
    base_loss: float
    @property
    def turn_number(self) -> int: ...
    @property
    def phase_number(self) -> int: ...

class Captured:
    def __init__(self, times_s: NDArray[Any], payload_bytes: NDArray[Any]) -> None: ...
    def by(self, time_s: float) -> tuple[float, float]: ...

class InvariantError(RuntimeError): ...

def simulate(config: EngineConfig) -> dict[str, Any]: ...
def simulate_hop_by_hop(
    stages: Sequence[EngineConfig],
    nodes: Sequence[Node | None],
    leads_to: Sequence[Sequence[int]],
    places: Sequence[Sequence[int]],
    onward: Sequence[Sequence[tuple[Sequence[int], Sequence[int]]]],
) -> dict[str, Any]: ...
def clairvoyant_weight(config: EngineConfig, weights: NDArray[Any], any_packets: bool = False) -> float: ...
def least_playout_delay(config: EngineConfig, delay_ns: int, any_packets: bool = False) -> int | None: ...
def law_weight(config: EngineConfig, weights: NDArray[Any]) -> float: ...
def channel_losses(
    link: Link, seed: int, index: int, packet_bytes: int, slots: int, first: int = 0
) -> NDArray[Any]: ...
def fresh_packets_count(left_ns: int, light_ns: int) -> bool: ...
def patience(config: EngineConfig) -> int: ...
def update_paths(
    sources: Sequence[Any],
    limits: Sequence[Sequence[PacingLimit]],
    rates: NDArray[Any],
    probes: NDArray[Any],
    further_on: NDArray[Any] | None,
    source_rate: NDArray[Any],
    packet: NDArray[Any],
    overhead: NDArray[Any],
    trial_paths: NDArray[Any],
    values: NDArray[Any],
    episode_values: NDArray[Any],
) -> None: ...
def update_further_on(
    states: NDArray[Any],
    values: NDArray[Any],
    slot_s: NDArray[Any],
    shown: NDArray[Any],
    packet: NDArray[Any],
    overhead: NDArray[Any],
) -> NDArray[Any]: ...
def path_units(
    rates: NDArray[Any],
    probes: NDArray[Any],
    values: NDArray[Any],
    slot_s: NDArray[Any],
    packet: NDArray[Any],
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]: ...
def openings(link: Link, header_bytes: int, at_ns: int) -> tuple[int, int]: ...
