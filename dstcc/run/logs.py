"""The packet logs of a trial, written beside a run's tables on request."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np

from dstcc.engine import Connection
from dstcc.wire import ENDS

from .trials import Outcome


def write_logs(folder: Path, trial: str, outcome: Outcome, wanted: frozenset[str]) -> list[str]:
    """Write the logs named in ``wanted``: ``qlog`` to ``TRIAL.qlog``, ``pcapng`` to ``TRIAL.END.pcapng`` of both ends.

    Returns what to tell the user.
    """
    logged, captured, mss = connections_of(outcome), outcome.result.capture, outcome.setup.mss_bytes
    if not logged and captured is None:
        return [f"{trial}: no packet logs, it has no packets"] if wanted else []
    if "qlog" in wanted and logged:
        from .qlog import write_qlog

        write_qlog(folder / f"{stem(trial)}.qlog", trial, logged, outcome.result.samples, mss_bytes=mss)
    if "pcapng" in wanted:
        from .capture import write_capture

        for end in ENDS:
            path = folder / f"{stem(trial)}.{end}.pcapng"
            if logged:
                write_capture(path, logged, outcome.links, end=end, mss_bytes=mss)
            elif captured is not None:
                shutil.copyfile(captured / f"{end}.pcapng", path)
    if captured is not None:
        shutil.rmtree(captured, ignore_errors=True)
    return []


def connections_of(outcome: Outcome) -> tuple[Connection, ...]:
    """What is logged of a trial; nothing unless that was asked for."""
    result, objects = outcome.result, outcome.setup.objects
    if result.trace is None:
        return result.connections
    return (Connection(result.trace, objects, np.arange(len(objects.layer))),)


def stem(trial: str) -> str:
    """What the names of a trial's files begin with: what is no letter, digit or one of ``+-.`` becomes ``_``."""
    return re.sub(r"[^\w+.-]", "_", trial)


def logs_of(folder: Path, trial: str) -> list[Path]:
    """The packet logs of a trial that lie in a folder."""
    return [folder / name for name in log_names(trial) if (folder / name).exists()]


def log_names(trial: str) -> tuple[str, ...]:
    """The names that a trial's logs have, or had when both ends shared a capture."""
    name = stem(trial)
    return tuple(f"{name}{ending}" for ending in (".qlog", ".spacecraft.pcapng", ".earth.pcapng", ".pcapng"))
