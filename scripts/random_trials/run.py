"""Run a trial, steered by random actions where an agent is to, to the digests of its result."""

from __future__ import annotations

import math
import re
from random import Random

import numpy as np

from dstcc.engine import EngineResult, Stepper, clairvoyant_weight, law_weight, simulate
from dstcc.engine.config import SAME
from dstcc.engine.stepper import (
    ALPHA_MAX_Q16,
    AUTOMATIC,
    AVOID,
    FALL_BACK,
    KEEP,
    ONE_Q16,
    REPAIRABLE,
    RUNNING,
    SILENT,
)

from .chance import log_uniform, maybe
from .digest import Digest, digests
from .trial import Trial

MAX_STEPS = 400
PLACE = re.compile(r" \([\w/.]+:\d+\)$")
"""Of the source, in the message of an invariant: no part of a result."""


def act(rng: Random, stepper: Stepper, subflows: int, layers: int, flows: int) -> None:
    """Random actions for the next slot; some say nothing, some ask for too much."""
    for alpha, beta, rows in (
        (stepper.alpha_q16, stepper.beta, subflows),
        (stepper.flow_alpha_q16, stepper.flow_beta, flows),
    ):
        for s in range(rows):
            what = rng.random()
            if what < 0.3:
                alpha[0, s] = SILENT
            elif what < 0.33:
                alpha[0, s] = FALL_BACK
            elif what < 0.5:
                alpha[0, s], beta[0, s] = 0, rng.randint(1, 400)
            else:
                factor = rng.choice([0.5, 0.9, 1.0, 1.1, 1.5, 64.0])
                alpha[0, s] = min(int(factor * ONE_Q16), ALPHA_MAX_Q16)
                beta[0, s] = rng.randint(-5, 20)
    if maybe(rng, 0.5):
        stepper.layer_subflow[0, 0] = KEEP
        return
    for layer in range(layers):
        choices = [AUTOMATIC, REPAIRABLE, AVOID - rng.randrange(subflows), rng.randrange(subflows + 1)]
        stepper.layer_subflow[0, layer] = rng.choice(choices)
        stepper.copied[0, layer] = maybe(rng, 0.2)
    stepper.order[0, 0] = rng.choice([0.0, math.inf, log_uniform(rng, 0.01, 1000)])
    stepper.order[0, 1] = rng.choice([0.0, 0.5, 1.0])


def run_steered(seed: int, trial: Trial) -> tuple[EngineResult, Digest]:
    """A trial stepped to its end under random actions, and what the agent saw on the way."""
    config = trial.config
    subflows = sum(link.subflows for link in config.links)
    layers = int(config.objects.layer.max()) + 1
    flows = sum(flow.congestion == SAME for link in config.links for flow in link.flows)
    stepper = Stepper(1, subflows, layers, flows=flows)
    stepper.load(0, config)
    seen, rng = Digest(), Random(f"actions {seed}/{trial.number}")
    for _ in range(MAX_STEPS):
        act(rng, stepper, subflows, layers, flows)
        stepper.step()
        for name in (
            "done",
            "subflow_values",
            "layer_values",
            "episode_values",
            "flow_values",
            "flow_subflow_values",
        ):
            seen.put(name, getattr(stepper, name))
        if stepper.done[0] != RUNNING:
            break
    return stepper.result(0), seen


def run_trial(seed: int, trial: Trial) -> dict[str, str]:
    """One digest per part; of a trial that the engine refuses or breaks off, the error."""
    bound, values = Digest(), Digest()
    try:
        if trial.kind == "steered":
            result, values = run_steered(seed, trial)
        else:
            result = simulate(trial.config)
        out = digests(result)
        if trial.number % 3 == 0:
            weights = np.linspace(1, 2, len(trial.config.objects.layer))
            bound.put("bound", clairvoyant_weight(trial.config, weights))
            if trial.kind == "coded" and {link.loss.kind for link in trial.config.links} <= {
                "none",
                "packet",
            }:
                bound.put("law", law_weight(trial.config, weights))
    except (ValueError, RuntimeError) as error:
        return {"objects": f"{type(error).__name__}: {PLACE.sub('', str(error))}"}
    return out | {"values": values.text(), "bound": bound.text()}
