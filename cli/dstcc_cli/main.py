"""The ``dstcc`` group: commands are imported when called, errors become exit codes.

Exit codes: 0 done, 1 the work failed, 2 bad usage or bad input, 3 an ``[expect]`` bound missed,
129 hung up (SIGHUP), 130 interrupted, 143 terminated (SIGTERM). A command whose callback returns an int ends with that
code.
"""

from __future__ import annotations

import atexit
import errno
import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from io import StringIO
from types import ModuleType
from typing import Any, Never

import click

from dstcc.errors import DstccError, did_you_mean, printable, shortened
from dstcc.version import __version__

from .memory import LACKS_MEMORY, guard, lacks_memory, least_memory, unraised
from .output import notice

COMMANDS = {
    "examples": "List the example scenarios, or write one to start from.",
    "encode": "Turn a video file into a layered stream directory.",
    "emulate": "Send a scenario's video over its links, once per combination of algorithms and seeds.",
    "run": "Run programs of yours on both ends of a scenario's links, in virtual time.",
    "shell": "Open a shell on a host or node of a scenario, in virtual time.",
    "sweep": "Run a grid of scenarios × algorithms × seeds, on all cores or a cluster.",
    "tune": "Tune stock congestion controls to a scenario.",
    "train": "Train a controller on a scenario and write its policy.",
    "ladder": "Measure the value of side information and of learning.",
    "query": "Query the tables of a sweep in SQL.",
    "play": "Write the video as Earth saw it, lost chunks frozen.",
    "report": "Compare runs on one self-contained page.",
    "explain": "Show what a trial's controller observed, believed and chose, and the result.",
    "export": "Write a run's trials for other tools: csv, iperf3, qlog, pcapng.",
    "reproduce": "Repeat a paper's experiments; compare published with measured.",
    "links": "List link profiles; compute one at a date, or a code's losses.",
    "algorithms": "List every congestion control and scheduler.",
    "kernel": "Build the Linux kernel for scenarios in virtual time.",
    "doctor": "Show what this machine can do and how to install the rest.",
}
"""Command name → help line; module ``dstcc_cli.NAME`` exports it as ``command``."""

INTERRUPTED = 130
ENDS = {signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}
"""Signals that end a command as Ctrl-C does, and how that is said."""


class Terminated(BaseException):
    """A signal of :data:`ENDS` as an exception, so that unfinished work is cleaned up as after Ctrl-C."""

    def __init__(self, number: int) -> None:
        """Store the signal's number."""
        super().__init__(number)
        self.number = signal.Signals(number)


EXPLAINED = (click.ClickException, click.Abort, DstccError, OSError, KeyboardInterrupt, Terminated)
"""Errors that end as one line and an exit code; any other error is our bug and shows its traceback."""
SELDOM = 200_000
"""New objects after which Python looks for garbage; a command imports a third as many. At Python's 700 it looks through
what is imported a hundred times."""
PLUGINS = "pydantic.plugin._loader"
WORKERS = "dstcc-trial"
"""Prefix of the names of the threads that trials run in (``dstcc.run``)."""
DISK_ERRORS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "a file outgrew its size limit",
}


@atexit.register
def _end_at_once() -> None:
    """Python would look for garbage thrice as it ends, in all that was imported; but duckdb names what outlives it."""
    if "duckdb" not in sys.modules:
        gc.freeze()


class LazyGroup(click.Group):
    """A group that knows its commands' help lines and imports a command's module only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, in the order in which they are used."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, its module imported now; ``None`` when there is none."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"dstcc_cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that ``args`` name; explain names that are unknown."""
        name = args[0]
        if name not in COMMANDS:
            raise click.UsageError(f"no command '{name}'{did_you_mean(name, COMMANDS)}", ctx)
        least_memory()
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help page's command table without importing any command."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command line; ends the process with the exit code unless ``standalone_mode`` is off."""
        name = prog_name or "dstcc"
        try:
            _prepare()
            others = frozenset(threading.enumerate())
        except MemoryError:
            sys.exit(_fail(LACKS_MEMORY, 1))
        if sys.stdout is None:  # closed by whoever calls: `dstcc links >&-`
            sys.exit(_fail("stdout is closed; `> /dev/null` leaves the output out", 1))
        if not standalone_mode:
            return super().main(args, name, complete_var, standalone_mode=False, **extra)
        try:
            with _terminable(), unraised():
                outcome = super().main(args, name, complete_var, standalone_mode=False, **extra)
                sys.stdout.flush()
        except EXPLAINED as error:
            _leave(_explain(error), others)
        except BaseException as error:  # of Rust's panics, too
            if isinstance(error, SystemExit) or not lacks_memory(error):
                raise
            _leave(_fail(LACKS_MEMORY, 1), others)
        sys.exit(outcome if isinstance(outcome, int) else 0)


def _prepare() -> None:
    """See to what is imported later."""
    gc.set_threshold(SELDOM)
    guard()
    if not any(isinstance(finder, _NoPandas) for finder in sys.meta_path):
        sys.meta_path.insert(0, _NoPandas())
    sys.modules.setdefault(PLUGINS, _without_plugins())


def _without_plugins() -> ModuleType:
    """What pydantic finds plugins with, and none: it would read what all packages declare, and import `email`."""
    module = ModuleType(PLUGINS)
    module.get_plugins = tuple  # type: ignore[attr-defined]
    return module


class _NoPandas:
    """Pyarrow imports pandas for its first array, to know pandas' own: a third of what a small `emulate` takes. Nothing
    of ours has any; whoever else imports pandas gets it."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Find nothing, but no pandas for us or for pyarrow."""
        frame = sys._getframe(1) if name == "pandas" else None
        while frame is not None and frame.f_globals.get("__name__", "").startswith("importlib"):
            frame = frame.f_back
        asks = "" if frame is None else str(frame.f_globals.get("__name__"))
        if asks != "pyarrow.pandas_compat" and asks.startswith(("dstcc", "pyarrow")):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@contextmanager
def _terminable() -> Iterator[None]:
    """Let the first signal of :data:`ENDS` raise :class:`Terminated`; one that the parent process ignored (as `nohup`
    does) stays ignored."""

    def end(number: int, _frame: object) -> Never:
        for one in before:
            signal.signal(one, signal.SIG_IGN)  # a second one must not stop the clean-up
        raise Terminated(number)

    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield
        return
    before = {one: handler for one in ENDS if (handler := signal.getsignal(one)) is not signal.SIG_IGN}
    for one in before:
        signal.signal(one, end)
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _leave(code: int, others: frozenset[threading.Thread]) -> Never:
    """End the process; trials in other threads are not waited for, but what they run in is ended with them.

    ``others`` are the threads of whoever called, and no reason to end its process: tests call many commands in one.
    """
    mine = set(threading.enumerate()) - others
    if any(thread.name.startswith(WORKERS) for thread in mine):
        if kernel := sys.modules.get("dstcc_kernel.backend"):
            kernel.end_all()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _explain(error: BaseException) -> int:
    """Print an expected error on stderr as one line, without a traceback; returns its exit code."""
    if isinstance(error, click.ClickException):
        said = StringIO()
        error.show(file=said)
        with suppress(OSError):
            click.echo(printable(said.getvalue()), err=True, nl=False)
        return error.exit_code
    if isinstance(error, DstccError):
        return _fail(str(error), error.exit_code)
    if isinstance(error, OSError):
        return _explain_os(error)
    if isinstance(error, Terminated):
        return _fail(ENDS[error.number], 128 + error.number)
    return _fail("interrupted", INTERRUPTED)


def _explain_os(error: OSError) -> int:
    if lacks_memory(error):
        return _fail(LACKS_MEMORY, 1)
    if isinstance(error, BrokenPipeError):  # the reader of our output went away: `dstcc algorithms | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    if error.errno in DISK_ERRORS:
        where = f"{error.filename}: " if error.filename else ""
        why = f"{DISK_ERRORS[error.errno]} ({error.strerror})"
        return _fail(f"{where}{why}; nothing half-written was left", 1)
    if error.errno == errno.ENAMETOOLONG:
        return _fail(f"{shortened(str(error.filename))}: no file has a name of that length", 2)
    if isinstance(error, FileNotFoundError) and error.filename is None and not _is_somewhere():
        return _fail("the folder in which dstcc was called is gone", 2)
    return _fail(str(error), 1)


def _is_somewhere() -> bool:
    """Whether the current folder is there."""
    try:
        os.getcwd()  # noqa: PTH109 - asks the system
    except FileNotFoundError:
        return False
    return True


def _fail(message: str, code: int) -> int:
    notice(message)
    return code


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.version_option(__version__, prog_name="dstcc")
def main() -> None:
    """Send scalable video from deep space to Earth: encode it, emulate the links, compare what arrives.

    Every command takes --json (one document on stdout and nothing else there).
    Exit codes: 0 done, 1 failed, 2 bad input, 3 an [expect] bound missed, 129 hung up, 130 interrupted,
    143 terminated.
    """
