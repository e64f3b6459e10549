"""What the transfer program writes, read back into mission time."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from dstcc_kernel.outcome import read_result

from dstcc.engine import EngineConfig
from dstcc.errors import DstccError
from dstcc.scenario import Scenario, draw_trial, engine_config, load_source

TOTALS = {
    "end_ns": 25 * 10**8,
    "sent_wire_bytes": 3000,
    "sent_payload_bytes": 2920,
    "retransmitted_payload_bytes": 0,
    "arrived_payload_bytes": 2920,
    "delivered_payload_bytes": 2920,
    "duplicate_payload_bytes": 0,
    "hol_payload_bytes": 1460,
    "hol_wait_byte_s": 730.0,
    "rtt_sum_s": 2.5,
    "rtt_samples": 2,
    "queue_p95_s": None,
    "data_packets": 2,
    "arrived_packets": 2,
    "first_send_ns": 10**9,
    "last_delivery_ns": 2 * 10**9,
}
OBJECT = (10**9, 15 * 10**8, 2 * 10**9, 2920, 2920, 0, 0, 0)
SAMPLES = (
    (10**9, 0, 10, 2, 10**9, 10**9, 2, 0, 0, 1460, 0),
    (25 * 10**8, 0, 11, 0, 10**9, 10**9, 0, 0, 0, 1460, 0),
)
SCALE = 10.0


@pytest.fixture(scope="module")
def config() -> EngineConfig:
    document = {
        "scenario": {"name": "s", "duration_s": 100},
        "video": {"synthetic": {"chunk_s": 50, "layer_bps": [8000]}},
        "link": [{"name": "l", "rate_bps": 1e5, "delay_s": 5}],
        "run": {"scale": SCALE, "slot_s": 10},
    }
    scenario = Scenario.model_validate(document)
    return engine_config(scenario, draw_trial(scenario, load_source(scenario), 1), "cubic", "minrtt")


def write(path: Path, **changes: object) -> Path:
    head = {"objects": 1, "samples": len(SAMPLES), **TOTALS, **changes}
    rows = struct.pack("8q", *OBJECT) + b"".join(struct.pack("11qd", *row, 1e6) for row in SAMPLES)
    path.write_bytes(json.dumps(head).encode() + b"\n" + rows)
    return path


def test_times_grow_and_rates_shrink_by_the_scale(config: EngineConfig, tmp_path: Path) -> None:
    result = read_result(write(tmp_path / "r"), config)
    assert result.objects.first_sent_ns.tolist() == [10 * 10**9]
    assert result.objects.complete_ns.tolist() == [20 * 10**9]
    assert result.samples.srtt_ns.tolist() == [10 * 10**9] * 2
    assert result.samples.pacing_bps.tolist() == [1e5, 1e5]
    assert result.totals.rtt_sum_s == 25.0
    assert result.totals.hol_wait_byte_s == 7300.0
    assert np.isnan(result.totals.queue_p95_s)


def test_slots_end_at_whole_multiples_and_the_last_one_at_the_end(
    config: EngineConfig, tmp_path: Path
) -> None:
    result = read_result(write(tmp_path / "r"), config)
    assert result.samples.t_ns.tolist() == [10 * 10**9, 25 * 10**9]
    assert result.end_ns == 25 * 10**9


def test_what_never_happened_stays_so(config: EngineConfig, tmp_path: Path) -> None:
    path = write(tmp_path / "r", first_send_ns=-1, last_delivery_ns=-1)
    totals = read_result(path, replace(config, transport=replace(config.transport, scale=3.7))).totals
    assert np.isnan(totals.first_send_s)
    assert np.isnan(totals.last_delivery_s)


@pytest.mark.parametrize("left", [5, -8, -3])
def test_a_file_cut_short_is_refused(config: EngineConfig, tmp_path: Path, left: int) -> None:
    path = write(tmp_path / "r")
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(DstccError, match=r"result (is cut short|has no heading)"):
        read_result(path, config)


def test_what_a_sender_knows_of_layers_is_no_more_than_they_have(
    config: EngineConfig, tmp_path: Path
) -> None:
    objects = len(config.objects.payload_bytes)
    whole = int(config.objects.payload_bytes[0])

    def with_ledger(*rows: tuple[int, int]) -> Path:
        path = write(tmp_path / "r", ledger=len(rows))
        path.write_bytes(path.read_bytes() + b"".join(struct.pack("2q", *row) for row in rows))
        return path

    read = read_result(with_ledger((100, 200), *[(0, 0)] * (objects - 1)), config).ledger
    assert read is not None and read.acknowledged_bytes[0] == 100 and read.begun_bytes[0] == 200
    for rows in ([(whole + 1, 0)], [(0, -1)], [(0, 0), (0, 0)]):
        with pytest.raises(
            DstccError, match=r"more of a layer is acknowledged or sent than it has|cut short"
        ):
            read_result(with_ledger(*rows, *[(0, 0)] * (objects - 1)), config)
    with pytest.raises(DstccError, match="cut short"):
        read_result(write(tmp_path / "r", ledger=objects), config)


def test_of_coded_layers_blocks_come_before_what_is_acknowledged(
    config: EngineConfig, tmp_path: Path
) -> None:
    objects = len(config.objects.payload_bytes)
    path = write(tmp_path / "r", blocks=1, missing=1, ledger=objects)
    block, part, missing = (2, 1, 1, 1460, 3, 10**9, 1), (0, 1), (0, 7)
    ledger = (1460, 2920) + (0, 0) * (objects - 1)
    path.write_bytes(
        path.read_bytes() + struct.pack(f"{11 + len(ledger)}q", *block, *part, *missing, *ledger)
    )
    read = read_result(path, config)
    assert read.ledger is not None and read.coding is not None
    assert (read.ledger.acknowledged_bytes[0], read.ledger.begun_bytes[0]) == (1460, 2920)
    assert read.coding.source_packets.tolist() == [2] and read.coding.recovered.tolist() == [1]
