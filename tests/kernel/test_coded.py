"""Layers coded over packets, with real bytes: the simulator's own ends between datagrams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from dstcc_cli.main import main
from dstcc_kernel import backend, host, native
from dstcc_kernel.names import misfit

from dstcc.engine import EngineConfig, EngineResult, simulate
from dstcc.errors import MissingCapabilityError
from dstcc.scenario import Scenario, draw_trial, engine_config, load_source

LINK = {"name": "one", "rate_bps": 115_200, "delay_s": 100, "loss": {"packet": 0.02}}
CODED = {"mode": "coded", "congestion": "open-loop", "handshake": False}
"""A SYN may be lost, by other draws on each backend."""


def scenario(
    *, links: Any = (LINK,), transport: Any = None, coding: Any = None, loop_to_s: float = 60
) -> Scenario:
    """Two layers over one link of 100 s; a block has at most 75 packets."""
    return Scenario.model_validate(
        {
            "scenario": {"name": "coded"},
            "video": {
                "synthetic": {"chunk_s": 1, "layer_bps": [60_000, 30_000]},
                "loop_to_s": loop_to_s,
            },
            "link": list(links),
            "transport": CODED | (transport or {}),
            "coding": {"repair": [0.1, 0.05], "block_s": 10} | (coding or {}),
            "playout": {"mode": "deadline", "delay_rtts": 2.5},
            "run": {"scale": 8},
        }
    )


def config_of(given: Scenario, seed: int = 1) -> EngineConfig:
    """The scenario's trial of a seed."""
    setup = draw_trial(given, load_source(given), seed)
    return engine_config(given, setup, given.transport.congestion[0], "minrtt")


@pytest.fixture(scope="module")
def carried(kernel: Path) -> tuple[EngineConfig, EngineResult]:
    config = config_of(scenario())
    return config, backend.run(config)


def test_every_layer_that_is_there_was_held_against_what_was_encoded(
    carried: tuple[EngineConfig, EngineResult],
) -> None:
    config, result = carried
    assert result.coding is not None
    whole = result.objects.complete_ns >= 0
    totals = result.totals
    assert totals["checked_payload_bytes"] == config.objects.payload_bytes[whole].sum()
    assert totals["recovered_payload_bytes"] > 0, "nothing was lost that a block could bring back"
    assert totals["refused_packets"] == totals["dropped_queue_packets"] == 0
    assert whole.all()


def test_what_is_sent_is_what_the_simulator_sends(carried: tuple[EngineConfig, EngineResult]) -> None:
    """The rules are the same code, so the packets that do not depend on losses are the same."""
    config, result = carried
    simulated = simulate(config)
    assert result.coding is not None and simulated.coding is not None
    for name in ("source_packets", "planned_packets", "block"):
        assert (getattr(result.coding, name) == getattr(simulated.coding, name)).all(), name
    assert result.totals["first_send_s"] == simulated.totals["first_send_s"] > 0
    # a look of the program is a 2,000th of a round trip of 200 s; a packet waits for one, its ACK for another
    late = (result.objects.first_sent_ns - simulated.objects.first_sent_ns) / 1e9
    assert np.abs(late).max() < 0.5


def test_what_is_not_there_is_refused_with_what_is() -> None:
    assert misfit(scenario()) is None
    assert misfit(scenario(transport={"congestion": "fixed"})) is None
    said = misfit(scenario(transport={"congestion": "ledbat"}))
    assert said is not None and said.startswith("transport.congestion: 'ledbat' exists in the simulator only")
    assert "open-loop, fixed, newreno" in said
    said = misfit(scenario(coding={"code": "raptorq"}))
    assert said is not None and said.startswith("coding.code 'raptorq'")
    crossed = LINK | {"cross_traffic": [{"rate_bps": 1000, "packet_bytes": 500}]}
    said = misfit(scenario(links=[crossed]))
    assert said is not None and said.startswith("link.0.cross_traffic")


def test_without_the_library_a_trial_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DSTCC_CACHE", str(tmp_path))
    monkeypatch.setattr(native, "has_library", lambda _: False)
    with pytest.raises(MissingCapabilityError, match="apt install libisal-dev"):
        native.program("coded")


def test_on_a_host_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "require_netem", lambda: None)
    path = tmp_path / "coded.toml"
    path.write_text(
        '[scenario]\nname = "c"\n[video]\nsynthetic = {chunk_s = 1, layer_bps = [1000]}\nloop_to_s = 10\n'
        '[[link]]\nname = "a"\nrate_bps = 1000\ndelay_s = 10\n[transport]\nmode = "coded"\n'
        'congestion = "open-loop"\n'
    )
    done = CliRunner().invoke(main, ["emulate", str(path), "--backend", "host", "-o", str(tmp_path / "run")])
    assert done.exit_code == 2
    assert "needs --backend kernel" in done.stderr
