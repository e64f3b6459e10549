"""Packets over frames and gains, against a stream of bits laid out bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
from dstcc_channels.codes import UNCODED, any_lost, code
from dstcc_channels.packets import packet_process
from dstcc_channels.scintillation import faded, rician_k
from dstcc_channels.spans import lost, spans

from dstcc.errors import InputError

TURBO = "ccsds-turbo-1/2-8920"


@pytest.mark.parametrize(
    ("packet_bytes", "frame_bits"), [(1500, 8920), (1500, 7136), (40, 1784), (1115, 8920)]
)
@pytest.mark.parametrize("behind_bits", [0, 12_000, 30_000])
def test_every_place_in_a_frame_is_as_likely(packet_bytes, frame_bits, behind_bits):
    # brute force: each of the k bits of a frame in turn is a packet's first
    bits = 8 * packet_bytes
    counts = []
    for first in range(frame_bits):
        starts = {first, first + behind_bits}
        counts.append(
            len(
                {
                    frame
                    for at in starts
                    for frame in range(at // frame_bits, (at + bits - 1) // frame_bits + 1)
                }
            )
        )
    shares = np.bincount(counts) / frame_bits
    found = spans(packet_bytes, frame_bits, behind_bits=float(behind_bits))
    assert {sum(way): share for way, share in found} == pytest.approx(
        {count: share for count, share in enumerate(shares.tolist()) if share}
    )


def test_a_mean_of_2_35_frames_and_not_2():
    # 1 + (12000 - 1) / 8920 and / 7136, where a packet that began a frame would be in 2 of either
    assert code(TURBO).frames(1500) == pytest.approx(2.345, abs=1e-3)
    assert code("ccsds-c2").frames(1500) == pytest.approx(2.681, abs=1e-3)


def test_frames_that_share_a_gain_begin_in_one_coherence_time():
    # frames of 1,000 bits, gains of 2,500: of five frames 3 share the first gain and 2 the second, by turns. So two
    # neighbours share one in 3 of 5 cases. A packet of 1,000 bits is in two frames, but for one place in a thousand.
    together = sum(share for way, share in spans(125, 1000, gain_bits=2500.0) if way == (2,))
    assert together == pytest.approx(0.999 * 3 / 5)


def test_an_uncoded_packet_has_one_gain():
    # a quarter of the packets that begin 1,000 bits behind another begin in the next coherence time of 4,000
    assert spans(100, 1, behind_bits=1000.0, gain_bits=4000.0) == (((1600,), 0.75), ((800, 800), 0.25))
    assert spans(100, 1) == (((800,), 1.0),)


def test_losses_are_those_of_all_ways_to_lie():
    half = np.array([0.5])
    assert lost((((1,), 0.25), ((1, 2), 0.75)), lambda frames: 1 - half**frames) == pytest.approx(
        0.25 * 0.5 + 0.75 * (1 - 0.5**3)
    )
    assert lost((((1,), 1.0),), lambda _: np.array([1.0, 0.0])).tolist() == [1.0, 0.0]


def laid(name: str, ebn0_db: float, index: float, *, gain_bits: int, packets: int) -> np.ndarray:
    """Losses of so many packets of 1,500 bytes in a row: gains drawn for each coherence time, frames erased at the gain
    in which they begin, packets lost with any frame of theirs."""
    draws, known = np.random.default_rng(7), code(name)
    bits, k = 12_000, known.frame_bits
    frames = packets * bits // k + 2
    factor = float(rician_k(index))
    steady, scatter = np.sqrt(factor / (factor + 1)), np.sqrt(0.5 / (factor + 1))
    x, y = draws.standard_normal((2, frames * k // gain_bits + 1))
    gain_db = 10 * np.log10((steady + scatter * x) ** 2 + (scatter * y) ** 2)
    fer = known.frame_error_rate(ebn0_db + gain_db[np.arange(frames) * k // gain_bits])
    erased = np.concatenate(([0], np.cumsum(draws.random(frames) < fer)))
    first = np.arange(packets) * bits // k
    last = (np.arange(1, packets + 1) * bits - 1) // k
    return np.asarray(erased[last + 1] > erased[first])


@pytest.mark.parametrize("index", [0.3, 0.7, 1.0])
@pytest.mark.parametrize(("name", "gain_bits"), [(TURBO, 90_001), ("ccsds-c2", 20_011), (TURBO, 4001)])
def test_bursts_of_a_faded_stream_of_bits(name, gain_bits, index):
    # Mean burst 1/r. With some thousand bursts their mean is good to a few percent.
    ebn0_db = code(name).required_ebn0_db(1e-4) + 1.0
    fates = laid(name, ebn0_db, index, gain_bits=gain_bits, packets=400_000)
    edges = np.flatnonzero(np.diff(fates.astype(int)))
    bursts = len(edges) / 2
    one, end = packet_process(name, np.array([ebn0_db]), np.array([index]), 1500, gain_bits=float(gain_bits))
    assert bursts > 2000
    assert fates.mean() == pytest.approx(one[0], rel=0.05)
    assert fates.sum() / bursts == pytest.approx(1 / end[0], rel=0.05)


def test_without_fading_only_shared_frames_make_bursts():
    ebn0_db = np.array([code(TURBO).required_ebn0_db(1e-3)])
    one, end = packet_process(TURBO, ebn0_db, np.zeros(1), 1500, gain_bits=9e4)
    # small FER: 3.690 frames of two packets, 2.345 of one
    assert one[0] == pytest.approx(2.345e-3, rel=2e-3)
    assert end[0] == pytest.approx(3.690 / 2.345 - 1, abs=2e-3)
    # packets far apart share neither frames nor gains: the next is lost as any is
    for index in (0.0, 0.7):
        one, end = packet_process(TURBO, ebn0_db, np.array([index]), 1500, gain_bits=9e4, behind_bits=1e6)
        assert end[0] == pytest.approx(1 - one[0], abs=2e-3)


def test_an_uncoded_acknowledgement_fades_with_its_neighbours():
    ebn0_db, index = np.array([12.0]), np.array([0.7])
    one, end = packet_process(UNCODED, ebn0_db, index, 40, gain_bits=1e6, behind_bits=320.0)
    assert one[0] == pytest.approx(faded(UNCODED, ebn0_db, index, 320)[0])
    both = 2 * one[0] - faded(UNCODED, ebn0_db, index, 640)[0]
    share = 1 - 320 / 1e6
    assert end[0] == pytest.approx(1 - share * both / one[0] - (1 - share) * one[0])
    assert any_lost(320, code(UNCODED).frame_error_rate(ebn0_db))[0] < 1e-3 < one[0]


def test_a_size_that_no_packet_has_is_refused():
    with pytest.raises(InputError, match="bytes = 0: a packet has between 1 and 65535 bytes"):
        spans(0, 8920)


def test_what_fades_and_what_does_not_is_told_apart_entry_by_entry() -> None:
    # Times of a link near the Sun and away from it, in one table: each has the figures that it has alone.
    ebn0_db, index = np.array([0.0, 0.2, 0.4, 0.6]), np.array([0.0, 0.4, 0.0, 0.8])
    together = packet_process(TURBO, ebn0_db, index, 1500, gain_bits=2e5)
    for place in range(4):
        alone = packet_process(TURBO, ebn0_db[[place]], index[[place]], 1500, gain_bits=2e5)
        for whole, one in zip(together, alone, strict=True):
            np.testing.assert_allclose(whole[place], one[0])


def test_a_packet_begins_when_the_one_before_has_ended_or_later() -> None:
    ebn0_db, index = np.array([0.4]), np.array([0.5])

    def end(behind_bits: float) -> float:
        return float(
            packet_process(TURBO, ebn0_db, index, 1500, gain_bits=2e5, behind_bits=behind_bits)[1][0]
        )

    assert end(0.0) == end(100.0) == end(12_000.0) < end(100_000.0) < end(400_000.0)
