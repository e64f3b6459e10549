"""An end host's first process at work, in a process of this host: what it is told, what it starts, and what it says."""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dstcc_kernel.endhosts import host
from dstcc_kernel.endhosts.host import EndHost, Furniture, _Servant
from dstcc_kernel.endhosts.mission import VARIABLE, Program

PATIENCE_S = 20.0


class Started:
    """A servant in a process of its own, as its starter sees it, and what its programs print."""

    def __init__(self, folder: Path, *commands: str, terminal: int | None = None) -> None:
        programs = {
            number: Program("craft", ("sh", "-c", text)) for number, text in enumerate(commands, start=3)
        }
        programs[2] = Program("craft", ("/no/such/program",))
        given = Furniture("craft", 71, 72, programs, {"PATH": os.environ["PATH"], "A": "b"}, "", (), terminal)
        near, far = socket.socketpair()
        pipes = {number: (os.pipe(), os.pipe()) for number in programs}
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                near.close()
                vars(host)["become"] = lambda *what: (folder / "become").write_text(repr(what))
                for (out, _), (err, _) in pipes.values():
                    os.close(out)
                    os.close(err)
                _Servant(far, given, pipes, 73).serve()
                code = 0
            finally:
                os._exit(code)
        far.close()
        for (_, out), (_, err) in pipes.values():
            os.close(out)
            os.close(err)
        self.outputs = {number: (out, err) for number, ((out, _), (err, _)) in pipes.items()}
        self.host = EndHost("craft", pid, near, {})

    def hear(self, until: Callable[[list[str]], bool]) -> list[list[str]]:
        """What it says until something is said."""
        heard: list[list[str]] = []
        while not any(map(until, heard)):
            assert select.select([self.host], [], [], PATIENCE_S)[0], heard
            heard += self.host.said()
        return heard

    def ended(self, number: int) -> str:
        """How a program ended."""
        (last,) = (
            words
            for words in self.hear(lambda words: words[:2] == ["ended", str(number)])
            if words[1] == str(number)
        )
        return last[2]

    def printed(self, number: int, stream: int = 0) -> bytes:
        """All that it printed."""
        parts = []
        while part := os.read(self.outputs[number][stream], 1 << 16):
            parts.append(part)
        return b"".join(parts)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., Started]]:
    made: list[Started] = []

    def start(*commands: str, **how: Any) -> Started:
        made.append(Started(tmp_path, *commands, **how))
        return made[-1]

    yield start
    for one in made:
        one.host.kill()
        for pair in one.outputs.values():
            for pipe in pair:
                os.close(pipe)


def test_a_program_is_started_once_told_with_its_environment_and_group(started: Any, tmp_path: Path) -> None:
    code = f"echo out $A ${VARIABLE} $(cut -d' ' -f5,6 /proc/$$/stat) $$; echo err >&2; cat; exit 7"
    one = started(code, "exit 0")
    assert not select.select([one.outputs[3][0]], [], [], 0.05)[0], "nobody told it to"
    one.host.start(3)
    assert one.ended(3) == "7"
    words = one.printed(3).split()
    assert words[:3] == [b"out", b"b", b"3"]
    assert words[3] == words[4] == words[5], "it leads a group and a session of its own"
    assert one.printed(3, 1) == b"err\n"
    # its user namespace, the mounts, its folder
    assert (tmp_path / "become").read_text() == repr((71, 73, Path("/run/craft")))
    one.host.start(4)
    assert one.ended(4) == "0"


def test_what_cannot_be_started_has_failed_and_its_pipes_end(started: Any) -> None:
    one = started()
    one.host.start(2)
    assert one.hear(lambda words: True) == [["failed", "2", os.strerror(2)]]
    assert one.printed(2) == one.printed(2, 1) == b""


def test_a_signal_goes_to_all_of_a_programs_group(started: Any) -> None:
    one = started("sleep 60 & trap 'kill -9 0' HUP; echo up; wait", "exec sleep 60")
    for number in (3, 4):
        one.host.start(number)
    assert os.read(one.outputs[3][0], 9) == b"up\n"
    one.host.end(4, signal.SIGTERM)
    assert one.ended(4) == "-15"
    one.host.end(3, signal.SIGKILL)
    assert one.ended(3) == "-9"
    one.host.end(3, signal.SIGKILL)  # it went away
    one.host.end(9, signal.SIGKILL)  # it never was
    assert one.printed(3) == b"", "who it started held its output open"
    one.host.start(2)
    one.hear(lambda words: words[0] == "failed")


def test_several_orders_at_once_and_one_in_pieces_are_obeyed(started: Any) -> None:
    one = started("exit 1", "exit 2")
    one.host._line.sendall(b"start 3\nstart 4\nsta")
    heard = one.hear(lambda words: words[:2] == ["ended", "4"])
    if ["ended", "3", "1"] not in heard:
        heard += one.hear(lambda words: words[:2] == ["ended", "3"])
    assert sorted(heard) == [["ended", "3", "1"], ["ended", "4", "2"]]
    one.host._line.sendall(b"rt 2\n")
    assert one.hear(lambda words: True)[0][:2] == ["failed", "2"]


def test_orphans_are_taken_leave_of_and_not_said(started: Any) -> None:
    """The shell's child outlives it; it is this process's then only in a namespace of its own."""
    one = started("(sleep 0.01 &) ; exit 5")
    one.host.start(3)
    assert one.ended(3) == "5"


def test_the_servant_ends_with_its_starter(started: Any) -> None:
    one = started()
    one.host._line.shutdown(socket.SHUT_WR)
    assert os.waitstatus_to_exitcode(os.waitpid(one.host.pid, 0)[1]) == 0
    with pytest.raises(OSError, match="craft is gone: its first process was killed"):
        one.host.said()
    one.host.pid = os.posix_spawn("/bin/true", ["true"], {})  # something to end in its place


SHELL = "PS1='$ ' exec bash --norc --noprofile -i"


def test_a_shell_on_a_terminal_waits_for_keys_or_for_its_command(started: Any) -> None:
    """``look`` says 1 when the shell sleeps in the foreground and has said all, 0 while a command runs."""
    one = started(SHELL, terminal=3)
    one.host.look(3)
    assert one.hear(lambda words: True) == [["looked", "3", "0"]], "it is not there"
    one.host.start(3)
    seen = b""

    def look() -> str:
        one.host.look(3)
        return str(one.hear(lambda words: words[0] == "looked")[-1][2])

    def found(what: str) -> bool:
        until = time.monotonic() + PATIENCE_S
        while look() != what and time.monotonic() < until:
            time.sleep(0.002)
        return look() == what

    assert found("1")
    one.host.type(3, b"sh -c 'tty; exec sleep 60'\r")  # who says it has the terminal by then
    while b"/dev/pts/" not in seen:
        seen += os.read(one.outputs[3][0], 4096)
    assert found("0"), "a command runs"
    one.host.type(3, b"\x03")
    assert found("1")
    one.host.type(3, b"exit 9\r")
    assert one.ended(3) == "9"
    assert b"$ " in seen + one.printed(3), "what is left on the terminal comes before the end"
    one.host.type(3, b"nobody hears it\r")
    assert look() == "0"


def test_a_starter_says_and_hears_lines() -> None:
    near, far = socket.socketpair()
    end = EndHost("craft", 0, near, {})
    end.start(3)
    end.end(4, signal.SIGTERM)
    end.type(5, b"\x00a")
    end.look(6)
    assert far.recv(99) == b"start 3\nend 4 15\ntype 5 0061\nlook 6\n"
    assert end.fileno() == near.fileno()
    far.sendall(b"ended 3 0\nfailed -1 OSError: a b\nloo")
    assert end.said() == [["ended", "3", "0"], ["failed", "-1", "OSError: a b"]]
    far.sendall(b"ked 6 1\n")
    assert end.said() == [["looked", "6", "1"]]
    for one in (near, far):
        one.close()


def test_an_end_host_is_killed_and_waited_for() -> None:
    near, far = socket.socketpair()
    pid = os.posix_spawn("/bin/sleep", ["sleep", "60"], {})
    EndHost("craft", pid, near, {}).kill()
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, 0)
    assert near.fileno() == -1
    far.close()


def test_a_first_process_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    near, far = socket.socketpair()

    def left(code: int) -> None:
        raise SystemExit(code)

    def refuse(*_: Any) -> None:
        raise PermissionError(1, "not allowed")

    monkeypatch.setattr(host, "enter", refuse)
    monkeypatch.setattr("dstcc_kernel.endhosts.host.os._exit", left)
    with pytest.raises(SystemExit) as ended:
        host._first_process(far, SimpleNamespace(network=1), {})  # type: ignore[arg-type]
    assert ended.value.code == 1
    assert near.recv(99) == b"failed -1 PermissionError: [Errno 1] not allowed\n"
    for one in (near, far):
        one.close()


def test_a_first_process_has_a_name_a_network_and_no_core_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """CLONE_NEWNET is 0x40000000, CLONE_NEWUTS 0x04000000."""
    import resource

    done: list[Any] = []
    near, far = socket.socketpair()
    for name in ("enter", "unshare", "furnish", "new_mounts"):
        monkeypatch.setattr(host, name, lambda *what, name=name: done.append((name, *what)))
    monkeypatch.setattr(
        "dstcc_kernel.endhosts.host.socket.sethostname", lambda what: done.append(("name", what))
    )
    monkeypatch.setattr(
        "dstcc_kernel.endhosts.host.resource.setrlimit", lambda *what: done.append(("limit", *what))
    )
    monkeypatch.setattr(
        host, "_Servant", lambda *what: SimpleNamespace(serve=lambda: done.append(("serve", *what)))
    )

    def left(code: int) -> None:
        done.append(("exit", code))
        raise SystemExit

    monkeypatch.setattr("dstcc_kernel.endhosts.host.os._exit", left)
    given = Furniture("craft", 71, 72, {}, {}, "1.2.3.4 x", (Path("/run/here"),))
    with pytest.raises(SystemExit):
        host._first_process(far, given, {})
    assert done == [
        *(("enter", 72, 0x40000000), ("unshare", 0x04000000), ("name", "craft")),
        ("furnish", Path("/run/craft"), "1.2.3.4 x", (Path("/run/here"),)),
        *(
            ("limit", resource.RLIMIT_CORE, (0, 0)),
            ("new_mounts", 71),
            ("serve", far, given, {}, None),
            ("exit", 0),
        ),
    ]
    for one in (near, far):
        one.close()
