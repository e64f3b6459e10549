"""Forecasters' weights and files: what is computed, what is refused and by which words."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dstcc.coded.belief import Filter
from dstcc.coded.channels import GRID, POINTS
from dstcc.coded.fleet import Fleet
from dstcc.errors import PolicyError
from dstcc.forecast import histories, laws
from dstcc.forecast.files import load_controller, load_forecaster
from dstcc.forecast.inputs import FIRST_SPAN
from dstcc.forecast.network import Network
from dstcc.forecast.outlook import AHEAD_SIZE, SIZE, Ahead, Outlook
from dstcc.forecast.policy import ForecastPolicy
from dstcc.forecast.recipe import Recipe
from dstcc.forecast.sender import Forecasting
from dstcc.learn.policies.controller import write_policy
from dstcc.learn.policies.policy import load_policy
from dstcc.scenario import load_scenario, parse_override
from tests.coded.missions import mission

from .made import policy, tensors, write


def test_the_network_is_torchs() -> None:
    torch = pytest.importorskip("torch")
    from dstcc.forecast.learner import Forecaster

    weights = tensors(6)
    forecaster = Forecaster(6)
    forecaster.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()})
    draws = np.random.default_rng(3)
    inputs, features = draws.normal(0, 1, (2, 5, SIZE)), draws.normal(0, 1, (2, 6, 3, AHEAD_SIZE))
    held = np.log(draws.dirichlet(np.full(POINTS, 0.3), (2, 6, 3)) + 1e-5)

    def single(values: np.ndarray) -> Any:
        return torch.from_numpy(values.astype(np.float32))

    with torch.inference_mode():
        logits = forecaster(single(inputs), single(features), single(held))
        theirs = torch.softmax(logits, dim=-1).numpy()
    network = Network(weights, 6)
    state = network.start(2)
    for event in range(6):
        ahead = Ahead(features[:, event], held[:, event])
        assert network.expect(state, ahead) == pytest.approx(theirs[:, event], abs=1e-5)
        if event < 5:
            state = network.hear(inputs[:, event], state)
    # Every second state alone is the same as it is among all.
    with torch.inference_mode():
        some = forecaster(single(inputs), single(features[:, ::2]), single(held[:, ::2]), 2)
    assert torch.softmax(some, dim=-1).numpy() == pytest.approx(theirs[:, ::2], abs=1e-6)


def test_before_it_has_learned_anything_it_believes_what_the_filter_does() -> None:
    torch = pytest.importorskip("torch")
    from dstcc.forecast.learner import Forecaster

    torch.manual_seed(1)
    network = Network(Forecaster(6).tensors(), 6)
    outlook, knows_none, state = Outlook(1), Filter(1, 1, np.ones((1, 1))), network.start(1)
    for event, x in enumerate((3.0, 40.0, 0.0, 9.0)):
        lost, span = np.array([x]), np.array([0.2 if event else FIRST_SPAN])
        state = network.hear(outlook.hear(np.array([400.0]), lost, lost, span), state)
        knows_none.hear(np.array([[400.0]]), lost[:, None], np.array([[0.2 * event]]))
    ahead = np.array([[0.7, 2.0]])
    believed = network.expect(state, outlook.ahead(ahead))
    assert believed == pytest.approx(knows_none.expect(0.6 + ahead)[:, 0], abs=2e-4)


def test_a_file_gives_the_same_policy_back(tmp_path: Path) -> None:
    made = policy()
    made.save(tmp_path / "mine.safetensors")
    again = load_controller(tmp_path / "mine.safetensors")
    assert isinstance(again, ForecastPolicy) and again.name == "mine"
    assert again.header() == made.header()
    assert {**again.about(), "name": "made"} == made.about()
    assert again.knows == ("rates",) and again.copies == "" and again.on_lanes(3) is again
    assert again.about()["lanes"] == again.lanes == 0 and again.simulator_only == ""


def test_the_two_kinds_of_policy_are_told_apart(tmp_path: Path) -> None:
    policy().save(tmp_path / "mine.safetensors")
    with pytest.raises(PolicyError, match="other actions: it steers layers coded over packets, not TCP"):
        load_policy(tmp_path / "mine.safetensors")
    with pytest.raises(PolicyError, match="policy pbq has other actions: it steers TCP's"):
        load_forecaster("pbq")


def changed(tmp_path: Path, change: Any, weights: dict[str, np.ndarray] | None = None) -> Path:
    """A file whose header was changed by somebody who knows how to sign it."""
    from dstcc.learn.policies.controller import digest

    header, held = policy().header(), weights or tensors()
    header.pop("sha256")
    change(header)
    path = tmp_path / "changed.safetensors"
    write_policy(path, {**header, "sha256": digest(header, held)}, held)
    return path


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda h: h["observation"].update(inputs=["rtt"]),
            "observation: this version's forecasters see log heard",
        ),
        (
            lambda h: h["observation"].update(ahead=["time"]),
            "observation.ahead: this version's forecasters see log time",
        ),
        (
            lambda h: h["observation"]["within"].pop("packets"),
            "within: the ranges of slot_rtts, packets, ahead_rtts",
        ),
        (
            lambda h: h["observation"]["within"].update(packets=[9, 3]),
            r"within.packets = \[9.0, 3.0\]: two rising",
        ),
        (lambda h: h["action"].update(layers=3), "a forecaster is for 8 layers and 8 subflows"),
        (lambda h: h["action"].update(rule={"kind": "best"}), "kind 'best': one of margin, threshold"),
        (lambda h: h["network"].update(kind="mlp"), "network kind 'mlp': gru-forecast"),
        (lambda h: h["network"].update(hidden=16), "shape"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(tmp_path: Path, change: Any, words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        load_controller(changed(tmp_path, change))


def test_weights_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    odd = tensors(ahead__bias=np.full(8, np.nan, np.float32))
    with pytest.raises(PolicyError, match=r"tensor ahead.bias: finite float32 numbers only"):
        load_controller(changed(tmp_path, lambda h: None, odd))
    lacking = tensors()
    del lacking["belief.bias"]
    with pytest.raises(PolicyError, match=r"tensor belief.bias: a forecaster has"):
        load_controller(changed(tmp_path, lambda h: None, lacking))
    whole = changed(tmp_path, lambda h: None)
    damaged = bytearray(whole.read_bytes())
    damaged[-3] ^= 1
    whole.write_bytes(damaged)
    with pytest.raises(PolicyError, match="changed or damaged"):
        load_controller(whole)


def test_a_mission_unlike_the_trainings_is_refused_with_the_value(tmp_path: Path) -> None:
    def begin(*overrides: str) -> None:
        scenario = load_scenario(write(tmp_path), [parse_override(text) for text in overrides])
        Forecasting(policy()).begin(Fleet(scenario, (1,)).mission)

    begin()
    with pytest.raises(PolicyError, match=r"a slot in round trips: 0\.5 is outside of 0\.02 to 0\.25"):
        begin("run.slot_s=10")
    with pytest.raises(PolicyError, match=r"packets in a slot: 8\.333 is outside of 20 to 4000"):
        begin("run.slot_s=1", "coding.block_s=1")
    with pytest.raises(PolicyError, match="is for 8 subflows and 8 layers; the scenario has 9 and 8"):
        policy().check_fits(subflows=9, layers=8)
    assert json.loads(json.dumps(policy().header()))["action"]["rule"]["kind"] == "threshold"


def test_the_shipped_one_is_of_the_training_that_its_card_names() -> None:
    shipped = load_forecaster("gru-mpc")
    assert (shipped.name, shipped.algorithm, shipped.seed) == ("gru-mpc", "gru-mpc", 1)
    assert shipped.scenario_sha256 == laws.content_hash(Recipe().document())
    assert shipped.within == {
        "slot_rtts": histories.SLOT_RTTS,
        "packets": histories.PACKETS,
        "ahead_rtts": histories.AHEAD_RTTS,
    }
    card = (Path(__file__).parents[2] / "docs" / "policies" / "gru-mpc.md").read_text()
    assert "dstcc train examples/" in card and "--algorithm gru-mpc" in card
    assert "Trained on" in card and "Held out" in card and "Fails" in card
    for name, (share, _) in laws.FAMILIES.items():
        assert f"| {name} | {100 * share:.0f} % |" in card
    # It foretells what it was trained for: a steady loss of a tenth, and one that has been rising for two round trips.
    found = {}
    for kind, chance in (("steady", np.full(100, 0.1)), ("rising", np.geomspace(0.002, 0.1, 100))):
        outlook, state = Outlook(1), shipped.network.start(1)
        for event, p in enumerate(chance):
            lost = np.array([round(400 * p)]) * 1.0
            span = np.array([0.05 if event else FIRST_SPAN])
            state = shipped.network.hear(
                outlook.hear(np.array([400.0]), lost, np.ceil(lost * (1 - p)), span), state
            )
        found[kind] = float(shipped.network.expect(state, outlook.ahead(np.array([[1.1]])))[0, 0] @ GRID)
    assert found["steady"] == pytest.approx(0.1, rel=0.3)
    assert found["rising"] > found["steady"]


def test_a_mission_is_within_the_trainings_up_to_its_ends() -> None:
    """A round trip of 1200 s: slots of 24 to 300 s; and 20 to 4,000 packets in one, of the least path and the most."""
    made, given = policy(), mission(2, rates=(5_000.0, 2_500.0))
    packet = max(blocks.packet_bytes for blocks in given.layers)

    def fits(slot_s: float, *packets: float) -> bool:
        rates = np.tile(np.array(packets) * packet / slot_s, (2, 1))
        try:
            made.check_within(replace(given, slot_s=slot_s, rate_bytes=rates))
        except PolicyError:
            return False
        return True

    assert fits(24.0, 100, 100) and fits(300.0, 100, 100)
    assert not fits(23.99, 100, 100) and not fits(300.1, 100, 100)
    assert fits(60.0, 20, 4000) and not fits(60.0, 19.99, 100) and not fits(60.0, 100, 4001)
    far = replace(given, light_s=np.array([[600.0, 600.0], [600.0, 6000.0]]))
    with pytest.raises(PolicyError, match=r"a slot in round trips: 0\.005 is outside of 0\.02 to 0\.25"):
        made.check_within(far)


@pytest.mark.parametrize(
    ("within", "words"),
    [
        ({"slot_rtts": (0.1, 0.1)}, "two rising numbers above 0"),
        ({"slot_rtts": (0.0, 0.1)}, "two rising numbers above 0"),
        ({"packets": (1.0, np.inf)}, "two rising numbers above 0"),
        ({"ahead_rtts": (np.nan, 1.0)}, "two rising numbers above 0"),
        ({"more": (1.0, 2.0)}, "within: the ranges of"),
    ],
)
def test_ranges_rise_from_above_nothing(within: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        replace(policy(), within={**policy().within, **within})
