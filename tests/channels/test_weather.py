"""Weather: the table's exceedances, and a process that keeps them."""

from __future__ import annotations

import numpy as np
import pytest
from dstcc_channels.weather import DECAY_PER_S, STATES, state_of, weather_cd, zenith_db

from dstcc.errors import InputError

DAY = 86_400.0
SLANT = 1 / np.sin(np.radians(20))


@pytest.mark.parametrize(
    ("site", "ten", "one", "tenth"),
    [("goldstone", 1.05, 3.8, 11.2), ("madrid", 1.8, 5.8, 14.2), ("canberra", 2.6, 9.3, 25.8)],
)
def test_ka_attenuation_at_20_degrees(site, ten, one, tenth):
    attenuation_db = zenith_db(site, "ka", [0.9, 0.99, 0.999]) * SLANT
    assert attenuation_db == pytest.approx([ten, one, tenth], rel=0.015)


def test_x_band_rows_are_the_handbooks():
    assert zenith_db("canberra", "x", [0, 0.25, 0.5, 0.9]) == pytest.approx([0.039, 0.044, 0.046, 0.058])
    assert zenith_db("canberra", "x", 0.99) == pytest.approx(0.058), "the last row holds beyond it"


def test_worse_weather_takes_more():
    assert np.all(np.diff(zenith_db("madrid", "ka", np.linspace(0, 1, 500))) >= 0)


@pytest.mark.parametrize("site", ["goldstone", "madrid", "canberra"])
def test_the_process_keeps_the_tables_exceedances(site):
    # 30 years of 10-minute steps hold 30 x 8766 h x 3600 s x b / 2 = 94,000 independent weathers, so that a share
    # p is known to sqrt(2 / (94,000 p)): 1.5 % of 10 %, 5 % of 1 %; three of these are allowed.
    t_s = np.arange(0, 30 * 365.25 * DAY, 600.0)
    attenuation = zenith_db(site, "ka", weather_cd(site, t_s, seed=1))
    for share, tolerance in ((0.1, 0.045), (0.01, 0.15)):
        exceeded = np.mean(attenuation > zenith_db(site, "ka", 1 - share))
        assert exceeded == pytest.approx(share, rel=tolerance)


def test_states_have_the_shares_of_their_decades():
    t_s = np.arange(0, 30 * 365.25 * DAY, 600.0)
    states = state_of(weather_cd("madrid", t_s, seed=2))
    shares = np.bincount(states, minlength=len(STATES)) / len(t_s)
    assert shares == pytest.approx([0.9, 0.09, 0.009, 0.001], rel=0.4)
    assert shares[:2] == pytest.approx([0.9, 0.09], rel=0.05)


def test_weather_forgets_itself_at_the_models_rate():
    from scipy.special import ndtri

    t_s = np.arange(0, 3000 * DAY, 300.0)
    state = ndtri(weather_cd("madrid", t_s, seed=3))
    lag = 10
    correlation = np.corrcoef(state[:-lag], state[lag:])[0, 1]
    assert correlation == pytest.approx(np.exp(-DECAY_PER_S * lag * 300.0), abs=0.02)


def test_weather_is_seeded_and_a_sites_own():
    t_s = np.arange(0, DAY, 60.0)
    assert np.array_equal(weather_cd("madrid", t_s, 1), weather_cd("madrid", t_s, 1))
    assert not np.array_equal(weather_cd("madrid", t_s, 1), weather_cd("madrid", t_s, 2))
    assert not np.array_equal(weather_cd("madrid", t_s, 1), weather_cd("canberra", t_s, 1))


def test_uneven_times_are_the_same_process():
    even = np.arange(0, DAY, 60.0)
    uneven = even.copy()
    uneven[1:] += 1e-3 * np.sin(np.arange(len(even) - 1))
    assert weather_cd("madrid", uneven, 1) == pytest.approx(weather_cd("madrid", even, 1), abs=1e-3)


def test_a_step_of_the_process_by_hand():
    from scipy.special import ndtri

    # X' = k X + sqrt(1 - k^2) n with k = exp(-b dt): two steps of 1,000 s are one of 2,000 s with other draws, so the
    # draws are those of one moment each, read off a process that forgets at once (steps of 1e9 s).
    draws = ndtri(weather_cd("madrid", 1e9 * np.arange(4.0), 1))
    for t_s in (np.array([0.0, 1000, 2000, 3000]), np.array([0.0, 1000, 3000, 3100])):
        state = [draws[0]]
        for step_s, draw in zip(np.diff(t_s), draws[1:], strict=True):
            keep = np.exp(-2e-4 * step_s)
            state.append(keep * state[-1] + np.sqrt(1 - keep**2) * draw)
        assert ndtri(weather_cd("madrid", t_s, 1)) == pytest.approx(state, rel=1e-9)


@pytest.mark.parametrize("moments", [0, 1, 2])
def test_few_moments_are_enough(moments):
    assert weather_cd("madrid", 60.0 * np.arange(moments), 1).shape == (moments,)


def test_a_state_begins_where_the_one_before_ends():
    assert state_of([0.0, 0.8999, 0.9, 0.9899, 0.99, 0.9989, 0.999, 1.0]).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_between_two_rows_the_logarithm_is_linear_in_the_logarithm():
    # canberra's X band has 0.039 dB at 0 and 0.044 at 0.25; half way in log(1 - cd) lies cd = 1 - sqrt(1 · 0.75)
    assert zenith_db("canberra", "x", 1 - 0.75**0.5) == pytest.approx((0.039 * 0.044) ** 0.5)
    assert zenith_db("canberra", "x", 1.0) == pytest.approx(0.058)


def test_a_site_without_rows_is_refused():
    with pytest.raises(InputError, match=r"madrid/k: not in zenith\.csv; .*canberra/k"):
        zenith_db("madrid", "k", 0.5)
