from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.sampling import SHARE, mark_rest

# A busy machine must not fail a test: no deadline for an example, no complaint about slow generation.
settings.register_profile("dstcc", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("dstcc"), max_examples=100 // SHARE)
settings.load_profile("dstcc")

# Hundreds of tests start a command, which would compile all that it imports anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A shell that starts tests in the background has them ignore SIGINT, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say after a failure, also with ``-q``, in which order the tests ran."""
    seed = config.getoption("randomly_seed", None)
    if seed is not None and any(terminalreporter.getreports(kind) for kind in ("failed", "error")):
        terminalreporter.write_line(f"the same order again: --randomly-seed={seed}")


DEAR = (
    *("iodst/held-out", "iodst/table-1", "papers/iodst/table-1", "physics/conjunction-2028"),
    *("demo/mars-two-links", "learning/held-out", "learning/training", "ltp/ltp", "papers/mpquic-rl/diverse"),
    *("ltp/earth-mars", "physics/mro-x-pass", "relays/further-on", "missions/live-70m", "learning/base"),
    *("quic/bulk", "quic/ngtcp2", "quic/page", "quic/relay"),
    *("missions/areostationary", "missions/conjunction-weeks", "missions/handover", "missions/lunar-farside"),
    *("missions/mars-network", "missions/outage", "missions/relay-week", "missions/three-relays"),
)
"""What of `examples/` takes seconds each: `make test-slow` runs it."""
KEPT = ("iodst/held-out/rtt-80-min", "learning/training/two-skies")
"""One of each folder of missions alike in `make test`, too."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the dear missions and what is not drawn; this is before items are chosen by their marks."""
    examples = config.rootpath / "examples"
    for item in items:
        if item.path.suffix == ".toml" and item.path.is_relative_to(examples):
            name = item.path.relative_to(examples).with_suffix("").as_posix()
            if name.startswith(DEAR) and name not in KEPT:
                item.add_marker(pytest.mark.slow)
    mark_rest(items)


# The thousands of collected items are no garbage: to look through them again and again is a share of the suite.
gc.set_threshold(50_000)


def pytest_collection_finish() -> None:
    """Leave the items out of every later look for garbage."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """As it was: a library may name at the end what outlives it."""
    gc.unfreeze()


ENVIRONMENT = pytest.StashKey[dict[str, str]]()
"""Of the process, before a test and its fixtures."""


def _environment() -> dict[str, str]:
    """What a test may not leave changed; pytest itself says there which one runs."""
    return {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    item.stash[ENVIRONMENT] = _environment()
    yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Fail a test that leaves the environment changed: the next one would not be what it is alone."""
    yield
    before, after = item.stash[ENVIRONMENT], _environment()
    changed = [
        name
        for name in sorted(before.keys() | after.keys())
        # A library that is imported may add some of its own.
        if before.get(name) != after.get(name) and (name in before or name.startswith("DSTCC"))
    ]
    for name in changed:
        if name in before:
            os.environ[name] = before[name]
        else:
            del os.environ[name]
    if changed:
        pytest.fail(f"the test left the environment changed: {', '.join(changed)}")


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty figures in reports, for tests of what stands around them."""
    from tests.undrawn import leave_undrawn

    leave_undrawn(monkeypatch)


@pytest.fixture
def uncovered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Children without coverage, for tests of what a process may write, or imports before all else."""
    for name in ("COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session", autouse=True)
def guests_counted() -> Iterator[None]:
    """What guests run counts, where coverage is measured."""
    if "coverage" not in sys.modules:
        yield
        return
    from tests.covered_guests import counted

    with counted():
        yield
