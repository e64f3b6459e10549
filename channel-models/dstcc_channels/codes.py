"""The codes: frame error rate over Eb/N0, and what a packet of whole frames then loses.

::

    uncoded    Pb  = 1/2 erfc(sqrt(Eb/N0))                    exact (BPSK, QPSK); a "frame" is one bit
    a table    log10 FER = monotone cubic through the rows    tables/fer.csv, each row with its source
    a frame    FER = 1 - (1 - CER)^I                          of I interleaved codewords, whose rate the table has
    packet     p = 1 - E[(1 - FER)^n]                         n of its k-bit frames, see spans.py; they fall whole

Outside its rows a table is clamped to its first or last row, and :meth:`Code.outside` says so in words. Planned links
usually run a few decibels above the last row. A warning comes only :data:`FAR_DB` above it, where the table no longer
describes the link. The last row of every table is its floor: no code is credited with fewer errors than were measured.

A transfer frame under Reed-Solomon code fills a codeblock of I codewords (CCSDS 131.0-B, section 4), and is rejected
with any of them. That they fail independently is the worst of it: bursts of the Viterbi decoder, which interleaving
spreads over a codeblock, make them fail together.

Sources: CCSDS 131.0-B (the codes), CCSDS 130.1-G-3 and our own bit-true simulations (the rows); the cubic is that of
Fritsch and Carlson (SIAM J. Numer. Anal. 17, 1980), which never leaves the interval between two rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dstcc.errors import InputError

from .data import nearest, rows
from .spans import lost, spans

UNCODED = "uncoded"
CODE_NAMES: tuple[str, ...] = (UNCODED, *(row["code"] for row in rows("codes.csv")))
UNCODED_RANGE_DB = (-30.0, 14.0)
"""Where :meth:`Code.curve` samples the exact formula: from a coin's toss to one error in 1e12 bits."""
CURVE_STEP_DB = 0.01
"""Step of :meth:`Code.curve`: a tenth of the smallest row distance of the steepest table."""

FAR_DB = 10.0
"""Distance above a table's last row: a link with that much margin would be run at ten times the rate."""
ROUNDING = 1e-9
"""Relative tolerance for a rate that equals a table's first or last one."""


@dataclass(frozen=True)
class Code:
    """A code and its frame error rate over Eb/N0 per information bit."""

    name: str
    frame_bits: int
    """Information bits of a frame, which is lost or kept as a whole; 1 for ``uncoded``: bits err independently."""
    rate: float
    """Information bits per channel bit."""
    ebn0_db: NDArray[np.float64]
    """The table's Eb/N0, ascending; empty for ``uncoded``."""
    table_fer: NDArray[np.float64]
    """Frame error rates at the table's rows, falling."""
    refs: tuple[str, ...]
    """The source of each row."""

    @property
    def range_db(self) -> tuple[float, float]:
        """The Eb/N0 that the model covers, dB; unbounded where it is exact."""
        if self.name == UNCODED:
            return -np.inf, np.inf
        return float(self.ebn0_db[0]), float(self.ebn0_db[-1])

    @property
    def floor(self) -> float:
        """The frame error rate below which the model never goes."""
        return 0.0 if self.name == UNCODED else float(self.table_fer[-1])

    def frame_error_rate(self, ebn0_db: ArrayLike) -> NDArray[np.float64]:
        """Frame error rate at each Eb/N0 (dB, any shape); clamped outside :attr:`range_db`, see :meth:`outside`."""
        from scipy.special import erfc

        at = np.asarray(ebn0_db, dtype=np.float64)
        if self.name == UNCODED:
            return np.asarray(0.5 * erfc(10 ** (at / 20)), dtype=np.float64)
        inside = np.clip(at, *self.range_db)
        return np.asarray(10 ** _interpolant(self.name)(inside), dtype=np.float64)

    def packet_loss(self, ebn0_db: ArrayLike, packet_bytes: int) -> NDArray[np.float64]:
        """Share of packets of ``packet_bytes`` that lose at least one of their frames; shape of ``ebn0_db``."""
        fer = self.frame_error_rate(ebn0_db)
        return lost(spans(packet_bytes, self.frame_bits), lambda frames: any_lost(frames, fer))

    def frames(self, packet_bytes: int) -> float:
        """Frames that a packet is in on average. Raises :class:`InputError` for a size that no packet has."""
        return sum(share * sum(way) for way, share in spans(packet_bytes, self.frame_bits))

    def outside(self, ebn0_db: ArrayLike, spare_db: float = 0.0) -> str | None:
        """A warning that names the Eb/N0 (dB) outside the table and the row used for them; ``None`` if none is outside.

        Values up to ``spare_db`` above the last row are not reported.
        """
        at = np.asarray(ebn0_db, dtype=np.float64)
        low, high = self.range_db
        table = f"the table of {self.name} ({low:g} to {high:g} dB): clamped to its"
        warnings = []
        if np.any(at < low):
            warnings.append(
                f"Eb/N0 {_limit_text('down to', at)}{at.min():.2f} dB is below {table} "
                f"first row, frame error rate {self.table_fer[0]:.3g}"
            )
        if np.any(at > high + spare_db):
            warnings.append(
                f"Eb/N0 {_limit_text('up to', at)}{at.max():.2f} dB is above {table} "
                f"last row, frame error rate {self.floor:.3g}"
            )
        return "; ".join(warnings) or None

    @property
    def rates(self) -> tuple[float, float]:
        """The greatest and the least frame error rate that the model covers."""
        if self.name == UNCODED:
            greatest, least = (0.5 * math.erfc(10 ** (edge / 20)) for edge in UNCODED_RANGE_DB)
            return greatest, least
        return float(self.table_fer[0]), self.floor

    def required_ebn0_db(self, frame_error_rate: float) -> float:
        """The least Eb/N0 (dB) at which frames fail no more often than that; the inverse of the model.

        Raises :class:`InputError` outside the rates that the model covers.
        """
        from scipy.optimize import brentq

        low, high = UNCODED_RANGE_DB if self.name == UNCODED else self.range_db
        if unknown := self.unknown_rate(frame_error_rate):
            raise InputError(unknown)
        least, most = (float(self.frame_error_rate(edge)) for edge in (high, low))
        target = np.log10(np.clip(frame_error_rate, least, most))
        return float(brentq(lambda db: np.log10(self.frame_error_rate(db)) - target, low, high))

    def unknown_rate(self, frame_error_rate: float) -> str | None:
        """An error message if the model does not reach a frame error rate; ``None`` if it does."""
        most, least = self.rates
        if least * (1 - ROUNDING) <= frame_error_rate <= most * (1 + ROUNDING):
            return None
        return f"frame_error_rate = {frame_error_rate:g}: {self.name} is known from {most:.3g} down to {least:.3g}"

    def curve(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The model on a uniform grid of ``CURVE_STEP_DB``: Eb/N0 in dB, and log10 of the frame error rate."""
        low, high = UNCODED_RANGE_DB if self.name == UNCODED else self.range_db
        steps = np.arange(round((high - low) / CURVE_STEP_DB) + 1, dtype=np.float64)
        grid: NDArray[np.float64] = low + CURVE_STEP_DB * steps
        return grid, np.asarray(np.log10(self.frame_error_rate(grid)), dtype=np.float64)


def _limit_text(words: str, at: NDArray[np.float64]) -> str:
    return f"{words} " if at.size > 1 else ""


def any_lost(frames: float, frame_error_rate: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probability that at least one of so many frames is lost, independently of each other; any shape."""
    with np.errstate(divide="ignore"):  # log1p(-1) is -inf, and one of them is lost
        return np.asarray(-np.expm1(frames * np.log1p(-frame_error_rate)))


@cache
def code(name: str) -> Code:
    """Look a code up by its name, one of :data:`CODE_NAMES`. Raises :class:`InputError` with the nearest."""
    if name == UNCODED:
        return Code(UNCODED, 1, 1.0, np.empty(0), np.empty(0), ())
    known = {row["code"]: row for row in rows("codes.csv")}
    if name not in known:
        raise InputError(f"code = {name!r}: not known; {nearest(name, CODE_NAMES)}")
    points = sorted(
        (float(row["ebn0_db"]), float(row["frame_error_rate"]), row["ref"])
        for row in rows("fer.csv")
        if row["code"] == name
    )
    information, channel = int(known[name]["information_bits"]), int(known[name]["channel_bits"])
    ebn0_db, of_codewords, refs = zip(*points, strict=True)
    fer = of_frames(name, np.array(of_codewords))
    return Code(name, information, information / channel, np.array(ebn0_db), fer, refs)


def of_frames(name: str, of_codewords: NDArray[np.float64]) -> NDArray[np.float64]:
    """A code's frame error rates from those of its codewords, of which a frame has one or several."""
    (codewords,) = (int(row["codewords"]) for row in rows("codes.csv") if row["code"] == name)
    return of_codewords if codewords == 1 else any_lost(codewords, of_codewords)


@cache
def _interpolant(name: str) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """log10 of the frame error rate as a function of Eb/N0 in dB, within the table."""
    from scipy.interpolate import PchipInterpolator

    known = code(name)
    cubic: Callable[[NDArray[np.float64]], NDArray[np.float64]] = PchipInterpolator(
        known.ebn0_db, np.log10(known.table_fer)
    )
    return cubic
