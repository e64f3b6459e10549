"""The two baselines that plan: on the channel's loss model with its true state, and on a filter's belief."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dstcc.arrays import Float64Array
from dstcc.coded.belief import Filter
from dstcc.coded.channels import Law
from dstcc.coded.planner import Planner
from dstcc.coded.seen import Mission, RepairDecision, Seen


class PlannerOnLaw:
    """Knows each link's loss model, and its true state when the packets of the last feedback were sent. Of a loss by a
    table the loss model is the table, so that there it knows the future."""

    name = "planner-law"

    def __init__(self, laws: Sequence[Sequence[Law]]) -> None:
        """``laws`` by trial and subflow."""
        self._laws = laws

    @property
    def clairvoyant(self) -> bool:
        """Whether it knows a change of some link's loss before it comes, as no sender can."""
        return any(law.foretells for laws in self._laws for law in laws)

    def begin(self, mission: Mission) -> None:
        """There is no feedback yet."""
        self._planner = Planner(mission)
        self._known = np.full((mission.trials, mission.subflows), np.nan)

    def expect(self, seen: Seen) -> Float64Array:
        """(K, subflows, steps, points)."""
        self._known = np.where(np.isnan(seen.sent_s), self._known, seen.sent_s)
        times = self._planner.times(seen.time_s)
        return np.array(
            [
                [
                    law.expect(None if np.isnan(at) else float(at), times[k])
                    for law, at in zip(laws, known, strict=True)
                ]
                for k, (laws, known) in enumerate(zip(self._laws, self._known, strict=True))
            ]
        )

    def decide(self, seen: Seen) -> RepairDecision:
        """Plan on what the loss model makes of the last known state."""
        return self._planner.plan(seen, self.expect(seen))


class PlannerOnBelief:
    """Knows what a sender sees, and no loss model."""

    name = "planner-belief"

    def begin(self, mission: Mission) -> None:
        """There is no feedback yet."""
        self._planner = Planner(mission)
        self._filter = Filter(mission.trials, mission.subflows, 2 * mission.light_s)

    def expect(self, seen: Seen) -> Float64Array:
        """(K, subflows, steps, points)."""
        self._filter.hear(seen.heard, seen.lost, seen.sent_s)
        return self._filter.expect(self._planner.times(seen.time_s))

    def decide(self, seen: Seen) -> RepairDecision:
        """Plan on the filter's belief."""
        return self._planner.plan(seen, self.expect(seen))
