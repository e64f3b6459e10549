"""No sender beats the clairvoyant bound, whatever is lost and however short its packets are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstcc.engine import CONGESTION_NAMES, Link, Loss, Objects, clairvoyant_weight, simulate
from tests.sampling import examples

from . import net
from .test_channel_frames import frames

STEEP = (-1.0, 0.5, [0.0, -0.5, -1.0, -2.0, -4.0])
"""A curve from FER 1 at -1 dB to 1e-4 at 1 dB."""

frame_losses = st.builds(
    lambda db, bits, index, coherence_s: frames(
        [db, db + 0.5, db - 0.3],
        t_s=[0, 20, 40],
        bits=bits,
        scintillation=index,
        coherence_s=coherence_s,
        curve=STEEP,
    ),
    st.floats(-0.6, 1.2),
    st.sampled_from([1, 320, 1784, 8920, 16384, 50_000]),
    st.sampled_from([0.0, 0.0, 0.4, 1.0]),
    st.sampled_from([0.01, 0.5, 30.0]),
)
slot_losses = st.one_of(
    st.builds(Loss, st.just("packet"), st.sampled_from([0.01, 0.2, 0.6])),
    st.builds(Loss, st.just("ber"), st.sampled_from([1e-5, 1e-4])),
    st.builds(
        lambda p: Loss("gilbert-elliott", p=p, r=0.1, good=0.05, bad=0.9), st.sampled_from([0.01, 0.1])
    ),
)


def played(objects: Objects, complete_ns: np.ndarray) -> float:
    """Layers in time with all those below them."""
    in_time = (complete_ns >= 0) & (complete_ns <= objects.deadline_ns)
    return float(np.minimum.accumulate(in_time.reshape(objects.chunk[-1] + 1, -1), axis=1).sum())


@st.composite
def links(draw: st.DrawFn) -> Link:
    rate = draw(st.sampled_from([60e3, 240e3, 1e6]))
    loss = draw(st.one_of(frame_losses, slot_losses))
    outages = draw(st.sampled_from([(), ((10.0, 15.0), (30.0, 31.0))]))
    return net.link(rate, 1.0, loss=loss, up_loss=Loss(), outages_s=outages, queue_bdp=4)


@examples(120)
@given(
    st.lists(links(), min_size=1, max_size=2),
    st.lists(st.sampled_from([20, 100, 1000, 1460, 1461, 3000, 15_000]), min_size=1, max_size=3),
    st.sampled_from(CONGESTION_NAMES),
    st.sampled_from(["stream", "lanes"]),
    st.integers(1, 1000),
)
def test_no_congestion_control_exceeds_it(paths, layers, congestion, mode, seed):
    objects = net.live(80, tuple(layers), chunk_s=0.5, playout_s=2.5)
    config = net.config(
        congestion,
        tuple(paths),
        objects=objects,
        seed=seed,
        mode=mode,
        parameters=net.rates(*(path.rate_bps for path in paths)),
    )
    bound = clairvoyant_weight(config, np.ones(len(objects.chunk)))
    assert played(objects, simulate(config).objects.complete_ns) <= bound * (1 + 1e-9)


@pytest.mark.parametrize("payload", [100, 700])
@pytest.mark.parametrize("loss", [Loss("packet", 0.5), frames(-0.3, curve=STEEP, bits=1784)])
def test_nor_with_layers_of_one_short_packet(payload, loss):
    # Half of the slots are lost, but short packets take further draws of theirs: many small layers get through, and the
    # bound must allow for them. 60 kbit/s carry 536 or 101 packets of 140 or 740 bytes in 10 s; all are offered.
    link = net.link(60e3, 0.2, loss=loss, up_loss=Loss(), queue_bytes=10**6)
    objects = net.live(50, (payload,) * 8, chunk_s=0.2, playout_s=5.0)
    config = net.config("open-loop", link, objects=objects)
    bound = clairvoyant_weight(config, np.ones(len(objects.chunk)))
    assert 0 < played(objects, simulate(config).objects.complete_ns) <= bound


def test_full_packets_are_counted_with_their_losses():
    # 10 slots a second for 10 packets a second, each of 12,000 bits in two frames of 8,920: of the starts that follow
    # each other at once, (1 - FER)^2 get through; choosing one's start gains little of what is lost, as it must wait.
    loss = frames(0.0, bits=8920, curve=(0.0, 1.0, [float(np.log10(0.3))]))
    link = net.link(120e3, 2.0, loss=loss)
    objects = net.live(200, (10 * net.MSS,), playout_s=3.0)
    config = net.config("open-loop", link, objects=objects)
    share = clairvoyant_weight(config, np.ones(200)) / 200
    assert 0.7**2 <= share <= 0.7
