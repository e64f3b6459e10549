"""The bench's own machinery; never how fast anything is."""

from __future__ import annotations

import json
import os

import pytest

from bench.__main__ import main
from bench.figure import Figure, Goal, Measured, interleaved, median_ratio
from bench.laws import LAWS, _walk
from bench.linux_grid import read_cases
from bench.registry import FIGURES, chosen
from dstcc.engine._testing import event_walk, ring_walk
from dstcc.errors import InputError

FAKE = Figure(
    "fake",
    lambda: Measured(3.0, "ns", "a walk", 1.5, repeats=(2.0, 3.0, 5.0), details={"n": 7}, notes=("a note",)),
    Goal("ratio", "<=", 1.0),
)
OTHER = Figure("other", lambda: Measured(1.0, "s", ""))


def test_every_figure_has_its_own_name_and_a_goal_that_can_be_judged():
    names = [figure.name for figure in FIGURES]
    assert len(set(names)) == len(names)
    for figure in FIGURES:
        if figure.goal is not None:
            assert figure.goal.met(Measured(1.0, "", "", 1.0)) in (True, False)


def test_chosen_keeps_the_order_of_the_table():
    assert [figure.name for figure in chosen("laws, engine_floor")] == ["engine_floor", "laws"]
    assert chosen(None) == FIGURES


def test_an_unknown_figure_names_the_nearest(capsys, tmp_path):
    with pytest.raises(InputError, match=r"'engine_flor'.*nearest is 'engine_floor'"):
        chosen("engine_flor")
    assert main(["--only", "fakes"], figures=(FAKE, OTHER), output=tmp_path / "bench.json") == 2
    assert "'fake'" in capsys.readouterr().err
    assert not (tmp_path / "bench.json").exists()


def test_the_document_has_the_host_and_what_each_figure_found(capsys, tmp_path):
    output = tmp_path / "build" / "bench.json"
    assert main([], figures=(FAKE, OTHER), output=output) == 0
    printed = capsys.readouterr().out
    assert "fake" in printed and "NO" in printed and "a note" in printed
    document = json.loads(output.read_text(encoding="utf-8"))
    assert {"processor", "cores", "python", "compiler", "git_commit", "load_average"} <= document[
        "host"
    ].keys()
    assert document["figures"] == {
        "fake": {
            "value": 3.0,
            "unit": "ns",
            "against": "a walk",
            "ratio": 1.5,
            "goal": "ratio <= 1",
            "met": False,
            "spread": [2.0, 5.0],
            "repeats": [2.0, 3.0, 5.0],
            "details": {"n": 7},
        },
        "other": {"value": 1.0, "unit": "s", "against": "", "ratio": None},
    }
    assert os.listdir(output.parent) == ["bench.json"]  # noqa: PTH208 - no temporary file is left


def test_json_prints_the_document_alone(capsys, tmp_path):
    assert main(["--json", "--only", "other"], figures=(FAKE, OTHER), output=tmp_path / "bench.json") == 0
    assert list(json.loads(capsys.readouterr().out)["figures"]) == ["other"]


def test_measures_take_turns():
    order: list[str] = []

    def named(name: str, value: float) -> float:
        order.append(name)
        return value

    assert interleaved(2, lambda: named("a", 1.0), lambda: named("b", 2.0)) == [(1.0, 1.0), (2.0, 2.0)]
    assert order == ["a", "b", "a", "b"]
    assert median_ratio((2.0, 9.0, 4.0), (1.0, 3.0, 2.0)) == 2.0


@pytest.mark.parametrize("window", [1, 7, 64, 1000])
def test_the_floors_lose_what_the_draws_say(window):
    # 100,000 packets at p = 0.1: 10,000 ± 5 · √(n p (1 - p)) = ± 474; the walk in order of events draws for both ways.
    assert ring_walk(100_000, window, 0.1, 1) == pytest.approx(10_000, abs=474)
    assert ring_walk(100_000, window, 0.1, 1) == ring_walk(100_000, 1, 0.1, 1)  # the draws know no window
    assert event_walk(100_000, window, 2, 0.1, 1) == pytest.approx(19_000, abs=621)  # 1 - 0.9² = 0.19
    assert ring_walk(100_000, window, 0.0, 1) == event_walk(100_000, window, 2, 0.0, 1) == 0


@pytest.mark.parametrize("wrong", [(-1, 1, 0.0), (1, 0, 0.0), (1, 1, 1.0), (1, 1, float("nan"))])
def test_the_floors_refuse_what_makes_no_sense(wrong):
    packets, window, loss = wrong
    with pytest.raises(ValueError, match="must"):
        ring_walk(packets, window, loss, 1)
    with pytest.raises(ValueError, match="must"):
        event_walk(packets, window, 2, loss, 1)
    with pytest.raises(ValueError, match="subflows"):
        event_walk(1, 1, 65, 0.0, 1)


def test_linux_s_table_is_read_past_its_comments():
    cases = read_cases()
    assert len(cases) == 15
    assert {case.congestion for case in cases} >= {"cubic", "newreno", "bbr", "westwood"}
    assert all(0 < case.steady[0] < 10 and case.loss > 0 for case in cases)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_the_walk_comes_to_the_law_where_a_cycle_is_many_round_trips(law):
    # p = 1e-7: newreno's cycle has 2,600 round trips, CUBIC's 53 at RTT 1 s. CUBIC's release of the maximum
    # (RFC 9438 section 4.7), which the law leaves out, costs up to (1 - β)/2 = 15 % of the window.
    p = 1e-7
    assert _walk(law, p, [1 / p] * 50) == pytest.approx(law.window(p, law.rtt_s), rel=0.15)
