"""The planner: its arithmetic of a block, and what it makes of beliefs, rates, backlogs and deadlines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dstcc.coded.channels import GRID, on_grid
from dstcc.coded.planner import FRESH_FAILS, GOLDEN, PRICES, STEPS, Planner, TailTables, tables_of
from dstcc.coded.seen import Blocks, Mission, Seen
from dstcc.engine import _testing

from .missions import mission, seen

coding = _testing.coding


def certain(chance: float, trials: int = 1, paths: int = 1) -> np.ndarray:
    """The belief that it is that, for ever."""
    return np.tile(on_grid(np.array([chance])), (trials, paths, STEPS, 1))


def plan(chance: float, **knobs: object) -> np.ndarray:
    """Shares of the three layers of one trial."""
    of = mission(**knobs)  # type: ignore[arg-type]
    return Planner(of).plan(seen(of), certain(chance)).repair[0]


def test_an_object_is_lost_as_the_engines_rule_says() -> None:
    table = TailTables(Blocks(objects=12, source=96, source_bytes=144e3, packet_bytes=1500, weight=100))
    for point in (20, 33):
        for number in (0, 5, 20):
            expected = coding.object_loss(12, 96, int(table.packets[number]), float(GRID[point]))
            assert table.lost[point, number] == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_fresh_packets_are_what_a_block_lacks_over_the_share_that_arrives() -> None:
    table = TailTables(Blocks(objects=1, source=2, source_bytes=3000, packet_bytes=1500, weight=100))
    p = GRID[35]
    # Without repair: one of two lost lacks 1, both 2. With one: of three, two lost lack 1, three 2.
    assert table.fresh[35, 0] == pytest.approx((2 * p * (1 - p) + 2 * p**2) / (1 - p))
    assert table.packets[1] == 1
    assert table.fresh[35, 1] == pytest.approx((3 * p**2 * (1 - p) + 2 * p**3) / (1 - p))
    assert table.touched[35] == pytest.approx(1 - (1 - p) ** 2)


def test_with_rate_to_spare_a_known_loss_is_protected_and_none_costs_nothing() -> None:
    shares = plan(0.1, load=0.6)
    table = TailTables(mission(load=0.6).layers[0])
    for share in shares:
        number = int(np.searchsorted(table.share, share - 1e-9))
        assert on_grid(np.array([0.1]))[0] @ table.lost[:, number] < 1e-3
    assert (shares < 0.4).all()
    assert plan(1e-5, load=0.6).max() <= 0.02


def test_where_not_all_fits_the_highest_layer_pays_and_the_base_is_the_safest() -> None:
    shares = plan(0.1, load=1.2)
    assert shares[0] >= shares[1] >= shares[2]
    assert shares[0] < plan(0.1, load=0.6)[0]  # a byte has a price
    assert plan(1e-5, load=1.2).max() <= 0.01


def test_what_is_expected_half_the_time_is_half_as_dear_to_protect_against() -> None:
    of = mission(load=1.0)
    half = (certain(1e-5) + certain(0.3)) / 2
    rare = 0.97 * certain(1e-5) + 0.03 * certain(0.3)
    assert Planner(of).plan(seen(of), half).repair[0, 0] > 0.4
    assert Planner(of).plan(seen(of), rare).repair[0, 2] < 0.1


def test_repair_that_would_be_late_is_not_planned() -> None:
    of = mission(load=0.6)
    late = seen(of, slack_s=np.array([[600.0, 900.0, 900.0]]))  # as long as light takes
    shares = Planner(of).plan(late, certain(0.1)).repair[0]
    assert shares[0] == 0 and shares[1] > 0.1


def test_where_fresh_packets_are_in_time_less_goes_before_it_is_asked_for() -> None:
    patient = plan(0.1, load=1.6, playout_s=3_000.0)
    hasty = plan(0.1, load=1.6, playout_s=900.0)
    assert patient[0] < hasty[0]
    assert 0 < FRESH_FAILS < 0.1


def test_a_backlog_makes_bytes_dear() -> None:
    of = mission(load=0.9)
    half = (certain(1e-5) + certain(0.1)) / 2
    free = Planner(of).plan(seen(of), half).repair[0]
    behind = seen(of, backlog_bytes=np.full((1, 3), 7_500 * 280.0), slack_s=np.full((1, 3), 700.0))
    busy = Planner(of).plan(behind, half).repair[0]
    assert busy.sum() < free.sum()


def test_two_paths_are_believed_in_by_their_shares_of_the_rate() -> None:
    of = mission(load=0.6, rates=(6_000.0, 2_000.0))
    planner = Planner(of)
    beliefs = np.concatenate([certain(1e-5), certain(0.4)], axis=1)
    one = mission(load=0.6, rates=(8_000.0,))
    mean = Planner(one).plan(seen(one), certain(0.1)).repair
    # A quarter of the packets is lost with 0.4: a tenth of all. The grid spreads each chance over two points.
    assert planner.plan(seen(of), beliefs).repair == pytest.approx(mean, abs=0.04)


def test_trials_are_planned_by_themselves() -> None:
    of = mission(3, load=1.0)
    together = Planner(of).plan(seen(of), np.concatenate([certain(1e-4), certain(0.05), certain(0.2)])).repair
    alone = [plan(chance, load=1.0) for chance in (1e-4, 0.05, 0.2)]
    assert together == pytest.approx(np.array(alone))


def test_of_two_prices_each_is_taken_as_often_as_makes_both_fit() -> None:
    of = mission(load=0.93)
    planner = Planner(of)
    half = 0.8 * certain(1e-5) + 0.2 * certain(0.1)
    shares = np.array([planner.plan(seen(of), half).repair[0] for _ in range(200)])
    assert 1 <= len(np.unique(shares, axis=0)) <= 2


def wanted(
    of: Mission, view: Seen, belief: np.ndarray, price: float, horizon_s: float
) -> tuple[list[float], float]:
    """Shares, and bytes of a block's time, of one trial in one step: the module's formulas, number by number."""
    shares, total = [0.0] * len(of.layers), 0.0
    above = np.zeros(len(GRID))
    for m in reversed(range(len(of.layers))):
        blocks, table = of.layers[m], tables_of(of.layers[m])
        left_s = min(view.slack_s[0, m], of.playout_s[0]) - of.light_s[0].min()
        i, j = (min(max(s / of.block_s, 0.0), 1.0) for s in (left_s, left_s - view.rtt_s[0].min()))
        loss = (1 - i) * table.touched[:, None] + (i - j * (1 - FRESH_FAILS)) * table.lost
        brings = (1 - loss) * (blocks.objects * blocks.weight + above)[:, None]
        sent = blocks.packet_bytes * (table.packets + (belief @ table.fresh if j > 0 else 0))
        found = list(zip((belief @ brings).tolist(), sent.tolist(), brings.T, strict=True))
        best = max(range(len(found)), key=lambda r: found[r][0] - price * found[r][1])
        kept, repair, above = found[best]
        if kept - price * repair > price * blocks.source_bytes:
            waiting = view.backlog_bytes[0, m] / blocks.source_bytes / (horizon_s / of.block_s)
            total += (blocks.source_bytes + repair) * (1 + waiting)
        else:
            best = max(range(len(found)), key=lambda r: found[r][0] / (blocks.source_bytes + found[r][1]))
            above = np.zeros(len(GRID))
        shares[m] = float(table.share[best])
    return shares, total


def planned(of: Mission, view: Seen, beliefs: np.ndarray, decision: int) -> list[float]:
    """Shares of the trial's n-th decision, by a search through all prices."""
    unit = of.layers[-1].weight * of.layers[-1].objects / of.layers[-1].source_bytes
    patience_s = max(of.playout_s[0] - of.light_s[0].min(), of.block_s)
    horizon_s = patience_s + 2 * of.light_s[0].max()
    supply = view.pace_bytes[0].sum() * (horizon_s + patience_s)
    every = [
        [wanted(of, view, belief, price * unit, horizon_s) for belief in beliefs[0, 0]] for price in PRICES
    ]
    needs = [float(np.mean([step[1] for step in steps])) * horizon_s / of.block_s for steps in every]
    fits = next((n for n, need in enumerate(needs) if need <= supply), len(needs) - 1)
    spare, over = supply - needs[fits], needs[max(fits - 1, 0)] - supply
    often = min(max(spare / max(over + spare, 1e-9), 0.0), 1.0)
    return every[max(fits - 1, 0) if decision * GOLDEN % 1 < often else fits][0][0]


@pytest.mark.parametrize("number", range(13))
def test_decisions_are_those_of_the_formulas(number: int) -> None:
    """The last one's paths carry so little that nothing fits at the dearest price either."""
    random = np.random.default_rng(number)
    of = mission(
        load=60.0 if number == 12 else random.uniform(0.5, 1.6),
        playout_s=random.choice([630.0, 700.0, 900.0, 1_900.0, 3_000.0]),
    )
    of = replace(of, layers=tuple(replace(one, source=24.0, objects=6.0) for one in of.layers))
    view = seen(
        of,
        backlog_bytes=random.uniform(0, 2e6, (1, 3)) * (number % 2),
        slack_s=random.choice([620.0, 655.0, 1_850.0, np.inf], (1, 3)),
    )
    chances = np.sort(random.choice([1e-4, 0.01, 0.05, 0.15, 0.3], (STEPS, 2)))
    beliefs = np.stack([on_grid(low[None]) * 0.7 + on_grid(high[None]) * 0.3 for low, high in chances])
    planner = Planner(of)
    for decision in (1, 2):
        shares = planner.plan(view, beliefs.reshape(1, 1, STEPS, -1)).repair[0]
        expected = planned(of, view, beliefs.reshape(1, 1, STEPS, -1), decision)
        assert shares == pytest.approx(expected), decision


def test_beliefs_are_wanted_for_as_long_as_now_matters() -> None:
    of = mission(2, rates=(6_000.0, 2_000.0))
    of = replace(of, light_s=np.array([[600.0, 200.0], [890.0, 899.0]]))
    # What is captured can wait for 900 - 200 s, or a block's minute; an answer takes twice the longest way.
    horizon_s = np.array([[700 + 1_200], [60 + 1_798]])
    times = Planner(of).times(np.array([5.0, 7.0]))
    assert times == pytest.approx(np.array([[5.0], [7.0]]) + horizon_s * np.arange(STEPS) / STEPS)
