"""The budget of one direction: from radiated power to Eb/N0 and the rate it allows.

::

    Ls     = 20 log10(4 pi d f / c)
    C      = EIRP - Ls - A - pointing - polarisation + G                 dBW
    C/N0   = C - 10 log10(k T)                                          dB-Hz
    Eb/N0  = C/N0 - 10 log10 R - implementation                         R in information bits per second
    margin = Eb/N0 - threshold
    Rmax   = 10^((C/N0 - implementation - threshold - margin) / 10), at most the equipment's cap

Source: DESCANSO, Deep Space Telecommunications Systems Engineering, eqs 1.2-1 to 1.2-10. All of it broadcasts over
numpy arrays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .geometry import LIGHT_M_S

BOLTZMANN_DB = 10 * np.log10(1.380649e-23)
"""dBW per kelvin and hertz; exact by the SI."""


def space_loss_db(distance_m: ArrayLike, frequency_hz: float) -> NDArray[np.float64]:
    """Free-space loss in dB: 283.01 dB over 400 Gm at 8.439 GHz."""
    return np.asarray(20 * np.log10(4 * np.pi * frequency_hz / LIGHT_M_S * np.asarray(distance_m)))


@dataclass(frozen=True)
class Budget:
    """One direction's budget; every figure is an array over time, or a scalar."""

    eirp_dbw: NDArray[np.float64]
    space_loss_db: NDArray[np.float64]
    atmosphere_db: NDArray[np.float64]
    losses_db: float
    """Pointing and polarisation."""
    gain_dbi: NDArray[np.float64]
    """Of the receiving antenna."""
    noise_k: NDArray[np.float64]
    implementation_db: float

    @property
    def cn0_db(self) -> NDArray[np.float64]:
        """Carrier over noise density, dB-Hz, before implementation losses."""
        carrier = self.eirp_dbw - self.space_loss_db - self.atmosphere_db - self.losses_db + self.gain_dbi
        return np.asarray(carrier - BOLTZMANN_DB - 10 * np.log10(self.noise_k))

    def ebn0_db(self, rate_bps: ArrayLike) -> NDArray[np.float64]:
        """Eb/N0 at the decoder, dB, at an information rate."""
        return np.asarray(self.cn0_db - 10 * np.log10(rate_bps) - self.implementation_db)

    def highest_rate_bps(self, threshold_db: float, margin_db: float, cap_bps: float) -> NDArray[np.float64]:
        """The highest information rate that keeps the margin over the threshold, no more than the cap."""
        allowed = 10 ** ((self.cn0_db - self.implementation_db - threshold_db - margin_db) / 10)
        return np.minimum(allowed, cap_bps)
