"""A sender that restarts on the kernel: a guest for each of its connections, and what was under way arrives.

Coded layers without a spool are in `make test`, the rest in `make test-kernel`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dstcc_kernel import backend, host
from dstcc_kernel.coded_plan import in_words
from dstcc_kernel.names import misfit
from dstcc_kernel.plan import job_of, objects_of

from dstcc.engine import EngineConfig, Objects, simulate
from dstcc.errors import InputError
from dstcc.scenario import Scenario, draw_trial, engine_config, load_source

S = 10**9
AT_S, BOOT_S = 43.0, 6.0


def scenario(spool: bool, **transport: Any) -> Scenario:
    """A minute of video over a round trip of 8 s, and an outage up to the restart, so that something waits then."""
    return Scenario.model_validate(
        {
            "scenario": {"name": "restarts", "duration_s": 140.0},
            "video": {"synthetic": {"chunk_s": 1.0, "layer_bps": [40_000, 30_000]}, "loop_to_s": 60.0},
            "link": [
                {
                    "name": "one",
                    "rate_bps": 160_000,
                    "delay_s": 4.0,
                    "up_rate_bps": 40_000,
                    "outages": [[39.5, AT_S]],
                }
            ],
            "transport": {
                "congestion": "cubic",
                "restart": {"at_s": [AT_S], "boot_s": BOOT_S, "spool": spool},
                **transport,
            },
            "playout": {"delay_s": 60.0},
            "run": {"slot_s": 4.0},
        }
    )


def trial(given: Scenario) -> EngineConfig:
    setup = draw_trial(given, load_source(given), 1)
    return engine_config(given, setup, given.transport.congestion[0], given.transport.scheduler[0])


@pytest.mark.kernel
@pytest.mark.parametrize("spool", [True, False])
@pytest.mark.usefixtures("kernel")
def test_lanes_keep_and_lose_what_they_do_in_the_simulator(spool: bool) -> None:
    config = trial(scenario(spool, mode="lanes", lanes_per_link=2))
    carried, simulated = backend.run(config), simulate(config)
    mine, theirs = carried.objects, simulated.objects
    there = mine.complete_ns >= 0
    assert (there == (theirs.complete_ns >= 0)).all()
    assert np.abs(mine.complete_ns - theirs.complete_ns).max() < S // 100
    booting = (mine.complete_ns > AT_S * S) & (mine.complete_ns < (AT_S + BOOT_S) * S)
    assert booting.any(), "what had left arrives all the same"
    captured = config.objects.release_ns
    in_the_dark = (captured > 39.5 * S) & (captured < AT_S * S)
    assert in_the_dark.any() and there[in_the_dark].all() == spool and there[in_the_dark].any() == spool
    for name in ("sent_payload_bytes", "delivered_payload_bytes", "arrived_payload_bytes"):
        assert getattr(carried.totals, name) == pytest.approx(getattr(simulated.totals, name), rel=0.02), name
    again = carried.totals.retransmitted_payload_bytes
    assert again == pytest.approx(simulated.totals.retransmitted_payload_bytes, rel=0.1)
    assert (again > 0) == spool


@pytest.mark.parametrize("spool", [pytest.param(True, marks=pytest.mark.kernel), False])
@pytest.mark.usefixtures("kernel")
def test_coded_layers_are_coded_anew_as_in_the_simulator(spool: bool) -> None:
    config = in_words(trial(scenario(spool, mode="coded", congestion="open-loop")))
    carried, simulated = backend.run(config), simulate(config)
    mine, theirs = carried.objects, simulated.objects
    there = mine.complete_ns >= 0
    assert (there == (theirs.complete_ns >= 0)).all()
    assert np.abs(mine.complete_ns - theirs.complete_ns).max() < S // 10
    captured = config.objects.release_ns
    in_the_dark = (captured > 39.5 * S) & (captured < AT_S * S)
    assert there[in_the_dark].all() == spool and there[in_the_dark].any() == spool
    sent = mine.first_sent_ns
    assert not ((sent > AT_S * S) & (sent < (AT_S + BOOT_S) * S)).any()
    for name in ("sent_payload_bytes", "delivered_payload_bytes", "arrived_payload_bytes"):
        assert getattr(carried.totals, name) == pytest.approx(getattr(simulated.totals, name), rel=0.02), name
    assert carried.coding is not None and simulated.coding is not None
    assert carried.coding.source_packets.tolist() == simulated.coding.source_packets.tolist()


@pytest.mark.kernel
@pytest.mark.usefixtures("kernel")
def test_a_stream_sends_nothing_while_it_boots_and_then_what_was_kept() -> None:
    config = trial(scenario(True))
    carried = backend.run(config).objects
    captured, there = config.objects.release_ns, carried.complete_ns >= 0
    sent = carried.first_sent_ns
    assert not ((sent > AT_S * S) & (sent < (AT_S + BOOT_S) * S)).any()
    assert (captured[there & (sent >= (AT_S + BOOT_S) * S)] < AT_S * S).any()
    assert there[captured > 39.5 * S].all()


def test_the_rest_of_a_layer_is_its_payloads_end() -> None:
    whole = trial(scenario(True))
    objects = whole.objects
    rows = np.array([3, 7])
    done = np.array([1000, 0])
    rest = Objects(
        chunk=objects.chunk[rows],
        layer=objects.layer[rows],
        payload_bytes=objects.payload_bytes[rows] - done,
        release_ns=objects.release_ns[rows],
        deadline_ns=objects.deadline_ns[rows],
    )
    payloads = tuple(Path(f"/p/{k}") for k in range(5))
    made = objects_of(replace(whole, objects=rest, payloads=payloads), replace(whole, payloads=payloads))
    assert made[:, 5].tolist() == [3, 2] and made[:, 6].tolist() == [1000, 0]
    assert made[:, 2].tolist() == (objects.payload_bytes[rows] - done).tolist()


def test_a_later_connection_begins_after_the_boot_and_its_links_are_played() -> None:
    config = replace(trial(scenario(True)), restarts=None, ledger=True, begin_ns=round((AT_S + BOOT_S) * S))
    job = job_of(config, program=Path("/p"))
    assert [link.opens_ns for link in job.links] == [config.begin_ns]
    assert (0, config.begin_ns) in job.outages_ns, "the wait is no silence"
    assert job.ledger and all(link.played for link in job.links)


def test_a_host_does_not_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    given = scenario(True)
    assert misfit(given) is None
    monkeypatch.setattr(host, "require_netem", lambda: None)
    with pytest.raises(InputError, match=r"transport\.restart: needs --backend kernel"):
        backend.check(given, load_source(given), on_host=True)
