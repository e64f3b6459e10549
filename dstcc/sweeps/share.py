"""A job array's task: ``python -m dstcc.sweeps.share STUDY JOB TASK`` carries its share of a study and ends.

The task's units are in ``jobs/JOB/units.json`` of the study's folder, which all nodes see. What has a result is
skipped, so that a task that is requeued goes on. A unit that fails is noted in ``failed/``: the next call of
``dstcc sweep`` tries it again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from dstcc.errors import DstccError

from .conduct import Conductor, Swept
from .executors.local import Local
from .places import Place
from .plan import make_plan, read_units
from .worker import carrying

CORES = ("SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE")


def run(place: Place, job: str, task: int, *, jobs: int = 1) -> Swept:
    """Carry a task's units on so many cores; raises :class:`RunError` for a job that is not there or damaged."""
    units, limit_s = read_units(place.jobs / job, task)
    with carrying(place) as carrier:
        plan = make_plan(carrier.work, only=sorted({unit.cell for unit in units}))
        if other := [unit for unit in units if unit.key not in plan.place]:
            raise DstccError(
                f"{place.path}: {other[0].id} is another trial here than the study asks for: this is "
                f"{plan.pieces[0].made_by} on {os.uname().nodename}, the study is of {' and '.join(carrier.makers)}; "
                "or a file that its scenario names differs"
            )
        conductor = Conductor(plan, place, Local(place.path, jobs, limit_s=limit_s), retries=0)
        return conductor.carry([plan.place[unit.key] for unit in units], settled=False)


def cores(environment: Mapping[str, str]) -> int:
    """The cores that the task has, as Slurm says it."""
    given = next((environment[name] for name in CORES if environment.get(name, "").isdecimal()), "1")
    return max(1, int(given))


def main() -> int:
    """Run one task."""
    folder, job, task = sys.argv[1:]
    try:
        swept = run(Place(Path(folder).absolute()), job, int(task), jobs=cores(os.environ))
    except DstccError as error:
        print(f"dstcc: {error}", file=sys.stderr)
        return error.exit_code
    print(
        f"{swept.done} carried, {swept.skipped} had results, {len(swept.failed)} failed, {swept.wall_s:.1f} s"
    )
    return 1 if swept.failed else 0


if __name__ == "__main__":
    sys.exit(main())
