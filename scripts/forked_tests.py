"""Tests that are collected once and run in forks: what each reaches, and which of them notice a change.

:func:`within` runs pytest in a child process, which collects the tests and then calls back. :class:`Bench` runs each of
them once, to know its time and the places that it reaches, and then judges changes: for each a fork makes it and runs
the tests that reach its place, those that noticed most so far first, then the fastest, until one fails.
"""

from __future__ import annotations

import functools
import gc
import os
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MEMORY_BYTES = 8 << 30
SLACK, SLACK_S = 3.0, 5.0
"""Times a test's usual CPU time, and seconds, after which a change counts as noticed."""
OPTIONS = (
    *("-q", "--tb=line", "--no-header", "-m", "not slow", "--hypothesis-seed=1"),
    *("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly", "-p", "no:faulthandler"),
)


@dataclass
class Test:
    """A test, its usual CPU time, and the places that it reaches."""

    item: Any
    cpu_s: float
    reached: frozenset[Any]


@dataclass
class Bench:
    """Tests that pass, and who of them noticed changes."""

    items: Sequence[Any]
    clear: Callable[[], None]
    """Forget what was reached."""
    reached: Callable[[], frozenset[Any]]
    tests: list[Test] = field(default_factory=list)
    noticed: Counter[int] = field(default_factory=Counter)
    """How often, by the number of the test."""
    caches: list[Any] = field(default_factory=list)

    def forget(self) -> None:
        """Empty the caches of functions: who finds there what an earlier test computed reaches nothing himself."""
        for one in self.caches:
            one.cache_clear()

    def measure(self, most_s: float = 60.0) -> list[str]:
        """Run each once. Left out are those that need more CPU time than ``most_s``, and those that fail, whose names
        are returned."""
        self.caches = caches()
        failed = []
        for item in self.items:
            self.clear()
            self.forget()
            before = used()
            if not passes(item):
                failed.append(item.nodeid)
            elif (cpu_s := used() - before) <= most_s:
                self.tests.append(Test(item, cpu_s, self.reached()))
        return failed

    def of(self, place: Any) -> list[int]:
        """The tests that reach a place, in the order in which to run them."""
        found = [number for number, test in enumerate(self.tests) if place in test.reached]
        return sorted(found, key=lambda number: (-min(self.noticed[number], 3), self.tests[number].cpu_s))

    def judge(self, tests: Sequence[int], change: Callable[[], None]) -> str | None:
        """Make a change in a fork and run tests: the first that fails or does not end, ``None`` where all pass."""
        at, said = os.pipe()
        child = os.fork()
        if child == 0:
            code = 3
            try:
                silent = os.open(os.devnull, os.O_WRONLY)
                os.dup2(silent, 1)
                os.dup2(silent, 2)
                self.forget()
                change()
                code = 0
                for number in tests:
                    limited(SLACK * self.tests[number].cpu_s + SLACK_S)
                    os.write(said, number.to_bytes(4, "big"))
                    if not passes(self.tests[number].item):
                        code = 1
                        break
            except BaseException:
                code = 3
            finally:
                os._exit(code)
        os.close(said)
        heard = b""
        while part := os.read(at, 1 << 16):
            heard += part
        os.close(at)
        _, status = os.waitpid(child, 0)
        if os.waitstatus_to_exitcode(status) == 0:
            return None
        if not heard:
            return "the change itself"
        last = int.from_bytes(heard[-4:], "big")
        self.noticed[last] += 1
        return str(self.tests[last].item.nodeid)


def caches() -> list[Any]:
    """All functions with a cache but those of Python itself."""
    kind = type(functools.lru_cache(repr))
    gc.unfreeze()  # as tests/conftest.py does not list what was there when the tests were collected
    found = [one for one in gc.get_objects() if type(one) is kind]
    gc.freeze()
    return [one for one in found if one.__module__.partition(".")[0] not in sys.stdlib_module_names]


def limited(cpu_s: float) -> None:
    """Let this process have so much CPU time, thirty times as much on the clock, and some memory."""
    limit = round(cpu_s + time.process_time()) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(30 * (round(cpu_s) + 1))


def used() -> float:
    """CPU seconds of this process, and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def passes(item: Any) -> bool:
    """Run a test with all that it needs; or what runs itself."""
    if hasattr(item, "passes"):
        return bool(item.passes())
    from _pytest.runner import runtestprotocol

    return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=None))


def within(
    tree: Path, tests: Sequence[str], call: Callable[[Sequence[Any]], int], guests: Sequence[str] = ()
) -> int:
    """Collect tests in a child process and call with them there; its exit status, 3 where that fails.

    Of those marked as the kernel's only ``guests`` are collected, beside the others; each is a test or a file of them.
    """
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 3
        gc.freeze()  # what threads of the parent work for must not end here, where there are none
        try:
            os.chdir(tree)
            os.environ |= {
                "OPENBLAS_NUM_THREADS": "1",
                "OMP_NUM_THREADS": "1",
                "PYTHONDONTWRITEBYTECODE": "1",
            }
            rooms = ("channel-models", "svc", "cli", "kernel-cc")
            sys.path[:0] = [str(tree), *(str(tree / name) for name in rooms)]
            code = _collected(tests, call, guests)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def _collected(tests: Sequence[str], call: Callable[[Sequence[Any]], int], guests: Sequence[str]) -> int:
    import pytest

    class Loop:
        """In the place of pytest's own loop."""

        code = 3

        @pytest.hookimpl(trylast=True)
        def pytest_collection_modifyitems(self, items: list[Any]) -> None:
            """Leave out the kernel's tests that are not asked for."""
            items[:] = [
                one
                for one in items
                if one.get_closest_marker("kernel") is None
                or (
                    one.get_closest_marker("debug_kernel") is None
                    and any(part in guests for part in _parts(one.nodeid))
                )
            ]

        def pytest_runtestloop(self, session: Any) -> bool:
            """Call."""
            self.code = call(session.items)
            return True

    loop = Loop()
    words = [*OPTIONS, "-s", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    files = {one.partition("::")[0] for one in guests}
    pytest.main([*words, *dict.fromkeys([*tests, *sorted(files)])], plugins=[loop])
    return loop.code


def _parts(name: str) -> tuple[str, str, str]:
    """A test's file, the test, and this case of it."""
    return name.partition("::")[0], name.partition("[")[0], name
