"""Scintillation near the Sun: the published fit, Rice's relation, and error rates under fading."""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
import pytest
from dstcc_channels.codes import code
from dstcc_channels.scintillation import coherence_s, faded, rician_k, scintillation_index


@pytest.mark.parametrize(
    ("band", "sep_deg", "index"),
    [
        ("x", 0.8, 1.0),
        ("x", 1.1, 1.0),
        ("x", 2.0, exp(-1.14 * 0.9) + 0.02 * 0.9),
        ("x", 3.0, exp(-1.14 * 1.9) + 0.02 * 1.9),
        ("ka", 0.0, 1.0),
        ("ka", 0.59, 1.0),  # saturated
        ("ka", 0.6, 1 - 0.231),  # the fit steps down where saturation ends
        ("ka", 2.0, exp(-1.50 * 1.4) - 0.231 + 0.176 * 1.4 - 0.030 * 1.4**2),
        ("x", 4.9, exp(-1.14 * 3.8) + 0.02 * 3.8),
        ("x", 5.0, exp(-1.14 * 3.9) + 0.02 * 3.9),
        ("x", 5.1, 0.0),
        ("ka", 5.0, 0.0),  # where the fit would be below 0
        ("k", 0.5, 0.0),
    ],
)
def test_the_published_index(band, sep_deg, index):
    assert scintillation_index(sep_deg, band) == pytest.approx(index, abs=1e-12)


def test_the_index_is_a_share():
    for band in ("x", "ka"):
        index = scintillation_index(np.linspace(0, 180, 2000), band)
        assert index.min() >= 0
        assert index.max() <= 1


def test_rices_relation():
    # a steady part of power K over 1 of noise: variance over mean squared is (1 + 2K) / (1 + K)^2 = m^2
    for index in (0.1, 0.5, 0.9):
        k = float(rician_k(index))
        assert sqrt(1 + 2 * k) / (1 + k) == pytest.approx(index)
    assert rician_k(1.0) == 0
    assert rician_k(0.0) == np.inf


def test_a_fade_lasts_a_fifth_of_a_second_in_x_band():
    # sqrt(3.55 cm x 1 au) = 72.9 km at 400 km/s
    assert coherence_s(8.439e9) == pytest.approx(0.182, abs=0.001)


@pytest.mark.parametrize("frames", [1, 2])
@pytest.mark.parametrize("index", [0.3, 0.7, 1.0])
@pytest.mark.parametrize("ebn0_db", [0.5, 2.0, 6.0])
def test_fading_averages_the_codes_curve(ebn0_db, index, frames):
    name = "ccsds-turbo-1/2-8920"
    draws = np.random.default_rng(7).standard_normal((2, 400_000))
    k = float(rician_k(index))
    steady, scatter = sqrt(k / (k + 1)), sqrt(0.5 / (k + 1))
    power = (steady + scatter * draws[0]) ** 2 + (scatter * draws[1]) ** 2
    rates = 1 - (1 - code(name).frame_error_rate(ebn0_db + 10 * np.log10(power))) ** frames
    spread = rates.std() / sqrt(rates.size)
    averaged = faded(name, np.array([ebn0_db]), np.array([index]), frames)[0]
    assert averaged == pytest.approx(rates.mean(), abs=4 * spread + 0.01 * rates.mean())


def test_without_scintillation_fading_changes_nothing():
    name = "ccsds-turbo-1/2-8920"
    at = np.array([0.8, 1.0, 1.06])
    assert faded(name, at, np.zeros(3)) == pytest.approx(code(name).frame_error_rate(at), rel=0.1)
