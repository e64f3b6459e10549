"""Choosing settings for a stock control: what is tried, what is kept, what is printed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dstcc.errors import InputError
from dstcc.scenario import load_scenario, load_source, parse_override
from dstcc.tune import LEAST_GAIN, Search, axes_of, nested, settings_text, starts_of, tune
from tests.quick import QUICK

AXES: dict[str, tuple[Any, ...]] = {"scale": (1, 6), "initial_cwnd": (40, 160)}


def best(
    table: dict[str, float | None], otherwise: float | None = 0.0, *starts: dict[str, Any]
) -> tuple[dict[str, Any], float]:
    return Search(AXES, lambda settings: table.get(settings_text(settings), otherwise), starts).best()


def test_what_helps_is_kept_axis_by_axis_until_nothing_does() -> None:
    table: dict[str, float | None] = {
        "": 0.1,
        "scale = 6": 0.3,
        "initial_cwnd = 160, scale = 6": 0.4,
        # found only in a second round, once the window is there
        "initial_cwnd = 160, scale = 1": 0.5,
    }
    assert best(table) == ({"scale": 1, "initial_cwnd": 160}, 0.5)


def test_a_setting_that_lost_its_reason_is_dropped() -> None:
    table: dict[str, float | None] = {
        "": 0.1,
        "scale = 6": 0.3,
        "initial_cwnd = 40, scale = 6": 0.4,
        "initial_cwnd = 40": 0.6,
    }
    assert best(table) == ({"initial_cwnd": 40}, 0.6)


def test_less_than_a_digit_is_no_reason() -> None:
    assert best({"": 0.1, "scale = 1": 0.1 + LEAST_GAIN / 2}) == ({}, 0.1)
    assert best({"": 0.1, "scale = 1": 0.1 + 2 * LEAST_GAIN})[0] == {"scale": 1}


def test_what_cannot_run_is_not_chosen() -> None:
    assert best({"": 0.1, "scale = 1": None, "scale = 6": 0.2}, None) == ({"scale": 6}, 0.2)


def test_nothing_is_tried_twice() -> None:
    asked: list[str] = []
    Search(AXES, lambda settings: asked.append(settings_text(settings)) or 0.0).best()  # type: ignore[func-returns-value]
    assert len(asked) == len(set(asked)) == 5


def test_another_start_counts_where_its_end_is_better() -> None:
    table: dict[str, float | None] = {
        "": 0.1,
        "scale = 1": 0.3,
        # no step along one axis leads there from the start
        "initial_cwnd = 40, scale = 6": 0.2,
        "initial_cwnd = 160, scale = 6": 0.5,
    }
    there = {"scale": 6, "initial_cwnd": 40}
    assert best(table) == ({"scale": 1}, 0.3)
    assert best(table, 0.0, there) == ({"scale": 6, "initial_cwnd": 160}, 0.5)
    assert best({**table, "initial_cwnd = 160, scale = 6": 0.3 + LEAST_GAIN / 2}, 0.0, there) == (
        {"scale": 1},
        0.3,
    )
    assert best({"": 0.1, "initial_cwnd = 40, scale = 6": None}, 0.0, there) == ({}, 0.1)


def test_the_other_starts_are_the_scenarios_own_variants(scenario: Path) -> None:
    text = scenario.read_text() + "".join(
        f'[[variant]]\nlabel = "{label}"\n{rest}\n'
        for label, rest in {
            "tuned": 'congestion = "cubic"\nset = {initial_cwnd = 40, constants = {hystart = false}}',
            "other control": 'congestion = "newreno"\nset = {initial_cwnd = 160}',
            "other scheduler": 'congestion = "cubic"\nscheduler = "round-robin"\nset = {initial_cwnd = 640}',
            "no axis": 'congestion = "cubic"\nset = {initial_cwnd = 40, mss_bytes = 500}',
        }.items()
    )
    scenario.write_text(text)
    loaded = load_scenario(scenario)
    settings = {"initial_cwnd": 40, "constants.hystart": False}
    assert starts_of(loaded, "cubic", axes_of(loaded, "cubic")) == (settings,)
    assert nested(settings) == loaded.variant[0].set


def test_constants_are_a_table() -> None:
    assert nested({"scale": 1, "constants.rto_max_s": 9.0, "constants.hystart": False}) == {
        "scale": 1,
        "constants": {"rto_max_s": 9.0, "hystart": False},
    }


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "far.toml"
    text = QUICK.replace("delay_s = 0.05", "delay_s = 100").replace("loop_to_s = 5", "loop_to_s = 900")
    path.write_text(f"{text}[transport]\nmode = 'lanes'\nlanes_per_link = 4\n")
    return path


def test_the_axes_leave_out_what_the_scenario_has(scenario: Path) -> None:
    axes = axes_of(load_scenario(scenario), "newreno")
    # RTT 200 s over 40 emulated seconds: S = 5
    assert axes == {
        "scale": (1, 2),
        "initial_cwnd": (40, 160, 640, 2_500, 10_000),
        "lanes_per_link": (1, 16),
        "window": ("lane", "link"),
        "constants.rto_max_s": (300.0, 800.0, 3200.0),
    }
    assert axes_of(load_scenario(scenario), "cubic") == {**axes, "constants.hystart": (False,)}
    stream = load_scenario(
        scenario, [parse_override(one) for one in ("transport.mode=stream", "run.scale=1")]
    )
    stream = stream.model_copy(update={"transport": stream.transport.model_copy(update={"initial_cwnd": 40})})
    assert axes_of(stream, "newreno") == {
        "initial_cwnd": (10, 160, 640, 2_500, 10_000),
        "constants.rto_max_s": (300.0, 800.0, 3200.0),
    }


def test_the_choice_is_a_variant_that_plays_more(scenario: Path) -> None:
    loaded = load_scenario(scenario)
    tuned = tune(loaded, load_source(loaded), "newreno", range(901, 902))
    assert tuned.mean > tuned.untuned + LEAST_GAIN
    scenario.write_text(scenario.read_text() + "\n".join(tuned.lines()))
    (variant,) = load_scenario(scenario).variant
    assert (variant.label, variant.congestion) == ("tuned newreno", "newreno")
    assert (variant.set, variant.chosen_on) == (nested(tuned.settings), (901, 901))
    # 16 kbit/s over a round trip of 200 s are 400 kB or 270 segments: ten are too few, and 640 are enough at once
    assert variant.set["initial_cwnd"] >= 160


def test_a_control_that_there_is_not_is_refused_before_a_trial(scenario: Path) -> None:
    loaded = load_scenario(scenario)
    with pytest.raises(
        InputError, match=r"--congestion cubik: no such congestion control .* did you mean 'cubic'"
    ):
        tune(loaded, load_source(loaded), "cubik")
