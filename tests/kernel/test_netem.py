"""netem's options against the structures of linux/pkt_sched.h, byte by byte."""

from __future__ import annotations

import struct

import pytest
from dstcc_kernel import netem
from dstcc_kernel.netem import GilbertElliott, Netem, probability, stream


def attributes(data: bytes) -> dict[int, bytes]:
    """Type → value of a run of netlink attributes, 4-byte aligned; the flag bits of types are left out."""
    by_kind = {}
    while data:
        length, kind = struct.unpack_from("HH", data)
        by_kind[kind & 0x3FFF] = data[4:length]
        data = data[(length + 3) & ~3 :]
    return by_kind


def options(shape: Netem) -> tuple[tuple[int, ...], dict[int, bytes]]:
    """The fields of tc_netem_qopt and the attributes that follow it."""
    made = netem.options(shape)
    return struct.unpack_from("6I", made), attributes(made[24:])


def test_a_delay_beyond_what_tc_takes_is_sent_in_64_bits_of_nanoseconds() -> None:
    fields, more = options(Netem(delay_ns=510 * 10**9, limit_packets=106_000))
    assert fields == (0, 106_000, 0, 0, 0, 0)
    assert struct.unpack("q", more[10]) == (510_000_000_000,)


@pytest.mark.parametrize(("p", "parts"), [(0.0, 0), (1.0, 2**32 - 1), (0.5, 2**31), (1e-3, 4_294_967)])
def test_a_probability_is_counted_in_parts_of_2_to_the_32(p: float, parts: int) -> None:
    assert probability(p) == parts
    assert options(Netem(loss=p))[0][2] == parts


def test_a_chain_tells_what_is_kept_in_the_bad_state_and_lost_in_the_good_one() -> None:
    fields, more = options(Netem(loss=GilbertElliott(p=0.01, r=0.25, good=0.001, bad=0.9)))
    assert fields[2] == 0
    model = attributes(more[5])[2]
    parts = [probability(p) for p in (0.01, 0.25, 0.1, 0.001)]
    assert struct.unpack("4I", model) == pytest.approx(parts, abs=1)


def test_a_rate_counts_bytes_a_second_without_the_headers_that_cost_nothing() -> None:
    _, more = options(Netem(rate_bps=115_200, overhead_bytes=-50))
    assert struct.unpack("IiIi", more[6]) == (14_400, -50, 0, 0)
    assert 8 not in more


def test_a_rate_beyond_32_bits_comes_in_64() -> None:
    _, more = options(Netem(rate_bps=40e9 * 8))
    assert struct.unpack_from("I", more[6]) == (2**32 - 1,)
    assert struct.unpack("Q", more[8]) == (40_000_000_000,)


def test_a_seed_is_told_to_kernels_that_know_it() -> None:
    assert 14 not in options(Netem())[1]
    assert struct.unpack("Q", options(Netem(seed=2**40))[1][14]) == (2**40,)


def test_each_link_way_and_step_has_a_seed_of_its_own_that_no_checkout_changes() -> None:
    seeds = {
        stream(seed, link, up, step) for seed in (1, 2) for link in (0, 1) for up in (0, 1) for step in (0, 1)
    }
    assert len(seeds) == 16 and all(0 < seed < 1 << 64 for seed in seeds)
    # sha256("1/0/False/0") would be another's: a truth value counts as its number
    assert stream(1, 0, False, 0) == stream(1, 0, 0, 0) == 0x95B02F81663E1007
