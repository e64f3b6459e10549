"""ltp on the kernel: the simulator's own ends, between segments of RFC 5326 in datagrams."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dstcc_kernel import backend
from dstcc_kernel.captured import write_capture
from dstcc_kernel.coded import RECEIVED
from dstcc_kernel.coded_plan import MEMBER_BYTES, MOST_HEADER_BYTES
from dstcc_kernel.names import misfit

from dstcc.engine import EngineConfig, EngineResult, simulate
from dstcc.scenario import Scenario, draw_trial, engine_config, load_source
from dstcc.wire import HEADER_BYTES
from experiments.kernel_ltp import CELLS, scenario_of

LINK = {"name": "one", "rate_bps": 115_200, "up_rate_bps": 30_000, "delay_s": 100}
LOSSES = {"loss": {"packet": 0.03}, "up_loss": {"packet": 0.03}}


def scenario(
    *, link: Any = None, transport: Any = None, coding: Any = None, loop_to_s: float = 40
) -> Scenario:
    """Two layers over one link of 100 s."""
    return Scenario.model_validate(
        {
            "scenario": {"name": "ltp"},
            "video": {
                "synthetic": {"chunk_s": 1, "layer_bps": [60_000, 30_000]},
                "loop_to_s": loop_to_s,
            },
            "link": [LINK | (link or {})],
            "transport": {"congestion": "ltp"} | (transport or {}),
            **({"coding": coding} if coding else {}),
            "playout": {"mode": "deadline", "delay_rtts": 4},
            "run": {"scale": 8},
        }
    )


def config_of(given: Scenario, seed: int = 1) -> EngineConfig:
    """The scenario's trial of a seed."""
    return engine_config(given, draw_trial(given, load_source(given), seed), "ltp", "none")


def carried(config: EngineConfig, **how: Any) -> EngineResult:
    result = backend.run(config, **how)
    whole = result.objects.complete_ns >= 0
    assert (result.totals.checked_payload_bytes or 0) >= config.objects.payload_bytes[whole].sum()
    assert result.totals.refused_packets == 0
    return result


# ------------------------------------------------------------------------------------------------------ without


def test_what_is_not_there_is_refused_with_what_is() -> None:
    assert misfit(scenario()) is None
    said = misfit(scenario(coding={"code": "raptorq", "block_s": 10, "repair": [0.1, 0.1]}))
    assert said is not None and said.startswith("coding.code 'raptorq'")
    both = scenario(transport={"congestion": ["cubic", "ltp"]})
    assert misfit(both) is None
    said = misfit(scenario(transport={"congestion": ["tp-planet", "ltp"]}))
    assert said is not None and said.startswith(
        "transport.congestion: 'tp-planet' exists in the simulator only"
    )
    three = scenario(transport={"congestion": ["cubic", "ltp", "bbr"]})
    assert backend._one_of_each(three.transport) == ["cubic", "ltp"]


def test_a_segment_weighs_no_more_than_the_simulators() -> None:
    """IP and UDP 28; type and extensions 2, engine 1, session below 2^28 4, service 3, offset below 2^28 4, length 2,
    two serials of 2; in a matrix a tag, a length, and two numbers below 2^28 and 2^21."""
    assert MOST_HEADER_BYTES == 28 + 2 + 1 + 4 + 3 + 4 + 2 + 4
    assert MEMBER_BYTES >= 1 + 1 + 4 + 3
    job = backend._job(config_of(scenario(coding={"block_s": 10, "repair": [0.1, 0.1]})))
    assert job.free_bytes == (MOST_HEADER_BYTES + MEMBER_BYTES - HEADER_BYTES, 0)


# -------------------------------------------------------------------------------------------------- on the kernel


@pytest.mark.kernel
@pytest.mark.usefixtures("kernel")
def test_without_losses_all_leaves_and_arrives_as_in_the_simulator() -> None:
    """A look of the program is a 2,000th of a round trip of 200 s: what leaves is one late, and what it waits for."""
    config = config_of(scenario())
    result, simulated = carried(config), simulate(config)
    for name in ("sent_wire_bytes", "sent_payload_bytes", "data_packets"):
        assert getattr(result.totals, name) == getattr(simulated.totals, name) > 0, name
    assert result.totals.retransmitted_payload_bytes == result.totals.timeouts == 0
    for name in ("first_sent_ns", "complete_ns"):
        late = (getattr(result.objects, name) - getattr(simulated.objects, name)) / 1e9
        assert np.abs(late).max() < 0.35, name


FIELDS = ("_ws.malformed", "frame.interface_name", "ltp.type", "ltp.session.number", "ltp.rpt.clm.cnt")
"""Of Wireshark's dissector. It takes every block for a bundle, which is turned off."""


@pytest.mark.usefixtures("kernel")
def test_wireshark_decodes_every_segment(tmp_path: Path) -> None:
    """Of losses both ways: data segments by kind, reports and their acknowledgements, as both hosts saw them."""
    config = config_of(scenario(link=LOSSES, transport={"ltp_green_from_layer": 1}))
    result = carried(config, keep=tmp_path / "kept", capture=True)
    count = write_capture(tmp_path / "kept", tmp_path / "ltp.pcapng")
    tshark = shutil.which("tshark")
    assert tshark is not None, "apt install tshark"
    words = [
        tshark,
        "-r",
        str(tmp_path / "ltp.pcapng"),
        "-d",
        "udp.port==1113,ltp",
        "--disable-protocol",
        "bundle",
    ]
    words += ["-T", "fields", *(word for field in FIELDS for word in ("-e", field))]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert len(rows) == count > 0
    assert all(malformed == "" and kind and session for malformed, _, kind, session, _ in rows)
    sent, came = (
        [int(kind, 0) for _, seen, kind, _, _ in rows if seen == host] for host in ("spacecraft", "earth")
    )
    red, green, chunks = {0, 1, 2, 3}, {4, 7}, len(config.objects.payload_bytes) // 2
    data = [kind for kind in sent if kind in red | green]
    assert len(data) == result.totals.data_packets
    assert sent.count(7) == chunks, "the end of a green block is not sent once"
    assert sent.count(3) >= chunks, "a red block has no checkpoint at its end"
    assert came.count(8) >= chunks, "a checkpoint is not answered"
    assert {8, 9} <= {*sent} & {*came}, "reports, or what acknowledges them, did not pass"
    assert len([kind for kind in came if kind in red | green]) < len(data), "nothing was lost"
    assert {int(session) for _, _, _, session, _ in rows} == set(range(1, 2 * chunks + 1))
    assert all(int(claims) > 0 for _, _, kind, _, claims in rows if int(kind, 0) == 8)


@pytest.mark.kernel
def test_losses_are_repaired_and_what_is_received_is_what_was_sent(kernel: Path, tmp_path: Path) -> None:
    config = config_of(scenario(link=LOSSES))
    result = carried(config, keep=tmp_path / "kept")
    assert (result.objects.complete_ns >= 0).all()
    assert result.totals.retransmitted_payload_bytes > 0
    assert (tmp_path / "kept" / RECEIVED).is_dir()


@pytest.mark.kernel
def test_nothing_is_lost_in_an_outage_that_is_known(kernel: Path) -> None:
    config = config_of(scenario(link={"outages": [[20, 60]], "up_outages": [[150, 170]]}))
    result = carried(config)
    assert result.totals.retransmitted_payload_bytes == result.totals.timeouts == 0
    assert (result.objects.complete_ns >= 0).all()


@pytest.mark.kernel
@pytest.mark.parametrize("repair", [[0.2, 0.1], "delayed-feedback"])
def test_matrices_bring_back_what_was_lost(kernel: Path, repair: object) -> None:
    """With losses of 3 %, of matrices of at most 52 and 26 segments."""
    config = config_of(scenario(link=LOSSES, coding={"repair": repair, "block_s": 10}))
    result, simulated = carried(config), simulate(config)
    assert result.coding is not None and simulated.coding is not None
    assert result.totals.recovered_payload_bytes > 0
    assert (result.objects.complete_ns >= 0).all()
    assert (result.coding.source_packets == simulated.coding.source_packets).all()
    if not isinstance(repair, str):
        assert (result.coding.planned_packets == simulated.coding.planned_packets).all()
    came = result.coding.decoded_ns >= 0
    assert came.any() and result.coding.whole[came].all()


@pytest.mark.kernel
def test_two_runs_of_a_seed_have_the_same_bytes(kernel: Path, tmp_path: Path) -> None:
    config = config_of(scenario(link=LOSSES))
    results = []
    for name in ("a", "b"):
        carried(config, keep=tmp_path / name)
        results.append((tmp_path / name / "result.bin").read_bytes())
    assert results[0] == results[1]


@pytest.mark.kernel
@pytest.mark.parametrize("cell", ["losses", "more than fits", "coded"])
def test_a_cell_plays_what_it_plays_in_the_simulator(kernel: Path, cell: str) -> None:
    """The other cells are run by `python -m experiments.kernel_ltp`."""
    assert cell in CELLS
    given = scenario_of(cell, 1)
    config = config_of(given)
    result, simulated = carried(config), simulate(config)
    came = [float(np.mean(one.objects.complete_ns >= 0)) for one in (result, simulated)]
    assert came[0] == pytest.approx(came[1], rel=0.15)
    sent = result.totals.sent_wire_bytes / simulated.totals.sent_wire_bytes
    assert sent == pytest.approx(1, abs=0.05)
