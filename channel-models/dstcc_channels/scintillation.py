"""Solar scintillation: how the corona makes a carrier's power fluctuate near conjunction.

::

    m(x) = exp(-a1 (x - xt)) + a2 + a3 (x - xt) + a4 (x - xt)^2    x: Sun-Earth-probe angle in degrees, m in [0, 1]
    m = 1 below xt (saturated: Rayleigh),  m = 0 beyond 5 degrees, where the fit ends and m < 0.1
    K = s / (1 - s),  s = sqrt(1 - m^2)                            Rician factor of the power gain, whose mean is 1
    tau = sqrt(lambda r) / v                                       the Fresnel pattern drifts across the path

Sources: IPN Progress Report 42-153E, eq. 7 (m; its coefficients below); the standard Rice relation of m and K; tau
from a Fresnel scale at r = 1 au and a slow solar wind of v = 400 km/s (Coles 1978).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .codes import CURVE_STEP_DB, any_lost, code
from .geometry import LIGHT_M_S

END_DEG = 5.0
"""Where the published fits end."""
FITS = {"x": (1.1, (1.14, 0.0, 0.02, 0.0)), "ka": (0.6, (1.50, -0.231, 0.176, -0.030))}
"""Band → (xt in degrees, a1 to a4). K band (26 GHz) is the Moon's, far from the Sun's corona."""
AU_M = 149_597_870_700.0
WIND_M_S = 4e5
INDEX_STEPS = 20
"""Steps of m in the table of :func:`faded`: 0.05 each."""


def scintillation_index(sun_earth_probe_deg: ArrayLike, band: str) -> NDArray[np.float64]:
    """The index m at each Sun-Earth-probe angle (degrees); 0 in a band without a fit."""
    angle = np.asarray(sun_earth_probe_deg, dtype=np.float64)
    if band not in FITS:
        return np.zeros_like(angle)
    start, (a1, a2, a3, a4) = FITS[band]
    beyond = np.maximum(angle - start, 0)
    index = np.exp(-a1 * beyond) + a2 + a3 * beyond + a4 * beyond**2
    return np.where(angle > END_DEG, 0.0, np.where(angle < start, 1.0, np.clip(index, 0, 1)))


def rician_k(index: ArrayLike) -> NDArray[np.float64]:
    """The Rician factor that gives this index; infinite for 0."""
    steady = np.sqrt(1 - np.asarray(index, dtype=np.float64) ** 2)
    with np.errstate(divide="ignore"):
        return np.asarray(steady / (1 - steady))


def coherence_s(frequency_hz: float) -> float:
    """How long a fade holds, seconds: 0.18 s in X band."""
    return float(np.sqrt(LIGHT_M_S / frequency_hz * AU_M) / WIND_M_S)


def faded(
    name: str, ebn0_db: NDArray[np.float64], index: NDArray[np.float64], frames: int = 1
) -> NDArray[np.float64]:
    """Probability that one of so many frames of a code fails, averaged over the gain that they share, by Eb/N0 (mean,
    dB) and index. Both arrays have one shape."""
    from scipy.ndimage import map_coordinates

    first_db, table = _table(name, frames)
    at = (index * INDEX_STEPS, (ebn0_db - first_db) / _GRID_DB)
    return np.asarray(10 ** map_coordinates(table, at, order=1, mode="nearest"), dtype=np.float64)


_LEAST = 1e-300
"""An error rate whose logarithm still exists."""
_GRID_DB = 5 * CURVE_STEP_DB
_DEEP_DB, _HIGH_DB = -50.0, 12.0
"""Gains outside have a probability below 1e-5 even under Rayleigh fading; it is added to the outermost bin."""


@cache
def _table(name: str, frames: int) -> tuple[float, NDArray[np.float64]]:
    """First Eb/N0 in dB, and log10 of the averaged rate by (index step, Eb/N0 step)."""
    from scipy.special import chndtr

    curve_db, _ = code(name).curve()
    low, high = curve_db[0] - _HIGH_DB, curve_db[-1] - _DEEP_DB
    means = np.arange(low, high, _GRID_DB)
    edges = np.arange(_DEEP_DB, _HIGH_DB + _GRID_DB, _GRID_DB)
    middles = (edges[1:] + edges[:-1]) / 2
    powers = 10 ** (edges / 10)
    instant_db = means[0] + middles[0] + _GRID_DB * np.arange(len(means) + len(middles) - 1)
    rates = any_lost(frames, code(name).frame_error_rate(instant_db))
    table = [any_lost(frames, code(name).frame_error_rate(means))]
    for index in np.linspace(0, 1, INDEX_STEPS + 1)[1:]:
        factor = float(rician_k(index))
        # power gain of mean 1: chi-squared with 2 degrees of freedom, noncentral by 2K, over 2 (1 + K)
        below = chndtr(2 * (1 + factor) * powers, 2, 2 * factor)
        below[0], below[-1] = 0, 1
        table.append(np.correlate(rates, np.diff(below), "valid"))
    return float(means[0]), np.log10(np.maximum(table, _LEAST))
