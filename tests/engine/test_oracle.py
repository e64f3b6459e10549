"""The clairvoyant bound, beside counts by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from dstcc.engine import Loss, Objects, clairvoyant_weight
from dstcc.engine.simulate import channel_losses

from . import net
from .test_channel_frames import frames


def bound(links, objects: Objects, weights=None, **transport: Any) -> float:
    config = net.config("open-loop", links, objects=objects, slot_s=1, **transport)
    return clairvoyant_weight(config, np.ones(len(objects.chunk)) if weights is None else weights)


def test_without_deadlines_everything_is_in_time():
    assert bound(net.link(), net.live(10, (1000, 1000))) == 20


def test_ample_capacity_brings_everything():
    assert bound(net.link(12e6, 1.0), net.live(10, (1000, 1000), playout_s=2.0)) == pytest.approx(20)


def test_nothing_outruns_light():
    assert bound(net.link(12e6, 4.0), net.live(10, (1000,), playout_s=1.9)) == 0


def test_capacity_bounds_the_sum():
    # 60 kbit/s carry 5 packets a second; each chunk holds 10. From the first release (1 s) to the last departure that
    # is in time (100 + 6 - 1 = 105 s) that is 520 packets: 52 chunks.
    objects = net.live(100, (10 * net.MSS,), playout_s=6.0)
    assert bound(net.link(60e3, 2.0), objects) == pytest.approx(52, rel=1e-6)


def test_the_denser_layer_goes_first_and_pays_for_its_base():
    # Two chunks at once, each with a base layer of 10 packets of weight 1 and an enhancement of 5 packets of weight 10.
    # There is room for 20 packets: 5 a second, 4 s after the light time. The enhancement alone is worthless, so both
    # pool to 11 / 15 a packet: 14.67, of which whole layers can weigh 14.
    objects = net.live(2, (10 * net.MSS, 5 * net.MSS), chunk_s=1e-9, playout_s=1.0 + 4.0)
    assert bound(net.link(60e3, 2.0), objects, np.array([1.0, 10.0, 1.0, 10.0])) == 14


@pytest.mark.parametrize(("room_s", "weight"), [(1.9, 0), (2.0, 3), (2.9, 3), (3.0, 5)])
def test_half_a_layer_does_not_count(room_s, weight):
    # 5 packets a second for a base layer of 10 packets (3) and an enhancement of 5 (2).
    objects = net.live(1, (10 * net.MSS, 5 * net.MSS), playout_s=1.0 + room_s)
    assert bound(net.link(60e3, 2.0), objects, np.array([3.0, 2.0])) == weight


def test_what_builds_on_a_layer_that_does_not_fit_is_left_out():
    # The second of three does not fit in the 10 packets of 2 s, and with it falls the third, of one packet.
    objects = net.live(1, (5 * net.MSS, 9 * net.MSS, net.MSS), playout_s=1.0 + 2.0)
    assert bound(net.link(60e3, 2.0), objects, np.array([1.0, 1.0, 1.0])) == 1


def test_weights_that_are_no_integers_are_not_rounded():
    # 5 packets a second from 1 s to 105.1 s: 52 chunks of ten, and a part.
    objects = net.live(100, (10 * net.MSS,), playout_s=6.1)
    weight = bound(net.link(60e3, 2.0), objects, np.full(100, 1.5))
    assert weight == pytest.approx(1.5 * 52, abs=0.2) and weight % 1 > 0.01


@pytest.mark.parametrize(
    ("length_s", "outages_s", "weight"), [(0.025, (0.005, 0.02), 0), (0.035, (0.015, 0.03), 1)]
)
def test_line_time_in_pieces_brings_no_full_packet(length_s, outages_s, weight):
    # 10 ms a packet. 5 ms at each end; then 15 ms and 5 ms: one packet, though line time is enough for two.
    objects = window([net.MSS] * 4, release_s=0.0, length_s=length_s)
    assert bound(net.link(1.2e6, 2.0, outages_s=(outages_s,)), objects) == weight
    if weight:
        objects = window([2 * net.MSS, net.MSS], release_s=0.0, length_s=length_s)
        assert bound(net.link(1.2e6, 2.0, outages_s=(outages_s,)), objects, np.array([2.0, 1.0])) == 0


def test_lost_slots_do_not_count():
    # Ten slots a second for ten packets a second, half of which deliver; 10 s of slack use all but the last hundred.
    link = net.link(120e3, 2.0, loss=Loss("packet", 0.5))
    objects = net.live(100, (10 * net.MSS,), playout_s=11.0)
    delivered = 1.1 * (1 - channel_losses(link, 1, 0, net.WIRE, 1100).mean())
    assert bound(link, objects, seed=1) == pytest.approx(100 * delivered, abs=3)


def window(payload_bytes: list[int], *, release_s: float, length_s: float) -> Objects:
    """One chunk of these layers that has so long to leave, on a link of 1 s of light."""
    n = len(payload_bytes)
    return Objects(
        np.zeros(n, dtype=np.int64),
        np.arange(n, dtype=np.int64),
        np.array(payload_bytes, dtype=np.int64),
        np.full(n, net.ns(release_s), dtype=np.int64),
        np.full(n, net.ns(release_s + length_s + 1.0), dtype=np.int64),
    )


def test_a_packet_that_departs_after_the_deadline_does_not_count():
    # 10 ms a packet, 105 ms from 0 on: ten whole ones depart, though an eleventh begins. Line time alone allows 10.5.
    objects = window([net.MSS] * 100, release_s=0.0, length_s=0.105)
    assert bound(net.link(1.2e6, 2.0), objects) == 10
    objects = window([net.MSS] * 100, release_s=0.0, length_s=0.11)
    assert bound(net.link(1.2e6, 2.0), objects) == 11


def test_the_frame_under_way_at_a_release_may_be_used():
    # Frames of 1 ms, 125 bytes each; from half of one, 1.0005 s, to 1.01 s: 9.5 ms, 1,187 bytes. Ten frames are
    # touched, 1,250 bytes, which is what the bound allows, and a bit for each, since of a packet's first and last bit
    # only the middle counts: nine would be too few. 100 layers of one short packet, 200 bytes: six of them.
    lossless = frames(90.0, bits=1000, curve=(0.0, 1.0, [-300.0]))
    objects = window([160] * 100, release_s=1.0005, length_s=0.0095)
    assert bound(net.link(1e6, 2.0, loss=lossless), objects) == (1250 + 10 / 8) // 200 > (1125 + 9 / 8) // 200


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_after_a_lost_slot_the_next_one_is_tried(seed):
    # 10 ms a packet and a slot; light from 5 ms on. A start in a lost slot is put off to the next slot's begin, one
    # that gets through takes 10 ms from where it is.
    link = net.link(1.2e6, 2.0, loss=Loss("packet", 0.5), outages_s=((0.0, 0.005),))
    lost = channel_losses(link, seed, 0, net.WIRE, 100)
    at_ms, count = 5, 0
    while at_ms + 10 <= 1000:
        if lost[at_ms // 10]:
            at_ms = (at_ms // 10 + 1) * 10
        else:
            at_ms, count = at_ms + 10, count + 1
    objects = window([net.MSS] * 200, release_s=0.0, length_s=1.0)
    assert bound(link, objects, seed=seed) == count


@pytest.mark.parametrize("dark_s", [(), ((0.3, 0.5),)])
def test_line_time_lies_in_whole_frames(dark_s):
    # Frames of 1 ms and 125 bytes, half of them erased. A packet gets through in whole ones alone. 0 to 1 s; frames in
    # the dark carry nothing.
    loss = frames(0.0, bits=1000, curve=(0.0, 1.0, [float(np.log10(0.5))]))
    erased = channel_losses(net.link(1e6, 2.0, loss=loss), 1, 0, 125, 1000)
    usable = ~erased
    for a, b in dark_s:
        usable[round(a * 1000) : round(b * 1000)] = False
    objects = window([1400] * 250, release_s=0.0, length_s=1.0)
    weight = bound(net.link(1e6, 2.0, loss=loss, outages_s=dark_s), objects)
    assert weight == usable.sum() * (125 + 1 / 8) // 1440


def test_outages_do_not_count():
    # A second of slack and ten slots a second for ten packets: the 40 chunks of the dark have nowhere to go.
    dark = net.link(120e3, 2.0, outages_s=((20.0, 60.0),))
    objects = net.live(100, (10 * net.MSS,), playout_s=2.0)
    assert bound(dark, objects) == pytest.approx(60, abs=1)


def test_two_links_add_up():
    objects = net.live(50, (10 * net.MSS,), playout_s=2.0)
    one = net.link(48e3, 2.0)  # 4 packets a second
    assert bound((one, one), objects) == pytest.approx(2 * bound(one, objects), rel=0.05)


# ------------------------------------------------------------------------------- beside a linear programme of the same

SLOT_S = 0.01
"""Of a full packet of 1,500 bytes at 1.2 Mbit/s."""
RATE = 1.2e6
HEADER = net.WIRE - net.MSS


def packets_by(at_ns: int, outages_s) -> int:
    """Full packets that have departed, each started as early as it gets through whole."""
    slot, t, count = net.ns(SLOT_S), 0, 0
    dark = [(net.ns(a), net.ns(b)) for a, b in outages_s]
    while t + slot <= at_ns:
        hit = [b for a, b in dark if t < b and t + slot > a]
        if hit:
            t = hit[0]
            continue
        count, t = count + 1, t + slot
    return count


def lit_by(at_ns: int, outages_s) -> int:
    return at_ns - sum(min(max(at_ns - net.ns(a), 0), net.ns(b - a)) for a, b in outages_s)


def programme(*, release_ns, weights: np.ndarray, layers: int, end_ns, demand, carried) -> float:
    """Most weight by shares of layers, each at most that of the layer below; for all i <= j what the chunks i .. j take
    is at most what is carried up to j's last departure less what was before i's release."""
    chunks = len(weights) // layers
    rows, limits = [], []
    for i in range(chunks):
        for j in range(i, chunks):
            row = np.zeros(len(weights))
            row[i * layers : (j + 1) * layers] = demand[i * layers : (j + 1) * layers]
            rows.append(row)
            limits.append(carried(end_ns[j], False) - carried(int(release_ns[i]), True))
    for n in range(len(weights)):
        if n % layers:
            row = np.zeros(len(weights))
            row[n], row[n - 1] = 1, -1
            rows.append(row)
            limits.append(0)
    solution = linprog(-weights, A_ub=np.array(rows), b_ub=np.maximum(limits, 0), bounds=(0, 1))
    return -float(solution.fun)


def fit_alone(*, release_ns, weights: np.ndarray, layers: int, end_ns, demand, carried) -> np.ndarray:
    """Which layers fit whole with those below them if their chunk is the only one."""
    below = np.cumsum(demand.reshape(-1, layers), axis=1)
    room = [
        carried(end, False) - carried(int(begin), True) for begin, end in zip(release_ns, end_ns, strict=True)
    ]
    return (below <= np.array(room)[:, np.newaxis] + 1e-3).ravel()


@pytest.mark.parametrize("seed", range(24))
def test_it_is_the_optimum_of_its_linear_programme(seed):
    # Two counts, of which the lesser holds: full packets (the short one at a layer's end is free), one of which may be
    # under way at a release; and line time, in which every byte with its headers counts.
    rng = np.random.default_rng(seed)
    layers, chunks = int(rng.integers(1, 4)), int(rng.integers(2, 7))
    payload = rng.integers(1, 60, chunks * layers) * net.MSS - rng.integers(0, 2, chunks * layers) * 700
    weights = rng.integers(1, 9, chunks * layers).astype(float)
    release = np.repeat(np.sort(rng.integers(0, 300, chunks)) * 7_000_000, layers)
    deadline = release + net.ns(1.0) + int(rng.integers(20, 200)) * 5_000_000
    outages_s = () if seed % 3 else ((0.5, 0.63), (1.2, 1.9))
    chunk, layer = np.repeat(np.arange(chunks), layers), np.tile(np.arange(layers), chunks)
    objects = Objects(
        chunk, layer, payload.astype(np.int64), release.astype(np.int64), deadline.astype(np.int64)
    )
    end_ns = [int(d) - net.ns(1.0) for d in deadline[::layers]]
    until = None if seed % 2 else 2.0  # the run may end before the last deadlines
    if until is not None:
        end_ns = [min(int(d), net.ns(until)) - net.ns(1.0) for d in deadline[::layers]]
        end_ns = [max(e, int(r)) for e, r in zip(end_ns, release[::layers], strict=True)]
    full = payload // net.MSS

    def full_packets(at: int, begins: bool) -> float:
        count = packets_by(at + net.ns(SLOT_S) - 1, outages_s) if begins else packets_by(at, outages_s)
        return net.WIRE * max(count - begins, 0)

    # Service times are rounded to nanoseconds: the shortest packet may take half of one less.
    ns_per_byte = 8e9 / RATE - 0.5 / (HEADER + 1)
    common: dict[str, Any] = {
        "release_ns": release[::layers],
        "weights": weights,
        "layers": layers,
        "end_ns": end_ns,
    }
    counts: list[dict[str, Any]] = [
        common | {"demand": full * net.WIRE, "carried": full_packets},
        common
        | {
            "demand": payload + (full + (payload % net.MSS > 0)) * HEADER,
            "carried": lambda at, _: lit_by(at, outages_s) / ns_per_byte,
        },
    ]
    kept = np.logical_and.reduce([fit_alone(**count) for count in counts])
    most = min(
        programme(**count | {"demand": count["demand"] * kept, "weights": weights * kept}) for count in counts
    )
    unit = int(np.gcd.reduce(weights.astype(np.int64)))
    expected = unit * int(most / unit + 1e-6)
    link = net.link(RATE, 2.0, outages_s=outages_s)
    assert bound(link, objects, weights, duration_s=until) == expected
