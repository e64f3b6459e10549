"""What is asked of a scenario: words that become keys, and errors of what stands beside a controller."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dstcc.errors import DstccError, InputError
from dstcc.run import asked
from dstcc.scenario import Override
from dstcc.scenario.load import parse_scenario

SCENARIO: dict[str, Any] = {
    "scenario": {"name": "toy"},
    "video": {"synthetic": {"chunk_s": 1.0, "layer_bps": [8000]}, "loop_to_s": 3},
    "link": [{"name": "a", "rate_bps": 80_000, "delay_s": 1}],
    "variant": [
        {"label": label, "congestion": "cubic", "set": {"initial_cwnd": 20}} for label in ("one", "two")
    ],
    "expect": {"one.playback_ratio": ">= 0", "playback_ratio": ">= 0"},
}


def scenario(**transport: Any) -> Any:
    return parse_scenario(
        {**SCENARIO, "transport": {"congestion": ["cubic"], **transport}}, source="toy.toml"
    )


def test_words_that_become_keys() -> None:
    found = asked.overrides(
        ["playout.delay_s=3"],
        scale="2",
        congestion=["a", "b"],
        scheduler=["s"],
        controller=["c"],
        seeds=0,
        seed=4,
    )
    assert found == [
        Override(("playout", "delay_s"), 3),
        Override(("run", "scale"), 2),
        Override(("transport", "congestion"), ["a", "b"]),
        Override(("transport", "scheduler"), ["s"]),
        Override(("transport", "controller"), ["c"]),
        Override(("run", "seeds"), 0),
        Override(("run", "seed"), 4),
    ]
    assert asked.overrides() == []
    assert asked.overrides(congestion=["none"]) == [Override(("transport", "congestion"), [])]
    with pytest.raises(InputError, match="congestion none: stands alone"):
        asked.overrides(congestion=["none", "cubic"])


def test_variants_that_are_named_are_left_with_what_is_expected_of_them() -> None:
    given = scenario()
    one = asked.with_variants(given, ["one"])
    assert [variant.label for variant in one.variant] == ["one"] and set(one.expect) == {
        "one.playback_ratio",
        "playback_ratio",
    }
    none = asked.with_variants(given, [])
    assert none.variant == () and set(none.expect) == {"playback_ratio"}
    with pytest.raises(InputError, match="variant 'three': the scenario has one, two"):
        asked.with_variants(given, ["one", "three"])
    bare = given.model_copy(update={"variant": ()})
    with pytest.raises(InputError, match="variant 'x': the scenario has none"):
        asked.with_variants(bare, ["x"])
    empty = bare.model_copy(update={"transport": bare.transport.model_copy(update={"congestion": ()})})
    with pytest.raises(InputError, match="congestion none: needs a --controller or a --variant too"):
        asked.with_variants(empty, [])
    alone = empty.model_copy(
        update={"transport": empty.transport.model_copy(update={"controller": ("gru-mpc",)})}
    )
    assert asked.with_variants(alone, []).transport.controller == ("gru-mpc",)


@pytest.fixture
def carrier(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A backend that refuses all that names a congestion control; ``alone`` is what it says of all else."""
    seen = SimpleNamespace(alone=None, logs=[])

    def check(one: Any, _source: Any, _policies: Any, *, logs: Any) -> None:
        seen.logs.append(logs)
        if one.transport.congestion:
            raise InputError("no cubic here")
        if seen.alone is not None:
            raise seen.alone

    seen.check = check
    monkeypatch.setattr(asked, "backend_of", lambda name: seen)
    monkeypatch.setattr(asked, "load_controllers", lambda *_: {"p": 1})
    monkeypatch.setattr(asked, "estimates", lambda *_, logs: seen.logs.append(logs) or {})
    return seen


def ask(given: Any, *alone: str) -> Any:
    return asked.ask(given, "kernel", logs=("qlog",), alone=alone, source_of=lambda _scenario: "source")  # type: ignore[arg-type,return-value]


def test_what_stands_beside_a_controller_is_named_where_the_controller_could_run_alone(
    carrier: SimpleNamespace,
) -> None:
    given = scenario(controller=["gru-mpc"])
    with pytest.raises(InputError, match=r"^no cubic here; --congestion none runs p, q alone$"):
        ask(given, "p", "q")
    with pytest.raises(InputError, match=r"^no cubic here$"):
        ask(given)
    carrier.alone = InputError("nor that")
    with pytest.raises(InputError, match=r"^no cubic here$"):
        ask(given, "p")
    carrier.alone = DstccError("what it takes is missing")
    with pytest.raises(InputError, match=r"--congestion none runs p alone$"):
        ask(given, "p")
    coded = scenario(mode="coded", congestion=["open-loop"], controller=["gru-mpc"])
    carrier.alone = None
    with pytest.raises(InputError, match=r"^no cubic here$"):
        ask(coded, "p")


def test_what_can_run_is_asked(carrier: SimpleNamespace) -> None:
    given = scenario().model_copy(update={"variant": ()})
    given = given.model_copy(update={"transport": given.transport.model_copy(update={"congestion": ()})})
    found = ask(given)
    assert (found.scenario, found.source, found.policies, found.backend) == (
        given,
        "source",
        {"p": 1},
        carrier,
    )
    assert carrier.logs == [("qlog",), True]
