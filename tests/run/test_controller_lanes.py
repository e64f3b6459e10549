"""A controller on fewer lanes than it asks for: comparisons on equal lanes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dstcc.errors import InputError
from dstcc.learn.policies.policy import load_policy
from dstcc.run import write_run
from dstcc.run.trials import load_controllers
from dstcc.scenario import load_scenario, load_source, parse_scenario, to_toml

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dstcc.learn.policies.controller import Controller

LANES = (None, 16, 1)


def mission(**transport: object) -> dict[str, object]:
    return {
        "scenario": {"name": "lossy"},
        "video": {
            "synthetic": {"chunk_s": 1.0, "layer_bps": [60_000, 60_000, 60_000]},
            "loop_to_s": 300,
        },
        "link": [
            {"name": f"link {k}", "rate_bps": 120_000, "delay_s": 10, "loss": {"packet": 0.02}}
            for k in range(2)
        ],
        "transport": {"mode": "lanes", "controller": "dstcc-lanes", **transport},
        "playout": {"delay_rtts": 1.6},
    }


def test_it_gets_as_many_as_the_scenario_allows(tmp_path: Path) -> None:
    # Beside 4,096 lanes a link, a variant with 16 and one with a single lane, on the same losses: 2 % of the packets
    # are lost, and the fewer lanes there are the more of the rest waits for their repair.
    variants = [
        {"label": f"{most} lanes", "controller": "dstcc-lanes", "set": {"controller_lanes": most}}
        for most in LANES[1:]
    ]
    scenario = parse_scenario({**mission(), "variant": variants}, source="here")
    done = write_run(tmp_path / "run", scenario, load_source(scenario), argv=[], jobs=1)
    domains = {one["name"]: one["ordering_domains"] for one in done.meta["algorithms"]}
    assert domains == {"dstcc-lanes": 8192, "16 lanes": 32, "1 lanes": 2}
    played: list[Any] = [
        trial.metrics.document()["weighted_layers"] for trial in done.trials if trial.metrics
    ]
    assert played == sorted(played, reverse=True)
    assert played[0] - 0.05 > played[2]


@pytest.mark.parametrize(("most", "lanes"), [(None, 4096), (4096, 4096), (16, 16), (1, 1)], ids=str)
def test_a_policy_takes_no_more_than_it_asks_for(most: int | None, lanes: int) -> None:
    assert load_policy("dstcc-lanes").on_lanes(most).action.lanes == lanes


def test_a_policy_on_the_scenarios_lanes_stays_on_them() -> None:
    policy = load_policy("iodst-dqn")
    assert policy.on_lanes(1) is policy


def test_a_stream_is_refused_under_a_policy_that_would_have_lanes_all_the_same() -> None:
    with pytest.raises(InputError, match=r"transport\.mode = 'stream': the policy dstcc-lanes sends"):
        controllers(mission(mode="stream"))
    varied = {"label": "one stream", "controller": "dstcc-lanes", "set": {"mode": "stream"}}
    with pytest.raises(InputError, match=r"variant 'one stream': set\.mode = 'stream'"):
        controllers({**mission(), "variant": [varied]})


def test_a_stream_of_others_beside_it_is_none_of_its_own() -> None:
    one_stream = {"label": "stock", "congestion": "cubic", "set": {"mode": "stream"}}
    assert list(controllers({**mission(), "variant": [one_stream]})) == ["dstcc-lanes"]
    unsaid = mission()
    del unsaid["transport"]["mode"]  # type: ignore[attr-defined]
    assert list(controllers(unsaid)) == ["dstcc-lanes"]
    assert list(controllers(mission(mode="stream", controller="iodst-q"))) == ["iodst-q"]


def test_a_runs_scenario_can_be_run_again(tmp_path: Path) -> None:
    unsaid = mission(lanes_per_link=1)
    del unsaid["transport"]["mode"]  # type: ignore[attr-defined]
    (tmp_path / "scenario.toml").write_text(to_toml(parse_scenario(unsaid, source="here")))
    again = load_scenario(tmp_path / "scenario.toml")
    assert list(load_controllers(again, load_source(again))) == ["dstcc-lanes"]


def controllers(document: dict[str, object]) -> Mapping[str, Controller]:
    scenario = parse_scenario(document, source="here")
    return load_controllers(scenario, load_source(scenario))
