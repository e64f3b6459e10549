"""What a backend lacks is said by what to install, and what its clairvoyant sender is granted."""

from __future__ import annotations

from pathlib import Path

import pytest

from dstcc.engine import Loss
from dstcc.errors import MissingCapabilityError
from dstcc.run import backends
from dstcc.scenario import load_scenario, load_source
from tests.engine import net


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


def test_the_kernels_outages_begin_once_a_full_queue_is_served() -> None:
    # 10 packets and the one in service, 1,500 bytes at half of 1.2 Mbit/s: 220 ms. An outage of 0.2 s is gone.
    link = net.link(
        1.2e6,
        1.0,
        queue_bytes=15_000,
        loss=Loss("packet", 0.1),
        outages_s=((1.0, 1.2), (2.0, 5.0)),
        unannounced_ns=((net.ns(7), net.ns(8)),),
        rate_t_ns=(0, net.ns(1)),
        rate_share=(1.0, 0.5),
    )
    config = net.config("cubic", link)
    granted = backends.BACKENDS["kernel"].oracle(config).links[0]
    assert granted.outages_ns == ((net.ns(2.22), net.ns(5)),)
    assert granted.unannounced_ns == ((net.ns(7.22), net.ns(8)),)
    assert granted.loss == Loss()
    assert backends.BACKENDS["simulator"].oracle(config) == config
    assert [backend.fills_packets for backend in backends.BACKENDS.values()] == [False, True, True]
