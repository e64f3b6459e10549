"""Layers coded over packets, with real bytes: the simulator's own ends between datagrams."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from dstcc_cli.main import main
from dstcc_kernel import backend, host, native
from dstcc_kernel.coded import RECEIVED
from dstcc_kernel.coded_plan import in_words
from dstcc_kernel.job import RESULT
from dstcc_kernel.names import WORD_PACKETS, misfit
from dstcc_kernel.outcome import missing_packets

from dstcc.engine import EngineConfig, EngineResult, Loss, simulate
from dstcc.errors import InputError, MissingCapabilityError
from dstcc.run import load_run
from dstcc.scenario import (
    Scenario,
    draw_trial,
    engine_config,
    load_scenario,
    load_source,
    parse_override,
)

LINK = {"name": "one", "rate_bps": 115_200, "delay_s": 100, "loss": {"packet": 0.02}}
CODED = {"mode": "coded", "congestion": "open-loop", "handshake": False}
"""A SYN may be lost, by other draws on each backend."""


def scenario(
    *,
    links: Any = (LINK,),
    transport: Any = None,
    coding: Any = None,
    loop_to_s: float = 60,
    layers: tuple[int, ...] = (60_000, 30_000),
) -> Scenario:
    """Two layers over one link of 100 s; a block has at most 75 packets."""
    return Scenario.model_validate(
        {
            "scenario": {"name": "coded"},
            "video": {
                "synthetic": {"chunk_s": 1, "layer_bps": list(layers)},
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
    assert totals.checked_payload_bytes == config.objects.payload_bytes[whole].sum()
    assert totals.recovered_payload_bytes > 0, "nothing was lost that a block could bring back"
    assert totals.refused_packets == totals.dropped_queue_packets == 0
    assert whole.all()


def test_what_is_sent_is_what_the_simulator_sends(carried: tuple[EngineConfig, EngineResult]) -> None:
    """The rules are the same code, so the packets that do not depend on losses are the same."""
    config, result = carried
    simulated = simulate(config)
    assert result.coding is not None and simulated.coding is not None
    for name in ("source_packets", "planned_packets", "block"):
        assert (getattr(result.coding, name) == getattr(simulated.coding, name)).all(), name
    assert result.totals.first_send_s == simulated.totals.first_send_s > 0
    # a look of the program is a 2,000th of a round trip of 200 s; a packet waits for one, its ACK for another
    late = (result.objects.first_sent_ns - simulated.objects.first_sent_ns) / 1e9
    assert np.abs(late).max() < 0.5


@pytest.mark.parametrize("law", [pytest.param("paced", marks=pytest.mark.kernel), "bbr-scaled"])
@pytest.mark.usefixtures("kernel")
def test_a_law_of_ours_finds_the_rate_that_it_finds_in_the_simulator(law: str) -> None:
    """Nothing is lost, so the packets are the same but for what a look of the program is late: where that comes to one
    more or less in the first queue, by that packet's 0.1 s, and a layer in twenty by a repair packet's turn."""
    link = {"name": "one", "rate_bps": 115_200, "delay_s": 5}
    given = scenario(links=[link], transport={"congestion": law}, coding={"repair": [0.1]})
    config = in_words(config_of(given))
    carried, simulated = backend.run(config), simulate(config)
    came = simulated.objects.complete_ns >= 0
    assert came.sum() > 60
    for name in ("first_sent_ns", "complete_ns"):
        late = (getattr(carried.objects, name) - getattr(simulated.objects, name)) / 1e9
        assert np.quantile(np.abs(late), 0.95) < 0.25, name
    sent = carried.totals.sent_wire_bytes / simulated.totals.sent_wire_bytes
    assert sent == pytest.approx(1, abs=0.01)


def test_what_is_not_there_is_refused_with_what_is() -> None:
    assert misfit(scenario()) is None
    assert misfit(scenario(transport={"congestion": "fixed"})) is None
    said = misfit(scenario(transport={"congestion": "ledbat"}))
    assert said is not None and said.startswith("transport.congestion: 'ledbat' exists in the simulator only")
    assert "open-loop, fixed, newreno" in said
    said = misfit(scenario(coding={"code": "raptorq"}))
    assert said is not None and said.startswith("coding.code 'raptorq'")


def test_a_block_of_more_words_than_there_are_is_refused() -> None:
    config = config_of(scenario(links=[LINK | {"rate_bps": 10**9}], layers=(60_000_000, 1000)))
    with pytest.raises(InputError, match=r"layer 0 has 51,\d+ source packets, which are 30\d code words"):
        in_words(config)
    said = misfit(scenario(coding={"code_word": 256}))
    assert said is not None and said.startswith(
        "coding.code_word = 256: Reed-Solomon over GF(2^8) has words of 255"
    )


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


# ------------------------------------------------------------------------------------------- beside the simulator

SYMBOL_BYTES = 1460 + 16
"""What is kept of a packet: its payload, and what it says of itself."""
TWO = (LINK, LINK | {"name": "two", "rate_bps": 240_000, "delay_s": 150})
"""Round trips of 200 and 300 s."""


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("shares", "place"),
    [([0.06, 0.05, 0.0], "spread"), ([0.02, 0.03, 0.1], "same"), ([0.03, 0.0, 0.05], "other")],
)
def test_the_same_packets_lost_bring_back_the_same_blocks(
    kernel: Path, tmp_path: Path, shares: list[float], place: str
) -> None:
    """The kernel's recorded losses, lost once more in the simulator.

    A block of the base layer has 514 packets, four code words. The playout delay is 0.9 of the longer round trip, so
    that nothing is asked for again: what follows is a matter of the losses alone.
    """
    given = scenario(
        links=TWO,
        loop_to_s=160,
        coding={"repair": shares, "block_s": 40, "place": place},
        layers=(150_000, 60_000, 60_000),
    )
    given = given.model_copy(update={"playout": given.playout.model_copy(update={"delay_rtts": 0.9})})
    config = in_words(config_of(given))
    assert config.coding is not None and config.coding.words == (4, 2, 2)
    result = backend.run(config, keep=tmp_path / "kept")
    lost = missing_packets(tmp_path / "kept" / RESULT)
    links = tuple(
        replace(link, loss=Loss(), drops=tuple((int(number), 1) for number in lost[lost[:, 0] == index, 1]))
        for index, link in enumerate(config.links)
    )
    again = simulate(replace(config, links=links)).coding
    assert result.coding is not None and again is not None
    assert len(lost) > 50
    for name in (
        "source_packets",
        "repair_packets",
        "planned_packets",
        "arrived_packets",
        "whole",
        "recovered",
    ):
        assert (getattr(result.coding, name) == getattr(again, name)).all(), name
    decoded = [(coding.decoded_ns >= 0) for coding in (result.coding, again)]
    assert (decoded[0] == decoded[1]).all()
    most = max(config.coding.words) * WORD_PACKETS * SYMBOL_BYTES
    assert 0 < result.totals.block_peak_bytes <= most, "a block holds more than its words"
    assert 0 < decoded[0].sum() < len(decoded[0]), "all or none were brought back"


# ------------------------------------------------------------------------------------------------- a real video

DEMO = Path(__file__).parents[2] / "examples/demo/mars-two-links.toml"
CLIP = (
    *("variant=[]", "expect={}", "transport.mode=coded", "transport.congestion=open-loop"),
    *("link.0.loss.packet=1e-2", "link.1.loss.packet=1e-2", "video.loop_to_s=300", "coding.block_s=30"),
)
"""The demo's two links and clip, five minutes of it; a round trip of the longer link is 1,500 s."""


@pytest.mark.kernel
def test_the_clip_that_is_received_is_the_one_that_was_encoded(kernel: Path, tmp_path: Path) -> None:
    given = load_scenario(DEMO, [parse_override(text) for text in (*CLIP, "transport.handshake=false")])
    setup = draw_trial(given, load_source(given), 1)
    config = engine_config(given, setup, "open-loop", "minrtt")
    result = backend.run(config, keep=tmp_path / "kept")
    assert result.totals.recovered_payload_bytes > 0
    whole = result.objects.complete_ns >= 0
    assert result.totals.checked_payload_bytes == config.objects.payload_bytes[whole].sum()
    received = {int(path.name): path for path in (tmp_path / "kept" / RECEIVED).iterdir()}
    assert set(received) == set(range(len(config.payloads))), "a layer of the clip did not come"
    for number, path in received.items():
        assert path.read_bytes() == config.payloads[number].read_bytes()
    assert result.coding is not None and result.coding.recovered[: len(config.payloads)].any()


@pytest.mark.kernel
def test_two_runs_of_a_seed_have_the_same_bytes(kernel: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        words = [word for text in CLIP for word in ("--set", text)]
        words += ["--backend", "kernel", "--no-quality", "--json", "-o", str(tmp_path / name)]
        done = CliRunner().invoke(main, ["emulate", str(DEMO), *words])
        assert done.exit_code == 0, done.stderr
        (tmp_path / f"{name}.json").write_text(json.dumps(json.loads(done.stdout)["trials"]))
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    for file in ("trials.parquet", "chunks.parquet", "samples.parquet"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes(), file
    metrics = json.loads((tmp_path / "a.json").read_text())[0]["metrics"]
    assert metrics["repair_ratio"] > 0 and metrics["decoded_ratio"] > 0.9
    notes = load_run(tmp_path / "a").meta["kernel"]["notes"]
    assert any("code words of at most 255 packets" in note for note in notes)
