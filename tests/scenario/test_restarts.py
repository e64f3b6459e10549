"""``[transport] restart``: what may stand there, and who refuses it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dstcc.errors import InputError, ScenarioError
from dstcc.run.plan import plan
from dstcc.scenario import content_hash, draw_trial, engine_config, load_source, parse_scenario

RESTART = {"at_s": ["1 min", 200], "boot_s": "20 s", "spool": True}


def document(**transport: Any) -> dict[str, Any]:
    return {
        "scenario": {"name": "restarts"},
        "video": {"synthetic": {"chunk_s": 10.0, "layer_bps": [40_000]}, "loop_to_s": 300},
        "link": [{"name": "a", "rate_bps": 100_000, "delay_s": 30}],
        "transport": {"congestion": ["open-loop", "ltp"], **transport},
        "playout": {"delay_s": 600},
    }


def read(**transport: Any):
    from dstcc.scenario.units import with_units

    return parse_scenario(with_units(document(**transport), "x"), source="x")


def test_it_reaches_the_engine_and_the_dry_run() -> None:
    scenario = read(restart=RESTART)
    source = load_source(scenario)
    config = engine_config(scenario, draw_trial(scenario, source, 1), "open-loop", "minrtt")
    assert config.restarts is not None
    assert config.restarts.at_ns == (60 * 10**9, 200 * 10**9)
    assert (config.restarts.boot_ns, config.restarts.spool) == (20 * 10**9, True)
    said = "the sender restarts at 60, 200 s, boots for 20 s and sends what was not acknowledged then"
    assert said in plan(scenario, source, "simulator").notes


def test_a_scenario_without_it_keeps_its_hash() -> None:
    assert content_hash(read()) != content_hash(read(restart=RESTART))
    assert '"restart"' not in str(read().model_dump(exclude_none=True))


@pytest.mark.parametrize(
    ("transport", "rule"),
    [
        ({"restart": {**RESTART, "at_s": [60, 70]}}, "transport.restart.at_s: 70 s comes before the boot"),
        ({"restart": {**RESTART, "at_s": []}}, "transport.restart.at_s"),
        ({"restart": {"at_s": [60], "boot_s": 1}}, "transport.restart.spool"),
        ({"restart": {**RESTART, "boot": 1}}, "did you mean 'boot_s'"),
        ({"restart": RESTART, "ltp_green_from_layer": 0}, "nobody acknowledges a green layer"),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_key(transport: dict[str, Any], rule: str) -> None:
    with pytest.raises(ScenarioError, match=r"transport\.restart") as raised:
        read(**transport)
    assert rule in str(raised.value)


def test_beside_others_flows_it_is_refused() -> None:
    one = document(restart={**RESTART, "at_s": [60], "boot_s": 1}, congestion="cubic")
    one["link"][0]["flows"] = [{"congestion": "cubic"}]
    with pytest.raises(ScenarioError, match=r"transport\.restart: 'a' has TCP flows of others"):
        parse_scenario(one, source="x")


def test_the_kernels_logs_and_training_refuse_it(tmp_path: Path) -> None:
    from dstcc.learn.env.episodes import Episodes
    from dstcc.run import ask

    scenario = read(restart=RESTART, congestion="cubic")
    assert ask(scenario, "simulator", logs=("qlog",)).scenario == scenario
    with pytest.raises(InputError, match="each with a guest, whose packets are not put together"):
        ask(scenario, "kernel", logs=("pcapng",))
    with pytest.raises(ScenarioError, match="an episode is one connection"):
        Episodes([scenario])
