"""What ``dstcc`` decides of repair: nothing while losses seem steady, and by the forecaster once they change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dstcc import engine
from dstcc.coded.seen import Seen
from dstcc.coded.shown import seen_of
from dstcc.engine import CodedStepper, EngineConfig, EngineResult
from dstcc.engine.coded_stepper import CODED_EPISODE_VALUES, CODED_LAYER_VALUES, CODED_SUBFLOW_VALUES
from dstcc.engine.config import NEVER_NS, Restarts
from dstcc.engine.stepper import RUNNING
from dstcc.forecast import own
from dstcc.forecast.own import Own, OwnDecider, forecaster, own_mission
from dstcc.forecast.pilot import Decider
from dstcc.forecast.sender import Forecasting
from dstcc.learn.policies.controller import Decided
from dstcc.scenario import draw_trial, engine_config, load_source, parse_scenario
from dstcc.scenario.model import MAX_LAYERS, MAX_SUBFLOWS

STEADY: dict[str, Any] = {"packet": 0.03}
RISING: dict[str, Any] = {"table": [[0, 1e-3], [900, 1e-3], [1000, 0.25]]}


def config_of(loss: dict[str, Any], seed: int = 1, **tables: Any) -> EngineConfig:
    """25 minutes of video over two minutes of round trip, in slots of a twentieth of it."""
    link = {"name": "a", "rate_bps": 125_000, "delay_s": 60, "up_rate_bps": 4_000, "loss": loss}
    document = {
        "scenario": {"name": "own"},
        "video": {"synthetic": {"chunk_s": 2.0, "layer_bps": [60_000, 30_000]}, "loop_to_s": 1_500},
        "link": [link | tables.pop("of_link", {})],
        "transport": {"congestion": "paced"},
        "playout": {"delay_s": 130},
        "run": {"slot_s": 6},
    }
    scenario = parse_scenario(document | tables, source="here")
    return engine_config(scenario, draw_trial(scenario, load_source(scenario), seed), "paced", "minrtt")


def in_time(config: EngineConfig, result: EngineResult) -> float:
    done = result.objects.complete_ns
    return float(((done >= 0) & (done <= config.objects.deadline_ns)).mean())


def planned(result: EngineResult) -> np.ndarray:
    assert result.coding is not None
    return result.coding.planned_packets


def steered(config: EngineConfig, look: Callable[[OwnDecider, float], None]) -> None:
    """A trial, slot by slot."""
    mission = own_mission(config)
    assert mission is not None
    decider, stepper = OwnDecider(forecaster(), mission), CodedStepper(1, 1, config.objects.layers)
    stepper.load(0, config)
    while stepper.done[0] == RUNNING:
        stepper.step()
        stepper.repair[:] = decider.decide(stepper).repair
        look(decider, float(stepper.repair[0, 0]))


def test_a_steady_loss_leaves_all_to_the_engines_rule() -> None:
    config = config_of(STEADY)
    driven, plain = Own().drive(config), engine.simulate(config)
    assert (planned(driven) == planned(plain)).all()
    assert (driven.objects.complete_ns == plain.objects.complete_ns).all()
    assert replace(driven.totals, guard_clamps=None, guard_fallbacks=None) == plain.totals


def test_a_loss_that_changes_is_planned_for_and_more_comes_in_time() -> None:
    gains = []
    for seed in range(1, 5):
        config = config_of(RISING, seed)
        driven, plain = Own().drive(config), engine.simulate(config)
        parted = np.flatnonzero(planned(driven) != planned(plain))
        layers = config.objects.layers
        assert config.coding is not None
        first_s = parted[0] // layers * config.coding.block_ns / 1e9
        assert first_s > 900 + 60, "no feedback of the change can have come before"
        gains.append(in_time(config, driven) - in_time(config, plain))
    assert np.mean(gains) > 0.01 and min(gains) > -0.005, gains


def test_before_the_change_is_heard_of_nothing_is_decided_and_then_by_the_plan() -> None:
    shares: list[float] = []
    begun: list[bool] = []

    def look(decider: OwnDecider, share: float) -> None:
        shares.append(share)
        begun.append(decider.forecasting is not None)

    steered(config_of(RISING), look)
    first = begun.index(True)
    assert 6 * first > 900 + 60
    assert set(shares[:first]) == {-1.0}
    assert max(shares[first:]) > 0.25


def test_losses_of_a_queue_further_on_are_nothing_to_forecast() -> None:
    config = config_of(RISING)
    place = CODED_SUBFLOW_VALUES.index("queue_further_on")

    class Seeing:
        """A step's numbers, with a queue further on."""

        def __init__(self, of: CodedStepper) -> None:
            self.subflow_values = of.subflow_values.copy()
            self.subflow_values[..., place] = 1.0
            self.layer_values, self.episode_values = of.layer_values, of.episode_values

    mission = own_mission(config)
    assert mission is not None
    decider, stepper = OwnDecider(forecaster(), mission), CodedStepper(1, 1, config.objects.layers)
    stepper.load(0, config)
    while stepper.done[0] == RUNNING:
        stepper.step()
        assert (decider.decide(Seeing(stepper)).repair == -1).all()
    assert decider.forecasting is None


def test_a_slot_with_more_packets_than_the_training_had_is_thinned() -> None:
    fast = {"rate_bps": 60_000_000, "up_rate_bps": 64_000, "queue_bytes": 10_000_000}
    video = {"synthetic": {"chunk_s": 2.0, "layer_bps": [8_000_000, 4_000_000]}, "loop_to_s": 300}
    config = config_of({"packet": 0.02}, of_link=fast, video=video)
    heard: list[float] = []
    steered(config, lambda decider, _: heard.extend(one.heard.max() for one in list(decider._heard)[-1:]))
    assert max(heard) == pytest.approx(forecaster().within["packets"][1])


def test_it_knows_no_rate_and_of_the_video_what_is_captured_before_it_hears_anything() -> None:
    config = config_of(STEADY)
    objects = config.objects
    later = objects.release_ns > 130e9
    grown = objects.payload_bytes * np.where(later, 5, 1)
    other = replace(
        config,
        objects=replace(objects, payload_bytes=grown),
        links=tuple(replace(link, rate_bps=link.rate_bps * 3) for link in config.links),
    )
    one, two = own_mission(config), own_mission(other)
    assert one is not None and two is not None
    assert one.layers == two.layers
    assert (one.rate_bytes == 0).all() and (two.rate_bytes == 0).all()
    block_s = one.block_s
    assert one.layers[0].objects == pytest.approx(block_s / 2, rel=0.15)
    assert one.layers[0].source_bytes == pytest.approx(60_000 / 8 * block_s * 1.03, rel=0.15)


@pytest.mark.parametrize("what", ["no deadlines", "long slots", "eight layers", "as it is"])
def test_where_no_forecast_can_be_planned_on_it_is_the_engines_alone(what: str) -> None:
    config = config_of(STEADY)
    objects = config.objects
    if what == "no deadlines":
        config = replace(
            config, objects=replace(objects, deadline_ns=np.full_like(objects.deadline_ns, NEVER_NS))
        )
    if what == "long slots":
        config = replace(config, slot_ns=60 * 10**9)
    if what == "eight layers":
        config = config_of(
            STEADY, video={"synthetic": {"chunk_s": 2.0, "layer_bps": [8_000] * 8}, "loop_to_s": 300}
        )
        assert Own().decides(config)  # eight are known
        return
    assert Own().decides(config) == (what == "as it is")
    if what != "no deadlines":
        assert (planned(Own().drive(config)) == planned(engine.simulate(config))).all()


@pytest.mark.parametrize(("more_s", "of_link", "decides"), [
    (0, {}, False),
    (-1, {}, True),
    (0, {"outages": [[700, 720]]}, True),
])  # fmt: skip
def test_where_what_is_lost_can_be_sent_again_twice_the_engines_rule_counts_on_it(
    more_s: int, of_link: dict[str, Any], decides: bool
) -> None:
    """Two round trips of 120 s behind the block and the way of the repair."""
    config = config_of(RISING, of_link=of_link)
    assert config.coding is not None
    waits_ns = config.coding.block_ns + (60 + 2 * 120 + more_s) * 10**9
    objects = replace(config.objects, deadline_ns=config.objects.release_ns + waits_ns)
    assert Own().decides(replace(config, objects=objects)) == decides
    quiet = config_of(RISING).links
    for links in ((*config.links, *quiet), (*quiet, *config.links)):
        assert Own().decides(replace(config, objects=objects, links=links)) == decides, "one link is enough"


def test_its_checksum_is_another_where_its_learned_part_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials are told apart by it (``dstcc.run.identity``)."""
    shipped, part = Own().about()["sha256"], forecaster()
    assert Own().about()["sha256"] == shipped
    tensors = {name: tensor + np.float32(name == "belief.bias") for name, tensor in part.tensors.items()}
    monkeypatch.setattr(own, "forecaster", lambda: replace(part, tensors=tensors))
    assert Own().about()["sha256"] != shipped


def test_what_is_heard_before_it_plans_is_kept_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own, "KEPT_SLOTS", 20)
    kept: list[int] = []
    steered(config_of(STEADY), lambda decider, _: kept.append(len(decider._heard)))
    assert max(kept) == 20 and kept[0] == 0, "only slots with feedback"


def test_a_path_that_is_silent_carries_nothing_of_the_plan() -> None:
    """One of two links dies after its losses have risen, and the other alone is too narrow for all layers."""
    dead = {"loss": RISING, "unannounced_outages": [[1_150, 10_000_000]]}
    dying, narrow = config_of(RISING, of_link=dead), config_of(STEADY, of_link={"rate_bps": 70_000})
    config = replace(dying, links=(*dying.links, *narrow.links))
    told: list[Decided] = []
    driven, plain = Own().drive(config, told.append), engine.simulate(config)
    silent = [one.observation[list(one.observed).index("subflow0.silent")] for one in told]
    times = [one.t_s for one in told]
    first = silent.index(1.0)
    assert 1_150 + 60 < times[first] < 1_150 + 3 * 120 and set(silent[first:]) == {1.0}
    assert told[first + 1].chose["decided by"] == own.PLAN
    assert in_time(config, driven) > in_time(config, plain) - 0.01
    shares = [one.observation[list(one.observed).index("subflow1.silent")] for one in told]
    assert set(shares) == {0.0}


def test_where_all_paths_are_silent_all_count() -> None:
    decider = two_links()
    slot = Slot(1, 3, pace_bps=EVEN)
    place = CODED_SUBFLOW_VALUES.index("silent")

    def planned_bps(*silent: float) -> list[float]:
        slot.subflow_values[0, :, place] = silent
        seen = own._of_what_is_heard(seen_of(slot, decider.mission), slot)
        return [round(8 * value) for value in seen.pace_bytes[0]]

    assert planned_bps(0, 0) == planned_bps(1, 1) == [125_000, 125_000]
    assert planned_bps(1, 0) == [0, 125_000]


def test_a_link_without_light_time_has_no_forecasts() -> None:
    config = config_of(STEADY)
    near = replace(config, links=tuple(replace(link, delay_ns=(0,)) for link in config.links))
    assert Own().decides(config) and not Own().decides(near)


def test_who_looks_on_is_told_who_decided_and_what_it_believed() -> None:
    config = config_of(RISING)
    told: list[Decided] = []
    result = Own().drive(config, told.append)
    by = [one.chose["decided by"] for one in told]
    first = by.index(own.PLAN)
    assert set(by[:first]) == {own.RULE} and told[first].t_s > 900 + 60
    for one, who in zip(told, by, strict=True):
        assert ("loss_low" in one.believed) == (who != own.RULE)
        assert one.fell_back == (who == own.GUARD)
    # Before any feedback the rule holds three packets in a hundred to be lost (coding/loss_heard.hpp).
    assert told[0].believed["loss"] == pytest.approx([0.03])
    last = [one.believed for one in told if "loss_low" in one.believed][-1]
    assert last["loss_low"] < last["loss"] < last["loss_high"]
    assert last["loss"] == pytest.approx([0.25], rel=0.3)
    assert result.totals.guard_fallbacks == by.count(own.GUARD)
    assert result.totals.guard_clamps == 0
    assert result.objects.complete_ns.tolist() == Own().drive(config).objects.complete_ns.tolist()


def test_a_guards_slots_are_counted_where_it_may_decide_alone() -> None:
    config = config_of(STEADY)
    assert Own().drive(config).totals.guard_fallbacks == 0
    far = replace(config, slot_ns=60 * 10**9)
    assert Own().drive(far).totals.guard_fallbacks is None
    told: list[Decided] = []
    Own().drive(far, told.append)
    assert told and not any("decided by" in one.chose or "loss_low" in one.believed for one in told)


def test_over_restarts_each_connection_begins_without_evidence_and_all_slots_are_told_once() -> None:
    config = replace(
        config_of(RISING), restarts=Restarts(at_ns=(1_150 * 10**9,), boot_ns=30 * 10**9, spool=True)
    )
    told: list[Decided] = []
    result = Own().drive(config, told.append)
    times = [one.t_s for one in told]
    assert times == sorted(set(times))
    by = [one.chose["decided by"] for one in told]
    before = [who for one, who in zip(told, by, strict=True) if one.t_s <= 1_150]
    after = [who for one, who in zip(told, by, strict=True) if one.t_s > 1_180]
    assert own.PLAN in before and after[0] == own.RULE
    assert result.totals.guard_fallbacks == by.count(own.GUARD)
    assert in_time(config, result) > 0.5


@pytest.mark.parametrize(("begin_s", "first_s"), [(24, 24), (27, 30)])
def test_before_its_connection_begins_nothing_is_decided(begin_s: int, first_s: int) -> None:
    """Slots of 6 s: the first of which anything is told ends when the connection begins, or after."""
    config = replace(config_of(STEADY), begin_ns=begin_s * 10**9)
    told: list[Decided] = []
    pilot = Own().pilot(config, config.objects.layers, told.append)
    for _ in range(8):
        pilot.step()
    assert [one.t_s for one in told] == [float(t) for t in range(first_s, 49, 6)]


# ------------------------------------------------------------------------------------------------- slot by slot


class Slot:
    """What a sender of two subflows sees, made up."""

    def __init__(
        self, number: int, lost: float, *, heard: float = 300.0, pace_bps: tuple[float, float]
    ) -> None:
        row = {"heard_packets": heard, "lost_packets": lost, "loss_runs": lost, "srtt_s": 120.0}
        self.subflow_values = np.zeros((1, 2, len(CODED_SUBFLOW_VALUES)))
        for name, value in row.items():
            self.subflow_values[..., CODED_SUBFLOW_VALUES.index(name)] = value
        for end in ("heard_from_s", "heard_to_s"):
            self.subflow_values[..., CODED_SUBFLOW_VALUES.index(end)] = 6.0 * number
        self.subflow_values[..., CODED_SUBFLOW_VALUES.index("pacing_bps")] = pace_bps
        self.layer_values = np.zeros((1, 2, len(CODED_LAYER_VALUES)))
        self.layer_values[..., CODED_LAYER_VALUES.index("slack_s")] = np.inf
        self.episode_values = np.full((1, 1), 6.0 * number + 120)


EVEN = (125_000.0, 125_000.0)


def two_links() -> OwnDecider:
    config = config_of(STEADY)
    return OwnDecider(forecaster(), own_mission(replace(config, links=config.links * 2)))


def wild(number: int) -> float:
    return 3.0 if number < 40 else 90.0


def test_a_pace_counts_for_the_share_of_the_time_that_its_line_is_there() -> None:
    """From 120 s on, for two waits of 130 s: of 260 s one line is away for 65 before 305 s, and 35 from 345 on."""
    config = config_of(STEADY, of_link={"outages": [[0, 100], [240, 305], [345, 1000]]})
    steady = config_of(STEADY).links[0]
    mission = own_mission(replace(config, links=(*config.links, steady)))
    seen = OwnDecider(forecaster(), mission)._by_contacts(seen_of(Slot(0, 3.0, pace_bps=EVEN), mission))
    assert seen.pace_bytes[0] == pytest.approx([125_000 / 8 * 160 / 260, 125_000 / 8])


def test_who_begins_to_plan_late_believes_what_one_would_that_heard_all() -> None:
    late, whole = two_links(), two_links()
    early = Forecasting(forecaster())
    early.start(replace(whole.mission, rate_bytes=np.full((1, 2), 15_625.0)))
    begun = None
    for number in range(60):
        slot = Slot(number, wild(number), pace_bps=EVEN)
        late.decide(slot)
        early.hear(whole._thinned(seen_of(slot, whole.mission)))
        begun = number if late.forecasting is not None and begun is None else begun
        if number == 50:  # from here on the evidence is gone, and it looks on
            late._evidence.changes[:] = False
            late._evidence.hear = lambda *_: None  # type: ignore[method-assign]
    assert begun is not None and 40 <= begun < 50
    assert late.forecasting is not None and not late._heard, "nothing is kept that was taken in"
    assert late.forecasting._state == pytest.approx(early._state)


def test_it_plans_for_the_shares_of_the_rate_that_paths_have() -> None:
    decider = two_links()
    for number in range(60):
        decider.decide(Slot(number, wild(number), pace_bps=EVEN))
    assert decider.forecasting is not None
    assert decider.forecasting.mission.rate_bytes.tolist() == [[15_625.0, 15_625.0]]
    decider.decide(Slot(60, 90, pace_bps=(130_000.0, 120_000.0)))
    assert decider.forecasting.mission.rate_bytes.tolist() == [[15_625.0, 15_625.0]]
    decider.decide(Slot(61, 90, pace_bps=(200_000.0, 50_000.0)))
    assert decider.forecasting.mission.rate_bytes.tolist() == [[25_000.0, 6_250.0]]


def test_with_too_few_packets_a_slot_nothing_is_forecast() -> None:
    decider = two_links()
    packet = max(blocks.packet_bytes for blocks in decider.mission.layers)
    few = 19 / 2 * packet * 8 / decider.mission.slot_s
    for number in range(60):
        slot = Slot(number, wild(number), pace_bps=(few, few))
        assert (decider.decide(slot).repair == -1).all()
    assert decider._evidence.changes.all() and decider.forecasting is None
    more = few * 21 / 19
    assert (decider.decide(Slot(60, 90, pace_bps=(more, more))).repair >= 0).all()


def test_where_the_guard_finds_the_belief_wrong_the_engines_rule_decides() -> None:
    decider = two_links()
    for number in range(60):
        planned = decider.decide(Slot(number, wild(number), pace_bps=EVEN))
    assert (planned.repair >= 0).all() and decider.forecasting is not None
    fallen = decider.fallen
    sender = decider.forecasting

    def falls(seen: Seen) -> None:
        sender.fallen[:] = True

    sender._watch = falls  # type: ignore[method-assign]
    assert (decider.decide(Slot(60, 90, pace_bps=EVEN)).repair == -1).all()
    assert decider.fallen == fallen + 1


def test_losses_and_rows_are_thinned_as_packets_are() -> None:
    decider = two_links()
    seen = decider._thinned(seen_of(Slot(1, 80, heard=8_000, pace_bps=EVEN), decider.mission))
    assert (seen.heard.max(), seen.lost.max(), seen.runs.max()) == (4_000, 40, 40)


def test_evidence_is_of_spans_in_round_trips() -> None:
    """Of 120 s; the third slot comes two slots of 6 s after the first, whose span is the first one's own. Of what is
    heard the first subflow has none in the last."""
    decider, spans = two_links(), []
    decider._evidence.hear = lambda heard, lost, runs, span: spans.append(  # type: ignore[assignment, method-assign]
        (heard.tolist(), lost.tolist(), runs.tolist(), span.tolist())
    )
    for number, heard in ((1, 300.0), (3, 300.0), (4, 0.0)):
        decider.decide(Slot(number, 3.0, heard=heard, pace_bps=EVEN))
    assert [one[:3] for one in spans] == [
        ([n] * 2, [x] * 2, [x] * 2) for n, x in ((300, 3), (300, 3), (0, 3))
    ]
    assert [one[3] for one in spans[:2]] == [pytest.approx([0.05] * 2), pytest.approx([0.1] * 2)]


def test_what_it_is_told_of_a_slot_is_what_the_engine_says() -> None:
    """Two subflows and three layers: of the first a third is repair, of the second none, of the third no block yet."""
    names = CODED_SUBFLOW_VALUES
    subflow = np.arange(2.0 * len(names)).reshape(1, 2, -1)
    layer = np.zeros((1, 3, len(CODED_LAYER_VALUES)))
    layer[0, :, CODED_LAYER_VALUES.index("block_source")] = 12, 10, 0
    layer[0, :, CODED_LAYER_VALUES.index("block_repair")] = 4, 0, 7
    episode = np.zeros((1, len(CODED_EPISODE_VALUES)))
    episode[0, CODED_EPISODE_VALUES.index("loss_share")] = 0.125
    stepper: Any = SimpleNamespace(
        subflow_values=subflow, layer_values=layer, episode_values=episode, time_s=lambda trial: 6.0 + trial
    )
    told = own._decided(stepper, None)
    assert told.t_s == 6.0 and not told.fell_back
    assert told.observed == tuple(f"subflow{s}.{name}" for s in (0, 1) for name in names)
    assert told.observation.tolist() == list(range(2 * len(names))) and told.outputs.size == 0
    for name, key in own.SAW.items():
        at = names.index(key)
        assert told.saw[name].tolist() == [float(at), float(at + len(names))]
    ends = names.index("heard_from_s") + names.index("heard_to_s")
    assert told.saw["sent_s"][1] == ends / 2 + len(names)
    assert told.believed["loss"].tolist() == [0.125, 0.125]
    assert told.chose == {
        "repair of layer 0": "20 to 40 %",
        "repair of layer 1": "none",
        "repair of layer 2": "no block yet",
    }
    for by in (own.RULE, own.PLAN, own.GUARD):
        decider: Any = SimpleNamespace(believed={"loss": "its own"} if by != own.RULE else {}, decided_by=by)
        told = own._decided(stepper, decider)
        assert told.chose["decided by"] == by and told.fell_back == (by == own.GUARD)
        assert isinstance(told.believed["loss"], str) == (by != own.RULE)


def test_plans_change_with_a_tenth_of_the_rate_and_not_before() -> None:
    """A share may move from 0.5 to 0.6."""
    decider, planned = two_links(), []
    sender: Any = SimpleNamespace(
        mission=replace(decider.mission, rate_bytes=np.array([[500.0, 500.0]])),
        plan_for=lambda mission: planned.append(mission.rate_bytes.tolist()),
    )
    for first in (599.0, 401.0, 602.0, 398.0):
        decider._follow(sender, np.array([[first, 1000.0 - first]]))
    assert planned == [[[602.0, 398.0]], [[398.0, 602.0]]]
    sender.mission = replace(decider.mission, rate_bytes=np.array([[0.0, 1000.0]]))
    decider._follow(sender, np.array([[100.0, 900.0]]))
    assert len(planned) == 2, "just a tenth is no shift"


def test_slots_are_planned_on_within_the_ends_of_the_training() -> None:
    """A round trip of 120 s: slots from 2.4 s to 30 s; of two links the longest and the shortest count."""
    low, high = forecaster().within["slot_rtts"]
    assert (low, high) == (1 / 50, 1 / 4)
    config = config_of(STEADY)

    def decides(slot_s: float, *delays_s: float) -> bool:
        links = tuple(replace(config.links[0], delay_ns=(round(one * 1e9),)) for one in delays_s)
        return Own().decides(replace(config, slot_ns=round(slot_s * 1e9), links=links))

    assert decides(2.4, 60) and decides(30, 60) and not decides(2.39, 60) and not decides(30.1, 60)
    assert decides(2.4, 60, 30) and decides(15, 60, 30) and not decides(15.1, 60, 30)
    assert not decides(1.2, 30, 60) and not decides(0, 60)
    assert decides(6, *[60] * 8) and not decides(6, *[60] * 9)


def test_who_decides_is_made_of_the_shipped_part_or_of_a_file() -> None:
    config = config_of(STEADY)
    part, known = own.part_of(Own(), config)
    assert part is forecaster() and (known.rate_bytes == 0).all()
    other, whole = own.part_of(forecaster(), config)
    assert other is forecaster() and whole.rate_bytes.tolist() == [[15_625.0]]
    assert isinstance(own.decider_of(own.PART, known, own=True), OwnDecider)
    assert isinstance(own.decider_of(own.PART, whole, own=False), Decider)
    assert Own().most == (MAX_SUBFLOWS, MAX_LAYERS) and Own().knows == ("queue", "contacts")
