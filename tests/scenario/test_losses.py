"""The kinds of loss: the table against the engine, and what it says of packets against what the engine loses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dstcc.engine import LOSS_KINDS, Loss
from dstcc.engine.simulate import channel_losses
from dstcc.scenario.draws import describe_loss
from dstcc.scenario.losses import KINDS, LOSSES, Drawing, LossModel, packets_of
from tests.engine import net

SOURCES = Path(__file__).parents[2] / "dstcc/engine/src/link"
GIVEN: dict[str, Any] = {
    "packet": {"packet": 0.05},
    "ber": {"ber": 5e-6},
    "gilbert_elliott": {"gilbert_elliott": {"p": 0.02, "r": 0.2, "good": 0.01, "bad": 0.5}},
    "ebn0_db": {"ebn0_db": 3.0, "code": "ccsds-c2"},
}


def engine(key: str) -> Loss:
    return LossModel.model_validate(GIVEN[key]).engine(Drawing(lambda _key, value: float(value)))


def test_the_engine_has_every_kind_of_the_table_each_registered_in_a_file_of_its_own() -> None:
    names = {kind.name for kind in KINDS.values()}
    assert names <= set(LOSS_KINDS)
    assert set(LOSS_KINDS) - names == {"none", "periodic"}  # no loss, and the textbook's
    assert set(LossModel.model_fields) == {*LOSSES, "code"}
    registered = [
        name
        for path in SOURCES.glob("loss_*.cpp")
        for name in re.findall(r"Registered<LossEntry> \w+", path.read_text())
    ]
    assert len(registered) == len(LOSS_KINDS)


def test_a_kind_that_nobody_registered_is_refused_by_its_name() -> None:
    with pytest.raises(ValueError, match="unknown loss kind 'storms'"):
        net.run("cubic", net.link(loss=Loss("storms")), duration_s=1)


@pytest.mark.parametrize("rate", [0.0, 1.5, float("nan")])
def test_a_period_needs_a_rate(rate: float) -> None:
    with pytest.raises(ValueError, match="periodic loss needs a rate in"):
        net.run("cubic", net.link(loss=Loss("periodic", rate)), duration_s=1)


@pytest.mark.parametrize("key", [key for key in GIVEN if KINDS[key].packets])
@pytest.mark.parametrize("packet_bytes", [300, 1500])
def test_packets_are_lost_as_the_table_says(key: str, packet_bytes: int) -> None:
    lost = packets_of(engine(key), packet_bytes)
    if isinstance(lost, tuple):
        p, r, good, bad = lost
        lost = (p * bad + r * good) / (p + r)
    assert lost is not None
    seen = channel_losses(net.link(loss=engine(key)), 1, 0, packet_bytes, 200_000)
    assert seen.mean() == pytest.approx(lost, rel=0.1)  # 1,500 losses and more


def test_bursts_are_the_chains() -> None:
    seen = channel_losses(
        net.link(loss=Loss("gilbert-elliott", p=0.02, r=0.2, good=0.0, bad=1.0)), 1, 0, 1500, 200_000
    )
    edges = np.flatnonzero(np.diff(seen.astype(int)))
    assert seen.sum() / (len(edges) / 2) == pytest.approx(1 / 0.2, rel=0.05)


@pytest.mark.parametrize("key", [key for key in GIVEN if KINDS[key].packets])
def test_a_runs_record_has_the_scenarios_key(key: str) -> None:
    assert describe_loss(engine(key)) == GIVEN[key]


def test_records_of_no_loss_and_of_the_textbooks() -> None:
    assert describe_loss(Loss()) == {}
    assert describe_loss(Loss("periodic", 0.01)) == {"periodic": 0.01}
    assert (packets_of(Loss(), 1500), packets_of(Loss("periodic", 0.01), 1500)) == (0.0, 0.01)
    assert packets_of(engine("ebn0_db"), 1500) is None
