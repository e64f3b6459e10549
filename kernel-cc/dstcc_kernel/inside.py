"""What a guest runs, or a host: ``python -m dstcc_kernel.inside FOLDER``, with a trial's job in the folder.

Leaves ``result.bin`` there, or ``error.txt`` with a message for the user.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from dstcc.errors import DstccError

from .controller_process import ERROR
from .job import JOB, Job, read_job
from .module import load, lock
from .steer import make
from .topology import PAGES
from .transfer import carry

SETTLED_S = 1.0
"""Of the guest's clock before anything is sent. A connection begun in the first millisecond had no round trip and a
window of one segment; perhaps as TCP's timestamps count milliseconds, and Linux takes an echoed 0 for none."""


def main(folder: Path) -> int:
    """Carry out the job of a folder."""
    job = read_job(folder / JOB)
    if job.guest:
        time.sleep(SETTLED_S)
        Path("/proc/sys/net/ipv4/tcp_mem").write_text(PAGES)
        for name, value in job.parameters.items():
            Path("/sys/module/tcp_cubic/parameters", name).write_text(value)
    try:
        if job.module is not None:
            load(Path(job.module))
        if job.guest:
            lock()
        if job.coded:
            _carry_coded(job, folder)
        else:
            carry(job, folder, (lambda plan: make(plan, folder)) if job.steer is not None else None)
    except (DstccError, OSError) as error:
        (folder / ERROR).write_text(f"{error}\n")
        return 1
    return int((folder / ERROR).exists())


def _carry_coded(job: Job, folder: Path) -> None:
    from .coded import carry_coded

    if job.steer is None:
        carry_coded(job, folder)
        return
    from .coded_steer import CodedController

    carry_coded(job, folder, CodedController(**job.steer))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
