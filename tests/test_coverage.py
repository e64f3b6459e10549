"""How coverage is summed: by folder of the engine and by package, and what is below a floor."""

from __future__ import annotations

import pytest

from scripts import coverage_engine, coverage_python
from scripts.coverage_engine import CoverageRow


def counted(file: str, lines: tuple[int, int], branches: tuple[int, int]) -> dict[str, object]:
    keys = ("line_total", "line_covered", "branch_total", "branch_covered")
    return {"filename": file, **dict(zip(keys, (*lines, *branches), strict=True))}


def test_the_engines_files_are_summed_by_folder_and_in_all() -> None:
    files = [
        counted("dstcc/engine/src/tcp/rtt.cpp", (10, 9), (4, 2)),
        counted("dstcc/engine/src/tcp/rtt.hpp", (10, 10), (0, 0)),
        counted("kernel-cc/law/law.h", (20, 5), (8, 8)),
        counted("dstcc/engine/src/python/module.cpp", (100, 50), (60, 20)),
    ]
    assert coverage_engine.rows_of(files) == [
        CoverageRow("kernel-cc/law", 20, 5, 8, 8),
        CoverageRow("python", 100, 50, 60, 20),
        CoverageRow("tcp", 20, 19, 4, 2),
        CoverageRow("all", 140, 74, 72, 30),
        CoverageRow("all but python", 40, 24, 12, 10),
    ]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (CoverageRow("all", 100, 98, 1000, 900), []),
        (CoverageRow("all", 1000, 979, 100, 91), ["97.9 % of the engine's lines run, below 98 %"]),
        (CoverageRow("all", 100, 100, 1000, 899), ["89.9 % of the engine's branches run, below 90 %"]),
        (CoverageRow("all", 0, 0, 0, 0), []),
    ],
)
def test_below_a_floor_is_said(row: CoverageRow, said: list[str]) -> None:
    assert coverage_engine.below(row) == said


def test_pythons_files_are_summed_by_package_and_in_all() -> None:
    def summary(*numbers: int) -> dict[str, object]:
        return {"summary": dict(zip(coverage_python.KEYS, numbers, strict=True))}

    files = {
        "dstcc/run/trials.py": summary(10, 9, 4, 3),
        "dstcc/learn/env/reward.py": summary(1, 1, 0, 0),
        "dstcc/learn/paths/probing.py": summary(2, 1, 0, 0),
        "dstcc/metrics.py": summary(5, 5, 2, 2),
        "kernel-cc/dstcc_kernel/endhosts/host.py": summary(7, 0, 1, 0),
    }
    assert coverage_python.sums(files) == {
        "dstcc": (5, 5, 2, 2),
        "dstcc.learn": (3, 2, 0, 0),
        "dstcc.run": (10, 9, 4, 3),
        "dstcc_kernel": (7, 0, 1, 0),
        "all": (25, 16, 7, 5),
    }
    assert coverage_python.share(1, 3) == "33.3 %" and coverage_python.share(0, 0) == "–"
