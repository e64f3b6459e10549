"""The chunk manager: every byte once, and download times that are the receiver's to within an ACK's delay."""

from __future__ import annotations

import numpy as np
import pytest

from dstcc.engine import EngineConfig, Loss, Objects, Stepper
from dstcc.engine.config import AGENT_BBR, AGENT_POLICIES
from dstcc.engine.stepper import EPISODE_VALUES, RUNNING, SUBFLOW_VALUES

from .net import S, config, link, live

SLOT_S = 0.05
PROBABILISTIC, MINRTT = 1, 4


def stepped(trial: EngineConfig, policy: int, layers: int = 2):
    """Values of every slot, and the result."""
    stepper = Stepper(1, 2, layers)
    stepper.load(0, trial)
    rows = []
    while stepper.done[0] == RUNNING:
        stepper.layer_subflow[0, :] = policy
        stepper.step()
        rows.append(stepper.episode_values[0].copy())
    table = np.array(rows)
    return {name: table[:, place] for place, name in enumerate(EPISODE_VALUES)}, stepper.result(0)


def network(objects: Objects, *, loss: float, up_loss: float = 0.0) -> EngineConfig:
    links = tuple(
        link(rate, rtt, name=name, loss=Loss("packet", loss), up_loss=Loss("packet", up_loss), queue_bdp=4.0)
        for name, rate, rtt in (("fast", 8e6, 0.02), ("slow", 4e6, 0.16))
    )
    return config("cubic", links, objects=objects, scheduler=AGENT_POLICIES, mode="stream", slot_s=SLOT_S)


@pytest.mark.parametrize("loss, up_loss", [(0.0, 0.0), (0.03, 0.0), (0.03, 0.2)])
@pytest.mark.parametrize("policy", [MINRTT, PROBABILISTIC])
def test_each_chunk_is_done_once_and_its_download_takes_as_long_as_on_earth(loss, up_loss, policy):
    objects = live(20, (90_000, 60_001))
    seen, result = stepped(network(objects, loss=loss, up_loss=up_loss), policy)
    assert seen["chunks_done"].sum() == 19  # the trial is over when the last arrives, before its ACK does
    sizes = 150_001
    first = result.objects.first_sent_ns.reshape(20, 2).min(axis=1)
    last = result.objects.complete_ns.reshape(20, 2).max(axis=1)
    true_s = ((last - first) / S)[:19]
    # In slots with one chunk done, Σ size / time is that chunk's.
    single = seen["chunks_done"] == 1
    told_s = sizes / seen["chunks_bytes_per_s"][single]
    assert len(told_s) == 19
    # The ACK comes half a round trip later, which is taken off; what stays is its queueing and its delay of at most 40
    # ms; a lost ACK waits for the next segment's or a timeout's.
    late = told_s - true_s
    assert late.min() > -0.12
    if up_loss == 0.0:
        assert late.max() < 0.12
    assert np.median(np.abs(late)) < 0.09


def test_the_chunk_under_way_is_the_oldest():
    objects = live(5, (100_000, 50_000), playout_s=3.0)
    seen, result = stepped(network(objects, loss=0.0), MINRTT)
    waiting = seen["chunk_bytes"] > 0
    assert set(seen["chunk_bytes"][waiting]) == {150_000}
    assert (seen["chunk_acked_bytes"] < 150_000).all()
    within = waiting[1:] & waiting[:-1] & (seen["chunks_done"][1:] == 0)
    assert (np.diff(seen["chunk_acked_bytes"])[within] >= 0).all()
    # Chunk c is released at c + 1 s and due 3 s later. A connection begins well within a second.
    before = seen["time_s"] < 0.99
    assert seen["chunk_due_s"][before] == pytest.approx(4.0 - seen["time_s"][before])
    # Its time counts from its first packet, and its bytes are acknowledged by and by.
    first_s = result.objects.first_sent_ns.reshape(5, 2).min(axis=1) / S
    under_way = np.cumsum(seen["chunks_done"]).astype(int)[waiting]
    elapsed_s = seen["time_s"][waiting] - first_s[under_way]
    assert seen["chunk_elapsed_s"][waiting] == pytest.approx(np.maximum(elapsed_s, 0.0))
    assert seen["chunk_acked_bytes"].max() > 50_000
    # 12 Mbit/s carry 1.2 Mbit in well under a second: in between nothing waits.
    assert not waiting.all()


def test_a_chunk_that_was_given_up_is_passed_over():
    objects = live(12, (1_700_000,), playout_s=2.0)  # 13.6 Mbit a second on 12 Mbit/s
    seen, result = stepped(network(objects, loss=0.0), MINRTT, layers=1)
    assert result.objects.given_up.any()
    done, whole = seen["chunks_done"].sum(), (result.objects.complete_ns >= 0).sum()
    assert whole - 1 <= done <= whole and done > 0
    assert seen["chunk_bytes"][-1] == 0


def test_a_window_paced_by_bbr_leaves_at_the_links_rate():
    # A window of twice the BDP (1,000 segments) stands; BBR paces at 0.75 to 1.25 times the bottleneck's rate once it
    # has seen it, and the queue takes the rest. Paced by itself it would leave at twice the rate.
    trial = config(AGENT_BBR, link(12e6, 1.0, queue_bdp=2.0), duration_s=60, slot_s=1.0, headroom=0)
    stepper = Stepper(1, 1, 1)
    stepper.load(0, trial)
    paces = []
    while stepper.done[0] == RUNNING:
        stepper.alpha_q16[:], stepper.beta[:] = 0, 2000
        stepper.step()
        paces.append(stepper.subflow_values[0, 0, SUBFLOW_VALUES.index("pacing_bps")])
        window = stepper.subflow_values[0, 0, SUBFLOW_VALUES.index("cwnd_segments")]
    assert window == 2000
    late = np.array(paces[20:])
    assert late.min() >= 0.7 * 12e6 and late.max() <= 1.3 * 12e6
    assert np.median(late) == pytest.approx(12e6, rel=0.05)
