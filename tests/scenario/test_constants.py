"""``[transport] constants``: mission seconds, whatever the scale."""

from __future__ import annotations

import re
from dataclasses import fields, replace

import pytest

from dstcc.engine.config import TcpConstants
from dstcc.errors import InputError
from dstcc.scenario.constants import Constants, engine_constants

GIVEN = Constants(rto_max_s=4800, rto_min_s=10, delayed_ack_s=2, quick_acks=0, hystart=False)


@pytest.mark.parametrize("scale", [1.0, 38.0])
def test_what_is_given_holds_in_mission_time(scale: float) -> None:
    made = engine_constants(GIVEN, scale)
    # The engine multiplies what it gets by the scale.
    assert made.rto_max_s * scale == pytest.approx(4800)
    assert made.rto_min_s * scale == pytest.approx(10)
    assert made.delayed_ack_s * scale == pytest.approx(2)
    assert (made.quick_acks, made.hystart) == (0, False)


def test_what_is_not_given_is_linuxs_and_grows_with_the_scale() -> None:
    assert engine_constants(None, 38) == engine_constants(Constants(), 38) == TcpConstants()
    constants = replace(
        engine_constants(GIVEN, 38), **{name: getattr(TcpConstants(), name) for name in GIVEN.given}
    )
    assert constants == TcpConstants()


def test_every_constant_but_the_clocks_and_the_receiver_can_be_set() -> None:
    assert {field.name for field in fields(TcpConstants)} - set(Constants.model_fields) == {
        "jiffy_s",
        "look_s",
        "read_s",
        "receiver",
        "timer_late_s",
        "uptime_s",
    }


@pytest.mark.parametrize(
    ("given", "scale", "message"),
    [
        # Linux's least timeout is 0.2 s: 7.6 s of the mission at a scale of 38.
        ({"rto_max_s": 7.0}, 38, "transport.constants.rto_max_s: rto_min_s = 7.6 s is above rto_max_s = 7 s"),
        (
            {"rto_min_s": 121.0},
            1,
            "transport.constants.rto_min_s: rto_min_s = 121 s is above rto_max_s = 120",
        ),
        (
            {"hystart_delay_max_s": 0.003},
            1,
            "constants.hystart_delay_max_s: hystart_delay_min_s = 0.004 s is above",
        ),
    ],
)
def test_a_least_value_is_not_above_the_largest(given: dict[str, float], scale: float, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        engine_constants(Constants(**given), scale)  # type: ignore[arg-type]
    engine_constants(Constants(rto_max_s=8), 38)
