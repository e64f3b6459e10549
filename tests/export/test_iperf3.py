"""iperf3's JSON of samples that are made up here, key by key."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from dstcc.export.iperf3 import document
from dstcc.version import __version__

NAN = float("nan")
SAMPLES: dict[str, list[Any]] = {
    "t_s": [10.0, 10.0, 30.0, 30.0],
    "subflow": [0, 1, 0, 1],
    "cwnd_segments": [10, 20, 8, 30],
    "srtt_s": [NAN, None, 1.5, 2.0000004],
    "retransmitted_segments": [0, 1, 2, 3],
    "rate_bps": [800.0, 80.4, 1600.0, 0.0],
}
"""Two subflows in two slots, of 10 and of 20 s."""


def run(samples: dict[str, list[Any]], **scenario: Any) -> Any:
    tables = {"samples": samples, "chunks": {"delivered_bytes": [3000, 2000]}}
    return SimpleNamespace(
        rows=lambda name, _trial, columns: pa.table({one: tables[name][one] for one in columns}),
        trial=lambda _trial: {"congestion": "cubic"},
        scenario=scenario,
        meta={"scenario_name": "by hand", "backend": "simulator"},
    )


def stream(
    number: int, span: tuple[float, float], size: int, bps: float, again: int, **more: int
) -> dict[str, Any]:
    begin, end = span
    about = {"socket": number, "start": begin, "end": end, "seconds": end - begin, "bytes": size}
    return {**about, "bits_per_second": bps, "retransmits": again, **more, "omitted": False, "sender": True}


def total(begin: float, end: float, size: int, bps: float, again: int) -> dict[str, Any]:
    return {key: value for key, value in stream(0, (begin, end), size, bps, again).items() if key != "socket"}


def test_every_key() -> None:
    said = document(run(SAMPLES, transport={"mss_bytes": 1000}), "cubic+minrtt/s1")
    assert said["start"] == {
        "connected": [
            {"socket": 0, "remote_host": "earth", "remote_port": 5201},
            {"socket": 1, "remote_host": "earth", "remote_port": 5201},
        ],
        "version": f"dstcc {__version__}",
        "system_info": "by hand, cubic+minrtt/s1, backend simulator",
        "connecting_to": {"host": "earth", "port": 5201},
        "tcp_mss_default": 1000,
        "test_start": {"protocol": "TCP", "num_streams": 2, "omit": 0, "duration": 30.0, "reverse": 0},
    }
    # 800 bit/s for 10 s are 1,000 bytes, 80.4 bit/s 100.5, in whole bytes 100; 1,600 for 20 s 4,000
    assert said["intervals"] == [
        {
            "streams": [
                stream(0, (0.0, 10.0), 1000, 800.0, 0, snd_cwnd=10_000, rtt=0),
                stream(1, (0.0, 10.0), 100, 80.4, 1, snd_cwnd=20_000, rtt=0),
            ],
            "sum": total(0.0, 10.0, 1100, 880.0, 1),
        },
        {
            "streams": [
                stream(0, (10.0, 30.0), 4000, 1600.0, 2, snd_cwnd=8_000, rtt=1_500_000),
                stream(1, (10.0, 30.0), 0, 0.0, 3, snd_cwnd=30_000, rtt=2_000_000),
            ],
            "sum": total(10.0, 30.0, 4000, 1600.0, 5),
        },
    ]
    first, second = (one["sender"] for one in said["end"]["streams"])
    rtts = {"max_rtt": 1_500_000, "min_rtt": 1_500_000, "mean_rtt": 1_500_000}
    assert first == {"socket": 0, **total(0.0, 30.0, 5000, 5000 * 8 / 30, 2), "max_snd_cwnd": 10_000, **rtts}
    assert (second["bytes"], second["retransmits"], second["max_snd_cwnd"]) == (100, 4, 30_000)
    assert said["end"]["sum_sent"] == total(0.0, 30.0, 5100, 5100 * 8 / 30, 6)
    received = total(0.0, 30.0, 5000, 5000 * 8 / 30, 0)
    assert said["end"]["sum_received"] == {
        k: received[k] for k in received if k not in ("retransmits", "omitted")
    }
    assert said["end"]["sender_tcp_congestion"] == "cubic"


def test_round_trips_are_of_the_slots_that_have_one() -> None:
    samples = {key: values[::2] for key, values in SAMPLES.items()} | {"srtt_s": [1.0, 4.0]}
    (one,) = document(run(samples), "t")["end"]["streams"]
    assert [one["sender"][key] for key in ("min_rtt", "mean_rtt", "max_rtt")] == [
        1_000_000,
        2_500_000,
        4_000_000,
    ]
    (one,) = document(run(samples | {"srtt_s": [None, None]}), "t")["end"]["streams"]
    assert [one["sender"][key] for key in ("min_rtt", "mean_rtt", "max_rtt")] == [0, 0, 0]
    assert document(run(samples), "t")["start"]["tcp_mss_default"] == 1460


def test_a_trial_without_samples_has_no_interval() -> None:
    said = document(run({key: [] for key in SAMPLES}), "t")
    assert (
        said["intervals"] == []
        and said["end"]["streams"] == []
        and said["start"]["test_start"]["duration"] == 0.0
    )
    assert said["end"]["sum_received"]["bits_per_second"] == said["end"]["sum_sent"]["bits_per_second"] == 0.0
    assert said["end"]["sum_received"]["bytes"] == 5000
