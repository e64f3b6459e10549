"""What probes take from a trial, with the arithmetic."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dstcc.papers.probes import PROBES

S = 1_000_000_000
SCENARIO: Any = SimpleNamespace(scenario=SimpleNamespace(duration_s=500.0))


@pytest.mark.parametrize(("done", "said"), [(12.5, (12.5, 1.0)), (None, (500.0, 0.0)), (0.0, (0.0, 1.0))])
def test_a_transfer_that_is_not_whole_took_all_the_time(
    done: float | None, said: tuple[float, float]
) -> None:
    trial: Any = SimpleNamespace(metrics=SimpleNamespace(values={"completion_s": done}))
    values = PROBES["transfer"](SCENARIO, trial).values
    assert (values["transfer_s"], values["transfer_whole"]) == said


def layers(done: list[int]) -> Any:
    """Four layers, of two chunks: released at 0, 0, 1 and 1 s."""
    objects = SimpleNamespace(
        layer=np.array([0, 1, 0, 1]),
        release_ns=np.array([0, 0, S, S]),
        payload_bytes=np.array([100, 50, 200, 70]),
    )
    result = SimpleNamespace(objects=SimpleNamespace(complete_ns=np.array(done)), end_ns=10 * S)
    return SimpleNamespace(setup=SimpleNamespace(objects=objects), result=result)


def test_delays_are_from_release_to_completion_in_the_order_of_completion() -> None:
    """All: waits 2 (at 2 s), 4 (at 4 s), 2 (at 3 s): in order 2, 2, 4. Base layers: 2 and 2; 300 bytes in 10 s."""
    values = PROBES["delays"](SCENARIO, layers([2 * S, 4 * S, 3 * S, -1])).values
    assert values["delay_s"] == pytest.approx(8 / 3) and values["jitter_s"] == pytest.approx(1.0)
    assert values["bps"] == pytest.approx(8 * 350 / 10)
    assert (values["base_delay_s"], values["base_jitter_s"]) == (pytest.approx(2.0), pytest.approx(0.0))
    assert values["base_bps"] == pytest.approx(240.0)


def test_of_nothing_that_came_there_is_no_delay_and_of_one_no_jitter() -> None:
    values = PROBES["delays"](SCENARIO, layers([-1, -1, 5 * S, -1])).values
    assert (values["delay_s"], values["jitter_s"], values["base_jitter_s"]) == (
        pytest.approx(4.0),
        None,
        None,
    )
    values = PROBES["delays"](SCENARIO, layers([-1, -1, -1, -1])).values
    assert (values["delay_s"], values["base_delay_s"], values["bps"]) == (None, None, 0.0)


def test_psnr_by_the_formula_is_of_what_is_missing() -> None:
    """42 of 420 bytes in all are a tenth, 20 dB."""
    trial = layers([2 * S, -1, 3 * S, 4 * S])
    trial.setup.objects.payload_bytes[:] = [100, 42, 200, 78]
    assert PROBES["formula"](SCENARIO, trial).values == {"formula_psnr_db": pytest.approx(20.0)}
    whole = layers([S, S, S, S])
    assert PROBES["formula"](SCENARIO, whole).values == {"formula_psnr_db": None}


def slots(traffic: tuple[float, float]) -> Any:
    """Two subflows, slots of 1, 1 and 2 s."""
    samples = SimpleNamespace(
        t_ns=np.array([S, S, 2 * S, 2 * S, 4 * S, 4 * S]),
        delivered_bytes=np.array([100, 25, 50, 0, 400, 100]),
    )
    start, stop = traffic
    quiet = SimpleNamespace(cross_traffic=[])
    link = SimpleNamespace(cross_traffic=[SimpleNamespace(start_ns=int(start * S), stop_ns=int(stop * S))])
    return SimpleNamespace(
        result=SimpleNamespace(samples=samples), setup=SimpleNamespace(links=[quiet, link])
    )


def test_rates_are_of_slots_to_the_nanosecond() -> None:
    samples = SimpleNamespace(t_ns=np.array([2, 4, 8]), delivered_bytes=np.array([2, 2, 4]))
    trial: Any = SimpleNamespace(result=SimpleNamespace(samples=samples))
    assert PROBES["rates"](SCENARIO, trial).series["rate_bps"] == pytest.approx([8e9] * 3)


def test_one_subflow_has_all_and_leans_nowhere() -> None:
    samples = SimpleNamespace(
        t_ns=np.array([S, 2 * S]),
        subflow=np.array([0, 0]),
        delivered_bytes=np.array([1, 8]),
        srtt_ns=np.array([S, S]),
    )
    trial: Any = SimpleNamespace(result=SimpleNamespace(samples=samples))
    assert PROBES["turns"](SCENARIO, trial).values == {"lean": 0.0, "rtt_swing_s": 0.0}


def test_rates_are_of_all_subflows_by_the_length_of_the_slot() -> None:
    """125 bytes in 1 s, 50 in 1 s, 500 in 2 s."""
    series = PROBES["rates"](SCENARIO, slots((1, 2))).series
    assert series["rate_t_s"] == pytest.approx([1.0, 2.0, 4.0])
    assert series["rate_bps"] == pytest.approx([1000.0, 400.0, 2000.0])


@pytest.mark.parametrize(
    ("traffic", "before", "beside", "after"),
    [((1, 2), 1000.0, 400.0, 2000.0), ((1, 5), 1000.0, 1200.0, None), ((0, 1), None, 1000.0, 1200.0)],
)
def test_halves_are_before_during_and_after_the_first_traffic(
    traffic: tuple[float, float], before: float | None, beside: float | None, after: float | None
) -> None:
    """A slot belongs to the time of its end."""
    values = PROBES["halves"](SCENARIO, slots(traffic)).values
    found = [values[f"rate_{name}_bps"] for name in ("before", "beside", "after")]
    assert found == [value if value is None else pytest.approx(value) for value in (before, beside, after)]


def test_subflows_that_take_turns_lean_and_their_round_trips_swing() -> None:
    """Three slots: 30 of 40 bytes on one, then all on the other, then none. Round trips 2 and 4 s, and 3 s and none."""
    samples = SimpleNamespace(
        t_ns=np.array([S, S, 2 * S, 2 * S, 3 * S, 3 * S]),
        subflow=np.array([0, 1] * 3),
        delivered_bytes=np.array([30, 10, 0, 8, 0, 0]),
        srtt_ns=np.array([2 * S, 0, 4 * S, 3 * S, 2 * S, 3 * S]),
    )
    trial: Any = SimpleNamespace(result=SimpleNamespace(samples=samples))
    seen = PROBES["turns"](SCENARIO, trial)
    assert seen.series["lean"] == pytest.approx([0.5, 1.0])
    assert seen.values["lean"] == pytest.approx(0.75)
    # of 2, 4, 2: the square root of 8/9; of 3 and 3: 0
    assert seen.values["rtt_swing_s"] == pytest.approx(np.sqrt(8 / 9) / 2)
    samples.srtt_ns //= 100
    assert PROBES["turns"](SCENARIO, trial).values["rtt_swing_s"] == pytest.approx(np.sqrt(8 / 9) / 200)
    samples.delivered_bytes[:] = 0
    samples.srtt_ns[:] = 0
    assert PROBES["turns"](SCENARIO, trial).values == {"lean": None, "rtt_swing_s": None}


def test_the_busiest_of_three_leans_by_what_it_has_beyond_a_third() -> None:
    """60 of 90 bytes: twice its third, and it could have three times as much."""
    samples = SimpleNamespace(
        t_ns=np.full(3, S),
        subflow=np.arange(3),
        delivered_bytes=np.array([20, 60, 10]),
        srtt_ns=np.full(3, S),
    )
    trial: Any = SimpleNamespace(result=SimpleNamespace(samples=samples))
    assert PROBES["turns"](SCENARIO, trial).values["lean"] == pytest.approx(0.5)
