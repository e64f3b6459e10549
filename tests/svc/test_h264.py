from __future__ import annotations

import pytest
from dstcc_svc.codecs.h264 import (
    NAL_IDR,
    SLICE_I,
    BitReader,
    allow_frame_num_gaps,
    escape,
    nal_units,
    parameter_sets,
    slice_kind,
    unescape,
)
from hypothesis import given
from hypothesis import strategies as st

# SPS of x264 for 96x64, High profile; PPS; the first bytes of an IDR slice and of two B slices
SPS = bytes.fromhex("6764000aacd94314d0800000030080000019078914cb")
PPS = bytes.fromhex("68ebe3cb22c0")
IDR = bytes.fromhex("6588840033fffef7")


def annex_b(*nals: bytes) -> bytes:
    return b"".join(b"\0\0\0\1" + nal for nal in nals)


@given(st.binary(max_size=200))
def test_escaping_and_back_gives_the_same_bytes(data: bytes) -> None:
    escaped = escape(data + b"\x80")
    assert unescape(escaped) == data + b"\x80"
    assert not any(escaped.find(b"\0\0" + bytes([low])) >= 0 for low in (0, 1, 2))


@given(st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=5))
def test_nal_units_are_found_where_they_were_put(bodies: list[bytes]) -> None:
    nals = [b"\x65" + escape(body + b"\x80") for body in bodies]
    data = annex_b(*nals)
    assert [data[nal.start : nal.end] for nal in nal_units(data)] == nals


@given(st.integers(0, 2**20))
def test_exp_golomb_reads_what_9_1_writes(value: int) -> None:
    code = bin(value + 1)[2:]
    bits = "0" * (len(code) - 1) + code
    padded = int(bits.ljust((len(bits) + 7) // 8 * 8, "0"), 2).to_bytes((len(bits) + 7) // 8, "big")
    reader = BitReader(padded)
    assert reader.ue() == value
    assert reader.position == len(bits)


def test_slice_kind_reads_type_reference_and_slice_type() -> None:
    assert slice_kind(annex_b(SPS, PPS, IDR)) == (NAL_IDR, 3, SLICE_I)
    with pytest.raises(ValueError, match="without a slice"):
        slice_kind(annex_b(SPS, PPS))


def test_parameter_sets_are_sps_and_pps_alone() -> None:
    assert parameter_sets(annex_b(SPS, PPS, IDR)) == annex_b(SPS, PPS)


def test_only_the_gaps_flag_of_the_sps_changes() -> None:
    before, after = annex_b(SPS, PPS, IDR), allow_frame_num_gaps(annex_b(SPS, PPS, IDR))
    assert len(before) == len(after)
    different = [one ^ other for one, other in zip(before, after, strict=True) if one != other]
    assert len(different) == 1
    assert different[0].bit_count() == 1
    assert allow_frame_num_gaps(after) == after


@given(st.binary(max_size=64))
def test_any_bytes_are_walked_without_an_error(data: bytes) -> None:
    for nal in nal_units(data):
        assert 0 < nal.start <= nal.end <= len(data)
