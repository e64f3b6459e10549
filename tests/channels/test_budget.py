"""Budgets against published arithmetic."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log10, pi

import numpy as np
import pytest
from dstcc_channels.budget import Budget, space_loss_db
from dstcc_channels.data import rows
from dstcc_channels.terminals import Terminal, atmosphere_db, terminal
from dstcc_channels.weather import zenith_db
from numpy.typing import ArrayLike

from dstcc.errors import InputError


def test_free_space_loss_over_400_gigametres():
    assert space_loss_db(400e9, 8.439e9) == pytest.approx(283.01, abs=0.005)
    assert space_loss_db(400e9, 32e9) == pytest.approx(294.59, abs=0.005)


def g_over_t_db(here: Terminal, zenith: ArrayLike, cd: float) -> float:
    """Gain over noise at 20 degrees, the atmosphere's attenuation included, as the handbook plots it."""
    lost_db = atmosphere_db(20, zenith)
    return float(here.gain_dbi(20) - lost_db - 10 * log10(here.noise_k(20, zenith, cd)))


@pytest.mark.parametrize(
    ("station", "noise_k", "merit_db"),
    [("dss-24", 40.5, 52.0), ("dss-35", 25.5, 54.1)],  # 810-005 module 104, at 20 degrees, CD 0.5
)
def test_the_handbooks_figures_at_20_degrees(station, noise_k, merit_db):
    here = terminal(station, "x")
    zenith = zenith_db(here.site, "x", 0.5)
    assert here.noise_k(20, zenith, 0.5) == pytest.approx(noise_k, abs=0.05)
    assert g_over_t_db(here, zenith, 0.5) == pytest.approx(merit_db, abs=0.05)


def test_the_k_band_terminal_near_zenith():
    # 77.68 - 2.5e-4 (90 - 47.8)^2 = 77.23 dBi; 32.4 + 10.3 + 2.6 = 45.4 K in weather of CD 0.25
    here = terminal("dss-34", "k")
    assert here.gain_dbi(90) == pytest.approx(77.23, abs=0.01)
    assert here.noise_k(90, zenith_db("canberra", "k", 0.25), 0.25) == pytest.approx(45.4, abs=0.1)


def test_a_bigger_dish_gains_what_its_area_does():
    # (70 / 34)^2 is 6.3 dB
    gain = terminal("dss-14", "x").gain_dbi(45) - terminal("dss-24", "x").gain_dbi(45)
    assert gain == pytest.approx(20 * log10(70 / 34), abs=0.1)


def test_bad_weather_takes_twice():
    here = terminal("dss-25", "ka")
    clear, rain = (g_over_t_db(here, zenith_db("goldstone", "ka", cd), cd) for cd in (0.5, 0.999))
    attenuation = atmosphere_db(20, zenith_db("goldstone", "ka", 0.999) - zenith_db("goldstone", "ka", 0.5))
    assert clear - rain > attenuation + 3, "the sky's noise rises too"


def made(*figures: ArrayLike) -> Budget:
    """A budget of one moment from its figures in their order."""
    eirp, space, air, losses, gain, noise, implementation = map(np.asarray, figures)
    return Budget(eirp, space, air, float(losses), gain, noise, float(implementation))


def test_eb_over_n0_follows_its_formula():
    # 20 dBW + 46.7 dBi over 400 Gm into 68.3 dBi at 25.5 K: C/N0 = 66.7 - 283.01 + 68.3 - 14.07 + 228.60 = 66.52
    budget = made(66.7, space_loss_db(400e9, 8.439e9), 0.0, 0.0, 68.3, 25.5, 0.5)
    assert budget.cn0_db == pytest.approx(66.52, abs=0.01)
    assert budget.ebn0_db(1e6) == pytest.approx(66.52 - 60 - 0.5, abs=0.01)
    rate = budget.highest_rate_bps(threshold_db=1.06, margin_db=3, cap_bps=6e6)
    assert budget.ebn0_db(rate) == pytest.approx(4.06)
    assert budget.highest_rate_bps(1.06, 3, 5e5) == 5e5


def test_every_loss_takes_from_the_carrier_and_every_gain_adds():
    # 60 dBW - 280 - 2 (air) - 1.5 (pointing, polarisation) + 70 dBi = -153.5 dBW. Noise: at 1 K and 1 Hz it is
    # 10 log10 1.380649e-23 = -228.5991 dBW, at 100 K 20 dB more. C/N0 = -153.5 + 228.5991 - 20 = 55.0991 dB-Hz
    budget = made(60.0, 280.0, 2.0, 1.5, 70.0, 100.0, 0.5)
    assert budget.cn0_db == pytest.approx(55.0991, abs=1e-4)
    assert budget.ebn0_db(1e5) == pytest.approx(55.0991 - 50 - 0.5, abs=1e-4)
    # 55.0991 - 0.5 - 1 - 3 = 50.5991 dB-Hz at the threshold of 1 dB with 3 dB to spare
    assert budget.highest_rate_bps(1.0, 3.0, 1e9) == pytest.approx(10**5.05991, rel=1e-4)


def test_the_published_check_of_the_orbiters_rates():
    # 14.5 Mb/s at 101 Gm and 0.94 Mb/s at 400 Gm with turbo 1/2 and 3 dB margin: (400 / 101)^2 apart
    here, rates = terminal("dss-24", "x"), []
    for distance_m in (101e9, 400e9):
        zenith = zenith_db("goldstone", "x", 0.5)
        budget = Budget(
            eirp_dbw=np.asarray(20 + 46.7),
            space_loss_db=space_loss_db(distance_m, 8.439e9),
            atmosphere_db=atmosphere_db(20, zenith),
            losses_db=0.0,
            gain_dbi=here.gain_dbi(20),
            noise_k=here.noise_k(20, zenith, 0.5),
            implementation_db=0.5,
        )
        rates.append(float(budget.highest_rate_bps(1.06, 3, 1e9)))
    assert rates == pytest.approx([14.5e6, 0.94e6], rel=0.03)


def test_a_station_transmits_its_twenty_kilowatts():
    assert terminal("dss-24", "x").up_eirp_dbw(51.5) == pytest.approx(10 * log10(20e3) + 66.88)
    with pytest.raises(InputError, match="no x-band transmitter"):
        terminal("dss-14", "x").up_eirp_dbw(45)


@pytest.mark.parametrize("missing", ["up_g0_dbi", "up_power_w"])
def test_a_transmitter_has_both_a_gain_and_a_power(missing):
    with pytest.raises(InputError, match="station = 'dss-24': no x-band transmitter"):
        replace(terminal("dss-24", "x"), **{missing: None}).up_eirp_dbw(45)


# A terminal whose numbers are round: the dish sags by 1e-3 dB per square degree off 50 degrees.
ROUND = Terminal("here", "x", "canberra", 60.0, 1e-3, 50.0, 20.0, 10.0, 0.05, 55.0, 1e4, "by hand")


def test_a_dish_sags_away_from_its_best_elevation_in_both_directions():
    # 10 degrees below, 20 above: 0.1 and 0.4 dB; 10 kW are 40 dBW
    assert ROUND.gain_dbi([40, 50, 70]) == pytest.approx([59.9, 60.0, 59.6])
    assert ROUND.up_eirp_dbw([40, 50, 70]) == pytest.approx([94.9, 95.0, 94.6])


def test_noise_by_hand():
    # 30 degrees: sin is 1/2, so that 1.5 dB at zenith are 3 dB and L = 10^0.3; receiver 20 + 10 exp(-1.5).
    through, receiver_k = 10**-0.3, 20 + 10 * exp(-1.5)
    for cd, radiating_k in ((0.0, 255), (0.4, 265), (1.0, 280)):
        noise_k = receiver_k + radiating_k * (1 - through) + 2.725 * through
        assert ROUND.noise_k(30, 1.5, cd) == pytest.approx(noise_k, rel=1e-12)


def test_the_ka_gain_is_that_of_its_efficiency():
    wavelength = 299_792_458 / 32e9
    assert terminal("dss-25", "ka").g0_dbi == pytest.approx(
        10 * log10(0.606 * (pi * 34 / wavelength) ** 2), abs=0.01
    )


def test_unknown_stations_and_bands_are_refused():
    with pytest.raises(InputError, match=r"did you mean 'dss-24'.*allowed: dss-14"):
        terminal("dss-241", "x")
    with pytest.raises(InputError, match=r"band = 'ka': dss-24 has no such receiver; allowed: x"):
        terminal("dss-24", "ka")


@pytest.mark.parametrize("table", ["terminals.csv", "zenith.csv", "codes.csv", "fer.csv"])
def test_every_row_has_a_source(table):
    assert all(row["ref"] for row in rows(table))
