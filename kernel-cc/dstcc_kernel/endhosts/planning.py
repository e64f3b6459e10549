"""From a scenario and command lines to a mission: what the links do, when all ends, what may be refused at once.

Of a scenario the links count, and of ``[transport]`` ``mss_bytes`` (the links' MTU is 40 more), ``initial_cwnd`` and
``receive_buffer_bytes``; the programs bring the rest. Queues and losses are about full packets both ways, as either end
may be the one that sends.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any

from dstcc.engine.config import Link
from dstcc.errors import InputError
from dstcc.scenario import Scenario, draw_links, rtt_s, scale_of
from dstcc.scenario.draws import draw_lines
from dstcc.scenario.programs import Programs, text_of
from dstcc.wire import HEADER_BYTES

from .. import guest, source
from ..capture import RING_MB
from ..captured import CAPTURES_MB
from ..elf import is_static
from ..job import LinkJob
from ..link_plan import link_lines
from ..names import CONGESTION, changing_rate
from ..nodes import misfit, network_of
from ..path_manager import MAX_PM_SUBFLOWS
from ..plan import (
    BUFFER_FACTOR,
    LEAST_BUFFER,
    LEAST_TIMERS,
    MAX_BUFFER,
    MOST_TIMERS,
    MPTCP_TIMER_S,
    PACKET_MEMORY,
    delay_rows,
    ways_of,
)
from .mission import EARTH, HERE, HOSTS, Mission, Program
from .naming import hosts_of, slug

PROGRAMS_RTT_S = 10.0
"""Longest emulated round trip under the scale ``auto``: programs have timeouts of their own. iperf3, rsync's daemon and
nginx give up at 40 s (``experiments/program_timeouts.py``), and pass at 20 s."""
MAX_LINKS = 16
"""And paths over nodes."""
OTHERS = "others' traffic is what your programs send here"
STORED_MEMORY = 2.0
"""Bytes of memory that the program which plays the links takes for a byte that a node stores, of full packets."""
LONGEST_S = 365 * 86_400.0
"""Emulated seconds that a guest's clock is let run."""
SAMPLES_PER_RTT = 10
DELAY_STEP_NS, LEAST_STEPS, MOST_STEPS = 250_000, 500, 20_000
"""A moving delay is followed in steps of a quarter of a millisecond one way, or as finely as these numbers let."""
BASE_MB, PROGRAMS_MB = 192, 768
"""Of a guest: kernel and what runs in it; the programs."""
RINGS = 4
"""Of a link's capture: two devices an end."""

SAMPLES_MB = 1024
"""Of a run's folder: what thousands of sockets, sampled some hundred times, and a hundred million packets take."""


@dataclass(frozen=True)
class Options:
    """What a command line says beside the scenario."""

    command: tuple[str, ...]
    earth: tuple[str, ...] = ()
    """Command lines, as a shell would split them."""
    on: tuple[tuple[str, str], ...] = ()
    """Likewise, each with the node that it is for."""
    for_s: float | None = None
    """Mission time at which all ends."""
    congestion: str | None = None
    mptcp: bool = False
    pcapng: bool = False
    disk_mb: int = 256
    module: Path | None = None
    bpf: Path | None = None
    shell: str | None = None
    """The host of a shell on a terminal, in the place of ``command``: "": where paths begin."""
    here: Path = field(default_factory=Path.cwd)
    """The folder that relative programs are of."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """That all programs have beside ours."""
    sysctls: Mapping[str, str] = field(default_factory=dict)
    """Settings of the network (``net.ipv4.tcp_sack``) that all hosts have beside ours."""


def options_of(scenario: Scenario, python: str = sys.executable) -> Options:
    """What ``[programs]`` of a scenario says, with a Python for ``{python}``; raises :class:`InputError` where there is
    none."""
    programs = scenario.programs
    if programs is None:
        raise InputError(
            f"{scenario.scenario.name}: programs: missing; [programs] says what runs on the hosts"
        )
    given: dict[str, Any] = {
        "python": python,
        "rtt_s": max(map(rtt_s, draw_links(scenario, scenario.run.seed))),
        "scale": scale_of(scenario, PROGRAMS_RTT_S),
        "seed": scenario.run.seed,
    }
    command, others = programs.command_lines(given)
    return Options(
        command=command,
        on=tuple((host, shlex.join(words)) for host, words in others),
        congestion=programs.congestion,
        mptcp=programs.mptcp,
        disk_mb=programs.disk_mb,
        here=Path(programs.folder),
        environment={name: text_of(value) for name, value in programs.env.items()},
        sysctls={name: text_of(value) for name, value in programs.sysctl.items()},
    )


def meaning(programs: Programs | None) -> AbstractContextManager[None]:
    """Mean the kernel that ``[programs]`` names, if it names one, in a block."""
    named = None if programs is None else programs.kernel
    return nullcontext() if named is None else source.using(named)


def plan(scenario: Scenario, options: Options) -> Mission:
    """The mission of the scenario's seed. Raises :class:`InputError` for what cannot be."""
    links, scale = links_of(scenario), scale_of(scenario, PROGRAMS_RTT_S)
    _check(scenario, links, options)
    hosts = hosts_of([node.name for node in scenario.node]) if scenario.node else HOSTS
    network = network_of(scenario, hosts, scale) if scenario.node else None
    for_s = options.for_s if options.for_s is not None else scenario.scenario.duration_s
    if for_s is not None and for_s / scale > LONGEST_S:
        raise InputError(
            f"--for {for_s:g}: {for_s / scale:.4g} emulated s; a guest's clock runs {LONGEST_S:g} s"
        )
    paths = draw_links(scenario, scenario.run.seed)
    transport, longest_s = scenario.transport, max(map(rtt_s, paths)) / scale
    flights = [link.rate_bps * rtt_s(link) / 8 for link in paths]
    first = hosts[0] if network is None else hosts[network.source]
    if options.shell:
        first = _host(options.shell, hosts, "--on")
    programs = programs_of(options, hosts, first)
    return Mission(
        scale=scale,
        seed=scenario.run.seed,
        clock_s=_clock_s(scenario),
        links=tuple(
            _link(link, transport.mss_bytes + HEADER_BYTES, scale, for_s, played=network is not None)
            for link in links
        ),
        mtu=transport.mss_bytes + HEADER_BYTES,
        initial_cwnd=transport.initial_cwnd,
        buffer_bytes=_buffer(links, flights, transport.receive_buffer_bytes),
        unsent_bytes=max(transport.mss_bytes * transport.initial_cwnd, *map(round, flights)),
        stale_timers=min(MOST_TIMERS, max(LEAST_TIMERS, ceil(longest_s / MPTCP_TIMER_S))),
        congestion=_congestion(options),
        programs=programs,
        environment={**_environment(scenario, scale), **options.environment}
        | _prompt(scenario, scale, options),
        until_ns=None if for_s is None else round(for_s / scale * 1e9),
        linger_ns=round(longest_s * 1e9) if len(programs) > 1 else 0,
        sample_ns=max(1_000_000, round(longest_s / SAMPLES_PER_RTT * 1e9)),
        disk_mb=options.disk_mb,
        mptcp=options.mptcp,
        capture=options.pcapng,
        terminal=options.shell is not None,
        hosts=hosts,
        network=network,
        sysctls={name.replace(".", "/"): value for name, value in options.sysctls.items()},
        longest_ns=0 if network is None else round(longest_s * 5e8),
    )


def links_of(scenario: Scenario) -> tuple[Link, ...]:
    """The links of a seed, each by itself, whatever path goes over it."""
    return (draw_lines if scenario.node else draw_links)(scenario, scenario.run.seed)


def programs_of(options: Options, hosts: Sequence[str], first: str) -> tuple[Program, ...]:
    """All programs, that of the ``first`` host before the others; raises :class:`InputError` for one that is not there,
    or whose host is not, and with ``--mptcp`` for one that is statically linked."""
    found = [Program(first, _found(options.command, "CMD", options))]
    others = [("--earth", EARTH, text) for text in options.earth]
    for option, node, text in (*others, *(("--on", node, text) for node, text in options.on)):
        host = _host(node, hosts, option)
        try:
            words = tuple(shlex.split(text))
        except ValueError as error:
            raise InputError(f"{option} {text}: {str(error).lower()}") from None
        found.append(Program(host, _found(words, option, options)))
    return tuple(found)


def _host(node: str, hosts: Sequence[str], option: str) -> str:
    """The host of a node, by either's name."""
    host = node if node in hosts else slug(node)
    if host not in hosts:
        named = f"{option} {node}" if option == "--on" else option
        raise InputError(f"{named}: the hosts are {', '.join(hosts)}")
    return host


def memory_mb(mission: Mission) -> int:
    """What the guest needs at most; what it does not touch costs nothing."""
    in_flight = sum(
        (way.rate_bps * max(step.delay_ns for step in way.steps) / 8e9 + way.queue_packets * mission.mtu)
        for link in mission.links
        for way in (link.down, link.up)
    )
    rings = RINGS * RING_MB * len(mission.links) if mission.capture else 0
    stored = PACKET_MEMORY * in_flight + STORED_MEMORY * _storage(mission)
    return ceil(BASE_MB + PROGRAMS_MB + len(mission.hosts) * mission.disk_mb + rings + stored / 1e6)


def _storage(mission: Mission) -> float:
    """Bytes that nodes may come to hold."""
    if mission.network is None:
        return 0.0
    coming = sum((link.down.rate_bps + link.up.rate_bps) / 8 for link in mission.links)
    most = float("inf") if mission.until_ns is None else coming * mission.until_ns / 1e9
    return min(most, float(sum(mission.network.storage_bytes)))


def out_mb(mission: Mission) -> int:
    """What a run may leave on the disk: the hosts' files, their logs, the first program's output as it is, samples,
    captures."""
    captures = CAPTURES_MB if mission.capture else 0
    return 3 * len(mission.hosts) * mission.disk_mb + SAMPLES_MB + captures


def _check(scenario: Scenario, links: Sequence[Link], options: Options) -> None:
    name, paths = scenario.scenario.name, len(scenario.ways)
    problem = misfit(scenario) if scenario.node else changing_rate(scenario)
    if problem is not None:
        raise InputError(f"{name}: {problem}")
    what = "path" if scenario.node else "link"
    if paths > MAX_LINKS:
        raise InputError(f"{name}: {what}: {paths} {what}s; at most {MAX_LINKS} here")
    if options.mptcp and paths > MAX_PM_SUBFLOWS + 1:
        raise InputError(f"{name}: {what}: {paths} {what}s; --mptcp uses at most {MAX_PM_SUBFLOWS + 1}")
    if any(path.flows for path in scenario.path):
        index = next(index for index, path in enumerate(scenario.path) if path.flows)
        raise InputError(f"{name}: path.{index}.flows: {OTHERS}")
    for index, link in enumerate(scenario.link if not scenario.node else ()):
        for key in ("flows", "cross_traffic", "mix"):
            if getattr(link, key):
                raise InputError(f"{name}: link.{index}.{key}: {OTHERS}")


def _congestion(options: Options) -> str:
    """The kernel's name of the control that sockets have unless a program asks for another."""
    own = options.module is not None or options.bpf is not None
    if options.congestion is None:
        return "" if own else "cubic"
    stock = {name: theirs for name, theirs in CONGESTION.items() if theirs != "dstcc"}
    if own:
        return stock.get(options.congestion, options.congestion)
    if options.congestion not in stock:
        raise InputError(f"--congestion {options.congestion}: the kernel has {', '.join(stock)}")
    return stock[options.congestion]


def _found(words: Sequence[str], option: str, options: Options) -> tuple[str, ...]:
    """A command line whose program exists; one that was named relative to the run's folder by its place there."""
    if not words:
        raise InputError(f"{option}: is empty")
    program = words[0]
    if "/" in program:
        path = Path(program)
        place = path if path.is_absolute() else options.here / path
        if not place.is_file():
            raise InputError(f"{option}: {program}: no such program")
        if not os.access(place, os.X_OK):
            raise InputError(f"{option}: {program}: may not be executed (chmod +x)")
        named = program if path.is_absolute() else str(HERE / path)
    else:
        on_path = shutil.which(program, path=_search())
        if on_path is None:
            raise InputError(f"{option}: {program}: no such program on this machine (looked in {_search()})")
        place, named = Path(on_path), program
    if options.mptcp and is_static(place):
        raise InputError(
            f"{option}: {program}: is statically linked, so that --mptcp, which works through a preloaded library, "
            "cannot make its sockets MPTCP's"
        )
    return (named, *words[1:])


def _search() -> str:
    """The user's ``PATH``, and root's behind it."""
    own = [part for part in os.environ.get("PATH", "").split(":") if part.startswith("/")]
    return ":".join(dict.fromkeys([*own, *guest.SEARCH.split(":")]))


def _environment(scenario: Scenario, scale: float) -> dict[str, str]:
    return {
        "PATH": _search(),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "USER": "root",
        "LOGNAME": "root",
        "SHELL": "/bin/sh",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "DSTCC_HERE": str(HERE),
        "DSTCC_SCALE": f"{scale:g}",
        "DSTCC_SEED": str(scenario.run.seed),
    }


SHELL = ("bash", "--norc", "--noprofile", "-i")


def _prompt(scenario: Scenario, scale: float, options: Options) -> dict[str, str]:
    """Of a shell: mission time, to the millisecond, the host and the folder."""
    if options.shell is None:
        return {}
    begin_us = _clock_s(scenario) * 10**6
    ms = f"$(( (${{EPOCHREALTIME/./}} - {begin_us}) / 1000 * {round(scale * 1000)} / 1000 ))"
    return {
        "TERM": os.environ.get("TERM", "dumb"),
        "PROMPT_COMMAND": f"_ms={ms}; printf -v MISSION_S '%d.%03d' $((_ms / 1000)) $((_ms % 1000))",
        "PS1": "[+${MISSION_S} s] \\h:\\w\\$ ",
        "HISTFILE": "",
    }


def _clock_s(scenario: Scenario) -> int:
    start = scenario.scenario.start
    return guest.START_NS // 10**9 if start is None else int(start.timestamp())


def _buffer(links: Sequence[Link], flights: Sequence[float], limit: int | None) -> int:
    """Of a socket, as the kernel counts it: what fills the links and their queues, or twice the scenario's limit."""
    if limit:
        return min(MAX_BUFFER, 2 * limit)
    wanted = sum(flights) + sum(link.queue_bytes for link in links)
    return min(MAX_BUFFER, max(LEAST_BUFFER, round(BUFFER_FACTOR * wanted)))


def _link(link: Link, packet_bytes: int, scale: float, for_s: float | None, *, played: bool) -> LinkJob:
    horizon_s = max(link.delay_t_ns[-1] / 1e9, 1.0) if for_s is None else for_s
    delay = delay_rows(link, horizon_s, _steps(link))
    return LinkJob(
        link.name,
        *ways_of(link, delay, scale, (packet_bytes, packet_bytes), lossless=played),
        config=tuple(link_lines(link, scale, queue_packets=0, played=True)) if played else (),
        played=played,
    )


def _steps(link: Link) -> int:
    """Into how many a moving delay is cut."""
    travelled = sum(abs(b - a) for a, b in zip(link.delay_ns, link.delay_ns[1:], strict=False))
    return min(MOST_STEPS, max(LEAST_STEPS, ceil(travelled / DELAY_STEP_NS)))
