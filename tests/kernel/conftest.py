from __future__ import annotations

from pathlib import Path

import pytest
from dstcc_kernel import build, source

from dstcc.errors import DstccError


@pytest.fixture(scope="session")
def kernel() -> Path:
    """The virtual-time kernel, from the cache or built now (minutes)."""
    return _built(debug=False)


@pytest.fixture(scope="session")
def debug_kernel() -> Path:
    """The one that watches itself."""
    return _built(debug=True)


@pytest.fixture
def kernel_with_scheduler(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The plain kernel that has our MPTCP scheduler; all that a test does is meant for it."""
    monkeypatch.setenv(source.VARIABLE, "6.12")
    return _built(debug=False)


@pytest.fixture
def debug_kernel_with_scheduler(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The one that watches itself."""
    monkeypatch.setenv(source.VARIABLE, "6.12")
    return _built(debug=True)


def _built(debug: bool) -> Path:
    try:
        return build.kernel(debug)
    except (
        DstccError
    ) as error:  # `make setup` installs what it takes: not to have it is a failure, not a reason to skip
        pytest.fail(f"no virtual-time kernel: {error}")
