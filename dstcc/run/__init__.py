"""Runs: a scenario's trials carried out, written to a run directory and read back.

What writes and reads tables is imported when it is first used: a dry run needs no pyarrow.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .asked import Asked, ask
from .backends import Backend, backend_of
from .plan import Plan, plan
from .trials import Trial, load_controllers, run_trials, scenarios_of, trial_keys

if TYPE_CHECKING:
    from .directory import RUN, Finished, Run, load_run, write_run
    from .tables import TrialRow

__all__ = [
    "RUN",
    "Asked",
    "Backend",
    "Finished",
    "Plan",
    "Run",
    "Trial",
    "TrialRow",
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

_TABLES = {
    **dict.fromkeys(("RUN", "Finished", "Run", "load_run", "write_run"), "directory"),
    "TrialRow": "tables",
}
"""Where a name of this package lies that pyarrow is imported for."""


def __getattr__(name: str) -> Any:
    if name not in _TABLES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_TABLES[name]}"), name)
