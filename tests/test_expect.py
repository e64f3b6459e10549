from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from dstcc.errors import ScenarioError
from dstcc.expect import check, idle
from dstcc.metrics import METRICS, Metrics


@dataclass(frozen=True)
class Trial:
    congestion: str
    scheduler: str = "minrtt"
    metrics: Metrics | None = None
    variant: str | None = None

    @property
    def id(self) -> str:
        return f"{self.congestion}+{self.scheduler}/s1"


def trial(congestion: str, scheduler: str = "minrtt", **values: float) -> Trial:
    return Trial(congestion, scheduler, Metrics((0.25, 0.75), {**dict.fromkeys(METRICS), **values}))


TRIALS = [trial("cubic", playback_ratio=0.9), trial("bbr", playback_ratio=0.99, ssim=1.0)]


def missed(expect: dict[str, str], trials: list[Trial] | None = None) -> list[str]:
    return [str(miss) for miss in check(expect, trials or TRIALS, where="s.toml")]


@pytest.mark.parametrize(
    ("bound", "kept"),
    [(">= 0.9", True), ("> 0.9", False), ("<= 0.9", True), ("< 0.9", False), ("== 0.9", True),
     ("!= 0.9", False), (">=9e-1", True), ("<1", True), ("> -1", True), ("< .5", False)],
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
    assert missed({"cubic.ssim": ">= 0"}) == ["cubic+minrtt/s1: ssim is none, expected >= 0"]


def test_layers_played_is_reached_by_layer() -> None:
    assert missed({"layers_played.none": "<= 0.25", "cubic.layers_played.0": "== 0.75"}) == []
    assert len(missed({"layers_played.none": "< 0.25"})) == 2


def test_a_layer_that_the_video_lacks_is_an_error() -> None:
    with pytest.raises(
        ScenarioError, match=r"s\.toml: expect\.layers_played\.5: the video has no such layer"
    ):
        missed({"layers_played.5": "> 0"})


def test_a_failed_trial_misses_nothing() -> None:
    assert missed({"playback_ratio": "> 1"}, [Trial("cubic")]) == []


def test_bounds_that_no_trial_could_miss_are_named() -> None:
    keys = ("playback_ratio", "cubic.ssim", "westwood.ssim", "bbr+redundant.ssim")
    expect = dict.fromkeys(keys, "> 0")
    assert idle(expect, TRIALS) == ["westwood.ssim", "bbr+redundant.ssim"]


def test_a_bound_on_a_control_is_none_on_its_variants_and_the_other_way_round() -> None:
    plain, tuned = trial("cubic", playback_ratio=0.2), trial("cubic", playback_ratio=0.9)
    trials = [plain, replace(tuned, variant="tuned")]
    assert missed({"cubic.playback_ratio": "<= 0.5"}, trials) == []
    assert missed({"tuned.playback_ratio": ">= 0.5"}, trials) == []
    assert missed({"cubic+minrtt.playback_ratio": "<= 0.5"}, trials) == []
    assert len(missed({"playback_ratio": ">= 1"}, trials)) == 2
    assert idle({"tuned.playback_ratio": ">= 1"}, [plain]) == ["tuned.playback_ratio"]
