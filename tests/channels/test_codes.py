"""Codes: the rows are reproduced, what lies between them falls, what lies outside is clamped and said."""

from __future__ import annotations

from math import erfc, sqrt

import numpy as np
import pytest
from dstcc_channels.codes import CODE_NAMES, FAR_DB, UNCODED, code
from dstcc_channels.data import rows
from hypothesis import given
from hypothesis import strategies as st

from dstcc.errors import InputError

TABLES = [name for name in CODE_NAMES if name != UNCODED]

CODEWORDS = {"ccsds-rs-conv-5": 5}
"""Of a frame, where it has several: published and simulated rates are of codewords."""
PUBLISHED = {
    # Eb/N0 in dB for frame or codeword error rates of 1e-2, 1e-3, 1e-4
    "ccsds-turbo-1/6-1784": (0.03, 0.16, 0.29),
    "ccsds-turbo-1/2-1784": (1.19, 1.35, 1.47),
    "ccsds-turbo-1/6-8920": (-0.23, -0.15, -0.07),
    "ccsds-turbo-1/3-8920": (0.30, 0.36, 0.44),
    "ccsds-ar4ja-1/2-1024": (1.41, 1.60, 1.81),
    "ccsds-ar4ja-4/5-4096": (2.81, 2.92, 3.03),
    "ccsds-c2": (3.65, 3.76, 3.86),
    "ccsds-rs-conv-1": (2.45, 2.70, 2.91),
    "ccsds-rs-conv-5": (2.16, 2.29, 2.39),
}


@pytest.mark.parametrize("name", TABLES)
def test_every_row_of_the_table_is_reproduced_within_two_percent(name):
    points = [row for row in rows("fer.csv") if row["code"] == name]
    assert len(points) >= 5
    for row in points:
        assert code(name).frame_error_rate(float(row["ebn0_db"])) == pytest.approx(
            1 - (1 - float(row["frame_error_rate"])) ** CODEWORDS.get(name, 1), rel=0.02
        )
        assert row["ref"]


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_thresholds(name):
    rates = 1 - (1 - np.array([1e-2, 1e-3, 1e-4])) ** CODEWORDS.get(name, 1)
    assert code(name).frame_error_rate(PUBLISHED[name]) == pytest.approx(rates, rel=0.02)


def test_a_frame_is_lost_with_any_of_its_interleaved_codewords():
    """A packet of 1,500 bytes is in 1 + 11,999 / 8,920 = 2.35 frames of five codewords, in 7.73 frames of one."""
    one, five = code("ccsds-rs-conv-1"), code("ccsds-rs-conv-5")
    assert (five.frame_bits, one.frame_bits) == (5 * 223 * 8, 223 * 8)
    assert (five.frames(1500), one.frames(1500)) == (
        pytest.approx(2.345, abs=1e-3),
        pytest.approx(7.726, abs=1e-3),
    )
    # At 2.29 dB a codeword in a thousand fails, a frame in two hundred, and 2.345 times as many packets.
    assert five.frame_error_rate(2.29) == pytest.approx(1 - 0.999**5, rel=1e-6)
    assert five.packet_loss(2.29, 1500) == pytest.approx(2.345 * 0.00499, rel=0.01)
    # The floor is 1e-5 for codewords: 5e-5.
    assert five.floor == pytest.approx(5e-5, rel=1e-3)


def test_simulated_rows_say_what_they_rest_on():
    for row in rows("fer.csv"):
        if row["frames"]:
            rate = int(row["frame_errors"]) / int(row["frames"])
            assert float(row["frame_error_rate"]) == pytest.approx(rate, rel=1e-4)


@pytest.mark.parametrize("ebn0_db", [-10.0, 0.0, 4.3, 9.6, 12.0])
def test_uncoded_bits_are_exact(ebn0_db):
    bit_error = 0.5 * erfc(sqrt(10 ** (ebn0_db / 10)))
    assert code(UNCODED).frame_error_rate(ebn0_db) == pytest.approx(bit_error, rel=1e-12)
    assert code(UNCODED).packet_loss(ebn0_db, 1500) == pytest.approx(1 - (1 - bit_error) ** 12000, abs=1e-12)


def test_known_uncoded_rate():
    assert code(UNCODED).frame_error_rate(9.587) == pytest.approx(1e-5, rel=0.01)  # the textbook's 9.6 dB


@pytest.mark.parametrize("name", TABLES)
def test_more_energy_never_means_more_errors(name):
    low, high = code(name).range_db
    assert np.all(np.diff(code(name).frame_error_rate(np.linspace(low - 1, high + 1, 2000))) <= 0)


@pytest.mark.parametrize("name", TABLES)
def test_outside_its_rows_a_table_is_clamped_and_says_so(name):
    known = code(name)
    low, high = known.range_db
    assert known.frame_error_rate(low - 30) == 1
    assert known.frame_error_rate(high + 30) == pytest.approx(known.floor)
    assert known.outside([low, high]) is None
    below, above = known.outside(low - 30), known.outside([high + 30, high])
    assert below is not None and "below the table" in below and "clamped" in below and name in below
    assert above is not None and "above the table" in above and f"{high + 30:.2f} dB" in above


def test_what_lies_outside_is_said_with_its_worst_value():
    known = code("ccsds-c2")
    (low, high), rates = known.range_db, known.rates
    table = f"the table of ccsds-c2 ({low:g} to {high:g} dB): clamped to its"
    first, last = (
        f"{row} row, frame error rate {rate:.3g}" for row, rate in zip(("first", "last"), rates, strict=True)
    )
    assert known.outside(-3) == f"Eb/N0 -3.00 dB is below {table} {first}"
    assert known.outside([-3]) == known.outside(-3)
    assert known.outside([-3, 3]) == f"Eb/N0 down to -3.00 dB is below {table} {first}"
    assert known.outside([-3, 3, -9]) == f"Eb/N0 down to -9.00 dB is below {table} {first}"
    assert known.outside(20) == f"Eb/N0 20.00 dB is above {table} {last}"
    both = f"Eb/N0 down to -9.00 dB is below {table} {first}; Eb/N0 up to 25.00 dB is above {table} {last}"
    assert known.outside([20, -9, 25]) == both


def test_far_is_ten_times_the_rate():
    assert 10 ** (FAR_DB / 10) == 10


def test_only_far_above_its_rows_is_worth_a_warning():
    known = code("ccsds-c2")
    low, high = known.range_db
    assert known.outside(high + FAR_DB, FAR_DB) is None
    assert known.outside(high + FAR_DB + 0.1, FAR_DB) is not None
    assert known.outside(low - 0.1, FAR_DB) is not None  # below, all frames are lost: always


def test_the_exact_formula_has_no_outside():
    assert code(UNCODED).outside([-100, 100]) is None
    assert code(UNCODED).floor == 0
    assert code(UNCODED).frame_error_rate([-100, 100]) == pytest.approx([0.5 * erfc(1e-5), 0], abs=1e-300)


def test_uncoded_bits_are_inverted_from_a_coins_toss_to_one_error_in_1e12():
    known = code(UNCODED)
    assert (known.frame_bits, known.rate) == (1, 1)
    assert known.ebn0_db.size == known.table_fer.size == len(known.refs) == 0, "it has no table"
    # -30 dB is an amplitude of 10^-1.5, 14 dB one of 10^0.7
    greatest, least = 0.5 * erfc(10**-1.5), 0.5 * erfc(10**0.7)
    assert known.rates == pytest.approx((greatest, least), rel=1e-12)
    assert (greatest, least) == (pytest.approx(0.482, abs=1e-3), pytest.approx(6.8e-13, rel=0.01))
    grid, _ = known.curve()
    assert (grid[0], grid[-1], len(grid)) == (-30, pytest.approx(14), 4401)
    assert known.required_ebn0_db(greatest) == pytest.approx(-30)
    assert known.required_ebn0_db(least) == pytest.approx(14)


@pytest.mark.parametrize("name", CODE_NAMES)
def test_the_inverse_reaches_the_first_and_the_last_rate_and_no_further(name):
    known = code(name)
    most, least = known.rates
    for rate in (most, least):
        assert known.unknown_rate(rate) is None
        assert known.frame_error_rate(known.required_ebn0_db(rate)) == pytest.approx(rate)
    for rate in (most * 1.001, least * 0.999):
        rule = f"frame_error_rate = {rate:g}: {name} is known from {most:.3g} down to {least:.3g}"
        assert known.unknown_rate(rate) == rule
        with pytest.raises(InputError, match="is known from"):
            known.required_ebn0_db(rate)


@pytest.mark.parametrize(
    ("name", "packet_bytes", "whole", "more"),
    [
        # bits a packet L, a frame k: 1 + (L - 1) // k frames, and one more at (L - 1) % k of the k places to begin
        ("ccsds-turbo-1/6-8920", 1115, 1, 8919 / 8920),
        ("ccsds-turbo-1/6-8920", 1500, 2, 3079 / 8920),
        ("ccsds-turbo-1/2-1784", 1500, 7, 1295 / 1784),
        ("ccsds-c2", 1500, 2, 4863 / 7136),
        ("ccsds-ar4ja-1/2-1024", 1, 1, 7 / 1024),
        (UNCODED, 1, 8, 0.0),
    ],
)
def test_a_packet_is_lost_with_any_of_its_frames(name, packet_bytes, whole, more):
    known, fer = code(name), 3e-3
    ebn0_db = known.required_ebn0_db(fer)
    assert known.frames(packet_bytes) == pytest.approx(whole + more)
    expected = 1 - (1 - more) * (1 - fer) ** whole - more * (1 - fer) ** (whole + 1)
    assert known.packet_loss(ebn0_db, packet_bytes) == pytest.approx(expected, rel=1e-6)


@given(st.sampled_from(CODE_NAMES), st.floats(-5, -2))
def test_required_energy_is_the_inverse(name, exponent):
    known = code(name)
    rate = max(10**exponent, known.floor)
    assert known.frame_error_rate(known.required_ebn0_db(rate)) == pytest.approx(rate, rel=1e-6)


@pytest.mark.parametrize("name", CODE_NAMES)
def test_the_curve_is_the_model_on_a_uniform_grid(name):
    known = code(name)
    grid, log10_fer = known.curve()
    assert np.diff(grid) == pytest.approx(0.01)
    assert 10 ** log10_fer[::17] == pytest.approx(known.frame_error_rate(grid[::17]), rel=1e-9)
    if name != UNCODED:
        assert (grid[0], grid[-1]) == pytest.approx(known.range_db)


def test_rates_follow_the_standard():
    assert code("ccsds-turbo-1/6-8920").rate == pytest.approx(8920 / (6 * 8924))
    assert code("ccsds-ar4ja-4/5-4096").rate == 0.8
    assert code("ccsds-c2").rate == pytest.approx(7136 / 8160)
    assert code("ccsds-rs-conv-5").rate == pytest.approx(223 / 255 / 2)


def test_unknown_names_and_sizes_are_refused():
    with pytest.raises(InputError, match=r"did you mean 'ccsds-turbo-1/6-8920'.*allowed: uncoded"):
        code("ccsds-turbo-1/6-8902")
    with pytest.raises(InputError, match="between 1 and 65535 bytes"):
        code(UNCODED).packet_loss(5, 0)
    with pytest.raises(InputError, match="is known from"):
        code("ccsds-c2").required_ebn0_db(1e-9)
