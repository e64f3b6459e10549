"""What a guest does with a trial's job, in its order, with the parts that do it in a test's hands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dstcc_kernel import coded, inside, transfer
from dstcc_kernel.coded import carry_coded

from dstcc.errors import DstccError

from .test_transfer import job, link, way


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was done."""
    said: list[Any] = []
    monkeypatch.setattr(inside, "load", lambda path: said.append(("load", str(path))))
    monkeypatch.setattr(inside, "lock", lambda: said.append("lock"))
    monkeypatch.setattr("dstcc_kernel.inside.time.sleep", lambda s: said.append(("sleep", s)))
    monkeypatch.setattr(inside, "make", lambda plan, folder: said.append("made") or "controller")  # type: ignore[func-returns-value]

    def carry(plan: Any, folder: Path, controller_of: Any) -> None:
        said.append(("carry", controller_of and controller_of(plan)))

    monkeypatch.setattr(inside, "carry", carry)

    class Here(type(Path())):  # type: ignore[misc]
        def write_text(self, text: str, *_: Any, **__: Any) -> int:
            if str(self).startswith(("/proc", "/sys")):
                said.append((str(self), text))
                return len(text)
            return int(super().write_text(text))

    monkeypatch.setattr(inside, "Path", Here)
    return said


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> int:
    monkeypatch.setattr(inside, "read_job", lambda _: job(**changes))
    return inside.main(folder)


PAGES = ("/proc/sys/net/ipv4/tcp_mem", "4000000 8000000 16000000")


def test_a_guest_is_set_up_as_a_whole_and_a_host_is_not(
    done: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (
        run(tmp_path, monkeypatch, parameters={"hystart": "0"}, module="/m.ko", steer={"windows": [1]}) == 0
    )
    knob = ("/sys/module/tcp_cubic/parameters/hystart", "0")
    assert done == [("sleep", 1.0), PAGES, knob, ("load", "/m.ko"), "lock", "made", ("carry", "controller")]
    done.clear()
    assert run(tmp_path, monkeypatch, guest=False, parameters={"hystart": "0"}) == 0
    assert done == [("carry", None)]
    done.clear()
    assert run(tmp_path, monkeypatch) == 0
    assert done == [("sleep", 1.0), PAGES, "lock", ("carry", None)]


def test_what_fails_is_said(done: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for error in (DstccError("a reason"), OSError(5, "a disk")):

        def fail(*_: Any, error: Exception = error) -> None:
            raise error

        monkeypatch.setattr(inside, "carry", fail)
        (tmp_path / "error.txt").unlink(missing_ok=True)
        assert run(tmp_path, monkeypatch) == 1
        assert (tmp_path / "error.txt").read_text() == f"{error}\n"
    monkeypatch.setattr(inside, "carry", lambda *_: None)
    assert run(tmp_path, monkeypatch) == 1, "what the controller said stands"


def test_a_trial_of_datagrams_has_its_own_controller(
    done: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coded, "carry_coded", lambda *what: done.append(what[2:]))
    monkeypatch.setattr("dstcc_kernel.coded_steer.CodedController", lambda **how: how)
    assert run(tmp_path, monkeypatch, coded=True, guest=False) == 0
    assert run(tmp_path, monkeypatch, coded=True, guest=False, steer={"policy": "p"}) == 0
    assert done == [(), ({"policy": "p"},)]


# ------------------------------------------------------------------------------------------- datagrams, and TCP


class Parts:
    """In the place of links, controllers and programs: what each was given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: Any) -> None:
        self.said: dict[str, Any] = {"order": []}
        self.queues: int | None = None
        self.pipes: tuple[int, ...] = ()
        stand = SimpleNamespace(craft=11, earth=12)

        @contextmanager
        def laid(given: Any, buffer_bytes: int, **how: Any) -> Iterator[Any]:
            self.said |= {"buffer": buffer_bytes, "laid": how}
            yield stand

        @contextmanager
        def queues_of(_: Any) -> Iterator[int | None]:
            yield self.queues

        def lay(topology: Any, given: Any, sources: Any, free_bytes: tuple[int, int]) -> None:
            self.said |= {"sources": sources, "free": free_bytes}

        def conduct(
            name: str, given: Any, folder: Path, topology: Any, lines: Any, *, controller: Any, **how: Any
        ) -> None:
            self.said |= {"name": name, "plan": [*lines(self.pipes)], "controller": controller, "how": how}

        for name, part in (
            ("laid", laid),
            ("queues_of", queues_of),
            ("lay_links", lay),
            ("conduct", conduct),
        ):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, part)


@pytest.mark.parametrize("steered", [False, True])
@pytest.mark.parametrize("flows", [(), ("f",)])
def test_datagrams_have_their_weight_their_plan_and_their_buffers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steered: bool, flows: tuple[str, ...]
) -> None:
    """A megabyte of a socket, or where others' TCP is beside them what that needs."""
    parts = Parts(monkeypatch, coded)
    if steered:
        parts.pipes = (8, 9)
    if flows:
        parts.queues = 17
    (tmp_path / "coded.txt").write_text("settings\n")
    one = link("one", subflows=2, down=way(rate_bps=2e6), played=True)
    given = job(one, link("two"), flows=flows, free_bytes=(32, 16), sysctls={"a": "b"}, rto_min_ms=7)
    carry_coded(given, tmp_path, "controller" if steered else None)  # type: ignore[arg-type]
    said = parts.said
    assert (said["buffer"], said["laid"]) == (1024 if flows else 1 << 20, {"sysctls": {"a": "b"}})
    assert said["controller"] == ("controller" if steered else None)
    assert said["sources"] == [["10.1.0.1", "10.1.1.1"], ["10.2.0.1"]]
    assert said["free"] == (32, 16)
    lines = [
        "namespaces 11 12",
        *(["steer 8 9"] if steered else []),
        *(["queues 17"] if flows else []),
        "settings",
    ]
    assert said["plan"] == lines
    assert said["how"] == {"queues": 17 if flows else None}
    assert said["name"] == "the program of datagrams"


def test_a_transfer_has_the_larger_of_its_buffers_and_its_controller_in_the_crafts_namespace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = Parts(monkeypatch, transfer)
    where: list[int] = []

    @contextmanager
    def within(space: int) -> Iterator[None]:
        where.append(space)
        yield
        where.append(-space)

    monkeypatch.setattr(transfer, "inside", within)
    monkeypatch.setattr(transfer, "_lay", lambda *_: ([("10.1.0.1", 0)], ["join"]))
    parts.pipes = (8, 9)
    given = job(link("one"), receive_buffer_bytes=5, send_buffer_bytes=9, sysctls={"a": "b"})

    def controller(_: Any) -> Any:
        where.append(0)
        return "controller"

    transfer.carry(given, tmp_path, controller)
    assert where == [11, 0, -11]
    said = parts.said
    assert (said["buffer"], said["laid"]) == (9, {"unsent_bytes": 25, "sysctls": {"a": "b"}})
    assert said["controller"] == "controller"
    assert said["plan"][:2] == ["namespaces 11 12", "steer 8 9"] and said["plan"][-1].endswith("objects.bin")
    assert said["how"] == {"joins": ["join"]}
    parts.pipes = ()
    transfer.carry(replace(given, lanes=True, receive_buffer_bytes=50), tmp_path)
    assert (said["buffer"], said["laid"]["unsent_bytes"], said["controller"]) == (50, None, None)
    assert not any("steer" in line for line in said["plan"])


@pytest.mark.parametrize("lost", [0, 3])
def test_a_capture_has_a_ring_a_device_and_none_that_missed_packets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: int
) -> None:
    made: list[tuple[int, str, str, Any]] = []
    at: list[int] = []

    @contextmanager
    def within(space: int) -> Iterator[None]:
        at.append(space)
        yield

    class Ring:
        def __init__(self, device: str, path: Path, most: Any) -> None:
            made.append((at[-1], device, path.name, most))

        def close(self) -> int:
            return lost if len(made) == 4 else 0

    monkeypatch.setattr(transfer, "inside", within)
    monkeypatch.setattr(transfer, "Ring", Ring)
    stand: Any = SimpleNamespace(craft=11, earth=12)
    given = job(link("one"), capture=True, capture_bytes=178)
    names = [(11, "up0"), (12, "down0"), (11, "craft0"), (12, "earth0")]

    def hold() -> None:
        with transfer.captured(given, stand, tmp_path) as capture:
            assert capture is not None and len(capture.rings) == 4

    if lost:
        with pytest.raises(DstccError, match="12 packets found no room in the capture"):
            hold()
    else:
        hold()
    ends = {11: "spacecraft", 12: "earth"}
    assert made == [(space, device, f"{ends[space]}-{device}.ring", 178) for space, device in names]
    with transfer.captured(replace(given, capture=False), stand, tmp_path) as nothing:
        assert nothing is None
