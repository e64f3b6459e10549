"""Link states: the budget over time, near the Sun, below the horizon, and beyond what is known."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from dstcc_channels.budget import space_loss_db
from dstcc_channels.codes import code
from dstcc_channels.profiles import load_profile, profile_names
from dstcc_channels.states import link_states

from dstcc.errors import InputError

START = datetime(2026, 11, 21, tzinfo=UTC)
CONJUNCTION = datetime(2028, 3, 21, tzinfo=UTC)
DAY = 86_400.0
PHYSICAL = [name for name in profile_names() if load_profile(name).kind == "physical"]


@pytest.mark.parametrize("name", PHYSICAL)
def test_every_physical_profile_closes_at_its_margin(name):
    profile = load_profile(name)
    state = link_states(profile, START, 0.0, elevation_deg=45)
    assert profile.down is not None
    assert state.margin_db >= profile.down.margin_db - 1e-9
    assert state.frame_error_rate <= profile.down.frame_error_rate
    assert state.rate_bps <= profile.down.max_rate_bps
    assert state.visible


def test_distance_and_delay_on_a_known_date():
    state = link_states(load_profile("mro-x-dss35"), START, 0.0)
    assert state.one_way_s == pytest.approx(630.943, abs=0.2)
    assert state.distance_m == pytest.approx(630.943 * 299_792_458, rel=1e-3)


def test_a_relay_adds_its_own_way():
    relay, direct = (
        link_states(load_profile(name), START, 0.0) for name in ("areostationary-relay", "mro-x-dss35")
    )
    assert relay.one_way_s - direct.one_way_s == pytest.approx(17_032e3 / 299_792_458)


def test_the_rate_follows_the_distance_until_the_cap():
    # doubling the distance costs 6 dB, hence the rate falls with its square
    profile = load_profile("mro-x-dss35")
    days = np.arange(0, 780 * DAY, DAY)
    state = link_states(profile, START, days, elevation_deg=20)
    assert state.rate_bps.max() == 6e6
    free = state.rate_bps < 6e6
    product = state.rate_bps[free] * state.distance_m[free] ** 2
    assert product == pytest.approx(product[0], rel=1e-6)
    assert state.margin_db[free] == pytest.approx(3, abs=1e-9)
    assert state.margin_db[~free].min() >= 3


def test_the_orbiter_keeps_its_published_rate_at_the_greatest_distance():
    # "at least 500 kb/s at 400 million km" (DESCANSO 12)
    state = link_states(load_profile("mro-x-dss24"), START, np.arange(0, 780 * DAY, DAY), elevation_deg=20)
    assert state.distance_m.max() > 355e9
    farthest = state.distance_m.argmax()
    assert state.rate_bps[farthest] * (state.distance_m[farthest] / 400e9) ** 2 > 5e5


def test_ebn0_is_the_budgets():
    profile = load_profile("mro-x-dss35")
    state = link_states(profile, START, 0.0, elevation_deg=20, weather_cd=0.5, rate_bps=1e6)
    # EIRP 66.7 dBW less 1.39 dB in line and switch, pointing 0.8 dB, G/T 54.12 dB/K with the atmosphere in it,
    # implementation 0.5 dB
    expected = 66.7 - 1.39 - 0.8 - space_loss_db(state.distance_m, 8.439e9) + 54.12 + 228.60 - 60 - 0.5
    assert state.ebn0_db == pytest.approx(expected, abs=0.02)


def test_packet_loss_is_by_whole_frames():
    profile = load_profile("mro-x-dss35")
    state = link_states(profile, START, 0.0, elevation_deg=20, rate_bps=7.5e6, packet_bytes=1500)
    assert profile.down is not None
    fer = float(state.frame_error_rate)
    assert 0 < fer < 1
    # 12,000 bits are in 2 frames of 8,920, or in 3 from 3,079 of the places on
    more = 3079 / 8920
    assert state.packet_loss == pytest.approx(1 - (1 - more) * (1 - fer) ** 2 - more * (1 - fer) ** 3)


def test_below_the_mask_the_budget_is_the_masks():
    profile = load_profile("mro-x-dss35")
    below, mask = (link_states(profile, START, 0.0, elevation_deg=angle) for angle in (-20, 10))
    assert not below.visible
    assert below.ebn0_db == mask.ebn0_db
    assert mask.visible


def test_a_station_sees_mars_a_third_of_the_day():
    minutes = np.arange(0, DAY, 60.0)
    visible = link_states(load_profile("mro-x-dss35"), START, minutes).visible
    assert visible.mean() * 24 == pytest.approx(8.9, abs=0.1)  # Canberra on that day


def test_the_sun_blinds_and_scintillates():
    profile = load_profile("mro-x-dss35")
    state = link_states(profile, CONJUNCTION, np.array([0.0, 10 * DAY]), elevation_deg=45)
    assert state.sun_earth_probe_deg[0] == pytest.approx(0.81, abs=0.02)
    assert state.scintillation_index[0] == 1
    assert not state.visible[0]
    assert state.visible[1]
    assert 0 < state.scintillation_index[1] < 0.4, "m = 0.29 at 2.2 degrees"
    assert state.frame_error_rate[0] > 0.1, "Rayleigh fading eats a margin of 3 dB"
    assert state.frame_error_rate[1] > 1e-4


def test_the_way_up_has_a_budget_of_its_own():
    up = link_states(load_profile("mro-x-dss35"), START, 0.0, elevation_deg=20, up=True)
    assert up.rate_bps == 2e3
    # 20 kW: 256 kb/s keep more than 3 dB, and 2 kb/s 21 more
    assert up.margin_db > 3 + 10 * np.log10(128)
    with pytest.raises(InputError, match="mro-x-dss43: its way up has a rate and no budget"):
        link_states(load_profile("mro-x-dss43"), START, 0.0, up=True)


def test_eb_n0_beyond_the_table_is_said():
    profile = load_profile("mro-x-dss35")
    strong = link_states(profile, START, 0.0, elevation_deg=20, rate_bps=1e3)
    planned = link_states(profile, START, 0.0, elevation_deg=20, rate_bps=3.6e6)
    weak = link_states(profile, START, 0.0, elevation_deg=20, rate_bps=1e9)
    within = link_states(profile, START, 0.0, elevation_deg=20, rate_bps=7.5e6)
    assert "clamped to its last row" in strong.notes[0]
    assert "clamped to its first row" in weak.notes[0]
    assert within.notes == ()
    assert planned.ebn0_db > 3 + code("ccsds-turbo-1/2-8920").range_db[1]
    assert planned.notes == ()  # as far above it as its margin: healthy


def test_what_cannot_be_asked_is_refused():
    profile = load_profile("mro-x-dss35")
    with pytest.raises(InputError, match="abstract profile has no budget"):
        link_states(load_profile("iodst-link-1"), START, 0.0)
    with pytest.raises(InputError, match="outside what ephemeris"):
        link_states(profile, datetime(2060, 1, 1, tzinfo=UTC), 0.0)
    with pytest.raises(InputError, match="elevation: must be between"):
        link_states(profile, START, 0.0, elevation_deg=100)
