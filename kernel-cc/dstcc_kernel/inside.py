"""What a guest runs, or a host: ``python -m dstcc_kernel.inside FOLDER``, with a trial's job in the folder.

Leaves ``result.bin`` there, or ``error.txt`` with what a person can be told.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from dstcc.errors import DstccError

from .job import JOB, Job, read_job
from .module import load
from .steer import Controller, make
from .transfer import carry

ERROR, GUARD = "error.txt", "guard.json"
PAGES = "4000000 8000000 16000000"
"""tcp_mem: sockets alone may fill the guest's memory."""


def main(folder: Path) -> int:
    """Carry out the job of a folder."""
    job = read_job(folder / JOB)
    if job.guest:
        Path("/proc/sys/net/ipv4/tcp_mem").write_text(PAGES)
    guard: dict[str, int] = {}
    try:
        if job.module is not None:
            load(Path(job.module))
        made: list[Controller] = []

        def controller_of(told: Job) -> Controller:
            made.append(make(told, folder))
            return made[0]

        carry(job, folder, controller_of if job.steer is not None else None)
        guard = getattr(made[0], "totals", {}) if made else {}
    except (DstccError, OSError) as error:
        (folder / ERROR).write_text(f"{error}\n")
        return 1
    if guard:
        (folder / GUARD).write_text(json.dumps(guard))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
