from __future__ import annotations

import numpy as np
import pytest

from dstcc.weights import layer_weights


@pytest.mark.parametrize(
    ("layers", "expected"), [(1, [100]), (3, [300, 200, 100]), (8, [800, 700, 600, 500, 400, 300, 200, 100])]
)
def test_equation_1(layers: int, expected: list[float]) -> None:
    assert layer_weights(np.arange(layers), layers).tolist() == expected
