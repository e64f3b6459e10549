from __future__ import annotations

import numpy as np
import pytest

from dstcc.layers import layer_weights, level_name


@pytest.mark.parametrize(
    ("layers", "expected"), [(1, [100]), (3, [300, 200, 100]), (8, [800, 700, 600, 500, 400, 300, 200, 100])]
)
def test_equation_1(layers: int, expected: list[float]) -> None:
    assert layer_weights(np.arange(layers), layers).tolist() == expected


def test_levels_have_one_wording() -> None:
    assert [level_name(level, 4) for level in (-1, 0, 1, 2, 3)] == [
        "not played",
        "base layer only",
        "up to EL1",
        "up to EL2",
        "up to EL3, full quality",
    ]
    assert level_name(0, 1) == "full quality"
