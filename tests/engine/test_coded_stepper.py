"""Coded trials stepped slot by slot: what decisions do, and what a sender sees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dstcc.engine import CodedStepper, Coding, EngineConfig, EngineResult, Link, Loss, Objects, simulate
from dstcc.engine.coded_stepper import CODED_EPISODE_VALUES, CODED_LAYER_VALUES, CODED_SUBFLOW_VALUES, OTHER
from dstcc.engine.stepper import FINISHED, RUNNING, TIME_OVER

from .net import MSS, config, link, live, ns, rates

SUBFLOW = {name: i for i, name in enumerate(CODED_SUBFLOW_VALUES)}
LAYER = {name: i for i, name in enumerate(CODED_LAYER_VALUES)}
EPISODE = {name: i for i, name in enumerate(CODED_EPISODE_VALUES)}


def made(
    objects: Objects,
    links: Link | tuple[Link, ...],
    *,
    repair: tuple[float, ...] | None = (),
    chunks: int = 4,
    place: str = "same",
    pace_bps: float = 12e6,
    **knobs: object,
) -> EngineConfig:
    """A coded trial without a handshake under open-loop, blocks of so many chunks of a second, slots of a second."""
    wanted: dict[str, object] = {"mode": "coded", "handshake": False, "layer_first": True, "slot_s": 1.0}
    wanted["parameters"] = rates(pace_bps, pace_bps)
    one = config("open-loop", links, objects=objects, **(wanted | knobs))  # type: ignore[arg-type]
    return replace(one, coding=Coding(objects.chunk // chunks, ns(chunks), repair, "mds", place))


def stepped(one: EngineConfig, **arrays: object) -> EngineResult:
    """A trial under actions that stay, given by the names of the stepper's arrays."""
    layers = int(one.objects.layer.max()) + 1
    stepper = CodedStepper(1, len(one.links), layers)
    stepper.load(0, one)
    for name, value in arrays.items():
        getattr(stepper, name)[:] = value
    for _ in range(10_000):
        if stepper.done[0] != RUNNING:
            break
        stepper.step()
    assert stepper.done[0] == FINISHED
    return stepper.result(0)


def same(one: EngineResult, other: EngineResult) -> None:
    """The same bytes."""
    assert one.totals == other.totals and one.end_ns == other.end_ns
    for left, right in (
        (one.objects, other.objects),
        (one.samples, other.samples),
        (one.coding, other.coding),
    ):
        for name, values in vars(left).items():
            assert values is None or np.array_equal(values, getattr(right, name)), name


LOSSY = (
    link(1.2e6, 2.0, loss=Loss("packet", 0.05), up_loss=Loss("packet", 0.05)),
    link(0.8e6, 1.0, loss=Loss("gilbert-elliott", p=0.01, r=0.1, good=0.0, bad=0.5)),
)
"""1.5 Mbit/s of video are within what the two carry."""


def mission(seed: int = 3, **more: object) -> EngineConfig:
    objects = live(40, (60_000, 60_000, 60_000), playout_s=4.0)
    wanted: dict[str, object] = {"pace_bps": 1e6, "seed": seed}
    return made(objects, LOSSY, **(wanted | more))  # type: ignore[arg-type]


@pytest.mark.parametrize("repair", [None, (0.2, 0.1), ()])
@pytest.mark.parametrize("slot_s", [0.25, 1.0, 7.0])
def test_a_trial_for_which_nothing_is_decided_is_that_of_simulate(
    repair: tuple[float, ...] | None, slot_s: float
) -> None:
    for congestion in ("open-loop", "cubic", "bbr-scaled"):
        one = mission(repair=repair, slot_s=slot_s)
        one = replace(one, transport=replace(one.transport, congestion=congestion))
        same(stepped(one), simulate(one))


def test_shares_decided_from_the_start_are_those_of_the_configuration() -> None:
    same(stepped(mission(repair=None), repair=[[0.3, 0.1, 0.05]]), simulate(mission(repair=(0.3, 0.1, 0.05))))
    same(stepped(mission(repair=(0.5,)), repair=[[0.3, 0.1, -1]]), simulate(mission(repair=(0.3, 0.1))))


def test_a_layer_whose_share_is_decided_leaves_time_for_repair_even_where_it_is_none() -> None:
    # A packet a second and two of them in a chunk of a second: what waits is given up at the edge of its deadline, or,
    # where a block of four chunks may get repair, 3 s before.
    one = made(live(40, (2 * MSS,), playout_s=9.5), link(12e3), pace_bps=12e3)
    wait = {}
    for share in (-1, 0.0):
        objects = stepped(one, repair=share).objects
        sent = objects.first_sent_ns >= 0
        wait[share] = (objects.first_sent_ns - one.objects.release_ns)[sent][-5:].mean() / 1e9
    # 9.5 s less light of 0.5 s, and the time that two packets take
    assert wait[-1] == pytest.approx(7, abs=1.1) and wait[0.0] == pytest.approx(4, abs=1.1)


def test_a_place_decided_from_the_start_is_that_of_the_configuration() -> None:
    same(
        stepped(mission(repair=(0.3,), place="same"), place=OTHER),
        simulate(mission(repair=(0.3,), place="other")),
    )


def test_a_pace_that_is_pressed_is_a_pace() -> None:
    pressed = stepped(mission(repair=(0.1,)), pace=[[0.5, 0.5]])
    slow = simulate(mission(repair=(0.1,), pace_bps=0.5e6))
    assert pressed.totals.data_packets == slow.totals.data_packets
    assert np.array_equal(pressed.objects.complete_ns, slow.objects.complete_ns)


def test_a_share_is_for_the_blocks_that_close_from_then_on() -> None:
    one = made(live(12, (2 * MSS,)), link(), repair=(0.25,))
    stepper = CodedStepper(1, 1, 1)
    stepper.load(0, one)
    for second in range(20):
        # Blocks of four chunks close just after 4 s, 8 s and 12 s. What is decided at 5 s holds for the second, at
        # 9 s for the third.
        stepper.repair[:] = {0: -1, 5: 0.5, 9: 0.0}.get(second, stepper.repair[0, 0])
        stepper.step()
    coding = stepper.result(0).coding
    assert coding is not None and coding.planned_packets.tolist() == [2, 4, 0]
    assert coding.source_packets.tolist() == [8, 8, 8]


@pytest.mark.parametrize("steered", [0.0, 0.02])
def test_blocks_are_planned_again_where_losses_rise_whoever_decided_before(steered: float) -> None:
    # From 10 s on every fifth packet is lost, which is heard of from 18 s on; blocks of four chunks under way by then
    # lack more than was planned, by the engine or by who decides from 16 s on.
    objects = live(40, (10 * MSS,), playout_s=16.0)
    lost = tuple((number, 1) for number in range(100, 1000, 5))
    one = made(objects, link(rtt_s=8.0, drops=lost), repair=None)
    one = replace(one, transport=replace(one.transport, congestion="paced", parameters={}))
    stepper = CodedStepper(1, 1, 1)
    stepper.load(0, one)
    planned = []
    for second in range(40):
        if second >= 16:
            stepper.repair[:] = steered
        stepper.step()
        planned.append(stepper.result(0).coding.planned_packets.copy())
    # The blocks that closed at 12 s and, steered, at 16 s: 40 source packets each, of which 8 are lost.
    assert planned[15][2] < 8 <= planned[-1][2]
    assert planned[17][3] < 8 <= planned[-1][3]


def test_blocks_that_somebody_decides_on_are_not_planned_again_while_as_much_is_lost() -> None:
    # Every fifth packet is lost. What is heard of that from 8 s on is more than the first blocks were decided for; all
    # that close after 16 s are decided on with it.
    objects = live(60, (10 * MSS,), playout_s=14.0)
    lost = tuple((number, 1) for number in range(0, 1000, 5))
    one = made(objects, link(rtt_s=8.0, drops=lost), repair=None)
    one = replace(one, transport=replace(one.transport, congestion="paced", parameters={}))
    planned = stepped(one, repair=0.0).coding.planned_packets
    assert planned[0] > 8 and planned[4:].max() == 0


def test_a_layer_that_is_left_out_is_given_up_with_what_builds_on_it_and_comes_back() -> None:
    one = made(live(12, (2 * MSS,) * 3, playout_s=5.0), link())
    stepper = CodedStepper(1, 1, 3)
    stepper.load(0, one)
    for second in range(20):
        stepper.left_out[0, 1] = 4 <= second < 8
        stepper.step()
    objects = stepper.result(0).objects
    out = objects.given_up.reshape(12, 3)
    # Chunk c is released at c + 1 s. Of that of 4 s one packet has left when the layer is left out, a base layer's.
    assert out[:, 0].sum() == 0
    assert np.flatnonzero(out[:, 1]).tolist() == [3, 4, 5, 6, 7] == np.flatnonzero(out[:, 2]).tolist()
    assert objects.sent_bytes.reshape(12, 3)[3:8, 1:].sum() == 0


def test_who_has_left_a_layer_out_decides_on_layers_from_then_on() -> None:
    # 15 packets a second of 30 go. The sender's own plan leaves nothing for the highest layer, whose turn comes a block
    # after that of the one below it. It makes none once a layer was left out, for however short a time.
    one = made(live(60, (10 * MSS,) * 3, playout_s=20.0), link(180e3, 2.0), pace_bps=180e3, drop_late=True)
    highest = one.objects.layer == 2
    shares = []
    for decided in (False, True):
        stepper = CodedStepper(1, 1, 3)
        stepper.load(0, one)
        stepper.left_out[0, 2] = decided
        stepper.step()  # nothing was captured yet
        stepper.left_out[:] = 0
        while stepper.done[0] == RUNNING:
            stepper.step()
        done = stepper.result(0).objects.complete_ns
        shares.append(((done >= 0) & (done <= one.objects.deadline_ns))[highest].mean())
    assert shares[0] < 0.05
    assert shares[1] > 0.15


def test_what_waits_of_a_layer_is_given_up_at_once_but_what_was_begun_is_finished() -> None:
    # Chunks of 40 packets at 12 kbit/s, a packet a second: the first was begun when the layer is left out.
    one = made(live(3, (40 * MSS,), playout_s=100.0), link(12e3), pace_bps=12e3)
    stepper = CodedStepper(1, 1, 1)
    stepper.load(0, one)
    stepper.step()
    stepper.step()
    stepper.left_out[:] = 1
    stepper.step()
    objects = stepper.result(0).objects
    assert objects.given_up.tolist() == [0, 1, 1]


def test_a_sender_sees_what_acknowledgements_say_and_when_that_left() -> None:
    # Packets 3, 4 and 6 are lost. A chunk of 8 leaves within 8 ms at 1 s and at 2 s, and is heard of a second later.
    on = replace(link(), drops=((3, 1), (4, 1), (6, 1)))
    stepper = CodedStepper(1, 1, 1)
    stepper.load(0, made(live(2, (8 * MSS,)), on, repair=(0.25,), slot_s=0.5, chunks=1))
    seen = []
    for _ in range(8):
        stepper.step()
        seen.append(stepper.subflow_values[0, 0].copy())
    of = lambda slot, name: float(seen[slot][SUBFLOW[name]])  # noqa: E731
    # The slot from 2.0 s to 2.5 s: of the first chunk 8 source packets and 2 repair packets.
    assert (of(4, "heard_packets"), of(4, "lost_packets"), of(4, "loss_runs")) == (10, 3, 2)
    assert of(4, "heard_from_s") == pytest.approx(1.0)
    assert of(4, "heard_to_s") == pytest.approx(1.009)
    assert of(4, "delivered_bytes") == 7 * MSS
    assert of(3, "heard_packets") == of(3, "heard_from_s") == 0
    # The first packets of the chunks leave at 1 s and 2 s sharp, which slots end with. Short of one packet, the first
    # block gets fresh ones beside the 9 others of the second.
    assert [of(slot, "sent_packets") for slot in (1, 2, 3)] == [1, 9, 1]
    assert of(4, "sent_packets") > 9


def test_a_sender_sees_its_backlog_its_slack_and_what_was_captured() -> None:
    # 4 packets a chunk at 24 kbit/s, two packets a second: half of what is captured waits.
    one = made(live(6, (4 * MSS, 2 * MSS), playout_s=30.0), link(24e3), pace_bps=24e3, chunks=2)
    stepper = CodedStepper(1, 1, 2)
    stepper.load(0, one)
    for _ in range(3):
        stepper.step()
    base, above = stepper.layer_values[0]
    # Released at 1, 2 and 3 s; packets have left at 1, 1.5, 2, 2.5 and 3 s, all of base layers.
    assert (base[LAYER["released_objects"]], base[LAYER["released_bytes"]]) == (1, 4 * MSS)
    assert base[LAYER["backlog_bytes"]] + above[LAYER["backlog_bytes"]] == 18 * MSS - 5 * MSS
    assert above[LAYER["slack_s"]] == pytest.approx(1 + 30 - 3)
    own = stepper.episode_values[0]
    assert own[EPISODE["time_s"]] == 3 and own[EPISODE["total_weight"]] == 6 * 300
    assert own[EPISODE["loss_share"]] == pytest.approx(0.03, abs=0.001)


def test_each_slots_values_are_those_of_what_happened_so_far() -> None:
    """Layer by layer from the objects and blocks, subflow by subflow from the samples, in a trial that lacks rate."""
    objects = live(30, (60_000, 60_000, 60_000), playout_s=5.0)
    one = made(objects, LOSSY, repair=(0.3, 0.2), pace_bps=0.7e6, seed=5, handshake=True)
    stepper = CodedStepper(1, 2, 3)
    stepper.load(0, one)
    sent, repaired, began = np.zeros(3), np.zeros(3), 0
    of_layer = [objects.layer == m for m in range(3)]
    waited, gave_up, heard_from_s = np.zeros(3), 0, np.zeros(2)
    while stepper.done[0] == RUNNING:
        stepper.step()
        now, so_far = round(stepper.episode_values[0, EPISODE["time_s"]] * 1e9), stepper.result(0)
        row = {name: stepper.layer_values[0, :, LAYER[name]] for name in CODED_LAYER_VALUES}
        released = (objects.release_ns <= now) & (objects.release_ns > began)
        left = np.where(so_far.objects.given_up == 1, 0, objects.payload_bytes - so_far.objects.sent_bytes)
        left[(objects.release_ns > now) | (objects.deadline_ns < now)] = 0
        coding = so_far.coding
        assert coding is not None
        for m, mine in enumerate(of_layer):
            assert row["released_bytes"][m] == objects.payload_bytes[mine & released].sum()
            assert row["released_objects"][m] == (mine & released).sum()
            assert row["sent_bytes"][m] == so_far.objects.sent_bytes[mine].sum() - sent[m]
            assert row["repair_packets"][m] == coding.repair_packets[m::3].sum() - repaired[m]
            assert row["backlog_bytes"][m] == left[mine].sum()
            waits = objects.deadline_ns[mine & (left > 0)]
            slack_s = (waits.min() - now) / 1e9 if len(waits) else np.inf
            assert row["slack_s"][m] == pytest.approx(slack_s)
            waited[m] += left[mine].sum() > 0
            sent[m] = so_far.objects.sent_bytes[mine].sum()
            repaired[m] = coding.repair_packets[m::3].sum()
        samples, subflows = so_far.samples, stepper.subflow_values[0]
        if stepper.done[0] == RUNNING:
            assert (samples.t_ns[-2:] == now).all()
            for name in ("inflight_segments", "delivered_bytes", "queue_bytes", "pacing_bps"):
                assert subflows[:, SUBFLOW[name]] == pytest.approx(getattr(samples, name)[-2:]), name
        heard = subflows[:, SUBFLOW["heard_packets"]] > 0
        first_s, last_s = (subflows[:, SUBFLOW[name]] for name in ("heard_from_s", "heard_to_s"))
        assert (first_s[~heard] == 0).all() and (last_s[~heard] == 0).all()
        assert (first_s[heard] > heard_from_s[heard]).all() and (first_s <= last_s).all()
        heard_from_s[heard] = first_s[heard]
        # A handshake takes a round trip of 2 s or 1 s, and what its packets take on the line.
        started = now > np.array([2e9, 1e9])
        assert ((subflows[:, SUBFLOW["established"]] == 1) == started).all()
        assert (subflows[~started][:, SUBFLOW["cwnd_segments"]] == 0).all()
        began, gave_up = now, int(so_far.objects.given_up.sum())
    assert (waited > 0).all() and gave_up > 0 and (repaired[:2] > 0).all() and repaired[2] == 0


def test_the_block_that_closed_last_is_one_that_is_closed_and_has_packets() -> None:
    # Blocks of four chunks of two packets, which close just after 4 s, 8 s and 12 s; the third one has none.
    one = made(live(12, (2 * MSS,)), link(), repair=(0.25,))
    stepper = CodedStepper(1, 1, 1)
    stepper.load(0, one)
    seen = []
    for second in range(14):
        stepper.left_out[:] = second >= 8
        stepper.step()
        seen.append(stepper.layer_values[0, 0, [LAYER["block_source"], LAYER["block_repair"]]].tolist())
    assert seen[:4] == [[0, 0]] * 4
    assert seen[4:] == [[8, 2]] * 10


def test_outages_of_the_plan_are_seen_and_paths_move() -> None:
    on = replace(link(), outages_ns=((ns(3), ns(5)),), delay_t_ns=(0, ns(10)), delay_ns=(ns(1), ns(2)))
    stepper = CodedStepper(1, 1, 1)
    stepper.load(0, made(live(8, (2 * MSS,)), on))
    seen = []
    for _ in range(6):
        stepper.step()
        seen.append(stepper.subflow_values[0, 0, [SUBFLOW[x] for x in ("link_up", "change_s", "one_way_s")]])
    up, change_s, one_way_s = np.array(seen).T
    assert up.tolist() == [1, 1, 0, 0, 1, 1]
    assert change_s.tolist() == [2, 1, 2, 1, np.inf, np.inf]
    assert one_way_s == pytest.approx([1.1, 1.2, 1.3, 1.4, 1.5, 1.6])


def test_what_was_played_adds_up_to_what_the_trial_plays() -> None:
    one = mission(repair=(0.2, 0.1, 0.0))
    stepper = CodedStepper(1, 2, 3)
    stepper.load(0, one)
    played, time_s = 0.0, 0.0
    while stepper.done[0] == RUNNING:
        stepper.step()
        weight = stepper.episode_values[0, EPISODE["played_weight"]]
        assert stepper.layer_values[0, :, LAYER["played"]] @ [300, 200, 100] == weight
        played, time_s = played + weight, time_s + stepper.episode_values[0, EPISODE["slot_s"]]
    assert time_s == pytest.approx(stepper.episode_values[0, EPISODE["time_s"]])
    complete = stepper.result(0).objects.complete_ns
    whole = ((complete >= 0) & (complete <= one.objects.deadline_ns)).reshape(-1, 3).cumprod(axis=1)
    assert played == (whole.sum(axis=0) * [300, 200, 100]).sum() > 0


def test_trials_side_by_side_are_those_alone() -> None:
    seeds = (1, 2, 3, 4, 5)
    together = CodedStepper(5, 2, 3, threads=2)
    paces, places = ([1.0, 1.0], [0.5, 1.0], [1.0, 0.25], [2.0, 1.0], [1.0, 1.0]), (0, 1, 2, 1, 0)
    for k, seed in enumerate(seeds):
        together.load(k, mission(seed, repair=()))
        together.repair[k] = [0.1 * k, 0.05, 0.0]
        together.pace[k], together.place[k] = paces[k], places[k]
    while (together.done == RUNNING).any():
        together.step()
    for k, seed in enumerate(seeds):
        alone = stepped(
            mission(seed, repair=()), repair=[[0.1 * k, 0.05, 0.0]], pace=[paces[k]], place=places[k]
        )
        same(together.result(k), alone)


def test_an_episode_that_is_not_active_stands_still() -> None:
    stepper = CodedStepper(2, 2, 3)
    for k in range(2):
        stepper.load(k, mission())
    stepper.active[1] = 0
    for _ in range(3):
        stepper.step()
    assert stepper.episode_values[:, EPISODE["time_s"]].tolist() == [3, 0]


def test_a_trial_that_its_limit_ends_has_not_finished() -> None:
    stepper = CodedStepper(1, 2, 3)
    stepper.load(0, mission(duration_s=7.5))
    while stepper.done[0] == RUNNING:
        stepper.step()
    assert stepper.done[0] == TIME_OVER
    assert stepper.episode_values[0, EPISODE["time_s"]] == 7.5


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("repair", -0.5, "share of repair"),
        ("repair", float("nan"), "share of repair"),
        ("repair", 1e4, "share of repair"),
        ("pace", 0.0, "pace is multiplied"),
        ("pace", 9e-4, "pace is multiplied"),
        ("pace", 1001.0, "pace is multiplied"),
        ("pace", float("nan"), "pace is multiplied"),
        ("place", 3, "a place is"),
        ("place", -2, "a place is"),
    ],
)
def test_decisions_that_are_none_are_refused(name: str, value: float, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        stepped(mission(), **{name: value})


def test_it_steps_coded_trials_that_fit() -> None:
    with pytest.raises(ValueError, match="of the mode coded"):
        CodedStepper(1, 1, 1).load(0, config("cubic", link()))
    with pytest.raises(ValueError, match="more subflows or layers"):
        CodedStepper(1, 1, 3).load(0, mission())
    with pytest.raises(ValueError, match="before it is loaded"):
        CodedStepper(1, 1, 1).step()
    with pytest.raises(ValueError, match="at least 1"):
        CodedStepper(0, 1, 1)
