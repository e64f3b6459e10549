"""``[[variant]]``: a further trial of an algorithm with other settings, on the same links and losses.

A variant is a scenario that differs only in ``[transport]``, ``[coding]`` and in the scale, so that the code behind
the model (the engine's configuration, the kernel's job) needs no knowledge of variants.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field, NonNegativeInt, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from dstcc.algorithms import (
    CODED_ONLY,
    DEFAULT_SCHEDULER,
    OWN,
    OWN_CONGESTION,
    PINNED,
    TOLD_RATES,
    TRANSFERS,
    unmet,
)
from dstcc.errors import near_or_known
from dstcc.rules import rule_of, value_of

from .coding import CODED, Coding, check_told
from .fields import AsTuple, ScenarioTable, broken

if TYPE_CHECKING:
    from .model import Scenario, Transport

LONGEST_LABEL = 40
SCALE = "scale"
"""The one key of ``set`` that is not a key of ``[transport]``."""
WHO = ("congestion", "scheduler", "controller")
"""Keys of ``[transport]`` that a variant gives outside ``set``."""
CODING = "coding"
"""The key of ``set`` with keys of ``[coding]``."""
OF_MODES = {"lanes_per_link": ("lanes",), "window": ("lanes",), "handshake": ("coded",)}
"""Keys that apply to some modes: a variant in another does not inherit them."""
KEPT = ("mss_bytes", "restart", TOLD_RATES)
"""Keys of ``[transport]`` that our transport has, too; it brings all others along, and ``[coding]``."""
_LABEL = re.compile(r"\w[\w +,=()-]*")


def _label(text: str) -> str:
    if _LABEL.fullmatch(text) is None or text != text.strip() or len(text) > LONGEST_LABEL:
        raise broken(
            f"a label begins with a letter or a digit and has these, blanks and +-_,=() only, at most {LONGEST_LABEL}"
        )
    return text


def _span(seeds: tuple[int, int]) -> tuple[int, int]:
    if seeds[0] > seeds[1]:
        raise broken("the first seed and the last, in this order")
    return seeds


class Variant(ScenarioTable):
    """An algorithm with other settings."""

    label: Annotated[str, AfterValidator(_label)]
    """Its name in tables."""
    congestion: Annotated[str, Field(min_length=1)] | None = None
    """A congestion control or ``ltp``; beside ``controller`` what a policy of coded packets runs over."""
    scheduler: Annotated[str, Field(min_length=1)] | None = None
    """The scenario's first unless given, if the variant's transport can have it."""
    controller: Annotated[str, Field(min_length=1)] | None = None
    """A policy, instead of the two."""
    set: dict[str, Any] = Field(default_factory=dict)
    """Keys of ``[transport]``, ``scale``, and ``coding`` with keys of ``[coding]``, which replace the scenario's."""
    chosen_on: Annotated[tuple[NonNegativeInt, NonNegativeInt], AsTuple, AfterValidator(_span)] | None = None
    """The first and the last seed of this scenario on which its settings were chosen; reports say so."""

    @model_validator(mode="after")
    def _one_algorithm(self) -> Variant:
        if self.congestion is None and self.controller is None:
            raise broken("needs either congestion or controller")
        if self.controller is not None and self.scheduler is not None:
            raise broken("a controller takes no scheduler", key="scheduler")
        return self

    def inherits(self, place: str, scenario: Scenario) -> str | None:
        """The scenario's key that stands at that place of the variant's, if the variant does not give it itself."""
        table, _, key = place.partition(".")  # and perhaps its value
        first, *more = key.partition(" ")[0].split(".")
        if table != "set" or not first:
            return None
        own = self.set.get(CODING)
        if first == CODING and more and scenario.coding is not None:
            theirs = more[0] in scenario.coding.model_fields_set
            return key if theirs and not (isinstance(own, dict) and more[0] in own) else None
        theirs = first in scenario.transport.model_fields_set and first not in self.set
        return f"transport.{key}" if theirs else None


def as_variant(scenario: Scenario, variant: Variant) -> Scenario:
    """The scenario with only the variant's algorithm and with its settings.

    Raises :class:`ValidationError` or :class:`PydanticCustomError` for invalid settings, with keys of ``[transport]``.
    """
    transport_type = type(scenario.transport)
    known = [key for key in transport_type.model_fields if key not in WHO] + [SCALE, CODING]
    for key in variant.set:
        if key not in known:
            raise broken(f"no setting of a variant; {near_or_known(key, known)}", key=f"set.{key}")
    if variant.set.get(TOLD_RATES):
        check_told((variant.congestion, variant.controller), f"set.{TOLD_RATES}")
    if variant.controller == OWN:
        return _own(scenario, variant)
    settings = scenario.transport.model_dump(exclude_unset=True, exclude=set(WHO))
    mode = variant.set.get("mode", CODED if variant.congestion in CODED_ONLY else None)
    if mode is not None:
        settings = {key: value for key, value in settings.items() if mode in OF_MODES.get(key, (mode,))}
        settings["mode"] = mode
    if variant.congestion not in CODED_ONLY:
        settings.pop(TOLD_RATES, None)
    settings |= {key: value for key, value in variant.set.items() if key not in (SCALE, CODING)}
    if variant.controller is not None:
        algorithm: dict[str, Any] = {"controller": variant.controller}
        under = _base_control(scenario, variant, coded=settings.get("mode") == CODED)
        if under is not None:
            algorithm["congestion"] = under
    else:
        scheduler = variant.scheduler or _inherited(scenario, variant, settings.get("mode", "stream"))
        algorithm = {"congestion": variant.congestion} | ({"scheduler": scheduler} if scheduler else {})
        if variant.scheduler is None and scheduler != "layer-pinned":
            settings.pop("layer_links", None)
    transport = transport_type.model_validate(settings | algorithm)
    coding = None
    of_scenario = scenario.coding is not None and variant.congestion in TRANSFERS
    if transport.mode == CODED or CODING in variant.set or of_scenario:
        coding = _coding(scenario, variant)
    return _changed(scenario, variant, transport, coding)


def as_own(scenario: Scenario) -> Scenario:
    """The scenario with our transport alone (:data:`~dstcc.algorithms.OWN`); raises as :func:`as_variant`."""
    return as_variant(scenario, Variant(label=OWN, controller=OWN))


def _own(scenario: Scenario, variant: Variant) -> Scenario:
    """Our transport brings along what it is made of: of the scenario's settings it has :data:`KEPT`."""
    others = next((key for key in variant.set if key not in (*KEPT, SCALE)), None)
    if variant.congestion is not None or others is not None:
        key = "congestion" if variant.congestion is not None else f"set.{others}"
        raise broken(
            f"{OWN} chooses it itself; with {OWN} only {', '.join((*KEPT, SCALE))} can be set", key=key
        )
    settings = scenario.transport.model_dump(exclude_unset=True, include=set(KEPT))
    settings |= {key: value for key, value in variant.set.items() if key != SCALE}
    settings |= {"congestion": OWN_CONGESTION, "controller": OWN}
    return _changed(scenario, variant, type(scenario.transport).model_validate(settings), None)


def _changed(scenario: Scenario, variant: Variant, transport: Transport, coding: Coding | None) -> Scenario:
    run = scenario.run
    if SCALE in variant.set:
        run = type(run).model_validate(run.model_dump(exclude_unset=True) | {SCALE: variant.set[SCALE]})
    changed = {"transport": transport, "coding": coding, "run": run, "variant": ()}
    return scenario.model_copy(update=changed)


def _inherited(scenario: Scenario, variant: Variant, mode: str) -> str | None:
    """The scenario's first scheduler, where the variant's transport can have it."""
    first = next(iter(scenario.transport.scheduler), None)
    if variant.congestion in TRANSFERS:
        return first if first == PINNED else None
    if first is None or (first != DEFAULT_SCHEDULER and mode == CODED):
        return None
    return first if unmet(first, "scheduler", paths=2, mode=mode) is None else None


def _base_control(scenario: Scenario, variant: Variant, *, coded: bool) -> str | None:
    """The congestion control under a variant's policy: its own, or in a coded scenario the first there; none in TCP."""
    if not coded:
        if variant.congestion is not None:
            raise broken(
                'needs either congestion or controller; both with mode = "coded" only', key="controller"
            )
        return None
    first = next(iter(scenario.transport.congestion), None) if scenario.transport.mode == CODED else None
    return variant.congestion or first


def _coding(scenario: Scenario, variant: Variant) -> Coding:
    """The scenario's ``[coding]`` with the variant's keys in the place of its own."""
    own = variant.set.get(CODING, {})
    if not isinstance(own, dict):
        raise broken("a table with keys of [coding]", key=f"set.{CODING}")
    base = Coding() if scenario.coding is None else scenario.coding
    try:
        return Coding.model_validate(base.model_dump(exclude_unset=True) | own)
    except ValidationError as error:
        place, rule = place_of(error)
        raise broken(rule, key=f"set.{CODING}.{place.removeprefix('set.')}") from None


def place_of(error: ValidationError | PydanticCustomError) -> tuple[str, str]:
    """The key of a variant that an error of :func:`as_variant` is about, and the rule it broke."""
    if isinstance(error, PydanticCustomError):
        context = error.context or {}
        return _key_name(str(context.get("key", "")).removeprefix("transport.")), str(
            context.get("rule", error)
        )
    first = error.errors(include_url=False)[0]
    loc = [str(part) for part in first["loc"] if not str(part).startswith("<")]
    rule, context = str(first["msg"]), first.get("ctx") or {}
    if first["type"] == "rule":
        return _key_name(".".join([*loc, *([str(context["key"])] if "key" in context else [])])), rule
    return f"{_key_name('.'.join(loc))} = {value_of(dict(first))}", rule_of(dict(first))


def _key_name(key: str) -> str:
    if not key:
        return "set"
    return key if key.partition(".")[0] in (*WHO, "set") else f"set.{key}"
