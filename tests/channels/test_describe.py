"""What is said of a link and of a code: each figure beside the model's, each unit, and the passes around a date."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from dstcc_channels import describe
from dstcc_channels.codes import code
from dstcc_channels.describe import (
    describe_code,
    describe_profile,
    iso,
    next_pass,
    parse_date,
    profile_documents,
)
from dstcc_channels.passes import Pass, passes
from dstcc_channels.profiles import load_profile, profile_names
from dstcc_channels.states import link_budget, link_states, parts, threshold

from dstcc.errors import InputError

START = datetime(2026, 11, 21, tzinfo=UTC)
DAY = timedelta(days=1)
MRO = load_profile("mro-x-dss35")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-21", START),
        (" 2026-11-21T06:00:00 ", START + timedelta(hours=6)),
        ("2026-11-21T06:00:00+02:00", START + timedelta(hours=4)),
        ("2026-11-21T06:00:00Z", START + timedelta(hours=6)),
        ("2026-11-21 TDB", START - timedelta(seconds=37 + 32.184)),  # leap seconds, and TT - TAI
    ],
)
def test_a_date_is_read(text: str, moment: datetime) -> None:
    assert abs((parse_date(text) - moment).total_seconds()) < 0.01
    assert parse_date(text).utcoffset() == timedelta(0)


@pytest.mark.parametrize("text", ["21.11.2026", "", "TDB", "2026-13-01"])
def test_another_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not ISO 8601"):
        parse_date(text)


def test_a_moment_is_written_in_utc() -> None:
    assert iso(datetime(2026, 11, 21, 3, 4, 5, tzinfo=timezone(timedelta(hours=2)))) == "2026-11-21T01:04:05Z"


def test_each_shipped_profile_is_in_the_list() -> None:
    assert profile_documents() == [
        {"profile": name, "summary": load_profile(name).summary} for name in profile_names()
    ]


@pytest.mark.parametrize(("up", "elevation_deg"), [(False, 20.0), (False, None), (True, 20.0)])
def test_every_figure_of_a_budget_is_the_models(up: bool, elevation_deg: float | None) -> None:
    date = START + timedelta(hours=13)
    state = link_states(MRO, date, 0.0, elevation_deg=elevation_deg, packet_bytes=700, up=up)
    said = describe_profile(MRO, date, elevation_deg=elevation_deg, packet_bytes=700, up=up)
    document = dict(said.document)
    assert bool(document.pop("next_pass")) == (not up)
    assert document.pop("visible") is bool(state.visible)
    assert (document.pop("profile"), document.pop("date")) == ("mro-x-dss35", "2026-11-21T13:00:00Z")
    assert document == {name: pytest.approx(float(getattr(state, name))) for name in document}
    assert set(document) == {
        *("distance_m", "one_way_s", "ebn0_db", "margin_db", "frame_error_rate", "packet_loss", "rate_bps")
    }
    path, way = parts(MRO, up)
    budget = link_budget(path, way, state.distance_m, state.elevation_deg, MRO.weather.cd)
    known, threshold_db = threshold(way)
    above = float(state.ebn0_db) - known.range_db[1]
    floor = f" (floor of the code's table, which ends {above:.1f} dB below)" if above > 0 else ""
    assert bool(floor) != up
    sources = [("source", ref) for ref in MRO.references] + [("left out", note) for note in MRO.notes]
    assert list(said.lines[-len(sources) :]) == sources
    assert [line for line in said.lines if line[0] != "next pass"][: -len(sources)] == [
        ("date", "2026-11-21 13:00:00 UTC"),
        ("distance", f"{state.distance_m / 1e9:.4g} Gm"),
        ("one way", f"{state.one_way_s:.3f} s"),
        ("Sun-Earth-probe angle", f"{state.sun_earth_probe_deg:.2f} degrees"),
        ("elevation", f"{state.elevation_deg:.1f} degrees at dss-35"),
        ("weather", "no worse in 90 % of the time"),
        *([] if up else [("circuit loss", "1.39 dB")]),
        ("EIRP", f"{budget.eirp_dbw:.2f} dBW at {'7.183' if up else '8.439'} GHz"),
        ("space loss", f"{budget.space_loss_db:.2f} dB"),
        ("atmosphere", f"{budget.atmosphere_db:.2f} dB"),
        ("pointing", "0.80 dB"),
        ("polarisation", "left out: the profile gives none"),
        ("receiving gain", f"{budget.gain_dbi:.2f} dBi"),
        ("noise temperature", f"{budget.noise_k:.1f} K"),
        ("C/N0", f"{budget.cn0_db:.2f} dB-Hz"),
        (
            "rate",
            "2.0 kb/s (fixed, at most 256)"
            if up
            else f"{state.rate_bps / 1e3:,.1f} kb/s (highest with 3 dB margin, at most 6,000)",
        ),
        ("implementation", "0.50 dB"),
        ("Eb/N0", f"{state.ebn0_db:.2f} dB"),
        ("threshold", f"{threshold_db:.2f} dB ({known.name} at {'1e-05' if up else '0.0001'})"),
        ("margin", f"{state.margin_db:.2f} dB"),
        ("scintillation index", f"{state.scintillation_index:.2f}"),
        ("frame error rate", f"{state.frame_error_rate:.3g}{floor}"),
        ("packets of 700 bytes lost", f"{state.packet_loss:.3g}"),
        ("usable", "yes" if state.visible else "no"),
    ]


def test_above_its_last_row_a_table_is_its_floor() -> None:
    """Rows of this code are a tenth of a decibel apart: from the threshold, 1e-4, to the last, 1e-5."""
    assert MRO.down is not None
    for margin_db in (0.0, 0.5):
        near = MRO.model_copy(
            update={"down": MRO.down.model_copy(update={"margin_db": margin_db, "max_rate_bps": 1e9})}
        )
        lines = dict(describe_profile(near, START, elevation_deg=20, packet_bytes=1500).lines)
        known, threshold_db = threshold(near.down)
        above_db = threshold_db + margin_db - known.range_db[1]
        assert lines["frame error rate"].endswith(f" ends {above_db:.1f} dB below)") == (margin_db > 0)


def test_below_the_mask_and_near_the_sun_it_is_warned() -> None:
    """The mask is at 10 degrees, and no use within 2 of the Sun: exactly there is no cause."""
    for degrees, notes in ((9.9, 1), (10.0, 0)):
        said = describe_profile(MRO, START, elevation_deg=degrees, packet_bytes=1500)
        assert len(said.notes) == notes
        assert said.document["visible"] is (degrees == 10)
        if notes:
            rule = "mars stands 9.9 degrees over dss-35's horizon, below its mask of 10: the budget is that of the mask"
            assert said.notes == (rule,)
    near = datetime(2028, 3, 21, tzinfo=UTC)
    angle = float(link_states(MRO, near, 0.0).sun_earth_probe_deg)
    (note,) = describe_profile(MRO, near, elevation_deg=30, packet_bytes=1500).notes
    rule = f"{angle:.2f} degrees from the Sun, less than conjunction_deg = 2: the link is not used"
    assert note == rule
    exact = MRO.model_copy(update={"path": parts(MRO)[0].model_copy(update={"conjunction_deg": angle})})
    assert describe_profile(exact, near, elevation_deg=30, packet_bytes=1500).notes == ()


def test_the_next_pass_is_the_one_that_contains_the_date_or_the_next() -> None:
    found = passes(MRO, START - 2 * DAY, 5 * 86_400.0)
    for date in (START, START + timedelta(hours=9), START + timedelta(hours=20)):
        off_s = (date - START + 2 * DAY).total_seconds()
        expected = next(one for one in found if one.to_s > off_s)
        now = next_pass(MRO, date)
        assert now is not None
        assert (now.from_s, now.to_s) == pytest.approx(
            (expected.from_s - off_s, expected.to_s - off_s), abs=1
        )
        begin, end = date + timedelta(seconds=now.from_s), date + timedelta(seconds=now.to_s)
        said = describe_profile(MRO, date, elevation_deg=20, packet_bytes=1500)
        document = said.document["next_pass"]
        assert set(document) == {"from", "to", "rate_bps", "most_bytes", "least_bytes"}
        for key, moment in (("from", begin), ("to", end)):
            assert abs(datetime.fromisoformat(document[key]) - moment) <= timedelta(seconds=0.5)
        assert [document[key] for key in ("rate_bps", "most_bytes", "least_bytes")] == [
            *(now.rate_bps, now.most_bytes, now.least_bytes)
        ]
        hours = (now.to_s - now.from_s) / 3600
        (text,) = [text for label, text in said.lines if label == "next pass"]
        assert text == (
            f"{begin:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC, {hours:.1f} h at "
            f"{now.rate_bps / 1e3:,.1f} kb/s: {now.most_bytes / 1e6:,.0f} MB "
            f"({now.least_bytes / 1e6:,.0f} if the body hides {100 * now.hidden_share:.0f} % of it)"
        )
    last = next(one for one in found if one.to_s > 2 * 86_400)
    ends = START + timedelta(seconds=last.to_s - 2 * 86_400)
    at_its_end = next_pass(MRO, ends + timedelta(seconds=1))
    assert at_its_end is not None and at_its_end.from_s > 3600, "the next day's"


def test_without_an_orbit_nothing_is_hidden_and_without_a_pass_none_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lunar = load_profile("lunar")
    said = describe_profile(lunar, START, packet_bytes=1500)
    (text,) = [text for label, text in said.lines if label == "next pass"]
    assert text.endswith(" MB") and "hides" not in text
    # passes at 1 to 2 days, 40 days and a second, of which one is cut off by the end of the search
    whole = [Pass(0.0, 86_400.0, 1.0, 0.0), Pass(41 * 86_400.0 - 9, 41 * 86_400.0, 1.0, 0.0)]
    asked = []

    def some(profile: object, start: datetime, duration_s: float) -> list[Pass]:
        asked.append((start, duration_s))
        return whole

    monkeypatch.setattr(describe, "passes", some)
    assert next_pass(lunar, START) is None
    assert asked == [(START - DAY, 41 * 86_400.0)]
    said = describe_profile(lunar, START, packet_bytes=1500)
    assert said.document["next_pass"] is None and ("next pass", "none within 40 days") in said.lines
    whole[1] = Pass(41 * 86_400.0 - 9, 41 * 86_400.0 - 1, 1.0, 0.0)
    assert next_pass(lunar, START) == Pass(40 * 86_400.0 - 9, 40 * 86_400.0 - 1, 1.0, 0.0)


def test_an_abstract_profile_is_its_keys() -> None:
    profile = load_profile("iodst-link-1")
    said = describe_profile(profile, START, packet_bytes=1500)
    assert said.document == {
        "profile": "iodst-link-1",
        "date": "2026-11-21T00:00:00Z",
        **dict.fromkeys(("distance_m", "ebn0_db", "margin_db", "frame_error_rate", "next_pass")),
        "one_way_s": {"uniform": [255.0, 600.0]},
        "packet_loss": {"log_uniform": [1e-4, 1e-2]},
        "rate_bps": 115_200.0,
        "visible": True,
    }
    assert profile.link is not None
    assert list(said.lines) == [
        *((key, str(value)) for key, value in profile.link.items()),
        *(("source", ref) for ref in profile.references),
    ]
    for keys, loss in (({}, 0.0), ({"loss": {"ber": 1e-6}}, {"ber": 1e-6})):
        plain = profile.model_copy(update={"link": {"rate_bps": 1.0, "delay_s": 2.0, **keys}})
        assert describe_profile(plain, START, packet_bytes=1500).document["packet_loss"] == loss
    for options in ({"elevation_deg": 20.0}, {"up": True}):
        with pytest.raises(InputError, match="an abstract profile has no station"):
            describe_profile(profile, START, packet_bytes=1500, **options)


@pytest.mark.parametrize("name", ["ccsds-c2", "uncoded"])
def test_every_figure_of_a_code_is_the_models(name: str) -> None:
    known, at = code(name), 3.7
    said = describe_code(name, at, 700)
    fer, loss = float(known.frame_error_rate(at)), float(known.packet_loss(at, 700))
    assert said.document == {"code": name, "ebn0_db": at, "frame_error_rate": fer, "packet_loss": loss}
    frame = "bit" if name == "uncoded" else "frame of 7136 bits"
    assert list(said.lines) == [
        ("code", f"{name}, rate {known.rate:.4f}"),
        ("Eb/N0", "3.7 dB"),
        (f"{frame} in error", f"{fer:.4g}"),
        ("packet of 700 bytes lost", f"{loss:.4g}"),
        ("frames it is in", f"{known.frames(700):.4g} on average"),
        *(("source", ref) for ref in dict.fromkeys(known.refs)),
    ]
    assert said.notes == ()
    assert describe_code("ccsds-c2", 20.0, 700).notes == (code("ccsds-c2").outside(20.0),)
    for wrong in (np.nan, np.inf):
        with pytest.raises(InputError, match="must be a finite number of dB"):
            describe_code(name, wrong, 700)
