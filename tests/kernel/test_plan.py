"""Trials in emulated time: 1 s stands for S of the mission, and a link keeps its bandwidth-delay product."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dstcc_kernel import backend
from dstcc_kernel.job import NEVER_NS, Job, read_job
from dstcc_kernel.names import CONGESTION, LANE_SCHEDULERS, changing_rate, misfit
from dstcc_kernel.netem import GilbertElliott
from dstcc_kernel.plan import job_of, memory_mb, objects_of, slot_ns, steered_by, steered_slot_ns, windows_of
from dstcc_kernel.source import RELEASES

from dstcc.algorithms import TABLE
from dstcc.engine import AGENT, EngineConfig, simulate
from dstcc.errors import InputError
from dstcc.learn.env.episodes import steered as agents
from dstcc.learn.policies.policy import load_policy
from dstcc.scenario import Scenario, draw_trial, engine_config, load_source

S = 10**9
LINK = {"name": "relay", "rate_bps": 115_200, "delay_s": 510}


def scenario(link: dict[str, Any] | list[dict[str, Any]] | None = None, **tables: dict[str, Any]) -> Scenario:
    document: dict[str, Any] = {
        "scenario": {"name": "one link", "duration_s": 7200},
        "video": {"synthetic": {"chunk_s": 60, "layer_bps": [40_000, 20_000]}},
        "link": link if isinstance(link, list) else [{**LINK, **(link or {})}],
        "run": {"scale": 30},
    }
    return Scenario.model_validate({**document, **tables})


def trial(given: Scenario, *names: str) -> EngineConfig:
    """Its first algorithms' trial, or another's."""
    names = names or (given.transport.congestion[0], given.transport.scheduler[0])
    return engine_config(given, draw_trial(given, load_source(given), 1), *names)


def job(given: Scenario) -> Job:
    return job_of(trial(given), program=Path("/p"))


def test_delays_shrink_and_rates_grow_by_the_scale() -> None:
    link = job(scenario()).links[0]
    assert link.down.steps[0].delay_ns == 17 * 10**9
    assert link.down.rate_bps == link.up.rate_bps == 115_200 * 30
    assert job(scenario()).duration_ns == 240 * 10**9


def test_a_queue_of_bytes_becomes_one_of_full_packets() -> None:
    made = job(scenario({"queue_bytes": 150_000, "up_queue_bytes": 4_000})).links[0]
    assert (made.down.queue_packets, made.up.queue_packets) == (100, 100)


def test_an_outage_loses_everything_from_its_begin_to_its_end() -> None:
    made = job(scenario({"outages": [[600, 900]], "loss": {"packet": 1e-3}}))
    losses = [(step.from_ns, step.loss) for step in made.links[0].down.steps]
    assert losses == [(0, 1e-3), (20 * 10**9, 1.0), (30 * 10**9, 1e-3)]


@pytest.mark.parametrize(
    ("until_s", "congestion", "backups"),
    [(900, "cubic", False), (1e9, "cubic", True), (900, "fixed", True), (1e9, "fixed", True)],
)
def test_lanes_with_windows_of_their_own_have_backups_where_a_link_never_returns(
    until_s: float, congestion: str, backups: bool
) -> None:
    dark = {"outages": [[600, until_s]]}
    assert job(scenario(dark, transport={"congestion": congestion})).backups is backups
    assert not job(scenario(transport={"congestion": congestion})).backups


@pytest.mark.parametrize(("scale", "timers"), [(2000, 4), (600, 9), (30, 170), (10, 254)])
def test_a_silence_of_a_round_trip_makes_a_subflow_stale(scale: float, timers: int) -> None:
    """1,020 s are 0.51, 1.7, 34 and 102 emulated seconds: 3, 9, 170 and 510 timers of 200 ms. The kernel's own count is
    4, and it counts no further than 255."""
    assert job(scenario(run={"scale": scale})).stale_timers == timers


def test_a_handshake_begins_a_look_after_the_link_comes_up() -> None:
    # RTT 1,020 s: the SYN of 900 s is answered in the light. The program looks 2,000 times a round trip.
    made = job(scenario({"outages": [[0, 900]]}))
    assert made.links[0].opens_ns == 900 * 10**9 // 30 + made.tick_ns
    assert made.tick_ns == pytest.approx(1020e9 / 30 / 2000, rel=1e-3)
    # A SYN of 0 would be answered at 510 s, in the dark; that of 290 s less its 40 bytes at 115,200 bit/s is at 800 s.
    answered = job(scenario({"outages": [[400, 800]]})).links[0]
    assert answered.opens_ns == pytest.approx((290 - 320 / 115_200) / 30 * 1e9 + made.tick_ns, abs=2)
    assert job(scenario({"outages": [[900, 950]]})).links[0].opens_ns == 0
    assert job(scenario({"outages": [[0, 1e9]]})).links[0].opens_ns == NEVER_NS


@pytest.mark.parametrize(("dark_until_s", "joins_s"), [(4000, 4000), (100, 0)])
def test_a_later_subflow_joins_when_its_link_is_up(dark_until_s: int, joins_s: int) -> None:
    # Due three round trips after the first's begin, at 3,060 s: a link that is dark then waits, one that was before
    # has nothing to wait for.
    links = [LINK, {"name": "direct", "rate_bps": 64_000, "delay_s": 600, "outages": [[0, dark_until_s]]}]
    made = job(scenario(links, transport={"mode": "stream"}))
    assert made.links[1].joins_ns == (joins_s and joins_s * 10**9 // 30 + made.tick_ns)
    assert made.outages_ns == ((0, round(dark_until_s * 1e9 / 30)),)


def test_bits_err_independently_of_each_other() -> None:
    made = job(scenario({"loss": {"ber": 1e-7}})).links[0]
    assert made.down.steps[0].loss == pytest.approx(1 - (1 - 1e-7) ** 12_000)
    assert made.up.steps[0].loss == pytest.approx(1 - (1 - 1e-7) ** 320)


def test_frames_become_the_chain_with_the_same_loss() -> None:
    made = (
        job(scenario({"loss": {"ebn0_db": 0.2, "code": "ccsds-turbo-1/6-8920"}})).links[0].down.steps[0].loss
    )
    assert isinstance(made, GilbertElliott)
    lost = made.p / (made.p + made.r)
    from dstcc_channels.codes import code

    assert lost == pytest.approx(code("ccsds-turbo-1/6-8920").packet_loss(0.2, 1500), rel=1e-6)


def test_a_delay_over_time_becomes_small_steps() -> None:
    steps = job(scenario({"delay_s": [[0, 500], [7200, 520]]})).links[0].down.steps
    delays = np.array([step.delay_ns for step in steps]) * 30 / 1e9
    assert len(steps) == 500
    assert np.abs(np.diff(delays)).max() < 0.05
    assert delays[0] == pytest.approx(500, abs=0.05)
    assert delays[-1] == pytest.approx(520, abs=0.05)


def test_layers_keep_their_times_in_emulated_seconds() -> None:
    given = scenario(playout={"mode": "deadline", "delay_s": 3000})
    rows = objects_of(trial(given))
    assert rows.shape == (240, 7)
    assert rows[0].tolist() == [0, 0, 300_000, 2 * 10**9, 102 * 10**9, -1, 0]


def test_without_deadlines_a_layer_is_never_late() -> None:
    given = scenario(playout={"mode": "stall"})
    assert (objects_of(trial(given))[:, 4] == NEVER_NS).all()


def test_a_subflow_of_a_stream_is_given_what_fills_the_largest_link() -> None:
    assert job(scenario()).unsent_bytes == 115_200 * 1020 / 8
    assert job(scenario({"delay_s": 0.01})).unsent_bytes == 10 * 1460  # at least an initial window


def test_a_job_survives_its_file(tmp_path: Path) -> None:
    made = job(scenario({"loss": {"gilbert_elliott": {"p": 0.01, "r": 0.5}}, "outages": [[60, 120]]}))
    made.write(tmp_path / "job.json")
    assert read_job(tmp_path / "job.json") == made


def test_a_round_trip_that_linux_cannot_hold_is_refused_with_the_least_scale() -> None:
    with pytest.raises(InputError, match=r"--scale 1: .* 1020 emulated s; .* at least 2"):
        job(scenario(run={"scale": 1}))


def test_a_window_beyond_tcps_is_refused() -> None:
    with pytest.raises(InputError, match=r"a window of 1\.275e\+09 bytes .*relay.*1,073,741,824"):
        job(scenario({"rate_bps": 1e7}))


def test_coded_packets_have_no_window() -> None:
    coded = {"congestion": "open-loop", "mode": "coded"}
    made = job(scenario({"rate_bps": 1e7}, transport=coded, coding={"repair": "auto", "block_s": 60}))
    assert made.links[0].down.rate_bps > 0
    ours = scenario({"rate_bps": 1e7}, transport={"controller": "dstcc"})
    backend.check(ours, load_source(ours))


def test_memory_follows_what_is_in_flight() -> None:
    small, large = (trial(given) for given in (scenario(), scenario({"rate_bps": 2e6})))
    grown = memory_mb(large, steered=False) - memory_mb(small, steered=False)
    assert grown > 2 * (2e6 - 115_200) * 1020 / 8 / 1e6


def test_a_policys_process_has_memory_of_its_own() -> None:
    one = trial(scenario())
    assert memory_mb(one, steered=True) - memory_mb(one, steered=False) >= 500


def test_slots_scale() -> None:
    given = scenario(run={"scale": 30, "slot_s": 60})
    assert slot_ns(trial(given)) == 2 * 10**9


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        (
            {"transport": {"congestion": ["cubic", "bbr-scaled"]}},
            "transport.congestion: 'bbr-scaled' exists in the",
        ),
        (
            {"transport": {"congestion": "ledbat"}},
            "simulator only, the kernel has bbr, bic, cubic, fixed, newreno",
        ),
        (
            {"transport": {"scheduler": "round-robin"}},
            "transport.scheduler: 'round-robin' .* the kernel has minrtt",
        ),
        (
            {"transport": {"mode": "lanes", "lanes_per_link": 2, "window": "link"}},
            "transport.window = 'link': under 'cubic' each lane is a connection with a window of its own here",
        ),
        (
            {"transport": {"mode": "lanes", "lanes_per_link": 2, "window": "lane", "congestion": "fixed"}},
            "transport.window = 'lane': the lanes of a link share the window of 'fixed' here",
        ),
        (
            {"transport": {"constants": {"hystart": False, "rto_max_s": 300.0}}},
            "transport.constants.rto_max_s: the kernel has no such knob; it has hystart, hystart_ack_delta_s",
        ),
    ],
)
def test_what_only_the_simulator_has_is_named(tables: dict[str, Any], said: str) -> None:
    import re

    assert re.search(said, misfit(scenario(**tables)) or "")


@pytest.mark.parametrize(
    ("congestion", "window", "lanes"),
    [
        ("cubic", "lane", 2),
        ("fixed", "link", 2),
        ("cubic", "link", 1),
        ("fixed", "lane", 1),
        ("cubic", None, 2),
    ],
)
def test_the_windows_that_lanes_have_anyway_may_be_named(
    congestion: str, window: str | None, lanes: int
) -> None:
    keys = {"mode": "lanes", "lanes_per_link": lanes, "congestion": congestion}
    assert misfit(scenario(transport=keys | ({"window": window} if window else {}))) is None


def test_constants_are_set_in_emulated_time() -> None:
    constants = {"hystart": False, "hystart_ack_delta_s": 0.9, "compressed_ack_s": 0.06, "rto_min_s": 9.0}
    given = scenario(transport={"constants": constants}, run={"scale": 30})
    assert misfit(given) is None
    made = job(given)
    # 0.9 s / 30 in microseconds, 60 ms / 30 in nanoseconds, 9 s / 30 in milliseconds
    assert made.parameters == {"hystart": "0", "hystart_ack_delta_us": "30000"}
    assert made.sysctls == {"net/ipv4/tcp_comp_sack_delay_ns": "2000000"}
    assert made.rto_min_ms == 300
    # what the kernel has anyway needs no knob: 1 ms and 200 ms
    same = scenario(transport={"constants": {"compressed_ack_s": 0.03, "rto_min_s": 6.0}}, run={"scale": 30})
    assert (job(same).sysctls, job(same).rto_min_ms) == ({}, 0)
    plain = job(scenario(run={"scale": 30}))
    assert (plain.parameters, plain.sysctls, plain.rto_min_ms) == ({}, {}, 0)


def test_others_connections_have_the_kernels_controls() -> None:
    def said(control: str, **transport: Any) -> str | None:
        return misfit(scenario({"flows": [{"congestion": control}]}, transport=transport))

    assert said("newreno") is None and said("same", congestion="cubic") is None
    assert (said("ledbat") or "").startswith(
        "link.0.flows: others' 'ledbat' exists in the simulator only, the kernel has bbr, bic, cubic, newreno"
    )
    ours = said("same", congestion="fixed", fixed_cwnd_segments=[10])
    assert (ours or "").startswith(
        "link.0.flows: others' 'fixed' (the trial's own) exists in the simulator only"
    )
    steered = said("same", controller="iodst-q", congestion=[])
    assert (steered or "").startswith("link.0.flows: others' 'agent' (the trial's own)")
    mixed = {"rate_bps": 50_000, "congestion": "vegas"}
    assert misfit(scenario({"mix": mixed})) is None
    assert (misfit(scenario({"mix": mixed | {"congestion": "lia"}})) or "").startswith(
        "link.0.mix: others' 'lia'"
    )


def test_others_connections_are_lines_for_their_program() -> None:
    flows = [
        {"congestion": "newreno", "bytes": 3000, "start_s": 60},
        {"rate_bps": 6000, "on_s": 30, "off_s": 60, "stop_s": 600},
    ]
    made = job(scenario({"flows": flows, "outages": [[0, 300]]}))
    assert made.flows[0] == "link" and made.flows[-2:] == (
        f"flow 0 0 10.1.0.1 10.1.0.2 reno {10 * S}",
        f"flow 0 1 10.1.0.1 10.1.0.2 cubic {10 * S}",
    )
    told = dict(line.split(maxsplit=1) for line in made.flows if line.startswith(".flows."))
    assert told[".flows.0.payload_bytes"] == "3000" and told[".flows.1.stop_ns"] == str(20 * S)
    assert (told[".flows.1.source.rate_bps"], told[".flows.1.source.on_ns"]) == ("180000.0", str(S))
    assert made.links[0].played and job(scenario()).flows == ()


@pytest.mark.parametrize(("rate", "up_rate", "said"), [(500, 10, "down"), (1000, 20, "up"), (1000, 10, None)])
def test_contacts_of_different_rates_are_not_for_programs_of_ones_own_and_why(
    tmp_path: Path, rate: int, up_rate: int, said: str | None
) -> None:
    plan = tmp_path / "plan.txt"
    plan.write_text(
        f"a contact +0 +60 2 1 1000\na contact +90 +120 2 1 {rate}\n"
        f"a contact +0 +60 1 2 10\na contact +90 +120 1 2 {up_rate}\na range +0 +120 1 2 5\n"
    )
    link = {"name": "a", "contacts": str(plan), "source": 2, "destination": 1}
    problem = changing_rate(scenario([link]))
    assert misfit(scenario([link])) is None
    if said is None:
        assert problem is None
    else:
        assert problem is not None
        assert problem.startswith(
            f"link.0.contacts: contacts of different rates ({said}) are for trials only: netem"
        )
    # The keys that the message names let it run.
    assert changing_rate(scenario([link | {"rate_bps": 8000.0, "up_rate_bps": 80.0}])) is None


def test_the_table_of_algorithms_names_the_kernels() -> None:
    names = {(row.kind, row.name) for row in TABLE if "kernel" in row.backends}
    assert names == {("congestion", name) for name in CONGESTION} | {
        ("scheduler", name)
        for name in (*LANE_SCHEDULERS, *(release.scheduler for release in RELEASES.values()))
    } | {("transfer", "ltp")}


@pytest.mark.parametrize(
    ("scheduler", "links", "said"),
    [
        (["linux"], 2, None),
        (["minrtt"], 1, None),
        (
            ["linux", "minrtt"],
            2,
            "'minrtt' exists in the simulator only, the kernel has linux; did you mean 'linux'?",
        ),
        (
            ["linux-6.1"],
            2,
            "'linux-6.1' exists in the simulator only, the kernel has linux; did you mean 'linux'?",
        ),
    ],
)
def test_a_stream_over_several_links_has_the_kernels_own_scheduler_by_its_name(
    scheduler: list[str], links: int, said: str | None
) -> None:
    given = scenario([{**LINK, "name": f"{i}"} for i in range(links)], transport={"scheduler": scheduler})
    assert misfit(given) == (said and f"transport.scheduler: {said}")


def test_another_kernels_scheduler_has_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSTCC_KERNEL", "6.1")
    links = [{**LINK, "name": "a"}, {**LINK, "name": "b"}]
    assert misfit(scenario(links, transport={"scheduler": "linux-6.1"})) is None
    assert "the kernel has linux-6.1" in (misfit(scenario(links, transport={"scheduler": "linux"})) or "")


LINKS = [{**LINK, "name": "a"}, {**LINK, "name": "b"}]
PINNED = {"mode": "lanes", "scheduler": "layer-pinned"}


@pytest.mark.parametrize(
    ("names", "links"), [(["b"], (1, 1)), (["b", "a"], (1, 0)), (["a", "b", "a"], (0, 1))]
)
def test_layers_beyond_the_list_go_where_its_last_goes(names: list[str], links: tuple[int, ...]) -> None:
    """As in the simulator; the video has two layers."""
    given = scenario(LINKS, transport={**PINNED, "layer_links": names})
    assert misfit(given) is None
    assert job(given).layer_links == links


def test_layers_are_pinned_to_links_that_are_named_or_not_at_all() -> None:
    problem = misfit(scenario(LINKS, transport=PINNED))
    assert problem is not None and problem.startswith(
        "transport.scheduler 'layer-pinned': needs layer_links here"
    )
    assert job(scenario(LINKS, transport={"mode": "lanes"})).layer_links == ()


def steered(name: str, **tables: dict[str, Any]) -> tuple[Job, int]:
    """The job under a shipped policy, and its slot in mission time."""
    given = scenario({"outages": [[600, 900]]}, transport={"mode": "lanes", "lanes_per_link": 3}, **tables)
    policy = load_policy(name)
    config = agents(trial(given, AGENT, AGENT), policy.action)
    return steered_by(job(given), policy, config), steered_slot_ns(config)


def test_a_link_gets_as_many_lanes_as_fill_its_round_trip_from_64_kib_each() -> None:
    """115,200 bit/s for 1,020 s are 14.7 MB; a layer a minute leaves no more than 16 to take turns."""
    made, slot = steered("dstcc-lanes")
    assert (made.lanes_per_link, made.rotating) == (ceil(115_200 * 1020 / 8 / 65_536), 16)
    assert made.lanes and made.rate and not made.backups
    assert slot == 1020 * 10**9 // 16


def test_policies_without_lanes_of_their_own_keep_the_scenarios() -> None:
    made, slot = steered("iodst-dqn")
    assert (made.lanes_per_link, made.rotating, made.backups, made.rate) == (3, 3, True, False)
    assert slot == 1020 * 10**9 // 4


def in_a_stream(**transport: Any) -> Job:
    """The job of a stream under a policy that has no lanes of its own."""
    given = scenario(transport={"mode": "stream", **transport})
    policy = load_policy("iodst-dqn")
    return steered_by(job(given), policy, agents(trial(given, AGENT, AGENT), policy.action))


def test_a_policys_stream_has_buffers_that_hold_all_of_the_video() -> None:
    """One segment that is lost again and again holds up what comes after it for hours. Linux's sender may write beyond
    a window that has shrunk since, which is lost for good."""
    video = int(trial(scenario()).objects.payload_bytes.sum())
    made = in_a_stream()
    assert min(made.receive_buffer_bytes, made.send_buffer_bytes) >= 2 * video
    given = in_a_stream(receive_buffer_bytes=1_000_000)
    assert given.receive_buffer_bytes < 2 * 1_000_000 + 1 < made.receive_buffer_bytes
    assert steered("iodst-dqn")[0].receive_buffer_bytes == job(scenario()).receive_buffer_bytes


@pytest.mark.parametrize(
    ("kernel", "mss", "share"),
    [("6.1", 1460, 128), ("6.12", 1460, 162), ("6.12", 9000, 234), ("6.12", 400, 128)],
)
def test_a_told_receive_window_gets_the_buffer_that_it_grows_to_it_in(
    monkeypatch: pytest.MonkeyPatch, kernel: str, mss: int, share: int
) -> None:
    """The whole buffer's 256ths: a half on 6.1, the payload in a full segment's memory on 6.12, unless it is short."""
    monkeypatch.setenv("DSTCC_KERNEL", kernel)
    made = job(scenario(transport={"receive_buffer_bytes": 2_000_000, "mss_bytes": mss}))
    assert made.receive_buffer_bytes == -(-2_000_000 * 256 // share)


@pytest.mark.parametrize(
    ("running", "share"),
    [("6.1.0-40-amd64", 128), ("6.5.13", 128), ("6.6.1", 162), ("7.0", 162), ("5.15", 128)],
)
def test_on_a_host_the_window_grows_by_the_running_kernels_rule(
    monkeypatch: pytest.MonkeyPatch, running: str, share: int
) -> None:
    given = trial(scenario(transport={"receive_buffer_bytes": 2_000_000}))
    monkeypatch.setattr("platform.release", lambda: running)
    monkeypatch.setattr(backend, "program", lambda *_: Path("/p"))
    for meant in ("6.1", "6.12"):
        monkeypatch.setenv("DSTCC_KERNEL", meant)
        assert backend._job(given, on_host=True).receive_buffer_bytes == -(-2_000_000 * 256 // share)


def test_a_policys_stream_has_memory_for_all_of_the_video() -> None:
    stream, lanes = (trial(scenario(transport={"mode": mode})) for mode in ("stream", "lanes"))
    video_mb = int(stream.objects.payload_bytes.sum()) / 1e6
    assert memory_mb(stream, steered=True) - memory_mb(lanes, steered=True) >= 2 * video_mb
    assert memory_mb(stream, steered=False) == memory_mb(lanes, steered=False)


def test_slots_are_a_millisecond_of_the_kernels_at_least() -> None:
    _, slot = steered("iodst-dqn", run={"scale": 30, "slot_s": 0.001})
    assert slot == 30_000_000


@pytest.mark.parametrize(("congestion", "lanes", "subflows"), [("cubic", 1, 4), ("fixed", 4, 1)])
def test_lanes_are_connections_whosever_windows_they_have(congestion: str, lanes: int, subflows: int) -> None:
    """In the simulator a lane with a window of its own is a subflow of its link; a job says lanes of one subflow."""
    given = scenario(transport={"mode": "lanes", "lanes_per_link": 4, "congestion": congestion})
    config = trial(given)
    assert (config.transport.lanes_per_link, config.links[0].subflows) == (lanes, subflows)
    made = job(given)
    assert (made.lanes_per_link, made.links[0].subflows) == (4, 1)


@pytest.mark.parametrize(("delay_s", "patience_s"), [(510, 20 * 120 * 30), (3000, 20 * 2 * 6000)])
def test_a_trial_has_the_simulators_patience(delay_s: float, patience_s: float) -> None:
    """20 of the longest timeout, 120 s at S = 30, or of two round trips."""
    given = scenario(
        {"delay_s": delay_s, "loss": {"packet": 1.0}, "queue_bytes": 10**6},
        scenario={"name": "dead"},
        video={"synthetic": {"chunk_s": 60, "layer_bps": [800]}, "loop_to_s": 60},
        playout={"mode": "stall"},
        run={"scale": 30, "slot_s": 10},
    )
    assert job(given).stall_ns == patience_s / 30 * 1e9
    end_s = simulate(trial(given)).end_ns / 1e9
    assert patience_s < end_s <= patience_s + 10  # looked at once a slot


def test_a_fixed_window_is_told_or_fills_the_link() -> None:
    fixed = {"mode": "lanes", "lanes_per_link": 4, "congestion": "fixed"}
    # 115,200 bit/s for 1,020 s are 9,792 packets of 1,500 bytes, and one is on the line, before its ACK of 40
    assert windows_of(trial(scenario(LINKS, transport=fixed))) == [9794, 9794]
    assert windows_of(trial(scenario(LINKS, transport={**fixed, "fixed_cwnd_segments": [50]}))) == [50, 50]


@pytest.mark.parametrize(
    "link",
    [
        {"rate_bps": 12_000, "delay_s": 5},
        {"rate_bps": 12_000, "delay_s": 5, "up_rate_bps": 100},
        {"rate_bps": 12_000, "delay_s": 5, "subflows": 2},
        {"delay_s": [[0, 5], [60, 9.7]], "rate_bps": 64e3},
    ],
)
def test_a_fixed_window_is_the_simulators(link: dict[str, Any]) -> None:
    """12 kbit/s: a packet a second, and 0.03 or 3.2 s for its ACK: 10 + 1.03 or 4.2, on two subflows half as many."""
    config = trial(scenario([{"name": "a", **link}], transport={"congestion": "fixed"}))
    window = simulate(config).samples.cwnd_segments
    assert windows_of(config) == [int(window.max())]


def test_subflows_share_the_default_window_and_have_a_given_one_each() -> None:
    """As in the simulator; the kernel's each got half of a given one."""
    two = [{**link, "subflows": 2} for link in (LINKS if isinstance(LINKS, list) else [LINKS])]
    assert windows_of(trial(scenario(two, transport={"congestion": "fixed"}))) == [4897] * len(two)
    given = {"congestion": "fixed", "fixed_cwnd_segments": [50]}
    assert windows_of(trial(scenario(two, transport=given))) == [50] * len(two)


def test_a_window_that_the_module_cannot_hold_is_refused() -> None:
    for window, problem in ((1, True), (2, False), (2**28, False), (2**28 + 1, True)):
        fixed = {"congestion": "fixed", "scheduler": "linux", "fixed_cwnd_segments": [window]}
        given = scenario(LINKS, transport=fixed)
        assert (misfit(given) is not None) is problem


def test_a_looped_streams_files_begin_again() -> None:
    plain = trial(scenario())
    assert set(objects_of(plain)[:, 5]) == {-1}
    looped = replace(plain, payloads=tuple(Path(f"/p/{k}") for k in range(6)))
    assert objects_of(looped)[:8, 5].tolist() == [0, 1, 2, 3, 4, 5, 0, 1]
    assert job_of(looped, program=Path("/p")).payloads == tuple(f"/p/{k}" for k in range(6))


def test_lanes_fill_the_longest_flight_and_windows_are_two_segments_at_least() -> None:
    """120 s at 1 Mbit/s are 15 MB, so 229 first windows of 65,536 bytes; the other link's flight is 24 of them."""
    from types import SimpleNamespace

    from dstcc_kernel.plan import lanes_of

    links = [{"name": name, "rate_bps": 1e6, "delay_s": delay_s} for name, delay_s in (("a", 60), ("b", 6.2))]
    given = scenario(links, transport={"mode": "lanes", "lanes_per_link": 256, "window": "link"})
    policy: Any = SimpleNamespace(lanes=True)
    assert lanes_of(policy, trial(given)) == ceil(15e6 / 65_536) == 229
    near = scenario({"rate_bps": 1e5, "delay_s": 0.01}, transport={"congestion": "fixed"})
    assert windows_of(trial(near)) == [2]
