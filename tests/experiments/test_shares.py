"""``experiments/shares.py``: whom it puts side by side."""

from __future__ import annotations

from dstcc.algorithms import shipped_policies
from experiments import shares


def test_every_controller_of_windows_is_there() -> None:
    assert set(shares.NAMES) == {"cubic", *shipped_policies()} - set(shares.UNSHARED)


def test_the_two_are_the_ones_asked_for() -> None:
    scenario = shares.scenario_of("dstcc-lanes", "cubic", 4)
    assert (scenario.transport.controller, scenario.transport.congestion) == (("dstcc-lanes",), ())
    assert scenario.link[0].flows[0].congestion == "cubic" and scenario.run.seeds == 4
    stock = shares.scenario_of("cubic", "same", 2)
    assert (stock.transport.controller, stock.transport.congestion) == ((), ("cubic",))


def test_a_row_is_the_trials_own_metrics() -> None:
    # Two of CUBIC: equals, with a handshake of at most a round trip between them.
    values = shares.shares("cubic", "same", 2)
    assert all(0.4 < share < 0.65 for share in values["own_share"])
    # Of shares x and 1 - x it is 1 / 2(x² + (1 - x)²).
    for share, index in zip(values["own_share"], values["fairness_jain"], strict=True):
        assert abs(index - 1 / (2 * (share**2 + (1 - share) ** 2))) < 1e-9
