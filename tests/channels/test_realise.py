"""A run's share of a physical link: delay, rate, losses, outages and what a seed changes of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from dstcc_channels import geometry
from dstcc_channels.codes import code
from dstcc_channels.profiles import load_profile, profile_names
from dstcc_channels.realise import inside, realise
from dstcc_channels.states import link_states

from dstcc.errors import InputError

START = datetime(2026, 11, 21, tzinfo=UTC)
CONJUNCTION = datetime(2028, 3, 21, tzinfo=UTC)
DAY = 86_400.0
PHYSICAL = [name for name in profile_names() if load_profile(name).kind == "physical"]


@pytest.mark.parametrize("name", PHYSICAL)
def test_a_run_of_every_profile(name):
    profile = load_profile(name)
    run = realise(profile, START, DAY, seed=1)
    assert profile.down is not None
    assert 0 < run.rate_bps <= profile.down.max_rate_bps
    assert run.down.kind == "frames"
    assert run.down.frame_bits == code(profile.down.code).frame_bits
    for schedule in (run.down, run.up):
        assert len(schedule.t_s) == len(schedule.ebn0_db) == len(schedule.scintillation_index)
    assert np.all(np.diff(run.delay_t_s) > 0)
    assert run.delay_t_s[-1] == DAY
    assert 0 < geometry.total_s(run.outages_s) < DAY


def test_delay_is_that_of_what_leaves():
    run = realise(load_profile("mro-x-dss35"), START, DAY, seed=1)
    expected = geometry.light_time_s("mars", "earth", START, run.delay_t_s, sent=True)
    assert run.delay_s == pytest.approx(expected, abs=1e-6)
    assert run.delay_s[0] == pytest.approx(630.9, abs=0.2)


def test_the_rate_keeps_its_margin_whenever_the_link_is_usable():
    profile = load_profile("mro-x-dss35")
    run = realise(profile, START, DAY, seed=1)
    received = START + timedelta(seconds=float(run.delay_s[0]))
    state = link_states(profile, received, run.delay_t_s, rate_bps=run.rate_bps)
    usable = ~inside(run.delay_t_s, run.outages_s)
    assert profile.down is not None
    assert state.margin_db[usable].min() == pytest.approx(profile.down.margin_db, abs=0.01)


def test_ebn0_is_the_states_of_the_time_of_arrival():
    # The plan is for weather of CD 0.9; clear sky is up to 0.2 dB thinner at 10 degrees and 8 K of 38 K colder: 1.1 dB
    profile = load_profile("mro-x-dss35")
    run = realise(profile, START, DAY, seed=1)
    received = START + timedelta(seconds=float(run.delay_s[0]))
    state = link_states(profile, received, run.delay_t_s, rate_bps=run.rate_bps)
    gained = run.down.ebn0_db - state.ebn0_db
    assert gained.min() > -0.05, "the light time of the start stands for all of them"
    assert gained.max() < 1.2


def test_outages_are_the_geometrys():
    profile = load_profile("lunar")
    run = realise(profile, START, DAY, seed=1)
    for outages, way in ((run.outages_s, "down"), (run.up_outages_s, "up")):
        assert outages == geometry.link_times("moon", ["dss-34"], START, DAY, direction=way).outages


def test_an_orbiter_is_hidden_for_the_share_of_its_orbit():
    # both lie in Mars' shadow cylinder for up to 37.5 % of a turn, less where the orbit is seen from the side
    run = realise(load_profile("mro-x-dss35"), START, DAY, seed=1)
    seen = geometry.visibility("dss-35", "mars", START, DAY)
    dark = geometry.total_s(run.outages_s) - (DAY - geometry.total_s(seen))
    assert 0 <= dark <= 0.42 * geometry.total_s(seen)


def test_near_the_sun_the_link_is_not_used():
    run = realise(load_profile("mro-x-dss35"), CONJUNCTION, DAY, seed=1)
    assert run.outages_s == [(0.0, DAY)]
    assert "the way down is never usable" in run.notes[0]
    assert run.rate_bps > 0


def test_scintillation_follows_the_sun():
    later = CONJUNCTION + timedelta(days=12)
    run = realise(load_profile("mro-x-dss35"), later, DAY, seed=1)
    assert 0.1 < run.down.scintillation_index[0] < 0.3
    assert run.down.coherence_s == pytest.approx(0.18, abs=0.01)
    assert realise(load_profile("mro-x-dss35"), START, DAY, 1).down.scintillation_index.max() == 0


def test_a_seed_replays_and_another_differs():
    profile = load_profile("mars-ka-dss25")
    one, same, other = (realise(profile, START, DAY, seed) for seed in (1, 1, 2))
    assert np.array_equal(one.down.ebn0_db, same.down.ebn0_db)
    assert one.outages_s == same.outages_s
    assert not np.array_equal(one.down.ebn0_db, other.down.ebn0_db)
    assert one.outages_s != other.outages_s
    assert one.rate_bps == pytest.approx(other.rate_bps, rel=0.05), "the plan does not know the weather"


def test_links_to_one_orbiter_share_its_place():
    one, other = (realise(load_profile(name), START, DAY, 1) for name in ("mro-x-dss24", "mars-ka-dss25"))
    # both stations stand at Goldstone: what differs is 0.01 degrees of horizon
    assert len(one.outages_s) == len(other.outages_s)
    assert np.array(one.outages_s) == pytest.approx(np.array(other.outages_s), abs=30)


def test_ka_weather_costs_what_the_table_says():
    # over 200 days the Eb/N0 falls by more than 1.0 dB x 20-degree path of the 10 % weather for 10 % of the time
    run = realise(load_profile("mars-ka-dss25"), START, 200 * DAY, seed=3)
    usable = ~inside(run.down.t_s, run.outages_s)
    planned = link_states(
        load_profile("mars-ka-dss25"), START, run.down.t_s + run.delay_s, rate_bps=run.rate_bps
    ).ebn0_db
    worse = np.mean(run.down.ebn0_db[usable] < planned[usable])
    assert worse == pytest.approx(0.1, abs=0.03)


def test_the_curve_is_the_codes():
    run = realise(load_profile("mro-x-dss35"), START, DAY, seed=1)
    grid, log10_fer = code("ccsds-turbo-1/2-8920").curve()
    assert np.array_equal(run.down.curve_ebn0_db, grid)
    assert np.array_equal(run.down.curve_log10_fer, log10_fer)


def test_a_way_up_without_a_budget_loses_nothing():
    run = realise(load_profile("mro-x-dss43"), START, DAY, seed=1)
    assert (run.up.kind, run.up_rate_bps) == ("none", 2e3)
    assert run.up_outages_s != run.outages_s


def test_what_cannot_be_realised_is_refused():
    with pytest.raises(InputError, match="abstract profile"):
        realise(load_profile("lab"), START, DAY, 1)
    with pytest.raises(InputError, match="outside what ephemeris"):
        realise(load_profile("mro-x-dss35"), datetime(2049, 12, 31, tzinfo=UTC), 10 * DAY, 1)
    with pytest.raises(InputError, match="duration_s = 0"):
        realise(load_profile("mro-x-dss35"), START, 0, 1)
