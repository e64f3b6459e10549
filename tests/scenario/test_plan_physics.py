"""A contact plan on a link with a profile: up when both say so, at the lesser rate, and what was clipped is named."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from math import log10
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dstcc_channels.geometry import complement, intersection, total_s, union
from dstcc_channels.profiles import load_profile
from dstcc_channels.realise import obstacles, realise
from dstcc_channels.states import link_states

from dstcc.engine import Link, simulate
from dstcc.errors import ScenarioError
from dstcc.scenario import (
    Scenario,
    content_hash,
    describe,
    draw_links,
    draw_trial,
    engine_config,
    link_notes,
    load_scenario,
    load_source,
    to_toml,
)
from tests.scenario.conftest import DAY

START = datetime(2026, 11, 21, tzinfo=UTC)
DAY_S = 86_400.0
RELAY = "areostationary-relay"
"""Mars to DSS-35 at 2.048 Mbit/s; on 21 November the station sees Mars from 55,746 s on, by the sender's clock."""
BELOW = "Mars below the mask of 10 degrees at dss-35"
PAYLOAD_SHARE = 1460 / 1500


@pytest.fixture
def plan(tmp_path: Path) -> Callable[..., Scenario]:
    """A scenario of a day with one link from Mars (2) to the Earth (1), by the lines of its plan."""

    def made(
        lines: str,
        keys: str = f'profile = "{RELAY}"',
        *,
        up: str = "a contact +57000 +86400 1 2 125",
        source: str = "synthetic = {chunk_s = 10.0, layer_bps = [40_000]}",
    ) -> Scenario:
        (tmp_path / "plan.txt").write_text(f"{lines}\n{up}\na range +0 +86400 1 2 900\n")
        (tmp_path / "scenario.toml").write_text(f"""{DAY}
{source}
source = "stored"
[playout]
delay_s = 86_400
[[link]]
name = "a"
contacts = "plan.txt"
source = 2
destination = 1
{keys}
""")
        return load_scenario(tmp_path / "scenario.toml")

    return made


def link(scenario: Scenario, seed: int = 1) -> Link:
    return draw_links(scenario, seed)[0]


def up_s(link: Link) -> list[tuple[float, float]]:
    """When the data direction is up, within the day."""
    return complement([(a / 1e9, b / 1e9) for a, b in link.outages_ns], 0.0, DAY_S)


def delivered_mb(scenario: Scenario, congestion: str = "ltp") -> float:
    setup = draw_trial(scenario, load_source(scenario), 1)
    scheduler = "none" if congestion == "ltp" else "minrtt"
    config = engine_config(scenario, setup, congestion, scheduler)
    result = simulate(config)
    done = result.objects.complete_ns >= 0
    return float(config.objects.payload_bytes[done].sum()) / 1e6


def stored(mb: float) -> str:
    """A source with so many megabytes, there from the start: a chunk each 10 s of 1,000 s."""
    return f"synthetic = {{chunk_s = 10.0, layer_bps = [{mb * 1e6 * 8 / 1000}]}}"


# ------------------------------------------------------------------------------------------------ four planner cases


def test_a_contact_of_four_hours_at_30_000_bytes_a_second_carries_432_mb_at_most(
    plan: Callable[..., Scenario],
) -> None:
    # 4 h x 3,600 s x 30,000 bytes = 432 MB on the wire; the profile's 2.048 Mbit/s would carry 3,686 MB. Payload is
    # 1,460 of 1,500 bytes: 420.5 MB. In chunks of 6 MB, all but one of those that fit are whole.
    scenario = plan("a contact +58000 +72400 2 1 30000", source=stored(600))
    brought = delivered_mb(scenario)
    assert 432 * PAYLOAD_SHARE - 2 * 6 <= brought <= 432 * PAYLOAD_SHARE
    assert link_notes(scenario) == ()


def test_a_contact_with_mars_below_the_horizon_carries_nothing(plan: Callable[..., Scenario]) -> None:
    scenario = plan("a contact +20000 +34400 2 1 30000", source=stored(600))
    state = link_states(load_profile(RELAY), START, np.array([20_000.0, 34_400.0]))
    assert (state.elevation_deg < -25).all()
    assert not state.visible.any()  # what `dstcc links` calls usable: no
    assert delivered_mb(scenario) == 0
    assert link_notes(scenario) == (
        "link a: contact down +20,000 to +34,400 s (2026-11-21 05:33:20–09:33:20 UTC): 0 of its "
        f"14,400 s are left: {BELOW} for 14,400 s",
    )


def test_a_contact_over_an_occultation_carries_what_is_left_of_it(plan: Callable[..., Scenario]) -> None:
    scenario = plan("a contact +58000 +72400 2 1 30000", 'profile = "mro-x-dss35"', source=stored(600))
    hidden = obstacles(load_profile("mro-x-dss35"), START, DAY_S, 1, "down")["occulted by Mars"]
    lost_s = total_s(intersection(hidden, [(58_000, 72_400)]))
    assert 2 * 2_168 < lost_s < 2 * 2_171  # two of some 36 minutes, a third of each revolution
    assert total_s(up_s(link(scenario))) == pytest.approx(14_400 - lost_s, abs=1e-6)
    most = 30_000 * (14_400 - lost_s) / 1e6 * PAYLOAD_SHARE
    # A block that an occultation cuts goes on behind it; a chunk of 6 MB at most is not whole at the end of each piece.
    assert most - 3 * 6 <= delivered_mb(scenario) <= most
    (note,) = (note for note in link_notes(scenario) if "contact down" in note)
    assert f"{14_400 - lost_s:,.3f} of its 14,400 s are left: occulted by Mars for {lost_s:,.3f} s" in note


def test_a_plan_with_more_than_the_profile_carries_has_the_profiles_rate(
    plan: Callable[..., Scenario],
) -> None:
    # 1,000 s at the profile's 2.048 Mbit/s are 256 MB; the plan's 8 Mbit/s would be 1,000 MB.
    scenario = plan("a contact +58000 +59000 2 1 1000000", source=stored(300))
    assert link(scenario).rate_bps == 2.048e6
    assert 256 * PAYLOAD_SHARE - 2 * 3 <= delivered_mb(scenario) <= 256 * PAYLOAD_SHARE
    assert link_notes(scenario) == (
        "link a: the plan has up to 8,000,000 bit/s down, the profile carries 2,048,000: the lesser rate holds",
    )


# ------------------------------------------------------------------------------------------------------ the rule itself


def test_both_directions_are_up_when_plan_and_view_say_so(plan: Callable[..., Scenario]) -> None:
    made = link(plan("a contact +50000 +60000 2 1 30000\na contact +80000 +86400 2 1 30000"))
    real = realise(load_profile(RELAY), START, DAY_S, 1)
    view = complement(real.outages_s, 0, DAY_S)
    np.testing.assert_allclose(
        up_s(made), intersection(view, [(50_000, 60_000), (80_000, 86_400)]), atol=1e-9
    )
    assert made.up_outages_ns is not None
    up = complement([(a / 1e9, b / 1e9) for a, b in made.up_outages_ns], 0.0, DAY_S)
    assert up == [(57_000, DAY_S)]  # the station sees Mars from 56,374 s on
    assert 56_373 < real.up_outages_s[-1][1] < 56_374


def test_obstacles_are_the_outages(plan: Callable[..., Scenario]) -> None:
    for name in ("mro-x-dss35", "lunar"):
        for way in ("down", "up"):
            real = realise(load_profile(name), START, DAY_S, 3)
            found = obstacles(load_profile(name), START, DAY_S, 3, way)
            assert union(*found.values()) == (real.outages_s if way == "down" else real.up_outages_s)


def test_a_clipped_contact_of_acknowledgements_is_named_with_every_reason(
    plan: Callable[..., Scenario],
) -> None:
    scenario = plan(
        "a contact +58000 +60000 2 1 30000", 'profile = "mro-x-dss35"', up="a contact +53000 +58000 1 2 125"
    )
    notes = link_notes(scenario)
    assert len(notes) == 1
    assert "contact up +53,000 to +58,000 s" in notes[0]
    assert f"{BELOW} for " in notes[0]
    assert "; occulted by Mars for " in notes[0]


def test_eb_n0_is_that_at_the_lesser_rate(plan: Callable[..., Scenario]) -> None:
    real = realise(load_profile(RELAY), START, DAY_S, 1)
    slower = link(plan("a contact +58000 +72400 2 1 30000"))
    assert slower.loss.frames is not None
    gained = slower.loss.frames.ebn0_db - real.down.ebn0_db
    np.testing.assert_allclose(gained, 10 * log10(2.048e6 / 240_000))
    # Two contacts: 4 dB more in the second, from the nanosecond on at which it begins.
    two = link(plan("a contact +58000 +60000 2 1 30000\na contact +61000 +62000 2 1 10000"))
    assert (two.rate_bps, two.rate_t_ns, two.rate_share) == (240_000, (0, 61_000 * 10**9), (1.0, 1 / 3))
    frames = two.loss.frames
    assert frames is not None
    step = np.interp([60_999.999999999e9, 61_000e9], frames.t_ns, frames.ebn0_db)
    assert step[1] - step[0] == pytest.approx(10 * log10(3), abs=1e-6)
    assert frames.ebn0_db[0] == slower.loss.frames.ebn0_db[0]
    assert (np.diff(frames.t_ns) > 0).all()


def test_acknowledgements_have_the_lesser_rate_too(plan: Callable[..., Scenario]) -> None:
    # The plan's 125 bytes/s are less than the profile's 2 kbit/s.
    assert link(plan("a contact +58000 +72400 2 1 30000")).up_rate_bps == 1_000


def test_an_override_lets_the_plan_replace_the_profile(plan: Callable[..., Scenario]) -> None:
    lines = "a contact +20000 +34400 2 1 1000000"
    seen = 'contacts_override = ["geometry"]'
    blind = plan(lines, f'profile = "{RELAY}"\n{seen}')
    assert up_s(link(blind)) == [(20_000, 34_400)]
    assert link(blind).rate_bps == 2.048e6
    assert [note for note in link_notes(blind) if "contact" in note] == []
    fast = plan(lines, f'profile = "{RELAY}"\ncontacts_override = ["geometry", "rate"]')
    assert (link(fast).rate_bps, link(fast).up_rate_bps) == (8e6, 1_000)
    assert link_notes(fast) == ()
    # Less energy a bit: 8 Mbit/s over 2.048.
    frames = link(fast).loss.frames
    assert frames is not None
    lost_db = frames.ebn0_db - realise(load_profile(RELAY), START, DAY_S, 1).down.ebn0_db
    np.testing.assert_allclose(lost_db, 10 * log10(2.048 / 8))
    assert content_hash(fast) != content_hash(blind)


def test_keys_of_the_scenario_hold_whatever_plan_and_profile_say(plan: Callable[..., Scenario]) -> None:
    lines = "a contact +20000 +34400 2 1 30000"
    given = plan(lines, f'profile = "{RELAY}"\nrate_bps = 9e5\noutages = []')
    assert (link(given).rate_bps, link(given).outages_ns) == (9e5, ())
    assert link_notes(given) == ()


def test_an_abstract_profile_limits_a_plan_as_well(plan: Callable[..., Scenario], tmp_path: Path) -> None:
    lines = "a contact +0 +3600 2 1 30000\na contact +7200 +9000 2 1 1000"
    drawn = link(plan(lines, 'profile = "iodst-link-1"'))
    # 240 kbit/s of the plan are more than the profile's 115.2, its 8 are less.
    assert (drawn.rate_bps, drawn.rate_share) == (115_200, (1.0, 8_000 / 115_200))
    assert drawn.up_rate_bps == 1_000
    own = tmp_path / "own.toml"
    own.write_text(
        'summary = "dark at times"\nreferences = ["none"]\n'
        "[link]\nrate_bps = 1e5\ndelay_s = 5.0\noutages = [[1_000, 2_000]]\n"
    )
    dark = plan(lines, f'profile = "{own}"')
    assert up_s(link(dark)) == [(0, 1_000), (2_000, 3_600), (7_200, 9_000)]
    clip = "link a: contact down +0 to +3,600 s (2026-11-21 00:00:00–01:00:00 UTC): 2,600 of its 3,600 s"
    assert any(note == f"{clip} are left: an outage of profile own for 1,000 s" for note in link_notes(dark))
    assert up_s(link(plan(lines, f'profile = "{own}"\ncontacts_override = ["geometry"]'))) == [
        (0, 3_600),
        (7_200, 9_000),
    ]
    again = tmp_path / "again.toml"
    again.write_text(to_toml(dark))
    assert load_scenario(again) == dark  # what the profile gave stays the profile's
    assert link(load_scenario(again)) == link(dark)


@pytest.mark.parametrize(
    ("keys", "rule"),
    [
        ('profile = "lunar"\ncontacts_override = ["rates"]', "link.0.contacts_override"),
        ('contacts_override = ["rate"]', "link.0.contacts_override: needs contacts and a profile"),
    ],
)
def test_an_override_of_nothing_is_refused(plan: Callable[..., Scenario], keys: str, rule: str) -> None:
    with pytest.raises(ScenarioError, match=rule):
        plan("a contact +0 +600 2 1 1000", keys)


# -------------------------------------------------------------------------------------------------- rates of contacts


def test_an_uplink_that_the_plan_gives_is_given(plan: Callable[..., Scenario]) -> None:
    """Its note of an assumed one said "the data's rate, 1,000 bit/s", and that is the plan's."""
    scenario = plan("a contact +0 +600 2 1 25000", "")
    assert (link(scenario).rate_bps, link(scenario).up_rate_bps) == (200_000, 1_000)
    assert link_notes(scenario) == ()


def test_contacts_of_different_rates_run_under_ltp(plan: Callable[..., Scenario]) -> None:
    # 25,000, 5,000 and 15,000 bytes/s for 600 s each: 15 + 3 + 9 = 27 MB on the wire. Half seconds count as well.
    lines = "a contact +0.5 +600.5 2 1 25000\na contact +3000 +3600 2 1 5000\na contact +6000 +6600 2 1 15000"
    scenario = plan(lines, "", source=stored(40))
    made = link(scenario)
    assert (made.rate_bps, made.rate_t_ns) == (200_000, (0, 3_000 * 10**9, 6_000 * 10**9))
    assert made.rate_share == (1.0, 0.2, 0.6)
    assert made.outages_ns[0] == (0, 500_000_000)
    # ltp fills each contact at its rate; of each at most a chunk of 0.4 MB is not whole.
    most = 27 * PAYLOAD_SHARE
    assert most - 3 * 0.4 <= delivered_mb(scenario) <= most


def test_acknowledgements_change_their_rate_from_contact_to_contact(plan: Callable[..., Scenario]) -> None:
    up = "a contact +100 +500 1 2 1000\na contact +600 +700 1 2 4000"
    made = link(plan("a contact +0 +600 2 1 1000", "", up=up))
    assert (made.up_rate_bps, made.up_rate_t_ns, made.up_rate_share) == (
        32_000,
        (0, 600 * 10**9),
        (0.25, 1.0),
    )
    # A given rate of the data leaves them the plan's; their own key does not.
    assert link(plan("a contact +0 +600 2 1 1000", "rate_bps = 1e6", up=up)).up_rate_share == (0.25, 1.0)
    given = link(plan("a contact +0 +600 2 1 1000", "up_rate_bps = 1e3", up=up))
    assert (given.rate_bps, given.up_rate_bps, given.up_rate_share) == (8_000, 1e3, ())


def test_contacts_outside_the_run_count_for_nothing(plan: Callable[..., Scenario]) -> None:
    made = link(plan("a contact +0 +600 2 1 1000\na contact +90000 +90600 2 1 25000", ""))
    assert (made.rate_bps, made.rate_share) == (8_000, ())


def test_rates_too_far_apart_are_refused_by_the_key_of_their_plan(plan: Callable[..., Scenario]) -> None:
    lines = "a contact +0 +600 2 1 1\na contact +900 +1600 2 1 2000000"
    with pytest.raises(ScenarioError, match=r"link.0.contacts: rates of 8 and 1.6e\+07 bit/s on one link"):
        plan(lines, "")


def test_a_plan_written_back_is_the_same(plan: Callable[..., Scenario], tmp_path: Path) -> None:
    scenario: Any = plan("a contact +0 +600 2 1 1000", f'profile = "{RELAY}"\ncontacts_override = ["rate"]')
    (tmp_path / "again.toml").write_text(to_toml(scenario))
    assert load_scenario(tmp_path / "again.toml") == scenario


def test_of_a_contact_what_lies_in_the_run_is_left_or_lost(plan: Callable[..., Scenario]) -> None:
    # The hour before the run is no part of the first contact, nor what is behind the day one of the second, which has
    # 86,400 - 50,000 s in it. The station sees Mars until 1,000 s or later, and from 55,746 s on.
    lines = "a contact 2026/11/20-23:00:00 2026/11/21-11:00:00 2 1 30000\na contact +50000 +90000 2 1 30000"
    early, late = link_notes(plan(lines))
    assert "contact down -3,600 to +39,600 s" in early and " of its 39,600 s are left: " in early
    assert "contact down +50,000 to +90,000 s" in late and " of its 36,400 s are left: " in late


def test_each_direction_has_its_own_view_in_its_way(plan: Callable[..., Scenario]) -> None:
    # What the station sends passes an edge of Mars when the light of what it gets does so, by another clock.
    all_day = "a contact +0 +86400 {} 30000"
    made = link(plan(all_day.format("2 1"), 'profile = "mro-x-dss35"', up=all_day.format("1 2")))
    assert made.up_outages_ns is not None
    profile = load_profile("mro-x-dss35")
    for way, dark_ns in (("down", made.outages_ns), ("up", made.up_outages_ns)):
        seen = union(*obstacles(profile, START, DAY_S, 1, way).values())
        dark_s = [(a / 1e9, min(b / 1e9, DAY_S)) for a, b in dark_ns]
        np.testing.assert_allclose(
            intersection(dark_s, [(0.0, DAY_S)]), intersection(seen, [(0.0, DAY_S)]), atol=1e-6
        )
    assert made.outages_ns != made.up_outages_ns


def test_acknowledgements_have_the_energy_of_their_own_rate(plan: Callable[..., Scenario]) -> None:
    # The profile's 2 kbit/s up, of which the plan leaves 1: a bit has twice as long, 3 dB.
    real = realise(load_profile(RELAY), START, DAY_S, 1)
    made = link(plan("a contact +58000 +72400 2 1 30000"))
    assert (real.up_rate_bps, made.up_rate_bps) == (2_000, 1_000)
    assert made.up_loss.frames is not None
    np.testing.assert_allclose(made.up_loss.frames.ebn0_db - real.up.ebn0_db, 10 * log10(2))


def test_the_record_has_the_least_rate_of_either_direction(plan: Callable[..., Scenario]) -> None:
    up = "a contact +100 +500 1 2 1000\na contact +600 +700 1 2 4000"
    lines = "a contact +0 +600 2 1 1000\na contact +700 +900 2 1 500"
    said = describe(link(plan(lines, "", up=up)), DAY_S)
    assert (said["least_rate_bps"], said["least_up_rate_bps"]) == (4_000, 8_000)
    assert (said["rate_steps"], said["up_rate_steps"]) == (2, 2)


@pytest.mark.parametrize("keys", [f'profile = "{RELAY}"', ""], ids=["profile", "plan alone"])
@pytest.mark.parametrize("date", ["2026/11/20", "2026/11/23"], ids=["before", "after"])
def test_a_plan_of_another_day_leaves_the_link_down_and_that_is_said(
    plan: Callable[..., Scenario], keys: str, date: str
) -> None:
    contacts = [
        f"a contact {date}-01:00:00 {date}-02:00:00 2 1 1000",
        f"a contact {date}-03:00:00 {date}-04:00:00 2 1 2000",  # another rate: it begins before the run does
    ]
    scenario = plan("\n".join(contacts), keys)
    made = link(scenario)
    assert (delivered_mb(scenario), made.rate_bps, made.rate_share) == (0.0, 8_000.0, ())
    said = [note for note in link_notes(scenario) if "no contact" in note]
    nearest = {
        "2026/11/20": "-75,600 to -72,000 s (2026-11-20 03:00:00–04:00:00 UTC)",
        "2026/11/23": "+176,400 to +180,000 s (2026-11-23 01:00:00–02:00:00 UTC)",
    }
    assert said == [
        "link a: no contact down of the plan is within the run, which ends at +86,400 s: the nearest is "
        + nearest[date]
    ]
    assert not [
        note for note in link_notes(plan(contacts[0], f"{keys}\noutages = []")) if "no contact" in note
    ]


@pytest.mark.parametrize(
    ("lines", "rule"),
    [
        (
            "a contact +0 +100 2 1 125000000001",
            r"a contact's rate is between 1 and 1e\+12 bit/s, not 1e\+12",
        ),
        (
            "a contact +0 +100 2 1 1000\na range +0 +9 2 1 1000000.5",
            r"a range is between 1e-06 and 1e\+06 light seconds, not 1e\+06",
        ),
        (
            f"a contact +0 +100 2 1 1000\na range +0 +9 2 1 {'9' * 400}",
            r"a range is between 1e-06 and 1e\+06 light seconds, not inf",
        ),
        (
            "a contact +0 +100 2 1 1000\na range +0 +9 2 1 0",
            r"a range is between 1e-06 and 1e\+06 light seconds, not 0",
        ),
    ],
)
def test_numbers_of_a_plan_have_the_bounds_of_the_keys_that_they_stand_for(
    plan: Callable[..., Scenario], lines: str, rule: str
) -> None:
    with pytest.raises(ScenarioError, match=rf"link\.0\.contacts: {rule}"):
        plan(lines, "")
