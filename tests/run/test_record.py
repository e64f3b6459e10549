"""A ``run.json`` that somebody changed is refused by its key; what is absent is unknown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dstcc.errors import RunError
from dstcc.run import load_run
from dstcc.run.record import SHAPE, misshapen
from tests.report.synthetic_run import RunSpec, build_run


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("scale", "38", "scale: must be a number"),
        ("scale", True, "scale: must be a number"),
        ("wall_s", [1], "wall_s: must be a number"),
        ("git_commit", ["a"], "git_commit: must be a string"),
        ("warnings", 1.5, "warnings: must be a list"),
        ("warnings", [None], "warnings.0: must be a string"),
        ("seeds", [1, 2.5], "seeds.1: must be a whole number"),
        ("video", [], "video: must be a table"),
        ("video", {"name": 3}, "video.name: must be a string"),
        ("links", [{"name": "a"}, 5], "links.1: must be a table"),
        ("links", [{"name": "a", "rate_bps": "fast"}], "links.0.rate_bps: must be a number"),
        ("controllers", ["dstcc"], "controllers.0: must be a table"),
    ],
)
def test_a_value_of_another_type_is_named(tmp_path: Path, key: str, value: Any, said: str) -> None:
    run = build_run(tmp_path / "run", RunSpec(congestion=("cubic",), chunks=4, seeds=(1,)))
    meta = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**meta, key: value}))
    with pytest.raises(RunError, match=f"run.json: {said}"):
        load_run(run)


def test_what_is_absent_or_null_or_unheard_of_is_no_fault() -> None:
    assert misshapen({}) is None
    assert misshapen(dict.fromkeys(SHAPE)) is None
    assert misshapen({"new": object(), "machine": {"cores": "two"}, "scale": 1, "wall_s": 2.5}) is None
