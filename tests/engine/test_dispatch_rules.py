"""Which layer goes next (kernel-cc/dispatch/dstcc_dispatch.hpp), against a reference that looks at every layer.

The simulator and the kernel's transfer program compile the header; here it decides single instances. Times are small
numbers: the rules know no unit.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstcc.engine import NEVER_NS
from dstcc.engine._testing import dispatch
from tests.sampling import examples

LIGHT, WINDOW, REPAIR, ROUND_TRIP = (
    dispatch.Slack.LIGHT,
    dispatch.Slack.WINDOW,
    dispatch.Slack.REPAIR,
    dispatch.Slack.ROUND_TRIP,
)
AUTOMATIC, REPAIRABLE, AVOID = -1, -3, -16


@dataclass(frozen=True)
class Layer:
    release: int = 0
    deadline: int = 100
    size: int = 10
    layer: int = 0
    begun: bool = False

    def row(self) -> tuple[int, int, int, int, bool]:
        return (self.release, self.deadline, self.size, self.layer, self.begun)


@dataclass(frozen=True)
class Path:
    """A byte sent now is there at ``light``, behind the queue at ``window``, and each byte takes one unit."""

    light: int = 20
    window: int = 20
    per_byte: float = 1.0
    room: int = 0
    one_way: int = 20
    repair: int = 40

    def row(self) -> tuple[int, int, float, int, int, int]:
        return (self.light, self.window, self.per_byte, self.room, self.one_way, self.repair)


@dataclass(frozen=True)
class Case:
    layers: tuple[Layer, ...]
    paths: tuple[Path, ...]
    by_layer: bool = True
    blocked: frozenset[int] = frozenset()
    share: float = 0.5
    gap: int = NEVER_NS
    table: tuple[int, ...] = ()
    usable: int = 63
    strict: bool = False
    ready: int = 63
    taken: frozenset[int] = field(default=frozenset())

    def levels(self) -> list[list[int]]:
        if not self.by_layer:
            return [list(range(len(self.layers)))]
        count = max((layer.layer for layer in self.layers), default=0) + 1
        return [[o for o, layer in enumerate(self.layers) if layer.layer == m] for m in range(count)]

    def waiting(self) -> list[list[int]]:
        return [[o for o in level if o not in self.taken] for level in self.levels()]

    def asked(self, rule: str, *more: list[int]) -> tuple[int, int] | None:
        instance = dispatch.Instance(
            [layer.row() for layer in self.layers],
            [o in self.blocked for o in range(len(self.layers))],
            [path.row() for path in self.paths],
            self.levels(),
            self.share,
            self.gap,
            list(self.table),
            self.usable,
            self.strict,
        )
        for level, objects in enumerate(self.levels()):
            for o in sorted(self.taken & set(objects), key=lambda o: (o % 3, o)):
                assert instance.take(level, o)
                assert not instance.take(level, o)
        first: tuple[int, int] | None = getattr(instance, rule)(
            self.ready & (1 << len(self.paths)) - 1, *more
        )
        again = getattr(instance, rule)(self.ready & (1 << len(self.paths)) - 1, *more)
        assert first == again  # where it looked last time changes no answer
        return first


# --------------------------------------------------------------------------------------------------- the reference


def due(layer: Layer, path: Path, slack: object, share: float) -> int:
    if layer.deadline == NEVER_NS or slack in (LIGHT, WINDOW):
        return layer.deadline
    if slack == ROUND_TRIP:
        return layer.deadline - path.repair
    return layer.deadline - max(
        0, min(int((layer.deadline - layer.release - path.one_way) * share), path.repair)
    )


def late(layer: Layer, path: Path, slack: object, share: float) -> bool:
    if layer.deadline == NEVER_NS:
        return False
    if slack == LIGHT or layer.begun:
        return path.light > layer.deadline
    arrival = path.window + int(max(layer.size - path.room, 0) * path.per_byte)
    return path.light > layer.deadline or arrival > due(layer, path, slack, share)


def members(paths: int) -> list[int]:
    return [s for s in range(64) if paths >> s & 1]


def fitting(case: Case, o: int, slack: object, paths: int) -> int:
    return sum(1 << s for s in members(paths) if not late(case.layers[o], case.paths[s], slack, case.share))


def oldest(case: Case, level: list[int], slack: object, paths: int) -> int | None:
    """The first that is not blocked and in time somewhere. Behind the front, what is begun counts only while its last
    byte, behind what queues, would not be overdue."""
    for place, o in enumerate(level):
        there = fitting(case, o, slack, paths)
        if place > 0:
            there = sum(
                1 << s
                for s in members(there)
                if due(case.layers[o], case.paths[s], slack, case.share) >= case.paths[s].window
            )
        if o not in case.blocked and there:
            return o
    return None


def newest(case: Case, paths_of: dict[int, int]) -> tuple[int, int] | None:
    for m, level in enumerate(case.waiting()):
        paths = paths_of[m]
        if not level or not paths:
            continue
        if case.layers[level[0]].begun and (there := fitting(case, level[0], LIGHT, paths)):
            return level[0], there
        for o in reversed(level):
            if o not in case.blocked and (there := fitting(case, o, LIGHT, paths)):
                return o, there
    return None


def in_time_reference(case: Case) -> tuple[int, int] | None:
    ready = case.ready & (1 << len(case.paths)) - 1
    for level, slack in itertools.product(case.waiting(), (REPAIR, WINDOW)):
        if level and (o := oldest(case, level, slack, ready)) is not None:
            return o, fitting(case, o, slack, ready)
    return newest(case, dict.fromkeys(range(len(case.levels())), ready))


def entry(case: Case, level: list[int]) -> int:
    layer = case.layers[level[0]].layer
    return case.table[layer] if layer < len(case.table) else AUTOMATIC


def by_table(case: Case, what: int, ready: int) -> int:
    if what <= AVOID:
        others = ready & ~(1 << (AVOID - what))
        return others if case.usable & ~(1 << (AVOID - what)) else ready
    if 0 <= what < len(case.paths):
        named = ready & (1 << what)
        return named if case.strict or case.usable >> what & 1 else ready
    return ready


def needed_before_repair(case: Case, sheltered: int) -> bool:
    """Whether a layer that is not to be sheltered is due before the repair of one that is has to leave."""
    repair = max((path.repair for s, path in enumerate(case.paths) if case.usable >> s & 1), default=0)
    others = (level for level in case.waiting() if level and entry(case, level) != REPAIRABLE)
    return any(case.layers[level[0]].deadline < case.layers[sheltered].deadline - repair for level in others)


def in_turn_reference(case: Case) -> tuple[int, int] | None:
    ready = case.ready & (1 << len(case.paths)) - 1
    usable = case.usable & (1 << len(case.paths)) - 1
    gap = min(case.gap, NEVER_NS // 256)

    def turn(o: int) -> int:
        return case.layers[o].release + case.layers[o].layer * gap

    for slack, table in ((ROUND_TRIP, True), (REPAIR, True), (WINDOW, True), (WINDOW, False)):
        if case.strict and not table:
            continue
        candidates: list[tuple[int, int, int, int]] = []
        for m, level in enumerate(case.waiting()):
            if not level:
                continue
            sheltered = entry(case, level) == REPAIRABLE
            if slack == ROUND_TRIP and not sheltered:
                continue
            paths = by_table(case, entry(case, level), ready) if table else ready
            repairable = fitting(case, level[0], ROUND_TRIP, usable)
            if table and sheltered and repairable not in (0, usable):
                paths &= repairable
            elif slack == ROUND_TRIP and needed_before_repair(case, level[0]):
                continue
            if paths and (o := oldest(case, level, slack, paths)) is not None:
                candidates.append((turn(o), m, o, paths))
        if candidates:
            _, _, o, paths = min(candidates)
            return o, fitting(case, o, slack, paths)
    sets = {
        m: by_table(case, entry(case, level), ready) if case.strict else ready
        for m, level in enumerate(case.waiting())
        if level
    }
    return newest(case, {m: sets.get(m, 0) for m in range(len(case.levels()))})


# -------------------------------------------------------------------------------------------------- random instances


@st.composite
def cases(draw: st.DrawFn, *, by_layer: bool | None = None) -> Case:
    count, numbers = draw(st.integers(1, 12)), draw(st.integers(1, 3))
    releases = sorted(draw(st.lists(st.integers(0, 60), min_size=count, max_size=count)))
    playout = draw(st.integers(10, 120))
    layers = tuple(
        Layer(
            release=release,
            deadline=NEVER_NS if draw(st.integers(0, 9)) == 0 and o == count - 1 else release + playout,
            size=draw(st.integers(1, 60)),
            layer=o % numbers,
            begun=draw(st.integers(0, 5)) == 0,
        )
        for o, release in enumerate(releases)
    )
    paths = []
    for _ in range(draw(st.integers(1, 4))):
        one_way = draw(st.integers(1, 60))
        light = draw(st.integers(0, 60)) + one_way
        paths.append(
            Path(
                light=light,
                window=light + draw(st.integers(0, 40)),
                per_byte=draw(st.sampled_from([0.0, 0.25, 1.0, 3.0])),
                room=draw(st.sampled_from([0, 15, 100])),
                one_way=one_way,
                repair=2 * one_way + draw(st.integers(0, 20)),
            )
        )
    entries = st.sampled_from([AUTOMATIC, REPAIRABLE, 0, 1, 2, 9, AVOID, AVOID - 1, -100])
    everything = (1 << len(paths)) - 1
    usable = draw(st.integers(0, everything))
    return Case(
        layers=layers,
        paths=tuple(paths),
        by_layer=draw(st.booleans()) if by_layer is None else by_layer,
        blocked=draw(st.frozensets(st.integers(0, count - 1), max_size=4)),
        share=draw(st.sampled_from([0.0, 0.5, 1.0])),
        gap=draw(st.sampled_from([0, 5, 30, NEVER_NS])),
        table=tuple(draw(st.lists(entries, max_size=3))),
        usable=usable,
        strict=draw(st.booleans()),
        ready=draw(st.integers(1, everything)),
        taken=draw(st.frozensets(st.integers(0, count - 1), max_size=6)),
    )


@given(cases())
@examples(150)
def test_the_next_in_time_is_the_reference_s(case: Case) -> None:
    assert case.asked("next_in_time") == in_time_reference(case)


@given(cases())
@examples(150)
def test_what_is_late_even_with_the_least_bytes_may_be_passed_over_unseen(case: Case) -> None:
    case = replace(case, layers=tuple(replace(layer, begun=False) for layer in case.layers))
    least = [min((case.layers[o].size for o in level), default=0) for level in case.levels()]
    assert case.asked("next_in_time", least) == in_time_reference(case)


@given(cases(by_layer=True))
@examples(150)
def test_the_next_in_turn_is_the_reference_s(case: Case) -> None:
    assert case.asked("next_in_turn") == in_turn_reference(case)


@pytest.mark.slow
@given(cases(by_layer=True))
@examples(10_000)
def test_many_choices_are_the_reference_s(case: Case) -> None:
    assert case.asked("next_in_time") == in_time_reference(case)
    assert case.asked("next_in_turn") == in_turn_reference(case)


@given(cases())
@examples(50)
def test_timeliness_is_the_reference_s(case: Case) -> None:
    for layer, path, slack in itertools.product(case.layers, case.paths, (LIGHT, WINDOW, REPAIR, ROUND_TRIP)):
        assert dispatch.due(layer.row(), path.row(), slack, case.share) == due(layer, path, slack, case.share)
        assert dispatch.late(layer.row(), path.row(), slack, case.share) == late(
            layer, path, slack, case.share
        )


# ---------------------------------------------------------------------------------------------------- single rules


def test_due_keeps_time_for_a_repair() -> None:
    # Release 0, deadline 100, one way 20: 80 to spare. Half of it, 40, is a round trip of 40; with 60 the half counts;
    # a quarter is 20. A round trip outright: 100 - 40.
    layer, path = Layer().row(), Path()
    assert dispatch.due(layer, path.row(), WINDOW, 0.5) == 100
    assert dispatch.due(layer, path.row(), REPAIR, 0.5) == 60
    assert dispatch.due(layer, replace(path, repair=60).row(), REPAIR, 0.5) == 60
    assert dispatch.due(layer, replace(path, repair=30).row(), REPAIR, 0.5) == 70
    assert dispatch.due(layer, path.row(), REPAIR, 0.25) == 80
    assert dispatch.due(layer, replace(path, one_way=120).row(), REPAIR, 0.5) == 100
    assert dispatch.due(layer, path.row(), ROUND_TRIP, 0.5) == 60
    assert dispatch.due(Layer(deadline=NEVER_NS).row(), path.row(), ROUND_TRIP, 0.5) == NEVER_NS


def test_late_by_light_by_the_queue_and_by_size() -> None:
    # There at 20, behind the queue at 50; ten bytes of one unit each: 60.
    path = Path(window=50)
    for deadline, at_all, by_light in (
        (60, False, False),
        (59, True, False),
        (20, True, False),
        (19, True, True),
    ):
        layer = Layer(deadline=deadline)
        assert dispatch.late(layer.row(), path.row(), WINDOW, 0.5) is at_all
        assert dispatch.late(layer.row(), path.row(), LIGHT, 0.5) is by_light
        assert dispatch.late(replace(layer, begun=True).row(), path.row(), WINDOW, 0.5) is by_light
    # Six of them fit the room: 54.
    assert dispatch.late(Layer(deadline=54).row(), replace(path, room=6).row(), WINDOW, 0.5) is False
    assert dispatch.late(Layer(deadline=53).row(), replace(path, room=6).row(), WINDOW, 0.5) is True
    # A size beyond all time is late, and no overflow.
    slow = replace(path, per_byte=1e18)
    assert dispatch.late(Layer(deadline=10**18, size=10**9).row(), slow.row(), WINDOW, 0.5) is True


def test_a_lost_cause_misses_by_light_or_could_not_be_decoded() -> None:
    assert dispatch.lost_cause(Layer(deadline=100).row(), False, 100) is False
    assert dispatch.lost_cause(Layer(deadline=100).row(), False, 101) is True
    assert dispatch.lost_cause(Layer(deadline=NEVER_NS).row(), False, 101) is False
    assert dispatch.lost_cause(Layer(deadline=NEVER_NS).row(), True, 0) is True


def test_turns_of_base_layers_come_before_all_others() -> None:
    late_base, first_layer = Layer(release=10**18), Layer(release=0, layer=1)
    assert dispatch.turn(late_base.row(), NEVER_NS) > dispatch.turn(Layer(release=5).row(), NEVER_NS)
    assert dispatch.turn(Layer(release=3 * 10**16).row(), NEVER_NS) < dispatch.turn(
        first_layer.row(), NEVER_NS
    )
    assert dispatch.turn(Layer(release=7, layer=3).row(), 10) == 37
    assert dispatch.turn(Layer(release=10**16, layer=255).row(), NEVER_NS) > 0  # within a Time


@pytest.mark.parametrize(
    "what, usable, strict, expected",
    [
        (AUTOMATIC, 0b111, False, 0b111),
        (1, 0b111, False, 0b010),
        (1, 0b101, False, 0b111),  # cannot be used: any
        (1, 0b101, True, 0b010),
        (3, 0b111, False, 0b111),  # no such path
        (AVOID - 1, 0b111, False, 0b101),
        (AVOID - 1, 0b010, False, 0b111),  # nothing else can be used
        (AVOID - 63, 0b111, False, 0b111),
        (AVOID - 64, 0b111, False, 0b111),
        (REPAIRABLE, 0b111, False, 0b111),
    ],
)
def test_what_the_table_allows(what: int, usable: int, strict: bool, expected: int) -> None:
    assert dispatch.allowed(what, 0b111, usable, 3, strict) == expected


@pytest.mark.parametrize(
    ("deadline", "needed", "expected"),
    [
        (180, 120, (0, 0b11)),  # a repair leaves at 120 at the latest
        (181, 120, (1, 0b11)),
        (81, 0, (0, 0b11)),  # there at 20; a round trip of 60 is left
        (79, 0, (0, 0b01)),  # a round trip of 40 is left on the first path, which it has for itself
        (59, 30, (1, 0b11)),  # none is left
    ],
)
def test_what_every_path_can_repair_waits_for_what_is_needed_before_its_repair(
    deadline: int, needed: int, expected: tuple[int, int]
) -> None:
    """By turns the higher layer would be first, at 5 and the base layer at 10; only the base layer is sheltered."""
    base, higher = Layer(release=10, deadline=deadline), Layer(deadline=needed or 79, layer=1)
    paths = tuple(Path(per_byte=0.0, repair=repair) for repair in (40, 60))
    case = Case((base, higher), paths, share=0.0, gap=5, table=(REPAIRABLE, AUTOMATIC), usable=0b11)
    assert case.asked("next_in_turn") == expected


def test_a_few_dozen_blocked_layers_are_passed_over_by_turns_and_all_otherwise() -> None:
    n = dispatch.LOOK_AHEAD
    for blocked, turns in ((n, (n, 1)), (n + 1, None)):
        case = Case(
            tuple(Layer(deadline=1000) for _ in range(n + 2)), (Path(),), blocked=frozenset(range(blocked))
        )
        assert case.asked("next_in_time") == (blocked, 1)
        # The last resort finds the newest even so.
        assert case.asked("next_in_turn") == (turns or (n + 1, 1))


def test_at_last_a_few_dozen_of_the_newest_are_tried() -> None:
    n = dispatch.LOOK_AHEAD
    # All are late for their size and in time by light; the newest are blocked.
    for blocked, expected in ((n - 1, (10, 1)), (n, None)):
        layers = tuple(Layer(size=1000) for _ in range(11 + blocked))
        case = Case(layers, (Path(),), blocked=frozenset(range(11, 11 + blocked)))
        assert case.asked("next_in_time") == expected
        assert case.asked("next_in_turn") == expected
