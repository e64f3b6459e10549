"""Trials: every combination of congestion control, scheduler and seed of a scenario, and its variants, run in threads.

The engine gives up Python's global lock, so threads use all cores. Trials come out in a fixed order,
whatever order they finish in, and a trial that raises is a failed trial that stops no other.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import field, replace
from itertools import chain
from traceback import format_exc
from typing import TYPE_CHECKING

import numpy as np

from dstcc import engine
from dstcc.algorithms import DEFAULT_SCHEDULER, OWN, OWN_CONGESTION, controller_name, schedulers_of
from dstcc.engine import EngineConfig, EngineResult, Link
from dstcc.errors import DstccError, InputError, MissingCapabilityError, PolicyError, UnfinishedError
from dstcc.extensions import label
from dstcc.frozen import dataclass
from dstcc.home import brought_home
from dstcc.layers import layer_weights
from dstcc.machine import cores
from dstcc.metrics import Metrics, Playback, compute, play_by_deadline, play_with_stalls
from dstcc.scenario import Scenario, Source, TrialSetup, engine_config, load_source
from dstcc.sharing import flow_documents

from .backends import BACKENDS, Backend
from .shared import Once, TrialSetups

if TYPE_CHECKING:
    from dstcc_svc import Quality
    from numpy.typing import NDArray

    from dstcc.learn.policies.controller import Controller, Policies
    from dstcc.scenario.model import Transport


SIMULATOR = BACKENDS["simulator"]


@dataclass(frozen=True)
class TrialKey:
    """Which trial: its algorithms (an extension by its class's name) and its seed."""

    congestion: str
    scheduler: str
    seed: int
    controller: str | None = None
    """The policy's name; congestion control and scheduler are then both ``agent``, but for coded packets."""
    variant: str | None = None
    """The label of the scenario's variant that it runs."""

    @property
    def setting(self) -> str | None:
        """Which of :func:`scenarios_of` it runs."""
        return self.variant or (OWN if self.controller == OWN else None)

    @property
    def name(self) -> str:
        """Whose trial it is: ``cubic+minrtt``, ``dstcc``, or a variant's label."""
        return self.variant or self.controller or f"{self.congestion}+{self.scheduler}"

    @property
    def id(self) -> str:
        """The trial's name in every table, such as ``cubic+minrtt/s1`` or ``dstcc/s1``."""
        return f"{self.name}/s{self.seed}"


@dataclass(frozen=True)
class Outcome:
    """What was seen of a trial, and what Earth could show of it."""

    setup: TrialSetup
    result: EngineResult
    links: tuple[Link, ...]
    """As the trial had them: with a subflow for each window of its samples."""
    playback: Playback
    metrics: Metrics

    @property
    def slot_ends_ns(self) -> NDArray[np.int64]:
        """When each slot of its samples ends."""
        ends: NDArray[np.int64] = np.unique(self.result.samples.t_ns)
        return ends

    @property
    def flows(self) -> list[dict[str, object]]:
        """What became of the background flows."""
        return flow_documents(self.setup.links, self.result)

    @property
    def contacts(self) -> list[dict[str, float]]:
        """What each contact delivered, where links have outages."""
        contacts = brought_home(self.links, self.setup.objects, self.result, self.playback)
        return [contact.document() for contact in contacts]

    @property
    def layers(self) -> list[dict[str, int]]:
        """What the kernel's scheduler says that each link carried of each layer, where it was told which has which."""
        return [vars(row) for row in self.result.placed]


@dataclass(frozen=True)
class Trial:
    """A trial, done or failed."""

    key: TrialKey
    outcome: Outcome | None = None
    """``None`` when it failed."""
    error: str | None = None
    partial: Outcome | None = None
    """Of one that was ended, what was seen until then; it has samples, but nothing of layers, playback and metrics."""
    traceback: str | None = None
    """Of one that failed, where."""
    refused: bool = False
    """Whether it failed for what the user asked for."""

    @property
    def id(self) -> str:
        """Its name in every table."""
        return self.key.id

    @property
    def metrics(self) -> Metrics | None:
        """Its metrics; ``None`` when it failed."""
        return self.outcome.metrics if self.outcome else None

    @property
    def status(self) -> str:
        """``ok`` or ``failed``."""
        return "failed" if self.outcome is None else "ok"


@dataclasses.dataclass
class Judge:
    """Scores the pictures of what was played, where there are any and they are asked for."""

    source: Source
    wanted: bool
    warnings: list[str] = field(default_factory=list)
    """Why there are no scores, once."""

    def score(self, playback: Playback) -> Quality | None:
        """PSNR, SSIM and VMAF of the played video; ``None`` without pictures or without the tools for
        them."""
        if self.source.stream is None or not self.wanted:
            return None
        from dstcc_svc import played_quality

        try:
            return played_quality(self.source.stream, playback.levels.tolist())
        except MissingCapabilityError as error:
            self.wanted = False
            self.warnings.append(f"no psnr_db, ssim and vmaf: {error}")
            return None


def trial_keys(scenario: Scenario) -> tuple[TrialKey, ...]:
    """The trials of a scenario in their order: by congestion control, then scheduler, then seed; then
    by controller and seed; then by variant and seed.

    A transfer without TCP runs once a seed, whatever schedulers are named beside it.
    """
    varied = (_keys(scenario.as_variant(one.label), one.label) for one in scenario.variant)
    return (*_keys(scenario), *chain(*varied))


def _keys(scenario: Scenario, variant: str | None = None) -> tuple[TrialKey, ...]:
    transport = scenario.transport
    stock = tuple(
        TrialKey(label(congestion), label(scheduler), seed, variant=variant)
        for congestion in transport.congestion
        for scheduler in schedulers_of(congestion, transport.scheduler)
        for seed in scenario.seeds
    )
    driven = tuple(
        TrialKey(*_base_algorithms(transport, controller), seed, controller, variant)
        for controller in map(controller_name, transport.controller)
        for seed in scenario.seeds
    )
    # What a variant names beside its policy is what that runs over, and no algorithm by itself.
    return driven if variant is not None and driven else stock + driven


def _base_algorithms(transport: Transport, controller: str) -> tuple[str, str]:
    """The congestion control and the scheduler under a controller. A policy of TCP is both itself; one of coded packets
    runs over the congestion control."""
    if controller == OWN:
        return OWN_CONGESTION, DEFAULT_SCHEDULER
    if transport.mode == "coded" and transport.congestion:
        return label(transport.congestion[0]), label(transport.scheduler[0])
    return engine.AGENT, engine.AGENT


def scenarios_of(scenario: Scenario) -> dict[str | None, Scenario]:
    """What its trials run, by :attr:`TrialKey.setting`: itself, and by name what sets more than an algorithm."""
    varied: dict[str | None, Scenario] = dict(scenario.varied().items())
    transport = scenario.transport
    if OWN not in transport.controller:
        return {None: scenario, **varied}
    others = tuple(one for one in transport.controller if one != OWN)
    if not (others or transport.congestion):
        return varied
    beside = transport.model_copy(update={"controller": others})
    return {None: scenario.model_copy(update={"transport": beside}), **varied}


def load_controllers(scenario: Scenario, source: Source) -> dict[str, Controller]:
    """The policies that a scenario's trials run under, by name.

    Raises :class:`~dstcc.errors.PolicyError` for one that cannot be used or does not fit the scenario, and
    :class:`~dstcc.errors.InputError` for two of one name.
    """
    named: dict[str, str | None] = {}
    for label_, one in scenarios_of(scenario).items():
        for given in one.transport.controller:
            named.setdefault(given, label_)
    if not named:
        return {}
    from dstcc.forecast.files import load_controller

    policies = {}
    for given, label_ in named.items():
        try:
            policies[controller_name(given)] = load_controller(given)
        except PolicyError as error:
            raise PolicyError(f"{scenario.scenario.name}: {_place(label_)}: {error}") from None
    if len(policies) < len(named):
        raise InputError(f"{scenario.scenario.name}: two policies of one name ({', '.join(named)})")
    for policy in policies.values():
        policy.check_fits(subflows=scenario.subflows, layers=source.layers)
    for label_, one in scenarios_of(scenario).items():
        for given in one.transport.controller:
            policy = policies[controller_name(given)]
            _check_mode(scenario.scenario.name, label_, one, policy)
            policy.check_scenario(one, source)
    return policies


def _place(variant: str | None) -> str:
    """The key of a controller."""
    return "transport.controller" if variant is None else f"variant '{variant}': controller"


def _check_mode(name: str, variant: str | None, scenario: Scenario, policy: Controller) -> None:
    """Refuse a policy of coded packets in another mode and the other way round; and ``mode = "stream"`` by name under
    a policy that brings its lanes: the trial would have them unasked."""
    transport = scenario.transport
    if (policy.mode == "coded") != (transport.mode == "coded"):
        steers = "layers coded over packets" if policy.mode == "coded" else "TCP's subflows and lanes"
        raise InputError(
            f"{name}: {_place(variant)}: the policy {policy.name} steers {steers}, "
            f"which mode = '{transport.mode}' lacks"
        )
    if not policy.lanes or transport.mode != "stream" or "mode" not in transport.model_fields_set:
        return
    place = "transport.mode" if variant is None else f"variant '{variant}': set.mode"
    raise InputError(
        f"{name}: {place} = 'stream': the policy {policy.name} sends layers on lanes of its own, never in one "
        "stream; leave mode out, or mode = 'lanes' with controller_lanes for fewer of them"
    )


def steering(key: TrialKey, scenario: Scenario, policies: Policies) -> Controller | None:
    """The policy of a trial, on the lanes that its scenario allows it; None for a trial without one."""
    if key.controller is None:
        return None
    return policies[key.controller].on_lanes(scenario.transport.controller_lanes)


def iter_trials(
    scenario: Scenario,
    source: Source,
    judge: Judge,
    *,
    backend: Backend = SIMULATOR,
    policies: Policies | None = None,
    jobs: int | None = None,
    trace: bool = False,
    only: TrialKey | Sequence[TrialKey] | None = None,
) -> Generator[Trial, None, None]:
    """Run the trials of a scenario, ``jobs`` at a time (all cores unless given), and yield them in order.

    ``policies`` are the controllers where :func:`load_controllers` has read them already.
    ``trace`` keeps every packet (``result.trace``); ``only`` runs that trial, or these, alone. At most a few finished
    trials wait in memory. Closing or dropping the iterator early starts no further trial and waits for those that are
    running, so that no thread works on behind the caller. An error that comes out of the iterator, or is thrown into it
    (``throw``), does not wait.
    """
    chosen = (only,) if isinstance(only, TrialKey) else only
    keys = deque(trial_keys(scenario) if chosen is None else chosen)
    workers = jobs or cores()
    policies = load_controllers(scenario, source) if policies is None else policies
    runner = _Runner(scenario, source, backend, tuple(keys), policies=policies, trace=trace)
    pool = ThreadPoolExecutor(workers, thread_name_prefix=WORKER_NAME)
    waiting: deque[Future[Trial]] = deque()
    try:
        while keys or waiting:
            while keys and len(waiting) <= workers:
                waiting.append(pool.submit(runner.run, keys.popleft()))
            yield _judged(waiting.popleft().result(), judge)
    except GeneratorExit:
        pool.shutdown(wait=True, cancel_futures=True)
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def left_early(trials: Generator[Trial, None, None]) -> Iterator[Generator[Trial, None, None]]:
    """See to it that the end of a ``with`` block closes the iterator, also by an error; Ctrl-C and SIGTERM wait for no
    trial."""
    try:
        yield trials
    except BaseException as error:
        if not isinstance(error, Exception):
            trials.throw(error)
        raise
    finally:
        trials.close()


def run_trials(
    scenario: Scenario, source: Source | None = None, *, quality: bool = True, jobs: int | None = None
) -> list[Trial]:
    """Run all trials of a scenario and keep them in memory: for few trials, such as a scenario's as a
    test."""
    source = source or load_source(scenario)
    judge = Judge(source, quality and scenario.video.quality)
    return list(iter_trials(scenario, source, judge, jobs=jobs))


WORKER_NAME = "dstcc-trial"
"""Prefix of the worker threads' names."""


class _Runner:
    """Carries trials, in whatever thread and order, and works out once what they share."""

    def __init__(
        self,
        scenario: Scenario,
        source: Source,
        backend: Backend,
        keys: tuple[TrialKey, ...],
        *,
        policies: Policies,
        trace: bool,
    ) -> None:
        self.source, self.backend, self.trace, self.policies = source, backend, trace, policies
        self.scenarios = scenarios_of(scenario)
        self.setups = TrialSetups(self.scenarios, source, ((key.setting, key.seed) for key in keys))
        self.timed = scenario.playout.mode == "deadline"
        self.bounds: Once[tuple[int, int], float] = Once(map(self._bound_of, keys))
        """The clairvoyant sender's weight, the same for all algorithms."""

    def run(self, key: TrialKey) -> Trial:
        """A trial but for the scores of its pictures."""
        try:
            return self._run(key)
        except Exception as error:
            return _failed(key, error)

    def _run(self, key: TrialKey) -> Trial:
        scenario = self.scenarios[key.setting]
        setup = self.setups.of(key.setting, key.seed)
        config = engine_config(scenario, setup, key.congestion, key.scheduler)
        if self.trace:
            config = replace(config, trace=True)
        policy = steering(key, scenario, self.policies)
        links = config.links if self.backend.tells_windows_apart else setup.links
        try:
            result = self.backend.carry(config, policy)
        except UnfinishedError as error:
            if error.partial is None:
                return _failed(key, error)
            seen = Outcome(setup, error.partial, links, Playback.none(), Metrics((), {}))
            return _failed(key, error, seen)
        best = None
        if self.timed:
            bound = self.backend.oracle(config)
            best = self.bounds.get(self._bound_of(key), lambda: self._best_weight(bound))
        return Trial(key, self._outcome(setup, result, links, best))

    def _outcome(
        self, setup: TrialSetup, result: EngineResult, links: tuple[Link, ...], best_weight: float | None
    ) -> Outcome:
        if self.timed:
            playback = play_by_deadline(setup.objects, result)
        else:
            playback = play_with_stalls(setup.objects, result, setup.chunk_ns, setup.playout_delay_ns)
        metrics = compute(setup.objects, result, playback, best_weight=best_weight, links=links)
        return Outcome(setup, result, links, playback, metrics)

    def _bound_of(self, key: TrialKey) -> tuple[int, int]:
        """Seed and segment size: what the bound rests on."""
        return key.seed, self.scenarios[key.setting].transport.mss_bytes

    def _best_weight(self, config: EngineConfig) -> float:
        weights = layer_weights(config.objects.layer, self.source.layers)
        return engine.clairvoyant_weight(config, weights, any_packets=self.backend.fills_packets)


def _judged(trial: Trial, judge: Judge) -> Trial:
    if trial.outcome is None:
        return trial
    try:
        quality = judge.score(trial.outcome.playback)
    except Exception as error:
        return _failed(trial.key, error)
    if quality is None:
        return trial
    return replace(
        trial, outcome=replace(trial.outcome, metrics=trial.outcome.metrics.with_pictures(quality))
    )


def _failed(key: TrialKey, error: Exception, partial: Outcome | None = None) -> Trial:
    said = str(error) if isinstance(error, DstccError) else f"{type(error).__name__}: {error}"
    return Trial(
        key, error=said, refused=isinstance(error, InputError), partial=partial, traceback=format_exc()
    )
