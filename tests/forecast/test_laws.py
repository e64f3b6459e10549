"""The laws that forecasters are trained on: what each is, and that none of the held-out missions' is among them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dstcc.coded.channels import POINTS
from dstcc.coded.fleet import Fleet, Step
from dstcc.coded.rules import Automatic
from dstcc.forecast import histories, laws
from dstcc.forecast.inputs import FIRST_SPAN, NAMES, Inputs
from dstcc.forecast.outlook import AHEAD_SIZE, SIZE
from dstcc.scenario import load_scenario, parse_override

from .made import write

T = (np.arange(1600) + 0.5) / 80
"""Times up to twenty round trips."""


SHIPPED = {
    "steady": (
        (0.000150563, 0.000150563, 0.000150563, 0.000150563),
        (0.0103943, 0.0103943, 0.0103943, 0.0103943),
        (0.00739414, 0.00739414, 0.00739414, 0.00739414),
    ),
    "chain": (
        (0.0207082, 0.0111888, 0.0111888, 0.00760392),
        (0.00271187, 0.00271187, 0.00271187, 0.00271187),
        (0.0281687, 0.0173449, 0.115479, 0.0194096),
    ),
    "rise": (
        (0.000150563, 0.253061, 0.37656, 0.241599),
        (0.01022, 0.179265, 0.179265, 0.174129),
        (1.57428e-05, 0.049776, 0.049776, 0.044572),
    ),
    "lines": (
        (0.000173095, 0.0591315, 0.444285, 0.114277),
        (0.00531266, 0.0146135, 0.0360883, 0.00872977),
        (0.0844801, 0.10309, 0.00504436, 0.0495368),
    ),
    "curves": (
        (0.000173095, 0.0947929, 0.449532, 0.179167),
        (0.00570827, 0.0756439, 0.0350637, 0.0250631),
        (0.0857703, 0.245291, 0.00472364, 0.0853408),
    ),
    "drift": (
        (0.00642156, 0.00278231, 0.00285797, 0.0031999),
        (0.00022021, 5.75334e-05, 5.22048e-05, 8.68658e-05),
        (0.151135, 0.0957832, 0.272514, 0.201938),
    ),
}
"""Of seeds 1 to 3, at 200 times up to ten round trips: the first chance, the 91st, the last, and the mean."""
DRAWN = (
    0.094529,
    2.27183e-05,
    1.62743e-05,
    0.00336314,
    0.00225521,
    0.00790882,
    0.0365456,
    0.0120477,
    0.243775,
    6.7759e-05,
    0.00343061,
    1.16416e-05,
)
"""Of seeds 0 to 11, over 50 slots of a fifth of a round trip: the chance in the 26th."""


def drawn(name: str, count: int = 40) -> list[np.ndarray]:
    """Laws of a family."""
    return [laws.FAMILIES[name][1](np.random.default_rng(seed), T) for seed in range(count)]


def straight_falls(chance: np.ndarray, rtts: float = 1.0) -> bool:
    """Whether the chance falls by half within so many round trips in what is a straight line of it."""
    width = int(rtts * 80)
    for at in range(0, len(chance) - width, width // 4):
        part = chance[at : at + width + 1]
        fall = part[0] - part[-1]
        chord = part[0] - fall * np.linspace(0, 1, width + 1)
        if fall > 0.5 * part[0] and np.abs(part - chord).max() < 2e-3 * fall:
            return True
    return False


@pytest.mark.parametrize("name", laws.FAMILIES)
def test_a_family_is_of_chances_and_the_same_draws_give_the_same_law(name: str) -> None:
    for law in drawn(name):
        assert law.shape == T.shape and law.min() >= 0.99 * laws.LEAST and law.max() <= 1.01 * laws.MOST
    assert (drawn(name, 1)[0] == drawn(name, 1)[0]).all()


def test_the_histories_are_those_that_the_shipped_forecaster_was_trained_on() -> None:
    """A seed's draws are what a training's record stands for: who changes a law trains anew."""
    t = (np.arange(200) + 0.5) / 4 * 0.2
    for name, seeds in SHIPPED.items():
        for seed, expected in enumerate(seeds, 1):
            law = laws.FAMILIES[name][1](np.random.default_rng(seed), t)
            assert [law[0], law[90], law[199], law.mean()] == pytest.approx(expected, rel=1e-5), name
    slots = [laws.draw(np.random.default_rng(seed), 50, 0.2)[25] for seed in range(len(DRAWN))]
    assert slots == pytest.approx(DRAWN, rel=1e-5)


@pytest.mark.parametrize("name", laws.FAMILIES)
def test_no_family_falls_in_a_straight_line_of_the_chance(name: str) -> None:
    assert not any(straight_falls(law) for law in drawn(name))
    relief = np.interp(T, [4, 8], [0.12, 1e-3])
    tide = np.interp(T, [0, 4.5, 9, 13.5, 18, 22.5], [1e-4, 0.15] * 3)
    flare = np.interp(T, [3, 3.05, 12], [1e-4, 0.2, 1e-4])
    assert straight_falls(relief) and straight_falls(tide) and straight_falls(flare)


def test_a_rise_only_rises_and_ends_where_it_is() -> None:
    assert all((np.diff(law) >= 0).all() for law in drawn("rise"))


def test_a_chain_has_no_direction() -> None:
    """Of three levels or more, from each the others follow alike: no order, as `sinking` has one."""
    up = down = 0
    for law in drawn("chain", 200):
        levels = np.unique(law)
        if len(levels) < 3:
            continue
        steps = np.diff(np.searchsorted(levels, law[np.flatnonzero(np.diff(law, prepend=-1) != 0)]))
        # In a row each worse, and from the worst to the best at once, all rises would be of one level.
        up += int((steps == 1).sum())
        down += int((steps == -1).sum())
    assert 0.8 < up / down < 1.25


def test_no_law_is_a_wave() -> None:
    """Peaks of `tide` are alike and evenly apart; no two peaks of a curve or of lines are both within 1 %."""
    for name in ("lines", "curves"):
        for law in drawn(name, 60):
            inner = law[1:-1]
            peaks = np.flatnonzero((inner > law[:-2]) & (inner >= law[2:])) + 1
            if len(peaks) >= 3:
                heights, apart = law[peaks], np.diff(T[peaks])
                assert np.ptp(heights) > 0.01 * heights.max() or np.ptp(apart) > 0.01 * apart.max()


def test_shares_of_families_are_kept() -> None:
    assert sum(share for share, _ in laws.FAMILIES.values()) == pytest.approx(1)
    calm = sum(np.ptp(laws.draw(np.random.default_rng(seed), 200, 0.05)) == 0 for seed in range(300))
    assert 4 <= calm <= 60  # `steady`, and chains that stay


def test_a_history_has_the_laws_losses_and_comes_in_rows_where_it_is_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chance = np.full(4000, 0.1)
    for rows, longest in ((0.0, 1.3), (1.0, 9.0)):
        monkeypatch.setattr(histories, "ROWS", rows)
        row = []
        for seed in range(6):
            heard, lost, runs = histories.history(np.random.default_rng(seed), chance, 300)
            assert (lost <= heard).all() and (runs <= lost).all() and ((runs > 0) == (lost > 0)).all()
            assert lost.sum() / heard.sum() == pytest.approx(0.1, rel=0.1)
            row.append(lost.sum() / runs.sum())
        assert min(row) >= 1 and max(row) < longest
        assert max(row) > (1.05 if rows == 0 else 2)


def test_forecasts_are_judged_by_the_law_where_it_will_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histories, "GAPS", 0.0)
    monkeypatch.setattr(histories, "SLOT_RTTS", (0.05, 0.0500001))
    # A law that is its own clock: in slot i the chance is i/1000.
    monkeypatch.setattr(laws, "draw", lambda draws, slots, slot: np.arange(slots) / 1000)
    batch = histories.batch(np.random.default_rng(1), 2, 30, 3)
    assert batch.inputs.shape == (2, 30, SIZE) and batch.features.shape == (2, 31, 3, AHEAD_SIZE)
    assert batch.held.shape == (2, 31, 3, POINTS)
    ahead = np.exp(batch.features[..., 0])
    for event in (1, 17, 30):
        slots = (event - 1) + ahead[:, event] / 0.05
        assert batch.chance[:, event] == pytest.approx(slots / 1000, abs=1e-4)
    assert batch.chance[:, 0] == pytest.approx(np.maximum(ahead[:, 0] / 0.05 - 0.5, 0) / 1000, abs=1e-4)


def test_what_is_shown_of_a_state_is_what_was_heard_until_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """All but one point of a law are alike: what leads there differs from the state on that has heard of it."""
    monkeypatch.setattr(histories, "GAPS", 0.0)
    monkeypatch.setattr(histories, "ROWS", 0.0)
    shown = []
    for jump in (0.0, 0.4):
        monkeypatch.setattr(
            laws, "draw", lambda draws, slots, slot, jump=jump: np.where(np.arange(slots) < 12, 0.0, jump)
        )
        shown.append(histories.batch(np.random.default_rng(1), 1, 24, 2, every=4))
    same = [
        (one == other).all(axis=(0, 2, 3))
        for one, other in ((shown[0].features, shown[1].features), (shown[0].held, shown[1].held))
    ]
    # States 0, 4, 8 and 12 have heard of slots below 12 only.
    for alike in same:
        assert alike.tolist() == [True] * 4 + [False] * 3
    assert (shown[0].inputs[:, :12] == shown[1].inputs[:, :12]).all()
    assert (shown[0].inputs[:, 12] != shown[1].inputs[:, 12]).any()


def test_gaps_are_spans_between_events() -> None:
    sent = [histories.spoken(np.random.default_rng(seed), 200) for seed in range(60)]
    assert all(len(one) == 200 and one[0] == 0 and (np.diff(one) >= 1).all() for one in sent)
    assert 1 <= sum(one[-1] > 199 for one in sent) <= 25


def test_inputs_are_sums_that_forget_and_what_levels_were() -> None:
    inputs = Inputs(2)
    once = inputs.hear(
        np.array([100.0, 0.0]), np.array([10.0, 0.0]), np.array([5.0, 0.0]), np.array([FIRST_SPAN, 0.1])
    )
    of = dict(zip(NAMES, once[0], strict=True))
    assert of["log row"] == pytest.approx(np.log(2)) and of["log heard"] == pytest.approx(np.log(101) / 3 - 2)
    assert of["log share lost over 1 RTT"] == pytest.approx(np.log(10.3 / 100.6) / 3 + 1)
    assert [of[name] for name in NAMES[-6:]] == [0, 0, 0, 0, 2, 0]
    later = inputs.hear(
        np.array([100.0, 50.0]), np.array([0.0, 0.0]), np.array([0.0, 0.0]), np.array([1.0, FIRST_SPAN])
    )
    of = dict(zip(NAMES, later[0], strict=True))
    kept = np.exp(-1.0)
    assert of["log share lost over 1 RTT"] == pytest.approx(
        np.log((10 * kept + 0.3) / (100 * kept + 100.6)) / 3 + 1
    )
    assert of["log heard over 1 RTT"] == pytest.approx(np.log1p(100 * kept + 100) / 3 - 2)
    # The second row had heard nothing before: its first event is as any first one.
    alone = Inputs(1).hear(np.array([50.0]), np.array([0.0]), np.array([0.0]), np.array([FIRST_SPAN]))
    assert later[1] == pytest.approx(alone[0])


def test_every_input_is_as_its_formula_says() -> None:
    """Event by event, written out for each span and each range."""
    draws = np.random.default_rng(6)
    inputs, n_of, x_of, time_of = Inputs(1), np.zeros(5), np.zeros(5), np.zeros(6)
    spans, edges = (0.1, 0.3, 1.0, 3.0, 10.0), (0.002, 0.01, 0.03, 0.08, 0.2)
    for number in range(40):
        n = float(draws.integers(1, 400))
        x = float(draws.binomial(int(n), (0.0, 0.005, 0.02, 0.05, 0.15, 0.5)[number % 6]))
        runs, span = float(np.ceil(x / 2)), float(draws.uniform(0, 0.4)) if number else 1e-6
        found = dict(zip(NAMES, inputs.hear(*(np.array([v]) for v in (n, x, runs, span)))[0], strict=True))
        span = max(span, 1e-3)
        for k, of in enumerate(spans):
            n_of[k], x_of[k] = np.exp(-span / of) * n_of[k] + n, np.exp(-span / of) * x_of[k] + x
            share = np.log((x_of[k] + 0.3) / (n_of[k] + 0.6))
            assert found[f"log share lost over {of:g} RTT"] == pytest.approx(share / 3 + 1)
            assert found[f"log heard over {of:g} RTT"] == pytest.approx(np.log(1 + n_of[k]) / 3 - 2)
        time_of *= np.exp(-span / 30)
        time_of[sum((x_of[0] + 0.3) / (n_of[0] + 0.6) > edge for edge in edges)] += 1 - np.exp(-span / 30)
        names = [*(f"time lost to {edge:g}" for edge in edges), "time lost above"]
        assert [found[name] for name in names] == pytest.approx(2 * time_of / time_of.sum())
        assert found["log heard"] == pytest.approx(np.log(1 + n) / 3 - 2)
        assert found["log span"] == pytest.approx(np.log(span) / 2 + 1)
        assert found["log share lost"] == pytest.approx(np.log((x + 0.3) / (n + 0.6)) / 3 + 1)
        assert found["log row"] == pytest.approx(np.log(max(x, 1) / max(runs, 1)))


def test_histories_are_as_missions_have_them(tmp_path: Path) -> None:
    """A steady mission's slots, as its sender hears them, are those of a made history of its rate and loss."""
    overrides = [
        "link.0.loss={packet=0.08}",
        "link.0.rate_bps=400000",
        "video.loop_to_s=900",
        "video.synthetic={chunk_s=1.0, layer_bps=[120000, 120000, 120000]}",
    ]
    scenario = load_scenario(write(tmp_path), [parse_override(text) for text in overrides])
    steps: list[Step] = []
    Fleet(scenario, (1, 2)).run(Automatic(), watch=steps.append)
    heard = np.array([step.seen.heard[:, 0] for step in steps[8:-8]])
    lost = np.array([step.seen.lost[:, 0] for step in steps[8:-8]])
    runs = np.array([step.seen.runs[:, 0] for step in steps[8:-8]])
    sent = np.array([step.seen.sent_s[:, 0] for step in steps[8:-8]])
    n, x, rows = histories.history(np.random.default_rng(2), np.full(4000, 0.08), float(heard.mean()))
    low, high = histories.PACKETS
    assert low < heard.min() and heard.max() < high
    assert heard.std() < 2 * n.std() + 3
    assert lost.sum() / heard.sum() == pytest.approx(x.sum() / n.sum(), rel=0.1)
    assert (lost - 0.08 * heard).std() == pytest.approx((x - 0.08 * n).std(), rel=0.15)
    assert lost.sum() / runs.sum() == pytest.approx(x.sum() / rows.sum(), rel=0.08)
    # An event's packets were sent a slot after the last one's, and are heard of a round trip later.
    assert np.diff(sent, axis=0).mean() == pytest.approx(5, rel=0.02)
    times = np.array([step.seen.time_s for step in steps[8:-8]])
    assert (times - sent).mean() == pytest.approx(20 + 2.5, abs=1.5)


HISTORIES = {
    0: ([51, 48, 45, 45, 53, 54, 51, 52], [0, 6, 9, 3, 19, 13, 24, 23], [0, 5, 8, 3, 14, 12, 17, 13], 525),
    5: ([53, 53, 50, 48, 46, 49, 49, 45], [0, 3, 0, 4, 24, 13, 43, 4], [0, 1, 0, 1, 4, 4, 4, 2], 313),
}
"""Of seeds by themselves (0) and in rows (5): packets, losses and rows of eight slots, and the draw that comes next."""


def test_the_events_are_those_that_the_shipped_forecaster_was_trained_on() -> None:
    """As its laws above: a training's record is the seed."""
    chance = np.linspace(0.0, 0.5, 8)
    for seed, (*wanted, after) in HISTORIES.items():
        draws = np.random.default_rng(seed)
        assert [one.tolist() for one in histories.history(draws, chance, 50.0)] == wanted
        assert draws.integers(1000) == after
    assert histories.spoken(np.random.default_rng(0), 60).tolist() == list(range(60))
    sent = histories.spoken(np.random.default_rng(11), 60)
    gaps = np.diff(sent)
    assert np.flatnonzero(gaps > 1).tolist() == [1, 29, 35] and gaps[gaps > 1].tolist() == [4, 4, 5]
    made = histories.batch(np.random.default_rng(7), 3, 12, 2, 4)
    assert made.inputs[:, :, :3].sum(axis=1) == pytest.approx(
        np.array(
            [
                [-7.714167, -10.51834, -9.074296],
                [1.515665, -2.151258, -18.328836],
                [6.076486, -8.056377, -11.868789],
            ]
        )
    )
    assert made.chance[1:, :, 0] == pytest.approx(
        np.array([[0.010506, 0.000084, 0.000084, 0.010506], [0.005662, 0.00806, 0.005547, 0.008033]]),
        abs=1e-6,
    )
    assert made.features[..., 0].sum(axis=(1, 2)) == pytest.approx([4.393782, 2.374617, 4.191392])


def test_a_slot_has_a_packet_at_least_and_ends_of_spans_are_drawn_alike() -> None:
    heard, _, _ = histories.history(np.random.default_rng(0), np.zeros(100), 0.1)
    assert heard.tolist() == [1.0] * 100
    draws = [histories._log_uniform(np.random.default_rng(seed), (0.01, 100.0)) for seed in range(200)]
    assert 0.01 <= min(draws) < 0.02 and 50 < max(draws) <= 100
    assert np.mean(np.log10(draws)) == pytest.approx(0, abs=0.25)


def test_gaps_are_of_a_tenth_of_the_events_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """One to three of them, each of 1 to 19 slots of 200; of few events one slot each."""
    monkeypatch.setattr(histories, "GAPS", 1.0)
    sent = [histories.spoken(np.random.default_rng(seed), 200) for seed in range(200)]
    gaps = [np.diff(one)[np.diff(one) > 1] - 1 for one in sent]
    assert {len(one) for one in gaps} == {1, 2, 3}
    sizes = {int(size) for one in gaps if len(one) == 3 for size in one}
    assert min(sizes) == 1 and max(sizes) == 19
    few = [histories.spoken(np.random.default_rng(seed), 5) for seed in range(50)]
    assert {int(one[-1]) - 4 for one in few} == {1, 2, 3}


def test_knots_reach_the_end_however_short_their_gaps_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of gaps of 0.4 lengths of 1 in ten round trips 24 are drawn, from 1.6 before: these end at 7.6, and others of a
    length follow. Of 0.5 they end where the times do, and none does."""

    def shortest(share: float) -> Any:
        return lambda _draws, low, _high, count=None: (
            np.asarray(low) if count is None else np.full(count, share)
        )

    for share, more in ((0.4, [8.6, 9.6, 10.6]), (0.5, [])):
        monkeypatch.setattr(laws, "_log_uniform", shortest(share))
        times, levels = laws._knots(np.random.default_rng(1), np.array([0.0, 10.0]))
        drawn = share * np.arange(1, 25) - 2
        assert times == pytest.approx([*drawn, *more]) and len(levels) == len(times)
