from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from .config import EngineConfig, Link

CONGESTION_NAMES: tuple[str, ...]
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

class Stepper:
    def __init__(self, episodes: int, subflows: int, layers: int, threads: int, flows: int) -> None: ...
    def load(self, episode: int, config: EngineConfig) -> None: ...
    def step(self) -> None: ...
    def result(self, episode: int) -> dict[str, Any]: ...
    @property
    def alpha_q16(self) -> NDArray[Any]: ...
    @property
    def beta(self) -> NDArray[Any]: ...
    @property
    def layer_subflow(self) -> NDArray[Any]: ...
    @property
    def copied(self) -> NDArray[Any]: ...
    @property
    def order(self) -> NDArray[Any]: ...
    @property
    def active(self) -> NDArray[Any]: ...
    @property
    def done(self) -> NDArray[Any]: ...
    @property
    def subflow_values(self) -> NDArray[Any]: ...
    @property
    def layer_values(self) -> NDArray[Any]: ...
    @property
    def episode_values(self) -> NDArray[Any]: ...
    @property
    def flow_alpha_q16(self) -> NDArray[Any]: ...
    @property
    def flow_beta(self) -> NDArray[Any]: ...
    @property
    def flow_subflow_values(self) -> NDArray[Any]: ...
    @property
    def flow_values(self) -> NDArray[Any]: ...

CODED_SUBFLOW_VALUES: tuple[str, ...]
CODED_LAYER_VALUES: tuple[str, ...]
CODED_EPISODE_VALUES: tuple[str, ...]

class CodedStepper:
    def __init__(self, episodes: int, subflows: int, layers: int, threads: int) -> None: ...
    def load(self, episode: int, config: EngineConfig) -> None: ...
    def step(self) -> None: ...
    def result(self, episode: int) -> dict[str, Any]: ...
    @property
    def repair(self) -> NDArray[Any]: ...
    @property
    def pace(self) -> NDArray[Any]: ...
    @property
    def left_out(self) -> NDArray[Any]: ...
    @property
    def place(self) -> NDArray[Any]: ...
    @property
    def active(self) -> NDArray[Any]: ...
    @property
    def done(self) -> NDArray[Any]: ...
    @property
    def subflow_values(self) -> NDArray[Any]: ...
    @property
    def layer_values(self) -> NDArray[Any]: ...
    @property
    def episode_values(self) -> NDArray[Any]: ...

class PacingLimit:
    def __init__(self, packet_bytes: float) -> None: ...
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
    ) -> None: ...
    @property
    def limit(self) -> float: ...
    base_loss: float
    @property
    def phase_number(self) -> int: ...

class InvariantError(RuntimeError): ...

def simulate(config: EngineConfig) -> dict[str, Any]: ...
def clairvoyant_weight(config: EngineConfig, weights: NDArray[Any]) -> float: ...
def law_weight(config: EngineConfig, weights: NDArray[Any]) -> float: ...
def channel_losses(
    link: Link, seed: int, index: int, packet_bytes: int, slots: int, first: int = 0
) -> NDArray[Any]: ...
def patience(config: EngineConfig) -> int: ...
def show_rates(
    rates: NDArray[Any],
    probes: NDArray[Any],
    values: NDArray[Any],
    slot_s: NDArray[Any],
    packet: NDArray[Any],
    share: NDArray[Any],
) -> NDArray[Any]: ...
def update_further_on(
    states: NDArray[Any],
    values: NDArray[Any],
    slot_s: NDArray[Any],
    shown: NDArray[Any],
    packet: NDArray[Any],
    overhead: NDArray[Any],
) -> NDArray[Any]: ...
def update_rates(
    rates: NDArray[Any],
    probes: NDArray[Any],
    values: NDArray[Any],
    shown: NDArray[Any],
    limits: NDArray[Any],
    source_rate: NDArray[Any],
    captured: NDArray[Any],
    trial_paths: NDArray[Any],
    packet: NDArray[Any],
) -> None: ...
def path_units(
    rates: NDArray[Any],
    probes: NDArray[Any],
    values: NDArray[Any],
    slot_s: NDArray[Any],
    packet: NDArray[Any],
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]: ...
def update_pacing_limits(
    paths: Sequence[list[Any]],
    values: NDArray[Any],
    slot_s: NDArray[Any],
    overhead: NDArray[Any],
    allowed: NDArray[Any],
    queue_seen: NDArray[Any],
    shown: NDArray[Any],
    probed: NDArray[Any],
) -> NDArray[Any]: ...
def openings(link: Link, header_bytes: int, at_ns: int) -> tuple[int, int]: ...
