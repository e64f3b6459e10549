"""Lines of the figures of windows, round trips and rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from dstcc.report.figures.transport import MANY, QUANTITIES, lines
from dstcc.report.model import TrialLink

if TYPE_CHECKING:
    from dstcc.arrays import Arrays

WINDOW, RTT, RATE = QUANTITIES


def samples(subflows: int) -> Arrays:
    """Two slots; subflow s of link a has a window of s + 1, an RTT of 2 (s + 1) s and a rate of 10 (s + 1) bit/s.

    One more is of link b. The last subflow of a has no RTT yet in the first slot.
    """
    number = np.tile(np.arange(subflows + 1), 2)
    srtt_s = 2.0 * (number + 1)
    srtt_s[subflows - 1] = np.nan
    return {
        "t_s": np.repeat([1.0, 2.0], subflows + 1),
        "subflow": number,
        "link": np.where(number < subflows, "a", "b"),
        "cwnd_segments": number + 1,
        "srtt_s": srtt_s,
        "rate_bps": 10.0 * (number + 1),
    }


def test_the_bandwidth_delay_product_is_in_whole_packets_of_the_link() -> None:
    # 1 Mbit/s for 12 s are 1.5 MB: 1,000 packets of 1,500 bytes
    assert WINDOW.reference(TrialLink("a", 1e6, 12.0), 1500) == 1000
    assert WINDOW.reference(TrialLink("a", None, 12.0), 1500) is None


def test_a_line_a_subflow_while_an_eye_can_follow_them() -> None:
    drawn = list(lines(samples(MANY), "a", WINDOW))
    assert [values.tolist() for _, values in drawn] == [[s + 1, s + 1] for s in range(MANY)]


def test_of_many_lanes_a_link_has_one_line() -> None:
    # 1 + .. + 5 = 15 segments and 150 bit/s, which the BDP and the link's rate bound; a mean round trip of 2 × 3 s, and
    # 2 × (1 + 2 + 3 + 4) / 4 = 5 s while the fifth lane has none.
    (window,), (rtt,), (rate,) = (list(lines(samples(5), "a", what)) for what in (WINDOW, RTT, RATE))
    assert window[0].tolist() == [1.0, 2.0]
    assert window[1].tolist() == [15, 15]
    assert rtt[1].tolist() == [5, 6]
    assert rate[1].tolist() == pytest.approx([150, 150])
