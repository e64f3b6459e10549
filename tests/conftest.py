from __future__ import annotations

import signal

import pytest
from hypothesis import HealthCheck, settings

# A busy machine must not fail a test: no deadline for an example, no complaint about slow generation.
settings.register_profile("dstcc", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("dstcc")

# A shell that starts tests in the background has them ignore SIGINT, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say after a failure, also with ``-q``, in which order the tests ran."""
    seed = config.getoption("randomly_seed", None)
    if seed is not None and any(terminalreporter.getreports(kind) for kind in ("failed", "error")):
        terminalreporter.write_line(f"the same order again: --randomly-seed={seed}")


@pytest.fixture
def uncovered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Children without coverage, for tests of what a process may write, or imports before all else."""
    for name in ("COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG"):
        monkeypatch.delenv(name, raising=False)
