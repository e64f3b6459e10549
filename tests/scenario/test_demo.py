"""The demo's links are those that a mission could have."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from dstcc_channels import geometry

from dstcc.scenario import load_scenario

DEMO = Path(__file__).parents[2] / "examples/demo/mars-two-links.toml"
SENT = datetime(2026, 12, 19)
FULL_PACKET = 1_500
TXQUEUELEN = 1_000
"""Of Linux's network devices, in packets."""
KM_PER_S = 299_792.458
AREOSTATIONARY_KM = 17_032


def test_light_takes_as_long_as_on_the_demos_day_and_the_relay_is_no_shortcut() -> None:
    relay, direct = load_scenario(DEMO).link
    hours = [0.0, 43_200.0]
    first_s, last_s = geometry.light_time_s("mars", "earth", SENT, hours, sent=True)
    assert isinstance(direct.delay_s, float) and isinstance(relay.delay_s, float)
    assert abs(direct.delay_s - first_s) < 0.05
    assert 0 < direct.delay_s - last_s < 2.2  # what a constant delay leaves out
    # Down to the relay and on: up to twice its height over the surface more than the direct way, never less.
    assert 0 <= relay.delay_s - direct.delay_s <= 2 * AREOSTATIONARY_KM / KM_PER_S


def test_queues_are_a_transmitters_and_uplinks_carry_commands() -> None:
    for link in load_scenario(DEMO).link:
        assert link.queue_bytes == TXQUEUELEN * FULL_PACKET
        assert link.up_rate_bps == 2_000
