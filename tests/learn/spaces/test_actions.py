"""Actions: what each space decodes to, what lies outside is refused, and files written before are read the same."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open

from dstcc.algorithms import POLICIES as POLICY_FILES
from dstcc.engine.config import AGENT, AGENT_BBR, AGENT_LATE, AGENT_POLICIES, AGENT_RATE
from dstcc.engine.stepper import AUTOMATIC, ONE_Q16, REPAIRABLE, SILENT
from dstcc.learn.paths.measure import Units
from dstcc.learn.policies.controller import ENTRY
from dstcc.learn.policies.policy import load_policy
from dstcc.learn.spaces.actions import PAPER_WINDOWS, ActionSpace, window_words
from dstcc.learn.spaces.branched import BranchedActions, JointActions, MultiActions, branched
from dstcc.learn.spaces.continuous import ContinuousActions
from dstcc.learn.spaces.measured_actions import MeasuredActions
from dstcc.learn.spaces.registry import ENCODINGS, SPACES, ActionSpec, make_actions, parse_actions
from dstcc.learn.spaces.schedulers import SchedulerActions

JOINT, MULTI = JointActions(subflows=2, layers=3), MultiActions(subflows=2, layers=3)
CONTINUOUS, SCHEDULERS = ContinuousActions(subflows=2, layers=3), SchedulerActions(subflows=2, layers=3)
MEASURED = MeasuredActions(subflows=2, layers=3, windows=((1.0, 0.1), (0.0, 0.0)), orders=((0.2, 0.5),))
PAPERS = [[0.5, 0], [0.8, 0], [1.0, 0], [1.0, 10], [1.25, 0], [2.0, 0]]
WRITTEN = {
    "subflows": 2,
    "layers": 3,
    "encoding": "joint",
    "windows": PAPERS,
    "automatic": False,
    "copies": False,
    "octaves": 1.0,
    "headroom": 2,
    "congestion": "cubic",
    "pacing": "window",
    "measured": False,
    "orders": [],
    "lanes": 0,
    "slot_rtts": 0.0,
    "hold": 1,
}
"""The form that files have had since there are files: every option of every space."""


def test_sizes_are_those_of_the_paper() -> None:
    assert JOINT.outputs == 6**2 * 2**3 == 288
    assert MULTI.branches == (6, 6, 2, 2, 2)
    assert MultiActions(subflows=2, layers=3, automatic=True, copies=True).branches == (6, 6, 3, 3, 3, 2)
    assert MultiActions(subflows=8, layers=3).outputs == 8 * 6 + 3 * 8  # grows with N, not with 6 to the N
    assert CONTINUOUS.outputs == 2
    assert SCHEDULERS.outputs == 7
    assert MEASURED.branches == (2, 2, 4, 1)


def test_an_action_is_alpha_and_beta_per_subflow_and_a_subflow_per_layer() -> None:
    decoded = MULTI.decode(np.array([[0, 3, 1, 0, 1]]))
    assert decoded.alpha_q16.tolist() == [[ONE_Q16 // 2, ONE_Q16]]  # (0.5, 0) and (1, +10)
    assert decoded.beta.tolist() == [[0, 10]]
    assert decoded.layer_subflow.tolist() == [[1, 0, 1]]
    assert not decoded.copied.any()
    assert decoded.order.tolist() == [[np.inf, 0.5]]


def test_the_choice_beyond_the_last_subflow_is_automatic_and_copies_are_of_the_base_layer() -> None:
    space = MultiActions(subflows=2, layers=3, automatic=True, copies=True)
    decoded = space.decode(np.array([[2, 2, 2, 0, 1, 1]]))
    assert decoded.layer_subflow.tolist() == [[AUTOMATIC, 0, 1]]
    assert decoded.copied.tolist() == [[1, 0, 0]]
    assert not space.decode(np.array([[2, 2, 2, 0, 1, 0]])).copied.any()


@given(st.lists(st.integers(0, 287), min_size=1, max_size=20))
def test_joint_numbers_are_the_branches_as_digits(numbers: list[int]) -> None:
    digits = [[n // 48, n // 8 % 6, n // 4 % 2, n // 2 % 2, n % 2] for n in numbers]
    a, b = JOINT.decode(np.array(numbers)), MULTI.decode(np.array(digits))
    assert np.array_equal(a.alpha_q16, b.alpha_q16)
    assert np.array_equal(a.beta, b.beta)
    assert np.array_equal(a.layer_subflow, b.layer_subflow)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=2))
def test_continuous_actions_are_powers_of_two(action: list[float]) -> None:
    decoded = ContinuousActions(subflows=2, layers=3, octaves=2.0).decode(np.array([action]))
    assert decoded.alpha_q16[0].tolist() == [round(2.0 ** (2 * a) * ONE_Q16) for a in action]
    assert not decoded.beta.any()
    assert (decoded.layer_subflow == AUTOMATIC).all()


def test_a_scheduling_policy_stands_in_the_place_of_each_layer_and_windows_stay() -> None:
    decoded = SCHEDULERS.decode(np.array([6, 0]))
    assert decoded.layer_subflow.tolist() == [[6, 6, 6], [0, 0, 0]]
    assert decoded.alpha_q16.tolist() == [[SILENT, SILENT]] * 2
    assert not decoded.beta.any()


def test_measured_actions_by_hand() -> None:
    """400 segments a round trip, half a slot in the first queue, which is held to 0.4 of the rate."""
    units = Units(
        window=np.array([[400.0, 400.0]]),
        queue=np.array([[0.5, 0.0]]),
        round_trip_s=np.array([600.0]),
        lossiest=np.array([1]),
        top_layer=np.array([2]),
        limit=np.array([[0.4, 1.25]]),
    )
    decoded = MEASURED.decode(np.array([[0, 0, 1, 0]]), units)
    assert decoded.beta.tolist() == [[160, 440]]  # 0.4 for the 0.6 of 1 + 0.1 − 0.5; 1.1
    assert decoded.alpha_q16.tolist() == [[0, 0]]
    assert decoded.layer_subflow.tolist() == [[AUTOMATIC, AUTOMATIC, 1]]
    assert decoded.order.tolist() == [[120.0, 0.5]]
    assert MEASURED.decode(np.array([[1, 1, 3, 0]]), units).beta.tolist() == [[0, 0]]
    assert MEASURED.decode(np.array([[1, 1, 3, 0]]), units).layer_subflow.tolist() == [
        [REPAIRABLE, REPAIRABLE, AUTOMATIC]
    ]
    with pytest.raises(ValueError, match="measured"):
        MEASURED.decode(np.array([[0, 0, 0, 0]]))


def test_a_decision_that_holds_follows_the_units_of_each_slot() -> None:
    """Places 1 and 3 ask which path loses most and which layer is the top one; the gap is of the round trip."""
    decode = MEASURED.decoder(np.array([[0, 0, 1, 0], [0, 0, 3, 0]]))

    def units(lossiest: int, top: int, round_trip_s: float, queue: float) -> Units:
        both = np.ones(2)
        return Units(
            window=np.full((2, 2), 400.0),
            queue=np.full((2, 2), queue),
            round_trip_s=both * round_trip_s,
            lossiest=np.full(2, lossiest),
            top_layer=np.full(2, top),
            limit=np.full((2, 2), np.inf),
        )

    lossy, even = units(1, 2, 600.0, 0.5), units(-1, 1, 60.0, 0.0)
    first, second, again = decode(lossy), decode(even), decode(lossy)
    assert first.layer_subflow.tolist() == [[AUTOMATIC, AUTOMATIC, 1], [REPAIRABLE, REPAIRABLE, AUTOMATIC]]
    assert second.layer_subflow.tolist() == [[AUTOMATIC] * 3, [REPAIRABLE, AUTOMATIC, AUTOMATIC]]
    assert (first.order[:, 0].tolist(), second.order[:, 0].tolist()) == ([120.0] * 2, [12.0] * 2)
    assert (first.beta[0].tolist(), second.beta[0].tolist()) == (
        [240] * 2,
        [440] * 2,
    )  # 1 + 0.1 less the queue
    assert [again.layer_subflow.tolist(), again.order.tolist()] == [
        first.layer_subflow.tolist(),
        first.order.tolist(),
    ]


@pytest.mark.parametrize(
    "spec, action",
    [
        (MULTI, [[0, 0, 0, 0, 2]]),
        (MULTI, [[-1, 0, 0, 0, 0]]),
        (MULTI, [[0, 0, 0, 0]]),
        (MULTI, [[0.0, 0, 0, 0, 0]]),
        (JOINT, [288]),
        (JOINT, [-1]),
        (JOINT, [[0]]),
        (JOINT, [0.0]),
        (SCHEDULERS, [7]),
        (SCHEDULERS, [-1]),
        (SCHEDULERS, [0.5]),
        (CONTINUOUS, [[float("nan"), 0.0]]),
        (CONTINUOUS, [[1.5, 0.0]]),
        (CONTINUOUS, [[0.0]]),
    ],
)
def test_actions_outside_the_space_are_refused(spec: ActionSpace, action: list[object]) -> None:
    with pytest.raises(ValueError, match="actions"):
        spec.decode(np.array(action))


@pytest.mark.parametrize(
    "keywords, rule",
    [
        ({"encoding": "jiont"}, "joint, multi, continuous, policies"),
        ({"encoding": "measured"}, "joint, multi, continuous, policies"),
        ({"windows": ()}, "pairs of alpha"),
        ({"windows": ((65.0, 0),)}, "pairs of alpha"),
        ({"windows": ((1.0, 0.5),)}, "pairs of alpha"),
        ({"headroom": -1}, "headroom"),
        ({"pacing": "fast"}, "window, rate, bbr"),
        ({"lanes": 4097}, "lanes"),
        ({"hold": 0}, "1 to 256"),
        ({"measured": True, "orders": ((float("nan"), 0.0),)}, "orders"),
        ({"measured": True, "orders": ((0.0, float("nan")),)}, "orders"),
        ({"measured": True, "orders": ((-1.0, 0.0),)}, "orders"),
        ({"measured": True}, "orders"),
        ({"orders": ((0.0, 0.0),)}, "no orders without measured windows"),
        (
            {"measured": True, "orders": ((0.0, 0.0),), "automatic": True},
            "measured actions take no automatic",
        ),
        ({"encoding": "continuous", "copies": True}, "continuous actions take no copies"),
        ({"encoding": "policies", "automatic": True}, "policies actions take no automatic"),
        ({"encoding": "joint", "measured": True}, "joint actions take no measured"),
    ],
)
def test_spaces_that_make_no_sense_are_refused(keywords: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        make_actions(2, 3, **keywords)


def test_an_option_that_no_space_has_is_named() -> None:
    with pytest.raises(TypeError, match="window_count: no option"):
        make_actions(2, 3, window_count=3)


def test_a_joint_space_that_explodes_is_refused_by_its_size() -> None:
    with pytest.raises(ValueError, match="859,963,392 joint actions for 8 subflows and 3 layers"):
        JointActions(subflows=8, layers=3)
    with pytest.raises(ValueError, match="a decision holds for 1 to 256 slots"):
        JointActions(subflows=2, layers=3, hold=0)


def test_greedy_takes_the_best_of_each_branch() -> None:
    spec = MultiActions(subflows=1, layers=2, windows=PAPER_WINDOWS[:2], automatic=True)
    outputs = np.array([[0.1, 0.2, 5.0, 1.0, -3.0, -2.0]])
    assert spec.greedy(outputs).tolist() == [[1, 0, 1]]
    assert JointActions(subflows=1, layers=1).greedy(np.array([[0, 0, 3, 1, 0, 2.0]])).tolist() == [2]
    assert SCHEDULERS.greedy(np.array([[0, 0, 3, 1, 0, 2.0, 1.0]])).tolist() == [2]
    two = ContinuousActions(subflows=2, layers=1)
    assert two.greedy(np.array([[-3.0, 0.5]])).tolist() == [[-1.0, 0.5]]


def test_what_the_engine_runs_and_what_bounds_it() -> None:
    assert (MULTI.control, MULTI.scheduler) == (JOINT.control, JOINT.scheduler) == (AGENT, AGENT)
    assert (SCHEDULERS.control, SCHEDULERS.scheduler) == ("cubic", AGENT_POLICIES)
    paced = make_actions(2, 3, "continuous", pacing="bbr", headroom=0)
    assert (paced.control, paced.scheduler, paced.bounded) == (AGENT_BBR, AGENT, True)
    rates = make_actions(2, 3, pacing="rate", headroom=0)
    assert (rates.control, rates.bounded) == (AGENT_RATE, False)
    assert (MEASURED.scheduler, MEASURED.bounded, SCHEDULERS.bounded) == (AGENT_LATE, True, True)


def test_only_spaces_of_branches_have_branches() -> None:
    assert branched(MEASURED) is MEASURED
    with pytest.raises(ValueError, match="continuous actions have no branches"):
        branched(CONTINUOUS)


def _pairs(first: st.SearchStrategy[float], second: st.SearchStrategy[float]) -> st.SearchStrategy[Any]:
    return st.lists(st.tuples(first, second).map(list), min_size=1, max_size=4)


COMMON = {
    "subflows": st.integers(1, 3),
    "layers": st.integers(1, 3),
    "headroom": st.integers(0, 1024),
    "pacing": st.sampled_from(["window", "rate", "bbr"]),
    "lanes": st.integers(0, 4096),
    "slot_rtts": st.floats(0, 16),
    "hold": st.integers(1, 256),
}
RELATIVE = {
    "windows": _pairs(st.floats(0, 64), st.integers(-100, 100)),
    "automatic": st.booleans(),
    "copies": st.booleans(),
}
OWN: dict[str, dict[str, Any]] = {
    "joint": {"encoding": st.just("joint"), **RELATIVE},
    "multi": {"encoding": st.just("multi"), **RELATIVE},
    "measured": {
        "encoding": st.just("multi"),
        "measured": st.just(True),
        "windows": _pairs(st.floats(0, 64), st.floats(0, 100)),
        "orders": _pairs(st.floats(0, 1000), st.floats(0, 1)),
        "copies": st.booleans(),
    },
    "continuous": {"encoding": st.just("continuous"), "octaves": st.floats(0, 8)},
    "policies": {"encoding": st.just("policies"), "congestion": st.sampled_from(["cubic", "reno"])},
}
"""What a file of each space may hold; the rest of :data:`WRITTEN` stays."""


@pytest.mark.parametrize("name", SPACES)
@given(data=st.data())
def test_a_document_of_any_space_comes_back_as_it_was(name: str, data: st.DataObject) -> None:
    drawn = data.draw(st.fixed_dictionaries({**COMMON, **OWN[name]}))
    document = {**WRITTEN, **drawn}
    space = parse_actions(document)
    assert type(space) is SPACES[name]
    assert json.dumps(space.document(), sort_keys=True) == json.dumps(document, sort_keys=True)
    assert parse_actions(space.document()) == space


def test_every_space_is_tried_and_is_registered_under_the_name_in_files() -> None:
    assert set(OWN) == set(SPACES)
    for name in ENCODINGS:
        assert SPACES[name].encoding == name
    assert isinstance(make_actions(2, 3), BranchedActions)
    assert make_actions(2, 3) == MULTI == ActionSpec(2, 3)


def test_a_file_from_before_the_later_options_is_read() -> None:
    early = {"subflows": 2, "layers": 3, "encoding": "joint", "windows": PAPERS, "headroom": 0}
    assert parse_actions(early) == JointActions(subflows=2, layers=3, headroom=0)


@pytest.mark.parametrize(
    "name, space",
    [
        ("dstcc-lanes", MeasuredActions),
        ("iodst-dqn", JointActions),
        ("iodst-dqn+", MultiActions),
        ("iodst-q", MultiActions),
        ("pbq", ContinuousActions),
        ("drl-cc", ContinuousActions),
        ("mpquic-rl", SchedulerActions),
    ],
)
def test_a_shipped_policys_header_is_what_its_file_holds(name: str, space: type) -> None:
    policy = load_policy(name)
    assert type(policy.action) is space
    with safe_open(POLICY_FILES / f"{name}.safetensors", framework="numpy") as file:
        assert policy.header() == json.loads(file.metadata()[ENTRY])


@pytest.mark.parametrize(
    ("within", "beyond"),
    [
        ({"headroom": 0}, {"headroom": -1}),
        ({"headroom": 1024}, {"headroom": 1025}),
        ({"lanes": 0}, {"lanes": -1}),
        ({"lanes": 4096}, {"lanes": 4097}),
        ({"slot_rtts": 0.0}, {"slot_rtts": -0.1}),
        ({"slot_rtts": 16.0}, {"slot_rtts": 16.1}),
        ({"hold": 1}, {"hold": 0}),
        ({"hold": 256}, {"hold": 257}),
        ({"windows": ((0.0, 1 << 28),)}, {"windows": ((0.0, (1 << 28) + 1),)}),
        ({"windows": ((64.0, -(1 << 28)),)}, {"windows": ((64.0, -(1 << 28) - 1),)}),
        ({"windows": ((1.0, 0), (64.0, 0))}, {"windows": ((1.0, 0), (64.001, 0))}),
        ({"windows": ((0.0, 0),)}, {"windows": ((-0.001, 0),)}),
    ],
)
def test_options_are_within_bounds(within: dict[str, Any], beyond: dict[str, Any]) -> None:
    make_actions(2, 3, **within)
    with pytest.raises(ValueError):
        make_actions(2, 3, **beyond)


def test_orders_and_sizes_are_within_bounds() -> None:
    for orders in (((0.0, 0.0),), ((np.inf, 1.0), (0.5, 0.5))):
        make_actions(2, 3, measured=True, orders=orders)
    for orders in (((0.0, 1.01),), ((0.5, 0.5), (-0.01, 0.5)), ((0.5, -0.01),)):
        with pytest.raises(ValueError, match="orders are pairs of a gap"):
            make_actions(2, 3, measured=True, orders=orders)
    for subflows, layers in ((1, 1), (8, 8)):
        assert make_actions(subflows, layers).outputs == 6 * subflows + subflows * layers
    for subflows, layers in ((0, 1), (1, 0), (9, 1), (1, 9)):
        with pytest.raises(ValueError, match="1 to 8 subflows and 1 to 8 layers"):
            make_actions(subflows, layers)
    assert JointActions(subflows=2, layers=3, windows=((1.0, 0),) * 353).outputs == 353**2 * 8
    with pytest.raises(ValueError, match="1,002,528 joint actions"):
        JointActions(subflows=2, layers=3, windows=((1.0, 0),) * 354)
    exact = JointActions(subflows=1, layers=1, windows=((1.0, 0),) * 1_000_000)
    assert exact.outputs == 1_000_000


@pytest.mark.parametrize(
    ("alpha", "beta", "words"),
    [
        (1, 0, "×1"),
        (1, 10, "+10 segments"),
        (1, -3, "-3 segments"),
        (2, 0, "×2"),
        (0.5, 4, "×0.5 +4"),
        (0, -2, "×0 -2"),
    ],
)
def test_a_window_in_words(alpha: float, beta: float, words: str) -> None:
    assert window_words(alpha, beta) == words


def test_what_a_kernel_lacks_is_said() -> None:
    assert MULTI.simulator_only == make_actions(2, 3, pacing="rate").simulator_only == ""
    assert (
        make_actions(2, 3, pacing="bbr").simulator_only == "paces by bbr, which exists in the simulator only"
    )
    assert SCHEDULERS.simulator_only == "chooses among schedulers that exist in the simulator only"
    assert (MULTI.bounded, make_actions(2, 3, headroom=0).bounded) == (True, False)
    assert [MULTI.copying, make_actions(2, 3, copies=True).copying, CONTINUOUS.copying] == [
        False,
        True,
        False,
    ]


def test_measured_actions_copy_base_layers_or_all() -> None:
    space = replace(MEASURED, copies=True)
    assert space.branches == (2, 2, 3, 4, 1) and space.copying
    units = made_units()
    copied = [space.decode(np.array([[0, 0, spare, 0, 0]]), units).copied.tolist() for spare in (0, 1, 2)]
    assert copied == [[[0, 0, 0]], [[1, 0, 0]], [[1, 1, 1]]]


def made_units(**more: Any) -> Units:
    """400 segments a round trip of 100 s on either path, and nothing in a queue."""
    whole: dict[str, Any] = {
        "window": np.array([[400.0, 400.0]]),
        "queue": np.array([[0.0, 0.0]]),
        "round_trip_s": np.array([100.0]),
        "lossiest": np.array([-1]),
        "top_layer": np.array([2]),
        "limit": np.array([[np.inf, np.inf]]),
    }
    return Units(**{**whole, **more})


def test_a_pace_has_a_tenth_at_least_and_its_rate_where_it_is_probed() -> None:
    """Windows of 0.7 with no queue wanted, and of nothing at all. Two slots in the queue ask for less than a tenth."""
    space = MeasuredActions(
        subflows=2,
        layers=3,
        windows=((0.7, 0.0), (0.0, 0.0), (2.0, 1.0)),
        orders=((np.inf, 0.0), (0.5, 0.25)),
    )

    def segments(choices: list[int], **more: Any) -> list[int]:
        decoded: list[int] = space.decode(np.array([[*choices, 0, 0]]), made_units(**more)).beta[0].tolist()
        return decoded

    assert segments([0, 1]) == [280, 0] and segments([2, 0]) == [1200, 280]
    assert segments([0, 0], queue=np.array([[2.0, 0.5]])) == [28, 80]
    probed = np.array([[True, False]])
    assert segments([0, 0], probed=probed) == [400, 280] and segments([2, 1], probed=probed) == [1200, 0]
    assert segments([1, 0], probed=probed) == [0, 280], "nothing is nothing"
    assert segments([0, 0], limit=np.array([[0.5, 0.05]])) == [200, 20]
    huge = segments([0, 0], window=np.array([[1e12, 1.0]]))
    assert huge == [1 << 28, 1]
    orders = [space.decode(np.array([[0, 0, 0, order]]), made_units()).order.tolist() for order in (0, 1)]
    assert orders == [[[np.inf, 0.0]], [[50.0, 0.25]]]
    still = space.decode(np.array([[0, 0, 0, 0]]), made_units(round_trip_s=np.zeros(1)))
    assert still.order.tolist() == [[np.inf, 0.0]]


def test_places_of_layers_by_what_is_known() -> None:
    """Any; the top on the lossiest, where there is one; base layers, or all but the top, where they can be repaired."""
    space = MeasuredActions(subflows=2, layers=3, windows=((1.0, 0.0),), orders=((0.0, 0.0),))
    actions = np.array([[0, 0, place, 0] for place in range(4)])

    def places(lossiest: list[int], top: list[int]) -> list[list[int]]:
        both = np.ones((4, 2))
        units = Units(both, 0 * both, np.ones(4), np.array(lossiest), np.array(top), both)
        return space.decode(actions, units).layer_subflow.tolist()

    a, r = AUTOMATIC, REPAIRABLE
    assert places([0, 1, 1, 1], [2] * 4) == [[a, a, a], [a, a, 1], [r, a, a], [r, r, a]]
    assert places([0, -1, 1, 1], [2, 2, 2, 1]) == [[a, a, a], [a, a, a], [r, a, a], [r, a, a]]
    assert places([1, 0, 1, 1], [2, 1, 0, 0]) == [[a, a, a], [a, 0, a], [r, a, a], [r, a, a]]
    plain = space.decode(actions[[0, 2]], made_units(round_trip_s=np.ones(2))).layer_subflow
    assert plain.tolist() == [[a, a, a], [r, a, a]]


def test_a_window_that_grows_beyond_the_engines_most_is_cut_off() -> None:
    wide = ContinuousActions(subflows=1, layers=2, octaves=8.0)
    alphas = wide.decode(np.array([[1.0], [0.75], [-1.0], [0.0]])).alpha_q16[:, 0].tolist()
    assert alphas == [64 * ONE_Q16, 64 * ONE_Q16, ONE_Q16 // 256, ONE_Q16]
    assert wide.decode(np.array([[1.0]])).layer_subflow.tolist() == [[AUTOMATIC, AUTOMATIC]]


def test_actions_of_many_episodes_keep_their_order() -> None:
    space = MultiActions(subflows=2, layers=1, windows=((1.0, 0), (2.0, 3)), automatic=True)
    outputs = np.array([[0, 1, 2, 0, 0, 5, 1.0], [3, 1, 0, 4, 9, 0, 1], [1, 1, 0, 0, 0, 0, 7]])
    assert space.greedy(outputs).tolist() == [[1, 0, 1], [0, 1, 0], [0, 0, 2]]
    decoded = space.decode(space.greedy(outputs))
    assert decoded.alpha_q16.tolist() == [[2 * ONE_Q16, ONE_Q16], [ONE_Q16, 2 * ONE_Q16], [ONE_Q16, ONE_Q16]]
    assert decoded.beta.tolist() == [[3, 0], [0, 3], [0, 0]]
    assert decoded.layer_subflow.tolist() == [[1], [0], [AUTOMATIC]]
    assert space.decode(np.zeros((0, 3), dtype=int)).beta.shape == (0, 2)
