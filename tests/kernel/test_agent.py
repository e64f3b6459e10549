"""The loop between a policy and the kernel's control, with a control that a test holds the strings of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest
from dstcc_kernel.agent import Agent, Contact, Route, SlotAction, check_policy
from dstcc_kernel.genetlink import NetlinkError
from dstcc_kernel.netlink import ONE_Q16, Action, Flags, Subflow

from dstcc.errors import InputError, PolicyError
from dstcc.learn.policies.policy import Policy
from dstcc.learn.spaces.branched import branched
from dstcc.learn.spaces.observe import ObservationSpec
from dstcc.learn.spaces.registry import make_actions
from dstcc.learn.spaces.schedulers import SchedulerActions

ENOENT = 2
SCALE = 10.0
WINDOWS = ((0.0, 40), (0.5, 0), (1.0, 0))


def subflow(number: int, address: str, **values: int) -> Subflow:
    """One that is as it may be, but for what a test says."""
    values = {
        **{
            "local_port": 1,
            "remote_port": 2,
            "ca_state": 0,
            "tcp_state": 1,
            "mss": 1000,
            "cwnd": 20,
            "ssthresh": 2**31 - 1,
        },
        **{"in_flight": 10, "srtt_us": 200_000, "min_rtt_us": 100_000, "sent": 0, "delivered": 0, "lost": 0},
        **{"retransmitted": 0, "acked_bytes": 0, "unsent_bytes": 0, "delivery_rate": 0, "pacing_rate": 0},
        **{"bdp": 10, "actions": 0, "clamps": 0, "fallbacks": 0},
        **values,
    }
    return Subflow(
        id=number, local_address=address, remote_address="10.9.9.9", flags=Flags.STEERED, token=7, **values
    )


class Control:
    """Answers with given values and remembers each request."""

    def __init__(self, *subflows: Subflow) -> None:
        self.now = list(subflows)
        self.asked: list[list[Action]] = []
        self.parameters: dict[str, int | None] = {}
        self.closing: set[int] = set()

    def subflows(self) -> list[Subflow]:
        return list(self.now)

    def act(self, actions: Iterable[Action]) -> int:
        asked = list(actions)
        if self.closing & {action.subflow for action in asked}:
            self.now = [s for s in self.now if s.id not in self.closing]
            raise NetlinkError("dstcc", ENOENT, "no such subflow")
        self.asked.append(asked)
        return len(asked)

    def set_parameters(self, **values: int | None) -> None:
        self.parameters = values


def policy(choice: int = 0, *, kind: str = "full", **action: object) -> Policy:
    """One that always chooses the same of each branch: ``choice`` for windows, the last subflow for layers."""
    spaces = {"subflows": 2, "layers": 2, "windows": WINDOWS, "headroom": 3, **action}
    act = branched(make_actions(**spaces))  # type: ignore[arg-type]
    see = ObservationSpec(kind, subflows=2, layers=act.layers, history=2)
    bias = np.zeros(act.outputs, np.float32)
    starts = np.concatenate([[0], np.cumsum(act.branches)])[:-1]
    for branch, start in enumerate(starts.tolist()):
        bias[start + (choice if branch < 2 else act.branches[branch] - 1)] = 1
    tensors = {"layers.0.weight": np.zeros((act.outputs, see.size), np.float32), "layers.0.bias": bias}
    network = {"kind": "mlp", "activation": "relu"}
    return Policy(
        algorithm="by-hand",
        observation=see,
        action=act,
        network=network,
        tensors=tensors,
        seed=0,
        scenario_sha256="",
        name="by-hand",
    )


def agent(control: Control, given: Policy | None = None, **values: float) -> Agent:
    routes = [
        Route(frozenset({"10.0.1.1"}), lambda now_s: Contact(1.0, True, inf)),
        Route(frozenset({"10.0.2.1"}), lambda now_s: Contact(2.0, now_s < 50, max(0.0, 50 - now_s))),
    ]
    settings = {"layers": 2, "slot_s": 5.0, "scale": SCALE, "mss_bytes": 1000, **values}
    return Agent(given or policy(), control, routes, **settings)  # type: ignore[arg-type]


def two() -> Control:
    return Control(subflow(3, "10.0.1.1"), subflow(4, "10.0.2.1"), subflow(5, "10.0.7.7"))


def contacts(tested: Agent) -> list[Contact]:
    return [route.contact(0) for route in tested.routes]


def seen(tested: Agent, name: str) -> list[float]:
    from dstcc.engine.stepper import SUBFLOW_VALUES

    values: list[float] = tested._decides.subflow_values[0, :, SUBFLOW_VALUES.index(name)].tolist()
    return values


def test_the_control_is_told_of_slots_in_emulated_time_and_of_headroom() -> None:
    control = two()
    agent(control)
    assert control.parameters == {"slot_us": 500_000, "silence_slots": 4, "headroom": 3}


def test_a_decision_is_one_message_and_a_subflow_per_layer() -> None:
    control = two()
    assert agent(control).decide(5, [0, 0], [inf, inf]) == SlotAction([1, 1])
    assert control.asked == [[Action(3, 0, 40), Action(4, 0, 40)]], "others' subflows are left alone"


def test_a_subflow_that_joins_is_not_there_until_it_can_send() -> None:
    """TCP's handshake is over on it, so it has a round trip and a window; MPTCP's is not (RFC 8684 section 3.2)."""
    control = two()
    control.now[:2] = [replace(control.now[i], local_id=i) for i in (0, 1)]
    joining, joined = replace(control.now[1], flags=Flags.STEERED | Flags.JOINING), control.now[1]
    control.now[1] = joining
    tested = agent(control)
    tested.decide(5, [0, 0], [inf, inf])
    assert control.asked == [[Action(3, 0, 40)]]
    assert seen(tested, "established") == [1, 0] and seen(tested, "cwnd_segments")[1] == 0
    assert seen(tested, "one_way_s") == [1, 2], "the contact plan is known all the same"
    assert tested.local_ids == {7: {0: 0, 1: 1}}, (
        "a table that has layers for it holds as soon as it can send"
    )
    control.now[1] = joined
    tested.decide(10, [0, 0], [inf, inf])
    assert control.asked[1] == [Action(3, 0, 40), Action(4, 0, 40)]
    assert seen(tested, "established") == [1, 1]


def test_connections_of_one_route_share_beta() -> None:
    control = Control(subflow(3, "10.0.1.1"), subflow(6, "10.0.1.1"), subflow(4, "10.0.2.1"))
    agent(control).decide(5, [0, 0], [inf, inf])
    assert control.asked == [[Action(3, 0, 20), Action(6, 0, 20), Action(4, 0, 40)]]


def test_values_are_in_mission_time_and_counters_per_slot() -> None:
    control = two()
    tested = agent(control)
    tested.decide(5, [0, 0], [inf, inf])
    control.now[0] = replace(control.now[0], delivered=30, lost=2, sent=2**32 - 1, unsent_bytes=500)
    tested.decide(10, [0, 0], [inf, inf])
    control.now[0] = replace(control.now[0], delivered=70, sent=9)
    tested.decide(15, [0, 0], [inf, inf])
    assert seen(tested, "srtt_s") == [2.0, 2.0] and seen(tested, "min_rtt_s") == [1.0, 1.0]
    assert seen(tested, "delivered_bytes") == [40_000, 0] and seen(tested, "lost_segments") == [0, 0]
    assert seen(tested, "sent_segments")[0] == 10, "counters wrap at 2^32"
    assert seen(tested, "queue_bytes")[0] == 10 * 1000 / 2, (
        "half of what is in flight is beyond the least round trip"
    )
    assert seen(tested, "assigned_bytes")[0] == 500
    assert seen(tested, "one_way_s") == [1.0, 2.0] and seen(tested, "link_up") == [1, 1]
    assert seen(tested, "change_s") == [inf, 35.0]


def test_the_observation_is_the_simulators() -> None:
    """cwnd, loss, utilisation and RTT as eq. 3 has them: log2(21)/10, 2 of 32, 20/10, log10(2001)/6."""
    control = two()
    tested = agent(control, policy(kind="paper"))
    tested.decide(5, [0, 0], [inf, inf])
    control.now[0] = replace(control.now[0], delivered=30, lost=2)
    tested.decide(10, [0, 0], [inf, inf])
    tested._fill(15, tested._groups(), contacts(tested))
    control.now[0] = replace(control.now[0], delivered=60, lost=4)
    tested._fill(20, tested._groups(), contacts(tested))
    observed = tested._decides.observe()[0, :4]
    assert observed == pytest.approx([np.log2(21) / 10, 2 / 32, 2.0, np.log10(2001) / 6], rel=1e-6)


def test_a_queue_that_is_seen_stands_for_itself() -> None:
    tested = agent(two())
    tested.decide(5, [0, 0], [inf, inf], [1500, 0])
    assert seen(tested, "queue_bytes") == [1500, 0]


def test_lanes_that_share_a_window_hold_all_of_it() -> None:
    """W 20 at 0.2 emulated s is 20 · 1,040 · 8 bit in 2 mission s; the round trip is that of the lane that heard."""
    lanes = subflow(3, "10.0.1.1"), subflow(6, "10.0.1.1", srtt_us=400_000)
    control = Control(*lanes, subflow(4, "10.0.2.1"))
    tested = agent(control, shared=True)
    tested.decide(5, [0, 0], [inf, inf])
    assert control.asked == [[Action(3, 0, 40), Action(6, 0, 40), Action(4, 0, 40)]]
    control.now[0] = replace(control.now[0], delivered=1)
    tested.decide(10, [0, 0], [inf, inf])
    assert (seen(tested, "cwnd_segments")[0], seen(tested, "inflight_segments")[0]) == (20, 20)
    assert seen(tested, "srtt_s")[0] == 2.0
    assert seen(tested, "pacing_bps")[0] == 20 * 1040 * 8 / 2
    tested.decide(15, [0, 0], [inf, inf])
    assert seen(tested, "srtt_s")[0] == 2.0, "nobody heard anything since"


class SharingControl(Control):
    """With groups, as the module has."""

    def __init__(self, *subflows: Subflow) -> None:
        super().__init__(*subflows)
        self.told: list[tuple[int, list[int], int | None]] = []

    def set_group(self, group: int, subflows: Sequence[int] = (), beside: int | None = None) -> int:
        self.told.append((group, list(subflows), beside))
        if self.closing & set(subflows):
            raise NetlinkError("dstcc", ENOENT, "no such subflow")
        self.now = [replace(s, group=group) if s.id in subflows else s for s in self.now]
        return len(subflows)


def test_lanes_that_share_a_window_are_a_group_of_their_link() -> None:
    control = SharingControl(*(subflow(3 + k, "10.0.1.1") for k in range(65)), subflow(99, "10.0.2.1"))
    tested = agent(control, shared=True)
    tested.decide(5, [0, 0], [inf, inf])
    ids = list(range(3, 68))
    assert control.told == [(1, ids[:64], None), (1, ids[64:], None), (2, [99], None)]
    control.now.append(subflow(100, "10.0.2.1"))
    tested.decide(10, [0, 0], [inf, inf])
    assert control.told[3:] == [(2, [100], None)], "those that are in it stay"
    control.now.append(subflow(101, "10.0.2.1"))
    control.closing = {101}
    tested.decide(15, [0, 0], [inf, inf])
    assert control.told[4:] == [(2, [101], None)], "it closed: its link's others go on"
    alone = SharingControl(subflow(3, "10.0.1.1"))
    agent(alone).decide(5, [0, 0], [inf, inf])
    assert alone.told == [], "windows of their own"


def test_a_window_that_says_a_pace_holds_beside_what_is_in_flight() -> None:
    control = SharingControl(subflow(3, "10.0.1.1", in_flight=7), subflow(4, "10.0.1.1"))
    tested = agent(control, policy(pacing="rate"), shared=True)
    tested.decide(5, [0, 0], [inf, inf])
    assert control.told == [(1, [3, 4], None), (1, [], 17)]
    assert seen(tested, "cwnd_segments")[0] == 20, "as it was when it was looked at"
    tested.decide(10, [0, 0], [inf, inf])
    assert seen(tested, "cwnd_segments")[0] == 20 + 17


def test_more_actions_than_fit_go_out_in_several_messages() -> None:
    control = Control(*(subflow(3 + k, "10.0.1.1") for k in range(70)))
    agent(control).decide(5, [0, 0], [inf, inf])
    assert [len(message) for message in control.asked] == [64, 6]


def test_a_subflow_that_closes_meanwhile_costs_the_others_nothing() -> None:
    control = two()
    tested = agent(control)
    control.closing = {3}
    tested.decide(5, [0, 0], [inf, inf])
    assert control.asked == [[Action(4, 0, 40)]]
    control.closing = {4, 5}
    tested.decide(10, [0, 0], [inf, inf])
    assert control.asked == [[Action(4, 0, 40)]], "nobody is left"
    tested.decide(15, [0, 0], [inf, inf])
    assert seen(tested, "established") == [0, 0]


def test_other_refusals_are_not_swallowed() -> None:
    class Refusing(Control):
        def act(self, actions: Iterable[Action]) -> int:
            raise NetlinkError("dstcc", 1)

    with pytest.raises(NetlinkError, match="EPERM"):
        agent(Refusing(subflow(3, "10.0.1.1"))).decide(5, [0, 0], [inf, inf])


def test_what_is_no_number_hands_the_windows_to_reno() -> None:
    control = two()
    wild = policy()
    weights = dict(wild.tensors)
    weights["layers.0.weight"] = np.full_like(weights["layers.0.weight"], np.float32(3e38))
    weights["layers.0.bias"] = np.full_like(weights["layers.0.bias"], np.float32(3e38))
    tested = agent(control, replace(wild, tensors=weights))
    assert tested.decide(5, [1e9, 1e9], [inf, inf]) == SlotAction([-1, -1])
    assert control.asked == [[Action(3, None), Action(4, None)]]


def test_what_the_guard_did_is_counted() -> None:
    control = two()
    tested = agent(control)
    for clamps, fallbacks in ((1, 0), (3, 1), (3, 1)):
        control.now[0] = replace(control.now[0], clamps=clamps, fallbacks=fallbacks)
        tested.decide(5, [0, 0], [inf, inf])
    assert (tested.totals.clamps, tested.totals.fallbacks) == (3, 1)


def test_automatic_layers_are_the_senders_choice() -> None:
    assert agent(two(), policy(automatic=True)).decide(5, [0, 0], [inf, inf]).layers == [-1, -1]


@pytest.mark.parametrize(
    ("values", "words"),
    [({"slot_s": 0.001}, "100 us"), ({"slot_s": 1e6}, "kernel takes")],
)
def test_slots_that_the_kernel_cannot_count_are_refused(values: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        agent(two(), **values)


def test_policies_that_need_the_simulator_are_refused() -> None:
    schedulers = SchedulerActions(subflows=2, layers=2)
    see = ObservationSpec("full", subflows=2, layers=2)
    tensors = {
        "layers.0.weight": np.zeros((schedulers.outputs, see.size), np.float32),
        "layers.0.bias": np.zeros(schedulers.outputs, np.float32),
    }
    network = {"kind": "mlp", "activation": "relu"}
    chooser = Policy(
        algorithm="by-hand",
        observation=see,
        action=schedulers,
        network=network,
        tensors=tensors,
        seed=0,
        scenario_sha256="",
    )
    with pytest.raises(InputError, match="simulator only"):
        agent(two(), chooser)
    with pytest.raises(InputError, match="paces by bbr"):
        agent(two(), policy(pacing="bbr"))
    with pytest.raises(PolicyError, match="2 subflows and 2 layers"):
        agent(two(), layers=3)


def test_the_list_of_algorithms_says_which_policies_the_kernel_runs() -> None:
    from dstcc.algorithms import everything
    from dstcc.forecast.files import load_controller

    for row in everything():
        if row.kind != "controller":
            continue
        policy = load_controller(row.name)
        try:
            check_policy(policy)
            runs = True
        except InputError:
            runs = False
        assert ("kernel" in row.backends) == runs, row.name


def test_alpha_goes_out_in_65536ths() -> None:
    control = two()
    agent(control, policy(1)).decide(5, [0, 0], [inf, inf])
    assert [action.alpha_q16 for action in control.asked[0]] == [ONE_Q16 // 2] * 2
