"""MPTCP's scheduler ``dstcc`` in a guest; ``inside/scheduler_checks.py`` has the checks."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from dstcc_kernel import backend, guest, module
from dstcc_kernel.job import Job
from dstcc_kernel.native import program
from dstcc_kernel.plan import job_of

from dstcc.engine import AGENT, EngineConfig, EngineResult, Loss
from dstcc.errors import DstccError
from dstcc.learn.policies.drive import drive
from dstcc.learn.policies.policy import load_policy
from dstcc.run.backends import BACKENDS
from dstcc.scenario import draw_trial, engine_config, load_scenario, load_source
from experiments.recorded_agent import a_slot_on, kernel_bytes, on_both, recorded, simulated_bytes
from experiments.recorded_agent import trial as trial_of

from .test_backend import MINI, config_of

pytestmark = pytest.mark.kernel

MISSION = Path(__file__).parents[2] / "examples/iodst/four-hours-quarter.toml"
INSIDE = Path(__file__).parent / "inside/scheduler_checks.py"
CHECKS = ("placement", "the_default_scheduler_does_otherwise", "failure", "thrown_away", "announcements")
WALL_S = 600.0


def check(kernel: Path, out: Path, *names: str) -> dict[str, dict[str, Any]]:
    """Run checks in a guest; what each found. Fails with the guest's words, or for a complaint of the kernel's."""
    folder = module.guest_module(kernel).parent
    words = [sys.executable, str(INSIDE), str(folder), *names]
    where = {"PATH": f"{os.defpath}:/usr/sbin:/sbin"}  # ip and tc
    done = guest.run(kernel, words, out=out, seed=1, memory_mb=1024, wall_s=WALL_S, environment=where)
    text = done.console.read_text(errors="replace")
    assert done.exit_code == 0, text[-4000:]
    assert done.reports == (), text
    entries = [json.loads(line) for line in text.splitlines() if line.startswith('{"check"')]
    assert [entry["check"] for entry in entries] == list(names)
    return {entry.pop("check"): entry for entry in entries}


def test_each_range_goes_on_the_subflow_of_its_layer(kernel_with_scheduler: Path, tmp_path: Path) -> None:
    check(kernel_with_scheduler, tmp_path, *CHECKS)


def test_the_same_under_the_kernels_own_checkers(debug_kernel_with_scheduler: Path, tmp_path: Path) -> None:
    check(debug_kernel_with_scheduler, tmp_path, *CHECKS)


def test_a_kernel_without_it_says_so(older_kernel: Path, tmp_path: Path) -> None:
    check(older_kernel, tmp_path, "no_scheduler")


@pytest.mark.parametrize("kind", ["older_kernel", "kernel_with_scheduler"])
def test_backup_flags_keep_to_a_table_of_one_link(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Linux's own scheduler; what is left of a table there."""
    check(request.getfixturevalue(kind), tmp_path, "backup_flags")


def trial(*settings: str) -> EngineResult:
    """The small mission, longer, in a stream under a policy that has a table of layers."""
    longer = ("video.loop_to_s=1500", "scenario.duration_s=3000")
    _, config = config_of(MINI, "transport.mode=stream", *longer, *settings)
    steered = replace(config, transport=replace(config.transport, congestion=AGENT, scheduler=AGENT))
    return backend.run(steered, policy=load_policy("iodst-dqn"))


def sums(result: EngineResult, kind: str) -> dict[tuple[int, int], int]:
    return {(row.layer, row.link): getattr(row, kind) for row in result.placed}


def as_told(result: EngineResult) -> bool:
    """Is what the kernel carried of each layer on each link, and what left over it, what the table had for it?"""
    told = sums(result, "assigned_bytes")
    return sums(result, "first_bytes") == told and sums(result, "sent_bytes") == told


def test_a_stream_under_a_controller_keeps_to_its_table(kernel_with_scheduler: Path) -> None:
    result = trial()
    assert as_told(result)
    told = sums(result, "assigned_bytes")
    assert sum(told.values()) > 10**6
    assert {link for (_, link), n in told.items() if n > 0} == {0, 1}, told
    assert {layer for (layer, _), n in told.items() if n > 0} == {0, 1, 2}, told
    for kind in ("misrouted_bytes", "reinjected_bytes"):
        assert not any(sums(result, kind).values())
    # a stream: one ordering domain, so what is delivered is delivered in the order in which it was written
    assert (result.objects.complete_ns >= 0).sum() > 10


Start = tuple[EngineResult, EngineResult]


def first_subflow(result: EngineResult) -> list[int]:
    return [i for i, subflow in enumerate(result.samples.subflow) if subflow == 0]


def steered_start() -> Start:
    """The simulator's and the kernel's: link draw 4 of the paper's table, no losses, up to 2,600 s."""
    lanes = load_scenario(MISSION)
    stream = lanes.transport.model_copy(update={"mode": "stream"})
    scenario = lanes.model_copy(update={"transport": stream})
    setup = draw_trial(scenario, load_source(scenario), 4)
    config = engine_config(scenario, setup, AGENT, AGENT)
    links = tuple(replace(link, loss=Loss(), up_loss=Loss()) for link in config.links)
    config = replace(config, links=links, duration_ns=2_600 * 10**9)
    policy = load_policy("iodst-dqn+")
    ours, real = (
        played.carry(played.as_run(config, policy), policy)
        for played in (BACKENDS["simulator"], BACKENDS["kernel"])
    )
    return ours, real


def test_a_steered_stream_starts_as_the_simulators(kernel_with_scheduler: Path) -> None:
    """Seven slots from the first action on. A layer is 15,500, 13,625 or 9,750 bytes: 28 packets for the 26.6 that as
    many full ones hold, 5 % more than if a layer's last packet had the next layer's bytes as well."""
    ours, real = steered_start()
    for column in ("cwnd_segments", "sent_segments"):
        mine, theirs = ([getattr(r.samples, column)[i] for i in first_subflow(r)] for r in (ours, real))
        assert mine[4] > 0
        assert theirs[5:12] == pytest.approx(mine[5:12], abs=2, rel=0.01)


def test_each_layers_bytes_are_on_the_links_of_the_simulators(kernel_with_scheduler: Path) -> None:
    """Under a recorded agent, so that no two nearly equal actions part the trials: lossless, draw 3 of the links, of
    which both carry the base layer. Within 2 % of what a layer has."""
    ours, real = on_both(load_policy("iodst-dqn+"), trial_of(3, 4_000, lossless=True))
    assert ours[0].min() > 10**6
    assert (abs(ours - real) <= 0.02 * ours.sum(axis=1, keepdims=True)).all(), (ours, real)


def test_what_waits_behind_repeats_stays_with_the_sender(kernel_with_scheduler: Path) -> None:
    """Draw 3 with losses. An overflow of the first link at 2,700 s is repaired from 3,130 to 4,000 s, and what is
    released meanwhile is too late by then: the simulator gives up what a sender that handed it over could not."""
    policy = load_policy("iodst-dqn+")
    tape = recorded(policy, trial_of(3, 4_200, lossless=True))
    config = replace(trial_of(3, 4_200, lossless=False), seed=2)
    ours = simulated_bytes(config, drive(tape, config))
    real = kernel_bytes(config, BACKENDS["kernel"].carry(config, a_slot_on(tape)))
    assert (abs(ours - real) <= 0.02 * ours.sum(axis=1, keepdims=True)).all(), (ours, real)


def test_a_kernel_that_bypasses_the_scheduler_fails_the_trial(
    kernel_with_scheduler: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bypassing(config: EngineConfig, **how: Any) -> Job:
        return replace(job_of(config, **how), sysctls={"net/mptcp/scheduler": "default"})

    monkeypatch.setattr(backend, "job_of", bypassing)
    with pytest.raises(DstccError, match="scheduler dstcc: Operation not supported"):
        trial()


def test_what_no_buffer_holds_up_is_carried_in_time(kernel_with_scheduler: Path) -> None:
    """A segment that is lost twice holds up a stream for three round trips. With buffers of a few round trips the
    receiver's window closed, its MPTCP threw away what came beyond it, and the connection stood still for good."""
    result = trial("link.0.loss.packet=0.02", "link.1.loss.packet=0.02")
    assert as_told(result)
    assert result.totals.delivered_payload_bytes == sum(sums(result, "assigned_bytes").values())


def test_a_trial_that_mptcp_lost_data_of_fails(
    kernel_with_scheduler: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By packets, which is how a trial counts, it was all delivered. Here sockets have no memory from 480 s on."""
    starving = tmp_path / "starving"
    starving.write_text(
        f"#!/bin/sh\n(sleep 60; echo 1 1 1 > /proc/sys/net/ipv4/tcp_mem) &\nexec {program()} $1\n"
    )
    starving.chmod(0o755)
    monkeypatch.setattr(backend, "program", lambda *_: starving)
    with pytest.raises(DstccError, match=r"bytes cannot be read: .* a larger transport.receive_buffer_bytes"):
        trial()


def test_ranges_of_a_link_that_goes_away_move_on(kernel_with_scheduler: Path) -> None:
    """Under way on link 0 at 900 s and never acknowledged; link 1 has joined by 1,050 s. What is silent for a round
    trip of 300 s is stale, and light takes 150 s more."""
    result = trial("link.0.outages=[[900, 1e9]]", "scenario.duration_s=3000")
    moved = sums(result, "reinjected_bytes")
    assert sum(n for (_, link), n in moved.items() if link == 1) > 10**5, moved
    assert all(n == 0 for (_, link), n in moved.items() if link == 0)
    assert result.objects.complete_ns.max() > (900 + 300 + 150) * 10**9
