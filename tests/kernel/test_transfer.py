"""What a trial's program is told and given, how it is accompanied and judged, without a guest."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dstcc_kernel import topology, transfer
from dstcc_kernel.job import NEVER_NS, Job, LinkJob, Step, Way
from dstcc_kernel.netem import stream
from dstcc_kernel.network import Network
from dstcc_kernel.topology import Topology

from dstcc.errors import DstccError

MS = 10**6
STAND: Any = SimpleNamespace(craft=11, earth=12, middle=13)
"""Two hosts' namespaces, as open files."""


def way(*steps: tuple[int, int, float], rate_bps: float = 1e6, queue: int = 50) -> Way:
    return Way(rate_bps, queue, tuple(Step(*step) for step in steps or ((0, 5 * MS, 0.0),)))


def link(name: str, **changes: Any) -> LinkJob:
    return LinkJob(
        name, **{"down": way(rate_bps=2e6, queue=60), "up": way(rate_bps=1e6, queue=70), **changes}
    )


def job(*links: LinkJob, **changes: Any) -> Job:
    """Numbers that are all different."""
    given: dict[str, Any] = {
        **{"congestion": "reno", "lanes": False, "lanes_per_link": 3, "rotate": True, "layer_first": False},
        **{"drop_late": True, "backups": False, "layer_links": (), "stale_timers": 21, "mss_bytes": 1400},
        **{"initial_cwnd": 22, "receive_buffer_bytes": 1023, "send_buffer_bytes": 1024, "unsent_bytes": 25},
        **{"tick_ns": 26, "slot_ns": 27, "duration_ns": 28, "stall_ns": 29, "outages_ns": (), "payloads": ()},
        **{"program": "/program", "seed": 30, "rotating": 31, "links": links or (link("one"), link("two"))},
    }
    return Job(**{**given, **changes})


NODES = Network(
    nodes=("a", "b", "c"),
    ends=((0, 1), (1, 2), (0, 2)),
    paths=((0, 1), (2,)),
    names=("over b", "direct"),
    storage_bytes=(0, 9000, 0),
    config=("node 0", "node 1"),
)
"""Two paths from a to c, one over b."""


# ------------------------------------------------------------------------------------------------- what it is told


def test_a_program_is_told_of_its_job_line_by_line(tmp_path: Path) -> None:
    one = link("one", subflows=2, opens_ns=40, config=("link 1", ".rate 2"))
    given = job(
        one,
        link("two", config=("link 2",), played=True),
        layer_links=(1, 0),
        outages_ns=((5, 6), (7, NEVER_NS)),
        payloads=("/a", "/b"),
    )
    addresses = [("10.1.0.1", 0), ("10.1.1.1", 1)]
    assert list(transfer._plan_lines(given, tmp_path, STAND, addresses, (8, 9))) == [
        *("namespaces 11 12", "steer 8 9", "congestion reno", f"result {tmp_path}/result.bin"),
        *(
            "lanes 0",
            "layer_first 0",
            "drop_late 1",
            "rotate 1",
            "shared 0",
            "placed 0",
            "rate 0",
            "rotating 31",
        ),
        *("mss 1400", "header_bytes 40", "receive_buffer 1023", "send_buffer 1024"),
        *("tick 26", "slot 27", "duration 28", "stall 29", "seed 30", "ledger 0"),
        *("layer 1", "layer 0"),
        *("subflow 0 10.1.0.1", "subflow 0 10.1.1.1", "subflow 1 10.2.0.1"),
        *("address 10.1.0.1 0", "address 10.1.1.1 1"),
        *(
            "link 1",
            ".rate 2",
            "devices 10.1.0.2 earth0 down0 up0 36",
        ),  # 12 bytes of timestamps, 24 of MPTCP's
        *("link 2", "devices 10.2.0.2 craft1 earth1 craft1 -1"),
        "lane 0 10.1.0.1 20000 40",
        *(
            "outage 5 6",
            f"outage 7 {NEVER_NS}",
            "payload /a",
            "payload /b",
            f"objects {tmp_path}/objects.bin",
        ),
    ]
    flags = ("layer_first", "shared", "placed", "rate", "ledger")
    said = list(transfer._plan_lines(job(**dict.fromkeys(flags, True)), tmp_path, STAND, [], ()))
    assert {f"{name} 1" for name in flags} <= {*said} and not any(line.startswith("steer") for line in said)


def test_each_lane_has_its_links_address_and_a_port_of_its_own(tmp_path: Path) -> None:
    given = job(link("one", opens_ns=40), link("two", opens_ns=50), lanes=True, lanes_per_link=2)
    said = list(transfer._plan_lines(given, tmp_path, STAND, [], ()))
    assert [line for line in said if line.startswith("lane ")] == [
        *("lane 0 10.1.0.1 20000 40", "lane 0 10.1.0.1 20001 40"),
        *("lane 1 10.2.0.1 20002 50", "lane 1 10.2.0.1 20003 50"),
    ]
    assert "lanes 1" in said


def test_packets_over_nodes_are_seen_on_the_first_and_the_last_link() -> None:
    given = job(network=NODES)
    assert transfer._devices(given, 0) == "link1 link2 link1 -1"
    assert transfer._devices(given, 1) == "link3 link3 link3 -1"


def test_rings_are_where_packets_leave_and_arrive() -> None:
    assert transfer.rings(job(link("one"), link("two", played=True))) == [
        *(("up0", False, False), ("down0", True, False), ("craft0", False, False), ("earth0", True, False)),
        *(("craft1", False, True), ("earth1", True, True)),
    ]
    shared = replace(NODES, ends=((0, 1), (1, 2), (1, 2)), paths=((0, 1), (0, 2)))
    # both paths begin on the first link
    assert transfer.rings(job(network=shared)) == [
        *(("link1", False, True), ("link2", True, True), ("link3", True, True)),
    ]


def test_who_plays_links_is_told_of_those_that_are_played() -> None:
    one, two = link("one", config=("link 1",)), link("two", config=("link 2", ".x"), played=True)
    given = job(one, two, free_bytes=(3, 4), player="/player")
    name, program, lines, spaces = transfer._player(given, STAND, 17)
    assert (name, program, spaces) == ("the program that plays links", "/player", (13, 17))
    # a full packet is the MSS and a header of 40 bytes
    expected = ["namespace 13", "queues 17", "seed 30", "bytes 1440 40 3 4", "link 2", ".x", "number 1"]
    assert list(lines) == expected
    _, _, lines, spaces = transfer._player(
        replace(given, network=NODES, lines=(("l 0",), ("l 1",), ())), STAND, None
    )
    assert spaces == (13,)
    assert list(lines) == [
        *("namespace 13", "seed 30", "bytes 1440 40 3 4", "node 0", "node 1"),
        *("l 0", "number 0", "between 0 -1 1", "l 1", "number 1", f"between {(1 << 20) + 1} 1 -1"),
        *("number 2", "between 1 -1 -1"),
    ]


def test_who_has_others_connections_is_told_of_them() -> None:
    name, program, lines, spaces = transfer._flows(
        job(flows=("flow 1", "flow 2"), flows_program="/flows"), STAND
    )
    assert (name, program, spaces) == ("the program of others' connections", "/flows", (11, 12))
    assert list(lines) == ["namespaces 11 12", "segments 1400 40 30", "flow 1", "flow 2"]


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, {"net/mptcp/stale_loss_cnt": "21"}),
        ({"links": (link("one", subflows=1),)}, {}),
        ({"links": (link("one", subflows=2),)}, {"net/mptcp/stale_loss_cnt": "21"}),
        ({"lanes": True}, {}),
        ({"lanes": True, "backups": True}, {"net/mptcp/stale_loss_cnt": "21"}),
        (
            {"placed": True, "links": (link("one"),), "sysctls": {"net/x": "1"}},
            {"net/mptcp/scheduler": "dstcc", "net/x": "1"},
        ),
    ],
)
def test_both_ends_are_set_up_for_several_subflows(changes: dict[str, Any], wanted: dict[str, str]) -> None:
    assert transfer._sysctls(job(**changes)) == wanted


def test_queues_that_two_programs_map_have_sixteen_bytes_a_link() -> None:
    for given, size in (
        (job(flows=("f",)), 32),
        (job(flows=("f",), lines=((), (), ())), 48),
    ):
        with transfer.queues_of(given) as file:
            assert file is not None and os.fstat(file).st_size == size
        with pytest.raises(OSError):
            os.fstat(file)
    with transfer.queues_of(job()) as none:
        assert none is None


# --------------------------------------------------------------------------------------------------- how it is laid


class Laid:
    """In the topology's place: what was asked for, in order."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def lay(self, *what: Any) -> None:
        self.asked.append(("lay", *what))

    def allow_joins(self) -> None:
        self.asked.append(("allow",))

    def join(self, number: int, address: str, *, backup: bool) -> None:
        self.asked.append(("join", number, address, backup))


def test_a_streams_later_subflows_join_when_they_may() -> None:
    """The first needs no joining; of the others those that may at once do, and those that never may are left out."""
    links = (
        link("one", subflows=2, joins_ns=0),
        link("two", joins_ns=700),
        link("three", joins_ns=NEVER_NS),
    )
    stand: Any = Laid()
    addresses, joins = transfer._lay(stand, job(*links))
    assert addresses == [("10.1.0.1", 0), ("10.1.1.1", 1), ("10.2.0.1", 2), ("10.3.0.1", 3)]
    laid = [(index, own) for what, index, _, own in (one for one in stand.asked if one[0] == "lay")]
    assert laid == [(0, ["10.1.0.1", "10.1.1.1"]), (1, ["10.2.0.1"]), (2, ["10.3.0.1"])]
    assert stand.asked[3:] == [("allow",), ("join", 1, "10.1.1.1", False)]
    assert [(one.from_ns, one.number, one.address, one.backup) for one in joins] == [
        (700, 2, "10.2.0.1", False)
    ]


@pytest.mark.parametrize(
    ("count", "wanted", "has"),
    [(2, True, True), (8, True, True), (9, True, False), (1, True, False), (2, False, False)],
)
def test_lanes_have_a_backup_on_each_link_as_far_as_mptcp_knows_endpoints(
    count: int, wanted: bool, has: bool
) -> None:
    """Linux' MPTCP has eight."""
    stand: Any = Laid()
    addresses, joins = transfer._lay(stand, job(*map(link, "abcdefghi"[:count]), lanes=True, backups=wanted))
    own = [(f"10.{index + 1}.0.1", index) for index in range(count)]
    beside = [(f"10.{index + 1}.2.1", index) for index in range(count)] if has else []
    assert sorted(addresses) == sorted(own + beside) and joins == []
    asked = [one for one in stand.asked if one[0] == "join"]
    assert asked == [("join", index + 1, address, True) for address, index in beside]


def test_a_wire_is_the_links_first_step_with_the_jobs_headers() -> None:
    down = way((0, 5 * MS, 0.25), (9, 6 * MS, 0.5), rate_bps=2e6, queue=60)
    up = way((0, 7 * MS, 0.125), (9, 8 * MS, 1.0), rate_bps=1e6, queue=70)
    given = job(link("zero"), link("one", down=down, up=up, played=True), rto_min_ms=77)
    assert transfer.FREE_BYTES == (36, 24)
    wire = transfer._wire(given, 1, (32, 16))
    assert (wire.mtu, wire.initial_cwnd, wire.rto_min_ms, wire.played) == (1400 + 40 + 32, 22, 77, True)
    assert (wire.down_free_bytes, wire.up_free_bytes) == (32, 16)
    first = wire.down
    assert (first.delay_ns, first.loss, first.rate_bps, first.queue_packets) == (5 * MS, 0.25, 2e6, 60)
    assert (wire.up.delay_ns, wire.up.loss, wire.up.rate_bps, wire.up.queue_packets) == (
        7 * MS,
        0.125,
        1e6,
        70,
    )
    assert (first.seed, wire.up.seed) == (stream(30, 1, False, 0), stream(30, 1, True, 0))
    later = topology.shape(given.links, given.seed, 1, 1, up=True)
    assert (later.delay_ns, later.loss, later.seed) == (8 * MS, 1.0, stream(30, 1, True, 1))


# ------------------------------------------------------------------------------------------------ how it is judged


def test_how_a_program_ended_is_said() -> None:
    transfer._judge("the program", 0, "words that are no fault")
    for code, words, said in (
        (-9, "not heard", "the program was ended by signal 9"),
        (3, " a reason \n", "a reason"),
        (3, "\n", "the program ended with 3"),
    ):
        with pytest.raises(DstccError) as raised:
            transfer._judge("the program", code, words)
        assert str(raised.value) == said


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_a_program_beside_has_its_plan_and_ends_with_the_block(tmp_path: Path) -> None:
    plan, out = tmp_path / "plan", tmp_path / "out"
    one = script(tmp_path / "one", f"cat $1 > {out}; read t; echo told $t >> {out}")
    with transfer.beside("it", one, ("a", "b"), (), plan) as process:
        assert process is not None and process.stdin is not None
        process.stdin.write("5\n")
    assert plan.read_text() == "a\nb\n" and out.read_text() == "a\nb\ntold 5\n"
    with transfer.beside("it", None, ("a",), (), tmp_path / "none") as nobody:
        assert nobody is None
    assert not (tmp_path / "none").exists()
    failing = script(tmp_path / "failing", "echo why >&2; exit 3")
    with pytest.raises(DstccError, match=r"^why$"), transfer.beside("it", failing, (), (), plan):
        pass


def test_a_program_beside_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "END_S", 0.05)
    endless = script(tmp_path / "endless", "exec sleep 60")
    with (
        pytest.raises(DstccError, match=r"^it was ended by signal 9$"),
        transfer.beside("it", endless, (), (), tmp_path / "plan") as process,
    ):
        pass
    assert process is not None and process.poll() == -9


def test_a_job_is_conducted_from_its_begin_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program gets the namespaces and the controller's ends, who stands beside it hears its begin, and what it
    says when it fails is the error."""
    monkeypatch.setattr(transfer, "END_S", 5.0)
    read, write = os.pipe()
    spaces = [os.open("/dev/null", os.O_RDONLY) for _ in range(3)]
    stand: Any = SimpleNamespace(craft=spaces[0], earth=spaces[1], middle=spaces[2])
    heard = tmp_path / "heard"
    listener = script(tmp_path / "listener", f"read t; echo $t >> {heard}")
    main = f"ls /proc/self/fd > {tmp_path}/fds; echo $1 > /proc/self/fd/{write}; echo 12345"
    given = job(
        program=script(tmp_path / "main", main), flows=("f",), flows_program=listener, player=listener
    )
    begun = []

    @contextmanager
    def process(controller: Any, folder: Path) -> Iterator[Any]:
        one = SimpleNamespace(ends=(write,), let_go=lambda: begun.append(controller))
        yield one if controller else None

    monkeypatch.setattr(transfer, "controller_process", process)
    who: Any = "controller"
    try:
        with transfer.queues_of(given) as queues:
            transfer.conduct(
                "it", given, tmp_path, stand, lambda ends: map(str, ends), controller=who, queues=queues
            )
            assert {str(each) for each in (*spaces[:2], write, queues)} <= {
                *(tmp_path / "fds").read_text().split()
            }
        assert os.read(read, 100).decode() == f"{tmp_path}/plan.txt\n" and begun == [who]
        assert (tmp_path / "plan.txt").read_text() == f"{write}\n"
        assert heard.read_text() == "12345\n" * 2
        assert (tmp_path / "flows.txt").exists() and (tmp_path / "links.txt").exists()
        bad = replace(
            given, flows_program=None, player=None, program=script(tmp_path / "bad", "echo no >&2; exit 1")
        )
        with pytest.raises(DstccError, match=r"^no$"):
            transfer.conduct("it", bad, tmp_path, stand, lambda _: ())
        stays = script(tmp_path / "stays", "echo 1; exec >&-; exec sleep 60")
        monkeypatch.setattr(transfer, "END_S", 0.05)
        with pytest.raises(DstccError, match=r"^it was ended by signal 9$"):
            transfer.conduct("it", replace(bad, program=stays), tmp_path, stand, lambda _: ())
    finally:
        for file in (read, write, *spaces):
            os.close(file)


# -------------------------------------------------------------------------------------------- how it is accompanied


class Changing(Topology):
    """Notes what is changed, and when."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, Any]] = []

    def change(self, link: int, shape: Any, *, up: bool) -> None:
        self.asked.append((time.monotonic_ns(), (link, up, shape.delay_ns)))

    def join(self, number: int, address: str, *, backup: bool) -> None:
        self.asked.append((time.monotonic_ns(), (number, address, backup)))


@contextmanager
def running() -> Iterator[subprocess.Popen[str]]:
    """A program that says when it begins, and ends with its input."""
    code = "import sys, time; print(time.monotonic_ns(), flush=True); sys.stdin.read()"
    how: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-S", "-c", code], **how) as program:
        try:
            yield program
        finally:
            program.kill()


def test_links_change_and_subflows_join_when_it_is_time() -> None:
    """Not before, and in the order of time; what is due after the end is not done, nor what a program plays."""
    moving = link(
        "one",
        down=way((0, 1, 0.0), (60 * MS, 2, 0.0), (9000 * MS, 3, 0.0)),
        up=way((0, 4, 0.0), (20 * MS, 5, 0.0)),
    )
    played = replace(moving, played=True)
    stand: Any = Changing()
    joins = [transfer._Join(40 * MS, 7, "10.2.0.1", True)]
    slots: list[int] = []

    def count(at_ns: int) -> None:
        slots.append(at_ns)
        if at_ns == 150 * MS:
            program.stdin.close()

    with running() as program:
        before = time.monotonic_ns()
        transfer.accompany(program, job(moving, played, slot_ns=50 * MS), stand, joins, count=count)
        assert program.wait(5) == 0, "it is accompanied to its end"
    assert [what for _, what in stand.asked] == [(0, True, 5), (7, "10.2.0.1", True), (0, False, 2)]
    for (at, _), due in zip(stand.asked, (20, 40, 60), strict=True):
        assert at - before >= due * MS
    *whole, end = slots
    assert whole == [50 * MS * number for number in range(1, len(whole) + 1)] and len(whole) >= 3
    assert whole[-1] <= end < time.monotonic_ns() - before


def test_who_says_no_begin_is_not_accompanied() -> None:
    with subprocess.Popen(["true"], stdout=subprocess.PIPE, text=True) as program:
        transfer.accompany(program, job(), SimpleNamespace(), count=lambda at: pytest.fail("it never began"))  # type: ignore[arg-type]


def test_a_network_is_counted_by_who_plays_its_links(tmp_path: Path) -> None:
    """A row: a time, six numbers a link and seven a node, of eight bytes each."""
    size = 8 * (6 * 3 + 7 * 3)
    code = (
        "import sys\n"
        f"for number, line in zip((1, 2), sys.stdin): sys.stdout.buffer.write(line[:1].encode() * {size});"
        " sys.stdout.buffer.flush()"
    )
    with subprocess.Popen(
        [sys.executable, "-S", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as player:
        given = job(network=NODES, lines=((), (), ()))
        with transfer._counts(given, player, tmp_path / "counts") as count:
            assert count is not None
            count(300)
            count(1 << 40)
    rows = (tmp_path / "counts").read_bytes()
    assert rows == b"".join(struct.pack("<q", at) + b"h" * size for at in (300, 1 << 40))
    with transfer._counts(job(), None, tmp_path / "none") as nothing:
        assert nothing is None
    assert not (tmp_path / "none").exists()
