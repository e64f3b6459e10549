"""A trial of a run once more: the simulator makes of the same scenario and seed the same bytes.

So a run need not keep every packet: who wants them has the trial repeated. That it is the same trial is checked by its
metrics, all of them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dstcc.algorithms import OWN, RENAMED
from dstcc.errors import DstccError, RunError, ScenarioError
from dstcc.metrics import METRICS
from dstcc.scenario import load_scenario, load_source
from dstcc.scenario.network import node_that

from .backends import Simulator
from .trials import Judge, Outcome, iter_trials, load_controllers, scenarios_of, trial_keys

if TYPE_CHECKING:
    from dstcc.learn.policies.controller import Watcher

    from .directory import Run

JUDGED = ("psnr_db", "ssim", "vmaf")
"""Metrics of pictures, which a repetition need not judge again."""


def replay(run: Run, trial: str, *, trace: bool = False, watcher: Watcher | None = None) -> Outcome:
    """Repeat a trial of a run; with ``trace`` it keeps every packet (``result.trace``).

    ``watcher`` sees each decision of a policy.

    Raises :class:`~dstcc.errors.RunError` for a trial that is not there or failed, for a run of a kernel, and where
    this dstcc does not make the same of it: another version, or a policy or stream that changed since; and
    :class:`~dstcc.errors.DstccError` where the trial now fails, for want of memory, say.
    """
    row = run.trial(trial)
    if run.meta["backend"] != "simulator":
        raise RunError(
            f"{run.path}: a run on the backend {run.meta['backend']!r}; only the simulator repeats a trial exactly"
        )
    if row["status"] != "ok":
        raise RunError(f"{run.path}: trial {trial!r} failed ({row['error']})")
    steering = (one for one in run.meta.get("controllers") or () if one["name"] == row["controller"])
    if row["controller"] == OWN and OWN not in (one["algorithm"] for one in steering):
        raise RunError(
            f"{run.path}: trial {trial!r}: its controller is what is called {RENAMED[OWN]} now; run the scenario under "
            "that name"
        )
    try:
        scenario = load_scenario(run.path / "scenario.toml")
    except ScenarioError as error:
        raise RunError(f"{run.path}: its scenario cannot be read by this version ({error})") from None
    run.stream()  # says it if the stream moved or changed
    source = load_source(scenario)
    key = next((key for key in trial_keys(scenario) if key.id == trial), None)
    if key is None:
        raise RunError(f"{run.path}: scenario.toml has no trial {trial!r}")
    transport = scenarios_of(scenario)[key.setting].transport
    # Nothing is kept of the packets of a coded trial whose decisions are watched.
    trace = trace and not (transport.mode == "coded" and watcher is not None)
    if trace and (splitting := node_that(scenario, "split")) is not None:
        raise RunError(
            f"{run.path}: trial {trial!r}: '{splitting}' ends connections, and packets are kept of one only"
        )
    done = next(
        iter_trials(
            scenario,
            source,
            Judge(source, wanted=False),
            policies=load_controllers(scenario, source),
            backend=Simulator(watcher),
            trace=trace,
            only=key,
        )
    )
    if done.outcome is None:
        kind = RunError if done.refused else DstccError
        raise kind(f"{run.path}: trial {trial!r} failed when it was repeated ({done.error})")
    _check_same(run, row, done.outcome.metrics.flat())
    return done.outcome


def _check_same(run: Run, row: dict[str, Any], again: dict[str, Any]) -> None:
    for metric in METRICS:
        if metric in JUDGED or _equal(row[metric], again.get(metric)):
            continue
        made_by = f"{run.meta.get('dstcc_version')}, commit {run.meta.get('git_commit') or 'unknown'}"
        raise RunError(
            f"{run.path}: trial {row['id']!r} comes out otherwise now ({metric} {again.get(metric)}, in the run "
            f"{row[metric]}): it was made by dstcc {made_by}, or with another policy"
        )


def _equal(kept: float | None, again: float | None) -> bool:
    if kept is None or again is None:
        return kept is again or (again is not None and math.isnan(again))
    return kept == again
