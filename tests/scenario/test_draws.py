from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dstcc.scenario import describe, draw_links, load_scenario, parse_override, rtt_s


def drawn(path: Path, *overrides: str, seed: int = 1) -> list[dict[str, object]]:
    scenario = load_scenario(path, [parse_override(text) for text in overrides])
    return [describe(link, 1e9) for link in draw_links(scenario, seed)]


def test_fixed_values_are_the_same_at_every_seed(minimal: Path) -> None:
    assert drawn(minimal, seed=1) == drawn(minimal, seed=2)


def test_a_seed_draws_the_same_again_and_another_seed_differs(minimal: Path) -> None:
    draw = "link.0.delay_s={uniform = [250, 600]}"
    assert drawn(minimal, draw, seed=7) == drawn(minimal, draw, seed=7)
    assert drawn(minimal, draw, seed=7) != drawn(minimal, draw, seed=8)


def test_a_draw_does_not_move_when_others_are_added(minimal: Path) -> None:
    one = "link.0.delay_s={uniform = [250, 600]}"
    others = ["link.0.rate_bps={uniform = [1000, 2000]}", "link.1.delay_s={uniform = [250, 600]}"]
    alone, among = drawn(minimal, one)[0], drawn(minimal, one, *others)
    assert alone["delay_s"] == among[0]["delay_s"]
    assert among[0]["delay_s"] != among[1]["delay_s"]


def test_draws_fill_their_range(minimal: Path) -> None:
    # Mean of n uniform draws on [0, 1]: 1/2 ± 4 sigma with sigma = 1/sqrt(12 n); n = 400 gives 0.058.
    scenario = load_scenario(
        minimal,
        [
            parse_override("link.0.delay_s={uniform = [250, 600]}"),
            parse_override("link.0.loss.packet={log_uniform = [1e-4, 1e-2]}"),
        ],
    )
    links = [draw_links(scenario, seed)[0] for seed in range(400)]
    delays = np.array([rtt_s(link) / 2 for link in links])
    losses = np.log10([link.loss.rate for link in links])
    for values, low, high in ((delays, 250, 600), (losses, -4, -2)):
        assert low <= values.min() < values.max() <= high
        assert abs((values.mean() - low) / (high - low) - 0.5) < 0.058


def test_defaults_of_a_link(minimal: Path) -> None:
    first, second = drawn(minimal)
    assert first["up_rate_bps"] == 115_200
    assert first["up_loss"] == first["loss"] == {"packet": 1e-3}
    assert second["loss"] == {}
    assert first["rtt_s"] == 10
    # one BDP: 115,200 bit/s × 10 s / 8 = 144,000 bytes; 240,000 × 16 / 8 = 480,000
    assert (first["queue_bytes"], second["queue_bytes"]) == (144_000, 480_000)
    assert drawn(minimal, "link.0.delay_s=0.01")[0]["queue_bytes"] == 64_000


def test_the_way_up_can_differ(minimal: Path) -> None:
    link = drawn(minimal, "link.0.up_rate_bps=9600", "link.0.up_loss.ber=1e-7")[0]
    assert link["up_rate_bps"] == 9600
    assert link["up_loss"] == {"ber": 1e-7}


def test_a_delay_table(minimal: Path) -> None:
    link = drawn(minimal, "link.0.delay_s=[[0, 5], [100, 6.5]]")[0]
    assert link["delay_s"] == [[0, 5], [100, 6.5]]
    assert link["rtt_s"] == 13


@pytest.mark.parametrize("edge", ["{uniform = [5, 5]}", "{log_uniform = [5, 5]}"])
def test_a_range_of_one_value(minimal: Path, edge: str) -> None:
    assert drawn(minimal, f"link.0.delay_s={edge}")[0]["delay_s"] == 5
