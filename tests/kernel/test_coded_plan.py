"""What the programs of datagrams are told of a trial, and what they need: memory, looks, words."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
from dstcc_kernel.coded_plan import (
    block_memory_mb,
    coded_job,
    coded_notes,
    in_words,
    looks,
    ltp_job,
    write_plan,
)
from dstcc_kernel.plan import job_of

from dstcc.engine import EngineConfig
from dstcc.engine.config import NEVER_NS
from dstcc.scenario import Scenario, draw_trial, engine_config, load_source

MSS = 1000
CODED = {"mode": "coded", "congestion": "paced", "mss_bytes": MSS}


def scenario(**tables: Any) -> Scenario:
    return Scenario.model_validate(
        {
            "scenario": {"name": "coded", "duration_s": 600},
            "video": {"synthetic": {"chunk_s": 10, "layer_bps": [8000, 4000]}, "loop_to_s": 60},
            "link": [
                {"name": "l", "rate_bps": 1e5, "delay_s": 5, "queue_bytes": 104_000, "up_rate_bps": 5e4}
            ],
            "transport": CODED,
            "coding": {"repair": [0.5, 0.25], "block_s": 10},
            "run": {"scale": 10, "slot_s": 10},
            **tables,
        }
    )


def trial(given: Scenario) -> EngineConfig:
    congestion = given.transport.congestion[0]
    scheduler = "none" if congestion == "ltp" else given.transport.scheduler[0]
    return engine_config(given, draw_trial(given, load_source(given), 1), congestion, scheduler)


def test_memory_is_of_blocks_until_their_last_deadline_is_over_by_their_length() -> None:
    """10 and 5 packets a chunk, released together each 10 s; with half of them as repair, and 64 bytes a symbol."""
    config = trial(scenario(playout={"mode": "deadline", "delay_s": 15.0}))
    objects = config.objects
    assert (objects.payload_bytes // MSS).tolist() == [10, 5] * 6
    # a chunk's deadline is some time after its release: until that, and two blocks of 10 s more, others come
    lasts_s = float((objects.deadline_ns[0] - objects.release_ns[0]) / 1e9) + 20
    chunks = min(6, ceil(lasts_s / 10))
    assert 1 < chunks < 6
    most = 15 * chunks
    assert block_memory_mb(config) == ceil(most * 1.5 * (MSS + 64) / 1e6)
    many = replace(config, objects=replace(objects, payload_bytes=objects.payload_bytes * 1000 + 1))
    assert block_memory_mb(many) == ceil(chunks * (10_001 + 5_001) * 1.5 * (MSS + 64) / 1e6)
    endless = np.full_like(objects.deadline_ns, NEVER_NS)
    endless[1:] = objects.deadline_ns[1:]
    whole = replace(many, objects=replace(many.objects, deadline_ns=endless))
    assert block_memory_mb(whole) == ceil(6 * (10_001 + 5_001) * 1.5 * (MSS + 64) / 1e6), (
        "who never ends is held"
    )
    assert config.coding is not None
    rule = replace(many, coding=replace(config.coding, repair=()))
    assert block_memory_mb(rule) == ceil(chunks * (10_001 + 5_001) * 2 * (MSS + 64) / 1e6)
    assert block_memory_mb(replace(config, coding=None)) == 0


def test_a_queue_is_drained_in_some_looks() -> None:
    """100 packets of 1,040 bytes at 1 Mbit/s, emulated, are 0.832 s: a quarter of that, or as often as it looks
    anyway; no more often than each 20 us."""
    config = trial(scenario())
    job = job_of(config, program=Path("/p"))
    assert looks(replace(job, tick_ns=10**9), config) == 208_000_000
    assert looks(replace(job, tick_ns=10**8), config) == 10**8
    assert looks(replace(job, tick_ns=1000), config) == 20_000
    (link,) = job.links
    fast = replace(link, down=replace(link.down, rate_bps=1e12))
    assert looks(replace(job, links=(link, fast), tick_ns=10**9), config) == 20_000


def test_a_job_of_datagrams_has_no_handshakes_and_weighs_what_the_simulator_does() -> None:
    config = trial(
        scenario(link=[{"name": "l", "rate_bps": 1e5, "delay_s": 5, "subflows": 3, "outages": [[0, 50]]}])
    )
    job = job_of(config, program=Path("/p"))
    assert job.links[0].opens_ns > 0
    made = coded_job(replace(job, backups=True), config)
    assert (made.coded, made.backups) == (True, False)
    assert [(link.subflows, link.opens_ns, link.joins_ns) for link in made.links] == [(3, 0, 0)]
    assert made.tick_ns == looks(job, config)
    # IP and UDP 28 and a head of 44, of which the simulator counts 40; of an ACK 28 and 36, of which it counts 48
    assert made.free_bytes == (32, 16)


def test_segments_of_ltp_have_their_heads_and_in_a_matrix_more() -> None:
    """28 of IP and UDP, and 20 of LTP, of which the simulator counts 40; in a matrix 10 more."""
    given = scenario(transport={"congestion": "ltp"}, coding={"repair": [0.5, 0.25], "block_s": 10})
    config = trial(given)
    job = job_of(config, program=Path("/p"))
    made = ltp_job(replace(job, backups=True), config)
    assert (made.coded, made.backups, made.free_bytes) == (True, False, (18, 0))
    assert ltp_job(job, replace(config, coding=None)).free_bytes == (8, 0)
    assert [(link.subflows, link.opens_ns, link.joins_ns) for link in made.links] == [(1, 0, 0)]


def test_the_program_is_told_of_addresses_lines_and_settings(tmp_path: Path) -> None:
    link = {"name": "l", "rate_bps": 1e5, "delay_s": 5}
    config = trial(scenario(link=[{**link, "subflows": 2}, {**link, "name": "m"}]))
    job = coded_job(job_of(config, program=Path("/p")), config)
    write_plan(replace(job, payloads=("/a", "/b"), stall_ns=77), config, tmp_path)
    said = (tmp_path / "coded.txt").read_text().splitlines()
    assert said[:3] == [
        f"result {tmp_path}/result.bin",
        f"received {tmp_path}/received",
        f"times {job.tick_ns} 77",
    ]
    own = [line for line in said if line.split()[0] in ("earth", "lines", "craft")]
    assert own == [
        *("earth 10.1.0.2", "lines 0 0", "craft 0 10.1.0.1", "craft 0 10.1.1.1"),
        *("earth 10.2.0.2", "lines 1 1", "craft 1 10.2.0.1"),
    ]
    assert said[-3:] == ["payload /a", "payload /b", f"objects {tmp_path}/objects.bin"]
    settings = dict(
        line.split(" ", 2)[1:] for line in said if line.startswith("config ") and len(line.split()) > 2
    )
    assert settings["slot_ns"] == str(10**9) and settings["duration_ns"] == str(60 * 10**9)
    assert float(settings["transport.scale"]) == 1.0, "it lives in emulated time"
    assert int(settings["coding.block_ns"]) == 10**9
    assert (tmp_path / "received").is_dir()
    rows = np.fromfile(tmp_path / "objects.bin", np.int64).reshape(-1, 8)
    assert rows[:, 2].tolist() == config.objects.payload_bytes.tolist()
    assert rows[:, 3].tolist() == (config.objects.release_ns // 10).tolist()
    assert config.coding is not None
    assert rows[:, 7].tolist() == config.coding.period.tolist() and len({*rows[:, 7].tolist()}) == 6


def test_over_nodes_a_path_has_its_first_and_last_line(tmp_path: Path) -> None:
    from .test_nodes import OPEN_LOOP
    from .test_nodes import scenario as over_nodes
    from .test_nodes import trial as trial_of

    config = trial_of(over_nodes(OPEN_LOOP))
    write_plan(coded_job(job_of(config, program=Path("/p")), config), config, tmp_path)
    assert "lines 0 1" in (tmp_path / "coded.txt").read_text().splitlines()


def test_blocks_are_words_that_the_program_has() -> None:
    config = trial(scenario())
    assert config.coding is not None and not config.coding.word_packets
    worded = in_words(config)
    assert worded.coding is not None and worded.coding.word_packets
    assert in_words(worded) is worded


def test_notes_say_which_words_are_not_the_scenarios() -> None:
    assert len(coded_notes(scenario())) == 2
    assert "coding.code_word = 255" in coded_notes(scenario())[1]
    assert len(coded_notes(scenario(coding={"repair": [0.5, 0.25], "block_s": 10, "code_word": 100}))) == 1
