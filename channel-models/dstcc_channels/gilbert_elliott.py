"""Gilbert-Elliott: losses in bursts by a two-state chain over service slots.

::

    good --p--> bad,  bad --r--> good          once per slot
    share bad  q = p / (p + r)     mean burst  1 / r slots     loss  (1 - q) good + q bad
    hence      p = r q / (1 - q)   from the share and the mean burst length

Sources: Gilbert 1960, Elliott 1963 (Bell System Technical Journal).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dstcc.errors import InputError

from .chance import generator

ROUNDING = 1e-9
"""Tolerance for a mean burst that is as short as its share allows: 0.9 / (1 - 0.9) is a little more than 9."""


@dataclass(frozen=True)
class GilbertElliott:
    """The chain's parameters, as a scenario's ``gilbert_elliott`` table takes them."""

    p: float
    r: float
    good: float = 0.0
    bad: float = 1.0

    def __post_init__(self) -> None:
        for key in ("p", "r", "good", "bad"):
            value = getattr(self, key)
            if not 0 <= value <= 1:
                raise InputError(f"gilbert_elliott.{key} = {value:g}: must be between 0 and 1")
        if self.p + self.r == 0:
            raise InputError("gilbert_elliott.p = 0 and r = 0: a chain that never moves has no shares")

    @classmethod
    def from_bursts(
        cls, share_bad: float, mean_burst_slots: float, good: float = 0.0, bad: float = 1.0
    ) -> GilbertElliott:
        """The chain with this share of bad slots and this mean length of a bad run.

        Raises :class:`InputError` where no chain has both.
        """
        if not 0 <= share_bad < 1:
            raise InputError(f"share_bad = {share_bad:g}: must be at least 0 and below 1")
        odds = share_bad / (1 - share_bad)
        if mean_burst_slots < max(1.0, odds - ROUNDING):
            raise InputError(
                f"mean_burst_slots = {mean_burst_slots:g}: at least 1, and at least share_bad / (1 - share_bad) "
                f"= {odds:g}"
            )
        r = 1 / mean_burst_slots
        return cls(min(1.0, r * odds), r, good, bad)

    @property
    def share_bad(self) -> float:
        """Share of slots in the bad state."""
        return self.p / (self.p + self.r)

    @property
    def mean_burst_slots(self) -> float:
        """Mean length of a bad run, in slots."""
        return 1 / self.r if self.r else np.inf

    @property
    def loss(self) -> float:
        """Share of packets lost in the long run."""
        return self.good + self.share_bad * (self.bad - self.good)

    def bad_slots(self, slots: int, seed: int) -> NDArray[np.bool_]:
        """Which of so many slots are bad; the chain starts in its stationary distribution; seeded.

        Run lengths are geometric, so they are drawn directly, good and bad runs alternately.
        """
        draws = generator("gilbert-elliott", seed)
        begin_bad = bool(draws.random() < self.share_bad)
        if self.p == 0 or self.r == 0 or slots == 0:
            return np.full(slots, begin_bad)
        lengths: list[NDArray[np.int64]] = []
        drawn = 0
        while drawn < slots:
            pairs = int((slots - drawn) / (1 / self.p + self.mean_burst_slots) * 1.1) + 16
            runs = np.stack((draws.geometric(self.p, pairs), draws.geometric(self.r, pairs)), axis=1)
            lengths.append((runs[:, ::-1] if begin_bad else runs).ravel())
            drawn += int(lengths[-1].sum())
        run_lengths = np.concatenate(lengths)
        states = np.resize([begin_bad, not begin_bad], len(run_lengths))
        return np.repeat(states, run_lengths)[:slots]
