from typing import Any

from numpy.typing import NDArray

from .config import EngineConfig, Link

CONGESTION_NAMES: tuple[str, ...]
SCHEDULER_NAMES: tuple[str, ...]

class InvariantError(RuntimeError): ...

def simulate(config: EngineConfig) -> dict[str, Any]: ...
def clairvoyant_weight(config: EngineConfig, weights: NDArray[Any]) -> float: ...
def channel_losses(link: Link, seed: int, index: int, packet_bytes: int, slots: int) -> NDArray[Any]: ...
