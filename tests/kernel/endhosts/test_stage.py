"""What hosts stand on: the two of a pair with netems, and a network's with a program that plays its links."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dstcc_kernel.endhosts import stage
from dstcc_kernel.endhosts.mission import LINKS_PLAN, PLAYER, Mission
from dstcc_kernel.endhosts.stage import stage_of
from dstcc_kernel.job import LinkJob, Step, Way
from dstcc_kernel.netem import stream
from dstcc_kernel.topology import Shape, Topology

from dstcc.errors import DstccError

from .test_network import STORE
from .test_planning import planned


class Laid:
    """In a topology's, or a network's ground's, place: what was asked for, in order."""

    def __init__(self) -> None:
        self.craft, self.earth, self.middle, self.spaces = 31, 32, 33, (41, 42, 43)
        self.asked: list[tuple[Any, ...]] = []
        self.craft_ip, self.earth_ip = (
            SimpleNamespace(
                up=lambda device, base=base: self.asked.append(("up", base, device)),
                index=lambda name, base=base: base + int(name.strip("updown")),
            )
            for base in (100, 200)
        )

    changes = Topology.changes

    def __getattr__(self, name: str) -> Any:
        def asked(*what: Any, **how: Any) -> None:
            self.asked.append((name, *what, *([how] if how else [])))

        return asked


def two_links(mission: Mission) -> Mission:
    """Each way of the first has a second step."""

    def way(base: int) -> Way:
        return Way(1e6 + base, 50 + base, (Step(0, base, 0.0), Step(base + 7, base + 1, 0.5)))

    return replace(
        mission,
        links=(
            LinkJob("a", way(10), way(20)),
            LinkJob("b", Way(3e6, 9, (Step(0, 5, 0.0),)), Way(4e6, 8, (Step(0, 6, 0.0),))),
        ),
        **{"mtu": 1234, "initial_cwnd": 11, "seed": 77, "network": None},  # type: ignore[arg-type]
    )


def shape(link: int, step: int, up: bool, numbers: tuple[int, float, float, int]) -> Shape:
    delay_ns, loss, rate_bps, queue = numbers
    return Shape(delay_ns, loss, rate_bps, queue, stream(77, link, up, step))


@pytest.mark.parametrize("mptcp", [False, True])
def test_a_pair_is_laid_with_its_first_steps_and_changes_at_the_others(
    mission: Mission, monkeypatch: pytest.MonkeyPatch, mptcp: bool
) -> None:
    laid, built = Laid(), list[Any]()

    @contextmanager
    def build(buffer_bytes: int, **how: Any) -> Any:
        built.append((buffer_bytes, how))
        yield laid
        built.append("closed")

    monkeypatch.setattr(stage, "build", build)
    given = replace(two_links(mission), mptcp=mptcp, unsent_bytes=99, buffer_bytes=88)
    with stage_of(given, {"a": "b"}, (1, 2)) as made:
        assert built == [
            (88, {"unsent_bytes": 99 if mptcp else None, "sysctls": {"a": "b"}, "roots": (1, 2)})
        ]
        assert (made.spaces, made.netem, made.counts()) == ((31, 32), True, b"")
        made.lay()
        assert laid.asked[:2] == [("up", 100, 1), ("up", 200, 1)], "the loopbacks"
        (_, first, wire, sources), opened, (_, second, other, more), again, *joins = laid.asked[2:]
        assert (first, sources, second, more) == (0, ["10.1.0.1"], 1, ["10.2.0.1"])
        assert (wire.mtu, wire.initial_cwnd, wire.down_free_bytes, wire.up_free_bytes) == (1234, 11, 0, 0)
        assert (wire.rto_min_ms, wire.played) == (0, False)
        assert wire.down == shape(0, 0, False, (10, 0.0, 1e6 + 10, 60))
        assert wire.up == shape(0, 0, True, (20, 0.0, 1e6 + 20, 70))
        assert (other.down, other.up) == (
            shape(1, 0, False, (5, 0.0, 3e6, 9)),
            shape(1, 0, True, (6, 0.0, 4e6, 8)),
        )
        assert (opened, again) == (("open_windows", 0, 11), ("open_windows", 1, 11))
        wanted = [("allow_joins",), ("join", 1, "10.2.0.1", {"backup": False})] if mptcp else []
        assert joins == wanted
        laid.asked.clear()
        made.begin(5)
        for _, change in made.changes():
            change()
        assert [at for at, _ in made.changes()] == [17, 27]
        assert laid.asked == [
            ("change", 0, shape(0, 1, False, (11, 0.5, 1e6 + 10, 60)), {"up": False}),
            ("change", 0, shape(0, 1, True, (21, 0.5, 1e6 + 20, 70)), {"up": True}),
        ]
        assert made.devices() == [{"down": 200, "up": 100}, {"down": 201, "up": 101}]
        assert made.seen() == [
            *((31, "craft0", "craft0"), (31, "up0", "up0"), (32, "earth0", "earth0"), (32, "down0", "down0")),
            *((31, "craft1", "craft1"), (31, "up1", "up1"), (32, "earth1", "earth1"), (32, "down1", "down1")),
        ]
    assert built[1] == "closed"


PLAYS = """#!{python} -S
import os, sys
sys.stderr.write(open(sys.argv[1]).read())
with open({heard!r}, "a") as heard:
    os.fstat(int(open(sys.argv[1]).readline().split()[1]))
    for line in sys.stdin:
        heard.write(line)
        heard.flush()
        if line == "counts\\n":
            sys.stdout.buffer.write(bytes(range(256)) * 2)
            sys.stdout.buffer.flush()
        if line == "7\\n":
            sys.exit({code})
"""


@contextmanager
def played(folder: Path, monkeypatch: pytest.MonkeyPatch, *, code: int = 0, **changes: Any) -> Any:
    """A network of a rover, an orbiter and Earth."""
    middle = os.open("/dev/null", os.O_RDONLY)
    laid, built = Laid(), list[Any]()
    laid.middle = middle

    @contextmanager
    def build(network: Any, buffer_bytes: int, **how: Any) -> Any:
        built.append((buffer_bytes, how))
        yield laid
        built.append("closed")

    monkeypatch.setattr(stage, "build_ground", build)
    monkeypatch.setattr(stage, "AT", folder)
    player = folder / PLAYER
    player.write_text(PLAYS.format(python=sys.executable, heard=str(folder / "heard"), code=code))
    player.chmod(0o755)
    mission = replace(planned(scenario=STORE), unsent_bytes=99, buffer_bytes=88, seed=77, mtu=1234, **changes)
    try:
        with stage_of(mission, {"a": "b"}, (1, 2, 3)) as made:
            assert built == [
                (
                    88,
                    {
                        "unsent_bytes": 99 if mission.mptcp else None,
                        "sysctls": {"a": "b"},
                        "roots": (1, 2, 3),
                    },
                )
            ]
            yield made, laid, mission
        assert built[1] == "closed"
    finally:
        os.close(middle)


@pytest.mark.parametrize("mptcp", [False, True])
def test_a_networks_links_are_played_by_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mptcp: bool
) -> None:
    """It counts 14 numbers a link and 4 a node: 320 bytes of two links and three nodes."""
    with played(tmp_path, monkeypatch, mptcp=mptcp) as (made, laid, mission):
        made.lay()
        assert laid.asked[0] == ("lay", 1234, mission.initial_cwnd, {0: ["10.1.0.1"]})
        assert laid.asked[1:] == ([("allow_joins",)] if mptcp else [])
        lines = (tmp_path / LINKS_PLAN).read_text().splitlines()
        assert lines[:3] == [f"namespace {laid.middle}", "seed 77", "bytes 1234 0 0 0"]
        assert lines[-2:] == ["number 1", mission.network.between(1)]
        made.begin(5)
        size = 8 * (14 * 2 + 4 * 3)
        assert made.counts() == (bytes(range(256)) * 2)[:size]
        assert (tmp_path / "heard").read_text() == "5\ncounts\n"
        assert (made.spaces, made.netem, made.changes(), made.devices()) == ((41, 42, 43), False, [], [])
        assert made.seen() == [
            *((41, "link1", "link0-0"), (42, "link1", "link0-1")),
            *((42, "link2", "link1-0"), (43, "link2", "link1-1")),
        ]


@pytest.mark.parametrize("code", [0, 3])
def test_a_program_that_goes_is_said_with_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    with (
        pytest.raises(DstccError, match=r"^the program that plays the links: namespace \d+\nseed 77"),
        played(tmp_path, monkeypatch, code=code) as (made, _, _),
    ):
        made.lay()
        made.begin(7)
        made.counts()


def test_a_program_without_words_is_said_with_its_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "PLAYS", "#!/bin/sh\nexit 3\n# {python} {heard} {code}\n")
    with (
        pytest.raises(DstccError, match=r"^the program that plays the links: ended with 3$"),
        played(tmp_path, monkeypatch) as (made, _, _),
    ):
        made.lay()
        made._player.wait()
        made.begin(5)


def test_a_stage_that_was_not_laid_has_nothing_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with played(tmp_path, monkeypatch) as (made, _, _):
        pass
    assert made._player is None
