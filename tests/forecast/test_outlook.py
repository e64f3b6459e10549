"""What a forecaster is shown: what its parts say, each by itself, in the order of the names."""

from __future__ import annotations

import numpy as np
import pytest

from dstcc.coded.belief import Filter
from dstcc.coded.channels import GRID, POINTS
from dstcc.forecast import outlook
from dstcc.forecast.inputs import Inputs
from dstcc.forecast.outlook import AHEAD_NAMES, FLOOR, NAMES, Outlook
from dstcc.forecast.trends import Trends

EVENTS = (
    (np.array([100.0, 300.0]), np.array([10.0, 1.0]), np.array([5.0, 1.0]), np.array([0.05, 0.2])),
    (np.array([200.0, 0.0]), np.array([1.0, 0.0]), np.array([1.0, 0.0]), np.array([1e-5, 0.3])),
    (np.array([50.0, 80.0]), np.array([9.0, 30.0]), np.array([2.0, 3.0]), np.array([0.4, 0.6])),
)
"""Of two rows; the second one hears nothing at the second, and the first one's span there is next to nothing."""
AT = (np.array([0.05, 0.2]), np.array([0.051, np.nan]), np.array([0.451, 0.8]))
"""Where the events are in each row's time: spans of a thousandth of a round trip at least, of what was heard."""


def parts() -> tuple[np.ndarray, Trends, Filter]:
    """The sums, the lines and the filter after the events."""
    sums, trends, belief = Inputs(2), Trends(2), Filter(2, 1, np.ones((2, 1)))
    for (heard, lost, runs, span), at in zip(EVENTS, AT, strict=True):
        shown = sums.hear(heard, lost, runs, np.maximum(span, 1e-3))
        trends.hear(heard, lost, np.maximum(span, 1e-3))
        belief.hear(heard[:, None], lost[:, None], at[:, None])
    return shown, trends, belief


def test_inputs_are_the_sums_the_lines_and_the_filter() -> None:
    made = Outlook(2)
    for event in EVENTS:
        shown = made.hear(*event)
    sums, trends, belief = parts()
    now, logs = belief.now()[:, 0], np.log(GRID) / 3 + 1
    mean = (now * logs).sum(axis=1)
    of = dict(zip(NAMES, shown.T, strict=True))
    assert shown[:, : sums.shape[1]] == pytest.approx(sums)
    assert shown[:, sums.shape[1] : sums.shape[1] + 6] == pytest.approx(trends.now())
    assert of["mean log chance of filter"] == pytest.approx(mean)
    spread = np.sqrt((now * (logs - mean[:, None]) ** 2).sum(axis=1))
    assert of["deviation of log chance of filter"] == pytest.approx(spread) and (spread > 0.01).all()
    trust = [name for name in NAMES if name.startswith("trust of filter")]
    assert shown[:, -len(trust) :] == pytest.approx(belief.trust()[:, 0])


def test_of_times_ahead_there_are_the_time_the_lines_and_the_belief() -> None:
    made = Outlook(2)
    for event in EVENTS:
        made.hear(*event)
    _, trends, belief = parts()
    ahead = np.array([[0.5, 2.0], [1.0, 4.0]])
    held = made.ahead(ahead)
    of = dict(zip(AHEAD_NAMES, np.moveaxis(held.features, -1, 0), strict=True))
    assert of["log time"] == pytest.approx(np.log(ahead)) and of["time"] == pytest.approx(ahead / 2 - 1)
    assert of["exp of time"] == pytest.approx(np.exp(-ahead))
    assert of["exp of a third of time"] == pytest.approx(np.exp(-ahead / 3))
    assert held.features[..., 4:] == pytest.approx(trends.ahead(ahead))
    expected = belief.expect(np.array([[0.451], [0.8]]) + ahead)[:, 0]
    assert FLOOR == 1e-4
    assert held.held == pytest.approx(np.log(expected * (1 - 1e-4) + 1e-4 / POINTS))
    assert np.exp(held.held).sum(axis=-1) == pytest.approx(np.ones((2, 2)))
    assert len(NAMES) == outlook.SIZE and held.features.shape[-1] == outlook.AHEAD_SIZE
