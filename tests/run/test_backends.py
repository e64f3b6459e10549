"""What a backend lacks is said by what to install."""

from __future__ import annotations

from pathlib import Path

import pytest

from dstcc.errors import MissingCapabilityError
from dstcc.run import backends
from dstcc.scenario import load_scenario, load_source


@pytest.mark.parametrize("name", ["kernel", "host"])
def test_without_pyroute2_a_kernel_says_what_to_install(
    name: str, scenario_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "find_spec", lambda _: None)
    scenario = load_scenario(scenario_file)
    with pytest.raises(
        MissingCapabilityError, match=rf"--backend {name} needs pyroute2: pip install 'dstcc\[kernel\]'"
    ):
        backends.backend_of(name).check(scenario, load_source(scenario), {})
