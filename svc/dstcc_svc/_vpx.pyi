from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MAX_LAYERS: int
MIN_SIDE: int
MIN_QUANTIZER: int
MAX_QUANTIZER: int

def library_version() -> str: ...

class Encoder:
    def __init__(
        self,
        width: int,
        height: int,
        quantizers: Sequence[int],
        divisors: Sequence[int],
        speed: int,
        realtime: bool,
    ) -> None: ...
    def encode(self, picture: NDArray[np.uint8]) -> list[bytes]: ...
    def reconstruction(self) -> tuple[int, int, bytes]: ...

class LayerDecoder:
    def __init__(self, layer: int) -> None: ...
    def decode(self, superframe: bytes) -> tuple[int, int, bytes]: ...
