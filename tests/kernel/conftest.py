from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from dstcc_kernel import build, source

from dstcc.errors import DstccError

if TYPE_CHECKING:
    from dstcc_kernel.endhosts.mission import Mission

DEBUG = {"debug_kernel", "debug_kernel_with_scheduler"}
"""Fixtures."""


@pytest.fixture(scope="session")
def mission() -> Mission:
    """Of one program, over one link."""
    from dstcc_kernel.endhosts.planning import Options, plan

    from dstcc.reading import parse_toml
    from dstcc.scenario import parse_scenario
    from tests.quick import QUICK

    return plan(parse_scenario(parse_toml(QUICK), source="quick"), Options(command=("true",), pcapng=True))


@pytest.fixture(scope="session")
def kernel() -> Path:
    """The virtual-time kernel, from the cache or built now (minutes)."""
    return _built(debug=False)


@pytest.fixture(scope="session")
def debug_kernel() -> Path:
    """The one that watches itself."""
    return _built(debug=True)


@pytest.fixture
def older_kernel(monkeypatch: pytest.MonkeyPatch) -> Path:
    """6.1, which has none of our MPTCP scheduler, and which `make test-kernel` builds."""
    return _of("6.1", monkeypatch)


@pytest.fixture
def kernel_with_scheduler(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The plain kernel that has it, whichever is meant."""
    return _of("6.12", monkeypatch)


@pytest.fixture
def debug_kernel_with_scheduler(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The one that watches itself."""
    return _of("6.12", monkeypatch, debug=True)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs the variant that watches itself."""
    for item in items:
        if DEBUG & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.debug_kernel)


def _of(name: str, monkeypatch: pytest.MonkeyPatch, *, debug: bool = False) -> Path:
    monkeypatch.setenv(source.VARIABLE, name)
    return _built(debug=debug)


def _built(debug: bool) -> Path:
    try:
        return build.kernel(debug)
    except (
        DstccError
    ) as error:  # `make setup` installs what it takes: not to have it is a failure, not a reason to skip
        pytest.fail(f"no virtual-time kernel: {error}")
