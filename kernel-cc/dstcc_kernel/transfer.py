"""Carry a trial out: lay the links, start the transfer program between them, change the links as time goes by.

What runs here is the same in a guest and on a host; it needs to be root in its own network namespaces.
"""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from dstcc.errors import DstccError
from dstcc.wire import ENDS, HEADER_BYTES

from .capture import BEGAN, Capture, Ring
from .controller_process import Controller, controller_process
from .ground import Ground, build_ground, device_of, plan_lines
from .job import COUNTS, NEVER_NS, OBJECTS, RESULT, Job
from .layers import SCHEDULER
from .path_manager import MAX_PM_SUBFLOWS
from .topology import (
    Topology,
    Wire,
    backup_address,
    build,
    craft_address,
    earth_address,
    inside,
    shape,
)

FREE_BYTES = 12 + 24, 12 + 12
"""Of a data segment and of an ACK the options: timestamps, and MPTCP's mapping and acknowledgement, or the latter
alone."""
FIRST_PORT = 20_000
STALE = "net/mptcp/stale_loss_cnt"
PLACING = "net/mptcp/scheduler"
END_S = 1.0
"""From the transfer program's last word to its end."""
QUEUE_BYTES = 16
"""Of a link, in the file of :func:`queues_of`."""
HOP_NUMBERS, NODE_NUMBERS = 6, 7
"""Of a network's link both ways, and of a node, as the program that plays links counts them (``kernel-cc/links``)."""
PLAN, LINKS_PLAN, FLOWS_PLAN = "plan.txt", "links.txt", "flows.txt"
"""Of a trial's folder: what its program reads, the one that plays links, and that of others' connections."""


def carry(job: Job, folder: Path, controller_of: Callable[[Job], Controller] | None = None) -> None:
    """Run a trial whose ``objects.bin`` lies in ``folder``; leaves ``result.bin`` there.

    ``controller_of`` is called in the spacecraft's namespace. Raises :class:`~dstcc.errors.DstccError` with what the
    transfer program says when it fails.
    """
    buffer_bytes = max(job.receive_buffer_bytes, job.send_buffer_bytes)
    with laid(
        job, buffer_bytes, unsent_bytes=None if job.lanes else job.unsent_bytes, sysctls=_sysctls(job)
    ) as topology:
        with inside(topology.craft):
            controller = controller_of(job) if controller_of else None
        addresses, joins = _lay(topology, job)
        lines = partial(_plan_lines, job, folder, topology, addresses)
        conduct("the transfer program", job, folder, topology, lines, controller=controller, joins=joins)


RING = ".ring"
"""What the file of a device's packets ends with."""


def rings(job: Job) -> list[tuple[str, bool, bool]]:
    """The devices on which packets are kept, each with whether it is Earth's, and whether its link is played. Of a link
    that is netem's a host sends by one and hears by another, behind netem."""
    if job.network is not None:
        ends = [dict.fromkeys(path[end] for path in job.network.paths) for end in (0, -1)]
        return [
            (device_of(link), earth, True)
            for earth, links in zip((False, True), ends, strict=True)
            for link in links
        ]
    found = []
    for index, link in enumerate(job.links):
        names = ([] if link.played else [("up", False), ("down", True)]) + [("craft", False), ("earth", True)]
        found += [(f"{name}{index}", earth, link.played) for name, earth in names]
    return found


@contextmanager
def captured(job: Job, topology: Stand, folder: Path) -> Iterator[Capture | None]:
    """What keeps the packets of a trial while the block lasts, if that is asked for."""
    if not job.capture:
        yield None
        return
    made = []
    for name, earth, _played in rings(job):
        with inside(topology.earth if earth else topology.craft):
            made.append(Ring(name, folder / f"{ENDS[earth]}-{name}{RING}", job.capture_bytes))
    yield Capture(made, folder / BEGAN)
    lost = sum(ring.close() for ring in made)
    if lost:
        raise DstccError(f"{lost} packets found no room in the capture")


Stand = Topology | Ground
"""What both ends stand on."""


@contextmanager
def laid(
    job: Job, buffer_bytes: int, *, unsent_bytes: int | None = None, sysctls: Mapping[str, str]
) -> Iterator[Stand]:
    """The job's two hosts, or its network's nodes, still without links; gone when the block ends."""
    if job.network is not None:
        with build_ground(job.network, buffer_bytes, unsent_bytes=unsent_bytes, sysctls=sysctls) as ground:
            yield ground
        return
    with build(
        buffer_bytes, unsent_bytes=unsent_bytes, sysctls=sysctls, middle=job.player is not None
    ) as topology:
        yield topology


def lay_links(stand: Stand, job: Job, sources: Sequence[Sequence[str]], free_bytes: tuple[int, int]) -> None:
    """Lay the links, whose spacecraft's ends, or those of the paths over nodes, have these addresses. Of a packet's IP
    length on the way down and up so many bytes are free."""
    if isinstance(stand, Ground):
        mtu = _wire(job, 0, free_bytes).mtu
        stand.lay(mtu, job.initial_cwnd, dict(enumerate(sources)), job.rto_min_ms)
        return
    for index, own in enumerate(sources):
        stand.lay(index, _wire(job, index, free_bytes), own)


def conduct(
    name: str,
    job: Job,
    folder: Path,
    topology: Stand,
    lines: Callable[[tuple[int, ...]], Iterable[str]],
    *,
    controller: Controller | None = None,
    joins: Sequence[_Join] = (),
    queues: int | None = None,
) -> None:
    """Start the job's program on its plan, accompany it, and judge how it ended.

    ``lines`` are the plan's, of the pipes to the process of the ``controller``, if there is one. The program gets
    these, the hosts' namespaces, and with who plays the links ``queues``, in which that says how long they are. Raises
    :class:`~dstcc.errors.DstccError` with what it says when it fails, or with its ``name``.
    """
    plan = folder / PLAN
    with controller_process(controller, folder) as process, captured(job, topology, folder) as capture:
        ends: tuple[int, ...] = process.ends if process is not None else ()
        plan.write_text("\n".join(lines(ends)) + "\n")
        with (
            beside(*_player(job, topology, queues), folder / LINKS_PLAN) as player,
            beside(*_flows(job, topology), folder / FLOWS_PLAN) as flows,
        ):
            program = subprocess.Popen(
                [job.program, str(plan)],
                pass_fds=(topology.craft, topology.earth, *ends, *_given(queues)),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            try:
                if process is not None:
                    process.let_go()
                with _counts(job, player, folder / COUNTS) as count:
                    others = [each for each in (player, flows) if each is not None]
                    accompany(program, job, topology, joins, others=others, count=count, capture=capture)
                with suppress(subprocess.TimeoutExpired):
                    program.wait(timeout=END_S)
            finally:
                if program.poll() is None:
                    program.kill()
                _, said = program.communicate()
        _judge(name, program.returncode, said)


@contextmanager
def beside(
    name: str, program: str | None, lines: Iterable[str], spaces: Sequence[int], plan: Path
) -> Iterator[subprocess.Popen[str] | None]:
    """A program that runs on the ``lines`` of its plan while the block lasts, if there is any: it is told the trial's
    time 0 on its standard input. Raises :class:`~dstcc.errors.DstccError` with what it says when it fails."""
    if program is None:
        yield None
        return
    plan.write_text("\n".join(lines) + "\n")
    process = subprocess.Popen(
        [program, str(plan)],
        pass_fds=spaces,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    said = ""
    try:
        yield process
    finally:
        try:
            _, said = process.communicate(timeout=END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
    _judge(name, process.returncode, said)


Beside = tuple[str, str | None, Iterable[str], Sequence[int]]


@contextmanager
def queues_of(job: Job) -> Iterator[int | None]:
    """A file that two programs map (``kernel-cc/links/queues.hpp``), where others' TCP shares the job's links."""
    if not job.flows:
        yield None
        return
    file = os.memfd_create("queues")
    try:
        os.ftruncate(file, QUEUE_BYTES * max(len(job.links), len(job.lines)))
        yield file
    finally:
        os.close(file)


def _given(*files: int | None) -> tuple[int, ...]:
    return tuple(file for file in files if file is not None)


@contextmanager
def _counts(
    job: Job, player: subprocess.Popen[str] | None, path: Path
) -> Iterator[Callable[[int], None] | None]:
    """What writes a row of the file: a time, and what a network's links and nodes count then; the last is the end's."""
    if job.network is None:
        yield None
        return
    assert player is not None and player.stdin is not None and player.stdout is not None
    asking = player.stdin
    size = 8 * (HOP_NUMBERS * len(job.lines) + NODE_NUMBERS * len(job.network.nodes))
    with path.open("wb") as file, open(player.stdout.fileno(), "rb", closefd=False) as said:

        def count(now: int) -> None:
            with suppress(BrokenPipeError):  # how it ended is judged at the end
                asking.write("hops\n")
                asking.flush()
                file.write(now.to_bytes(8, "little") + said.read(size))

        yield count


def _player(job: Job, topology: Stand, queues: int | None) -> Beside:
    lines = _played_lines(job, topology, queues)
    return "the program that plays links", job.player, lines, _given(topology.middle, queues)


def _played_lines(job: Job, topology: Stand, queues: int | None) -> Iterator[str]:
    full = job.mss_bytes + HEADER_BYTES
    head = (
        f"namespace {topology.middle}",
        *(f"queues {file}" for file in _given(queues)),
        f"seed {job.seed}",
        f"bytes {full} {HEADER_BYTES} {job.free_bytes[0]} {job.free_bytes[1]}",
    )
    if job.network is not None:
        yield from plan_lines(job.network, job.lines, head)
        return
    yield from head
    for index, link in enumerate(job.links):
        if link.played:
            yield from link.config
            yield f"number {index}"


def _flows(job: Job, topology: Stand) -> Beside:
    spaces = (topology.craft, topology.earth)
    lines = (
        f"namespaces {topology.craft} {topology.earth}",
        f"segments {job.mss_bytes} {HEADER_BYTES} {job.seed}",
        *job.flows,
    )
    return "the program of others' connections", job.flows_program, lines, spaces


def _judge(name: str, returncode: int, said: str) -> None:
    if returncode < 0:
        raise DstccError(f"{name} was ended by signal {-returncode}")
    if returncode != 0:
        raise DstccError(said.strip() or f"{name} ended with {returncode}")


def _sysctls(job: Job) -> dict[str, str]:
    """Of both ends."""
    several = job.backups if job.lanes else sum(link.subflows for link in job.links) > 1
    return {
        **({STALE: str(job.stale_timers)} if several else {}),
        **({PLACING: SCHEDULER} if job.placed else {}),
        **job.sysctls,
    }


@dataclass(frozen=True)
class _Join:
    """A later subflow, or a lane's backup, that may begin from a time on."""

    from_ns: int
    number: int
    address: str
    backup: bool


def _lay(topology: Stand, job: Job) -> tuple[list[tuple[str, int]], list[_Join]]:
    """Lay all links; (address, subflow number) of the spacecraft, and what is to join later."""
    addresses: list[tuple[str, int]] = []
    all_sources: list[list[str]] = []
    joined: list[tuple[int, str]] = []  # from when on, and the address
    number = 0
    backups = job.lanes and job.backups and 1 < len(job.links) <= MAX_PM_SUBFLOWS
    for index, link in enumerate(job.links):
        sources = [craft_address(index, k) for k in range(link.subflows)]
        addresses += [(source, number + k) for k, source in enumerate(sources)]
        if not job.lanes:
            joined += [(link.joins_ns, source) for k, source in enumerate(sources) if number + k > 0]
        if backups:
            sources.append(backup_address(index))
            addresses.append((sources[-1], number))
            joined.append((0, sources[-1]))
        all_sources.append(sources)
        number += link.subflows
    lay_links(topology, job, all_sources, FREE_BYTES)
    topology.allow_joins()
    joins = [_Join(at, id_, address, job.lanes) for id_, (at, address) in enumerate(joined, start=1)]
    for join in joins:
        if join.from_ns == 0:
            topology.join(join.number, join.address, backup=join.backup)
    return addresses, [join for join in joins if 0 < join.from_ns < NEVER_NS]


def _wire(job: Job, index: int, free_bytes: tuple[int, int]) -> Wire:
    return Wire(
        down=shape(job.links, job.seed, index, 0, up=False),
        up=shape(job.links, job.seed, index, 0, up=True),
        mtu=job.mss_bytes + HEADER_BYTES + free_bytes[0],
        down_free_bytes=free_bytes[0],
        up_free_bytes=free_bytes[1],
        initial_cwnd=job.initial_cwnd,
        rto_min_ms=job.rto_min_ms,
        played=job.links[index].played,
    )


def _devices(job: Job, link: int) -> str:
    """Where packets are seen to leave and to arrive, and ACKs to arrive, behind netem or the program; and of a packet's
    IP length what the line does not count, or that a packet weighs its payload and one header."""
    if job.network is not None:
        first, last = (device_of(job.network.paths[link][end]) for end in (0, -1))
        return f"{first} {last} {first} -1"
    if job.links[link].played:
        return f"craft{link} earth{link} craft{link} -1"
    return f"earth{link} down{link} up{link} {FREE_BYTES[0]}"


def accompany(
    program: subprocess.Popen[str],
    job: Job,
    topology: Stand,
    joins: Sequence[_Join] = (),
    *,
    others: Sequence[subprocess.Popen[str]] = (),
    count: Callable[[int], None] | None = None,
    capture: Capture | None = None,
) -> None:
    """Change the links when it is time, and let subflows join, until the program ends. ``others`` hear its begin, and
    ``count`` each slot's end and the program's; ``capture`` takes packets as they come."""
    assert program.stdout is not None
    began = program.stdout.readline()
    if not began:
        return
    for other in others:
        assert other.stdin is not None
        with suppress(BrokenPipeError):  # how it ended is judged at the end
            other.stdin.write(began)
            other.stdin.flush()
    start_ns = int(began)
    taking: Sequence[Ring] = capture.rings if capture is not None else ()
    if capture is not None:
        capture.begin(start_ns)
    due = topology.changes(job.links, job.seed) if isinstance(topology, Topology) else []
    due += [(it.from_ns, partial(topology.join, it.number, it.address, backup=it.backup)) for it in joins]
    due.sort(key=lambda entry: entry[0])
    slot_ns = job.slot_ns
    while True:
        next_ns = min([at for at, _ in due[:1]] + ([slot_ns] if count else []), default=None)
        left_s = None if next_ns is None else max(0.0, (start_ns + next_ns - time.monotonic_ns()) / 1e9)
        watched: list[Ring | IO[str]] = [program.stdout, *taking]
        ready, _, _ = select.select(watched, [], [], left_s)
        for one in ready:
            if isinstance(one, Ring):
                one.take()
        if program.stdout in ready:
            if count:
                count(time.monotonic_ns() - start_ns)
            return
        while due and start_ns + due[0][0] <= time.monotonic_ns():
            due.pop(0)[1]()
        if count and start_ns + slot_ns <= time.monotonic_ns():
            count(slot_ns)
            slot_ns += job.slot_ns


def _plan_lines(
    job: Job, folder: Path, topology: Stand, addresses: list[tuple[str, int]], pipes: tuple[int, ...]
) -> Iterator[str]:
    yield f"namespaces {topology.craft} {topology.earth}"
    if pipes:
        yield f"steer {pipes[0]} {pipes[1]}"
    yield f"congestion {job.congestion}"
    yield f"result {folder / RESULT}"
    settings = {
        "lanes": job.lanes,
        "layer_first": job.layer_first,
        "drop_late": job.drop_late,
        "rotate": job.rotate,
        "shared": job.shared,
        "placed": job.placed,
        "rate": job.rate,
        "rotating": job.rotating,
        "mss": job.mss_bytes,
        "header_bytes": HEADER_BYTES,
        "receive_buffer": job.receive_buffer_bytes,
        "send_buffer": job.send_buffer_bytes,
        "tick": job.tick_ns,
        "slot": job.slot_ns,
        "duration": job.duration_ns,
        "stall": job.stall_ns,
        "seed": job.seed,
        "ledger": job.ledger,
    }
    yield from (f"{name} {int(value)}" for name, value in settings.items())
    for link in job.layer_links:
        yield f"layer {link}"
    for index, link_job in enumerate(job.links):
        for k in range(link_job.subflows):
            yield f"subflow {index} {craft_address(index, k)}"
    for address, number in addresses:
        yield f"address {address} {number}"
    for index, link_job in enumerate(job.links):
        yield from link_job.config
        yield f"devices {earth_address(index)} {_devices(job, index)}"
    lanes = job.lanes_per_link if job.lanes else 1
    for lane in range(lanes * (len(job.links) if job.lanes else 1)):
        link_index = lane // lanes
        opens_ns = job.links[link_index].opens_ns
        yield f"lane {link_index} {craft_address(link_index)} {FIRST_PORT + lane} {opens_ns}"
    for start, end in job.outages_ns:
        yield f"outage {start} {end}"
    for payload in job.payloads:
        yield f"payload {payload}"
    yield f"objects {folder / OBJECTS}"
