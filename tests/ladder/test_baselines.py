"""Trials under senders, the search for constants, and the ladder of a small mission."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dstcc.coded.fleet import Fleet
from dstcc.coded.rules import Automatic, Constant, Random
from dstcc.coded.stored import SHIPPED, load_rules
from dstcc.errors import InputError
from dstcc.ladder import baselines
from dstcc.ladder.baselines import BASELINES, Baseline, Gap, Ladder, best_constant, climb
from dstcc.ladder.page import FORETOLD, render_ladder
from dstcc.ladder.written import document, write_ladder
from dstcc.run.trials import run_trials
from dstcc.stats import Estimate, Paired
from tests.coded.missions import short


def test_a_fleet_plays_what_a_run_of_the_scenario_plays(tmp_path: Path) -> None:
    scenario = short(tmp_path)
    trials = list(run_trials(scenario, quality=False))
    played = [trial.metrics.values["weighted_layers"] for trial in trials]
    bound = [trial.metrics.values["oracle_ratio"] for trial in trials]
    fleet = Fleet(scenario, scenario.seeds)
    assert fleet.run(Automatic()) == pytest.approx(np.array(played))
    assert fleet.clairvoyant() == pytest.approx(np.array(played) / np.array(bound))


def test_a_constant_is_the_scenario_with_those_shares(tmp_path: Path) -> None:
    scenario = short(tmp_path, "coding.repair=[0.3, 0.2, 0.1]")
    fleet = Fleet(short(tmp_path), scenario.seeds)
    assert fleet.run(Constant((0.3, 0.2, 0.1))) == pytest.approx(
        Fleet(scenario, scenario.seeds).run(Automatic())
    )


def test_a_mission_is_what_its_sender_knows_of_it(tmp_path: Path) -> None:
    of = Fleet(short(tmp_path), (1, 2)).mission
    # 3,750 bytes a chunk and layer are three packets; five chunks in a block.
    assert [(one.objects, one.source, one.weight) for one in of.layers] == [
        (5, 15, 300),
        (5, 15, 200),
        (5, 15, 100),
    ]
    assert of.layers[0].source_bytes == 5 * (3750 + 3 * 40) and of.layers[0].packet_bytes == 1500
    assert (of.block_s, of.slot_s) == (5, 5) and of.playout_s.tolist() == [24, 24]
    assert of.light_s.tolist() == [[10], [10]] and of.rate_bytes.tolist() == [[12500], [12500]]


def test_the_best_constant_is_as_good_as_any_that_was_tried(tmp_path: Path) -> None:
    fleet = Fleet(short(tmp_path), (1, 2, 3))
    best, values = best_constant(fleet)
    assert values == pytest.approx(fleet.run(best))
    for share in (0.0, 0.1, 0.2, 0.3):
        assert fleet.run(Constant((share,) * 3)).mean() <= values.mean() + 1e-12


def test_the_ladder_has_its_baselines_in_order_and_says_the_gap(tmp_path: Path) -> None:
    heard: list[float] = []
    said: list[str] = []
    ladder = climb(
        [short(tmp_path)], None, load_rules(SHIPPED), [Random(seed=5)], advance=heard.append, say=said.append
    )
    assert said == [
        *("short: clairvoyant", "short: planner-law planner-law", "short: planner-belief planner-belief"),
        *("short: controller random", "short: tuned-rule margin", "short: tuned-rule threshold"),
        *("short: tuned-rule auto", "short: random random", "short: best-constant"),
    ]
    assert heard == pytest.approx([0.5 / 8] * 8 + [0.5])
    kinds = [one.baseline for one in ladder.baselines]
    assert list(dict.fromkeys(kinds)) == list(BASELINES)
    assert kinds == sorted(kinds, key=BASELINES.index)
    assert sum(heard) == pytest.approx(1)
    top = ladder.of("short", "clairvoyant")[0]
    for one in ladder.baselines:
        assert tuple(one.values) == (1, 2, 3)
        assert all(one.values[seed] <= top.values[seed] + 1e-9 for seed in one.values)
    assert {one.name for one in ladder.baselines if one.baseline == "tuned-rule"} == {
        "margin",
        "threshold",
        "auto",
    }
    document = ladder.baselines[0].document()
    assert list(document) == ["scenario", "rung", "name", "clairvoyant", "value", "low", "high", "seeds"]
    assert document["low"] <= document["value"] <= document["high"] and document["seeds"] == 3
    assert climb([short(tmp_path)], None, load_rules(SHIPPED)).of("short", "planner-law")[0].values == (
        ladder.of("short", "planner-law")[0].values
    )


@pytest.mark.parametrize(
    ("loss", "clairvoyant"),
    [
        ("{table = [[0, 1e-4], [150, 0.2], [300, 1e-4]]}", True),
        ("{states = [{packet = 1e-4, dwell_s = 60}, {packet = 0.2, dwell_s = 40}]}", False),
    ],
)
def test_a_planner_on_a_table_is_called_clairvoyant_wherever_it_is_shown(
    tmp_path: Path, loss: str, clairvoyant: bool
) -> None:
    ladder = climb([short(tmp_path, f"link.0.loss={loss}")], (1, 2), [])
    bound = {one.baseline for one in ladder.baselines if one.clairvoyant}
    assert bound == ({"clairvoyant", "planner-law"} if clairvoyant else {"clairvoyant"})
    whole = document(ladder)
    (planner,) = (one for one in whole["ladder"] if one["rung"] == "planner-law")
    assert planner["clairvoyant"] == whole["gaps"][0]["clairvoyant"] == clairvoyant
    page = render_ladder(ladder, ["dstcc", "ladder", "short.toml"])
    assert ("planner-law, clairvoyant here, plays" in page) == clairvoyant
    assert ('<th scope="row">planner-law, clairvoyant</th>' in page) == clairvoyant
    assert (FORETOLD in page) == clairvoyant
    write_ladder(tmp_path / "out", ladder, ["dstcc"], force=False)
    (row,) = (
        line for line in (tmp_path / "out/ladder.csv").read_text().splitlines() if "planner-law" in line
    )
    assert row.split(",")[3] == str(clairvoyant)


def gap(upper: list[float], lower: list[float]) -> Gap:
    """Of made baselines."""
    baselines = [
        Baseline("made", kind, kind, dict(enumerate(values)))
        for kind, values in (("planner-law", upper), ("best-constant", lower))
    ]
    return Ladder(tuple(baselines)).gaps[0]


def test_a_gap_that_is_real_teaches_and_others_say_that_they_do_not() -> None:
    real = gap([0.9, 0.91, 0.92, 0.93], [0.85, 0.87, 0.87, 0.89])
    assert real.teaches and "teaches nothing" not in real.sentence()
    assert real.document()["value"] == pytest.approx(0.045)
    small = gap([0.904, 0.914, 0.924, 0.934], [0.9, 0.91, 0.92, 0.93])  # 0.004 at each seed
    assert not small.teaches and small.sentence().endswith("this scenario teaches nothing")
    assert not gap([0.9, 0.8, 0.9, 0.8], [0.8, 0.9, 0.8, 0.9]).teaches
    three = [
        Baseline("made", kind, kind, {1: value, 2: value + 0.1})
        for kind, value in (
            ("planner-law", 0.5),
            ("planner-belief", 0.45),
            ("tuned-rule", 0.3),
            ("best-constant", 0.4),
        )
    ]
    three.append(Baseline("made", "tuned-rule", "better", {1: 0.42, 2: 0.52}))
    (whole,) = Ladder(tuple(three)).gaps
    assert whole.document()["planner_belief"]["value"] == pytest.approx(0.05)
    assert whole.document()["tuned_rule"]["value"] == pytest.approx(0.02)
    assert "planner-belief +0.0500 [+0.0500, +0.0500], the best tuned rule +0.0200" in whole.sentence()
    one = gap([0.9], [0.8])
    assert not one.teaches and one.sentence() == "made: one seed is not enough for a gap"
    assert one.document()["value"] is None


@pytest.mark.parametrize(
    ("overrides", "rule"),
    [
        (["transport.mode=stream", "transport.handshake=true", "coding="], 'mode = "coded"'),
        (["transport.congestion=['open-loop', 'cubic']"], "one congestion control"),
        (["playout.mode=stall", "playout.delay_rtts="], "mode = 'deadline'"),
        (["video.source=stored"], 'source = "live"'),
        (["link.0.loss={gilbert_elliott={p=0.1, r=0.1}}"], "has loss models of the kinds"),
    ],
)
def test_what_no_ladder_can_be_made_of_is_refused(tmp_path: Path, overrides: list[str], rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        climb([short(tmp_path, *overrides)], (1,), [])


def test_scenarios_of_one_table_have_names_of_their_own_and_the_same_layers(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="two scenarios are named 'short'"):
        climb([short(tmp_path), short(tmp_path)], (1,), [])
    two = short(tmp_path, "scenario.name=two", "video.synthetic={chunk_s=1.0, layer_bps=[30000, 30000]}")
    with pytest.raises(InputError, match="two: 2 layers, and short has 3"):
        climb([short(tmp_path), two], (1,), [])


SEARCHED = (0.0, 0.01, 0.02, 0.04, 0.07, 0.1, 0.14, 0.2, 0.3)


@dataclass
class MadeFleet:
    """Plays more the nearer each layer's share is to the best, which is 0.1, 0 and 0.2; there are valleys before the
    last two that only two steps at once cross. Besides a place and leaving out the highest layer help."""

    seeds: tuple[int, ...] = (1, 2)
    layers: int = 3
    links: tuple[int, ...] = (0, 1)
    scenario: str = "made"
    places: tuple[float, ...] = (0.1, 0.5, 0.3)
    tried: list[Constant] = field(default_factory=list)
    whole: bool = True

    def run(self, one: Constant) -> Any:
        self.tried.append(one)
        score = 0.0
        for share, best, valley in list(zip(one.repair, (5, 0, 7), (None, 1, 6), strict=False)):
            at = SEARCHED.index(share)
            score -= abs(at - best) if at != valley else 10
        score += self.places[one.place] if one.place >= 0 else 0.0
        score += 0.25 if one.left_out == (self.layers - 1,) else 0.0
        return np.full(len(self.seeds), score)


def test_the_search_crosses_valleys_of_one_step_and_tries_places_and_leaving_out() -> None:
    fleet = MadeFleet()
    best, values = best_constant(fleet)  # type: ignore[arg-type]
    assert (best.repair, best.place, best.left_out) == ((0.1, 0.0, 0.2), 1, (2,))
    assert values.tolist() == [0.75, 0.75]
    searched, finals = fleet.tried[:-3], fleet.tried[-3:]
    assert len({one.name for one in searched}) == len(searched), "none is run twice"
    assert [one.repair for one in searched[:5]] == [(SEARCHED[at],) * 3 for at in (0, 2, 4, 6, 8)]
    assert [one.name for one in finals] == [
        *("0.1/0/0.2 other without 2", "0.1/0/0.2 other", "0.1/0/0.2 spread")
    ]
    placed = [one.place for one in searched if one.place >= 0 and not one.left_out]
    assert placed == [0, 1, 2]


def test_one_link_has_no_places_and_one_layer_is_not_left_out() -> None:
    fleet = MadeFleet(layers=1, links=(0,))
    assert best_constant(fleet)[0].name == "0.1"  # type: ignore[arg-type]
    assert not any(one.left_out or one.place >= 0 for one in fleet.tried)
    two = MadeFleet(layers=2, links=(0,))
    assert best_constant(two)[0].name == "0.1/0 without 1"  # type: ignore[arg-type]


def test_the_first_seeds_screen_and_all_seeds_decide_among_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of eight seeds no search is on fewer; of nine it is on the first eight. What leaves out a layer plays less on
    the ninth."""
    screens: list[Any] = []

    def screened(scenario: str, seeds: tuple[int, ...]) -> MadeFleet:
        screens.append((scenario, seeds))
        return MadeFleet(seeds)

    class Whole(MadeFleet):
        def run(self, one: Constant) -> Any:
            played = super().run(one)
            played[8:] -= 9.0 if one.left_out else 0.0
            return played

    monkeypatch.setattr(baselines, "Fleet", screened)
    assert best_constant(MadeFleet(tuple(range(8))))[0].left_out == (2,)  # type: ignore[arg-type]
    assert screens == []
    fleet = Whole(tuple(range(9)))
    best, values = best_constant(fleet)  # type: ignore[arg-type]
    assert screens == [("made", tuple(range(8)))]
    assert len(fleet.tried) == 3 and best.name == "0.1/0/0.2 other" and values.tolist() == [0.5] * 9


def test_a_gap_of_half_a_percent_that_is_sure_teaches() -> None:
    def of(value: float, low: float) -> bool:
        return Gap("made", Paired(Estimate(value, low, 1.0, 5), (), ())).teaches

    assert of(0.005, 1e-9) and not of(0.005, 0.0) and not of(0.00499, 0.004)


def test_only_the_future_of_a_planner_is_named_clairvoyant() -> None:
    kinds = [
        Baseline("made", kind, kind, {1: 0.5}, clairvoyant) for kind, clairvoyant in (("planner-law", True),)
    ]
    assert [one.label for one in kinds] == ["planner-law, clairvoyant"]
    assert Baseline("made", "clairvoyant", "bound", {1: 0.5}, True).label == "clairvoyant"
    assert Baseline("made", "planner-law", "law", {1: 0.5}).label == "planner-law"
