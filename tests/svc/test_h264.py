from __future__ import annotations

import pytest
from dstcc_svc.codecs.h264 import (
    NAL_IDR,
    SLICE_I,
    BitReader,
    allow_frame_num_gaps,
    escape,
    nal_units,
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
    bits = exp_golomb(value)
    reader = BitReader(to_bytes(bits))
    assert reader.ue() == value
    assert reader.position == len(bits)


def exp_golomb(value: int) -> str:
    """The bits of ue(v), 9.1."""
    code = bin(value + 1)[2:]
    return "0" * (len(code) - 1) + code


def signed(value: int) -> str:
    """The bits of se(v), table 9-3: 0, 1, -1, 2, -2, .."""
    return exp_golomb(2 * value - 1 if value > 0 else -2 * value)


def to_bytes(bits: str) -> bytes:
    return bytes(int(bits[at : at + 8].ljust(8, "0"), 2) for at in range(0, len(bits), 8))


@given(st.lists(st.tuples(st.sampled_from(["u", "ue", "se"]), st.integers(-(2**20), 2**20)), max_size=12))
def test_a_row_of_codes_is_read_as_it_was_written(codes: list[tuple[str, int]]) -> None:
    write = {"u": lambda v: format(abs(v), "022b"), "ue": lambda v: exp_golomb(abs(v)), "se": signed}
    reader = BitReader(to_bytes("".join(write[kind](value) for kind, value in codes)))
    read = {"u": lambda: reader.u(22), "ue": reader.ue, "se": reader.se}
    for kind, value in codes:
        found = read[kind]()
        assert found == (value if kind == "se" else abs(value)) and type(found) is int


def test_a_code_of_32_zeros_is_the_longest() -> None:
    assert BitReader(to_bytes("0" * 32 + "1" + "0" * 32)).ue() == 2**32 - 1
    with pytest.raises(ValueError, match="longer than 32 bits"):
        BitReader(to_bytes("0" * 33 + "1" + "0" * 33)).ue()
    with pytest.raises(ValueError, match="past the end"):
        BitReader(b"\xff").u(9)


def test_emulation_is_prevented_where_7_4_1_says() -> None:
    """Three bytes 00 00 0x with x up to 3 hold a 03; after it zeros are counted anew."""
    for last in range(3):
        assert escape(bytes([0, 0, last])) == bytes([0, 0, 3, last])
    assert escape(b"\0\0\3") == b"\0\0\3\3"
    assert escape(b"\0\0\4") == b"\0\0\4"
    assert escape(b"\0\1\0\1") == b"\0\1\0\1"
    assert escape(b"\0\0\0\0\0") == b"\0\0\3\0\0\3\0"


def test_a_nal_unit_has_its_type_and_its_importance() -> None:
    """7.3.1: forbidden_zero_bit, two bits of nal_ref_idc, five of nal_unit_type; a header alone is a unit."""
    (short, long) = nal_units(b"\0\0\1\x5f\0\0\0\1\x25\x80\0\0")
    assert (short.start, short.end, short.type, short.ref_idc) == (3, 4, 31, 2)
    assert (long.start, long.end, long.type, long.ref_idc) == (8, 10, 5, 1)
    assert [nal.end for nal in nal_units(b"\0\0\1\0\0")] == [4]
    assert list(nal_units(b"\0\0\1")) == []


@given(st.sampled_from([1, 5]), st.integers(0, 3), st.integers(0, 8160), st.integers(0, 9))
def test_slice_kind_reads_what_7_3_3_writes(nal: int, idc: int, first: int, kind: int) -> None:
    rbsp = to_bytes(exp_golomb(first) + exp_golomb(kind) + "1")
    unit = bytes([idc << 5 | nal]) + escape(rbsp + b"\x80")
    assert slice_kind(annex_b(SPS, unit, IDR)) == (nal, idc, kind % 5)


@st.composite
def sequences(draw: st.DrawFn) -> tuple[bytes, int]:
    """An SPS without its header byte (7.3.2.1.1), and the place of gaps_in_frame_num_value_allowed_flag, which is 0."""
    high = (100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135)
    profile = draw(st.sampled_from([66, 77, 88, *high]))
    bits = (
        format(profile, "08b")
        + format(draw(st.integers(0, 2**16 - 1)), "016b")
        + exp_golomb(draw(st.integers(0, 31)))
    )
    small = st.integers(0, 6)
    if profile in high:
        chroma = draw(st.integers(0, 3))
        bits += (
            exp_golomb(chroma) + "0" * (chroma == 3) + exp_golomb(draw(small)) + exp_golomb(draw(small)) + "0"
        )
        lists = draw(st.booleans())
        bits += str(int(lists))
        for number in range((12 if chroma == 3 else 8) * lists):
            present = draw(st.booleans())
            bits += str(int(present))
            size, last = 16 if number < 6 else 64, 8
            values = [
                draw(st.integers(1, 255))
            ] * size  # the scaling list, 0 where it ends before its last place
            values[draw(st.integers(1, 2 * size)) :] = [0]
            for value in values[: size * present]:
                bits += signed((value - last + 128) % 256 - 128)
                last = value
    bits += exp_golomb(draw(small))
    order = draw(st.integers(0, 2))
    bits += exp_golomb(order)
    if order == 0:
        bits += exp_golomb(draw(small))
    if order == 1:
        offsets = draw(st.lists(st.integers(-9, 9), min_size=2, max_size=5))
        bits += "1" + signed(offsets[0]) + signed(offsets[1]) + exp_golomb(len(offsets) - 2)
        bits += "".join(map(signed, offsets[2:]))
    bits += exp_golomb(draw(small))
    return to_bytes(bits + "0" + exp_golomb(draw(st.integers(0, 200))) + "1"), len(bits)


@given(sequences())
def test_the_gaps_flag_is_found_in_any_sps(sps: tuple[bytes, int]) -> None:
    rbsp, place = sps
    data = annex_b(b"\x67" + escape(rbsp), PPS, b"\x67" + escape(rbsp), IDR)
    changed = bytearray(rbsp)
    changed[place // 8] |= 0x80 >> place % 8
    assert allow_frame_num_gaps(data) == annex_b(
        b"\x67" + escape(bytes(changed)), PPS, b"\x67" + escape(bytes(changed)), IDR
    )
    only = annex_b(PPS, IDR)
    assert allow_frame_num_gaps(only) == only


def test_an_sps_that_ends_before_the_flag_is_refused() -> None:
    """Baseline; set 1, 4 bits of frame_num, order of type 2 and no references are eight bits: the flag is the next."""
    until = to_bytes(format(66, "08b") + "0" * 15 + "1" + "010" + "1" + "011" + "1")
    with pytest.raises(ValueError, match="past the end"):
        allow_frame_num_gaps(annex_b(b"\x67" + until))
    assert allow_frame_num_gaps(annex_b(b"\x67" + until + b"\x40")) == annex_b(b"\x67" + until + b"\xc0")


def test_slice_kind_reads_type_reference_and_slice_type() -> None:
    assert slice_kind(annex_b(SPS, PPS, IDR)) == (NAL_IDR, 3, SLICE_I)
    with pytest.raises(ValueError, match="without a slice"):
        slice_kind(annex_b(SPS, PPS))


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
