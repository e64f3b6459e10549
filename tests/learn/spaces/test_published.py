"""What the published controllers see and are paid, against the papers' definitions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dstcc.engine.stepper import EPISODE_VALUES, SUBFLOW_VALUES
from dstcc.learn.env.deep_space import DeepSpaceEnv
from dstcc.learn.env.reward import REWARDS
from dstcc.learn.spaces import published
from dstcc.learn.spaces.observe import ObservationSpec


def values(**given):
    """One episode of two subflows."""
    subflows, own = np.zeros((1, 2, len(SUBFLOW_VALUES))), np.zeros((1, len(EPISODE_VALUES)))
    for name, value in given.items():
        if name in SUBFLOW_VALUES:
            subflows[0, :, SUBFLOW_VALUES.index(name)] = value
        else:
            own[0, EPISODE_VALUES.index(name)] = value
    return subflows, own, np.full((1, 1), 1460.0)


@pytest.mark.parametrize("kind, size", [("pbq", 10), ("drl-cc", 10), ("mpquic-rl", 10)])
def test_sizes_are_the_papers(kind, size):
    # 5 values a subflow; of Lee and Yoo 3, and 4 of the session: 10 for two paths.
    assert ObservationSpec(kind, 2, 3, 0).size == size


def test_values_are_the_named_ones():
    given = {
        "established": (1, 0),
        "cwnd_segments": (15, 99),
        "srtt_s": (0.063, 9),
        "rtt_deviation_s": 0.007,
        "delivered_bytes": 12_600,  # 1,008 kbit/s in 100 ms
        "sent_segments": 20,
        "lost_segments": 1,
        "slot_s": 0.1,
    }
    given = values(**given)
    pbq = published.observe("pbq", *given)[0].tolist()
    # log2(16) / 4; log2(101) / 6; log2(1,009) / 8; log2(64) / 6; 1 lost beside 12,600 / 1,460 = 8.63 that came.
    assert pbq[:5] == pytest.approx([1.0, 1.1097, 1.2473, 1.0, 0.1038], abs=1e-3)
    assert pbq[5:] == [0.0] * 5
    # 20 segments in 100 ms are 2,336 kbit/s: log2(2,337) / 8; the deviation log2(8) / 6.
    drl = published.observe("drl-cc", *given)[0].tolist()
    assert drl[:5] == pytest.approx([1.3988, 1.2473, 1.0, 0.5, 1.0], abs=1e-3)
    chunk = values(
        established=1,
        cwnd_segments=15,
        inflight_segments=7,
        send_window_bytes=np.inf,
        chunk_elapsed_s=0.063,
        chunk_bytes=40_000,
        chunk_acked_bytes=9_000,
    )
    seen = published.observe("mpquic-rl", *chunk)[0].tolist()
    # inflight log2(8) / 4; no bound on the send window is the most; 63 ms; 31 kB remain; 9 are there.
    assert seen[:3] == [0.0, 1.0, 0.75] and seen[6:] == pytest.approx(
        [4.0, 1.0, 1.25, np.log2(10) / 4], abs=1e-6
    )


def test_pbq_s_reward():
    # Two flows of 1 Mbit/s, no loss, no queue: 1. With RTT > 2.5 times the least one of two is fined 1: mean ½.
    given = {"established": 1, "delivered_bytes": 12_500, "slot_s": 0.1, "min_rtt_s": 0.03}
    assert REWARDS["pbq"](*values(**given, srtt_s=0.04)) == pytest.approx([1.0])
    assert REWARDS["pbq"](*values(**given, srtt_s=(0.07, 0.08))) == pytest.approx([0.5])
    lossy = values(
        established=1, lost_segments=1, delivered_bytes=1460, slot_s=1.0, srtt_s=1.0, min_rtt_s=1.0
    )
    # 11,680 bit/s less 2 · ½.
    assert REWARDS["pbq"](*lossy) == pytest.approx([0.01168 - 1.0])


def test_log_goodput_is_of_all_subflows_together():
    assert REWARDS["log-goodput"](*values(delivered_bytes=6_250, slot_s=1.0)) == pytest.approx([np.log(100)])
    assert REWARDS["log-goodput"](*values(slot_s=1.0)) == [0.0]


def test_chunks_pay_packets_and_speed():
    # 2 · 73 packets; and a chunk at 146,000 B/s, 5 packets a slot, times 10.
    given = values(delivered_bytes=73 * 1460, slot_s=0.05, chunks_bytes_per_s=146_000)
    assert REWARDS["chunks"](*given) == pytest.approx([(146 + 50) / 100])


def test_the_environment_offers_them(mission: Path):
    env = DeepSpaceEnv(mission, observation="mpquic-rl", action="policies", reward="chunks")
    observation, _ = env.reset(options={"scenario_seed": 1})
    paid = 0.0
    while True:
        observation, reward, ended, over, _ = env.step(4)
        assert env.observation_space.contains(observation)
        paid += reward
        if ended or over:
            break
    delivered = env.result().objects.delivered_bytes.sum()
    assert paid > delivered / 1460 / 100 * 0.9
