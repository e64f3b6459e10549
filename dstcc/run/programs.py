"""A run of a scenario's ``[programs]`` of which only the numbers are kept, for studies and tests."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from dstcc.errors import DstccError, InputError
from dstcc.scenario import Scenario

from .program_numbers import Numbers, numbers_of

PREFIX = "dstcc-programs-"


def run_programs(scenario: Scenario) -> Numbers:
    """Run them under the scenario's first seed.

    Raises :class:`InputError` where it has none or they cannot run, and :class:`DstccError` for a run that exceeds its
    limit, and for output that is not as ``json_of`` says.
    """
    from dstcc_kernel.endhosts.flight import fly
    from dstcc_kernel.endhosts.planning import meaning, options_of

    programs = scenario.programs
    if programs is None:
        raise InputError(
            f"{scenario.scenario.name}: programs: missing; [programs] says what runs on the hosts"
        )
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        with meaning(programs):
            flown = fly(folder / "run", scenario, options_of(scenario), argv=(), wall_s=programs.wall_s)
        if flown.problem is not None:
            said = flown.problem.replace("--wall", "programs.wall_s")
            raise DstccError(said.replace("--for ends", "scenario.duration_s ends"))
        return numbers_of(folder / "run", flown.meta, programs.json_of)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
