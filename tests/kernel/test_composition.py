"""What docs/composition.md says that the kernel runs, it runs: a pair of each transport and each capability."""

from __future__ import annotations

from pathlib import Path

import pytest

from dstcc.api import emulate
from scripts.composition import LOGS, check, emulated, write
from tests.test_composition import published

PAIRS = [
    ("stream", "a delay that changes"),
    ("lanes", "bursts of losses"),
    ("`dstcc-lanes`", "outages"),
    ("coded, rates measured", "frames at Eb/N0"),
    ("`gru-mpc`", "no `slot_s`"),
    ("stream", "rates that change"),
    ("coded, rates configured", "hidden states"),
    ("`dstcc-lanes`", "others' datagrams"),
    ("`gru-mpc`", "a contact plan"),
    ("lanes", "others' TCP flows"),
    ("stream", "restarts with a spool"),
    ("`dstcc-lanes`", "restarts without a spool"),
    ("`dstcc`", "stored video"),
    ("coded, rates configured", "`stall` playout"),
    ("`dstcc`", "restarts with a spool"),
    ("`gru-mpc`", "restarts without a spool"),
    ("`dstcc`", "others' TCP flows"),
    ("`gru-mpc`", "others' TCP flows"),
    ("`dstcc`", "a node that stores"),
    ("lanes", "a node that stores"),
    ("`ltp`", "restarts with a spool"),
    ("`ltp`", "a contact plan"),
    ("`ltp` coded", "others' TCP flows"),
    ("`ltp` coded", "a node that stores"),
    ("`ltp` coded", "`stall` playout"),
    ("`gru-mpc`", LOGS),
    ("`ltp`", "a variant"),
]


def test_the_pairs_have_all_that_the_kernel_takes() -> None:
    """Which these are the page says, and `tests/test_composition.py` holds it to them."""
    taken = [
        (t, c) for c, row in published("On the kernel").items() for t, said in row.items() if said == "yes"
    ]
    assert {t for t, _ in PAIRS} == {t for t, _ in taken}
    assert {c for _, c in PAIRS} == {c for _, c in taken}


@pytest.mark.kernel
@pytest.mark.parametrize(("transport", "capability"), PAIRS)
@pytest.mark.usefixtures("kernel_with_scheduler")
def test_a_pair_runs(transport: str, capability: str, tmp_path: Path) -> None:
    scenario = write(transport, capability, tmp_path)
    if capability == LOGS:
        emulated(scenario, tmp_path / "run", backend="kernel", logs=("pcapng",))
        assert len(list((tmp_path / "run").glob("gru-mpc*.pcapng"))) == 2
        return
    check(emulate(scenario, backend="kernel", quality=False).trials.to_pylist())
