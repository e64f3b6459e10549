"""The sender that plans on a forecaster's beliefs, with a guard that falls back to a tuned rule.

The guard holds what was foretold against what came: of n packets with feedback that were sent about a time, x were
lost, and the belief b held then of that time gives x the place

    u = sum over the grid of b_i P(Bin(n, p_i) <= x)

which is spread evenly where beliefs are right. A u within :data:`TAIL` of either end is a surprise. Their share over
the last round trips, of all feedback, is what the guard looks at: above :data:`FALLS_BACK` the tuned rule
decides, until it is below :data:`TRUSTS`. The rule looks on all the time, so it needs no time to begin.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from dstcc.coded.channels import GRID, POINTS
from dstcc.coded.planner import Planner
from dstcc.coded.seen import Mission, RepairDecision, Seen, Sender

from .inputs import span_rtts
from .outlook import SIZE, Outlook

if TYPE_CHECKING:
    from dstcc.arrays import Float64Array

    from .policy import ForecastPolicy

TAIL = 0.005
FALLS_BACK, TRUSTS = 0.35, 0.15
MEMORY_RTTS = 2.0
"""Of the share of surprises."""


class Forecasting:
    """A :class:`~dstcc.coded.seen.Sender`; it also tells what it believes, for those who look on."""

    def __init__(self, policy: ForecastPolicy, *, guarded: bool = True, rule: Sender | None = None) -> None:
        """``rule``: what the guard falls back to; the policy's own."""
        self.policy, self.name, self._guarded = policy, policy.name, guarded
        self._rule = policy.fallback() if rule is None else rule

    def begin(self, mission: Mission) -> None:
        """There is no feedback yet; :class:`~dstcc.errors.PolicyError` for a mission unlike those of the training."""
        self.policy.check_within(mission)
        self.start(mission)

    def start(self, mission: Mission) -> None:
        """As :meth:`begin`, in any mission."""
        self.plan_for(mission)
        self._rule.begin(mission)
        rows = mission.trials * mission.subflows
        self._rtt_s = 2 * mission.light_s.reshape(rows)
        self._outlook, self._state = Outlook(rows), self.policy.network.start(rows)
        self._known_s = np.full(rows, np.nan)
        self._foretold: deque[tuple[Float64Array, Float64Array]] = deque(maxlen=self._kept(mission))
        self._surprise, self._weight = np.zeros(rows), np.ones(rows)
        self.fallen = np.zeros(mission.trials, dtype=bool)
        """(K,): whether the tuned rule decides."""
        self.inputs = np.zeros((mission.trials, mission.subflows, SIZE))
        """(K, subflows, inputs): of the last event."""
        self.beliefs = np.full((mission.trials, mission.subflows, POINTS), 1 / POINTS)
        """(K, subflows, points): of the present, when it last decided."""

    def plan_for(self, mission: Mission) -> None:
        """Plan for these blocks and rates from now on."""
        self.mission, self._planner = mission, Planner(mission)

    @staticmethod
    def _kept(mission: Mission) -> int:
        """Slots between the sending of packets and the hearing of them, at most."""
        return int(2 * mission.light_s.max() / mission.slot_s * 1.5) + 4

    def hear(self, seen: Seen) -> None:
        """Take in a slot."""
        rows = len(self._rtt_s)
        heard, lost, runs = (values.reshape(rows) for values in (seen.heard, seen.lost, seen.runs))
        some = heard > 0
        span, self._known_s = span_rtts(some, seen.sent_s.reshape(rows), self._known_s, self._rtt_s)
        inputs = self._outlook.hear(heard, lost, runs, span)
        self.inputs = np.where(some[:, None], inputs, self.inputs.reshape(inputs.shape)).reshape(
            self.inputs.shape
        )
        self._state = np.where(some[:, None], self.policy.network.hear(inputs, self._state), self._state)

    def expect(self, seen: Seen) -> Float64Array:
        """(K, subflows, steps, points): beliefs for the planner's times, after a slot."""
        self.hear(seen)
        times = np.repeat(self._planner.times(seen.time_s), self.mission.subflows, axis=0)
        since = np.where(np.isnan(self._known_s), 0.0, self._known_s)
        ahead = np.clip((times - since[:, None]) / self._rtt_s[:, None], *self.policy.within["ahead_rtts"])
        beliefs = self.policy.network.expect(self._state, self._outlook.ahead(ahead))
        return beliefs.reshape(*seen.heard.shape, *beliefs.shape[1:])

    def decide(self, seen: Seen) -> RepairDecision:
        """Plan on the forecasts, or do as the rule does where these were wrong."""
        beliefs = self.expect(seen)
        return self.guarded(seen, beliefs, self._planner.plan(seen, beliefs))

    def guarded(self, seen: Seen, beliefs: Float64Array, decision: RepairDecision) -> RepairDecision:
        """What was planned on these beliefs, or what the rule decides where beliefs were wrong."""
        self.beliefs = beliefs[:, :, 0]
        self._watch(seen)
        self._foretold.append((seen.time_s.copy(), self.beliefs.reshape(-1, POINTS)))
        rule = self._rule.decide(seen)
        if not self._guarded or not self.fallen.any():
            return decision
        return RepairDecision(np.where(self.fallen[:, None], rule.repair, decision.repair))

    def _watch(self, seen: Seen) -> None:
        """Hold what was foretold against what came."""
        rows = len(self._rtt_s)
        heard, lost = seen.heard.reshape(rows), seen.lost.reshape(rows)
        if not (heard > 0).any() or not self._foretold:
            return
        times = np.repeat(np.stack([at for at, _ in self._foretold], axis=1), self.mission.subflows, axis=0)
        sent = np.where(heard > 0, np.nan_to_num(seen.sent_s.reshape(rows)), 0.0)
        nearest = np.abs(times - sent[:, None]).argmin(axis=1)
        held = np.stack([beliefs for _, beliefs in self._foretold], axis=1)[np.arange(rows), nearest]
        place, width = place_of(held, heard, lost)
        odd = (place + width < TAIL) | (place > 1 - TAIL)
        keep = np.exp(-self.mission.slot_s / (MEMORY_RTTS * self._rtt_s))
        self._surprise = np.where(heard > 0, keep * self._surprise + (1 - keep) * odd, self._surprise)
        share = self._surprise.reshape(seen.heard.shape).max(axis=1)
        self.fallen = np.where(self.fallen, share > TRUSTS, share > FALLS_BACK)


def place_of(
    belief: Float64Array, heard: Float64Array, lost: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """(K,): the probability of fewer losses, and that of just as many, under beliefs (K, points)."""
    from scipy.special import bdtr

    n, x = heard[:, None], np.minimum(lost, heard)[:, None]
    upto = bdtr(x, n.astype(np.int64), GRID)
    below = np.where(x > 0, bdtr(np.maximum(x - 1, 0), n.astype(np.int64), GRID), 0.0)
    fewer = (belief * below).sum(axis=1)
    return fewer, (belief * (upto - below)).sum(axis=1)
