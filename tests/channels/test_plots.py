"""Pictures: drawn whole, the same bytes every time, with the table's rows on the curve."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from datetime import UTC, datetime

import pytest
from dstcc_channels.plots import plot_code, plot_profile
from dstcc_channels.profiles import load_profile

from dstcc.errors import InputError

START = datetime(2026, 11, 21, tzinfo=UTC)


def words(path) -> str:
    return " ".join(element.text or "" for element in ET.parse(path).iter("{http://www.w3.org/2000/svg}text"))


def test_a_links_picture_names_its_conjunctions(tmp_path):
    plot_profile(load_profile("mro-x-dss35"), START, tmp_path / "link.svg")
    text = words(tmp_path / "link.svg")
    for word in ("superior conjunction, 0.8° from the Sun", "opposition", "rate down, kb/s", "one way, min"):
        assert word in text


def test_a_links_rate_stops_where_it_is_not_used(tmp_path, monkeypatch):
    """Mars is within 2 degrees of the Sun from 12 to 29 March 2028: the line has a gap, and no pass lies in it."""
    from matplotlib.axes import Axes

    drawn = []
    plot = Axes.plot

    def noted(axes, *args, **kwargs):
        drawn.append(args)
        return plot(axes, *args, **kwargs)

    monkeypatch.setattr(Axes, "plot", noted)
    plot_profile(load_profile("mro-x-dss35"), START, tmp_path / "link.svg")
    dates, rates = drawn[0]
    gap = [date for date, rate in zip(dates, rates, strict=True) if math.isnan(rate)]
    assert datetime(2028, 3, 12, tzinfo=UTC) < min(gap) < datetime(2028, 3, 14, tzinfo=UTC)
    assert datetime(2028, 3, 28, tzinfo=UTC) < max(gap) < datetime(2028, 3, 30, tzinfo=UTC)
    passes = drawn[1][0]
    assert not [date for date in passes if min(gap) < date < max(gap)]
    assert "a pass, GB" in words(tmp_path / "link.svg")


def test_the_moon_has_phases(tmp_path):
    plot_profile(load_profile("lunar"), START, tmp_path / "link.svg")
    assert "new moon" in words(tmp_path / "link.svg")
    assert "one way, s" in words(tmp_path / "link.svg")


@pytest.mark.parametrize("name", ["ccsds-turbo-1/6-1784", "ccsds-rs-conv-5", "uncoded"])
def test_a_codes_picture_says_where_its_points_come_from(tmp_path, name):
    plot_code(name, tmp_path / "code.svg")
    text = words(tmp_path / "code.svg")
    assert name in text
    if name != "uncoded":
        assert "published" in text
        assert "clamped outside the table" in text


def test_the_same_link_gives_the_same_bytes(tmp_path):
    for name in ("one.svg", "two.svg"):
        plot_code("ccsds-c2", tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_pixels_too(tmp_path):
    plot_code("ccsds-c2", tmp_path / "code.png")
    assert (tmp_path / "code.png").read_bytes().startswith(b"\x89PNG")


def test_what_cannot_be_drawn_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"cannot draw as '\.pdf'; .*allowed: \.svg, \.png"):
        plot_code("ccsds-c2", tmp_path / "code.pdf")
    with pytest.raises(InputError, match="abstract profile"):
        plot_profile(load_profile("lab"), START, tmp_path / "link.svg")
    assert list(tmp_path.iterdir()) == []
