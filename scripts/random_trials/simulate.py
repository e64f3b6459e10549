"""Run a drawn trial in every way that must give the same, and say what must not be."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from random import Random

from dstcc.engine import CodedStepper, EngineConfig, EngineResult, Stepper, simulate
from dstcc.engine.config import SAME
from dstcc.engine.stepper import RUNNING, SILENT

from .chance import log_uniform, maybe
from .digest import differing, digests
from .invariants import breaches
from .run import MAX_STEPS, act
from .trial import Trial

Way = Callable[[EngineConfig], EngineResult]
REFUSED = ("a block has more packets than its code",)
"""What the engine may say of a drawn trial: blocks are drawn without their code in view."""


def findings(seed: int, trial: Trial, config: EngineConfig | None = None) -> list[str]:
    """What is wrong with a trial, or with its ``config`` in the place of the drawn one; nothing is as it should be."""
    config = trial.config if config is None else config
    way = way_of(seed, trial)
    try:
        result = way(config)
    except ValueError as error:
        return [] if any(said in str(error) for said in REFUSED) else [f"{type(error).__name__}: {error}"]
    except Exception as error:  # whatever it is, it is found
        return [f"{type(error).__name__}: {error}"]
    found = list(breaches(config, result))
    expected = digests(result)
    for name, other in _again(seed, trial, way):
        try:
            parts = differing(expected, digests(other(config)), ("cost",))
        except Exception as error:  # likewise, and the other trials are still to run
            found.append(f"{type(error).__name__} {name}: {error}")
            continue
        if parts:
            found.append(f"differs in {', '.join(parts)} {name}")
    return found


def way_of(seed: int, trial: Trial) -> Way:
    """How a trial is run: as it is, or steered at random."""
    if trial.kind == "steered":
        return lambda config: run_steered(seed, trial, config)
    if trial.kind == "coded" and trial.number % 2 and trial.config.restarts is None:
        return lambda config: run_coded(seed, trial, config)
    return simulate


def _again(seed: int, trial: Trial, way: Way) -> Iterator[tuple[str, Way]]:
    """Other ways to the same result: once more; beside another trial in threads; slot by slot; packet by packet.

    A stepper runs one connection, so trials of a sender that restarts have no way slot by slot.
    """
    yield "when it runs again", way
    if trial.number % 4 == 0:
        yield "beside itself in threads", lambda config: _in_threads(way, config)
    agents = any(
        "agent" in name for name in (trial.config.transport.congestion, trial.config.transport.scheduler)
    )
    one = trial.config.restarts is None
    if trial.kind == "tcp" and trial.number % 4 == 1 and not agents and one:
        yield "slot by slot", lambda config: run_steered(seed, trial, config, silent=True)
    if trial.kind == "coded" and trial.number % 4 == 2 and one:
        yield "slot by slot", lambda config: run_coded(seed, trial, config, silent=True)
    if trial.kind in ("ltp", "coded"):
        yield "packet by packet", lambda config: _by_packet(way, config)


def _by_packet(way: Way, config: EngineConfig) -> EngineResult:
    given = os.environ.get("DSTCC_ENGINE")
    os.environ["DSTCC_ENGINE"] = "packets"
    try:
        return way(config)
    finally:
        if given is None:
            del os.environ["DSTCC_ENGINE"]
        else:
            os.environ["DSTCC_ENGINE"] = given


def _in_threads(way: Way, config: EngineConfig) -> EngineResult:
    with ThreadPoolExecutor(2) as pool:
        return [future.result() for future in [pool.submit(way, config) for _ in range(2)]][1]


def run_steered(seed: int, trial: Trial, config: EngineConfig, *, silent: bool = False) -> EngineResult:
    """Step a trial to its end under random actions; of every third the agent dies in the middle of it."""
    subflows = sum(link.subflows for link in config.links)
    layers = int(config.objects.layer.max()) + 1
    flows = sum(flow.congestion == SAME for link in config.links for flow in link.flows)
    stepper = Stepper(2, subflows, layers, flows=flows, threads=2)
    stepper.load(0, config)
    stepper.active[1] = 0
    rng = Random(f"actions {seed}/{trial.number}")
    dies = rng.randrange(1, 40) if trial.number % 3 == 0 else None
    for step in range(10**7 if silent else 10 * MAX_STEPS):
        if not silent and (dies is None or step < dies):
            act(rng, stepper, subflows, layers, flows)
        elif step == dies:
            stepper.alpha_q16[0], stepper.flow_alpha_q16[0] = SILENT, SILENT
        stepper.step()
        if stepper.done[0] != RUNNING:
            return stepper.result(0)
    raise RuntimeError("the trial has no end")


def run_coded(seed: int, trial: Trial, config: EngineConfig, *, silent: bool = False) -> EngineResult:
    """Step a coded trial to its end under random shares of repair, places and paces, or under none."""
    subflows = sum(link.subflows for link in config.links)
    layers = int(config.objects.layer.max()) + 1
    stepper = CodedStepper(1, subflows, layers)
    stepper.load(0, config)
    rng = Random(f"repair {seed}/{trial.number}")
    while stepper.done[0] == RUNNING:
        if not silent and maybe(rng, 0.3):
            for layer in range(layers):
                stepper.repair[0, layer] = rng.choice([-1.0, 0.0, log_uniform(rng, 0.01, 3)])
                stepper.left_out[0, layer] = maybe(rng, 0.1)
            stepper.place[0] = rng.choice([-1, 0, 1, 2])
            for subflow in range(subflows):
                stepper.pace[0, subflow] = log_uniform(rng, 0.1, 10)
        stepper.step()
    return stepper.result(0)


def shrunk(seed: int, trial: Trial, most: int = 200) -> EngineConfig:
    """The least configuration found that still has a finding, by leaving out one thing after another."""
    config, tried = trial.config, 0
    again = True
    while again and tried < most:
        again = False
        for simpler in _simpler(config):
            tried += 1
            if tried > most:
                break
            if findings(seed, trial, simpler):
                config, again = simpler, True
                break
    return config


def _simpler(config: EngineConfig) -> Iterator[EngineConfig]:
    """Configurations with something less."""
    if (
        len(config.links) > 1
        and not config.transport.layer_links
        and not config.transport.parameters.get("fixed")
    ):
        for number in range(len(config.links)):
            yield replace(config, links=config.links[:number] + config.links[number + 1 :])
    objects = config.objects
    if config.coding is None and len(objects.layer) > 1:
        for part in (slice(0, len(objects.layer) // 2), slice(len(objects.layer) // 2, None)):
            columns = {name: column[part] for name, column in vars(objects).items()}
            if (columns["layer"] == 0).any():
                yield replace(config, objects=type(objects)(**columns))
    plain: tuple[dict[str, object], ...] = (
        {"flows": ()},
        {"cross_traffic": ()},
        {"unannounced_ns": ()},
        {"outages_ns": (), "up_outages_ns": None},
        {"rate_t_ns": (), "rate_share": ()},
        {"up_rate_t_ns": (), "up_rate_share": ()},
        {"hidden_t_ns": (), "hidden_share": ()},
        {"drops": ()},
        {"subflows": 1},
    )
    for number, link in enumerate(config.links):
        changes = [
            change for change in plain if any(getattr(link, key) != value for key, value in change.items())
        ]
        if link.loss.kind != "none":
            changes.append({"loss": type(link.loss)()})
        if link.up_loss.kind != "none":
            changes.append({"up_loss": type(link.loss)()})
        if len(link.delay_ns) > 1:
            changes.append({"delay_t_ns": (0,), "delay_ns": link.delay_ns[:1], "delay_slope": ()})
        for change in changes:
            simpler = replace(link, **change)  # type: ignore[arg-type]
            yield replace(config, links=(*config.links[:number], simpler, *config.links[number + 1 :]))
    if config.restarts is not None:
        yield replace(config, restarts=None)
    if config.transport.receive_buffer_bytes:
        yield replace(config, transport=replace(config.transport, receive_buffer_bytes=0))
