"""What a guest runs: ``python -m dstcc_kernel.inside FOLDER``, with a trial's job in the folder.

Leaves ``result.bin`` there, or ``error.txt`` with what a person can be told.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from dstcc.errors import DstccError

from .job import JOB, read_job
from .transfer import carry

ERROR = "error.txt"
PAGES = "4000000 8000000 16000000"
"""tcp_mem: sockets alone may fill the guest's memory."""


def main(folder: Path) -> int:
    """Carry out the job of a folder."""
    Path("/proc/sys/net/ipv4/tcp_mem").write_text(PAGES)
    job = read_job(folder / JOB)
    controller = None
    if job.steer is not None:
        module, _, name = job.steer.partition(":")
        controller = getattr(import_module(module), name)(**(job.steer_options or {}))
    try:
        carry(job, folder, controller)
    except (DstccError, OSError) as error:
        (folder / ERROR).write_text(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
