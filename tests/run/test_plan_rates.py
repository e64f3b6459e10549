"""A contact plan whose contacts differ in rate, both ways, under every transport: what they bring, and the bound."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path

import pytest

from dstcc.run import run_trials
from dstcc.scenario import Scenario, load_scenario

CONTACTS = 12
RATES = (5_000, 1_000, 3_000)
"""Bytes a second, by turns; each contact has 500.5 s, of every 600 s."""
LAYER_BPS = (6_000, 12_000)
"""12 contacts carry 500.5 x (5,000 + 1,000 + 3,000) x 4 = 18.0 MB; offered are 2,250 bytes/s x 7,200 s = 16.2 MB."""


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    lines = []
    for number in range(CONTACTS):
        begin, rate = 600 * number, RATES[number % 3]
        lines += [f"a contact +{begin} +{begin + 500.5} 2 1 {rate}"]
        lines += [f"a contact +{begin} +{begin + 590} 1 2 {rate // 5 + 10}"]
    (tmp_path / "plan.txt").write_text("\n".join([*lines, "a range +0 +8000 1 2 20", ""]))
    path = tmp_path / "plan.toml"
    path.write_text(f"""
[scenario]
name = "plan"
duration_s = 8_000
[video]
synthetic = {{chunk_s = 10.0, layer_bps = {list(LAYER_BPS)}}}
loop_to_s = 7_200
[[link]]
name = "a"
contacts = "plan.txt"
source = 2
destination = 1
loss = {{packet = 0.002}}
[playout]
delay_s = 700
""")
    return path


def read(path: Path, transport: str) -> Scenario:
    path.write_text(path.read_text() + transport)
    return load_scenario(path)


TRANSPORTS = {
    "stream": 'congestion = ["cubic", "bbr", "bbr-scaled", "westwood", "open-loop", "fixed", "tp-planet", "ltp"]',
    "lanes": 'mode = "lanes"\nlanes_per_link = 4\ncongestion = ["cubic", "open-loop"]\ncontroller = ["dstcc-lanes"]',
    "coded under bbr": 'mode = "coded"\ncongestion = "bbr"\n[coding]\nblock_s = 60',
    "coded": 'mode = "coded"\ncongestion = "open-loop"\ncontroller = "gru-mpc"\n[coding]\nblock_s = 60',
    "ltp coded": 'congestion = "ltp"\n[coding]\nrepair = "auto"\nblock_s = 60',
}


@pytest.mark.parametrize("transport", TRANSPORTS.values(), ids=TRANSPORTS)
def test_every_transport_brings_what_the_contacts_carry_at_most(scenario_file: Path, transport: str) -> None:
    for trial in run_trials(read(scenario_file, f"[transport]\n{transport}\n"), quality=False):
        assert trial.outcome is not None, trial.error
        values = trial.outcome.metrics.values
        assert 0 < values["oracle_ratio"] <= 1.000001, trial.key.id
        contacts = trial.outcome.contacts
        assert len(contacts) >= CONTACTS
        assert sum(one["bytes_in_time"] for one in contacts) == values["bytes_in_time"]
        # A layer counts to the contact in which its last byte left: up to each of them no more than the line carried.
        carried = accumulate(RATES[number % 3] * 500.5 * 1460 / 1500 for number in range(CONTACTS))
        for brought, most in zip(accumulate(one["bytes_in_time"] for one in contacts), carried, strict=False):
            assert brought <= most + 1, trial.key.id


def test_ltp_is_near_the_bound_that_counts_the_rates(scenario_file: Path) -> None:
    (trial,) = run_trials(read(scenario_file, '[transport]\ncongestion = "ltp"\n'), quality=False)
    assert trial.outcome is not None
    assert trial.outcome.metrics.values["oracle_ratio"] > 0.9
