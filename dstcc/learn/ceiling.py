"""How fast a path may be used at most, by what was acknowledged and what was lost: the bound of a measured rate.

A queue at the sender tells within a slot what a path carries, but only where it is deep enough to hold what is too
much: a shallow one drops it, looks as if it stood or ran dry, and says nothing. So whatever the queue shows,

    r <= 1.25 D / (1 - u)      D: the most bytes a second acknowledged in a quarter of a round trip, of the last 8 to
                               16 round trips of use (as the law remembers a bandwidth-delay product, dstcc_law.h)

and losses are asked whether they are the sender's own, by an experiment. With L the share lost of what came to be
known, u the usual share, and D' what was acknowledged a second meanwhile:

    free      all is well while L <= u + 5 %
    echo      L > u + 5 %, for two round trips where no more was sent than 1.1 D: pace <= 0.98 D' / (1 - u); for a
              round trip and a quarter what comes in was sent before
    judged    where L has then fallen by half or more of what was unusual, it was ours; where it has risen by 5 %, the
              echo again; else u <- L, free
    asked     L > 1 % and none is usual, every 4 round trips, then every 8, .. 64: the same for half a round trip
    held      for a round trip, then for 2, .. 64 after probes that lost; less than before where L > u + 1 %
    probed    5 % more for half a round trip; 10, 20, 25 % from the second on that loses nothing
    awaited   what became of that: free where a queue at the sender stood, as it then holds what is too much

D is BBR's bound, and probes grow rare as its do (Cardwell et al., draft-ietf-ccwg-bbr); the experiment is that of PCC
(Dong et al., NSDI 2015), once per suspicion instead of all the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from math import inf, sqrt

MOST = 1.25
"""Of the acknowledged rate, that a path may be asked for."""
GRAVE, SLIGHT, LEFT = 0.05, 0.01, 0.01
"""Shares lost beyond the usual: at once suspect, suspect after a while, too much while held."""
MARGIN = 0.98
"""Of the acknowledged rate, that a path is held to."""
PROVEN = 1.1
"""Times the acknowledged rate, beyond which what is sent was never seen to come through."""
ENOUGH = 100.0
"""Segments whose fate must be known before their share says something; after a round trip half of that."""
HOLD, PATIENCE, ROUNDS_MOST = 1.0, 4.0, 64.0
"""Round trips that a path is held, and left alone when it is free, at first; both at last."""
SKIPPED = 1.0
"""Slots after the first acknowledgement that are not whole: what came in then was sent in part of a slot."""
STEP, STEP_MOST = 0.05, 0.25
"""By how much a probe is faster."""
PROBE = 0.5
"""Round trips that it lasts."""
LAG = 1.25
"""Round trips until nothing comes in that was sent before: one, and a quarter for losses to be found."""
WINDOW = 0.25
"""Round trips that a rate is taken over."""
SOON = 0.125
"""The same for a share that is more than slight."""
EPOCH = 8.0
"""Round trips of use after which the older half of the memory of D goes."""
STOOD = 0.97
"""Of a probe's pace: where the sender's queue shows less than that, the queue holds what is too much."""


class State(Enum):
    """Where an experiment stands."""

    FREE = auto()
    ASKED = auto()
    ECHO = auto()
    JUDGED = auto()
    HELD = auto()
    PROBED = auto()
    AWAITED = auto()


@dataclass(frozen=True)
class Heard:
    """Of one path, in one slot."""

    slot_s: float
    srtt_s: float
    """0 before the handshake."""
    up: bool
    used: bool
    """Whether the pace was used."""
    delivered: float
    """Bytes on the wire, acknowledged in the slot."""
    lost: float
    """Segments that were found lost."""
    rate: float
    """Bytes on the wire per second that the sender's queue shows."""


@dataclass
class Count:
    """What came to be known since some time."""

    segments: float = 0.0
    lost: float = 0.0
    delivered: float = 0.0
    time_s: float = 0.0

    def add(self, more: Count) -> None:
        """Count on."""
        self.segments += more.segments
        self.lost += more.lost
        self.delivered += more.delivered
        self.time_s += more.time_s

    @property
    def share(self) -> float:
        """Lost, of what is known."""
        return self.lost / max(self.segments, 1.0)

    def beyond(self, share: float, deviations: float = 2.0) -> bool:
        """Whether more than that is lost, by so many standard deviations of a count."""
        most = share * self.segments
        return self.lost > most + deviations * sqrt(most + 1)


class Ceiling:
    """The bound of one path's rate; :meth:`hear` once a slot."""

    def __init__(self, wire: float) -> None:
        self.limit = inf
        """Bytes on the wire per second that the path is held to, its pace included."""
        self.usual = 0.0
        """The share of segments that is lost whatever the sender does."""
        self.state = State.FREE
        self._wire = wire
        self._clock_s = self._up_s = self._used_s = 0.0
        self._settled = inf
        self._count, self._held, self._window = Count(), Count(), Count()
        self._peaks = [0.0, 0.0]
        self._suspected = self._good = self._known = 0.0
        self._strikes = 0
        self._rounds, self._patience = HOLD, PATIENCE
        self._step = STEP
        self._stood, self._passed = False, True

    @property
    def acknowledged(self) -> float:
        """D, in bytes on the wire per second; 0 while too little was acknowledged."""
        return max(self._peaks)

    @property
    def bound(self) -> float:
        """The most that a rate may be; infinite while nothing was acknowledged."""
        return min(self.limit, MOST * self.acknowledged / (1 - min(self.usual, 0.9)) or inf)

    def hear(self, heard: Heard) -> None:
        """Take in a slot."""
        round_s = max(heard.srtt_s, heard.slot_s)
        if not heard.up or heard.srtt_s <= 0:
            self._up_s = 0.0
            self._settled = LAG if self._settled < inf else inf
            return
        self._up_s += heard.slot_s
        self._clock_s += heard.slot_s
        if self._settled == inf and heard.delivered:
            self._settled = (self._up_s + SKIPPED * heard.slot_s) / round_s
        self._remember(heard, round_s)
        if self._up_s > self._settled * round_s and self._counts(round_s):
            count = self._count
            count.segments += heard.lost + heard.delivered / self._wire
            count.lost += heard.lost
            count.delivered += heard.delivered
            count.time_s += heard.slot_s
        {
            State.FREE: self._free,
            State.ASKED: self._ask,
            State.ECHO: self._echo,
            State.JUDGED: self._judge,
            State.HELD: self._hold,
            State.PROBED: self._probe,
            State.AWAITED: self._await,
        }[self.state](round_s, heard.rate)

    def _remember(self, heard: Heard, round_s: float) -> None:
        """Renew D."""
        window = self._window
        if self._up_s > self._settled * round_s:
            window.delivered += heard.delivered
            window.time_s += heard.slot_s
        if window.time_s >= WINDOW * round_s:
            self._known = self.acknowledged
            self._peaks[0] = max(self._peaks[0], window.delivered / window.time_s)
            self._window = Count()
        if heard.used and heard.delivered:
            self._used_s += heard.slot_s
        if self._used_s > EPOCH * round_s:
            self._used_s, self._peaks = 0.0, [0.0, self._peaks[0]]

    def _counts(self, round_s: float) -> bool:
        """Whether what comes in now is to be judged."""
        if self.state is State.AWAITED:
            return self._clock_s >= round_s
        if self.state is State.ASKED:
            return self._clock_s > LAG * round_s
        return self.state not in (State.ECHO, State.PROBED)

    def _whole(self, round_s: float) -> bool:
        return self._count.time_s >= round_s and self._count.segments >= ENOUGH / 2

    def _soon(self, round_s: float) -> bool:
        return self._count.time_s >= SOON * round_s and self._count.segments >= ENOUGH

    def _enter(self, state: State) -> None:
        if (self.state, state) != (State.PROBED, State.AWAITED):
            self._clock_s = 0.0
        self.state, self._count, self._held, self._strikes = state, Count(), Count(), 0

    def _free(self, round_s: float, _rate: float) -> None:
        count, whole = self._count, self._whole(round_s)
        grave = self._grave(round_s)
        asked = self.usual < SLIGHT and self._clock_s >= self._patience * round_s
        if grave:
            self._lower(count)
            self._enter(State.ECHO)
        elif asked and whole and count.beyond(self.usual + SLIGHT):
            self._lower(count)
            self._enter(State.ASKED)
        elif whole:
            self._count = Count()

    def _grave(self, round_s: float) -> bool:
        """Whether losses call for a trial: at once where more was sent than ever came through, else after a while."""
        count, whole = self._count, self._whole(round_s)
        if not (whole or self._soon(round_s)) or not count.beyond(self.usual + GRAVE):
            self._strikes = 0 if whole else self._strikes
            return False
        sent = count.segments * self._wire / count.time_s
        if sent > PROVEN * self._known:
            return True
        self._strikes += whole
        return self._strikes > 1

    def _lower(self, count: Count) -> None:
        """Hold the path to what came through."""
        self._suspected = count.share
        self.limit = MARGIN * count.delivered / count.time_s / (1 - min(self.usual, 0.9))

    def _echo(self, round_s: float, _rate: float) -> None:
        if self._clock_s >= LAG * round_s:
            self._enter(State.JUDGED)

    def _ask(self, round_s: float, _rate: float) -> None:
        if self._clock_s >= PROBE * round_s and self.limit < inf:
            self._good, self.limit = self.limit, inf
        if self._clock_s < (1.0 + PROBE) * round_s:
            return
        if self._count.beyond(self._suspected + GRAVE):  # they come and go by themselves
            self._patience = min(2 * self._patience, ROUNDS_MOST)
            self._enter(State.FREE)
            return
        self._settle()
        if self.state is State.HELD:
            self.limit = self._good

    def _judge(self, round_s: float, _rate: float) -> None:
        worse = self._count.beyond(self._suspected + GRAVE)
        clear = worse or self._suspected > self.usual + 2 * GRAVE
        if not self._whole(round_s) and not (clear and self._soon(round_s)):
            return
        if worse:  # something else has changed
            self._lower(self._count)
            self._enter(State.ECHO)
        else:
            self._settle()

    def _settle(self) -> None:
        """Whose the losses are."""
        ours = self._count.share <= (self._suspected + self.usual) / 2
        self.usual = self._count.share
        if ours:
            self._enter(State.HELD)
        else:
            self.limit = inf
            self._patience = min(2 * self._patience, ROUNDS_MOST)
            self._enter(State.FREE)

    def _hold(self, round_s: float, _rate: float) -> None:
        grave, whole = self._grave(round_s), self._whole(round_s)
        if whole:
            self._held.add(self._count)
        if grave or (whole and self._held.beyond(self.usual + LEFT)):
            self._lower(self._count if grave else self._held)
            self._enter(State.ECHO)
            return
        if whole:
            self._count = Count()
        if self._clock_s >= self._rounds * round_s:
            self._good = self.limit
            self.limit *= 1 + self._step
            self._enter(State.PROBED)

    def _probe(self, round_s: float, rate: float) -> None:
        if self._clock_s >= PROBE * round_s:
            self._stood = rate < STOOD * self.limit
            self.limit = self._good
            self._enter(State.AWAITED)

    def _await(self, round_s: float, _rate: float) -> None:
        if self._clock_s < (LAG + PROBE) * round_s:
            return
        if self._count.beyond(self.usual + SLIGHT / 2, deviations=1.0):
            self._lower(self._count)
            self.limit = min(max(self.limit, self._good / (1 + STEP)), self._good)
            self._rounds = min(max(2 * self._rounds, HOLD), ROUNDS_MOST)
            self._step, self._passed = STEP, False
        elif self._stood:
            self.limit, self._rounds = inf, HOLD
            self._enter(State.FREE)
            return
        else:
            self.limit = MARGIN * self._good * (1 + self._step)
            if self._passed:
                self._step, self._rounds = min(2 * self._step, STEP_MOST), 0.0
            self._passed = True
        self._enter(State.HELD)
