"""Frozen dataclasses that cost little to import: what is compiled for one is compiled when it is first used.

Python compiles six functions for each such class, a third of a millisecond, and a command imports a hundred classes of
which it uses a few. Those here have the same fields, behaviour and errors.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, /, *, frozen: bool, eq: bool = True, kw_only: bool = False) -> Any:
        """As :func:`dataclasses.dataclass`; ``frozen`` is said for readers, and must be true."""
        assert frozen, "dataclasses.dataclass makes those that are not"

        def made(cls: type) -> type:
            own = frozenset(vars(cls))
            dataclasses.dataclass(cls, init=False, repr=False, eq=False, kw_only=kw_only)
            ours = {
                "__init__": _init(cls),
                "__repr__": _repr,
                "__setattr__": _refusal(cls, "assign to"),
                "__delattr__": _refusal(cls, "delete"),
            }
            if eq:
                ours |= _comparison(cls)
            for name in ours.keys() - own:
                setattr(cls, name, ours[name])
            return cls

        return made if cls is None else made(cls)


def _init(cls: type) -> Callable[..., None]:
    """An ``__init__`` that compiles the class's own when it is first called, and gives way to it."""

    def __init__(self: Any, *values: Any, **named: Any) -> None:  # noqa: N807 - as it shows in tracebacks
        init = _compiled(cls)
        cls.__init__ = init  # type: ignore[misc]
        init(self, *values, **named)

    return __init__


def _compiled(cls: Any) -> Callable[..., None]:
    """The ``__init__`` of a class with these fields."""
    given: dict[bool, list[str]] = {False: [], True: []}
    known: dict[str, Any] = {"_made_": dataclasses.MISSING, "_set_": object.__setattr__}
    lines = []
    for one in dataclasses.fields(cls):
        name, value = one.name, one.name
        factory = one.default_factory is not dataclasses.MISSING
        if factory:
            known[f"_of_{name}_"] = one.default_factory
            value = f"_of_{name}_() if {name} is _made_ else {name}" if one.init else f"_of_{name}_()"
        if one.init:
            known[f"_default_{name}_"] = dataclasses.MISSING if factory else one.default
            has_default = factory or one.default is not dataclasses.MISSING
            given[bool(one.kw_only)].append(f"{name}=_default_{name}_" if has_default else name)
        if one.init or factory:
            lines.append(f"_set_(_self_, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("_self_.__post_init__()")
    arguments = ["_self_", *given[False], *(["*", *given[True]] if given[True] else [])]
    exec(f"def __init__({', '.join(arguments)}):\n " + "\n ".join(lines or ["pass"]), known)
    init: Callable[..., None] = known["__init__"]
    init.__qualname__, init.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return init


@recursive_repr()
def _repr(self: Any) -> str:
    values = (f"{one.name}={getattr(self, one.name)!r}" for one in dataclasses.fields(self) if one.repr)
    return f"{self.__class__.__qualname__}({', '.join(values)})"


def _refusal(cls: type, what: str) -> Callable[..., None]:
    def refuse(self: Any, name: str, *value: Any) -> None:
        if type(self) is cls or name in cls.__dataclass_fields__:  # type: ignore[attr-defined]
            raise dataclasses.FrozenInstanceError(f"cannot {what} field {name!r}")
        getattr(super(cls, self), "__setattr__" if value else "__delattr__")(name, *value)

    return refuse


def _comparison(cls: Any) -> dict[str, Callable[..., Any]]:
    """By the values of its fields."""
    compared = [one.name for one in dataclasses.fields(cls) if one.compare]
    values: Callable[[Any], tuple[Any, ...]] = (
        attrgetter(*compared)
        if len(compared) > 1
        else lambda self: tuple(getattr(self, name) for name in compared)
    )

    def equal(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return {"__eq__": equal, "__hash__": lambda self: hash(values(self))}
