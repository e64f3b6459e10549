import numpy as np
from numpy.typing import NDArray

MAX_LAYERS: int
MIN_SIDE: int
MAX_QP: int
MIN_FPS: float
MAX_FPS: float

def library_version() -> str: ...

class Encoder:
    def __init__(self, width: int, height: int, qp: int, layers: int, fps: float) -> None: ...
    def encode(self, picture: NDArray[np.uint8]) -> tuple[int, bool, bytes]: ...
