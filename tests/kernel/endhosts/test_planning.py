"""From a scenario and command lines to a mission: every number by hand, and what is refused at once."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from math import ceil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dstcc_kernel.endhosts import planning
from dstcc_kernel.endhosts.mission import Mission, Program
from dstcc_kernel.endhosts.planning import MOST_STEPS, Options, memory_mb, options_of, out_mb, plan

from dstcc.errors import InputError
from dstcc.reading import parse_toml
from dstcc.scenario import Scenario, load_scenario, parse_override, parse_scenario

from .flights import SHORT
from .test_network import STORE

MB = 1_000_000


def planned(*settings: str, scenario: Path = SHORT, **options: Any) -> Mission:
    given = {"command": ("true",), **options}
    return plan(load_scenario(scenario, [parse_override(text) for text in settings]), Options(**given))


def refused(*settings: str, **options: Any) -> str:
    with pytest.raises(InputError) as raised:
        planned(*settings, **options)
    return str(raised.value)


def test_a_mission_is_of_the_scenarios_links_in_emulated_time() -> None:
    """Round trips of 1 and 2 s, of 2 and 1 Mbit/s: 250,000 bytes fill either."""
    mission = planned("transport.mss_bytes=1000", "transport.initial_cwnd=7", "run.seed=5")
    assert (mission.scale, mission.seed, mission.mtu, mission.initial_cwnd) == (1.0, 5, 1040, 7)
    assert mission.clock_s == 1_767_225_600
    assert (mission.unsent_bytes, mission.stale_timers) == (250_000, 10)  # two seconds of timers of 200 ms
    assert mission.sample_ns == 200_000_000, "ten a round trip of the longest link"
    assert (mission.until_ns, mission.linger_ns, mission.longest_ns) == (None, 0, 0)
    assert (mission.congestion, mission.mptcp, mission.capture, mission.terminal) == (
        "cubic",
        False,
        False,
        False,
    )
    assert (mission.hosts, mission.network, mission.disk_mb) == (("craft", "earth"), None, 256)
    down, up = mission.links[0].down, mission.links[0].up
    assert (down.rate_bps, up.rate_bps, down.queue_packets) == (2e6, 2e6, 250_000 // 1040)
    assert down.steps == up.steps and len(down.steps) == 1 and down.steps[0].delay_ns == 500_000_000


def test_a_start_is_the_guests_date() -> None:
    assert planned("scenario.start=2028-03-11T20:30:00Z").clock_s == 1_836_419_400


def test_for_ends_all_in_emulated_time_and_a_duration_does_where_it_is_not_given() -> None:
    assert planned("run.scale=4", for_s=10.0).until_ns == 2_500_000_000
    assert planned("run.scale=4", "scenario.duration_s=20").until_ns == 5 * 10**9
    assert planned("run.scale=4", "scenario.duration_s=20", for_s=10.0).until_ns == 2_500_000_000
    year = 365 * 86_400.0
    assert planned(for_s=year).until_ns == year * 10**9
    assert "emulated s; a guest's clock runs 3.1536e+07 s" in refused(for_s=year + 1000)


@pytest.mark.parametrize(
    ("settings", "bytes_"),
    [
        (
            (),
            4 << 20,
        ),  # 250,000 of each of two round trips and two queues, times four, are less than the least
        (("link.0.rate_bps=20000000",), 4 * (2_500_000 + 250_000 + 2_500_000 + 250_000)),
        (("transport.receive_buffer_bytes=1000000",), 2_000_000),
        (("link.0.rate_bps=20000000000",), (1 << 31) - 4096),
        (("transport.receive_buffer_bytes=2000000000",), (1 << 31) - 4096),
    ],
)
def test_buffers_hold_what_fills_the_links_or_what_is_given(settings: tuple[str, ...], bytes_: int) -> None:
    assert planned(*settings).buffer_bytes == bytes_


@pytest.mark.parametrize(("scale", "timers"), [(1, 10), (10, 4)])
def test_a_subflow_is_stale_after_a_round_trip(scale: float, timers: int) -> None:
    assert planned(f"run.scale={scale}").stale_timers == timers
    assert planned("run.scale=1", "link.1.delay_s=100").stale_timers == 254


def test_samples_are_a_millisecond_apart_at_least() -> None:
    near = ("link.0.delay_s=0.001", "link.1.delay_s=0.002")
    assert planned(*near, "run.scale=1").sample_ns == 1_000_000
    assert planned("run.scale=1", *near, "link.1.delay_s=0.5").sample_ns == 100_000_000


def test_servers_linger_for_a_round_trip() -> None:
    assert planned(earth=("sleep 1",)).linger_ns == 2 * 10**9
    assert planned(on=(("craft", "sleep 1"),)).linger_ns == 2 * 10**9


def test_programs_are_each_hosts_the_first_before_the_others() -> None:
    mission = planned(
        command=("sleep", "9"), earth=("sleep '1 2'",), on=(("craft", "true"), ("Earth", "true a"))
    )
    assert mission.programs == (
        *(Program("craft", ("sleep", "9")), Program("earth", ("sleep", "1 2"))),
        *(Program("craft", ("true",)), Program("earth", ("true", "a"))),
    )
    assert "--on mars: the hosts are craft, earth" in refused(on=(("mars", "true"),))
    assert "--earth 'sleep: no closing quotation" in refused(earth=("'sleep",))
    assert refused(command=()).startswith("CMD: is empty")


def test_a_shell_is_on_a_terminal_of_its_host() -> None:
    mission = planned("run.scale=4", shell="earth", command=("bash",))
    assert mission.terminal and mission.programs[0].host == "earth"
    assert planned(shell="", command=("bash",)).programs[0].host == "craft"
    said = mission.environment
    assert said["PS1"] == "[+${MISSION_S} s] \\h:\\w\\$ " and said["HISTFILE"] == ""
    ms = "$(( (${EPOCHREALTIME/./} - 1767225600000000) / 1000 * 4000 / 1000 ))"
    assert (
        said["PROMPT_COMMAND"] == f"_ms={ms}; printf -v MISSION_S '%d.%03d' $((_ms / 1000)) $((_ms % 1000))"
    )
    assert "PS1" not in planned().environment


def test_programs_have_our_environment_and_what_the_scenario_adds() -> None:
    said = planned("run.scale=4", "run.seed=7", environment={"A": "b", "TZ": "CET"}).environment
    assert (said["DSTCC_SCALE"], said["DSTCC_SEED"], said["DSTCC_HERE"]) == ("4", "7", "/run/here")
    assert (said["A"], said["TZ"], said["LANG"], said["PYTHONHASHSEED"]) == ("b", "CET", "C.UTF-8", "0")
    assert planned(sysctls={"net.ipv4.tcp_sack": "0"}).sysctls == {"net/ipv4/tcp_sack": "0"}


def test_roots_folders_are_searched_behind_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/opt/x:relative::/usr/bin:/opt/x")
    found = planning._search().split(":")
    assert found == ["/opt/x", "/usr/bin", "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/sbin", "/bin"]


# --------------------------------------------------------------------------------------------------------- programs


def test_a_program_is_found_on_the_path_or_in_the_runs_folder(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("#!/bin/sh\n")
    (tmp_path / "mine").chmod(0o755)
    (tmp_path / "text").write_text("")
    here: dict[str, Any] = {"here": tmp_path}
    assert planned(command=("./mine", "a"), **here).programs[0].argv == ("/run/here/mine", "a")
    own = str(tmp_path / "mine")
    assert planned(command=(own,), **here).programs[0].argv == (own,)
    assert refused(command=("./none",), **here) == "CMD: ./none: no such program"
    assert refused(command=(str(tmp_path / "none"),)) == f"CMD: {tmp_path}/none: no such program"
    assert refused(command=(str(tmp_path),)).endswith("no such program")
    if os.geteuid() != 0 or not os.access(tmp_path / "text", os.X_OK):
        assert refused(command=("./text",), **here) == "CMD: ./text: may not be executed (chmod +x)"
    assert "no-such-tool: no such program on this machine (looked in " in refused(command=("no-such-tool",))


def test_static_programs_cannot_be_mptcps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "is_static", lambda path: path.name == "true")
    assert "true: is statically linked" in refused(mptcp=True)
    assert planned().programs and planned(mptcp=True, command=("sleep",)).mptcp


@pytest.mark.parametrize(
    ("options", "control"),
    [
        ({}, "cubic"),
        ({"congestion": "newreno"}, "reno"),
        ({"congestion": "bbr"}, "bbr"),
        ({"module": Path("/m")}, ""),
        ({"bpf": Path("/b")}, ""),
        ({"module": Path("/m"), "congestion": "newreno"}, "reno"),
        ({"bpf": Path("/b"), "congestion": "mine"}, "mine"),
    ],
)
def test_sockets_have_a_stock_control_or_that_of_the_module(options: dict[str, Any], control: str) -> None:
    assert planned(**options).congestion == control


@pytest.mark.parametrize("name", ["fixed", "dstcc", "mine"])
def test_a_control_that_the_kernel_has_not_is_refused(name: str) -> None:
    assert refused(congestion=name).startswith(
        f"--congestion {name}: the kernel has bbr, bic, cubic, newreno, vegas, "
    )


# ------------------------------------------------------------------------------------------------- what is refused


def test_what_is_for_trials_only_is_refused_by_its_key() -> None:
    flows = 'link.1.flows=[{congestion="cubic"}]'
    others = "others' traffic is what your programs send here"
    assert refused(flows) == f"short: link.1.flows: {others}"
    assert "link.0.rate_bps: a rate over time is for trials only" in refused(
        "link.0.rate_bps=[[0,1e6],[9,2e6]]"
    )


def many(links: int) -> Scenario:
    document = parse_toml(SHORT.read_text())
    document["link"] = [{"name": f"l{n}", "rate_bps": 1e6, "delay_s": 1} for n in range(links)]
    return parse_scenario(document, source="many")


def test_there_are_so_many_links_at_most() -> None:
    plan(many(16), Options(("true",)))
    with pytest.raises(InputError, match=r"short: link: 17 links; at most 16 here"):
        plan(many(17), Options(("true",)))
    plan(many(9), Options(("true",), mptcp=True))
    with pytest.raises(InputError, match=r"short: link: 10 links; --mptcp uses at most 9"):
        plan(many(10), Options(("true",), mptcp=True))


# ---------------------------------------------------------------------------------------------------------- memory


def test_memory_is_of_programs_disks_rings_and_what_is_in_flight() -> None:
    """192 and 768 MB, 256 a host; ten a ring, of which a link has four; six bytes for a byte on its way: of each way
    250,000 in light or 125,000, and queues of 166 packets of 1,500 bytes (250,000 // 1,500)."""
    mission = planned()
    fixed = 192 + 768 + 2 * 256
    flying = 2 * (2e6 * 0.5 / 8 + 1e6 * 1.0 / 8)
    queues = sum(way.queue_packets * 1500 for link in mission.links for way in (link.down, link.up))
    assert memory_mb(mission) == ceil(fixed + 6 * (flying + queues) / MB)
    assert memory_mb(replace(mission, capture=True)) - memory_mb(mission) == 4 * 10 * 2
    assert out_mb(mission) == 3 * 2 * 256 + 1024
    assert out_mb(replace(mission, capture=True)) == 3 * 2 * 256 + 1024 + 64 * 1024


def test_what_nodes_store_takes_memory_twice_as_far_as_it_can_come(tmp_path: Path) -> None:
    mission = planned(scenario=STORE)
    assert mission.network is not None
    bare = replace(mission, network=replace(mission.network, storage_bytes=(0, 0, 0)))
    large = replace(mission, network=replace(mission.network, storage_bytes=(0, 30 * MB, 20 * MB)))
    assert memory_mb(large) - memory_mb(bare) == 100
    coming_bps = sum(link.down.rate_bps + link.up.rate_bps for link in mission.links)
    short = replace(large, until_ns=10**9)
    assert coming_bps / 8 < 50 * MB
    assert memory_mb(short) - memory_mb(bare) == pytest.approx(2 * coming_bps / 8 / MB, abs=1.01)


def test_a_network_has_its_nodes_as_hosts_and_its_paths_light_time() -> None:
    mission = planned(scenario=STORE)
    assert mission.hosts == ("rover", "orbiter", "earth")
    assert mission.programs[0].host == "rover"
    assert all(link.played and link.config for link in mission.links)
    assert {step.loss for link in mission.links for step in link.down.steps} <= {0.0, 1.0}
    light_ns = sum(link.down.steps[0].delay_ns for link in mission.links)
    assert mission.longest_ns == pytest.approx(light_ns, abs=2)


def test_a_moving_delay_is_followed_for_as_long_as_the_run() -> None:
    moving = "link.0.delay_s=[[0,1],[1000,1.25]]"
    whole, part = planned(moving), planned(moving, for_s=100.0)
    assert whole.links[0].down.steps[-1].from_ns == 999 * 10**9, "a quarter of a second is a thousand steps"
    assert part.links[0].down.steps[-1].from_ns < 100 * 10**9
    assert len(planned("link.0.delay_s=[[0,1],[1000,1]]").links[0].down.steps) == 1
    # 125 ms are 500 quarters of a millisecond; up and down again counts
    for delays_ms, steps in (
        *(((1000,), 500), ((1000, 1125), 500), ((1000, 1060, 1000, 1005), 500)),
        *(((1000, 1060, 1000, 1005.25), 501), ((1000, 1125.25), 501), ((1000, 9000), MOST_STEPS)),
    ):
        assert planning._steps(SimpleNamespace(delay_ns=tuple(round(ms * 1e6) for ms in delays_ms))) == steps  # type: ignore[arg-type]


def test_both_ways_have_the_outages() -> None:
    mission = planned("link.0.outages=[[10,20]]", "run.scale=1")
    for way in (mission.links[0].down, mission.links[0].up):
        assert [(step.from_ns // 10**9, step.loss) for step in way.steps] == [(0, 0.0), (10, 1.0), (20, 0.0)]


# ------------------------------------------------------------------------------------------------------- [programs]


def test_a_file_says_what_runs() -> None:
    document = parse_toml(SHORT.read_text())
    document["programs"] = {
        **{"run": "{python} -c 'print({rtt_s}, {scale}, {seed})'", "on": {"earth": "sleep '1 2'"}},
        **{"congestion": "bbr", "mptcp": True, "disk_mb": 77},
        **{"env": {"A": 5, "B": True}, "sysctl": {"net.ipv4.tcp_sack": 0}},
    }
    options = options_of(parse_scenario(document, source="short"), "/py")
    assert options.command == ("/py", "-c", "print(2, 1, 1)")
    assert options.on == (("earth", shlex.join(["sleep", "1 2"])),)
    assert (options.congestion, options.mptcp, options.disk_mb) == ("bbr", True, 77)
    assert options.environment.keys() == {"A", "B"} and options.environment["A"] == "5"
    assert options.sysctls == {"net.ipv4.tcp_sack": "0"}


def test_without_programs_nothing_runs() -> None:
    with pytest.raises(InputError, match=r"short: programs: missing"):
        options_of(load_scenario(SHORT, []))
