"""A scheduler may wait, but never for ever: whatever the network, everything arrives in the end."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstcc.engine import CONGESTION_NAMES, SCHEDULER_NAMES, EngineConfig, Link, Loss, simulate
from tests.sampling import examples

from . import net


def log_floats(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(np.log(low), np.log(high)).map(lambda x: float(np.exp(x)))


@st.composite
def links(draw: st.DrawFn, rtt_s: float) -> Link:
    """A path near that round trip, up to eight times as long; it may lose, and go dark for a while."""
    rtt_s *= draw(log_floats(1, 8))
    outages = ((rtt_s * 2, rtt_s * draw(st.floats(3, 12))),) if draw(st.booleans()) else ()
    loss = Loss("packet", draw(st.sampled_from([0.0, 0.01, 0.1])))
    # 10 to 200 packets a round trip.
    rate = draw(log_floats(10, 200)) * net.WIRE * 8 / rtt_s
    return net.link(
        rate, rtt_s, loss=loss, up_loss=loss, outages_s=outages, queue_bdp=draw(log_floats(0.05, 2))
    )


@st.composite
def networks(draw: st.DrawFn, scheduler: str) -> EngineConfig:
    """One to four lossy paths with round trips from a millisecond to 40 minutes, and no deadlines."""
    rtt_s = draw(log_floats(1e-3, 300))
    paths = tuple(draw(st.lists(links(rtt_s), min_size=1, max_size=4)))
    each = tuple(draw(st.integers(1, 40_000)) for _ in range(draw(st.integers(1, 3))))
    objects = net.live(draw(st.integers(1, 8)), each, chunk_s=rtt_s * draw(log_floats(0.1, 5)))
    config = net.config(
        draw(st.sampled_from(CONGESTION_NAMES)),
        paths,
        objects=objects,
        slot_s=rtt_s * draw(log_floats(0.1, 10)),
        seed=draw(st.integers(0, 2**31)),
        scheduler=scheduler,
        mode=draw(st.sampled_from(["stream", "lanes"])),
        receive_buffer_bytes=draw(st.sampled_from([0, 20_000, 500_000])),
        scale=max(1.0, rtt_s / 5),
    )
    layers_first = dataclasses.replace(config.transport, layer_first=draw(st.booleans()))
    return dataclasses.replace(config, transport=layers_first)


@pytest.mark.parametrize("scheduler", SCHEDULER_NAMES)
def test_every_scheduler_delivers_everything(scheduler: str) -> None:
    @examples(12)
    @given(networks(scheduler))
    def everything_arrives(config: EngineConfig) -> None:
        result = simulate(config)
        assert (result.objects.complete_ns >= 0).all()
        np.testing.assert_array_equal(result.objects.delivered_bytes, config.objects.payload_bytes)

    everything_arrives()
