"""What a network can pass: a maximum flow over time beside all schedules of small cases, and beside trials."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest

from dstcc.engine import EngineConfig, Hop, Link, Node, Objects, Transport
from dstcc.engine.passing import (
    NEVER_NS,
    SINK,
    SOURCE,
    Line,
    Network,
    _by_density,
    _some,
    arrival_ns,
    contacts_s,
    least_delay_ns,
    lines_of,
    most_weight,
    network_of,
    over_nodes,
    passage,
    wire_bytes,
)

S = 10**9
UNIT = 1000
"""Bytes that a link carries a second."""


def line(name: str, delay_s: float, dark: list[tuple[int, int]], rate: int = 1) -> Link:
    return Link(
        name=name,
        rate_bps=8.0 * UNIT * rate,
        up_rate_bps=8.0 * UNIT,
        delay_t_ns=(0,),
        delay_ns=(round(delay_s * S),),
        queue_bytes=10**9,
        up_queue_bytes=10**9,
        outages_ns=tuple((a * S, b * S) for a, b in dark),
    )


def path(first: Link, *onward: Hop, first_hop_of: int = -1) -> Link:
    if not onward:
        return first
    total = first.delay_ns[0] + sum(hop.line.delay_ns[0] for hop in onward)
    return replace(
        first,
        delay_ns=(total,),
        first_t_ns=(0,),
        first_delay_ns=first.delay_ns,
        onward=onward,
        first_hop_of=first_hop_of,
    )


def config(
    *links: Link, release_s: list[int], deadline_s: list[int] | None = None, end_s: int = 12
) -> EngineConfig:
    count = len(release_s)
    due = [end_s] * count if deadline_s is None else deadline_s
    return EngineConfig(
        seed=1,
        links=links,
        transport=Transport("open-loop", "minrtt", mss_bytes=UNIT, header_bytes=0),
        objects=Objects(
            chunk=np.arange(count),
            layer=np.zeros(count, dtype=np.int64),
            payload_bytes=np.full(count, UNIT),
            release_ns=np.array(release_s) * S,
            deadline_ns=np.array(due) * S,
        ),
        slot_ns=S,
        duration_ns=end_s * S,
    )


def most_units(
    lines: list[tuple[int, int, int, frozenset[int], int]],
    storage: dict[int, int],
    release: list[int],
    end: int,
) -> int:
    """The most units at node 0's far end, the last node, by all schedules: a line (tail, head, delay, lit, rate) takes
    up to `rate` units a lit second, which are at the head `delay` seconds on, in the same second where that is 0."""
    last = max(head for _, head, *_ in lines)

    @cache
    def best(now: int, held: tuple[int, ...], flying: tuple[tuple[int, int], ...], step: int) -> int:
        if step == 0:  # a second begins
            if now == end:
                return held[last]
            held = tuple(
                n
                + sum(1 for at, node in flying if at == now and node == v)
                + (sum(1 for r in release if r == now) if v == 0 else 0)
                for v, n in enumerate(held)
            )
            flying = tuple(one for one in flying if one[0] > now)
        if step == len(lines):
            kept = tuple(min(n, storage.get(v, 10**9)) for v, n in enumerate(held))
            return best(now + 1, kept, flying, 0)
        tail, head, delay, lit, rate = lines[step]
        found = 0
        for sent in range(min(held[tail], rate if now in lit else 0) + 1):
            after = list(held)
            after[tail] -= sent
            if delay == 0:
                after[head] += sent
                air = flying
            else:
                air = tuple(sorted((*flying, *[(now + delay, head)] * sent)))
            found = max(found, best(now, tuple(after), air, step + 1))
        return found

    return best(0, (0,) * (last + 1), (), 0)


@pytest.mark.parametrize(
    "number",
    [
        *range(0, 20),
        *(pytest.param(number, marks=pytest.mark.slow) for number in range(20, 40)),
    ],
)
def test_it_is_the_best_of_all_schedules(number: int) -> None:
    """Two relays a and b beside a direct link, integer delays, contacts of whole seconds, small storages."""
    random, end = Random(number), 6
    dark = [sorted(random.sample(range(end), random.choice((0, 0, 2)))) for _ in range(6)]
    outages = [[(d[0], d[1])] if d else [] for d in dark]
    lit = [frozenset(t for t in range(end) if not any(a <= t < b for a, b in o)) for o in outages]
    delay = [random.choice((0, 0, 1, 2)) for _ in range(6)]
    rate = [random.choice((1, 1, 2)) for _ in range(6)]
    storage = {1: random.randint(1, 2), 2: random.randint(1, 3)}
    release = sorted(random.randint(0, 3) for _ in range(random.randint(1, 9)))
    ends = [(0, 1), (1, 3), (0, 2), (2, 3), (1, 2), (0, 3)]
    units = most_units(
        [(*ends[i], delay[i], lit[i], rate[i]) for i in (0, 4, 2, 1, 3, 5)], storage, release, end
    )
    each = [line(str(i), delay[i], outages[i], rate[i]) for i in range(6)]
    a, b = (Node(name=str(n), number=n, storage_bytes=UNIT * storage[n]) for n in (1, 2))
    trial = config(
        path(each[0], Hop(1, a, each[1])),
        path(each[2], Hop(3, b, each[3])),
        path(each[0], Hop(4, a, each[4]), Hop(3, b, each[3]), first_hop_of=0),
        path(each[5]),
        release_s=release,
        end_s=end,
    )
    network = Network(trial, trial.objects.release_ns, trial.objects.payload_bytes.astype(float))
    (found,) = network.most_bytes([end * S])
    assert found / UNIT == pytest.approx(units, abs=1e-6)


def changing(random: Random) -> Link:
    """With steps of its rate, known and hidden, and outages, announced and not, at whole seconds up to 40."""

    def steps() -> tuple[tuple[int, ...], tuple[float, ...]]:
        at = sorted(random.sample(range(1, 40), random.randint(1, 3)))
        return (0, *(t * S for t in at)), tuple(random.choice((0.25, 0.5, 1.0)) for _ in range(len(at) + 1))

    def outages() -> list[tuple[int, int]]:
        edges = sorted(random.sample(range(40), 4))
        return [(edges[0], edges[1]), (edges[2], edges[3])]

    (rate_t, rate_share), (hidden_t, hidden_share) = steps(), steps()
    return replace(
        line("x", 1, outages(), rate=4),
        unannounced_ns=tuple((a * S, b * S) for a, b in outages()),
        rate_t_ns=rate_t,
        rate_share=rate_share,
        hidden_t_ns=hidden_t,
        hidden_share=hidden_share,
        delay_t_ns=(0, 10 * S, 30 * S),
        delay_ns=(S, 3 * S, 2 * S),
    )


@pytest.mark.parametrize("number", range(12))
def test_a_line_carries_its_rate_of_each_second(number: int) -> None:
    """Second by second: what a plan and the channel leave of 4,000 bytes, and nothing in outages of either kind."""
    random = Random(number)
    link = changing(random)
    one = Line("x", SOURCE, SINK, link)

    def rate_at(second: int) -> float:
        at = second * S
        if any(a <= at < b for a, b in (*link.outages_ns, *link.unannounced_ns)):
            return 0.0
        known = [v for t, v in zip(link.rate_t_ns, link.rate_share, strict=True) if t <= at][-1]
        return (
            32_000
            * known
            * [v for t, v in zip(link.hidden_t_ns, link.hidden_share, strict=True) if t <= at][-1]
        )

    t_ns, bps = one.rate
    assert t_ns[0] == 0 and (np.diff(t_ns) > 0).all()
    rates = [rate_at(second) for second in range(45)]
    assert [float(bps[np.searchsorted(t_ns, s * S, side="right") - 1]) for s in range(45)] == pytest.approx(
        rates
    )
    for _ in range(20):
        begin, end = sorted(random.sample(range(45), 2))
        half = random.choice((0, S // 2))
        carried = one.carried_bits(np.array([begin * S]), np.array([end * S + half]))
        assert carried == pytest.approx([sum(rates[begin:end]) + rates[end] * half / S])
    for at in [0, *(random.randrange(0, 44 * S) for _ in range(20)), *(s * S for s in range(44))]:
        lit = [at] if rates[at // S] else [s * S for s in range(at // S + 1, 45) if rates[s]]
        assert one.opens(at) == (lit[0] if lit else NEVER_NS)
    whole = contacts_s(one, 42 * S)
    assert sum(end - begin for begin, end in whole) == sum(rate > 0 for rate in rates[:42])
    assert all(a[1] < b[0] for a, b in pairwise(whole)) and whole[-1][1] <= 42
    assert all(all(rates[s] for s in range(int(begin), int(end))) for begin, end in whole)


def test_what_departed_is_what_arrives() -> None:
    """From 10 to 20 s the light time grows by a hundredth of the time, from 20 to 40 s it falls by half of that."""
    sloping = replace(line("x", 1, []), delay_t_ns=(10 * S, 20 * S, 40 * S), delay_ns=(S, S + S // 10, S))
    one = Line("x", SOURCE, SINK, sloping)
    at = np.array([0, 10 * S, 15 * S, 20 * S, 30 * S + 7, 50 * S])
    assert one.arrival(at).tolist() == [
        S,
        11 * S,
        16 * S + 50_000_000,
        21 * S + 100_000_000,
        31 * S + 50_000_007,
        51 * S,
    ]
    assert np.abs(one.departure(one.arrival(at)) - at).max() <= 1


def test_some_of_many_are_spread_evenly_and_both_ends_are_there() -> None:
    many = np.arange(0, 1000, 10)
    assert (_some(many, 100) == many).all()
    assert _some(many, 4).tolist() == [0, 330, 660, 990]
    assert len(_some(many, 99)) == 99


def test_weight_is_taken_by_its_density_and_the_next_deadline() -> None:
    """Bytes 1, 2, 1, 4, 1 of weights 2, 4, 1, 8, 3: three to a byte, then two to a byte by their row, then one."""
    found = list(
        _by_density(
            np.array([2.0, 4.0, 1.0, 8.0, 3.0]),
            np.array([1.0, 2.0, 1.0, 4.0, 1.0]),
            np.array([1, 0, 0, 1, 1]),
        )
    )
    assert [(sorted(rows.tolist()), row) for rows, row in found] == [
        ([4], 1),
        ([1], 0),
        ([0, 3], 1),
        ([2], 0),
    ]


def test_times_to_ask_at_are_even_and_where_cuts_are() -> None:
    trial = two_hops([(0, 6), (9, 12)], release_s=[0, 0], end_s=24)
    network = network_of(trial)
    moments = network.moments(24 * S)
    assert set(range(S, 25 * S, S)) <= set(moments.tolist()), "twenty-four even ones"
    assert {8 * S, 11 * S} <= set(moments.tolist()) and moments.min() > 0 and moments.max() == 24 * S
    assert network.wire_bytes.tolist() == [UNIT, UNIT]
    assert wire_bytes(np.array([100, 250]), 100, 40).tolist() == [140, 350]


def test_only_a_network_that_ends_and_has_something_due_is_asked() -> None:
    trial = two_hops([], release_s=[0])
    assert over_nodes(trial)
    assert not over_nodes(replace(trial, duration_ns=NEVER_NS))
    assert not over_nodes(config(line("a", 1, []), release_s=[0]))
    nothing = replace(trial.objects, **{name: np.zeros(0, np.int64) for name in vars(trial.objects)})
    assert not over_nodes(replace(trial, objects=nothing))


def test_by_each_time_no_more_than_was_captured_and_carried() -> None:
    """One a second over both hops, 3 s of light; captured at 0, 0, 5 and 6 s."""
    network = network_of(two_hops([], release_s=[0, 0, 5, 6]))
    by = [4, 5, 8, 9, 10, 3, 12]
    found = network.most_bytes([s * S for s in by])
    assert np.array(found) / UNIT == pytest.approx([1, 2, 2, 3, 4, 0, 4], abs=0.4)


def two_hops(dark: list[tuple[int, int]], **keys: Any) -> EngineConfig:
    node = Node(name="a", number=1, storage_bytes=keys.pop("storage_bytes", 10**6))
    return config(path(line("up", 1, []), Hop(1, node, line("down", 2, dark))), **keys)


def test_a_packet_waits_for_each_contact() -> None:
    lines, paths = lines_of(two_hops([(0, 6), (9, 12)], release_s=[0]))
    (row,) = paths
    on_it = [lines[i] for i in row]
    assert arrival_ns(on_it, 0, 12 * S) == (8 * S, 2)
    assert arrival_ns(on_it, 7 * S, 12 * S) == (10 * S, 2)
    assert arrival_ns(on_it, 8 * S, 12 * S)[1] == 1, "it comes as the contact ends"
    # it arrives as the run ends, or not; it leaves before its end, or not
    assert arrival_ns(on_it, 7 * S, 10 * S) == (10 * S, 2) and arrival_ns(on_it, 7 * S, 10 * S - 1)[1] == 1
    assert arrival_ns(on_it, 0, S) == (NEVER_NS, 1) and arrival_ns(on_it, 0, S - 1) == (NEVER_NS, 0)
    took = passage(on_it, 12 * S)
    assert took.least_ns == 3 * S and took.longest_ns == 8 * S


def test_where_nothing_arrives_the_link_is_told() -> None:
    lines, paths = lines_of(two_hops([(0, 12)], release_s=[0]))
    assert passage([lines[i] for i in paths[0]], 12 * S).stuck == 1


def test_the_bound_counts_what_waits_between_hops() -> None:
    """Each hop alone could carry all four layers in time; one after the other two of them."""
    trial = two_hops([(0, 6)], release_s=[0, 0, 4, 4], deadline_s=[10, 10, 10, 10])
    assert most_weight(trial, np.ones(4)) == pytest.approx(2.0, abs=1e-6)  # from 6 to 8, with light to 10
    assert most_weight(
        two_hops([], release_s=[0, 0, 4, 4], deadline_s=[12] * 4), np.ones(4)
    ) == pytest.approx(4)


def test_full_storage_bounds_it() -> None:
    """One packet waits for the contact at 6 s; from then on one a second comes through until the deadline at 12 s."""
    trial = two_hops([(0, 6)], release_s=[0] * 4, deadline_s=[9] * 4, storage_bytes=UNIT)
    assert most_weight(trial, np.ones(4)) == pytest.approx(1.0, abs=1e-6)
    late = two_hops([(0, 6)], release_s=[0] * 6, deadline_s=[12] * 6, storage_bytes=UNIT)
    assert most_weight(late, np.ones(6)) == pytest.approx(4.0, abs=1e-6)


@pytest.mark.parametrize(("holds", "pass_"), [(1, 2.0), (6, 3.0)])
def test_a_contact_takes_what_waits_and_what_comes_meanwhile(holds: int, pass_: float) -> None:
    """A contact of one second could carry three: with room for one layer it finds one, and one more comes then."""
    node = Node(name="a", number=1, storage_bytes=holds * UNIT)
    trial = config(
        path(line("up", 1, []), Hop(1, node, line("down", 2, [(0, 6), (7, 12)], rate=3))), release_s=[0] * 6
    )
    assert most_weight(trial, np.ones(6)) == pytest.approx(pass_, abs=1e-6)


def test_what_is_due_first_takes_from_what_is_due_later() -> None:
    """One a second, 3 s on the way: one is there by 4 s and two by 5 s, of two that are due at each."""
    trial = two_hops([], release_s=[0] * 4, deadline_s=[4, 4, 5, 5])
    assert most_weight(trial, np.ones(4)) == pytest.approx(2.0, abs=1e-6)


def test_the_least_playout_delay_waits_for_the_contact() -> None:
    """A contact from 6 s on; 3 s of light: the layer of 0 s is there at 9 s at the earliest, the third at 11 s."""
    trial = two_hops([(0, 6)], release_s=[0, 1, 2], deadline_s=[3, 4, 5], end_s=24)
    found = least_delay_ns(trial, 3 * S)
    assert found is not None and 8 * S <= found <= 9 * S
    again = least_delay_ns(two_hops([(0, 6)], release_s=[0, 1, 2], deadline_s=[20, 21, 22], end_s=24), 20 * S)
    assert again == found, "whatever delay is asked about"
    assert least_delay_ns(two_hops([(0, 24)], release_s=[0], end_s=24), S) is None
