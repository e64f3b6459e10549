"""Timelines, netem's parameters and traces: what another emulator is fed with."""

from __future__ import annotations

import csv
import json
import math
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from dstcc_channels import geometry
from dstcc_channels.gilbert_elliott import GilbertElliott
from dstcc_channels.netem import chain, netem_rows, write_netem
from dstcc_channels.profiles import load_profile
from dstcc_channels.realise import realise
from dstcc_channels.timeline import Timeline, timeline
from dstcc_channels.trace import write_trace
from dstcc_channels.weather import STATES

from dstcc.errors import InputError

START = datetime(2026, 11, 21, tzinfo=UTC)
DAY = 86_400.0
META = {"profile": "x", "start": "2026-11-21T00:00:00Z", "duration_s": DAY}

BURSTS = """\
summary = "bursts"
references = ["me"]
[link]
rate_bps = 1_200_000
delay_s = [[0, 10], [86400, 20]]
loss = {gilbert_elliott = {p = 0.01, r = 0.1, good = 0.0, bad = 1.0}}
outages = [[3600, 7200]]
"""


@pytest.fixture
def bursts(tmp_path):
    path = tmp_path / "bursts.toml"
    path.write_text(BURSTS, encoding="utf-8")
    return load_profile(path)


def test_a_physical_links_timeline_is_its_run():
    profile = load_profile("mro-x-dss35")
    run = realise(profile, START, DAY, 1)
    line = timeline(profile, START, DAY, 600, 1, packet_bytes=1500)
    assert len(line.t_s) == 144
    assert line.rate_bps == run.rate_bps
    assert line.delay_s == pytest.approx(np.interp(line.t_s, run.delay_t_s, run.delay_s))
    for t_s, usable, lost in zip(line.t_s, line.usable, line.packet_loss, strict=True):
        out = any(begin <= t_s < end for begin, end in run.outages_s)
        assert bool(usable) != out
        assert lost == 1 if out else lost < 1e-3


def test_the_way_up_is_a_line_of_its_own():
    profile = load_profile("mro-x-dss35")
    up = timeline(profile, START, DAY, 600, 1, packet_bytes=60, up=True)
    assert up.rate_bps == 2e3
    assert up.packet_loss[up.usable].max() < 1e-5


def test_the_papers_link_draws_within_its_bounds():
    profile = load_profile("iodst-link-1")
    lines = [timeline(profile, START, DAY, DAY, seed, packet_bytes=1500) for seed in range(50)]
    delays = [float(line.delay_s[0]) for line in lines]
    losses = [float(line.packet_loss[0]) for line in lines]
    assert 255 <= min(delays) < 300
    assert 550 < max(delays) <= 600
    assert 1e-4 <= min(losses) < 2e-4
    assert 5e-3 < max(losses) <= 1e-2
    assert delays[3] == float(timeline(profile, START, DAY, DAY, 3, packet_bytes=1500).delay_s[0])


@pytest.mark.parametrize(
    ("loss", "lost"),
    [
        ("", 0.0),
        ("loss = {packet = 0.25}", 0.25),
        ("loss = {ber = 1e-4}", 1 - (1 - 1e-4) ** 800),
        ('loss = {ebn0_db = 5, code = "uncoded"}', 1 - (1 - 0.5 * math.erfc(math.sqrt(10**0.5))) ** 800),
    ],
)
def test_an_abstract_links_losses_are_its_keys(tmp_path, loss, lost):
    """Of packets of 100 bytes, 800 bits; the way up has its own keys, or else those of the way down."""
    text = f'summary = "x"\nreferences = ["x"]\n[link]\nrate_bps = 1000\ndelay_s = 3\n{loss}\n'
    (tmp_path / "x.toml").write_text(text + "outages = [[3, 4]]\n")
    own = tmp_path / "own.toml"
    own.write_text(text + "up_rate_bps = 200\nup_loss = {packet = 0.5}\n")
    for up in (False, True):
        line = timeline(load_profile(tmp_path / "x.toml"), START, 10.0, 1.0, 1, packet_bytes=100, up=up)
        assert line.t_s.tolist() == list(range(10)) and line.rate_bps == 1000 and (line.delay_s == 3).all()
        out = line.t_s == 3
        assert (line.usable == ~out).all()
        assert line.packet_loss == pytest.approx(
            np.where(out, 1.0, lost)
        ) and line.burst_end == pytest.approx(1 - lost)
        assert np.isnan(line.ebn0_db).all() and np.isnan(line.frame_error_rate).all()
        assert not line.scintillation_index.any() and line.weather == () and line.bursts is None
    there, back = (
        timeline(load_profile(own), START, 10.0, 4.0, 1, packet_bytes=100, up=way) for way in (False, True)
    )
    assert (there.rate_bps, back.rate_bps) == (1000, 200) and (back.packet_loss == 0.5).all()
    assert there.packet_loss == pytest.approx(np.full(3, lost)) and there.t_s.tolist() == [0, 4, 8]


def test_draws_spread_over_their_bounds(tmp_path):
    """The mean of an even draw is the middle; of one that is even in its logarithm the geometric mean."""
    (tmp_path / "x.toml").write_text(
        'summary = "x"\nreferences = ["x"]\n[link]\nrate_bps = {log_uniform = [10, 100_000]}\n'
        "delay_s = {uniform = [10, 30]}\n"
    )
    profile = load_profile(tmp_path / "x.toml")
    lines = [timeline(profile, START, 1.0, 1.0, seed, packet_bytes=100) for seed in range(300)]
    delays, rates = (
        np.array(one) for one in zip(*((line.delay_s[0], line.rate_bps) for line in lines), strict=True)
    )
    assert 10 <= delays.min() < 10.5 and 29.5 < delays.max() <= 30 and abs(delays.mean() - 20) < 1
    assert 10 <= rates.min() < 15 and 7e4 < rates.max() <= 1e5 and abs(np.log10(rates).mean() - 3) < 0.2
    assert abs(np.corrcoef(delays, np.log(rates))[0, 1]) < 0.15, "each key has a draw of its own"


def test_netems_chain_has_the_links_loss_and_bursts():
    # 12,000 bits are in 1 + 11999/8920 = 2.345 frames of 8,920, two such packets in 1 + 23999/8920 = 3.690. As long as
    # FER is small these are probabilities in units of it: r = P(either)/P(one) - 1 = 3.690/2.345 - 1 = 0.5737
    profile = load_profile("mro-x-dss35")
    line = timeline(profile, START, DAY, 600, 1, packet_bytes=1500)
    at = int(np.flatnonzero(line.usable)[0])
    row = netem_rows(line, 1500)[at]
    p, r = row["gemodel_p_percent"] / 100, row["gemodel_r_percent"] / 100
    fer = float(line.frame_error_rate[at])
    assert fer < 1e-4
    assert p / (p + r) == pytest.approx(2.345 * fer, rel=1e-3)
    assert r == pytest.approx(0.5737, abs=1e-3)
    assert row["delay_ms"] == pytest.approx(1e3 * float(line.delay_s[at]), abs=1e-5)


def test_outages_lose_everything(bursts):
    line = timeline(bursts, START, DAY, 600, 1, packet_bytes=1500)
    rows = netem_rows(line, 1500)
    out = [row for row in rows if 3600 <= row["t_s"] < 7200]
    assert len(out) == 6
    assert all(row["loss_percent"] == row["gemodel_1_k_percent"] == 100 for row in out)
    assert line.delay_s[72] == pytest.approx(15), "half way through its table"


def test_a_links_own_chain_is_handed_on(bursts):
    row = netem_rows(timeline(bursts, START, DAY, 600, 1, packet_bytes=1500), 1500)[0]
    keys = ("gemodel_p_percent", "gemodel_r_percent", "gemodel_1_h_percent", "gemodel_1_k_percent")
    assert [row[key] for key in keys] == pytest.approx([1, 10, 100, 0])
    assert row["loss_percent"] == pytest.approx(100 * 0.01 / 0.11)
    assert row["limit_packets"] == pytest.approx(1.5 * 10 * 1.2e6 / 12000)


def test_netem_files_agree(tmp_path, bursts):
    rows = netem_rows(timeline(bursts, START, DAY, 600, 1, packet_bytes=1500), 1500)
    for ending in ("csv", "json", "sh"):
        write_netem(rows, tmp_path / f"n.{ending}", META)
    text = (tmp_path / "n.csv").read_text(encoding="utf-8")
    read = list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
    assert [float(row["delay_ms"]) for row in read] == [row["delay_ms"] for row in rows]
    document = json.loads((tmp_path / "n.json").read_text(encoding="utf-8"))
    assert document["rows"] == rows
    assert document["profile"] == "x"
    script = (tmp_path / "n.sh").read_text(encoding="utf-8")
    assert script.count("tc qdisc change") == len(rows) - 1
    assert "delay 10000.000000ms rate 1200000bit loss gemodel 1% 10% 100% 0%" in script
    assert sum(float(line.split()[1]) for line in script.splitlines() if line.startswith("sleep")) == DAY
    subprocess.run(["sh", "-n", tmp_path / "n.sh"], check=True)


def by_hand(delay_s, packet_loss, burst_end, **more):
    """A line of 1.2 Mb/s, 100 packets of 1,500 bytes a second, with rows ten seconds apart."""
    count = len(delay_s)
    nothing = np.zeros(count)
    columns: dict[str, Any] = {
        **{name: nothing for name in ("ebn0_db", "scintillation_index", "frame_error_rate")},
        **{"t_s": 10.0 * np.arange(count), "delay_s": np.array(delay_s), "rate_bps": 1.2e6, "bursts": None},
        **{"packet_loss": np.array(packet_loss), "burst_end": np.array(burst_end)},
        **{"usable": np.array(packet_loss) < 1, "weather": (), "notes": ()},
    }
    return Timeline(**(columns | more))


def test_every_column_by_arithmetic():
    """At S = 4 times and delays are a quarter, the rate is four times as high. 20 s hold 2,000 packets, of which and a
    half more the limit is; the least is 1,000."""
    line = by_hand([20.0, 1.0, 8.0], [0.2, 0.0, 1.0], [0.5, 0.7, 0.1])
    first, second, third = netem_rows(line, 1500, 4.0)
    assert first == pytest.approx(
        {
            **{"t_s": 0, "delay_ms": 5000, "rate_bps": 4_800_000, "loss_percent": 20, "limit_packets": 3000},
            # r = 1/2, p = r loss / (1 - loss) = 1/8; lossy in the bad state alone
            **{"gemodel_p_percent": 12.5, "gemodel_r_percent": 50},
            **{"gemodel_1_h_percent": 100, "gemodel_1_k_percent": 0},
        }
    )
    assert (second["t_s"], second["delay_ms"], second["limit_packets"]) == (2.5, 250, 1000)
    chain_of = [f"gemodel_{key}_percent" for key in ("p", "r", "1_h", "1_k")]
    assert [second[key] for key in chain_of] == [0, 100, 100, 0]
    assert [third[key] for key in chain_of] == [100, 0, 100, 100] and third["loss_percent"] == 100
    assert all(
        isinstance(row["rate_bps"], int) and isinstance(row["limit_packets"], int) for row in (first, third)
    )
    for scale in (1.0, 1e6):
        assert netem_rows(line, 1500, scale)[0]["rate_bps"] == 1.2e6 * scale
    for scale in (0.99, 1.01e6, float("nan")):
        with pytest.raises(
            InputError, match="must be between 1 and 1e\\+06, mission seconds per emulated second"
        ):
            netem_rows(line, 1500, scale)


@pytest.mark.parametrize(("lost", "end"), [(0.01, 0.3), (0.5, 1.0), (0.9, 0.5), (1e-9, 1.0)])
def test_a_chain_has_the_loss_and_where_it_can_the_bursts(lost, end):
    """p / (p + r) is lost; where nearly all is, p = 1 bounds how often bursts end."""
    p, r, bad, good = chain(lost, end)
    assert (bad, good) == (1, 0) and 0 < p <= 1 + 1e-12
    assert p / (p + r) == pytest.approx(lost)
    assert r == pytest.approx(min(end, (1 - lost) / lost))


def test_a_chain_of_bursts_is_handed_on_but_in_an_outage():
    bursts = GilbertElliott(p=0.1, r=0.2, good=0.05, bad=0.9)
    open_, out = netem_rows(by_hand([1.0, 1.0], [0.3, 1.0], [0.5, 0.5], bursts=bursts), 1500)
    chain_of = [f"gemodel_{key}_percent" for key in ("p", "r", "1_h", "1_k")]
    assert [open_[key] for key in chain_of] == pytest.approx([10, 20, 90, 5])
    assert [out[key] for key in chain_of] == [100, 0, 100, 100]


@pytest.mark.parametrize(("longest_s", "times"), [(274.0, None), (274.001, 2), (548.0, 2), (549.0, 3)])
def test_tc_takes_no_delay_above_its_counter(tmp_path, longest_s, times):
    rows = netem_rows(by_hand([10.0, longest_s, 5.0], [0.0] * 3, [1.0] * 3), 1500)
    meta = {**META, "duration_s": 30.0}
    for ending in (".csv", ".json", ".SH"):
        path = tmp_path / f"n{ending}"
        if times is None or ending != ".SH":
            write_netem(rows, path, meta)
            continue
        rule = f"a delay of {longest_s:.6g} s is more than the 274 s that tc takes; {times} times the scale makes"
        with pytest.raises(InputError, match=rule):
            write_netem(rows, path, meta)
        assert not path.exists()
    if times is None:
        lines = (tmp_path / "n.SH").read_text().splitlines()
        assert lines[:2] == ["#!/bin/sh", "# Shapes what leaves a device. Usage: sh FILE DEVICE"]
        begun = lines.index("set -eu")
        assert all(line.startswith("#") for line in lines[:begun])
        tc = [f'tc qdisc {verb} dev "$DEVICE" root netem limit' for verb in ("replace", "change", "change")]
        shaped = "rate 1200000bit loss gemodel 0% 100% 100% 0%"
        assert lines[begun + 1 :] == [
            "DEVICE=${1:?give the device}",
            "trap 'tc qdisc del dev \"$DEVICE\" root' EXIT",
            *(f"{tc[0]} 1500 delay 10000.000000ms {shaped}", "sleep 10"),
            *(f"{tc[1]} 41100 delay 274000.000000ms {shaped}", "sleep 10"),
            *(f"{tc[2]} 1000 delay 5000.000000ms {shaped}", "sleep 10"),
        ]


def test_a_trace_has_its_columns_and_none_of_what_is_unknown(tmp_path):
    line = by_hand(
        [1.0, 1.0],
        [0.25, 1.0],
        [1.0, 1.0],
        t_s=np.array([0.0, 1 / 3]),
        ebn0_db=np.array([1.23456789, np.nan]),
        frame_error_rate=np.array([np.nan, 1e-7]),
        scintillation_index=np.array([0.5, 0.0]),
    )
    for number, weather in enumerate(((), ("clear", "rain"))):
        path = tmp_path / f"{number}.csv"
        write_trace(replace(line, weather=weather), path, META, 1, 1500)
        read = [row for row in path.read_text().splitlines() if not row.startswith("#")]
        sky = weather or ("", "")
        assert read == [
            "t_s,state,weather,ebn0_db,scintillation_index,frame_error_rate,packet_loss",
            f"0,open,{sky[0]},1.23457,0.5,,0.25",
            f"0.3333333333,out,{sky[1]},,0,1e-07,1",
        ]


def test_a_trace_of_bursts_begins_at_its_first_packet(tmp_path):
    """Two packets of 120 bytes, 100 a second; a chain that is bad for ever once it is, and moves at once."""
    bursts = GilbertElliott(p=1.0, r=1.0, good=0.25, bad=0.75)
    line = by_hand([1.0], [0.5], [0.5], bursts=bursts, rate_bps=96_000.0)
    path = tmp_path / "t.csv"
    write_trace(line, path, {**META, "duration_s": 0.05}, 1, 120)
    read = [row.split(",") for row in path.read_text().splitlines() if not row.startswith("#")]
    assert read[0] == ["t_s", "state", "packet_loss"]
    assert [float(row[0]) for row in read[1:]] == pytest.approx([0, 0.01, 0.02, 0.03, 0.04])
    assert {tuple(row[1:]) for row in read[1:]} == {("bad", "0.75"), ("good", "0.25")}
    with pytest.raises(InputError, match=r"duration_s = 1\.00001e\+06: more than 100000000 packets"):
        write_trace(line, tmp_path / "u.csv", {**META, "duration_s": 1_000_010.0}, 1, 120)


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(
        InputError, match=r"cannot tell the format from '\.txt'; .*allowed: \.csv, \.json, \.sh"
    ):
        write_netem([], tmp_path / "n.txt", META)


def test_a_trace_has_a_row_a_step(tmp_path):
    profile = load_profile("mars-ka-dss25")
    line = timeline(profile, START, DAY, 600, 1, packet_bytes=1500)
    write_trace(line, tmp_path / "t.csv", META, 1, 1500)
    text = (tmp_path / "t.csv").read_text(encoding="utf-8")
    read = list(csv.DictReader(row for row in text.splitlines() if not row.startswith("#")))
    assert len(read) == 144
    assert {row["state"] for row in read} == {"open", "out"}
    assert {row["weather"] for row in read} <= set(STATES)
    assert float(read[-1]["ebn0_db"]) == pytest.approx(line.ebn0_db[-1], abs=1e-3)


def test_a_trace_of_bursts_has_a_row_a_change(tmp_path, bursts):
    line = timeline(bursts, START, DAY, 600, 1, packet_bytes=1500)
    write_trace(line, tmp_path / "t.csv", META, 1, 1500)
    text = (tmp_path / "t.csv").read_text(encoding="utf-8")
    read = list(csv.DictReader(row for row in text.splitlines() if not row.startswith("#")))
    times = np.array([float(row["t_s"]) for row in read])
    lengths = np.diff(times) / 0.01  # a packet of 12000 bits at 1.2 Mb/s
    assert all(one["state"] != other["state"] for one, other in pairwise(read))
    bad = lengths[[row["state"] == "bad" for row in read[:-1]]]
    assert bad.mean() == pytest.approx(10, rel=0.03)  # 78,000 bursts


def test_steps_that_make_no_sense_are_refused():
    profile = load_profile("lab")
    with pytest.raises(InputError, match="step_s = 0: must be above 0"):
        timeline(profile, START, DAY, 0, 1, packet_bytes=1500)
    with pytest.raises(InputError, match="at most duration_s"):
        timeline(profile, START, 10, 60, 1, packet_bytes=1500)
    with pytest.raises(InputError, match="makes more than 1000000 rows"):
        timeline(profile, START, DAY, 1e-3, 1, packet_bytes=1500)


def test_visibility_shows_in_the_timeline():
    line = timeline(load_profile("lunar"), START, DAY, 60, 1, packet_bytes=1500)
    windows = geometry.link_times("moon", ["dss-34"], START, DAY, direction="down").usable
    assert line.usable.mean() * DAY == pytest.approx(geometry.total_s(windows), abs=120)


@pytest.mark.parametrize("suffix", [".sh", ".csv"])
def test_a_profiles_name_begins_no_line_of_its_own(tmp_path, suffix):
    """A line of a shell script that is no comment would be run, one of a CSV would be its head."""
    line = timeline(load_profile("mro-x-dss35"), START, DAY, 3600.0, 1, packet_bytes=1500)
    plain = {**META, "duration_s": DAY}
    for name, meta in (("plain", plain), ("named", {**plain, "profile": "x\ntouch /tmp/x\r\x1b[2J"})):
        write_netem(netem_rows(line, 1500, 10.0), tmp_path / f"{name}{suffix}", meta)
        write_trace(line, tmp_path / f"{name}-trace.csv", meta, 1, 1500)
    for end in (suffix, "-trace.csv"):
        plain_lines = (tmp_path / f"plain{end}").read_text().splitlines()
        named_lines = (tmp_path / f"named{end}").read_text().splitlines()
        differing = [
            (one, other) for one, other in zip(plain_lines, named_lines, strict=True) if one != other
        ]
        assert differing == [("# profile: x", r"# profile: x\ntouch /tmp/x\x0d\x1b[2J")]
