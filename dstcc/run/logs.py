"""The packet logs of a trial, written beside a run's tables on request."""

from __future__ import annotations

import re
from pathlib import Path

from .trials import Outcome


def write_logs(folder: Path, trial: str, outcome: Outcome, wanted: frozenset[str]) -> list[str]:
    """Write the logs named in ``wanted`` (``qlog``, ``pcapng``) to ``TRIAL.qlog`` and ``TRIAL.pcapng``.

    Returns what to tell the user.
    """
    trace, setup = outcome.result.trace, outcome.setup
    if trace is None:
        return [f"{trial}: no packet logs, its transfer keeps no packets"] if wanted else []
    qlog, pcapng = log_names(trial)
    if "qlog" in wanted:
        from .qlog import write_qlog

        write_qlog(folder / qlog, trial, trace, outcome.result.samples, setup.mss_bytes)
    if "pcapng" in wanted:
        from .capture import write_capture

        write_capture(folder / pcapng, trace, outcome.links)
    return []


def log_names(trial: str) -> tuple[str, str]:
    """``TRIAL.qlog`` and ``TRIAL.pcapng``; what is not a letter, a digit or one of ``+-.`` becomes ``_``."""
    name = re.sub(r"[^\w+.-]", "_", trial)
    return f"{name}.qlog", f"{name}.pcapng"
