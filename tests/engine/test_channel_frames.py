"""Loss by code frames: those that a packet has a bit in, each erased as the code says at the Eb/N0 of its time."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from dstcc_channels.codes import CODE_NAMES, code
from scipy.stats import binom, chi2, ncx2

from dstcc.engine import FrameSchedule, Loss
from dstcc.engine.simulate import channel_losses

from . import net

K = 1000
"""Information bits of the tests' own frames: at 1 Mbit/s one lasts 1 ms."""
RATE = 1e6
CODED = tuple(name for name in CODE_NAMES if name != "uncoded")
CASES = list(product(CODED, [40, 1500, 9000]))


def frames(
    ebn0_db: float | list[float],
    *,
    t_s: list[float] | None = None,
    bits: int = K,
    scintillation: float = 0.0,
    coherence_s: float = 1.0,
    curve: tuple[float, float, list[float]] = (-10.0, 10.0, [0.0, -1.0, -2.0]),
) -> Loss:
    """Frame loss; its curve unless given: FER 1, 0.1, 0.01 at -10, 0, 10 dB."""
    ebn0 = np.atleast_1d(np.array(ebn0_db, dtype=float))
    times = np.array([net.ns(t) for t in t_s or [0.0]], dtype=np.int64)
    schedule = FrameSchedule(
        frame_bits=bits,
        t_ns=times,
        ebn0_db=ebn0,
        scintillation_index=np.full(len(times), scintillation),
        coherence_ns=net.ns(coherence_s),
        curve_from_db=curve[0],
        curve_step_db=curve[1],
        log10_fer=np.array(curve[2]),
    )
    return Loss("frames", frames=schedule)


def coded(name: str, ebn0_db: float) -> Loss:
    model = code(name)
    grid, log10_fer = model.curve()
    return frames(ebn0_db, bits=model.frame_bits, curve=(grid[0], grid[1] - grid[0], list(log10_fer)))


def losses(loss: Loss, packet_bytes: int, slots: int, *, seed: int = 1, first: int = 0) -> np.ndarray:
    return channel_losses(net.link(RATE, 1.0, loss=loss), seed, 0, packet_bytes, slots, first=first)


def erased(loss: Loss, count: int, *, seed: int = 1, bits: int = K) -> np.ndarray:
    """The frames themselves: packets as long as a frame."""
    return losses(loss, bits // 8, count, seed=seed)


def alone(name: str, size: int, packets: int, seed: int) -> tuple[int, int, float]:
    """Losses, packets and the model's mean loss probability, in the waterfall: at FER 1e-2.

    Only every so many packets are taken, so that no two share a frame: losses are then independent, each with the
    probability that its frames by its place in the stream have, and their number is all but binomial.
    """
    model = code(name)
    ebn0_db = model.required_ebn0_db(1e-2)
    bits, apart = 8 * size, 2 + model.frame_bits // (8 * size)
    taken = losses(coded(name, ebn0_db), size, packets * apart, seed=seed)[::apart]
    first = np.arange(packets) * bits * apart
    count = (first + bits - 1) // model.frame_bits - first // model.frame_bits + 1
    expected = float(np.mean(1 - (1 - 1e-2) ** count))
    # packets whose places are multiples of 64 bits miss some of those that the model takes the mean of
    assert model.packet_loss(ebn0_db, size) == pytest.approx(expected, rel=64 / bits)
    return int(taken.sum()), packets, expected


def test_measured_loss_is_that_of_the_code_at_each_packet_size():
    # Within the central 99 % of the binomial law, for every code and size; but 48 fair cases miss that now and then,
    # up to twice in 99 of 100 worlds. All of them are within 99.99 %, and their sum is within 99 % as well.
    cases = [alone(name, size, 40_000, seed=i) for i, (name, size) in enumerate(CASES)]

    def missed(confidence: float) -> list[tuple[str, int]]:
        spans = [binom.interval(confidence, packets, p) for _, packets, p in cases]
        return [
            case
            for case, (lost, _, _), (low, high) in zip(CASES, cases, spans, strict=True)
            if not low <= lost <= high
        ]

    assert missed(0.9999) == []
    assert len(missed(0.99)) <= binom.ppf(0.99, len(CASES), 0.01)
    excess = sum(lost - packets * p for lost, packets, p in cases)
    variance = sum(packets * p * (1 - p) for _, packets, p in cases)
    assert abs(excess) <= 2.576 * np.sqrt(variance)


@pytest.mark.parametrize("fer", [1e-3, 0.02, 0.3])
def test_frames_are_erased_independently(fer):
    # Counts in aligned groups of 64, as the engine draws them, follow the binomial law (chi-square at 99.9 %); places
    # in a group are erased alike; neighbours at any distance up to 63 are uncorrelated.
    flat = frames(0.0, curve=(0.0, 1.0, [float(np.log10(fer))]))
    groups = erased(flat, 64 * 40_000).reshape(-1, 64)
    counts = np.bincount(groups.sum(axis=1), minlength=65)
    expected = len(groups) * binom.pmf(np.arange(65), 64, fer)
    common = expected > 5
    statistic = ((counts - expected)[common] ** 2 / expected[common]).sum()
    assert statistic < chi2.ppf(0.999, common.sum())
    places = groups.sum(axis=0)
    assert ((places - len(groups) * fer) ** 2 / (len(groups) * fer * (1 - fer))).sum() < chi2.ppf(0.999, 64)
    both = np.array([(groups[:, lag:] & groups[:, : 64 - lag]).sum() for lag in range(1, 64)])
    pairs = len(groups) * np.arange(63, 0, -1)
    assert ((both - pairs * fer**2) ** 2 / (pairs * fer**2)).sum() < 1.5 * chi2.ppf(0.999, 63)


@pytest.mark.parametrize("size", [40, 1500])
def test_uncoded_bits_err_on_their_own(size):
    # 1 - (1 - Pb)^(8 b), independent from packet to packet.
    ebn0_db = 8.0
    p = float(code("uncoded").packet_loss(ebn0_db, size))
    packets = losses(coded("uncoded", ebn0_db), size, 200_000)
    low, high = binom.interval(0.99, len(packets), p)
    assert low <= packets.sum() <= high
    assert (packets[1:] & packets[:-1]).mean() == pytest.approx(p * p, abs=4 * p / np.sqrt(len(packets)))


@pytest.mark.parametrize("ebn0_db", [0.0, 10.0])
@pytest.mark.parametrize("size", [125, 126, 300, 1000])
def test_a_packet_is_lost_with_any_of_its_frames(size, ebn0_db):
    # Packet j is bits 8 b j to 8 b (j + 1) - 1 of the stream, and bit i is in frame floor(i / k).
    # At 10 dB one frame in a hundred is erased, and half of the groups of 64 are clear.
    loss = frames(ebn0_db)
    fates = erased(loss, 200_000)
    count = 150_000 * K // (8 * size)
    first, last = (np.arange(count) * 8 * size // K, (np.arange(1, count + 1) * 8 * size - 1) // K)
    expected = np.array([fates[f : to + 1].any() for f, to in zip(first, last, strict=True)])
    np.testing.assert_array_equal(losses(loss, size, count), expected)


def test_short_packets_share_the_fate_of_their_frame():
    # 25 packets of 5 bytes start in each frame of 1,000 bits.
    packets = losses(frames(0.0), 5, 25 * 2000).reshape(2000, 25)
    np.testing.assert_array_equal(packets.any(axis=1), packets.all(axis=1))
    np.testing.assert_array_equal(packets[:, 0], erased(frames(0.0), 2000))


def test_more_signal_never_loses_more():
    # A frame's draw is the same whatever the Eb/N0: what is erased at 2 dB is erased at 0 dB.
    weak, strong = erased(frames(0.0), 50_000), erased(frames(2.0), 50_000)
    assert weak.sum() > strong.sum() > 0
    assert not (strong & ~weak).any()


def test_eb_n0_moves_in_straight_lines():
    # From 0 to 10 dB in 100 s FER falls from 0.1 to 0.01 as 10^(-1 - t / 100 s), and stays.
    fates = erased(frames([0.0, 0.0, 10.0], t_s=[0, 100, 200]), 300_000)
    by_10_s = fates.reshape(30, 10_000).mean(axis=1)
    middle = np.clip((np.arange(30) * 10 + 5 - 100) / 100, 0, 1)
    expected = 10 ** (-1 - middle)
    assert np.all(np.abs(by_10_s - expected) < 4 * np.sqrt(expected / 10_000) + 0.002 * expected)


def test_the_curve_ends_where_it_ends():
    assert erased(frames(-60.0), 1000).all()
    assert erased(frames(90.0), 100_000).mean() == pytest.approx(0.01, rel=0.15)


def test_any_frame_can_be_asked_for():
    loss = frames([0.0, 9.0, -3.0], t_s=[0, 50, 100], scintillation=0.5, coherence_s=0.3)
    whole = losses(loss, 300, 50_000)
    for first in (1, 7777, 31_415):
        np.testing.assert_array_equal(losses(loss, 300, 100, first=first), whole[first : first + 100])
    far = 10**12
    assert len(losses(loss, 300, 100, first=far)) == 100


@pytest.mark.parametrize("index", [0.3, 0.7, 1.0])
def test_scintillation_is_rician_with_that_index(index):
    # A curve of FER = 1 up to 3 dB above the mean and 0 beyond tells in how many blocks the gain exceeds 2 (3.01 dB).
    # |nu + sigma (x + iy)|^2 with nu^2 = s, sigma^2 = (1 - s) / 2 exceeds g with probability of the non-central
    # chi-square law: P(chi2_2(s / sigma^2) > g / sigma^2).
    s = np.sqrt(1 - index**2)
    sigma2 = (1 - s) / 2
    step = frames(0.0, scintillation=index, coherence_s=0.004, curve=(3.0102999566, 1e-9, [0.0, -300.0]))
    through = ~erased(step, 4 * 50_000)
    blocks = through.reshape(-1, 4)
    np.testing.assert_array_equal(blocks.any(axis=1), blocks.all(axis=1))
    expected = ncx2.sf(2 / sigma2, 2, s / sigma2)
    low, high = binom.interval(0.999, len(blocks), expected)
    assert low <= blocks[:, 0].sum() <= high


def test_a_scintillation_gain_lasts_its_coherence_time():
    # 2.5 frames: a frame belongs to the block in which it begins, so blocks hold 3 and 2 frames by turns.
    step = frames(0.0, scintillation=1.0, coherence_s=0.0025, curve=(0.0, 1e-9, [0.0, -300.0]))
    fates = erased(step, 5000).reshape(-1, 5)
    np.testing.assert_array_equal(fates[:, 0], fates[:, 2])
    np.testing.assert_array_equal(fates[:, 3], fates[:, 4])
    assert (fates[:, 2] != fates[:, 3]).any()


def test_both_directions_and_links_have_draws_of_their_own():
    link = net.link(RATE, 1.0, loss=frames(0.0))
    one, other = (channel_losses(link, 1, index, 125, 10_000) for index in (0, 1))
    assert (one & other).mean() == pytest.approx(0.01, abs=0.004)


def test_a_connection_meets_the_same_frames():
    # Packets 0.1 s apart, of 140 bytes or 1.12 frames with their headers: those with a bit in an erased frame come a
    # round trip late.
    loss = frames(0.0)
    link = net.link(RATE, 1.0, loss=loss, up_loss=Loss())
    objects = net.live(200, (100,), chunk_s=0.1)
    result = net.run("fixed", link, objects=objects, slot_s=10, parameters=net.windows(10_000))
    sent = result.objects.first_sent_ns
    alone = sent >= net.ns(4)
    bit = (sent + 500) // 1000
    fates = erased(loss, 25_000)
    expected = fates[bit // K] | fates[(bit + K // 2) // K] | fates[(bit + 1119) // K]
    late = result.objects.first_arrival_ns - sent > net.ns(0.6)
    np.testing.assert_array_equal(late[alone], expected[alone])


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"frame_bits": 0}, "at least one bit"),
        ({"t_ns": np.array([0, 0])}, "Eb/N0"),
        ({"ebn0_db": np.array([np.nan])}, "finite"),
        ({"scintillation_index": np.array([1.5])}, "between 0 and 1"),
        ({"coherence_ns": 0}, "coherence_ns"),
        ({"log10_fer": np.array([0.1])}, "at most 1"),
        ({"log10_fer": np.empty(0)}, "points"),
    ],
)
def test_nonsense_is_refused(change, rule):
    good = frames(0.0).frames
    assert good is not None
    bad = Loss("frames", frames=FrameSchedule(**(vars(good) | change)))
    with pytest.raises(ValueError, match=rule):
        losses(bad, 100, 1)
