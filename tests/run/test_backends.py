"""What a backend's clairvoyant sender is granted."""

from __future__ import annotations

from dataclasses import replace

from dstcc.engine import Loss
from dstcc.run import backends
from tests.engine import net


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
    # at the whole rate all the time it is 110 ms
    steady = net.config("cubic", replace(link, rate_t_ns=(), rate_share=()))
    assert backends.BACKENDS["kernel"].oracle(steady).links[0].outages_ns == (
        (net.ns(1.11), net.ns(1.2)),
        (net.ns(2.11), net.ns(5)),
    )
    assert backends.BACKENDS["simulator"].oracle(config) == config
    assert [backend.fills_packets for backend in backends.BACKENDS.values()] == [False, True, True]
