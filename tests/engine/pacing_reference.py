"""The arithmetic of a pacing limit in Python, slot by slot, which the engine's is held to; its header has the model."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt

from .pacing_slots import Phase, SlotReport, Turn

HIGH_LOSS, SLIGHT_LOSS = 0.05, 0.01
"""Shares lost beyond the base loss. High loss starts a trial at once or in the second round trip, slight loss later."""
MARGIN = 0.98
"""The limit as a share of the rate that came through. The rest drains the path's queue."""
MIN_SHARE = 0.1
"""The least limit as a share of the pacing rate, so that a path that lost everything still gets some data."""
PROVEN = 1.1
"""High losses up to this many times the fastest rate that came through may be a burst. They are judged in the second
round trip."""
MIN_SEGMENTS = 50.0
"""A share of losses means something if the fate of so many segments is known."""
FIRST_PAUSE, LONGEST_PAUSE = 4.0, 64.0
"""Round trips between two trials."""
MIN_STEP, MAX_STEP = 0.05, 0.25
"""How much higher the rate of a trial is. A few repairs make up for the least; the greatest is that of BBR's probes."""
TRIAL = 0.5
"""Round trips that a trial lasts."""
LEAST_TURNS = 4.0
"""Slots of a trial that alternates, at least."""
OF_EXCESS = 0.5
"""Of what is beyond a slower rate: who causes losses loses so much more at least."""
LAG = 1.25
"""Round trips until everything that comes in was sent after a change: one, and a quarter until losses are detected."""
WINDOW = 0.25
"""Round trips over which an overload is detected."""
SLOT_SEGMENTS, REMEMBERED, OWN_SHARE = 8.0, 128.0, 0.05
"""Slots with fewer segments tell no dispersion; for how many slots it is remembered; of losses, before it counts."""
STANDING = 0.97
"""If the sender's queue shows less than this share of a trial's rate, it grew, and so it holds the excess."""


_PROBE, _CRUISE, _TRIAL, _ECHO = Phase


@dataclass(slots=True)
class Count:
    """Segments whose fate became known during some time."""

    segments: float = 0.0
    lost: float = 0.0
    time_s: float = 0.0
    busy_s: float = 0.0
    """What it took to send them."""

    def add(self, segments: float, lost: float, time_s: float) -> None:
        """Add those of another slot."""
        self.segments += segments
        self.lost += lost
        self.time_s += time_s
        self.busy_s += time_s

    @property
    def share(self) -> float:
        """The share lost."""
        return self.lost / max(self.segments, 1.0)

    @property
    def rate(self) -> float:
        """Segments a second, as they were sent."""
        return self.segments / self.busy_s

    def beyond(self, share: float, dispersion: float, deviations: float = 2.0) -> bool:
        """Whether the losses exceed that share by so many standard deviations of a count whose variance is so many
        times a Poisson count's."""
        most = share * self.segments
        return self.lost > most + deviations * sqrt(dispersion * (most + 1))

    def complete(self, round_s: float) -> bool:
        """Whether the count is as long as that and has enough segments."""
        return self.time_s >= round_s and self.segments >= MIN_SEGMENTS


@dataclass(slots=True)
class Spread:
    """The variance of the losses of three slots in a row, over a Poisson count's: half a second difference."""

    slots: list[tuple[float, float]]
    varied: float = 0.0
    share: float = 0.0

    def add(self, segments: float, lost: float) -> None:
        """Another slot."""
        self.slots = [*self.slots[-2:], (segments, lost)]
        if len(self.slots) < 3 or min(n for n, _ in self.slots) < SLOT_SEGMENTS:
            return
        first, middle, last = (lost / n for n, lost in self.slots)
        least = min(n for n, _ in self.slots)
        self.varied += (middle - first) * (middle - last) * least - self.varied / REMEMBERED
        self.share += (first + middle + last) / 3 - self.share / REMEMBERED

    @property
    def times(self) -> float:
        """At least 1."""
        return max((self.varied + OWN_SHARE) / (self.share + OWN_SHARE), 1.0)


class ReferenceLimit:
    """The limit of one path; :meth:`update` once a slot."""

    def __init__(self, packet_bytes: float, *, alternates: bool = False) -> None:
        self._alternates = alternates
        self.limit = inf
        """Bytes on the wire per second."""
        self.base_loss = 0.0
        """The share of segments that is lost at any rate."""
        self.phase = _CRUISE
        self._packet_bytes = packet_bytes
        self._phase_s = self._up_s = 0.0
        self._counted_from = inf  # round trips after the path came up; acknowledgements count from then on
        self._window, self._count = Count(), Count()
        self.turn = Turn.NONE
        self._turns = {Turn.SLOWER: Count(), Turn.FASTER: Count()}
        self._proven = self._suspected = self._fastest = 0.0
        self._before, self._trial = inf, 0.0
        self._high_rounds = 0
        self._pause, self._step = FIRST_PAUSE, MAX_STEP
        self._queue_grew = False
        self._spread, self._highest = Spread([]), 0.0

    def update(self, slot: SlotReport) -> None:
        """Take in a slot."""
        slot_s, srtt_s, up, delivered, lost = slot[:5]
        if not up or srtt_s <= 0:
            self._go_down()
            return
        round_s = max(srtt_s, slot_s)
        self._up_s += slot_s
        self._phase_s += slot_s
        if slot.probed:
            self.phase, self._counted_from = _PROBE, (self._up_s + slot_s) / round_s + 1
        elif self._counted_from == inf and delivered:  # the first of it was sent in part of a slot
            self._counted_from = (self._up_s + slot_s) / round_s
        if self.phase is _PROBE:
            self._probe(slot, round_s)
            return
        if self._up_s > self._counted_from * round_s:
            segments = lost + delivered / self._packet_bytes
            self._window.add(segments, lost, slot_s)
            self._disperse(segments, lost)
            if self.phase is _CRUISE or self._phase_s > self._lag * round_s:
                self._count.add(segments, lost, slot_s)
        window = self._window
        complete = window.complete(WINDOW * round_s)
        if complete:
            self._window = Count()
        if self.phase is _CRUISE and complete and self._overloaded(window, slot):
            self._try_slower(window)
        elif self.phase is _CRUISE:
            self._cruise(round_s)
        elif self._alternates:
            self._take_turns(slot, round_s)
        elif self.phase is _TRIAL:
            self._end_trial(slot, round_s)
        elif self._phase_s >= (self._lag + TRIAL) * round_s and self._count.segments >= MIN_SEGMENTS:
            (self._judge_faster if self._faster else self._judge_slower)()

    def _disperse(self, segments: float, lost: float) -> None:
        """A trial's turns differ by intent."""
        if self._alternates and self.phase is _CRUISE:
            self._spread.add(segments, lost)
        else:
            self._spread.slots = []

    def _beyond(self, count: Count, share: float, deviations: float = 2.0) -> bool:
        return count.beyond(share, self._spread.times, deviations)

    @property
    def _faster(self) -> bool:
        return self._trial > self._before

    @property
    def _lag(self) -> float:
        """Round trips until a trial is acknowledged. After a slower one, losses from before it must not count."""
        return 1.0 if self._faster else LAG

    def _go_down(self) -> None:
        """The path is down. What was in flight comes back as lost when it is up again, and does not count."""
        self._up_s = 0.0
        self._counted_from = LAG if self._counted_from < inf else inf
        if self.phase is _PROBE:  # its echo was lost
            self._enter(_CRUISE)

    def _overloaded(self, window: Count, slot: SlotReport) -> bool:
        """Whether more was sent than ever came through, and did not come through. Updates what did."""
        sent = window.segments * self._packet_bytes / window.busy_s
        if self._beyond(window, self.base_loss + HIGH_LOSS):
            return sent > PROVEN * self._proven
        self._proven = max(self._proven, sent)
        if self._alternates:
            self._highest = max(self._highest, sent)
        if self.limit == inf and not slot.queue_seen:
            self.limit, self._pause, self._phase_s = slot.limit, 1.0, 0.0
        return False

    def _probe(self, slot: SlotReport, round_s: float) -> None:
        """Measure what comes through of a probe in the fastest slot."""
        self._count.add(slot.lost + slot.delivered / self._packet_bytes, slot.lost, slot.slot_s)
        self._fastest = max(self._fastest, slot.delivered / slot.slot_s)
        if self._up_s <= self._counted_from * round_s:
            return
        if not slot.queue_seen:
            self.limit, self._proven, self._pause = MARGIN * self._fastest, self._fastest, 1.0
            self._step = MIN_STEP if self._beyond(self._count, self.base_loss + HIGH_LOSS) else MAX_STEP
            self._counted_from = self._up_s / round_s + LAG
        self._enter(_CRUISE)

    def _cruise(self, round_s: float) -> None:
        """Judge a round trip's losses. Start a trial if they are high, or if the pause is over."""
        count = self._count
        if not count.complete(round_s):
            return
        self._high_rounds = self._high_rounds + 1 if self._beyond(count, self.base_loss + HIGH_LOSS) else 0
        if self._high_rounds > 1:
            self._try_slower(count)
        elif self._high_rounds or self._phase_s < self._pause * round_s:
            self._count = Count()
        elif self._beyond(count, self.base_loss + SLIGHT_LOSS):
            self._try_slower(count)
        elif self.limit < inf:
            self._try(self.limit * (1 + self._step))
        else:
            self._enter(_CRUISE)

    def _end_trial(self, slot: SlotReport, round_s: float) -> None:
        """After half a round trip, wait for the echo at the lower of both rates."""
        if self._phase_s >= TRIAL * round_s:
            self.phase, self._queue_grew = _ECHO, slot.rate < STANDING * self.limit
            self.limit = min(self.limit, self._before)

    def _try_slower(self, count: Count) -> None:
        """Try the rate that came through, to see whether the losses go away."""
        self._suspected = count.share
        self._try(min(self._came_through(count), self.limit))

    def _came_through(self, count: Count) -> float:
        """0.98 D."""
        acknowledged = max(count.segments - count.lost, MIN_SHARE * count.segments)
        return MARGIN * (acknowledged * self._packet_bytes / count.busy_s) / (1 - min(self.base_loss, 0.9))

    def _try(self, rate: float) -> None:
        self._before, self._trial, self.limit = self.limit, rate, rate
        self._enter(_TRIAL)

    def _enter(self, phase: Phase) -> None:
        self.phase, self._phase_s, self._count, self._high_rounds = phase, 0.0, Count(), 0
        self._turns = {Turn.SLOWER: Count(), Turn.FASTER: Count()}
        self.turn = Turn.NONE
        if self._alternates and phase is _TRIAL:
            self._take(Turn.SLOWER)

    def _take(self, turn: Turn) -> None:
        """The slower turn is sent at the lower of both rates."""
        lower, higher = sorted((self._before, self._trial))
        self.turn, self.limit = turn, lower if turn is Turn.SLOWER else higher

    def _take_turns(self, slot: SlotReport, round_s: float) -> None:
        """Half a round trip or four slots by turns, then a round trip and a quarter until all of it is heard of."""
        for turn, sent in ((Turn.SLOWER, slot.slower), (Turn.FASTER, slot.faster)):
            count = self._turns[turn]
            count.segments += sent.lost + sent.delivered / self._packet_bytes
            count.lost += sent.lost
            count.busy_s += sent.busy_s
        sends_s = max(TRIAL * round_s, LEAST_TURNS * slot.slot_s)
        if self.phase is _TRIAL:
            self._take(Turn.FASTER if self.turn is Turn.SLOWER else Turn.SLOWER)
            if self._phase_s < sends_s:
                return
            self.phase, self.turn, self._queue_grew = _ECHO, Turn.NONE, slot.rate < STANDING * self._trial
            self.limit = self._before
        elif self._phase_s >= LAG * round_s + sends_s:
            if min(count.segments for count in self._turns.values()) >= MIN_SEGMENTS:
                self._judge_turns()
            elif self._phase_s >= 2 * (LAG * round_s + sends_s):  # too little was heard of one of them
                self.limit = self._before
                self._enter(_CRUISE)

    def _judge_turns(self) -> None:
        """A faster rate is judged by what its turns lost beyond the other's. A slower one lost half as much beyond the
        base loss, or less, if the sender caused the losses."""
        slower, faster = self._turns[Turn.SLOWER], self._turns[Turn.FASTER]
        if self._faster:
            base, self.base_loss, self._count = self.base_loss, slower.share, faster
            self._judge_faster()
            self.base_loss = base
            return
        both = Count(slower.segments + faster.segments, slower.lost + faster.lost)
        deviations = 2 * sqrt(1 + faster.segments / slower.segments)
        caused = (
            self._beyond(faster, slower.share, deviations)
            and slower.share <= (faster.share + self.base_loss) / 2
            and (faster.share - slower.share) / (1 - slower.share)
            >= OF_EXCESS * (1 - slower.rate / faster.rate)
        )
        if caused:
            self.base_loss, self.limit, self._proven = slower.share, self._trial, self._trial
            self._pause, self._step = 1.0, MIN_STEP
        else:
            self.base_loss, self.limit = both.share, self._before
            self._pause_longer()
        self._enter(_CRUISE)

    def _judge_slower(self) -> None:
        """Whether the sender caused the losses."""
        count, before = self._count, self._before
        if self._beyond(count, self._suspected + HIGH_LOSS):  # something else has changed
            self._try_slower(count)
            self._before = before
            return
        if count.share > (self._suspected + self.base_loss) / 2:
            self.limit = before
            self._pause_longer()
        else:
            self._pause, self._step, self._proven = 1.0, MIN_STEP, self.limit
        self.base_loss = count.share
        self._enter(_CRUISE)

    def _judge_faster(self) -> None:
        """Whether the path carries the higher rate. A rate that was not used shows nothing."""
        count = self._count
        lossy = self._beyond(count, self.base_loss + SLIGHT_LOSS / 2, deviations=1.0)
        self.limit = max(self._before, min(self._came_through(count), self._trial))
        if lossy:
            self._step = MIN_STEP
            self._pause_longer()
        elif self._queue_grew:
            self.limit, self._pause = inf, FIRST_PAUSE
        elif self.limit > self._before:
            self._pause = 1.0
            self._step = min(2 * self._step, max(MAX_STEP, self._highest / self.limit - 1))
        self._enter(_CRUISE)

    def _pause_longer(self) -> None:
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
