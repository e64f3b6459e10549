"""Profiles, light times, contact plans and codes in scenarios: what the engine gets."""

from __future__ import annotations

from datetime import UTC, datetime
from math import log10
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dstcc_channels.codes import code
from dstcc_channels.geometry import light_time_s
from dstcc_channels.profiles import load_profile
from dstcc_channels.realise import realise

from dstcc.engine import Link, clairvoyant_weight, simulate
from dstcc.errors import ScenarioError
from dstcc.scenario import (
    content_hash,
    describe,
    draw_links,
    draw_trial,
    engine_config,
    link_notes,
    load_scenario,
    load_source,
    parse_override,
    to_toml,
)
from dstcc.scenario.draws import longest_possible_rtt_s
from tests.scenario.conftest import DAY

START = datetime(2026, 11, 21, tzinfo=UTC)
DAY_S = 86_400.0
HEAD = f"""{DAY}
synthetic = {{chunk_s = 10.0, layer_bps = [40_000]}}
[playout]
delay_s = 7_200
"""
PLAN = """# data from node 2 to node 1
a contact +0 +600 2 1 25000
a contact +0 +600 1 2 1000
a contact +900 +2000 2 1 25000
a contact +1000 +2000 1 2 1000
a range +0 +1000 1 2 30
a range +1000 +2000 1 2 40
"""


@pytest.fixture
def drawn(tmp_path: Path):
    """The one link of a scenario, from its keys."""

    def draw(keys: str, *overrides: str, seed: int = 1, head: str = HEAD) -> Link:
        path = tmp_path / "scenario.toml"
        path.write_text(f'{head}\n[[link]]\nname = "a"\n{keys}\n')
        scenario = load_scenario(path, [parse_override(text) for text in overrides])
        return draw_links(scenario, seed)[0]

    return draw


def test_a_physical_profile_needs_no_numbers(drawn):
    link = drawn('profile = "mro-x-dss35"')
    real = realise(load_profile("mro-x-dss35"), START, DAY_S, 1)
    assert (link.rate_bps, link.up_rate_bps) == (real.rate_bps, real.up_rate_bps)
    assert link.loss.kind == link.up_loss.kind == "frames"
    np.testing.assert_array_equal(link.loss.frames.ebn0_db, real.down.ebn0_db)
    np.testing.assert_allclose(np.array(link.outages_ns) / 1e9, real.outages_s, atol=1e-9)
    np.testing.assert_allclose(np.array(link.up_outages_ns) / 1e9, real.up_outages_s, atol=1e-9)
    np.testing.assert_allclose(np.array(link.delay_ns) / 1e9, real.delay_s, atol=1e-9)


def test_keys_beside_a_profile_win(drawn):
    from_profile = drawn('profile = "mro-x-dss35"')
    link = drawn(
        'profile = "mro-x-dss35"\nrate_bps = 1e6\ndelay_s = 5\noutages = [[1, 2]]\nup_loss = {packet = 0.1}\n'
        "queue_bytes = 70_000"
    )
    assert (link.rate_bps, link.delay_ns, link.queue_bytes) == (1e6, (5 * 10**9,), 70_000)
    assert link.outages_ns == ((10**9, 2 * 10**9),)
    assert link.up_outages_ns is None
    assert link.up_loss.kind == "packet"
    # Energy per bit goes with the time that a bit takes.
    gained = link.loss.frames.ebn0_db - from_profile.loss.frames.ebn0_db
    np.testing.assert_allclose(gained, 10 * log10(from_profile.rate_bps / 1e6))
    assert drawn('profile = "mro-x-dss35"\noutages = []').outages_ns == ()


def test_seeds_share_the_geometry_and_draw_weather_and_orbit(drawn):
    one, same, other = (drawn('profile = "mro-x-dss35"', seed=seed) for seed in (1, 1, 2))
    assert one.delay_ns == other.delay_ns
    assert one.outages_ns == same.outages_ns != other.outages_ns
    assert (one.loss.frames.ebn0_db != other.loss.frames.ebn0_db).any()


def test_an_abstract_profile_is_its_keys_with_their_draws(drawn):
    links = [drawn('profile = "iodst-link-1"', seed=seed) for seed in range(20)]
    assert {link.rate_bps for link in links} == {115_200}
    assert len({link.delay_ns for link in links}) == 20
    assert all(255e9 <= link.delay_ns[0] <= 600e9 for link in links)
    assert all(1e-4 <= link.loss.rate <= 1e-2 for link in links)
    assert drawn('profile = "iodst-link-1"', "link.0.loss.packet=0.5").loss.rate == 0.5
    # The same draws as for a link with these keys.
    keys = (
        "rate_bps = 115_200\ndelay_s = {uniform = [255, 600]}\nloss = {packet = {log_uniform = [1e-4, 1e-2]}}"
    )
    assert drawn(keys, seed=3) == links[3]


def test_a_light_time_between_bodies(drawn, tmp_path):
    link = drawn('rate_bps = 1e6\ndelay_s = {bodies = ["mars", "earth"]}')
    t_s = np.array(link.delay_t_ns) / 1e9
    assert (t_s[0], t_s[-1]) == (0, DAY_S)
    expected = light_time_s("mars", "earth", START, t_s, sent=True)
    np.testing.assert_allclose(np.array(link.delay_ns) / 1e9, expected, atol=1e-9)
    # Between rows the spline is as good: its slopes are those of the light time (differences over 2 s).
    steps = light_time_s("mars", "earth", START, np.stack([t_s - 1, t_s + 1]), sent=True)
    np.testing.assert_allclose(link.delay_slope, (steps[1] - steps[0]) / 2, atol=2e-8)
    assert drawn('rate_bps = 1e6\ndelay_s = {bodies = ["earth", "mars"]}') == link
    assert link.delay_t_ns == tuple(600 * 10**9 * row for row in range(145)), (
        "ten minutes apart, both ends included"
    )
    short = drawn('rate_bps = 1e6\ndelay_s = {bodies = ["earth", "mars"]}', "scenario.duration_s=1000")
    assert short.delay_t_ns == (0, 500 * 10**9, 1000 * 10**9), "two pieces at least"
    longest_s = longest_possible_rtt_s(load_scenario(tmp_path / "scenario.toml"))
    assert longest_s == 2 * max(link.delay_ns) / 1e9


@pytest.mark.parametrize("gone", ["start", "duration_s"])
def test_physics_needs_a_date_and_a_length(drawn, gone):
    head = "\n".join(line for line in HEAD.splitlines() if not line.startswith(gone))
    for key, keys in (
        ("profile", 'profile = "lunar"'),
        ("delay_s", 'rate_bps = 1\ndelay_s = {bodies = ["moon", "earth"]}'),
    ):
        with pytest.raises(
            ScenarioError, match=rf"scenario.toml: link.0.{key}: needs {gone} in \[scenario\]"
        ):
            drawn(keys, head=head)


def test_a_date_outside_the_ephemeris_names_its_key(drawn):
    with pytest.raises(ScenarioError, match=r"scenario.toml: link.0.profile: .*9999"):
        drawn('profile = "lunar"', "scenario.start=9999-01-01T00:00:00Z")


def test_a_contact_plan(drawn, tmp_path):
    (tmp_path / "plan.txt").write_text(PLAN)
    link = drawn('contacts = "plan.txt"\nsource = 2\ndestination = 1')
    assert (link.rate_bps, link.up_rate_bps) == (200_000, 8_000)
    assert link.outages_ns[0] == (600 * 10**9, 900 * 10**9)
    assert link.up_outages_ns is not None
    assert link.up_outages_ns[0] == (600 * 10**9, 1000 * 10**9)
    assert link.outages_ns[-1][0] == 2000 * 10**9  # and dark for ever after
    assert (link.delay_ns[0], link.delay_ns[-1]) == (30 * 10**9, 40 * 10**9)
    faster = drawn('contacts = "plan.txt"\nsource = 2\ndestination = 1\nrate_bps = 1e6\ndelay_s = 1')
    assert (faster.rate_bps, faster.up_rate_bps, faster.delay_ns) == (1e6, 8_000, (10**9,))
    beside = drawn('profile = "lab"\ncontacts = "plan.txt"\nsource = 2\ndestination = 1')
    assert (beside.rate_bps, beside.outages_ns) == (
        200_000,
        link.outages_ns,
    )  # less than the profile's 4 Mbit/s


@pytest.mark.parametrize(
    ("keys", "rule"),
    [
        ('contacts = "none.txt"\nsource = 1\ndestination = 2', "none.txt: no such contact plan"),
        ('contacts = "plan.txt"\nsource = 1\ndestination = 3', "no contact from 1 to 3; the plan has 1 to 2"),
        ('contacts = "bad.txt"\nsource = 1\ndestination = 2', "bad.txt:1: "),
    ],
)
def test_a_plan_that_cannot_be_used(drawn, tmp_path, keys, rule):
    (tmp_path / "plan.txt").write_text(PLAN)
    (tmp_path / "bad.txt").write_text("a contact now then 1 2 3\n")
    with pytest.raises(ScenarioError, match=rf"scenario.toml: link.0.contacts: .*{rule}"):
        drawn(keys)


def test_a_code_at_an_eb_n0(drawn):
    keys = 'rate_bps = 1e6\ndelay_s = 1\nloss = {ebn0_db = 0.3, code = "ccsds-turbo-1/3-1784"}'
    frames = drawn(keys).loss.frames
    assert frames.frame_bits == 1784
    grid = frames.curve_from_db + frames.curve_step_db * np.arange(len(frames.log10_fer))
    model = code("ccsds-turbo-1/3-1784")
    assert 10 ** np.interp(0.3, grid, frames.log10_fer) == pytest.approx(
        float(model.frame_error_rate(0.3)), rel=1e-3
    )
    uncoded = drawn(keys, "link.0.loss.code=uncoded").loss
    assert (uncoded.kind, uncoded.rate) == (
        "ber",
        pytest.approx(float(code("uncoded").frame_error_rate(0.3))),
    )
    ranged = [
        drawn(keys, "link.0.loss.ebn0_db={uniform = [0, 1]}", seed=s).loss.frames.ebn0_db[0] for s in (1, 2)
    ]
    assert ranged[0] != ranged[1]
    assert drawn(keys, "link.0.loss.packet=0.1").loss.kind == "packet"


def test_what_was_resolved_is_said(drawn, tmp_path):
    described: dict[str, Any] = describe(drawn('profile = "mro-x-dss35"'), end_s=1e9)
    assert described["delay_s"].keys() == {"min", "max"}
    assert described["outages"] == 5
    assert describe(drawn('profile = "mro-x-dss35"'), end_s=0.0)["outages"] == 0
    assert described["loss"]["frames"]["code"] == "ccsds-turbo-1/2-8920"
    low, high = described["loss"]["frames"]["ebn0_db"]
    assert 3 < low < high < 8
    # a few decibels above the table are what a margin is for
    assert described["loss"]["frames"]["table_ebn0_db"][1] < low
    assert link_notes(load_scenario(tmp_path / "scenario.toml")) == ()
    drawn('rate_bps = 1\nup_rate_bps = 1\ndelay_s = 1\nloss = {ebn0_db = -9, code = "ccsds-c2"}')
    [note] = link_notes(load_scenario(tmp_path / "scenario.toml"))
    assert note.startswith("link a: loss: Eb/N0 -9.00 dB is below the table of ccsds-c2")


@pytest.mark.parametrize(
    "keys",
    [
        'profile = "mro-x-dss35"\noutages = []',
        'profile = "iodst-link-2"',
        'rate_bps = 1e6\ndelay_s = {bodies = ["moon", "earth"], ephemeris = "kepler"}',
        'contacts = "plan.txt"\nsource = 2\ndestination = 1',
        'rate_bps = 1e6\ndelay_s = 1\nloss = {ebn0_db = 4, code = "ccsds-c2"}',
    ],
)
def test_as_resolved_it_reads_back(drawn, tmp_path, keys):
    (tmp_path / "plan.txt").write_text(PLAN)
    drawn(keys)
    scenario = load_scenario(tmp_path / "scenario.toml")
    (tmp_path / "again.toml").write_text(to_toml(scenario))
    assert load_scenario(tmp_path / "again.toml") == scenario


def test_files_count_by_their_content(drawn, tmp_path):
    def hashed(folder: str, text: str) -> str:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "plan.txt").write_text(text)
        (tmp_path / folder / "own.toml").write_text(load_profile("lab").file.read_text())
        path = tmp_path / folder / "scenario.toml"
        keys = 'profile = "own.toml"\ncontacts = "plan.txt"\nsource = 2\ndestination = 1'
        path.write_text(f'{HEAD}\n[[link]]\nname = "a"\n{keys}\n')
        return content_hash(load_scenario(path))

    assert hashed("one", PLAN) == hashed("two", PLAN) != hashed("three", PLAN + "# later\n")


def test_no_sender_beats_the_bound_on_a_profile(drawn, tmp_path):
    drawn('profile = "mro-x-dss35"\nrate_bps = 9e6')
    scenario = load_scenario(
        tmp_path / "scenario.toml",
        [parse_override("scenario.duration_s=70000"), parse_override("video.loop_to_s=62000")],
    )
    setup = draw_trial(scenario, load_source(scenario), 1)
    config = engine_config(scenario, setup, "open-loop", "minrtt")
    bound = clairvoyant_weight(config, np.ones(len(config.objects.chunk)))
    objects = simulate(config).objects
    played = (objects.complete_ns >= 0) & (objects.complete_ns <= config.objects.deadline_ns)
    assert 0 < played.sum() <= bound < len(played)
