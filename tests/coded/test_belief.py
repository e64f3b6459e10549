"""The filter: what it believes of acknowledgements, and for how long."""

from __future__ import annotations

import numpy as np
import pytest

from dstcc.coded.belief import MEMORY, PRIOR_SLOTS, SPANS_RTTS, Filter
from dstcc.coded.channels import GRID

RTT_S = 100.0


def fed(losses: list[float], heard: float = 300.0) -> tuple[Filter, float]:
    """A filter that heard of so many packets every 5 s, of which that share was lost; and when the last were sent."""
    one = Filter(1, 1, np.array([[RTT_S]]))
    at = 0.0
    for share in losses:
        at += 5.0
        one.hear(np.array([[heard]]), np.array([[round(heard * share)]]), np.array([[at]]))
    return one, at


def mean_at(one: Filter, *times: float) -> list[float]:
    belief = one.expect(np.array([times]))
    assert belief.sum(axis=-1) == pytest.approx(1)
    return (belief @ GRID)[0, 0].tolist()


def test_a_loss_that_stays_is_found() -> None:
    one, at = fed([0.02] * 30)
    assert one.now()[0, 0] @ GRID == pytest.approx(0.02, rel=0.2)
    soon, later = mean_at(one, at + RTT_S, at + 5 * RTT_S)
    assert soon == pytest.approx(0.02, rel=0.3)
    assert later == pytest.approx(0.02, rel=0.5)


def test_a_jump_is_believed_at_once_and_what_was_is_not_forgotten() -> None:
    calm, at = fed([0.0] * 100)
    assert mean_at(calm, at + RTT_S)[0] < 0.02
    jumped, at = fed([0.0] * 100 + [0.1] * 2)
    now, soon, later = mean_at(jumped, at, at + RTT_S, at + 20 * RTT_S)
    assert now == pytest.approx(0.1, rel=0.2)
    assert now > soon > later  # it was calm for long: it may be so again


def test_a_channel_that_turns_quickly_is_not_relied_on() -> None:
    quick, at = fed(([0.0] * 2 + [0.1] * 2) * 25)
    slow, until = fed([0.0] * 50 + [0.1] * 50)
    assert mean_at(quick, at + RTT_S)[0] < 0.8 * mean_at(slow, until + RTT_S)[0]


def test_nothing_heard_is_the_flat_prior_and_leaves_what_was() -> None:
    one = Filter(2, 1, np.full((2, 1), RTT_S))
    flat = one.expect(np.array([[10.0], [10.0]]))
    assert flat == pytest.approx(1 / len(GRID))
    one.hear(np.array([[300.0], [0.0]]), np.array([[30.0], [0.0]]), np.array([[5.0], [np.nan]]))
    beliefs = one.expect(np.array([[10.0], [10.0]]))[:, 0, 0] @ GRID
    assert beliefs[0] == pytest.approx(0.1, rel=0.25) and beliefs[1] == pytest.approx(GRID.mean())
    before = one.now().copy()
    one.hear(np.zeros((2, 1)), np.zeros((2, 1)), np.full((2, 1), np.nan))
    assert (one.now() == before).all()


def test_few_packets_say_little() -> None:
    few, at = fed([0.1], heard=10)
    many, _ = fed([0.1], heard=1000)
    wide = lambda one: float(np.sqrt(one.now()[0, 0] @ GRID**2 - (one.now()[0, 0] @ GRID) ** 2))  # noqa: E731
    assert wide(few) > 3 * wide(many)
    assert at == 5


def believed(heard: list[tuple[float, float, float]]) -> tuple[np.ndarray, np.ndarray]:
    """The belief, and the trust in each span, after (known, lost, sent at s) of one link: the module's two lines."""
    spans = SPANS_RTTS * RTT_S
    weights = [np.full(len(GRID), 1 / len(GRID)) for _ in spans]
    trust, total = np.full(len(spans), 1 / len(spans)), np.full(len(GRID), PRIOR_SLOTS / len(GRID))
    last = None
    for known, lost, at in heard:
        told, log = [], lost * np.log(GRID) + (known - lost) * np.log(1 - GRID)
        for t, span in enumerate(spans):
            stays = np.exp(-max(at - last, 0) / span) if last is not None else 1.0
            foretold = stays * weights[t] + (1 - stays) * total / total.sum()
            seen = foretold * np.exp(log - log.max())
            told.append(seen.sum())
            weights[t] = seen / seen.sum()
        trust = trust**MEMORY * np.array(told)
        trust /= trust.sum()
        belief = trust @ np.array(weights)
        total, last = total + belief, at
    return belief, trust


@pytest.mark.parametrize("seed", range(6))
def test_beliefs_are_those_of_the_formulas(seed: int) -> None:
    random = np.random.default_rng(seed)
    known = random.choice([1.0, 30.0, 90.0, 1500.0], 12)
    lost = np.ceil(known * random.choice([0.0, 0.05, 0.3], 12))
    sent = np.cumsum(random.choice([-2.0, 0.0, 0.4, 30.0, 500.0], 12))
    one = Filter(1, 1, np.array([[RTT_S]]))
    for number in range(12):
        one.hear(*(np.array([[column[number]]]) for column in (known, lost, sent)))
        belief, trust = believed(list(zip(known, lost, sent, strict=True))[: number + 1])
        assert one.now()[0, 0] == pytest.approx(belief, rel=1e-6, abs=1e-12)
        assert one.trust()[0, 0] == pytest.approx(trust, rel=1e-6, abs=1e-12)
