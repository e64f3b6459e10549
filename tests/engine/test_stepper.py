"""Stepping: what happens does not depend on being stepped, on neighbours or on threads; actions do what they say."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dstcc.engine import AGENT, EngineConfig, EngineResult, Loss, Stepper, simulate
from dstcc.engine.config import AGENT_LATE, AGENT_POLICIES, AGENT_RATE
from dstcc.engine.stepper import (
    AVOID,
    EPISODE_VALUES,
    FALL_BACK,
    FINISHED,
    LAYER_VALUES,
    ONE_Q16,
    REPAIRABLE,
    RUNNING,
    SILENT,
    SUBFLOW_VALUES,
    TIME_OVER,
)
from dstcc.learn.spaces.schedulers import POLICIES
from tests.sampling import examples

from .net import MSS, config, link, live, ns, windows

LINKS = (
    link(2e6, 1.0, name="a", loss=Loss("packet", 1e-2)),
    link(4e6, 1.7, name="b", loss=Loss("packet", 1e-3)),
)


def trial(
    control: str = AGENT, scheduler: str = AGENT, *, seed: int = 1, mode: str = "lanes", **more: Any
) -> EngineConfig:
    objects = live(40, (30_000, 40_000, 50_000), playout_s=3.0)
    return config(
        control, LINKS, objects=objects, scheduler=scheduler, seed=seed, mode=mode, layer_first=True, **more
    )


def value(stepper: Stepper, name: str, episode: int = 0) -> NDArray[np.float64]:
    return stepper.subflow_values[episode, :, SUBFLOW_VALUES.index(name)]


def of_layers(stepper: Stepper, name: str, episode: int = 0) -> NDArray[np.float64]:
    return stepper.layer_values[episode, :, LAYER_VALUES.index(name)]


def of_episode(stepper: Stepper, name: str, episode: int = 0) -> float:
    return float(stepper.episode_values[episode, EPISODE_VALUES.index(name)])


def to_the_end(stepper: Stepper, episode: int = 0) -> EngineResult:
    while stepper.done[episode] == RUNNING:
        stepper.step()
    return stepper.result(episode)


def same(a: EngineResult, b: EngineResult) -> bool:
    tables = ((a.objects, b.objects), (a.samples, b.samples))
    equal = all(
        np.array_equal(x, y)
        for left, right in tables
        for x, y in zip(asdict(left).values(), asdict(right).values(), strict=True)
    )
    one, other = (
        replace(r.totals, engine_peak_bytes=0) for r in (a, b)
    )  # some laws have more kept of a packet
    totals = repr(one) == repr(other)
    return equal and totals and a.end_ns == b.end_ns


@pytest.mark.parametrize(
    "control, scheduler", [("cubic", "minrtt"), ("bbr-scaled", "layer-pinned"), ("newreno", "redundant")]
)
@pytest.mark.parametrize("mode", ["stream", "lanes"])
def test_a_stepped_trial_is_the_uninterrupted_one(control: str, scheduler: str, mode: str) -> None:
    wanted = trial(control, scheduler, mode=mode)
    stepper = Stepper(1, 2, 3)
    stepper.load(0, wanted)
    assert same(to_the_end(stepper), simulate(wanted))


@pytest.mark.parametrize("scheduler", ["po-mptcp", "minrtt-then-fast-30", "daps"])
def test_looking_on_asks_no_scheduler_again(scheduler: str) -> None:
    """Those that wait would otherwise be asked once a slot; `daps` plans segments of layers before any is sent."""
    wanted = trial("cubic", scheduler, mode="stream")
    stepper = Stepper(1, 2, 3)
    stepper.load(0, wanted)
    assert same(to_the_end(stepper), simulate(wanted))


def test_an_agent_nobody_steers_is_newreno() -> None:
    wanted = config(AGENT, LINKS, duration_s=60, scheduler="minrtt")
    silent = simulate(wanted)
    reno = simulate(replace(wanted, transport=replace(wanted.transport, congestion="newreno")))
    assert same(silent, reno)


def test_a_window_held_from_the_start_is_the_fixed_one() -> None:
    """alpha = 0, beta = W at every slot against `fixed`: the same but for the first slot, when W was not yet set."""
    trial = config(AGENT, link(2e6, 1.0), duration_s=400, slot_s=1.0, headroom=0)
    stepper = Stepper(1, 1, 1)
    stepper.load(0, trial)
    stepper.alpha_q16[:], stepper.beta[:] = 0, 100
    stepped = to_the_end(stepper)
    fixed = simulate(
        replace(trial, transport=replace(trial.transport, congestion="fixed", parameters=windows(100)))
    )
    sent = [r.samples.sent_segments[5:].sum() for r in (stepped, fixed)]
    assert stepped.samples.cwnd_segments[2:].tolist() == [100] * 398
    assert sent[0] == pytest.approx(sent[1], rel=0.01)


def test_the_cap_doubles_a_round_trip_at_most() -> None:
    trial = config(AGENT, link(12e6, 1.0, queue_bdp=2.0), duration_s=60, slot_s=1.0)
    stepper = Stepper(1, 1, 1)
    stepper.load(0, trial)
    stepper.alpha_q16[:], stepper.beta[:] = 16 * ONE_Q16, 0
    windows = to_the_end(stepper).samples.cwnd_segments
    rising = windows[2:9]
    assert (rising[1:] <= 2 * rising[:-1] + 2).all()
    assert windows.max() == pytest.approx(2 * 1000, rel=0.02)  # BDP: 12 Mb/s over 1 s is 1,000 packets
    assert value(stepper, "clamps")[0] > 20


@pytest.mark.parametrize(("given", "slots"), [(3, 3), (None, 4)])
def test_silence_hands_the_window_to_newreno_until_the_agent_returns(given: int | None, slots: int) -> None:
    trial = config(AGENT, link(12e6, 1.0), duration_s=60, slot_s=1.0, silence_slots=given)
    stepper = Stepper(1, 1, 1)
    stepper.load(0, trial)
    stepper.alpha_q16[:], stepper.beta[:] = 0, 20
    steered, windows = [], []
    for slot in range(30):
        stepper.alpha_q16[:] = 0 if slot < 10 or slot >= 20 else SILENT
        stepper.step()
        steered.append(bool(value(stepper, "steered")[0]))
        windows.append(int(value(stepper, "cwnd_segments")[0]))
    last = 9 + slots  # the last action falls on 9 s
    assert steered[2:last] == [True] * (last - 2)
    assert steered[last:20] == [False] * (20 - last)
    assert steered[20:] == [True] * 10
    assert windows[last - 1] == 20 < windows[19] <= 30  # avoidance: a segment per round trip
    assert value(stepper, "fallbacks")[0] == 1


def test_the_agent_may_fall_back_at_once() -> None:
    stepper = Stepper(1, 1, 1)
    stepper.load(0, config(AGENT, link(12e6, 1.0), duration_s=60, slot_s=1.0))
    stepper.alpha_q16[:] = ONE_Q16
    for _ in range(5):
        stepper.step()
    assert value(stepper, "steered")[0] == 1
    stepper.alpha_q16[:] = FALL_BACK
    stepper.step()
    assert value(stepper, "steered")[0] == 0
    assert value(stepper, "pacing_bps")[0] == 0


def test_a_loss_moves_no_window_that_is_steered() -> None:
    lossy = link(12e6, 1.0, loss=Loss("packet", 0.05))
    stepper = Stepper(1, 1, 1)
    stepper.load(0, config(AGENT, lossy, duration_s=100, slot_s=1.0))
    stepper.alpha_q16[:] = ONE_Q16
    result = to_the_end(stepper)
    assert result.totals.lost_channel_packets > 10
    assert set(result.samples.cwnd_segments[2:].tolist()) == {10}


def test_the_table_says_which_subflow_carries_a_layer() -> None:
    stepper = Stepper(1, 2, 3)
    stepper.load(0, trial())
    stepper.alpha_q16[:], stepper.beta[:] = 0, 200
    stepper.layer_subflow[0] = (1, 0, 0)
    for _ in range(40):
        stepper.step()
    sent = stepper.result(0).objects
    layer = trial().objects.layer
    known = sent.subflow >= 0
    assert set(sent.subflow[known & (layer == 0)].tolist()) == {1}
    assert set(sent.subflow[known & (layer > 0)].tolist()) == {0}


def chosen_last(*policies: int) -> tuple[EngineConfig, EngineResult]:
    """A trial under an agent that chooses these before any data."""
    objects = live(30, (150_000,))
    wanted = config("cubic", LINKS, objects=objects, scheduler=AGENT_POLICIES, mode="stream", slot_s=0.25)
    stepper = Stepper(1, 2, 1)
    stepper.load(0, wanted)
    for chosen in policies:
        stepper.layer_subflow[:] = chosen
        stepper.step()
    return wanted, to_the_end(stepper)


@pytest.mark.parametrize("number", range(5))
def test_of_seven_policies_the_one_that_was_chosen_last_schedules(number: int) -> None:
    """The last two look at chunks, which a scheduler by itself does not."""
    wanted, result = chosen_last(POLICIES.index("fast-only"), number)
    plain = replace(wanted, transport=replace(wanted.transport, scheduler=POLICIES[number]))
    assert same(result, simulate(plain))


def test_a_number_beyond_the_policies_is_the_last() -> None:
    last, beyond, another = (chosen_last(0, number)[1] for number in (6, 90, 3))
    assert same(last, beyond) and not same(last, another)


def test_layers_that_wait_follow_the_table() -> None:
    """All wait for subflow 0, whose window of 2 carries next to nothing; then they are told to take the other."""
    objects = live(10, (50_000,), chunk_s=0.1)
    stepper = Stepper(1, 2, 1)
    stepper.load(0, config(AGENT, LINKS, objects=objects, scheduler=AGENT, mode="lanes", slot_s=0.5))
    stepper.alpha_q16[:], stepper.beta[0] = 0, (2, 400)
    stepper.layer_subflow[:] = 0
    for _ in range(8):
        stepper.step()
    waiting = of_layers(stepper, "backlog_bytes")[0]
    assert waiting >= 400_000
    assert value(stepper, "assigned_bytes")[0] >= waiting - 50_000
    stepper.layer_subflow[:] = 1
    stepper.step()
    assert value(stepper, "assigned_bytes")[0] <= 50_000  # what is begun stays
    result = to_the_end(stepper)
    assert (result.objects.complete_ns >= 0).all()
    assert (result.objects.subflow == 1).sum() >= 8


def test_copies_arrive_by_another_subflow_and_count_as_duplicates() -> None:
    def duplicates(copied: tuple[int, int, int]) -> tuple[float, EngineResult]:
        stepper = Stepper(1, 2, 3)
        stepper.load(0, trial())
        stepper.alpha_q16[:], stepper.beta[:] = 0, 400
        stepper.layer_subflow[0], stepper.copied[0] = (0, 1, 1), copied
        result = to_the_end(stepper)
        return result.totals.duplicate_payload_bytes, result

    once, plain = duplicates((0, 0, 0))
    twice, copied = duplicates((1, 0, 0))
    base = 40 * 30_000
    assert once < 0.1 * base
    assert twice > 0.5 * base
    layer = trial().objects.layer
    in_time = [(r.objects.complete_ns[layer == 0] >= 0).sum() for r in (plain, copied)]
    assert in_time[1] >= in_time[0]


def late_bound(gap_s: float, table: tuple[int, int, int] = (-1, -1, -1), window: int = 40) -> EngineResult:
    stepper = Stepper(1, 2, 3)
    stepper.load(0, trial(scheduler=AGENT_LATE, headroom=0))
    stepper.alpha_q16[:], stepper.beta[:] = 0, window
    stepper.layer_subflow[0], stepper.order[0] = table, (gap_s, 0.0)
    return to_the_end(stepper)


def test_late_layers_go_by_turns() -> None:
    layer = trial().objects.layer
    chunks, bases = (late_bound(gap_s, window=25).objects.first_sent_ns >= 0 for gap_s in (0.0, np.inf))
    assert bases[layer == 0].sum() >= chunks[layer == 0].sum()
    assert (
        bases[layer == 1].sum() < chunks[layer == 1].sum()
    )  # too little room: some would go before a base layer


def test_a_late_subflow_rests_while_its_link_is_away() -> None:
    stepper = Stepper(1, 2, 3)
    away = replace(LINKS[1], outages_ns=((ns(10), ns(30)),))
    stepper.load(0, replace(trial(scheduler=AGENT_LATE, headroom=0), links=(LINKS[0], away)))
    stepper.alpha_q16[:], stepper.beta[:] = 0, 400
    stepper.layer_subflow[:] = -1
    sent = []
    while stepper.done[0] == RUNNING:
        stepper.step()
        if 11 < of_episode(stepper, "time_s") <= 30:
            sent.append(value(stepper, "sent_segments")[1])
    assert sent and not sum(sent)
    assert (stepper.result(0).objects.first_sent_ns[stepper.result(0).objects.subflow == 1] > 30e9).any()


def test_late_layers_keep_to_the_subflows_they_may_take() -> None:
    layer = trial().objects.layer
    objects = late_bound(0.0, (1, AVOID - 1, -1), 15).objects  # short of room: else one would use the other's
    begun = objects.first_sent_ns > 4e9
    for m, subflow in ((0, 1), (1, 0)):
        assert (objects.subflow[begun & (layer == m)] == subflow).mean() > 0.6


def test_late_layers_take_the_subflow_where_they_could_be_repaired() -> None:
    # 3 s of light and a repair on the first, 5.1 s on the second
    objects = live(40, (60_000, 80_000, 100_000), playout_s=4.0)
    bases = []
    for table in ((-1, -1, -1), (REPAIRABLE, -1, -1)):
        stepper = Stepper(1, 2, 3)
        stepper.load(0, replace(trial(scheduler=AGENT_LATE, headroom=0), objects=objects))
        stepper.alpha_q16[:], stepper.beta[:] = 0, 60
        stepper.layer_subflow[0], stepper.order[0] = table, (0.0, 0.0)
        outcome = to_the_end(stepper).objects
        later = (objects.layer == 0) & (objects.release_ns > 8e9)
        bases.append((outcome.subflow[later] == 0).mean())
    assert bases[0] < 0.3 and bases[1] > 0.7


@pytest.mark.parametrize(("window", "least", "most"), [(25, 0.0, 0.02), (2_000, 0.9, 1.1)])
def test_late_copies_go_where_there_is_room(window: int, least: float, most: float) -> None:
    stepper = Stepper(1, 2, 3)
    stepper.load(0, trial(scheduler=AGENT_LATE, headroom=0))
    stepper.alpha_q16[:], stepper.beta[:] = 0, window
    stepper.layer_subflow[:], stepper.copied[:] = -1, 1
    totals = to_the_end(stepper).totals
    assert least <= totals.duplicate_payload_bytes / totals.delivered_payload_bytes <= most


@pytest.mark.parametrize(("control", "least"), [(AGENT, 0.0), (AGENT_RATE, 0.8)])
def test_a_smaller_rate_does_not_silence_a_subflow(control: str, least: float) -> None:
    stepper, slots = Stepper(1, 2, 3), []
    objects = live(40, (100_000, 200_000, 300_000), playout_s=9.0)
    stepper.load(0, replace(trial(control, AGENT_LATE, headroom=0), objects=objects))
    stepper.alpha_q16[:], stepper.beta[:], stepper.layer_subflow[:] = 0, 300, -1
    while stepper.done[0] == RUNNING and of_episode(stepper, "time_s") < 13:
        if of_episode(stepper, "time_s") >= 12:
            stepper.beta[:] = 60
            slots.append(value(stepper, "sent_segments")[0] / of_episode(stepper, "slot_s"))
        stepper.step()
    rate = 60 / value(stepper, "srtt_s")[0]
    assert least * rate <= min(slots[1:]) and (control == AGENT_RATE or min(slots[1:]) < 0.2 * rate)


def test_promises_are_kept_where_nothing_needs_a_repair() -> None:
    stepper = Stepper(1, 2, 3)
    stepper.load(0, replace(trial(), links=tuple(replace(link, loss=Loss()) for link in LINKS)))
    stepper.alpha_q16[:], stepper.beta[:] = 0, 300
    promised = played = 0.0
    while stepper.done[0] == RUNNING:
        stepper.step()
        promised += of_episode(stepper, "promised_weight")
        played += of_episode(stepper, "played_weight")
    assert promised == played > 0


def test_what_a_repair_saves_is_promised_when_it_is_there() -> None:
    stepper = Stepper(1, 2, 3)
    stepper.load(0, replace(trial(), objects=live(40, (30_000, 40_000, 50_000), playout_s=8.0)))
    stepper.alpha_q16[:], stepper.beta[:] = 0, 300
    promised = played = 0.0
    while stepper.done[0] == RUNNING:
        stepper.step()
        promised += of_episode(stepper, "promised_weight")
        played += of_episode(stepper, "played_weight")
    assert stepper.result(0).totals.retransmitted_payload_bytes > 0
    assert promised == played == 40 * 600


def test_values_add_up_to_the_result() -> None:
    stepper = Stepper(1, 2, 3)
    stepper.load(0, trial())
    stepper.alpha_q16[:], stepper.beta[:] = 0, 300
    stepper.layer_subflow[:] = -1
    sums = dict.fromkeys(
        ("sent_segments", "lost_segments", "retransmitted_segments", "delivered_bytes", "sent_weight"), 0.0
    )
    played = delivered = weight = seconds = 0.0
    while stepper.done[0] == RUNNING:
        stepper.step()
        for name in sums:
            sums[name] += value(stepper, name).sum()
        played += of_layers(stepper, "played").sum()
        delivered += of_layers(stepper, "delivered").sum()
        weight += of_episode(stepper, "played_weight")
        seconds += of_episode(stepper, "slot_s")
    result, objects = stepper.result(0), trial().objects
    done = result.objects
    in_time = (done.complete_ns >= 0) & (done.complete_ns <= objects.deadline_ns)
    prefix = np.cumprod(in_time.reshape(-1, 3), axis=1)
    assert played == prefix.sum() > 0
    assert weight == (prefix * (300, 200, 100)).sum()
    assert of_episode(stepper, "total_weight") == 40 * 600
    assert delivered == (done.complete_ns >= 0).sum()
    assert sums["sent_segments"] == result.totals.data_packets
    wholly_sent = done.first_sent_ns >= 0
    assert sums["sent_weight"] <= (wholly_sent * (3 - objects.layer) * 100).sum()
    assert seconds == pytest.approx(result.end_ns / 1e9)
    assert (
        sums["delivered_bytes"] <= result.totals.arrived_payload_bytes + result.totals.duplicate_payload_bytes
    )
    assert of_layers(stepper, "backlog_bytes").tolist() == [0, 0, 0]
    assert stepper.done[0] == FINISHED


def test_slack_is_the_time_to_the_oldest_deadline_that_waits() -> None:
    objects = live(4, (1_000_000,), chunk_s=1.0, playout_s=100.0)
    stepper = Stepper(1, 1, 1)
    stepper.load(0, config(AGENT, link(1e6, 1.0), objects=objects, scheduler=AGENT, slot_s=1.5))
    assert of_layers(stepper, "slack_s")[0] == np.inf
    stepper.step()  # 1.5 s: chunk 0 came at 1 s and is due at 101 s
    assert of_layers(stepper, "slack_s")[0] == pytest.approx(99.5)
    assert of_layers(stepper, "backlog_bytes")[0] == 1_000_000


def test_contact_times_are_those_of_the_outages() -> None:
    stepper = Stepper(1, 1, 1)
    stepper.load(0, config(AGENT, link(1e6, 1.0, outages_s=((10, 15), (30, 31))), slot_s=4.0, duration_s=40))
    seen = []
    while stepper.done[0] == RUNNING:
        stepper.step()
        seen.append((value(stepper, "link_up")[0], value(stepper, "change_s")[0]))
    assert seen == [
        (1, 6),
        (1, 2),
        (0, 3),
        (1, 14),
        (1, 10),
        (1, 6),
        (1, 2),
        (1, np.inf),
        (1, np.inf),
        (1, np.inf),
    ]
    assert stepper.done[0] == TIME_OVER


@examples(15)
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_neighbours_and_threads_change_nothing(seed: int, threads: int) -> None:
    """Random actions for three episodes together, then for each alone."""
    rng = np.random.default_rng(seed)
    alphas = rng.integers(ONE_Q16 // 2, 2 * ONE_Q16, (400, 3, 2))
    betas = rng.integers(-10, 20, (400, 3, 2))
    tables = rng.integers(-1, 2, (400, 3, 3))
    copies = rng.integers(0, 2, (400, 3, 3))

    def run(which: list[int]) -> list[EngineResult]:
        stepper = Stepper(len(which), 2, 3, threads=threads)
        for place, k in enumerate(which):
            stepper.load(place, trial(seed=k + 1))
        slot = 0
        while (stepper.done == RUNNING).any():
            stepper.alpha_q16[:], stepper.beta[:] = alphas[slot, which], betas[slot, which]
            stepper.layer_subflow[:], stepper.copied[:] = tables[slot, which], copies[slot, which]
            stepper.step()
            slot += 1
        return [stepper.result(place) for place in range(len(which))]

    together = run([0, 1, 2])
    assert all(same(run([k])[0], together[k]) for k in range(3))


def test_an_inactive_episode_stands_still() -> None:
    stepper = Stepper(2, 2, 3)
    stepper.load(0, trial())
    stepper.load(1, trial())
    stepper.active[1] = 0
    for _ in range(5):
        stepper.step()
    assert [of_episode(stepper, "time_s", k) for k in (0, 1)] == [1.25, 0.0]


def test_misuse_is_refused() -> None:
    stepper = Stepper(1, 1, 3)
    with pytest.raises(ValueError, match="before it is loaded"):
        stepper.step()
    with pytest.raises(ValueError, match="more subflows or layers"):
        stepper.load(0, trial())
    with pytest.raises(IndexError):
        stepper.load(7, trial())
    with pytest.raises(ValueError, match="at least 1"):
        Stepper(0, 1, 1)


def test_bytes_in_flight_are_under_the_window() -> None:
    assert MSS == 1460
    stepper = Stepper(1, 1, 1)
    stepper.load(0, config(AGENT, link(12e6, 1.0), duration_s=20, slot_s=0.5))
    stepper.alpha_q16[:], stepper.beta[:] = 0, 15
    while stepper.done[0] == RUNNING:
        stepper.step()
        assert value(stepper, "inflight_segments")[0] <= 15
    assert stepper.episode_values[0, 0] == 20.0 == ns(20) / 1e9


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "order", [(NAN, 0.5), (-1.0, 0.5), (-INF, 0.5), (0.0, NAN), (0.0, -0.1), (0.0, 1.1), (0.0, INF)]
)
def test_an_order_that_makes_no_sense_is_refused_where_it_is_taken(order: tuple[float, float]) -> None:
    stepper = Stepper(2, 2, 3)
    for episode in (0, 1):
        stepper.load(episode, trial(scheduler=AGENT_LATE))
    stepper.active[:] = 1
    stepper.order[1] = order
    with pytest.raises(ValueError, match=r"order of episode 1: .* a share in 0\.\.1"):
        stepper.step()
    stepper.active[1] = 0
    stepper.step()  # nobody takes it


def test_the_longest_gap_is_base_layers_first() -> None:
    """A finite gap that no integer of nanoseconds holds is as good as none that ends."""
    first = [late_bound(gap_s, (-1, -1, -1), 60).objects.first_sent_ns for gap_s in (INF, 1e300)]
    assert (first[0] == first[1]).all()


@pytest.mark.parametrize("mode", ["stream", "lanes"])
@pytest.mark.parametrize("scheduler", ["minrtt", "daps", "linux", "layer-pinned"])
def test_a_layer_is_sent_once_in_the_slot_of_its_last_byte(scheduler: str, mode: str) -> None:
    # Nothing is lost, so a layer's last byte is sent once. A scheduler that plans has given it to a subflow before.
    given = trial()
    lanes = 16 if mode == "lanes" else 1
    transport = replace(given.transport, scheduler=scheduler, mode=mode, lanes_per_link=lanes)
    links = tuple(replace(link, loss=Loss()) for link in LINKS)
    stepper = Stepper(1, 2, 3)
    stepper.load(0, replace(given, links=links, transport=transport))
    stepper.alpha_q16[:], stepper.beta[:] = 0, 20
    weight = (3 - given.objects.layer) * 100
    sent, steps = 0.0, []
    while stepper.done[0] == RUNNING:
        stepper.step()
        sent += value(stepper, "sent_weight").sum()
        whole = stepper.result(0).objects.sent_bytes >= given.objects.payload_bytes
        assert sent == (whole * weight).sum()
        steps.append(sent)
    assert 0 < steps[len(steps) // 4] < sent
