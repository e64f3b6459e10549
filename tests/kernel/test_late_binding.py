"""The kernel that binds late (``experiments/late_binding.py``) carries what the simulator does; the real one less."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from dstcc_kernel import source

from experiments.fidelity.compare import STREAM
from experiments.fidelity.measure import simulated

ROOT = Path(__file__).parents[2]
CELL = STREAM._replace(congestion="newreno", rtt_s=0.1, length_rtts=60)
SEEN = """
from experiments.fidelity.compare import STREAM
from experiments.fidelity.measure import carried
print(carried(STREAM._replace(congestion="newreno", rtt_s=0.1, length_rtts=60), 1).throughput_bps)
"""


def carried_on(cache: Path | None) -> float:
    """bit/s of the cell on the kernel of a cache; the tests' own where there is none."""
    where = {} if cache is None else {"DSTCC_CACHE": str(cache)}
    command = [sys.executable, "-c", SEEN]
    environment = {**os.environ, **where, source.VARIABLE: "6.12"}
    return float(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


def altered(cache: Path) -> subprocess.CompletedProcess[str]:
    script = [sys.executable, "-m", "experiments.late_binding", "-o", str(cache)]
    return subprocess.run(script, capture_output=True, text=True, check=False, cwd=ROOT)


@pytest.mark.kernel
def test_binding_early_is_what_streams_over_two_links_lose(
    kernel_with_scheduler: Path, tmp_path: Path
) -> None:
    assert altered(tmp_path / "late").returncode == 0
    ours = simulated(CELL, 1).throughput_bps
    late, early = carried_on(tmp_path / "late"), carried_on(None)
    assert ours / late == pytest.approx(1.0, abs=0.05)
    assert ours / early > 1.15
    again = altered(tmp_path / "late")
    assert again.returncode == 1 and "is there already" in again.stderr
