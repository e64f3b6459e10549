"""How fast a path may be used at most, by what became of what was sent: the bound of its pace.

A queue at the sender tells within a slot what a path carries, but only where it is deep enough to hold what is too
much: a shallow one drops it, and a bottleneck further on shows in no queue. So losses are asked, a round trip later,
whether they are the sender's own. With L the share lost of what came to be known, u the usual share, and
D = (acknowledged a second) / (1 - u) what came through,

    sound     the path was sounded (:mod:`.sounding`): until a round trip after that nothing is judged. It is
              held to 0.98 of what came through in the fastest slot of its echo. Where that lost 5 % it is what the
              path carries, and trials begin at 5 %. A queue that showed the rate meanwhile leaves the path free
    cruise    all is well while L <= u + 5 %, in the second round trip at the latest, and every so often L <= u + 1 %;
              else a trial at 0.98 D. A path whose queue was never seen to hold what is too much gets no more than it
              has once some of it was heard. This and every path that is held has a trial at a faster pace each 1, 2, 4,
              .. 64 round trips, at first by 25 %, after one that lost by 5, 10, 20, 25 %
    trial     half a round trip at that pace
    echo      the slower of both paces until that half was heard of. A slower trial: where what was unusual of L has
              fallen by half or more, the losses were ours, and the path is held there; where L has risen by 5 %, again;
              else they were not ours, and u <- L. A faster one: where the sender's queue stood, which then holds what
              is too much, the path is free again; else it is held to 0.98 D, at least to what it had

An overload shows the capacity: D is what the path carries. That trials grow rare is as in BBR (Cardwell et al.,
draft-ietf-ccwg-bbr); to try a pace and compare is PCC's (Dong et al., NSDI 2015), here once per suspicion instead of
all the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from math import inf, sqrt

GRAVE, SLIGHT = 0.05, 0.01
"""Shares lost beyond the usual: suspect at once or in the second round trip; suspect after a while."""
MARGIN = 0.98
"""Of the rate that came through, that a path is held to, so that its queue drains."""
LEAST = 0.1
"""Of the pace, that is left at least, so that more is heard of a path that lost all."""
PROVEN = 1.1
"""Times the fastest pace that came through, up to which grave losses may be a burst: asked in the second round trip."""
ENOUGH = 50.0
"""Segments whose fate must be known before their share says something."""
PATIENCE, ROUNDS_MOST = 4.0, 64.0
"""Round trips that a path is left alone, at first and at most."""
STEP, LEAP = 0.05, 0.25
"""By how much a trial is faster, at least and at most: what a repair or two make up for; as BBR's probes are."""
TRIAL = 0.5
"""Round trips that it lasts."""
LAG = 1.25
"""Round trips until nothing comes in that was sent before: one, and a quarter for losses to be found."""
WINDOW = 0.25
"""Round trips until more than ever came through is found not to."""
STOOD = 0.97
"""Of a trial's pace: where the sender's queue shows less than that, the queue holds what is too much."""


class Phase(Enum):
    """Where an experiment stands."""

    SOUND = auto()
    CRUISE = auto()
    TRIAL = auto()
    ECHO = auto()


@dataclass
class Count:
    """What came to be known since some time."""

    segments: float = 0.0
    lost: float = 0.0
    time_s: float = 0.0

    def add(self, more: Count) -> None:
        """Count on."""
        self.segments += more.segments
        self.lost += more.lost
        self.time_s += more.time_s

    @property
    def share(self) -> float:
        """Lost, of what is known."""
        return self.lost / max(self.segments, 1.0)

    def beyond(self, share: float, deviations: float = 2.0) -> bool:
        """Whether more than that is lost, by so many standard deviations of a count."""
        most = share * self.segments
        return self.lost > most + deviations * sqrt(most + 1)

    def whole(self, round_s: float) -> bool:
        """Whether it says something of so long a time."""
        return self.time_s >= round_s and self.segments >= ENOUGH


@dataclass(frozen=True)
class Heard:
    """Of one path, in one slot."""

    slot_s: float
    srtt_s: float
    """0 before the handshake."""
    up: bool
    delivered: float
    """Bytes on the wire, acknowledged in the slot."""
    lost: float
    """Segments that were found lost."""
    most: float
    """Bytes on the wire per second that the path was allowed."""
    seen: bool
    """Whether a queue at the sender was seen to hold what is too much."""
    rate: float
    """Bytes on the wire per second that this queue shows."""
    sounded: bool
    """Whether it may have been asked for more than its share (:mod:`.sounding`)."""

    def count(self, wire: float) -> Count:
        """What came to be known, in packets of so many bytes."""
        return Count(self.lost + self.delivered / wire, self.lost, self.slot_s)


class Ceiling:
    """The bound of one path's pace; :meth:`hear` once a slot."""

    def __init__(self, wire: float) -> None:
        self.limit = inf
        """Bytes on the wire per second that the path is held to."""
        self.usual = 0.0
        """The share of segments that is lost whatever the sender does."""
        self.phase = Phase.CRUISE
        self._wire = wire
        self._clock_s = self._up_s = 0.0
        self._settled = inf  # round trips after the path came up from which on what comes in counts
        self._window, self._count = Count(), Count()
        self._proven = self._suspected = self._fastest = 0.0
        self._before, self._trial = inf, 0.0
        self._strikes = 0
        self._patience, self._step = PATIENCE, LEAP
        self._stood = False

    def hear(self, heard: Heard) -> None:
        """Take in a slot."""
        round_s = max(heard.srtt_s, heard.slot_s)
        if not heard.up or heard.srtt_s <= 0:
            self._up_s = 0.0
            self._settled = LAG if self._settled < inf else inf
            if self.phase is Phase.SOUND:  # its echo was lost
                self._enter(Phase.CRUISE)
            return
        self._up_s += heard.slot_s
        self._clock_s += heard.slot_s
        if heard.sounded:
            self.phase, self._settled = Phase.SOUND, (self._up_s + heard.slot_s) / round_s + 1
        elif self._settled == inf and heard.delivered:  # what comes in first was sent in part of a slot
            self._settled = (self._up_s + heard.slot_s) / round_s
        if self.phase is Phase.SOUND:
            self._sound(heard, round_s)
            return
        if self._up_s > self._settled * round_s:
            known = heard.count(self._wire)
            self._window.add(known)
            if self.phase is Phase.CRUISE or self._clock_s > self._lag * round_s:
                self._count.add(known)
        window = self._window
        if window.whole(WINDOW * round_s):
            self._window = Count()
        if self.phase is Phase.CRUISE and window is not self._window and self._overrun(window, heard):
            self._slower(window)
        elif self.phase is Phase.CRUISE:
            self._cruise(round_s)
        elif self.phase is Phase.TRIAL and self._clock_s >= TRIAL * round_s:
            self.phase, self._stood = Phase.ECHO, heard.rate < STOOD * self.limit
            self.limit = min(self.limit, self._before)
        elif self._clock_s >= (self._lag + TRIAL) * round_s and self._count.segments >= ENOUGH:
            (self._judge_faster if self._faster else self._judge_slower)()

    @property
    def _faster(self) -> bool:
        return self._trial > self._before

    @property
    def _lag(self) -> float:
        """Round trips until a trial is heard of; nothing but it, where losses from before would count against it."""
        return 1.0 if self._faster else LAG

    def _overrun(self, window: Count, heard: Heard) -> bool:
        """Whether more was sent than ever came through, and does not; renews what did."""
        sent = window.segments * self._wire / window.time_s
        if window.beyond(self.usual + GRAVE):
            return sent > PROVEN * self._proven
        self._proven = max(self._proven, sent)
        if self.limit == inf and not heard.seen:
            self.limit, self._patience, self._clock_s = heard.most, 1.0, 0.0
        return False

    def _sound(self, heard: Heard, round_s: float) -> None:
        """Hear a sounding out: what came through in the fastest slot."""
        self._count.add(heard.count(self._wire))
        self._fastest = max(self._fastest, heard.delivered / heard.slot_s)
        if self._up_s <= self._settled * round_s:
            return
        if not heard.seen:
            self.limit, self._proven, self._patience = MARGIN * self._fastest, self._fastest, 1.0
            self._step = STEP if self._count.beyond(self.usual + GRAVE) else LEAP
            self._settled = self._up_s / round_s + LAG
        self._enter(Phase.CRUISE)

    def _cruise(self, round_s: float) -> None:
        count = self._count
        if not count.whole(round_s):
            return
        self._strikes = self._strikes + 1 if count.beyond(self.usual + GRAVE) else 0
        if self._strikes > 1:
            self._slower(count)
        elif self._strikes or self._clock_s < self._patience * round_s:
            self._count = Count()
        elif count.beyond(self.usual + SLIGHT):
            self._slower(count)
        elif self.limit < inf:
            self._try(self.limit * (1 + self._step))
        else:
            self._enter(Phase.CRUISE)

    def _slower(self, count: Count) -> None:
        """See what becomes of losses at the pace that came through."""
        self._suspected = count.share
        self._try(min(self._through(count), self.limit))

    def _through(self, count: Count) -> float:
        """A little less than D."""
        acknowledged = max(count.segments - count.lost, LEAST * count.segments) * self._wire / count.time_s
        return MARGIN * acknowledged / (1 - min(self.usual, 0.9))

    def _try(self, pace: float) -> None:
        self._before, self._trial, self.limit = self.limit, pace, pace
        self._enter(Phase.TRIAL)

    def _enter(self, phase: Phase) -> None:
        self.phase, self._clock_s, self._count, self._strikes = phase, 0.0, Count(), 0

    def _judge_slower(self) -> None:
        """Whose the losses are."""
        count, before = self._count, self._before
        if count.beyond(self._suspected + GRAVE):  # something else has changed
            self._slower(count)
            self._before = before
            return
        if count.share > (self._suspected + self.usual) / 2:
            self.limit = before
            self._later()
        else:
            self._patience, self._step, self._proven = 1.0, STEP, self.limit
        self.usual = count.share
        self._enter(Phase.CRUISE)

    def _judge_faster(self) -> None:
        """Whether the path carries it; a pace that nobody used shows nothing."""
        count, lossy = self._count, self._count.beyond(self.usual + SLIGHT / 2, deviations=1.0)
        self.limit = max(self._before, min(self._through(count), self._trial))
        if lossy:
            self._step = STEP
            self._later()
        elif self._stood:
            self.limit, self._patience = inf, PATIENCE
        elif self.limit > self._before:
            self._patience, self._step = 1.0, min(2 * self._step, LEAP)
        self._enter(Phase.CRUISE)

    def _later(self) -> None:
        self._patience = min(2 * self._patience, ROUNDS_MOST)
