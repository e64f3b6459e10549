"""What each algorithm of a run knows and has, as tables and run.json say it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dstcc.algorithms import COPIES, KNOWLEDGE, OWN, SCHEDULERS, TABLE, everything, letters, shipped_policies
from dstcc.engine.config import Objects
from dstcc.engine.stepper import RUNNING, SUBFLOW_VALUES
from dstcc.forecast.files import load_controller
from dstcc.forecast.policy import ForecastPolicy
from dstcc.forecast.sender import Forecasting
from dstcc.learn.env.episodes import Episodes
from dstcc.learn.env.runner import Runner
from dstcc.learn.paths.measure import Rates
from dstcc.learn.policies.policy import Policy, load_policy
from dstcc.learn.spaces.observe import make_observer
from dstcc.learn.spaces.observe_measured import MeasuredObserver
from dstcc.run import backend_of, load_controllers, load_run, trial_keys, write_run
from dstcc.run.footing import Footing, footings, lanes
from dstcc.scenario import load_scenario, load_source, parse_override
from tests.coded.missions import mission, seen

TEXT = """
[scenario]
name = "two links"
[video]
synthetic = {chunk_s = 1.0, layer_bps = [8000, 8000]}
loop_to_s = 3
[[link]]
name = "a"
rate_bps = 80_000
delay_s = 200
[[link]]
name = "b"
rate_bps = 80_000
delay_s = 200
[transport]
mode = "lanes"
lanes_per_link = 8
congestion = ["open-loop"]
"""


def footing(tmp_path: Path, *overrides: str, more: str = "") -> dict[str, Footing]:
    path = tmp_path / "scenario.toml"
    path.write_text(TEXT + more)
    scenario = load_scenario(path, [parse_override(text) for text in overrides])
    source, keys = load_source(scenario), trial_keys(scenario)
    policies = load_controllers(scenario, source)
    rows = footings(scenario, source, keys, policies, backend_of("simulator"))
    assert [one.name for one in rows] == list(dict.fromkeys(key.name for key in keys))
    return {one.name: one for one in rows}


def test_the_table_says_it_of_every_algorithm_in_known_words() -> None:
    for row in everything():
        assert set(row.knows) <= KNOWLEDGE.keys(), row.name
        assert row.copies in ("", *COPIES), row.name
    letters_used = [known.letter for known in KNOWLEDGE.values()]
    assert len(set(letters_used)) == len(letters_used)
    assert {row.name for row in TABLE if "rates" in row.knows} == {"fixed", "open-loop", "ltp"}


@pytest.mark.parametrize("name", [row.name for row in TABLE])
def test_every_algorithm_gets_its_footing(tmp_path: Path, name: str) -> None:
    key = "scheduler" if name in SCHEDULERS else "congestion"
    needs = next(row.needs for row in TABLE if row.name == name)
    mode = next((mode for mode in ("stream", "coded") if mode in needs), "lanes")
    lanes_too = ["transport.lanes_per_link=1"] if mode == "stream" else []
    (one,) = footing(tmp_path, f"transport.{key}={name}", f"transport.mode={mode}", *lanes_too).values()
    row = next(row for row in TABLE if row.name == name)
    assert set(row.knows) - {"line"} <= set(one.knows)
    assert "deadlines" in one.knows
    assert one.copies == row.copies


def test_deadlines_are_known_where_there_are_any_and_missions_where_they_are_stored(tmp_path: Path) -> None:
    (live,) = footing(tmp_path).values()
    (waiting,) = footing(tmp_path, "playout.mode=stall", "video.source=stored").values()
    assert live.knows == ("rates", "deadlines")
    assert waiting.knows == ("rates", "mission")
    assert (letters(live.knows), letters(waiting.knows), letters(())) == ("rd", "rm", "–")


@pytest.mark.parametrize(
    "who",
    [
        'congestion = "paced", mode = "coded", handshake = false',
        'controller = "dstcc", congestion = [], mode = "coded"',
    ],
)
def test_who_is_told_the_rates_says_so_and_no_other(tmp_path: Path, who: str) -> None:
    (found,) = footing(tmp_path, f"transport={{{who}}}").values()
    assert "rates" not in found.knows
    cubic = '[[variant]]\nlabel = "other"\ncongestion = "cubic"\nset = {mode = "lanes"}\n'
    told = footing(tmp_path, f"transport={{{who}, told_rates = true}}", more=cubic)
    assert [("rates" in one.knows) for one in told.values()] == [True, False]


def test_lanes_and_windows_of_all_links_together(tmp_path: Path) -> None:
    variants = (
        '[[variant]]\nlabel = "one stream"\ncongestion = "cubic"\nset = {mode = "stream"}\n'
        '[[variant]]\nlabel = "more"\ncongestion = "open-loop"\nset = {lanes_per_link = 100, scale = 3}\n'
    )
    by_name = footing(
        tmp_path,
        'transport.congestion=["open-loop", "ltp"]',
        'transport.controller=["dstcc", "dstcc-lanes"]',
        more=variants,
    )
    said = {name: lanes(one.document()) for name, one in by_name.items()}
    # two links: 8 lanes each and a rate each; a layer is a block; dstcc has no order, dstcc-lanes 4,096 lanes a link
    assert said == {
        "open-loop+minrtt": "16/2",
        "ltp+none": "any/2",
        "dstcc": "any/2",
        "dstcc-lanes": "8192/2",
        "one stream": "1/2",
        "more": "200/2",
    }
    assert [by_name[name].mode for name in ("ltp+none", "one stream")] == ["blocks", "stream"]
    assert by_name["dstcc-lanes"].copies == "spare"
    assert by_name["more"].set == {"lanes_per_link": 100, "scale": 3}


def test_each_has_its_own_scale_and_what_that_makes_of_its_constants(tmp_path: Path) -> None:
    variant = '[[variant]]\nlabel = "unscaled"\ncongestion = "cubic"\nset = {scale = 1}\n'
    by_name = footing(tmp_path, 'transport.congestion=["cubic", "newreno", "ltp"]', more=variant)
    # RTT 400 s over 40 emulated seconds
    assert [one.scale for one in by_name.values()] == [10, 10, 10, 1]
    assert "CUBIC's C" in "".join(by_name["cubic+minrtt"].distorts)
    assert "CUBIC's C" not in "".join(by_name["newreno+minrtt"].distorts)
    assert "timeout" in "".join(by_name["newreno+minrtt"].distorts)
    assert by_name["ltp+none"].distorts == ()
    # what Linux's numbers hold at S = 1, of each link and of all, and nothing else, as constants are Linux's there
    said, *links = by_name["unscaled"].distorts
    for name, link in zip("ab", links, strict=True):
        assert link.startswith(f"link {name}: a round trip of up to 800 s")
    assert said.startswith("longest retransmission timeout 120 s, below the round trip of 400 s")
    assert "below the round trip" not in "".join(by_name["newreno+minrtt"].distorts)


def test_a_run_says_it(tmp_path: Path) -> None:
    footing(tmp_path)
    scenario = load_scenario(tmp_path / "scenario.toml")
    finished = write_run(tmp_path / "run", scenario, load_source(scenario), argv=["x"])
    (one,) = load_run(tmp_path / "run").meta["algorithms"]
    assert one == json.loads(json.dumps(finished.meta["algorithms"][0]))
    assert (one["name"], one["knows"], one["ordering_domains"]) == (
        "open-loop+minrtt",
        ["rates", "deadlines"],
        16,
    )


def test_policies_say_what_they_see_and_rest_on() -> None:
    assert {"queue", "contacts"} <= set(load_policy("dstcc-lanes").knows)
    assert load_policy("iodst-dqn").knows == ()
    assert load_policy("dstcc-lanes").copies == "spare"
    assert load_policy("iodst-q").copies == ""


MOVED = {"queue": ("queue_bytes",), "contacts": ("link_up", "change_s"), "nothing": ()}
"""Of a stepper's subflow values, those that hold what acknowledgements do not say."""
MORE = 5_000.0
"""Bytes of a queue, seconds until an outage or a contact, a link's state: more than rounding hides."""


def shown(policy: Policy) -> dict[str, list[str]]:
    """What a policy is shown in each slot of a trial that it steers, and what its actions are relative to: as they are,
    with each of :data:`MOVED` by :data:`MORE`, and with ``rates`` halved in what it is configured with."""
    config = Episodes().config(1, policy.action)
    slower = replace(config, links=tuple(replace(one, rate_bps=one.rate_bps / 2) for one in config.links))
    observers = {name: make_observer(policy.observation, 1) for name in (*MOVED, "rates")}
    for name, observer in observers.items():
        told = slower if name == "rates" else config
        layers, mss = int(told.objects.layer.max()) + 1, told.transport.mss_bytes
        observer.begin(0, subflows=len(told.links), layers=layers, mss_bytes=mss)
        if isinstance(observer, MeasuredObserver):
            observer.rates.begin(0, told)
    runner = Runner(1, policy.observation, policy.action)
    runner.begin(0, config)
    said: dict[str, list[str]] = {name: [] for name in observers}
    while runner.stepper.done[0] == RUNNING and len(said["nothing"]) < 100:
        runner.step(policy.act(runner.observations))
        values = runner.stepper.subflow_values
        for name, observer in observers.items():
            whole = values.copy()
            values[..., [SUBFLOW_VALUES.index(one) for one in MOVED.get(name, ())]] += MORE
            seen = observer.observe(runner.stepper)
            said[name].append(f"{seen.tolist()} {observer.units(runner.stepper)}")
            values[:] = whole
    return said


@pytest.mark.parametrize("name", [*shipped_policies(), OWN])
def test_the_table_knows_of_a_controller_what_its_file_says(name):
    (row,) = [row for row in everything() if (row.name, row.kind) == (name, "controller")]
    assert row.knows == tuple(load_controller(name).knows)


@pytest.mark.parametrize("name", [name for name in shipped_policies() if name != "gru-mpc"])
def test_a_policy_of_tcp_knows_what_changes_what_it_is_shown(name: str) -> None:
    policy = load_policy(name)
    said = shown(policy)
    for knowledge in ("queue", "contacts", "rates"):
        assert (said[knowledge] != said["nothing"]) == (knowledge in policy.knows), knowledge


def test_a_policy_of_coded_packets_knows_what_changes_what_it_decides() -> None:
    """It is shown the same of two links, and configured with 7,500 bytes a second on each or with half of it on one."""
    policy = load_controller("gru-mpc")
    assert isinstance(policy, ForecastPolicy)
    of = mission(load=1.2, rates=(7_500.0, 7_500.0))

    def repair(*rates: float) -> list[float]:
        sender = Forecasting(policy)
        sender.begin(replace(of, rate_bytes=np.array([rates])))
        decisions = []
        for slot in range(9):
            heard = {"heard": np.full((1, 2), 300.0), "lost": np.array([[3.0, 40.0]])}
            sent = np.full((1, 2), 3_800.0 + 60 * slot)
            decisions.append(sender.decide(seen(of, 5_000.0 + 60 * slot, sent_s=sent, **heard)))
        return [share for one in decisions for share in one.repair[0].tolist()]

    assert repair(7_500.0, 7_500.0) == repair(7_500.0, 7_500.0)
    assert (repair(7_500.0, 7_500.0) != repair(7_500.0, 3_750.0)) == ("rates" in policy.knows)


def test_a_policy_knows_the_mission_only_if_later_chunks_change_what_it_starts_with() -> None:
    policy = load_policy("dstcc-lanes")
    config = Episodes().config(1, policy.action)
    objects = config.objects
    later = objects.payload_bytes * np.where(objects.release_ns > objects.release_ns.max() // 2, 9, 1)
    heavy = replace(
        config, objects=Objects(objects.chunk, objects.layer, later, objects.release_ns, objects.deadline_ns)
    )
    needs = []
    for one in (config, heavy):
        rates = Rates(1, policy.action.subflows)
        rates.begin(0, one)
        needs.append(float(rates.source_rate[0, 0]))
    assert ("mission" in policy.knows) == (needs[0] != needs[1])


@pytest.mark.parametrize("window", ["lane", "link"])
def test_lanes_are_of_each_subflow_of_a_link(tmp_path: Path, window: str) -> None:
    """Two subflows on one link and one on the other, four lanes each: twelve ordering domains."""
    changes = ["link.0.subflows=2", "transport.lanes_per_link=4", f"transport.window={window}"]
    (row,) = footing(tmp_path, *changes, "transport.congestion=cubic").values()
    assert (row.ordering_domains, row.windows) == (12, 12 if window == "lane" else 3)
