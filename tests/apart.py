"""``dstcc`` in a process of its own that need not import what the last one did.

Started once a pytest process, :func:`serve` imports what commands import and has no threads; each call is a fork of it,
with the caller's folder and environment. What a start itself does (``python -m``, what is imported when, a limit on
memory that holds from the beginning) is for tests that start Python.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from runpy import run_module
from typing import IO, Any, NoReturn

IMPORTED = (
    "av",
    "dstcc_cli.emulate",
    "dstcc_svc",
    "dstcc.report",
    "dstcc.run.directory",
    "rich.console",
    "rich.table",
)
ROOM = 1 << 20
"""Bytes of a request at most."""


def dstcc(
    *words: object,
    timeout_s: float = 60,
    env: Mapping[str, str] | None = None,
    module: str = "dstcc_cli",
    folder: Path | None = None,
    err: IO[Any] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run it to its end, in the current folder or another; ``env`` is beside the caller's environment.

    ``module``: what `python -m` would run in its place. ``err``: a file of the caller's.
    """
    given = [os.fsdecode(os.fsencode(str(word))) for word in words]
    asked = {
        "module": module,
        "words": given,
        "folder": str(folder or Path.cwd()),
        "env": {**os.environ, **(env or {})},
    }
    message = json.dumps(asked).encode()
    assert len(message) < ROOM
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as said:
        server = _server()
        server.settimeout(None)
        socket.send_fds(server, [message], [printed.fileno(), (err or said).fileno()])
        pid = int(server.recv(64))
        server.settimeout(timeout_s)
        try:
            code = int(server.recv(64))
        except TimeoutError:
            os.kill(pid, 9)
            server.settimeout(None)
            server.recv(64)
            raise subprocess.TimeoutExpired(["dstcc", *given], timeout_s) from None
        texts = []
        for file in (printed, said):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return subprocess.CompletedProcess(["dstcc", *given], code, *texts)


@cache
def _server() -> socket.socket:
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in (ours, its):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ROOM)
    command = [sys.executable, "-P", __file__, str(its.fileno())]
    process = subprocess.Popen(command, pass_fds=[its.fileno()], stdin=subprocess.DEVNULL)
    its.close()

    def close() -> None:
        ours.close()
        process.wait()

    atexit.register(close)
    return ours


def serve(asked: socket.socket) -> None:
    """Fork for each request; answer with the process's number, then with how it ended."""
    for name in IMPORTED:
        import_module(name)
    while True:
        message, given, _, _ = socket.recv_fds(asked, ROOM, 2)
        if not message:
            return
        pid = os.fork()
        if pid == 0:
            asked.close()
            _be(json.loads(message), *given)
        for one in given:
            os.close(one)
        asked.send(str(pid).encode())
        asked.send(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())


def _be(asked: dict[str, object], out: int, err: int) -> NoReturn:
    """The command, in the fork."""
    code = 1
    try:
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - for good
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        os.chdir(str(asked["folder"]))
        os.environ.clear()
        os.environ.update(asked["env"])  # type: ignore[call-overload]
        words = asked["words"]
        assert isinstance(words, list)
        sys.argv = ["dstcc", *words]
        run_module(str(asked["module"]), run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    root = Path(__file__).parents[1]
    sys.path += [str(root), *(str(root / name) for name in ("channel-models", "svc", "cli", "kernel-cc"))]
    serve(socket.socket(fileno=int(sys.argv[1])))
