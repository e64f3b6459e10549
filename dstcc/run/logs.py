"""The packet logs of a trial, written beside a run's tables on request."""

from __future__ import annotations

import re
from pathlib import Path

from .trials import Outcome


def write_logs(folder: Path, trial: str, outcome: Outcome, wanted: frozenset[str]) -> list[str]:
    """Write the logs named in ``wanted`` (``qlog``, ``pcapng``) to ``TRIAL.qlog`` and ``TRIAL.pcapng``.

    In a file's name what is not a letter, a digit or one of ``+-.`` becomes ``_``. Returns what to tell the user.
    """
    trace, setting = outcome.result.trace, outcome.setting
    if trace is None:
        return [f"{trial}: no packet logs, its transfer keeps no packets"] if wanted else []
    name = re.sub(r"[^\w+.-]", "_", trial)
    if "qlog" in wanted:
        from .qlog import write_qlog

        write_qlog(folder / f"{name}.qlog", trial, trace, outcome.result.samples, setting.mss_bytes)
    if "pcapng" in wanted:
        from .capture import write_capture

        write_capture(folder / f"{name}.pcapng", trace, setting.links)
    return []
