"""What a policy was trained on, in ranges, and when it is said to be far outside them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dstcc.errors import PolicyError
from dstcc.learn.env.episodes import Episodes
from dstcc.learn.policies import scope
from dstcc.learn.policies.controller import TrainedOn
from dstcc.learn.policies.policy import load_policy, save_policy
from dstcc.learn.policies.scope import outside, scope_of
from dstcc.run import write_run
from dstcc.scenario import Scenario, content_hash, load_source, parse_scenario

EXAMPLES = Path(__file__).parents[3] / "examples"
TRAININGS = {
    "dstcc-lanes": "iodst/training",
    "iodst-dqn": "iodst/four-hours.toml",
    "iodst-dqn+": "iodst/four-hours-quarter.toml",
    "iodst-q": "iodst/four-hours.toml",
    "drl-cc": "iodst/four-hours.toml",
    "pbq": "sharing/pbq-training",
    "mpquic-rl": "multipath/mpquic-training.toml",
}
SCOPE = {
    "links": (1.0, 2.0),
    "layers": (2.0, 3.0),
    "rtt_s": (100.0, 1_000.0),
    "loss": (1e-4, 1e-2),
    "bdp_packets": (1_000.0, 10_000.0),
    "queue_bdps": (1.0, 1.0),
}


def scenario(*, links: int = 1, layers: int = 2, seeds: int = 1, **link: Any) -> Scenario:
    """A round trip of 400 s at 120 kbit/s: 6 MB, 4,000 packets of 1,500 bytes."""
    one = {"rate_bps": 120_000, "delay_s": 200, "loss": {"packet": 1e-3}} | link
    document = {
        "scenario": {"name": "mission"},
        "video": {"synthetic": {"chunk_s": 4.0, "layer_bps": [10_000] * layers}, "loop_to_s": 40},
        "link": [{"name": f"link {k}", **one} for k in range(links)],
        "transport": {"mode": "lanes"},
        "run": {"seeds": seeds},
    }
    return parse_scenario(document, source="here")


def warned(mission: Scenario) -> tuple[str, ...]:
    return outside(SCOPE, mission, load_source(mission))


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({}, ()),
        ({"links": 2, "layers": 3}, ()),
        ({"links": 3}, ("3 links, trained on 1 to 2",)),
        ({"layers": 1}, ("1 layers, trained on 2 to 3",)),
        # Twice an end is near, more is not; the rate keeps 4,000 packets in a round trip.
        ({"delay_s": 999, "rate_bps": 24_000}, ()),
        ({"delay_s": 1001, "rate_bps": 24_000}, ("a round trip of 2,002 s, trained on 100 to 1,000",)),
        ({"delay_s": 26, "rate_bps": 960_000}, ()),
        ({"delay_s": 24, "rate_bps": 960_000}, ("a round trip of 48 s, trained on 100 to 1,000",)),
        ({"loss": {"packet": 0.019}}, ()),
        ({"loss": {"packet": 0.021}}, ("a loss of 0.021 of the packets, trained on 0.0001 to 0.01",)),
        ({"loss": {"packet": 0}}, ()),  # less loss than ever is no danger
        # p / (p + r) of the time bad: 1 / 21 of the packets.
        (
            {"loss": {"gilbert_elliott": {"p": 0.01, "r": 0.2}}},
            ("a loss of 0.048 of the packets, trained on 0.0001 to 0.01",),
        ),
        # 1 - (1 - 1e-5)^12000 of full packets.
        ({"loss": {"ber": 1e-5}}, ("a loss of 0.11 of the packets, trained on 0.0001 to 0.01",)),
        ({"rate_bps": 1_190_000}, ()),  # 39,667 packets, below four times the most
        (
            {"rate_bps": 1_210_000},
            ("a bandwidth-delay product of 40,333 packets, trained on 1,000 to 10,000",),
        ),
        ({"queue_bytes": 1_600_000}, ()),  # 0.27 of 6 MB
        ({"queue_bytes": 3_000}, ("a queue of 0.0005 bandwidth-delay products, trained on 1",)),
    ],
)
def test_what_lies_far_outside_is_said(keys: dict[str, Any], words: tuple[str, ...]) -> None:
    assert warned(scenario(**keys)) == words


def test_every_seed_that_runs_counts() -> None:
    # Of eight seeds some draw a round trip of more than 2,000 s.
    far = scenario(seeds=8, delay_s={"uniform": [200, 1_500]}, rate_bps=24_000)
    assert warned(far)
    assert not warned(scenario(seeds=1, delay_s={"uniform": [200, 900]}, rate_bps=24_000))


def test_nothing_is_said_where_a_file_says_nothing() -> None:
    mission = scenario(delay_s=100_000)
    assert outside({}, mission, load_source(mission)) == ()


@pytest.mark.parametrize("name", TRAININGS)
def test_shipped_policies_know_their_training(name: str) -> None:
    # By name, hash and ranges: a change of the scenario's model that changed every hash would leave them unknown.
    policy, training = load_policy(name), Episodes([EXAMPLES / TRAININGS[name]])
    assert policy.trained_on == tuple(
        TrainedOn(one.scenario.name, content_hash(one)) for one in training.scenarios
    )
    assert policy.scenario_sha256 == training.content_hash
    assert policy.trained_within == scope_of(training.scenarios, training.sources)
    for trained, source in zip(training.scenarios, training.sources, strict=True):
        assert outside(policy.trained_within, trained, source) == ()


def test_ranges_come_back_from_a_file(tmp_path: Path) -> None:
    policy = replace(load_policy("iodst-q"), trained_within=SCOPE)
    save_policy(tmp_path / "mine.safetensors", policy)
    assert load_policy(tmp_path / "mine.safetensors").trained_within == SCOPE
    without = replace(policy, trained_within={})
    assert "trained_within" not in without.header()
    save_policy(tmp_path / "old.safetensors", without)
    assert load_policy(tmp_path / "old.safetensors").trained_within == {}


@pytest.mark.parametrize(
    "entries", [[1, 2], {"rtt_s": 3}, {"rtt_s": [1]}, {"rtt_s": [2, 1]}, {"rtt_s": ["1", "2"]}]
)
def test_ranges_that_are_none_are_refused(
    entries: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scope, "document", lambda _scope: entries)
    save_policy(tmp_path / "mine.safetensors", replace(load_policy("iodst-q"), trained_within=SCOPE))
    with pytest.raises(PolicyError, match=r"mine.safetensors: trained_within"):
        load_policy(tmp_path / "mine.safetensors")


def test_a_run_says_it_of_its_controllers(tmp_path: Path) -> None:
    mission = scenario(links=2, layers=3, delay_s=1, loss={"packet": 0.0}, rate_bps=100_000)
    policy = tmp_path / "near.safetensors"
    near = scope_of([mission], [load_source(mission)], seeds=1)
    save_policy(policy, replace(load_policy("iodst-q"), trained_within=near))
    transport = mission.transport.model_copy(
        update={"controller": ("iodst-q", str(policy)), "congestion": ()}
    )
    both = mission.model_copy(update={"transport": transport})
    done = write_run(tmp_path / "run", both, load_source(both), argv=[], jobs=1)
    said = [warning for warning in done.meta["warnings"] if "far outside" in warning]
    assert len(said) == 1
    assert said[0].startswith(
        "iodst-q runs far outside its training: a round trip of 2 s, trained on 514 to 2,381; "
    )
