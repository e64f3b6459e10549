"""What who knows a channel's law expects of it."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dstcc.coded.channels import GRID, Certain, Hidden, Ramps, laws_of, on_grid
from dstcc.coded.fleet import Fleet
from dstcc.engine import Loss
from dstcc.errors import InputError
from dstcc.scenario.draws import draw_lines
from dstcc.scenario.load import parse_scenario
from dstcc.scenario.losses import LossModel

from .missions import TEXT, short


def mean(belief: np.ndarray) -> np.ndarray:
    """Of the chance of loss."""
    return belief @ GRID


def model(**loss: object) -> LossModel:
    return LossModel.model_validate(loss)


def test_a_chance_is_spread_over_two_points_with_its_logarithm() -> None:
    spread = on_grid(np.array([0.03, 1e-9, 1.0, GRID[7]]))
    assert spread.sum(axis=-1) == pytest.approx(1)
    assert np.exp(spread @ np.log(GRID))[0] == pytest.approx(0.03)
    assert (spread[0] > 0).sum() == 2
    assert spread[1, 0] == spread[2, -1] == 1 and spread[3, 7] == pytest.approx(1)


def test_a_table_is_known_at_any_time() -> None:
    law = Certain(Loss("schedule", t_ns=(0, 100 * 10**9), rates=(0.0, 0.2)))
    assert mean(law.expect(3.0, np.array([50.0, 200.0]))) == pytest.approx([0.1, 0.2], rel=0.02)
    assert mean(Certain(Loss("packet", 0.05)).expect(None, np.array([7.0]))) == pytest.approx(
        [0.05], rel=0.02
    )


def test_hidden_states_relax_from_what_they_were_to_their_shares_of_time() -> None:
    states = model(states=[{"packet": 1e-4, "dwell_s": 60}, {"packet": 0.2, "dwell_s": 40}])
    law = Hidden(states, (0, 100 * 10**9), (0, 1))
    wet = lambda at, known: float(law.expect(known, np.array([at]))[0][GRID > 0.01].sum())  # noqa: E731
    assert wet(99, 99) == 0 and wet(100, 100) == 1
    # Of two states: share + (is - share) exp(-t (1/60 + 1/40)); 40 of 100 s are wet.
    for span in (5.6, 24.0, 100.0):  # whole ticks of 0.8 s
        left = np.exp(-span / 24)
        assert wet(50 + span, 50) == pytest.approx(0.4 * (1 - left), rel=0.02)
        assert wet(110 + span, 110) == pytest.approx(0.4 + 0.6 * left, rel=0.02)
    assert wet(50, None) == wet(50, -5) == pytest.approx(0.4)
    assert wet(0, 0) == 0 and wet(0, -1e-9) == pytest.approx(0.4)
    assert law.state_at(-1) == law.state_at(99.9) == 0 and law.state_at(100) == 1


def test_a_ramp_that_has_not_begun_begins_when_its_draw_allows() -> None:
    ramp = model(ramp={"before": 1e-4, "after": 0.2, "start_s": {"uniform": [0, 1000]}, "length_s": 0})
    law = Ramps(ramp, Loss("schedule", t_ns=(800 * 10**9, 800 * 10**9 + 1), rates=(1e-4, 0.2)))
    begun = lambda at, known: float(law.expect(known, np.array([at]))[0][GRID > 0.01].sum())  # noqa: E731
    assert begun(500, None) == pytest.approx(0.5, abs=0.01)
    assert begun(600, 200) == pytest.approx(0.5, abs=0.01)  # of the 800 s that are left 400 are over
    assert begun(801, 200) == pytest.approx(0.75, abs=0.01)
    assert begun(900, 850) == pytest.approx(1) and begun(300, 200) < begun(700, 200)


def test_a_ramp_that_is_seen_rising_is_known() -> None:
    ramp = model(ramp={"before": 0.0, "after": 0.2, "start_s": {"uniform": [0, 1000]}, "length_s": 100})
    law = Ramps(ramp, Loss("schedule", t_ns=(400 * 10**9, 500 * 10**9), rates=(0.0, 0.2)))
    assert mean(law.expect(450, np.array([450.0, 480.0, 600.0]))) == pytest.approx([0.1, 0.16, 0.2], rel=0.1)


def test_a_ramp_leads_from_what_was_to_what_will_be() -> None:
    """From 0.1 to 0.3 between 100 and 200 s, of which the draw leaves nothing open."""
    ramp = model(ramp={"before": 0.1, "after": 0.3, "start_s": 100, "length_s": 100})
    law = Ramps(ramp, Loss("schedule", t_ns=(100 * 10**9, 200 * 10**9), rates=(0.1, 0.3)))
    times, chances = (
        np.array([0.0, 100.0, 125.0, 150.0, 200.0, 999.0]),
        np.array([0.1, 0.1, 0.15, 0.2, 0.3, 0.3]),
    )
    for known in (None, -5.0, 0.0, 160.0):
        assert law.expect(known, times) == pytest.approx(on_grid(chances))
    assert law.foretells
    even = Ramps(
        model(ramp={"before": 0.1, "after": 0.1, "start_s": 100, "length_s": 100}),
        Loss("packet", rates=(0.1, 0.1)),
    )
    assert not even.foretells


def test_each_link_has_the_law_of_its_key(tmp_path: Path) -> None:
    scenario = short(tmp_path)
    from dstcc.scenario import draw_links

    (law,) = laws_of(scenario, 4, draw_links(scenario, 4))
    assert isinstance(law, Hidden)
    (link,) = draw_links(scenario, 4)
    for at in (0.0, 33.0, 150.0, 299.0):
        truth = float(np.interp(at * 1e9, link.loss.t_ns, link.loss.rates))
        assert (law.state_at(at) == 1) == (truth > 0.1)
    with pytest.raises(
        InputError, match=r"link\.0\.loss: a ladder has loss models of the kinds packet, table, ramp, states"
    ):
        laws_of(scenario, 1, [replace(link, loss=Loss("gilbert-elliott", p=0.1, r=0.1))])


@pytest.mark.parametrize(
    ("loss", "foretells"),
    [
        ("{packet = 0.01}", False),  # no change to come
        ("{table = [[0, 1e-4], [100, 0.1]]}", True),
        ("{table = [[0, 0.1], [100, 0.1]]}", False),
        ("{ramp = {before = 1e-4, after = 0.1, start_s = {uniform = [10, 200]}, length_s = 20}}", False),
        ("{ramp = {before = 1e-4, after = 0.1, start_s = 100, length_s = {uniform = [10, 50]}}}", False),
        ("{ramp = {before = 1e-4, after = 0.1, start_s = 100, length_s = 20}}", True),
        ("{states = [{packet = 1e-4, dwell_s = 60}, {packet = 0.2, dwell_s = 40}]}", False),
    ],
)
def test_a_law_foretells_where_what_it_expects_is_the_truth(
    tmp_path: Path, loss: str, foretells: bool
) -> None:
    """Asked before anything is known, of times to come: does it expect, in each of five trials, what will be?"""
    scenario = short(tmp_path, f"link.0.loss={loss}")
    fleet = Fleet(scenario, (1, 2, 3, 4, 5))
    times = np.linspace(0, 250, 26)
    true = []
    for seed, config in zip(fleet.seeds, fleet.configs, strict=True):
        (law,) = laws_of(scenario, seed, config.links)
        assert law.foretells == foretells
        of = config.links[0].loss
        chance = np.interp(times, np.array(of.t_ns or (0,)) / 1e9, of.rates or (of.rate,))
        true.append(np.abs(mean(law.expect(None, times)) - chance).max() < 0.01 and np.ptp(chance) > 0)
    assert all(true) == foretells


def test_a_path_loses_what_either_hop_does() -> None:
    """A chance of 0.1 in front of one of 0.2: 0.28. The second hop is met 10 s after the first, and its loss sets in at
    100 s, for packets that leave at 90 s; a hop that loses nothing adds nothing."""
    near = {
        "name": "near",
        "from": "rover",
        "to": "orbiter",
        "rate_bps": 1e5,
        "delay_s": 10,
        "loss": {"packet": 0.1},
    }
    far = {"name": "far", "from": "orbiter", "to": "earth", "rate_bps": 1e5, "delay_s": 5}
    document = {
        **tomllib.loads(TEXT),
        "scenario": {"name": "net", "duration_s": 600},
        "node": [{"name": "rover"}, {"name": "orbiter", "storage_bytes": 1_000_000}, {"name": "earth"}],
        "link": [near, {**far, "loss": {"table": [[99.9, 1e-5], [100, 0.2]]}}],
        "path": [{"via": ["near", "far"]}],
    }
    # links that lose nothing are as one that does not: the least of the grid
    silent = {"link": [{**near, "loss": None}, far]}
    silent["link"] = [{key: value for key, value in one.items() if key != "loss"} for one in silent["link"]]
    scenario = parse_scenario({**document, **silent}, source="net.toml")
    (law,) = laws_of(scenario, 1, draw_lines(scenario, 1))
    assert not law.foretells and (law.expect(None, np.array([7.0])) == on_grid(np.array([0.0]))).all()
    for first, chances in (({"packet": 0.1}, [0.1, 0.28]), (None, [1e-5, 0.2])):
        near["loss"] = first
        scenario = parse_scenario(document, source="net.toml")
        (law,) = laws_of(scenario, 1, draw_lines(scenario, 1))
        assert law.foretells
        assert mean(law.expect(3.0, np.array([89.85, 90.05]))) == pytest.approx(chances, rel=0.05)
