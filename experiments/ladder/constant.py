"""Senders that know nothing of the channel: the same choice in every slot, the engine's own rule, random choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dstcc.coded.seen import KEEP_PLACE, RepairDecision

if TYPE_CHECKING:
    from dstcc.coded.seen import Mission, Seen

CHOICES = (0.0, 0.01, 0.02, 0.04, 0.07, 0.1, 0.14, 0.2, 0.3)
"""Shares that constants are searched over and random choice draws from."""


class Constant:
    """The same choice in every slot."""

    def __init__(
        self, repair: tuple[float, ...], place: int = KEEP_PLACE, left_out: tuple[int, ...] = ()
    ) -> None:
        self.repair, self.place, self.left_out = repair, place, left_out
        where = {KEEP_PLACE: "", 0: " same", 1: " other", 2: " spread"}[place]
        out = f" without {','.join(map(str, left_out))}" if left_out else ""
        self.name = "/".join(f"{share:g}" for share in repair) + where + out

    def begin(self, mission: Mission) -> None:
        """Choose once."""
        self._decision = RepairDecision(
            np.tile(np.asarray(self.repair), (mission.trials, 1)), self.place, self.left_out
        )

    def decide(self, seen: Seen) -> RepairDecision:
        """The same."""
        return self._decision


class Automatic:
    """The transport's own rule: nothing is decided here."""

    name = "auto"

    def begin(self, mission: Mission) -> None:
        """The scenario's coding must be automatic."""

    def decide(self, seen: Seen) -> None:
        """Nothing."""


class Random:
    """Each layer's share anew in each slot."""

    name = "random"

    def __init__(self, seed: int = 1) -> None:
        self._seed = seed

    def begin(self, mission: Mission) -> None:
        """The same draws for each run."""
        self._rng = np.random.default_rng(self._seed)
        self._shape = (mission.trials, len(mission.layers))

    def decide(self, seen: Seen) -> RepairDecision:
        """Draw."""
        return RepairDecision(self._rng.choice(np.array(CHOICES), size=self._shape))
