"""The check of an abstract link: of each key the bounds themselves are right, and what lies beyond is not."""

from __future__ import annotations

from typing import Any

import pytest
from dstcc_channels.profiles.abstract import LOSSES, check_link

from dstcc.errors import InputError


def refusal(**keys: Any) -> str | None:
    """Of a link of 1 Mb/s and 1 s with these keys; ``None`` as the value leaves a key out."""
    link = {"rate_bps": 1e6, "delay_s": 1, **keys}
    try:
        check_link({key: value for key, value in link.items() if value is not None}, LOSSES)
    except InputError as error:
        return str(error)
    return None


BOUNDS = {
    "rate_bps": (1, 1e12),
    "up_rate_bps": (1, 1e12),
    "delay_s": (1e-6, 1e6),
}
LOSS_BOUNDS = {"packet": (0, 1), "ber": (0, 1), "ebn0_db": (-50, 100)}


@pytest.mark.parametrize(("key", "bounds"), BOUNDS.items())
def test_numbers_and_draws_lie_between_their_bounds(key: str, bounds: tuple[float, float]) -> None:
    low, high = bounds
    for value in (low, high, {"uniform": [low, high]}, {"log_uniform": [low, high]}, {"uniform": [low, low]}):
        assert refusal(**{key: value}) is None
    for value in (low * 0.999, high * 1.001):
        rule = f"must be between {low:g} and {high:g}"
        assert refusal(**{key: value}) == f"link.{key} = {value!r}: {rule}"
        for end in ([value, high], [low, value]):
            assert refusal(**{key: {"uniform": end}}) == f"link.{key}.uniform = {value!r}: {rule}"
    for odd in (True, "1", float("inf"), float("-inf"), float("nan"), [1]):
        if not (key == "delay_s" and odd == [1]):
            assert refusal(**{key: odd}) == f"link.{key} = {odd!r}: must be a number"


@pytest.mark.parametrize("way", ["loss", "up_loss"])
@pytest.mark.parametrize(("kind", "bounds"), LOSS_BOUNDS.items())
def test_losses_lie_between_their_bounds(way: str, kind: str, bounds: tuple[float, float]) -> None:
    code = {"code": "ccsds-c2"} if kind == "ebn0_db" else {}
    for value in bounds:
        assert refusal(**{way: {kind: value, **code}}) is None
    for value in (bounds[0] - 0.001, bounds[1] + 0.001):
        rule = f"link.{way}.{kind} = {value!r}: must be between {bounds[0]} and {bounds[1]}"
        assert refusal(**{way: {kind: value, **code}}) == rule
    # zero has no logarithm
    draw = {"log_uniform": [0, 0.5]}
    assert refusal(**{way: {kind: draw, **code}}) == (
        f"link.{way}.{kind}.log_uniform = [0, 0.5]: must rise, log_uniform from above 0"
    )
    assert refusal(**{way: {kind: {"uniform": [0, 0.5]}, **code}}) is None
    if code:
        assert refusal(**{way: {kind: 1.0}}) == f"link.{way}: ebn0_db and code need each other"
    else:
        assert refusal(**{way: {kind: 1.0, "code": "ccsds-c2"}}) == (
            f"link.{way}: ebn0_db and code need each other"
        )


def test_a_draw_is_one_pair() -> None:
    rule = "must be a number, {uniform = [a, b]} or {log_uniform = [a, b]}"
    for value in ({}, {"even": [1, 2]}, {"uniform": [1, 2], "log_uniform": [1, 2]}):
        assert refusal(rate_bps=value) == f"link.rate_bps = {value}: {rule}"
    for ends in ([1], [1, 2, 3], 7, (1, 2)):
        assert (
            refusal(rate_bps={"uniform": ends})
            == f"link.rate_bps.uniform = {ends!r}: must be a pair of bounds"
        )
    assert refusal(rate_bps={"uniform": [3, 2]}) == (
        "link.rate_bps.uniform = [3, 2]: must rise, log_uniform from above 0"
    )


def test_a_delay_may_be_a_table_of_rising_times() -> None:
    assert refusal(delay_s=[[0, 1e-6], [1e-3, 1], [1e9, 1e6]]) is None
    shape = "link.delay_s: a table has rows [t_s, delay_s]"
    for rows in ([], [[0]], [[0, 1, 2]], [[0, 1], 5], [(0, 1)]):
        assert refusal(delay_s=rows) == shape
    for rows in ([[5, 1], [5, 2]], [[5, 1], [4, 2]], [[0, 1], [7, 1], [6, 1]]):
        assert refusal(delay_s=rows) == "link.delay_s: times must rise"
    assert refusal(delay_s=[[-0.1, 1]]) == "link.delay_s = -0.1: must be between 0 and 1e+09"
    assert refusal(delay_s=[[1.001e9, 1]]) == "link.delay_s = 1001000000.0: must be between 0 and 1e+09"
    assert refusal(delay_s=[[0, 0]]) == "link.delay_s = 0: must be between 1e-06 and 1e+06"
    assert refusal(rate_bps=[[0, 1]]) == "link.rate_bps = [[0, 1]]: must be a number"


def test_a_chain_has_four_shares_and_moves() -> None:
    chain = {"p": 0.1, "r": 0.2}
    for more in ({}, {"good": 0, "bad": 1}):
        assert refusal(loss={"gilbert_elliott": {**chain, **more}}) is None
    key = "link.loss.gilbert_elliott"
    assert refusal(loss={"gilbert_elliott": 0.1}) == f"{key} = 0.1: must be a table of p, r, good and bad"
    for name in chain:
        only = {one: value for one, value in chain.items() if one != name}
        assert refusal(loss={"gilbert_elliott": only}) == f"{key}.{name}: missing"
    for name in ("p", "r", "good", "bad"):
        for value in (-0.01, 1.01):
            assert refusal(loss={"gilbert_elliott": {**chain, name: value}}) == (
                f"{key}.{name} = {value}: must be between 0 and 1"
            )
    unknown = refusal(loss={"gilbert_elliott": {**chain, "god": 0}})
    assert unknown is not None and unknown.startswith(f"{key}.god: unknown key; did you mean 'good'?")


def test_each_key_is_known_and_two_are_needed() -> None:
    for key in ("rate_bps", "delay_s"):
        assert refusal(**{key: None}) == f"link.{key}: missing"
    for key in ("queue_bytes", "up_queue_bytes", "outages", "cross_traffic"):
        assert refusal(**{key: object()}) is None, "the scenario checks it"
    wrong = refusal(rate_bp=1)
    assert wrong is not None and wrong.startswith("link.rate_bp: unknown key; did you mean 'rate_bps'?")
    for way in ("loss", "up_loss"):
        assert refusal(**{way: 0.1}) == f"link.{way} = 0.1: must be a table, like {{packet = 1e-3}}"
        rule = f"link.{way}: needs exactly one of packet, ber, gilbert_elliott, ebn0_db (ebn0_db with code)"
        assert refusal(**{way: {}}) == refusal(**{way: {"packet": 0.1, "ber": 0.1}}) == rule
        wrong = refusal(**{way: {"packt": 1}})
        assert wrong is not None and wrong.startswith(
            f"link.{way}.packt: unknown key; did you mean 'packet'?"
        )
        wrong = refusal(**{way: {"ebn0_db": 1, "code": "ccsds-c3"}})
        assert wrong is not None and wrong.startswith(
            f"link.{way}.code = 'ccsds-c3': not known; did you mean 'ccsds-c2'?"
        )


def test_of_other_kinds_the_scenario_says_what_values_there_are() -> None:
    link = {"rate_bps": 1, "delay_s": 1, "loss": {"states": object()}}
    check_link(link, ("packet", "states"))
    with pytest.raises(InputError, match=r"link\.loss\.states: unknown key"):
        check_link(link, LOSSES)
