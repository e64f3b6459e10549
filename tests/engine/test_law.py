"""The window law in integers against the same law in exact fractions."""

from __future__ import annotations

import platform
import shutil
import subprocess
from fractions import Fraction
from math import floor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstcc.engine._testing import law

ONE = 1 << 16
CWND_MAX = 1 << 28
HEADER = Path(__file__).parents[2] / "kernel-cc/law/dstcc_law.h"

windows = st.integers(0, CWND_MAX)
alphas = st.integers(0, 64 * ONE)
betas = st.integers(-CWND_MAX, CWND_MAX)


@given(windows, alphas, betas, st.integers(2, CWND_MAX))
def test_the_window_is_alpha_w_plus_beta_rounded_half_up_and_clamped(
    w: int, alpha: int, beta: int, cap: int
) -> None:
    exact = floor(Fraction(alpha * w, ONE) + Fraction(1, 2)) + beta
    assert law.window(w, alpha, beta, cap) == max(2, min(exact, cap))


def test_factors_of_the_paper_move_small_windows_too() -> None:
    up, down = round(1.25 * ONE), round(0.8 * ONE)
    assert [law.window(w, up, 0, CWND_MAX) for w in (2, 3, 4, 10)] == [3, 4, 5, 13]  # 2.5, 3.75, 5, 12.5
    assert [law.window(w, down, 0, CWND_MAX) for w in (2, 3, 4, 10)] == [2, 2, 3, 8]  # 1.6, 2.4, 3.2, 8


def test_no_window_is_below_two() -> None:
    assert [law.window(w, ONE, -10, CWND_MAX) for w in (10, 11, 12, 13)] == [2, 2, 2, 3]


@given(st.integers(0, CWND_MAX), st.integers(1, 1 << 20), st.integers(0, 1024))
def test_the_cap_is_headroom_times_the_larger_of_bdp_and_initial_window(
    bdp: int, initial: int, room: int
) -> None:
    cap = law.cap(bdp, initial, room)
    assert cap == (CWND_MAX if room == 0 else min(CWND_MAX, max(2, room * max(bdp, initial))))


@given(windows, st.integers(1, 65_535), st.integers(1, 1 << 33))
def test_the_pace_is_a_window_per_round_trip(w: int, wire: int, srtt_us: int) -> None:
    assert law.pace(w, wire, srtt_us) == max(1, w * wire * 10**6 // srtt_us)


def test_without_a_round_trip_there_is_no_pace() -> None:
    assert law.pace(10, 1500, 0) == 0


@given(st.integers(1, CWND_MAX), st.integers(1, 1 << 33), st.integers(1, 1 << 33))
def test_a_sample_is_the_delivery_rate_times_the_least_round_trip(
    delivered: int, interval: int, rtt: int
) -> None:
    bdp = law.Bdp()
    bdp.sample(delivered, interval, rtt)
    assert bdp.segments() == min(CWND_MAX, delivered * rtt // interval + 1)


def test_the_estimate_keeps_a_maximum_for_8_to_16_rounds() -> None:
    bdp = law.Bdp()
    bdp.sample(100, 1, 1)
    ages = []
    for age in range(1, 20):
        bdp.round()
        bdp.sample(10, 1, 1)
        ages.append((age, bdp.segments()))
    assert all(segments == 101 for age, segments in ages if age <= 8)
    assert all(segments == 11 for age, segments in ages if age >= 16)


def test_a_sample_of_whatever_interval_never_lowers_the_estimate() -> None:
    # Beyond 2^33 us the short cut by a product is not taken: 1 segment in 2^33 + 1 us of a round trip of 1 us is 1.
    for interval in (2, 1 << 33, (1 << 33) + 1, 1 << 40):
        bdp = law.Bdp()
        bdp.sample(100, 1, 1)
        bdp.sample(1, interval, 1)
        assert bdp.segments() == 101


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("language", [("c", "gnu11"), ("c++", "c++17")])
def test_the_header_is_c_and_cxx_and_needs_no_library(language: tuple[str, str], tmp_path: Path) -> None:
    source = tmp_path / "law"
    source.write_text(
        f'#include "{HEADER}"\nunsigned w(void) {{ return dstcc_law_window(10, 2u << 16, 0, 20); }}\n'
    )
    flags = ["-Wall", "-Wextra", "-Werror", "-ffreestanding", "-nostdinc"]
    flags += ["-mno-sse"] if platform.machine() == "x86_64" else []
    stdint = subprocess.run(
        ["cc", "-print-file-name=include"], text=True, capture_output=True, check=True
    ).stdout.strip()
    command = ["cc", "-x", language[0], f"-std={language[1]}", *flags, "-isystem", stdint, "-c", str(source)]
    subprocess.run([*command, "-o", str(tmp_path / "law.o")], check=True, capture_output=True)
