"""The rooms of the engine have doors: an end knows of the other and of its links what its types let it reach.

The rules are read off the sources' includes. That the compiler keeps them is tried with programs that must not
compile, all of an end in one file.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "dstcc/engine/src"

SENDING = (
    "mptcp/sending_end.hpp",
    "mptcp/sending_end.cpp",
    "mptcp/steering.cpp",
    "tcp/background.hpp",
    "tcp/background.cpp",
    "tcp/sender.hpp",
    "tcp/sender.cpp",
    "tcp/sender_acks.cpp",
    "tcp/sender_recovery.cpp",
    "tcp/sender_runs.cpp",
    "tcp/senders.hpp",
    "tcp/senders.cpp",
    "coding/flight.hpp",
    "coding/flight.cpp",
    "coding/sending_end.hpp",
    "coding/sending_end.cpp",
    "coding/sending_runs.cpp",
    "coding/sent_packets.hpp",
    "coding/choosing.cpp",
    "coding/repairing.cpp",
    "ltp/choice.hpp",
    "ltp/choice.cpp",
    "ltp/sending_end.hpp",
    "ltp/sending_end.cpp",
    "ltp/checkpoints.cpp",
    "ltp/encoding.cpp",
    *sorted(str(path.relative_to(SOURCES)) for path in (SOURCES / "dispatch").iterdir()),
    *sorted(str(path.relative_to(SOURCES)) for path in (SOURCES / "scheduler").iterdir()),
)
RECEIVING = (
    "mptcp/receiving_end.hpp",
    "mptcp/receiving_end.cpp",
    "tcp/answering.hpp",
    "tcp/background_receivers.hpp",
    "tcp/receiver.hpp",
    "coding/receiving_end.hpp",
    "coding/receiving_end.cpp",
    "coding/receiving_runs.cpp",
    "ltp/receiving_end.hpp",
    "ltp/receiving_end.cpp",
    "ltp/reports.cpp",
    "ltp/decoding.cpp",
)
BOTH = (
    "mptcp/connection.hpp",
    "coding/coded.hpp",
    "ltp/ltp.hpp",
    "sim/flows.hpp",
    "sim/trial.hpp",
    "sim/tcp.hpp",
)
"""Where both ends are known, and what is under way between them."""
PICTURE = re.compile(r"^ ((?:[a-z]+/ +)+)", re.MULTILINE)
BESIDE = {("paths", "core"), ("ltp", "coding")}
"""Of rooms on one floor of the picture in ARCHITECTURE.md, which knows which."""
UPWARDS = {("tcp/sender.hpp", "congestion/control.hpp")}
"""A sender holds its congestion control by the interface, which stands beside the controls."""
SEAM, LTP_SEAM = ROOT / "kernel-cc/coded/seam", ROOT / "kernel-cc/ltp/seam"
"""What stands in the place of the engine's headers of the same names where coded packets, or ltp's segments, are
real."""


def includes(file: str) -> list[str]:
    return re.findall(r'^#include "([a-z_]+/[a-z_]+\.hpp)"', (SOURCES / file).read_text(), re.MULTILINE)


@pytest.mark.parametrize("file", SENDING)
def test_a_sending_end_knows_of_links_its_transmitter_and_its_plan(file: str) -> None:
    of_links = {name for name in includes(file) if name.startswith("link/")}
    assert of_links <= {
        "link/transmitter.hpp",
        "link/line.hpp",
        "link/answer_clock.hpp",
        "link/contact.hpp",
        "link/packets.hpp",
    }


@pytest.mark.parametrize("file", SENDING)
def test_a_sending_end_knows_no_receiver(file: str) -> None:
    text = (SOURCES / file).read_text()
    assert not {*RECEIVING, *BOTH} & set(includes(file))
    assert not re.search(
        r"\b(\w*ReceivingEnd|SubflowReceiver|OrderingDomain|AckTransmitter|Wire|Way|Direction)\b", text
    )
    assert "EngineConfig" not in text  # it holds the links as they are


@pytest.mark.parametrize("file", RECEIVING)
def test_a_receiving_end_knows_no_sender(file: str) -> None:
    known = set(includes(file))
    assert {name for name in known if name.startswith("link/")} <= {
        "link/ack_transmitter.hpp",
        "link/contact.hpp",
        "link/line.hpp",
        "link/packets.hpp",
    }
    assert not {*SENDING, *BOTH} & known
    assert not {name for name in known if name.startswith(("congestion/", "scheduler/", "dispatch/"))}
    text = (SOURCES / file).read_text()
    assert not re.search(r"\b(\w*SendingEnd|Subflow|TcpState|Senders|Transmitter|Wire|Way|Direction)\b", text)


def floors() -> list[set[str]]:
    """The rooms of the engine, from the picture's top down."""
    page = (ROOT / "ARCHITECTURE.md").read_text()
    picture = page[page.index("a folder includes only those below it") :]
    return [{room.strip(" /") for room in line.split()} for line in PICTURE.findall(picture)]


def test_every_room_is_in_the_picture() -> None:
    assert set().union(*floors()) == {path.name for path in SOURCES.iterdir() if path.is_dir()}


def test_a_room_knows_those_below_it() -> None:
    floor = {room: number for number, rooms in enumerate(floors()) for room in rooms}
    files = [str(path.relative_to(SOURCES)) for path in SOURCES.glob("*/*.?pp")]
    known = {(file, name) for file in files for name in includes(file)}
    assert len(known) > 400
    up, beside = set(), set()
    for file, name in known:
        own, other = file.partition("/")[0], name.partition("/")[0]
        if floor[other] < floor[own]:
            up.add((file, name))
        elif floor[other] == floor[own] and other != own:
            beside.add((own, other))
    assert up == UPWARDS
    assert beside == BESIDE


def test_headers_that_the_kernels_program_has_of_its_own_are_doors_of_the_ends() -> None:
    """Its folder comes first in the search for headers: an end must see of links what these have, and no more."""
    shadows = {str(path.relative_to(SEAM)) for path in SEAM.rglob("*.hpp")}
    assert shadows == {"link/transmitter.hpp", "link/ack_transmitter.hpp"}
    ends = [path for path in (SOURCES / "coding").glob("*.?pp") if path.stem not in ("coded", "stepper")]
    of_links = {name for path in ends for name in includes(f"coding/{path.name}") if name.startswith("link/")}
    assert shadows <= of_links <= {*shadows, "link/answer_clock.hpp", "link/contact.hpp", "link/packets.hpp"}
    # an end of ltp has its link by a line, whose one door to what is under way is the way
    assert {str(path.relative_to(LTP_SEAM)) for path in LTP_SEAM.rglob("*.hpp")} == {"link/way.hpp"}
    ends = [path for path in (SOURCES / "ltp").glob("*.?pp") if path.stem != "ltp"]
    of_links = {name for path in ends for name in includes(f"ltp/{path.name}") if name.startswith("link/")}
    assert of_links == {"link/line.hpp", "link/answer_clock.hpp"}
    plans = {"link/answer_clock.hpp": "link/planned_path.hpp", "link/planned_path.hpp": "link/contact.hpp"}
    for header, below in plans.items():
        assert {name for name in includes(header) if name.startswith("link/")} == {below}
    assert "link/way.hpp" in includes("link/line.hpp")


SENDER = (
    ("Time f(const Transmitter& out) { return out.queue_ns(0) + out.queue_bytes(0); }", True),
    ("auto f(Transmitter& out) { return out.wire_; }", False),  # the link behind it
    ("auto f(Transmitter& out) { return out.send(0, 0, 0, 0, 0, 1, 40, true).arrive_ns; }", False),
    ("ReceivingEnd* other;", False),
    ("auto f(const Remaining& layers) { return layers.layers_; }", False),  # what the other end had
    ("auto f(const Timers& timers) { return timers.heads_; }", False),  # the next arrivals
    ("auto f(Dispatcher& d) { return d.siblings_; }", False),  # a strategy has the dispatcher only
)
RECEIVER = (
    ("void f(AckTransmitter& out) { out.send(0, 0, {0, 0, nullptr, 0, kPlain, 0, 0}, 40); }", True),
    ("auto f(AckTransmitter& out) { return out.wire_; }", False),
    ("SendingEnd* other;", False),
    ("TcpState* other;", False),
    ("auto f(const Remaining& layers) { return layers.layers_; }", False),
    ("void f(LayerHeaders& h, ReceivingEnd& e) { e.headers_.domain[0] = 1; }", False),
)
LTP_SENDER = (
    ("Time f(const Line<DownSegment>& out) { return out.free_ns() + out.queue_bytes(0); }", True),
    ("auto f(Line<DownSegment>& out) { return out.way_; }", False),  # what is under way on it
    ("Time f(Line<DownSegment>& out) { return out.send(0, {}, 40).departs_ns; }", True),
    ("auto f(Line<DownSegment>& out) { return out.send(0, {}, 40).arrive_ns; }", False),
    ("LtpReceivingEnd* other;", False),
    ("MatrixArrival* other;", False),
    ("auto f(const Settlement& layers) { return layers.layers_; }", False),  # what is there, or under way
    ("auto f(const Settlement& layers) { return layers.open_; }", False),
    ("auto f(const QuickHeads& heads) { return heads.tree_; }", False),  # the next arrivals
)
LTP_RECEIVER = (
    ("void f(Line<UpSegment>& out) { out.send(0, {}, 40); }", True),
    ("auto f(Line<UpSegment>& out) { return out.way_; }", False),
    ("LtpSendingEnd* other;", False),
    ("MatrixSending* other;", False),
    ("auto f(const Settlement& layers) { return layers.layers_; }", False),
    ("auto f(const MatrixHeaders& headers) { return headers[0].source; }", True),
    ("void f(LtpReceivingEnd& e) { e.headers_.matrices.clear(); }", False),
)


@pytest.mark.parametrize(
    ("header", "programs"),
    [
        ("mptcp/sending_end.hpp", SENDER),
        ("mptcp/receiving_end.hpp", RECEIVER),
        ("ltp/sending_end.hpp", LTP_SENDER),
        ("ltp/receiving_end.hpp", LTP_RECEIVER),
    ],
    ids=["sender", "receiver", "ltp-sender", "ltp-receiver"],
)
def test_the_doors_let_through_what_they_are_for_and_no_more(
    header: str, programs: tuple[tuple[str, bool], ...], tmp_path: Path
) -> None:
    """One compilation, in which each program has a line: those that must not compile have an error there."""
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    lines = [f"namespace n{k} {{ {program} }}" for k, (program, _) in enumerate(programs)]
    source = tmp_path / "door.cpp"
    source.write_text("\n".join([f'#include "{header}"', "using namespace dstcc;", *lines]) + "\n")
    command = [compiler, "-std=c++17", "-fsyntax-only", "-fmax-errors=0", f"-I{SOURCES}", str(source)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"}
    )
    wrong = {
        int(line) for line in re.findall(r"^[^\n]*door\.cpp:(\d+):\d+: error", done.stderr, re.MULTILINE)
    }
    assert wrong == {k + 3 for k, (_, compiles) in enumerate(programs) if not compiles}, done.stderr
