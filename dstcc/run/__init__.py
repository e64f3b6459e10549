"""Runs: a scenario's trials carried out, written to a run directory and read back."""

from __future__ import annotations

from .asked import Asked, ask
from .backends import Backend, backend_of
from .directory import RUN, Finished, Run, load_run, write_run
from .plan import Plan, plan
from .tables import Row
from .trials import Trial, load_controllers, run_trials, scenarios_of, trial_keys

__all__ = [
    "RUN",
    "Asked",
    "Backend",
    "Finished",
    "Plan",
    "Row",
    "Run",
    "Trial",
    "ask",
    "backend_of",
    "load_controllers",
    "load_run",
    "plan",
    "run_trials",
    "scenarios_of",
    "trial_keys",
    "write_run",
]
