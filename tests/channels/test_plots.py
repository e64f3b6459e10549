"""Pictures: drawn whole, the same bytes every time, with the table's rows on the curve."""

from __future__ import annotations

import math
import re
import struct
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from dstcc_channels import geometry
from dstcc_channels.codes import code
from dstcc_channels.data import rows
from dstcc_channels.passes import passes
from dstcc_channels.plots import NEAR_DEG, PICTURE, plot_code, plot_profile
from dstcc_channels.profiles import load_profile
from dstcc_channels.states import link_states, parts
from matplotlib.dates import date2num

from dstcc.errors import InputError

START = datetime(2026, 11, 21, tzinfo=UTC)


def words(path) -> str:
    return " ".join(element.text or "" for element in ET.parse(path).iter("{http://www.w3.org/2000/svg}text"))


def figures_kept(monkeypatch):
    """The figures that are written from now on, in their order."""
    from matplotlib.figure import Figure

    written = []
    save = Figure.savefig

    def noted(figure, *args, **kwargs):
        written.append(figure)
        save(figure, *args, **kwargs)

    monkeypatch.setattr(Figure, "savefig", noted)
    return written


@pytest.fixture
def figures(monkeypatch):
    """The figures that a test writes."""
    return figures_kept(monkeypatch)


@pytest.fixture(scope="module")
def mro(tmp_path_factory):
    """The picture of an orbiter of Mars, and its file."""
    path = tmp_path_factory.mktemp("links") / "link.svg"
    with pytest.MonkeyPatch.context() as monkeypatch:
        written = figures_kept(monkeypatch)
        plot_profile(load_profile("mro-x-dss35"), START, path)
    return written[0], path


def test_a_links_picture_names_its_conjunctions(mro):
    text = words(mro[1])
    for word in ("superior conjunction, 0.8° from the Sun", "opposition", "rate down, kb/s", "one way, min"):
        assert word in text


def drawn(axes, number=0):
    """Of a line the dates, as numbers of days, and the values."""
    return np.array(axes.lines[number].get_xydata(), dtype=float).T


def test_a_links_picture_is_its_states(mro):
    """Over a synodic period of Mars, 780 days, at 20 degrees, between those at 10 and at 45."""
    profile = load_profile("mro-x-dss35")
    top, volume, middle, bottom = mro[0].axes
    t_s = np.linspace(0, 780 * 86400, 1500)
    low, line, high = (link_states(profile, START, t_s, elevation_deg=angle) for angle in (10.0, 20.0, 45.0))
    used = line.sun_earth_probe_deg >= 2
    assert 10 < (~used).sum() < 50
    days = date2num(START) + t_s / 86400
    at, rate = drawn(top)
    assert at == pytest.approx(days, abs=1e-6)
    assert rate == pytest.approx(np.where(used, line.rate_bps / 1000, np.nan), nan_ok=True)
    band = np.concatenate([path.vertices for path in top.collections[0].get_paths()])
    for state in (low, high):
        where = np.searchsorted(days, band[:, 0] - 1e-6)
        assert np.isin(np.round(state.rate_bps[used] / 1000, 6), np.round(band[:, 1], 6)).all()
    assert band[:, 1].min() == pytest.approx((low.rate_bps[used] / 1000).min()) and where.min() == 0
    cap = parts(profile)[1].max_rate_bps / 1000
    assert drawn(top, 1)[1] == pytest.approx([cap, cap])
    assert top.get_ylim() == pytest.approx((0, 1.15 * high.rate_bps.max() / 1000))
    at, minutes = drawn(middle)
    assert minutes == pytest.approx(line.one_way_s / 60) and at == pytest.approx(days, abs=1e-6)
    assert middle.get_ylim()[0] == 0 == volume.get_ylim()[0]
    lost = np.where(used, np.maximum(line.frame_error_rate, 1e-12), np.nan)
    assert drawn(bottom)[1] == pytest.approx(lost, nan_ok=True)
    assert bottom.get_ylim() == (1e-6, 2) and bottom.get_yscale() == "log"
    # names and numbers
    assert [axes.get_ylabel() for axes in mro[0].axes] == [
        *("rate down, kb/s", "a pass, GB", "one way, min", "frames lost")
    ]
    assert top.get_title(loc="left") == f"{profile.name}: {profile.summary}"
    assert top.yaxis.get_major_formatter()(12345.6) == "12,346"
    assert bottom.yaxis.get_major_formatter()(1e-4) == "0.0001"
    assert mro[0].get_supxlabel() == (
        "elevation 20° (band 10° to 45°); dashed: what the equipment can do; "
        "shaded: Sun within 5°, darker: not used\n"
        "a pass: from rise to set, at the rate that holds for all of it; "
        "down to what is left if the body hides most"
    )
    # all panels share the dates, whose labels are short
    assert len({axes.get_xlim() for axes in mro[0].axes}) == 1
    labels = [text.get_text() for text in bottom.get_xticklabels()]
    assert {"2027", "2028"} <= set(labels) and not any("-" in label for label in labels)
    assert not any(text.get_visible() for text in middle.get_xticklabels())


def test_a_links_picture_marks_conjunctions_in_each_panel(mro):
    period_s = 780 * 86400.0
    near = geometry.conjunction_windows("mars", START, period_s, [NEAR_DEG, 2.0])
    spans = [window for windows in near.values() for window in windows]
    known = geometry.alignments("mars", START, period_s)
    assert len(spans) == 2 and [one.kind for one in known] == ["opposition", "superior conjunction"]
    begin = date2num(START)
    for axes in mro[0].axes:
        shaded = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in axes.patches]
        assert np.array(shaded) == pytest.approx(begin + np.array(spans) / 86400, abs=1e-6)
        assert [axes.lines[i].get_xdata()[0] for i in (-2, -1)] == [
            START + timedelta(seconds=one.t_s) for one in known
        ]
    names = mro[0].axes[0].texts
    assert [text.get_text() for text in names] == [
        " opposition",
        f" superior conjunction, {known[1].sep_deg:.1f}° from the Sun",
    ]
    for text, one in zip(names, known, strict=True):
        assert text.xy == (START + timedelta(seconds=one.t_s), 0.99)
        assert text.xycoords == ("data", "axes fraction")
    assert not any(axes.texts for axes in mro[0].axes[1:])


def test_a_links_passes_are_those_that_are_whole(mro):
    """Mars is within 2 degrees of the Sun from 12 to 29 March 2028: no pass lies there. A pass may lose what the body
    hides at most."""
    profile = load_profile("mro-x-dss35")
    found = passes(profile, START, 780 * 86400.0)
    whole = [one for one in found if one.from_s > 0 and one.to_s < 780 * 86400]
    assert len(found) - len(whole) == 2, "the period begins and ends within a pass"
    at, most = drawn(mro[0].axes[1])
    assert at == pytest.approx(
        [date2num(START) + (one.from_s + one.to_s) / 2 / 86400 for one in whole], abs=1e-6
    )
    assert most == pytest.approx([one.most_bytes / 1e9 for one in whole])
    assert 0 < whole[0].hidden_share < 1
    bars = np.array(mro[0].axes[1].collections[0].get_segments())
    assert bars[:, 0, 1] == pytest.approx([one.least_bytes / 1e9 for one in whole])
    assert bars[:, 1, 1] == pytest.approx(most)
    gap = [date2num(datetime(2028, 3, day, tzinfo=UTC)) for day in (13, 28)]
    assert not ((at > gap[0]) & (at < gap[1])).any()
    _, rate = drawn(mro[0].axes[0])
    day = drawn(mro[0].axes[0])[0]
    assert np.isnan(rate[(day > gap[0]) & (day < gap[1])]).all()
    assert not np.isnan(rate[(day < gap[0] - 2) | (day > gap[1] + 2)]).any()


def test_the_moon_has_phases(tmp_path, figures):
    """In 29.5 days; light takes 1.2 to 1.36 s; in its passes are megabytes; no orbit is hidden behind it."""
    profile = load_profile("lunar")
    plot_profile(profile, START, tmp_path / "link.svg")
    top, volume, middle, _ = figures[0].axes
    (full, new) = [text.get_text() for text in top.texts]
    assert full == " full moon" and re.fullmatch(r" new moon, \d\.\d° from the Sun", new)
    assert middle.get_ylabel() == "one way, s"
    at, seconds = drawn(middle)
    assert 1.18 < seconds.min() < 1.27 < seconds.max() < 1.37
    assert at[-1] - at[0] == pytest.approx(29.5)
    found = passes(profile, START, 29.5 * 86400)
    whole = [one for one in found if one.from_s > 0 and one.to_s < 29.5 * 86400]
    scale, unit = (1e9, "GB") if max(one.most_bytes for one in whole) > 2e9 else (1e6, "MB")
    assert drawn(volume)[1] == pytest.approx([one.most_bytes / scale for one in whole])
    assert volume.get_ylabel() == f"a pass, {unit}"
    assert not volume.collections and "hides" not in figures[0].get_supxlabel()


KINDS = {
    "published": "CCSDS",
    "simulated": "own",
    "read off a simulation": "own",
    "limit, floor": "Shannon floor:",
}
"""What a row's source begins with."""


@pytest.mark.parametrize("name", ["ccsds-turbo-1/6-1784", "ccsds-rs-conv-5", "ccsds-c2", "uncoded"])
def test_a_codes_picture_is_its_model_and_its_table(tmp_path, figures, name):
    plot_code(name, tmp_path / "code.svg", 500)
    (axes,) = figures[0].axes
    known = code(name)
    low, high = (0, 12) if name == "uncoded" else known.range_db
    frames, packets = axes.lines[:2]
    for line, rates in ((frames, known.frame_error_rate), (packets, lambda at: known.packet_loss(at, 500))):
        at, values = np.array(line.get_xydata()).T
        assert at == pytest.approx(np.linspace(low, high, 800))
        assert values == pytest.approx(rates(at))
    what = "bit errors" if name == "uncoded" else f"frames of {known.frame_bits} bits lost"
    assert [frames.get_label(), packets.get_label()] == [what, "packets of 500 bytes lost"]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels[:2] == [what, "packets of 500 bytes lost"]
    if name == "uncoded":
        assert labels == labels[:2]
    else:
        assert labels[2] == axes.lines[2].get_label() == "clamped outside the table"
        at, values = np.array(axes.lines[2].get_xydata()).T
        room = 0.12 * (high - low)
        assert at == pytest.approx([low - room, low, np.nan, high, high + room], nan_ok=True)
        first, last = known.frame_error_rate([low, high])
        assert values == pytest.approx([first, first, np.nan, last, last], nan_ok=True)
        assert set(labels[3:]) == {box.get_label() for box in axes.containers}
    floor = 0.3 * float(known.frame_error_rate(high))
    assert axes.get_ylim() == pytest.approx((min(5e-6, floor), 2)) and axes.get_yscale() == "log"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Eb/N0, dB", "error rate")
    assert axes.get_title(loc="left") == f"{name}: rate {known.rate:.3f}"
    assert axes.yaxis.get_major_formatter()(1e-4) == "0.0001"
    # the rows, each with the marker of its source
    table = {float(row["ebn0_db"]): row for row in rows("fer.csv") if row["code"] == name}
    seen = []
    for box in axes.containers:
        line, _, (bars,) = box
        for (at, rate), ((_, under), (_, over)) in zip(line.get_xydata(), bars.get_segments(), strict=True):
            row = table[at]
            assert any(map(row["ref"].startswith, KINDS[box.get_label()].split()))
            assert (box.get_label() == "simulated") == bool(row["frames"])
            assert rate == pytest.approx(float(known.frame_error_rate(at)), rel=1e-6)
            # two standard deviations of a share of codewords, of which a frame has five
            share, words_ = float(row["frame_error_rate"]), 5 if name == "ccsds-rs-conv-5" else 1
            spread = 2 * math.sqrt(share * (1 - share) / int(row["frames"])) if row["frames"] else 0.0
            ends = [1 - (1 - min(1.0, max(0.0, share + side * spread))) ** words_ for side in (-1, 1)]
            assert (under, over) == pytest.approx(ends, abs=1e-9)
            seen.append(at)
    assert sorted(seen) == sorted(table)


def test_a_picture_replaces_none_but_its_own_kind(tmp_path):
    """``force`` replaces a picture of ours, of either format, and nothing else."""
    svg, png = b"<svg><dc:title>dstcc links 1.0</dc:title>", b"\x89PNG\r\n..tEXtSoftware\0dstcc links 1.0"
    others = (b"dstcc links", b"<svg>", svg[5:], png[4:], png[:6], svg.replace(b"dstcc", b"other"))
    for text, good in ((svg, True), (png, True), *((other, False) for other in others)):
        (tmp_path / "some").write_bytes(text)
        no = PICTURE.wrong(tmp_path / "some")
        assert no == (None if good else "has no mark of a picture of dstcc links")


def test_the_same_link_gives_the_same_bytes(tmp_path):
    for name in ("one.svg", "two.svg"):
        plot_code("ccsds-c2", tmp_path / name)
    same = (tmp_path / "one.svg").read_bytes()
    assert (tmp_path / "two.svg").read_bytes() == same
    with pytest.raises(InputError, match="exists"):
        plot_code("uncoded", tmp_path / "two.svg")
    plot_code("uncoded", tmp_path / "two.svg", force=True)
    assert (tmp_path / "two.svg").read_bytes() != same


def test_pixels_too(tmp_path):
    """7.5 by 5 inches of 144 pixels; in the header chunk after eight bytes of signature and eight of its own."""
    for force in (False, True):
        plot_code("ccsds-c2", tmp_path / "code.PNG", force=force)
    head = (tmp_path / "code.PNG").read_bytes()[:24]
    assert head.startswith(b"\x89PNG") and struct.unpack(">II", head[16:]) == (1080, 720)


def test_what_cannot_be_drawn_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"cannot draw as '\.pdf'; .*allowed: \.svg, \.png"):
        plot_code("ccsds-c2", tmp_path / "code.pdf")
    with pytest.raises(InputError, match="abstract profile"):
        plot_profile(load_profile("lab"), START, tmp_path / "link.svg")
    assert list(tmp_path.iterdir()) == []
