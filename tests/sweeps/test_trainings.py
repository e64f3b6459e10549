"""``--train``: each training is a row with its policy beside it, is done once, and goes on where it was stopped."""

from __future__ import annotations

import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from dstcc.errors import InputError
from dstcc.sweeps.call import Sweep
from tests.quick import QUICK
from tests.sweeps.made import contents, sweep

pytest.importorskip("torch")
STUDY = """
[study]
scenario = "toy.toml"
[vary]
"link.0.delay_s" = [0.1]
[train]
algorithm = ["iodst-q"]
steps = {steps}
"""


def write(folder: Path, steps: int = 64) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "toy.toml").write_text(QUICK + '[transport]\nmode = "lanes"\n')
    (folder / "study.toml").write_text(STUDY.format(steps=steps))
    return folder / "study.toml"


def rows(out: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(out / "trials").to_pylist()
    return found


def test_a_training_is_a_row_is_not_done_twice_and_goes_on(tmp_path: Path) -> None:
    out, study = tmp_path / "out", write(tmp_path / "given")
    swept = sweep(study, out, train=True)
    assert (swept.done, swept.failed) == (1, ())
    (row,) = rows(out)
    assert (row["algorithm"], row["seed"], row["steps"], row["link.0.delay_s"]) == ("iodst-q", 1, 64.0, 0.1)
    assert row["score_low"] <= row["score"] <= row["score_high"]
    policy = out / "trainings" / row["key"] / "policy.safetensors"
    assert row["policy_sha256"] == sha256(policy.read_bytes()).hexdigest()

    first = contents(out)
    assert sweep(study, out, train=True).skipped == 1
    shutil.rmtree(out / "trials")  # as if it had been killed between the last checkpoint and the row
    assert sweep(study, out, train=True).done == 1
    assert contents(out) == first

    longer = sweep(write(tmp_path / "given", steps=96), out, train=True)
    assert (longer.done, longer.skipped) == (1, 0)
    assert [row["steps"] for row in rows(out)] == [96.0]
    with pytest.raises(InputError, match="trainings"):
        Sweep(study, out).merge(())
