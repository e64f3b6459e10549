from __future__ import annotations

import pytest

from dstcc.errors import ScenarioError
from dstcc.expect import check, idle, out_of_reach, unseen
from dstcc.metrics import METRICS, Metrics
from dstcc.run import TrialRow
from dstcc.run.trials import TrialKey


def trial(congestion: str, scheduler: str = "minrtt", **values: float) -> TrialRow:
    metrics = Metrics((0.25, 0.75), {**dict.fromkeys(METRICS), **values})
    key = TrialKey(congestion, scheduler, 1)
    return TrialRow({"id": key.id, **vars(key), "status": "ok", "error": None, **metrics.flat()})


def named(one: TrialRow, **names: str) -> TrialRow:
    return TrialRow(one.values | names)


TRIALS = [trial("cubic", playback_ratio=0.9), trial("bbr", playback_ratio=0.99, ssim=1.0)]


def missed(expect: dict[str, str], trials: list[TrialRow] | None = None) -> list[str]:
    return [str(miss) for miss in check(expect, trials or TRIALS, where="s.toml")]


@pytest.mark.parametrize(
    ("bound", "kept"),
    [(">= 0.9", True), ("> 0.9", False), ("<= 0.9", True), ("< 0.9", False), ("== 0.9", True),
     ("!= 0.9", False), (">=9e-1", True), ("<1", True), ("> -1", True), ("< .5", False), (">= 0.9, <= 0.9", True),
     (">= 0.8,< 0.9", False), ("> 0.9, <= 1", False), ("> 0.8, != 0.9, < 1", False)],
)  # fmt: skip
def test_comparisons(bound: str, kept: bool) -> None:
    assert (missed({"cubic.playback_ratio": bound}) == []) is kept


def test_a_bound_without_a_name_is_for_every_trial() -> None:
    assert missed({"playback_ratio": ">= 0.98"}) == [
        "cubic+minrtt/s1: playback_ratio is 0.9, expected >= 0.98"
    ]


def test_every_miss_is_named() -> None:
    assert len(missed({"playback_ratio": "> 1", "cubic.playback_ratio": "> 2"})) == 3


def test_a_bound_with_a_scheduler() -> None:
    trials = [trial("cubic", "minrtt", playback_ratio=0.5), trial("cubic", "redundant", playback_ratio=1.0)]
    assert missed({"cubic+redundant.playback_ratio": ">= 1"}, trials) == []
    assert len(missed({"cubic.playback_ratio": ">= 1"}, trials)) == 1


def test_a_metric_without_a_value_misses() -> None:
    assert missed({"cubic.ssim": ">= 0"}) == [
        "cubic+minrtt/s1: ssim has no value (no pictures were scored), expected >= 0"
    ]


def test_layers_played_is_reached_by_layer() -> None:
    assert missed({"layers_played.none": "<= 0.25", "cubic.layers_played.0": "== 0.75"}) == []
    assert len(missed({"layers_played.none": "< 0.25"})) == 2


def test_a_layer_that_the_video_lacks_is_an_error() -> None:
    with pytest.raises(
        ScenarioError, match=r"s\.toml: expect\.layers_played\.5: the video has no such layer"
    ):
        missed({"layers_played.5": "> 0"})


def test_a_failed_trial_misses_nothing() -> None:
    failed = TrialRow(trial("cubic").values | {"status": "failed", "error": "no luck"})
    assert missed({"playback_ratio": "> 1"}, [failed]) == []


def test_bounds_that_no_trial_could_miss_are_named() -> None:
    keys = ("playback_ratio", "cubic.ssim", "westwood.ssim", "bbr+redundant.ssim")
    expect = dict.fromkeys(keys, "> 0")
    assert idle(expect, TRIALS) == ["westwood.ssim", "bbr+redundant.ssim"]


def test_a_bound_on_a_control_is_none_on_its_variants_and_the_other_way_round() -> None:
    plain, tuned = trial("cubic", playback_ratio=0.2), trial("cubic", playback_ratio=0.9)
    trials = [plain, named(tuned, variant="tuned")]
    assert missed({"cubic.playback_ratio": "<= 0.5"}, trials) == []
    assert missed({"tuned.playback_ratio": ">= 0.5"}, trials) == []
    assert missed({"cubic+minrtt.playback_ratio": "<= 0.5"}, trials) == []
    assert len(missed({"playback_ratio": ">= 1"}, trials)) == 2
    assert idle({"tuned.playback_ratio": ">= 1"}, [plain]) == ["tuned.playback_ratio"]


def test_a_bound_on_a_controller_is_for_its_trials_alone() -> None:
    ours, other = trial("agent", "agent", playback_ratio=0.9), trial("agent", "agent", playback_ratio=0.2)
    trials = [
        named(ours, controller="dstcc"),
        named(other, controller="my.v2"),
        named(other, controller="dstcc", variant="eager dstcc"),
        *TRIALS,
    ]
    assert missed({"dstcc.playback_ratio": ">= 0.5"}, trials) == []
    assert missed({"my.v2.playback_ratio": "<= 0.5"}, trials) == []
    assert missed({"eager dstcc.playback_ratio": "<= 0.5"}, trials) == []
    assert missed({"my.v2.layers_played.0": "== 0.75"}, trials) == []
    assert len(missed({"dstcc.playback_ratio": "> 1"}, trials)) == 1
    assert len(missed({"playback_ratio": "> 1"}, trials)) == len(trials)
    assert idle({"dstcc.ssim": "> 0", "pbq.ssim": "> 0", "agent.ssim": "> 0"}, TRIALS) == [
        "dstcc.ssim",
        "pbq.ssim",
        "agent.ssim",
    ]


@pytest.mark.parametrize(
    ("metric", "mode", "reason"),
    [
        ("startup_s", "deadline", 'with playout.mode = "stall" only'),
        ("startup_s", "stall", "nothing was shown"),
        ("oracle_ratio", "stall", 'with playout.mode = "deadline" only'),
        ("own_share", "deadline", "no flow competes for a link"),
        ("completion_s", "deadline", "not every layer arrived"),
        ("guard_actions", "deadline", "no controller drives it"),
        ("mean_rtt_s", "deadline", "nothing was sent or nothing arrived"),
    ],
)
def test_a_miss_of_what_has_no_value_says_why(metric: str, mode: str, reason: str) -> None:
    given = {"stalls": 1.0} if mode == "stall" else {"oracle_ratio": 0.5}
    assert missed({metric: "< 9"}, [trial("cubic", "minrtt", **given)]) == [
        f"cubic+minrtt/s1: {metric} has no value ({reason}), expected < 9"
    ]


def test_what_nobody_could_have_is_not_missed_and_named() -> None:
    dark = trial("cubic", weighted_layers=0.0, playback_ratio=0.0)
    expect = {"oracle_ratio": "<= 1", "cubic.retransmitted_ratio": ">= 0.3", "bbr.ssim": "> 0"}
    assert missed(expect, [dark]) == []
    assert unseen(expect, [dark]) == ["oracle_ratio", "cubic.retransmitted_ratio"]
    # what is a number misses all the same, and the message says that it was out of reach
    assert missed({"playback_ratio": ">= 0.9"}, [dark]) == [
        "cubic+minrtt/s1: playback_ratio is 0 (no sender could have had a layer there in time), expected >= 0.9"
    ]


def test_only_a_trial_against_deadlines_that_played_nothing_can_have_been_out_of_reach() -> None:
    def away(**values: float) -> bool:
        metrics = trial("cubic", "minrtt", **values).metrics
        assert metrics is not None
        return out_of_reach(metrics)

    assert away(weighted_layers=0.0)
    assert not away(weighted_layers=0.0, oracle_ratio=0.0)  # somebody could have
    assert not away(weighted_layers=0.0, stalls=0.0)
    assert not away(weighted_layers=0.5)
