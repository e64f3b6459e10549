"""Passes of a station and what fits in each."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from dstcc_channels import geometry
from dstcc_channels.passes import passes
from dstcc_channels.profiles import load_profile
from dstcc_channels.states import link_states

from dstcc.errors import InputError

DAY = 86_400.0
AUTUMN = datetime(2026, 11, 21, tzinfo=UTC)


def test_a_pass_lasts_from_rise_to_set():
    profile = load_profile("mro-x-dss24")
    [one] = passes(profile, AUTUMN, DAY)
    assert [(one.from_s, one.to_s)] == geometry.visibility("dss-24", "mars", AUTUMN, DAY)
    assert (one.to_s - one.from_s) / 3600 == pytest.approx(11.66, abs=0.02)


def test_its_volume_is_rate_times_length_less_what_the_body_hides():
    """At 10 degrees the 34 m antenna takes 3.24 Mb/s over 189 Gm; of 280 km above Mars 37.5 % are hidden at most."""
    profile = load_profile("mro-x-dss24")
    [one] = passes(profile, AUTUMN, DAY)
    middle = (one.from_s + one.to_s) / 2
    assert one.rate_bps == pytest.approx(
        float(link_states(profile, AUTUMN, middle, elevation_deg=10).rate_bps)
    )
    assert one.most_bytes == pytest.approx(one.rate_bps * (one.to_s - one.from_s) / 8)
    assert one.least_bytes / one.most_bytes == pytest.approx(1 - 0.375, abs=0.001)


def test_without_an_orbit_nothing_is_hidden():
    [first, *_] = passes(load_profile("lunar"), AUTUMN, 2 * DAY)
    assert first.hidden_share == 0 and first.least_bytes == first.most_bytes
    assert first.rate_bps == 100e6


def test_no_pass_lies_in_a_conjunction():
    """Mars is within 2 degrees of the Sun for 17 days around 21 March 2028."""
    start = datetime(2028, 3, 1, tzinfo=UTC)
    found = passes(load_profile("mro-x-dss35"), start, 40 * DAY)
    [(begin, end)] = geometry.conjunction_windows("mars", start, 40 * DAY, [2.0])[2.0]
    assert (end - begin) / DAY == pytest.approx(17, abs=0.7)
    assert all(one.to_s <= begin or one.from_s >= end for one in found)
    assert len(found) == pytest.approx(40 - 17, abs=2)


def test_an_abstract_profile_has_none():
    with pytest.raises(InputError, match="abstract profile"):
        passes(load_profile("lab"), AUTUMN, DAY)
