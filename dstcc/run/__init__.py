"""Runs: a scenario's trials carried out, written to a run directory and read back.

What writes and reads tables is imported when it is first used: a dry run needs no pyarrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dstcc.lazy import names_of

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

# pyarrow is imported for these
__getattr__ = names_of(
    __name__,
    {
        **dict.fromkeys(("RUN", "Finished", "Run", "load_run", "write_run"), "directory"),
        "TrialRow": "tables",
    },
)
