"""``[link.relay]``: its keys, its defaults, what a seed draws, what is refused, and that who has none keeps a hash."""

from __future__ import annotations

from pathlib import Path

import pytest

from dstcc.errors import ScenarioError
from dstcc.scenario import Scenario, describe, draw_links, load_scenario, parse_override, to_toml
from dstcc.scenario.video import content_hash

PLAIN_HASH = "cbe228f5cb2ac16925d9fa719b3eb59616c82cec729824661946d589061ce9c6"
"""As recorded before there were relays."""
HOP = "link.0.relay={at=0.25, rate_bps='1 Mbit/s', cross_traffic=[{rate_bps=2e5, start_s=3}]}"


def loaded(path: Path, *overrides: str) -> Scenario:
    return load_scenario(path, [parse_override(text) for text in overrides])


def test_its_queue_is_a_links_at_its_own_rate_unless_given(minimal: Path) -> None:
    link = draw_links(loaded(minimal, HOP, "link.0.delay_s=600"), 1)[0]
    assert link.relay is not None
    assert (link.relay.at, link.relay.rate_bps) == (0.25, 1e6)
    assert link.relay.queue_bytes == 1e6 * 1200 / 8  # one bandwidth-delay product
    assert (link.relay.cross_traffic[0].rate_bps, link.relay.cross_traffic[0].start_ns) == (2e5, 3 * 10**9)
    given = draw_links(loaded(minimal, HOP, "link.0.relay.queue_bytes=9000"), 1)[0].relay
    assert given is not None and given.queue_bytes == 9000
    assert draw_links(loaded(minimal), 1)[0].relay is None


def test_its_rate_is_drawn_from_a_stream_of_its_own(minimal: Path) -> None:
    drawn = "link.0.relay={at=1, rate_bps={uniform=[1e5, 2e5]}}"
    seeds = [draw_links(loaded(minimal, drawn), seed)[0].relay for seed in range(20)]
    rates = [relay.rate_bps for relay in seeds if relay is not None]
    assert len(set(rates)) == 20 and min(rates) < 1.2e5 and max(rates) > 1.8e5


def test_a_record_and_a_file_have_it(minimal: Path, tmp_path: Path) -> None:
    scenario = loaded(minimal, HOP)
    said = describe(draw_links(scenario, 1)[0], 10)["relay"]
    assert said == {"at": 0.25, "rate_bps": 1e6, "queue_bytes": 1_250_000, "datagrams_bps": [2e5]}
    assert "relay" not in describe(draw_links(loaded(minimal), 1)[0], 10)
    written = tmp_path / "again.toml"
    written.write_text(to_toml(scenario))
    assert load_scenario(written).link[0].relay == scenario.link[0].relay


def test_a_scenario_without_one_keeps_its_hash_and_one_with_it_has_another(minimal: Path) -> None:
    plain, hop = loaded(minimal), loaded(minimal, HOP)
    assert content_hash(plain) == PLAIN_HASH
    assert content_hash(hop) != PLAIN_HASH
    assert content_hash(loaded(minimal, HOP, "link.0.relay.at=0.5")) != content_hash(hop)


@pytest.mark.parametrize(
    ("overrides", "rule"),
    [
        (["link.0.relay={at=1.5, rate_bps=1e5}"], "less than or equal to 1"),
        (["link.0.relay={rate_bps=1e5}"], "relay.at"),
        (["link.0.relay={at=0.5}"], "relay.rate_bps"),
        (["link.0.relay={at=0.5, rate_bps=1e5, delay_s=3}"], "relay.delay_s"),
        (
            [HOP, "transport.restart={at_s=[2], boot_s=1, spool=false}"],
            "has a relay, whose queue would go on",
        ),
    ],
)
def test_what_cannot_be_is_refused(minimal: Path, overrides: list[str], rule: str) -> None:
    with pytest.raises(ScenarioError, match=rule):
        loaded(minimal, *overrides)
