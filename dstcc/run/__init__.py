"""Runs: a scenario's trials carried out, written to a run directory and read back."""

from __future__ import annotations

from .asked import Asked, ask
from .backends import Backend, backend_of
from .directory import RUN, Done, Finished, Run, load_run, write_run
from .plan import Plan, plan
from .trials import Trial, load_controllers, run_trials, scenarios_of, trial_keys

__all__ = [
    "RUN",
    "Asked",
    "Backend",
    "Done",
    "Finished",
    "Plan",
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
