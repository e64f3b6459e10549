"""Classes of :mod:`dstcc.frozen` are what :mod:`dataclasses` makes of the same text."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

import dstcc.frozen

TEXT = """
class Empty:
    pass

class One:
    only: int

class Several:
    first: int
    second: "str" = "b"
    third: "list[int]" = field(default_factory=list)
    shared: ClassVar[int] = 3

    def __post_init__(self):
        if self.first < 0:
            raise ValueError("below 0")

class Hidden:
    shown: int
    secret: int = field(default=2, repr=False)
    aside: int = field(default=3, compare=False)
    made: int = field(init=False, compare=False)

    def __post_init__(self):
        object.__setattr__(self, "made", self.shown + 1)

class Own:
    value: int

    def __repr__(self):
        return f"<{self.value}>"

    def __eq__(self, other):
        return isinstance(other, type(self))

    def __hash__(self):
        return 7
"""
NAMES = ("Empty", "One", "Several", "Hidden", "Own")


def made_by(decorator: Callable[..., Any], name: str, **options: Any) -> Any:
    """A module with the classes of TEXT, and one that inherits."""
    module = ModuleType(name)
    sys.modules[name] = module
    exec("from dataclasses import field\nfrom typing import ClassVar", module.__dict__)
    exec(compile(TEXT, name, "exec", dont_inherit=True), module.__dict__)
    for one in NAMES:
        setattr(module, one, decorator(frozen=True, **options)(getattr(module, one)))
    exec("class Under(Several):\n    fourth: int = 4\n\nclass Plain(One):\n    pass\n", module.__dict__)
    module.Under = decorator(frozen=True, **options)(module.Under)  # type: ignore[attr-defined]
    return module


@pytest.fixture(params=[{}, {"eq": False}, {"kw_only": True}], ids=str)
def both(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    return made_by(dstcc.frozen.dataclass, "ours", **request.param), made_by(
        dataclasses.dataclass, "frozen_theirs", **request.param
    )


CALLS: tuple[Callable[[Any], object], ...] = (
    lambda m: m.Empty(),
    lambda m: m.Empty(1),
    lambda m: m.One(1),
    lambda m: m.One(only=1),
    lambda m: m.One(),
    lambda m: m.One(1, 2),
    lambda m: m.One(1, only=1),
    lambda m: m.One(other=1),
    lambda m: m.Several(1),
    lambda m: m.Several(1, "x", [2]),
    lambda m: m.Several(first=1, third=[3]),
    lambda m: m.Several(first=-1),
    lambda m: m.Hidden(shown=1),
    lambda m: m.Hidden(shown=1, made=2),
    lambda m: m.Hidden(shown=1).made,
    lambda m: m.Own(value=5),
    lambda m: m.Under(first=1, fourth=5),
    lambda m: m.Plain(only=1),
    lambda m: m.One(only=1) == m.One(only=1),
    lambda m: m.One(only=1) == m.One(only=2),
    lambda m: m.One(only=1) == m.Plain(only=1),
    lambda m: m.One(only=1) == 1,
    lambda m: m.Several(first=1) == m.Several(first=1),
    lambda m: m.Hidden(shown=1, aside=1) == m.Hidden(shown=1, aside=2),
    lambda m: m.Hidden(shown=1, secret=1) == m.Hidden(shown=1, secret=2),
    lambda m: m.Empty() == m.Empty(),
    lambda m: isinstance(hash(m.Several(first=1)), int),
    lambda m: len({m.Hidden(shown=1), m.Hidden(shown=1, aside=5), m.Hidden(shown=2)}),
    lambda m: len({m.One(only=1), m.One(only=1)}),
    lambda m: len({m.Empty(), m.Empty()}),
    lambda m: hash(m.Own(value=1)),
    lambda m: m.Own(value=1) == m.Own(value=2),
    lambda m: setattr(m.One(only=1), "only", 2),
    lambda m: setattr(m.One(only=1), "new", 2),
    lambda m: setattr(m.Plain(only=1), "only", 2),
    lambda m: [plain := m.Plain(only=1), plain.__setattr__("new", 2), plain.new],
    lambda m: delattr(m.One(only=1), "only"),
    lambda m: delattr(m.Plain(only=1), "new"),
    lambda m: dataclasses.replace(m.Several(first=1), second="z"),
    lambda m: dataclasses.replace(m.Hidden(shown=1), made=3),
    lambda m: dataclasses.asdict(m.Under(first=1)),
    lambda m: dataclasses.astuple(m.Hidden(shown=1)),
    lambda m: [one.name for one in dataclasses.fields(m.Several)],
    lambda m: dataclasses.is_dataclass(m.Plain),
    lambda m: m.Several.__match_args__,
    lambda m: m.Several(first=1).third is m.Several(first=1).third,
    lambda m: m.Several.second,
    lambda m: pickle.loads(pickle.dumps(m.Under(first=1))),
    lambda m: copy.deepcopy(m.Several(first=1)),
)


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_each_use_answers_or_fails_alike(both: tuple[Any, Any], number: int) -> None:
    def said(module: Any) -> str:
        try:
            return repr(CALLS[number](module))
        except Exception as error:
            return f"{type(error).__name__}: {error}".replace("_self_", "self")

    ours, theirs = map(said, both)
    assert ours == theirs


def test_a_value_that_holds_itself_is_shown() -> None:
    module = made_by(dstcc.frozen.dataclass, "ours")
    held: list[object] = []
    held.append(module.One(held))
    assert repr(held[0]) == "One(only=[...])"


def test_of_two_threads_that_make_the_first_each_gets_one() -> None:
    module = made_by(dstcc.frozen.dataclass, "ours")
    first = module.One.__init__
    assert module.One(1).only == 1
    late = module.One.__new__(module.One)
    first(late, 2)  # a thread that had looked it up before
    assert late.only == 2
