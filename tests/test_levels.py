from __future__ import annotations

from dstcc.levels import level_name


def test_levels_have_one_wording() -> None:
    assert [level_name(level, 4) for level in (-1, 0, 1, 2, 3)] == [
        "not played",
        "base layer only",
        "up to EL1",
        "up to EL2",
        "up to EL3, full quality",
    ]
    assert level_name(0, 1) == "full quality"
