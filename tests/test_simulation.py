"""200 random trials hold what every trial must; and what checks that finds a result that does not.

``make test-seeds N=10000`` runs more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from dstcc.engine import EngineConfig, EngineResult, TransportStats, simulate
from scripts.random_trials import simulate as ways
from scripts.random_trials.changing import changing_trial
from scripts.random_trials.invariants import breaches
from scripts.random_trials.simulate import findings, shrunk, way_of
from scripts.simulation import DRAWN, main, run

SEEDS = 200
PARTS = 4


@pytest.mark.parametrize(
    "part", [0, 1, *(pytest.param(part, marks=pytest.mark.slow) for part in range(2, PARTS))]
)
def test_random_trials_hold_what_every_trial_must(part: int) -> None:
    each = SEEDS // PARTS
    assert run(range(part * each, (part + 1) * each)) == []


@pytest.mark.parametrize("number", [5011, 21_610, 22_530])
def test_trials_that_had_a_finding_have_none(number: int) -> None:
    """Of the first two the copy of a segment went before the segment, which nobody noted; of the third, MPTCP's timer
    was set by an ACK that came after it was due, as what a paced subflow had cut did not set it."""
    assert run(range(number, number + 1)) == []


def test_every_way_of_changing_is_drawn() -> None:
    trials = [changing_trial(DRAWN, number) for number in range(SEEDS)]
    links = [link for trial in trials for link in trial.config.links]
    assert {trial.kind for trial in trials} == {"tcp", "coded", "steered", "ltp"}
    assert {trial.config.transport.mode for trial in trials} == {"stream", "lanes", "coded"}
    assert any(trial.config.transport.scheduler == "redundant" for trial in trials)
    assert any(trial.config.transport.scheduler == "layer-pinned" for trial in trials)
    more = [changing_trial(DRAWN, number) for number in range(3 * SEEDS)]
    for kind in ("coded", "ltp"):
        of = [trial.config for trial in more if trial.kind == kind]
        assert any(link.flows for config in of for link in config.links), kind
        assert any(config.restarts and config.coding for config in of), kind
        assert any(config.coding and any(link.flows for link in config.links) for config in of), kind
    for has in (
        any(link.loss.kind == "schedule" for link in links),
        any(link.loss.kind == "gilbert-elliott" for link in links),
        any(link.rate_share for link in links),
        any(link.up_rate_share for link in links),
        any(link.hidden_share for link in links),
        any(link.rate_share and link.loss.kind == "frames" for link in links),
        any(link.rate_share for trial in trials if trial.kind == "ltp" for link in trial.config.links),
        any(link.unannounced_ns for link in links),
        any(link.outages_ns for link in links),
        any(link.queue_bytes == 1500 for link in links),
        any(link.flows for link in links),
        any(link.cross_traffic for link in links),
        any(link.delay_t_ns[0] > 0 for link in links),
    ):
        assert has


def good() -> tuple[EngineConfig, EngineResult]:
    """A traced trial with deadlines in which much is delivered, and the clairvoyant sender can do no better at all."""
    for number in range(500):
        trial = changing_trial(DRAWN, number)
        config = replace(trial.config, trace=True)
        if trial.kind != "tcp" or (config.objects.deadline_ns > 10**17).any():
            continue
        try:
            result = simulate(config)
        except ValueError:  # a trial that keeps no packets
            continue
        whole = result.objects.complete_ns >= 0
        later = config.objects.release_ns[whole] > 0  # than at once: "before its release" is to be possible
        if whole.mean() > 0.5 and later.any() and later[-1] and result.flows:
            assert list(breaches(config, result)) == []
            return config, result
    raise AssertionError


def with_object(result: EngineResult, column: str, change: Callable[[Any], Any]) -> EngineResult:
    """The last layer that arrived, which was not released at once, with another value in a column."""
    row = int(np.flatnonzero(result.objects.complete_ns >= 0)[-1])
    values = getattr(result.objects, column).copy()
    values[row] = change(values[row])
    return replace(result, objects=replace(result.objects, **{column: values}))


def with_total(result: EngineResult, name: str, change: Callable[[float], float]) -> EngineResult:
    return replace(
        result, totals=TransportStats(**{**vars(result.totals), name: change(getattr(result.totals, name))})
    )


WRONG: dict[str, tuple[Callable[[EngineResult], EngineResult], str]] = {
    "a byte lost": (lambda r: with_object(r, "delivered_bytes", lambda x: x - 1), "not all of its bytes"),
    "a byte too many": (
        lambda r: with_object(r, "delivered_bytes", lambda x: x + 1),
        "from 0 to the layer's",
    ),
    "never sent": (lambda r: with_object(r, "first_sent_ns", lambda _: -1), "never sent"),
    "before its release": (lambda r: with_object(r, "first_sent_ns", lambda _: 0), "before its release"),
    "before light": (lambda r: with_object(r, "first_sent_ns", lambda x: x + 10**12), "before light"),
    "whole too early": (
        lambda r: with_object(r, "complete_ns", lambda _: 1),
        "before light from its release",
    ),
    "whole after the end": (lambda r: with_object(r, "complete_ns", lambda _: r.end_ns + 1), "after the end"),
    "unsent bytes": (lambda r: with_object(r, "sent_bytes", lambda _: 0), "more than was sent"),
    "a packet out of nowhere": (
        lambda r: with_total(r, "arrived_payload_bytes", lambda _: r.totals.sent_payload_bytes + 1),
        "more arrived than was sent",
    ),
    "delivered in all": (
        lambda r: with_total(r, "delivered_payload_bytes", lambda x: x - 1),
        "sum of the layers",
    ),
    "the sum of what was sent": (
        lambda r: with_total(r, "sent_payload_bytes", lambda x: x + 1),
        "sum of the layers",
    ),
    "a negative count": (lambda r: with_total(r, "timeouts", lambda _: -1.0), "timeouts is -1"),
    "an end too late": (lambda r: replace(r, end_ns=10**19), "beyond the duration"),
    "a window below 0": (
        lambda r: replace(r, samples=replace(r.samples, cwnd_segments=r.samples.cwnd_segments - 10**9)),
        "a count below 0",
    ),
    "a round trip faster than light": (
        lambda r: replace(r, samples=replace(r.samples, min_rtt_ns=np.minimum(r.samples.min_rtt_ns, 1))),
        "below twice the light time",
    ),
    "a queue beyond its room": (
        lambda r: replace(r, samples=replace(r.samples, queue_bytes=r.samples.queue_bytes + 10**12)),
        "have room",
    ),
    "a flow that delivers more": (
        lambda r: replace(r, flows=(replace(r.flows[0], delivered_bytes=r.flows[0].sent_bytes + 1),)),
        "flow 0",
    ),
    "arrivals without sendings": (
        lambda r: replace(r, trace=replace(r.trace, fate=np.ones_like(r.trace.fate))),
        "never sent",
    ),
    "arrivals at once": (
        lambda r: replace(r, trace=replace(r.trace, t_ns=np.zeros_like(r.trace.t_ns))),
        "after it was first sent",
    ),
}


@pytest.fixture(scope="module")
def checked() -> tuple[EngineConfig, EngineResult]:
    return good()


@pytest.mark.parametrize(("change", "said"), WRONG.values(), ids=WRONG)
def test_a_wrong_result_is_found(
    checked: tuple[EngineConfig, EngineResult], change: Callable[[EngineResult], EngineResult], said: str
) -> None:
    config, result = checked
    found = list(breaches(config, change(result)))
    assert any(said in what for what in found), found


def test_a_bound_that_is_beaten_is_found(
    checked: tuple[EngineConfig, EngineResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scripts.random_trials.invariants.clairvoyant_weight", lambda *_: 0.5)
    assert any("bound 0.5 is beaten" in what for what in breaches(*checked))


def test_an_engine_that_depends_on_the_run_is_found_and_shrunk(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every second simulation answers otherwise as long as there is a second link: shrinking keeps the two links."""
    count = 0

    def wavering(config: EngineConfig) -> EngineResult:
        nonlocal count
        count += 1
        result = simulate(config)
        return with_total(result, "timeouts", lambda x: x + count % 2) if len(config.links) > 1 else result

    monkeypatch.setattr(ways, "simulate", wavering)
    numbers = (n for n in range(200) if changing_trial(DRAWN, n).kind == "tcp")
    number = next(n for n in numbers if len(changing_trial(DRAWN, n).config.links) > 2)
    trial = changing_trial(DRAWN, number)
    assert way_of(DRAWN, trial) is wavering
    assert run(range(number, number + 1)) == [number]
    said = capsys.readouterr().out
    assert "differs in totals when it runs again" in said
    assert f"python -m scripts.simulation --seed {number}" in said
    least = shrunk(DRAWN, trial, most=60)
    assert len(least.links) <= len(trial.config.links)
    assert not any(link.flows or link.cross_traffic or link.outages_ns for link in least.links)
    again = CliRunner().invoke(main, ["--seed", str(number)])
    assert again.exit_code == 1 and "differs in totals" in again.output


def test_an_error_of_the_engine_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_config: EngineConfig) -> EngineResult:
        raise RuntimeError("engine invariant broken: time goes back")

    monkeypatch.setattr(ways, "simulate", broken)
    trial = next(t for t in (changing_trial(DRAWN, n) for n in range(50)) if t.kind == "tcp")
    assert findings(DRAWN, trial) == ["RuntimeError: engine invariant broken: time goes back"]


def test_an_error_in_another_way_is_a_finding_and_the_others_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> EngineResult:
        raise ValueError("no stepper today")

    monkeypatch.setattr(ways, "run_steered", broken)
    number = next(
        n for n in range(1, 200, 4) if [*ways._again(DRAWN, changing_trial(DRAWN, n), simulate)][1:]
    )
    assert findings(DRAWN, changing_trial(DRAWN, number)) == ["ValueError slot by slot: no stepper today"]


def test_a_sender_that_restarts_is_held_to_the_same() -> None:
    """Number 473 is the first that would run slot by slot, too; a stepper refuses restarts."""
    trial = changing_trial(DRAWN, 473)
    assert trial.config.restarts is not None and trial.kind == "tcp"
    assert findings(DRAWN, trial) == []
    assert next(config for config in ways._simpler(trial.config) if config.restarts is None)


def test_the_command_says_how_many(capsys: pytest.CaptureFixture[str]) -> None:
    done = CliRunner().invoke(main, ["-n", "3", "--first", "7"])
    assert done.exit_code == 0 and "3 seeds in" in done.output and "0 with a finding" in done.output
