"""What the transfer program writes, read back into mission time."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from dstcc_kernel.outcome import missing_packets, read_result

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


def test_every_column_is_read_from_its_place(config: EngineConfig, tmp_path: Path) -> None:
    """Rows of primes: first sent, first arrival, complete, sent, delivered, repeated, subflow, given up; and of a
    sample time, subflow, window, in flight, SRTT, least RTT, sent, lost, repeated, delivered, queue and pace."""
    objects = [(2, 3, 5, 7, 11, 13, 17, 19), (-1, -1, -1, 29, 31, 37, 41, 43)]
    samples = [(10**9, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 470.0), (15 * 10**8, *range(31, 41), 0.0)]
    head = {"objects": 2, "samples": 2, **TOTALS}
    path = tmp_path / "r"
    path.write_bytes(
        json.dumps(head).encode()
        + b"\n"
        + b"".join(struct.pack("8q", *row) for row in objects)
        + b"".join(struct.pack("11qd", *row) for row in samples)
    )
    two = replace(config, objects=replace(config.objects, payload_bytes=np.array([50, 60])))
    read = read_result(path, two)
    assert [getattr(read.objects, name).tolist() for name in vars(read.objects)] == [
        *([20, -1], [30, -1], [50, -1]),
        *([7, 29], [11, 31], [13, 37], [17, 41], [19, 43]),
    ]
    # a slot of 10 s is one emulated second: the first row ends one, the second the trial, at 25 s of the mission
    assert [getattr(read.samples, name).tolist() for name in vars(read.samples)] == [
        *([10 * 10**9, 25 * 10**9], [2, 31], [3, 32], [5, 33], [70, 340], [110, 350]),
        *([13, 36], [17, 37], [19, 38], [23, 39], [29, 40], [47.0, 0.0]),
    ]


def test_every_total_is_read_by_its_name(config: EngineConfig, tmp_path: Path) -> None:
    numbers = {
        name: number for number, name in enumerate((n for n in TOTALS if n.endswith("_bytes")), start=1)
    }
    counts = (
        *("rtt_samples", "data_packets", "arrived_packets", "repair_payload_bytes", "timeouts"),
        *("recovered_payload_bytes", "checked_payload_bytes", "dropped_queue_packets", "missing_packets"),
        *(
            "refused_packets",
            "block_peak_bytes",
            "decoder_peak_bytes",
            "encoder_peak_bytes",
            "unusable_answers",
        ),
    )
    numbers |= {name: number for number, name in enumerate(counts, start=20)}
    path = write(tmp_path / "r", **numbers, queue_p95_s=1.5, placed=[[2, *range(7)], [1, *range(8, 15)]])
    read = read_result(path, config)
    assert {name: getattr(read.totals, name) for name in numbers} == numbers
    assert (read.totals.first_send_s, read.totals.last_delivery_s, read.totals.queue_p95_s) == (10, 20, 15)
    assert read.end_ns == 25 * 10**9
    assert [tuple(vars(one).values()) for one in read.placed] == [(1, *range(8, 15)), (2, *range(7))]
    assert read.ledger is None and read.coding is None
    zero = read_result(write(tmp_path / "r", first_send_ns=0, last_delivery_ns=0), config).totals
    assert (zero.first_send_s, zero.last_delivery_s) == (0, 0)


def test_blocks_and_parts_are_read_from_their_places(config: EngineConfig, tmp_path: Path) -> None:
    """Blocks: source, repair, planned, bytes of repair, arrived, decoded, whole. Objects: their block, recovered."""
    path = write(tmp_path / "r", blocks=2, missing=2)
    numbers = (2, 3, 5, 7, 11, 13, 1, 17, 19, 23, 29, 31, -1, 0, 37, 1, 41, 43, 47, 53)
    path.write_bytes(path.read_bytes() + struct.pack(f"{len(numbers)}q", *numbers))
    coding = read_result(path, config).coding
    assert coding is not None
    assert [getattr(coding, name).tolist() for name in list(vars(coding))[:9]] == [
        *([2, 17], [3, 19], [5, 23], [7, 29], [11, 31], [130, -1], [1, 0], [37], [1]),
    ]
    assert missing_packets(path).tolist() == [[41, 43], [47, 53]]
    assert missing_packets(write(tmp_path / "r")).tolist() == []
    assert missing_packets(write(tmp_path / "r", blocks=0, missing=0)).tolist() == []
    # the file has 8 + 24 numbers: 16 rows of two
    assert len(missing_packets(write(tmp_path / "r", blocks=0, missing=16))) == 16
    with pytest.raises(DstccError, match="cut short"):
        missing_packets(write(tmp_path / "r", blocks=0, missing=17))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DstccError, match="cut short"):
        missing_packets(path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"blocks": 1}, "blocks and missing: one stands without the other"),
        ({"missing": 1}, "blocks and missing: one stands without the other"),
        ({"samples": -1}, "samples: Input should be greater than or equal to 0"),
        ({"sent_wire_bytes": 1 << 62}, "sent_wire_bytes: Input should be less than"),
        ({"first_send_ns": -2}, "first_send_ns: Input should be greater than or equal to -1"),
        ({"last_delivery_ns": (1 << 62) + 1}, "last_delivery_ns: Input should be less than or equal"),
        ({"end_ns": True}, "end_ns: Input should be a valid integer"),
        ({"rtt_sum_s": -0.5}, "rtt_sum_s: Input should be greater than or equal to 0"),
        ({"hol_wait_byte_s": float("inf")}, "hol_wait_byte_s: Input should be a finite number"),
        ({"placed": [[0] * 7]}, "placed.0: List should have at least 8 items"),
        ({"placed": [[0] * 9]}, "placed.0: List should have at most 8 items"),
        ({"objects": 3}, "objects: 3, of 2"),
    ],
)
def test_a_heading_with_what_no_program_writes_is_refused(
    config: EngineConfig, tmp_path: Path, changes: dict[str, object], said: str
) -> None:
    with pytest.raises(DstccError, match=said):
        read_result(write(tmp_path / "r", **changes), config)


def test_bounds_of_a_heading_are_no_fault(config: EngineConfig, tmp_path: Path) -> None:
    most = (1 << 62) - 1
    read = read_result(write(tmp_path / "r", sent_wire_bytes=most, rtt_sum_s=0.0, arrived_packets=0), config)
    assert (read.totals.sent_wire_bytes, read.totals.rtt_sum_s) == (most, 0.0)
    once = replace(config, transport=replace(config.transport, scale=1.0))
    assert read_result(write(tmp_path / "r", last_delivery_ns=1 << 62), once).totals.last_delivery_s > 4e9


@pytest.mark.parametrize(("row", "column"), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 4), (1, 5)])
def test_times_that_no_clock_shows_are_refused(
    config: EngineConfig, tmp_path: Path, row: int, column: int
) -> None:
    """A time is mission time within 2^62 ns, at scale 10 a tenth of that; the first row is the object's."""
    path, latest = write(tmp_path / "r"), (1 << 62) // 10
    good = path.read_bytes()
    at = good.index(b"\n") + 1 + (0 if row == 0 else 64) + 8 * column
    for time_ns, fits in ((latest, True), (latest + 2**10, False)):
        path.write_bytes(good[:at] + struct.pack("q", time_ns) + good[at + 8 :])
        if fits:
            read_result(path, config)
            continue
        with pytest.raises(DstccError, match=f"a time of {time_ns} ns, which no clock shows"):
            read_result(path, config)
    slow = replace(config, transport=replace(config.transport, scale=0.5))
    path.write_bytes(good[:at] + struct.pack("q", (1 << 62) + 2**10) + good[at + 8 :])
    with pytest.raises(DstccError, match="which no clock shows"):
        read_result(path, slow)


@pytest.mark.parametrize("pace", [float("nan"), float("inf"), -1.0])
def test_paces_that_are_none_are_refused(config: EngineConfig, tmp_path: Path, pace: float) -> None:
    path = write(tmp_path / "r")
    path.write_bytes(path.read_bytes()[:-8] + struct.pack("d", pace))
    with pytest.raises(DstccError, match="a pace that is no number"):
        read_result(path, config)
