"""What someone asks of a scenario: which algorithms, seeds and keys, on which backend; read and checked before it runs.

The command line and the Python API ask through :func:`ask`, so that the same words mean the same trials.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dstcc.errors import DstccError, InputError
from dstcc.frozen import dataclass
from dstcc.scenario import (
    Override,
    Scenario,
    Source,
    engine_config,
    horizon_s,
    load_scenario,
    load_source,
    parse_override,
)
from dstcc.scenario.bounds import without
from dstcc.scenario.work import Work, check_work, work_of

from .backends import Backend, backend_of
from .shared import TrialSetups
from .trials import load_controllers, scenarios_of, trial_keys

if TYPE_CHECKING:
    from dstcc.learn.policies.controller import Policies
    from dstcc.scenario.variant import Variant

NO_CONTROL = "none"
"""As the only congestion control, it runs the scenario's controllers and variants alone."""


@dataclass(frozen=True)
class Asked:
    """A scenario with everything that its trials need."""

    scenario: Scenario
    source: Source
    policies: Policies
    backend: Backend
    work: Mapping[str, Work]
    """What a trial of each algorithm takes, as :func:`estimates` says."""


def overrides(
    settings: Sequence[str] = (),
    *,
    scale: str | float | None = None,
    congestion: Sequence[str] = (),
    scheduler: Sequence[str] = (),
    controller: Sequence[str] = (),
    seeds: int | None = None,
    seed: int | None = None,
) -> list[Override]:
    """The keys that are asked for in the scenario's place; the named ones win over ``settings`` (``KEY=VALUE``)."""
    changed = [parse_override(text) for text in settings]
    if NO_CONTROL in congestion:
        if len(congestion) > 1:
            raise InputError(f"congestion {NO_CONTROL}: stands alone")
        changed.append(Override(("transport", "congestion"), []))
        congestion = ()
    if scale is not None:
        changed.append(parse_override(f"run.scale={scale}"))
    algorithms = (("congestion", congestion), ("scheduler", scheduler), ("controller", controller))
    changed += [Override(("transport", key), list(names)) for key, names in algorithms if names]
    numbers = (("seeds", seeds), ("seed", seed))
    return changed + [Override(("run", key), number) for key, number in numbers if number is not None]


def with_variants(scenario: Scenario, labels: Sequence[str]) -> Scenario:
    """The scenario with only the variants of these labels; :class:`InputError` for a label that it does not have."""
    known = [variant.label for variant in scenario.variant]
    for label in labels:
        if label not in known:
            raise InputError(f"variant '{label}': the scenario has {', '.join(known) or 'none'}")
    kept = tuple(variant for variant in scenario.variant if variant.label in labels)
    if not (kept or scenario.transport.congestion or scenario.transport.controller):
        raise InputError(f"congestion {NO_CONTROL}: needs a --controller or a --variant too")
    return _with(scenario, kept)


def _with(scenario: Scenario, kept: tuple[Variant, ...], **more: Any) -> Scenario:
    """With these variants alone, and what is expected of them."""
    gone = {one.label for one in scenario.variant} - {one.label for one in kept}
    expect = without(scenario.expect, gone)
    return scenario.model_copy(update={"variant": kept, "expect": expect, **more})


def read(
    path: Path,
    changed: Sequence[Override],
    *,
    variants: Sequence[str] = (),
    congestion: Sequence[str] = (),
    scheduler: Sequence[str] = (),
    folder: Path | None = None,
) -> Scenario:
    """The scenario as asked for: all its variants, or those named where variants or algorithms are.

    Paths in ``changed`` are relative to ``folder``, the working directory unless given.
    """
    loaded = load_scenario(path, changed, folder=folder)
    return with_variants(loaded, variants) if variants or congestion or scheduler else loaded


def ask(
    scenario: Scenario,
    backend: str,
    *,
    logs: Collection[str] = (),
    alone: Sequence[str] = (),
    source_of: Callable[[Scenario], Source] = load_source,
) -> Asked:
    """Read what the scenario's trials need and check that they can run.

    What would take more than the limits in force is refused. ``logs`` are the packet logs that are wanted. ``alone``
    names the controllers that were asked for with no congestion control and no variant beside them: where only what
    the scenario has beside them cannot run, the error says so. ``source_of`` reads its video. Raises
    :class:`~dstcc.errors.InputError` and what :func:`load_controllers` raises.
    """
    carrier, source = backend_of(backend), source_of(scenario)

    def check(asked: Scenario) -> Asked:
        policies = load_controllers(asked, source)
        for one in scenarios_of(asked).values():
            carrier.check(one, source, policies, logs=logs)
        work = estimates(asked, source, logs=bool(logs))
        for estimate in work.values():
            check_work(asked.scenario.name, estimate)
        return Asked(asked, source, policies, carrier, work)

    try:
        return check(scenario)
    except InputError as error:
        beside = scenario.transport.mode != "coded"  # a policy of coded packets never runs alone
        if not (alone and beside) or not _fits(check, _controllers_of(scenario)):
            raise
        hint = f"--congestion {NO_CONTROL} runs {', '.join(alone)} alone"
        raise InputError(f"{error}; {hint}") from None


def estimates(scenario: Scenario, source: Source, *, logs: bool = False) -> dict[str, Work]:
    """What a trial of each algorithm takes, under the first seed; on the disk all trials of the run.

    Raises :class:`~dstcc.errors.ScenarioError` for more than the limits in force.
    """
    scenarios, keys = scenarios_of(scenario), trial_keys(scenario)
    named = {key.name: key for key in reversed(keys)}
    setups = TrialSetups(scenarios, source, ((key.setting, key.seed) for key in named.values()))
    works = {}
    for name, key in named.items():
        setup = setups.of(key.setting, key.seed)
        config = engine_config(scenarios[key.setting], setup, key.congestion, key.scheduler)
        until_s = horizon_s(config.links, config.objects, scenario.scenario.duration_s)
        works[name] = work_of(replace(config, trace=logs), until_s, trials=len(keys), logs=logs)
    return works


def _controllers_of(scenario: Scenario) -> Scenario:
    """The scenario's controllers, and nothing beside them."""
    transport = scenario.transport.model_copy(update={"congestion": ()})
    return _with(scenario, (), transport=transport)


def _fits(check: Callable[[Scenario], object], scenario: Scenario) -> bool:
    """Whether it could run, were there all that it takes."""
    try:
        check(scenario)
    except InputError:
        return False
    except DstccError:
        return True
    return True
