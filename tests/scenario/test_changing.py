"""Channels that change: their keys, what a seed draws of them, and what a record says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from dstcc.engine.config import Link, Loss
from dstcc.errors import ScenarioError
from dstcc.scenario import (
    describe,
    draw_links,
    draw_trial,
    horizon_s,
    load_scenario,
    load_source,
    parse_override,
    to_toml,
)
from dstcc.scenario.changing import State, _pick, chain_until_s, least, stationary, walk
from dstcc.scenario.fields import NS_PER_S

KA = "link.0.loss={states=[{packet=1e-4, dwell_s=2}, {packet=0.1, dwell_s=0.5, rate=0.5}]}"
LONG = "video.loop_to_s=2000"


def links(path: Path, *overrides: str, seed: int = 1) -> tuple[Link, ...]:
    return draw_links(load_scenario(path, [parse_override(text) for text in overrides]), seed)


def mean_rate(loss: Loss, until_s: float) -> float:
    """The mean loss probability of a schedule from mission time 0 to ``until_s``."""
    end = until_s * NS_PER_S
    t = np.array([0.0, *(float(at) for at in loss.t_ns if 0 < at < end), end])
    p = np.interp(t, np.array(loss.t_ns, dtype=float), loss.rates)
    return float(np.trapezoid(p, t) / end)


def test_a_table_of_losses_is_in_straight_lines_as_it_stands(minimal: Path) -> None:
    link = links(minimal, "link.0.loss={table=[[0, 1e-4], [60, 0.02]]}")[0]
    assert (link.loss.kind, link.loss.t_ns, link.loss.rates) == ("schedule", (0, 60 * 10**9), (1e-4, 0.02))
    assert link.up_loss == link.loss
    assert mean_rate(link.loss, 120) == pytest.approx((0.01005 + 0.02) / 2)


def test_a_ramp_begins_when_the_seed_says(minimal: Path) -> None:
    ramp = "link.0.loss={ramp={before=1e-4, after=0.1, start_s={uniform=[10, 50]}, length_s=5}}"
    drawn = [links(minimal, ramp, seed=seed)[0].loss for seed in range(40)]
    starts = np.array([loss.t_ns[0] / 1e9 for loss in drawn])
    assert 10 <= starts.min() < 15 and 45 < starts.max() <= 50
    assert all(loss.t_ns[1] - loss.t_ns[0] == 5 * 10**9 and loss.rates == (1e-4, 0.1) for loss in drawn)


def test_a_rate_over_time_is_its_highest_and_shares_of_it(minimal: Path) -> None:
    link = links(minimal, "link.0.rate_bps=[[0, 1e5], [30, 4e5], [60, 2e5]]")[0]
    assert (link.rate_bps, link.up_rate_bps) == (4e5, 4e5)
    assert link.rate_t_ns == (0, 30 * 10**9, 60 * 10**9) and link.rate_share == (0.25, 1.0, 0.5)
    assert links(minimal)[0].rate_share == ()
    assert links(minimal, "link.0.rate_bps=[[0, 1e5], [30, 1e5]]")[0].rate_share == ()
    assert describe(link, 100)["least_rate_bps"] == 1e5


def test_states_take_the_chances_and_rates_of_their_time(minimal: Path) -> None:
    link = links(minimal, LONG, KA)[0]
    assert set(link.loss.rates) == {1e-4, 0.1} and set(link.hidden_share) == {0.5, 1.0}
    assert link.rate_share == ()  # nobody announced it
    # A state's rate holds from the same nanosecond as its chance of loss, which stands a nanosecond before it too.
    rows = zip(link.loss.t_ns[1:], pairwise(link.loss.rates), strict=True)
    steps = [t for t, (before, after) in rows if before != after]
    assert steps == list(link.hidden_t_ns[1:])
    lossy = dict(zip(link.loss.t_ns, link.loss.rates, strict=True))
    assert all(
        (lossy[t] == 0.1) == (share == 0.5)
        for t, share in zip(link.hidden_t_ns, link.hidden_share, strict=True)
    )
    # 2 s of 2.5 s in the first: 2,000 s have 800 cycles, whose share deviates by about 0.01.
    assert mean_rate(link.loss, 2000) == pytest.approx(0.8 * 1e-4 + 0.2 * 0.1, rel=0.25)


def test_a_longer_run_begins_with_the_same_states_and_other_keys_change_none(minimal: Path) -> None:
    short, long = links(minimal, LONG, KA)[0], links(minimal, "video.loop_to_s=4000", KA)[0]
    rows = len(short.hidden_t_ns) - 1
    assert short.hidden_t_ns[:rows] == long.hidden_t_ns[:rows] and len(long.hidden_t_ns) > 1.5 * rows
    assert links(minimal, LONG, KA, "link.1.rate_bps=9e4")[0] == short
    assert links(minimal, LONG, KA, seed=2)[0].hidden_t_ns != short.hidden_t_ns
    both_lossy = links(minimal, LONG, KA, KA.replace("link.0", "link.1"))
    assert both_lossy[0].hidden_t_ns != both_lossy[1].hidden_t_ns


@pytest.mark.parametrize(
    ("share", "picked"), [(0.0, 0), (0.249, 0), (0.25, 1), (0.5, 2), (0.999, 2), (1.0, 2)]
)
def test_a_state_is_picked_by_its_share_and_the_last_by_rounding(share: float, picked: int) -> None:
    # weights of 1, 1 and 2; a share just below 1 times their sum may round up to it
    assert _pick(np.cumsum([1.0, 1.0, 2.0]), share) == picked


def test_chains_cover_the_duration_or_twice_the_video(minimal: Path) -> None:
    def until_s(*overrides: str) -> float:
        return chain_until_s(load_scenario(minimal, [parse_override(text) for text in overrides]))

    assert until_s("video.loop_to_s=70") == 140
    assert until_s("video.loop_to_s=70", "scenario.duration_s=90") == 90


def test_next_states_follow_their_weights() -> None:
    states = (
        State(packet=0, dwell_s=1, next=(0, 3, 1)),
        State(packet=0, dwell_s=2, next=(0, 0, 1)),
        State(packet=0, dwell_s=4),
    )
    # Jump chain: 0 -> 1 (3/4) or 2; 1 -> 2; 2 -> 0 or 1. Its visits v: v0 = v2 / 2, v1 = 3/4 v0 + v2 / 2 = 7/8 v2.
    visits = np.array([4, 7, 8]) * np.array([1, 2, 4])
    assert stationary(states) == pytest.approx(visits / visits.sum())
    chain = walk(states, np.random.default_rng(1), 20_000)
    follows = [(a, b) for a, b in zip(chain.state, chain.state[1:], strict=False) if a != b]
    assert (1, 0) not in follows and all(a != b for a, b in zip(chain.state, chain.state[1:], strict=False))
    ones = sum(pair == (0, 1) for pair in follows) / sum(pair[0] == 0 for pair in follows)
    assert ones == pytest.approx(0.75, abs=0.04)
    dwells = np.diff(chain.t_ns)[np.array(chain.state[:-1]) == 2] / 1e9
    assert dwells.mean() == pytest.approx(4, rel=0.1) and dwells.std() == pytest.approx(4, rel=0.15)


def test_of_two_rates_over_time_the_lesser_holds() -> None:
    assert least(((0, 10), (100.0, 50.0)), ((0, 4), (70.0, 200.0))) == ((0, 4, 10), (70.0, 100.0, 50.0))
    assert least(((0,), (50.0,)), ((0, 4), (70.0, 60.0))) == ((0,), (50.0,))


def test_a_line_carries_what_its_table_and_its_states_leave() -> None:
    link = Link("a", 100.0, 100.0, (0,), (1,), 1, 1, rate_t_ns=(0, 10**9), rate_share=(1.0, 0.5))
    assert link.carried_bits(0, 3 * 10**9) == pytest.approx(100 + 2 * 50)
    assert link.carried_bits(500_000_000, 10**9) == pytest.approx(50)
    hidden = replace(link, hidden_t_ns=(0, 2 * 10**9), hidden_share=(1.0, 0.1))
    assert hidden.carried_bits(0, 3 * 10**9) == pytest.approx(100 + 50 + 5)
    assert describe(hidden, 3)["least_rate_bps"] == pytest.approx(5)
    assert describe(hidden, 3)["rate_steps"] == 3
    only = replace(hidden, rate_t_ns=(), rate_share=())
    assert (describe(only, 3)["rate_steps"], describe(only, 3)["least_rate_bps"]) == (2, 10)
    announced = describe(link, 3)
    assert (announced["rate_steps"], announced["least_rate_bps"]) == (2, 50)
    assert not {"unannounced_s", "least_up_rate_bps"} & set(announced)
    up = replace(link, rate_t_ns=(), rate_share=(), up_rate_t_ns=(0, 5), up_rate_share=(0.25, 1.0))
    assert (describe(up, 3)["up_rate_steps"], describe(up, 3)["least_up_rate_bps"]) == (2, 25)
    assert "least_rate_bps" not in describe(up, 3)


def test_a_run_without_an_end_is_as_long_as_its_rates_make_it(minimal: Path) -> None:
    # The video plays by the stall rule: it is there when the links have carried it. A tenth of the rate from 10 s on
    # takes some ten times as long, and the guess is twice too long at most.
    def horizon(*overrides: str) -> float:
        scenario = load_scenario(
            minimal, [parse_override(text) for text in ("playout.mode=stall", *overrides)]
        )
        setup = draw_trial(scenario, load_source(scenario), 1)
        return horizon_s(setup.links, setup.objects)

    fast = horizon("link.0.rate_bps=1e3", "link.1.rate_bps=1e3")
    slow = horizon("link.0.rate_bps=[[0, 1e3], [10, 1e2]]", "link.1.rate_bps=[[0, 1e3], [10, 1e2]]")
    assert 5 * fast < slow < 21 * fast


def test_it_is_written_back_as_it_was_read(minimal: Path, write: Callable[[str], Path]) -> None:
    given = load_scenario(
        minimal,
        [
            parse_override(text)
            for text in (
                KA,
                LONG,
                "link.1.rate_bps=[[0, 1e5], [5, 2e5]]",
                "link.1.unannounced_outages=[[2, 4]]",
                "link.1.loss={ramp={before=0.1, after=0.0, start_s=3}}",
            )
        ],
    )
    assert load_scenario(write(to_toml(given))) == given
    assert describe(draw_links(given, 1)[1], 10)["unannounced_s"] == 2


@pytest.mark.parametrize(
    ("overrides", "rule"),
    [
        (["link.0.loss={table=[[0, 0.1], [0, 0.2]]}"], "times must rise"),
        (["link.0.loss={table=[[0, 1.1]]}"], "less than or equal to 1"),
        (["link.0.loss={table=[[0, 0.1]], packet=0.1}"], "exactly one of"),
        (["link.0.rate_bps=[[5, 1e5]]"], "begins at 0 s"),
        (["link.0.rate_bps=[[0, 0]]"], "greater than or equal to 1"),
        (["link.0.rate_bps=[[0, 1], [5, 2e6]]"], "at most 1e\\+06 times the least"),
        (["link.0.loss={states=[{packet=0.1, dwell_s=1}]}"], "at least 2"),
        ([KA.replace("dwell_s=2", "dwell_s=1e-6")], "so short"),
        ([KA.replace("rate=0.5", "next=[0, 1]")], "its own weight is 0"),
        ([KA.replace("rate=0.5", "next=[0, 0]")], "its own weight is 0, another's is not"),
        ([KA.replace("rate=0.5", "next=[1]")], "1 weights for 2 states"),
        ([KA.replace("link.0.loss", "link.0.up_loss")], "leave the rate as it is"),
        ([KA, "video.loop_to_s=", "video.synthetic=", "video.stream=x"], "needs duration_s"),
        (["link.0.unannounced_outages=[[5, 4]]"], "ends after it starts"),
    ],
)
def test_what_cannot_be_is_refused_by_its_key(minimal: Path, overrides: list[str], rule: str) -> None:
    with pytest.raises(ScenarioError, match=rule):
        links(minimal, *overrides)


def test_states_of_acknowledgements_draw_for_themselves_and_those_of_the_data_hold_for_both(
    minimal: Path,
) -> None:
    same = links(minimal, LONG, KA)[0]
    assert same.up_loss == same.loss
    up = "link.0.up_loss={states=[{packet=1e-4, dwell_s=2}, {packet=0.1, dwell_s=0.5}]}"
    assert links(minimal, LONG, KA, up)[0].up_loss != same.loss
