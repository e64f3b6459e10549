"""Runs in other tools' formats: tables as CSV, iperf3's JSON, qlog and packet captures.

One folder an export, with ``export.json`` in it, by which it is recognised. A format is an entry of :data:`FORMATS`
and a module that writes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dstcc.atomic import atomic_directory
from dstcc.errors import InputError, RunError
from dstcc.outputs import Kind, check_output, stranger
from dstcc.reading import read_json
from dstcc.run import Run
from dstcc.version import __version__

from . import iperf3, packets, tables

__all__ = ["EXPORTED", "FORMATS", "Exported", "export_run"]

MARK = "export.json"
SCHEMA = 1


Write = Callable[..., Iterable[list[str]]]
"""``write(run, trials, folder, **options)`` yields, one after another, the names of files that it wrote together."""

FORMATS: dict[str, Write] = {
    "csv": tables.write,
    "iperf3": iperf3.write,
    "qlog": packets.write_qlogs,
    "pcapng": packets.write_captures,
}


@dataclass(frozen=True)
class Exported:
    """What was written."""

    folder: Path
    form: str
    trials: tuple[str, ...]
    files: tuple[str, ...]

    def document(self) -> dict[str, object]:
        """The JSON document."""
        return {
            "export": str(self.folder),
            "format": self.form,
            "trials": list(self.trials),
            "files": list(self.files),
        }


def _no_export(folder: Path) -> str | None:
    """What keeps a folder from being an export and nothing else."""
    try:
        mark = read_json(folder / MARK, InputError)
        if mark["dstcc_export"] != SCHEMA:
            return f"has an {MARK} of another version"
        known = {MARK, *map(str, mark["files"])}
    except FileNotFoundError:
        return f"has no {MARK}"
    except (InputError, TypeError, KeyError):
        return f"has an {MARK} that is damaged, or not dstcc's"
    other = stranger(folder, known)
    return None if other is None else f"holds {other}, which is no part of the export"


EXPORTED = Kind("an export of a run", _no_export, folder=True)
"""What ``dstcc export`` writes."""


def chosen_trials(run: Run, names: Sequence[str]) -> list[str]:
    """The ids of the trials named, or of all completed ones; :class:`RunError` for one that is not there."""
    if names:
        return [str(run.trial(name)["id"]) for name in dict.fromkeys(names)]
    ended = [str(row["id"]) for row in run.trials if row["status"] == "ok"]
    if not ended:
        raise RunError(f"{run.path}: no completed trial, nothing to export")
    return ended


def export_run(
    run: Run,
    output: Path,
    form: str,
    *,
    trials: Sequence[str] = (),
    version: str | None = None,
    force: bool = False,
    advance: Callable[[], None] = lambda: None,
) -> Exported:
    """Write trials of a run in one of :data:`FORMATS` into the folder ``output``, whole or not at all.

    All completed trials, unless some are named. ``version`` is that of qlog. ``advance`` is called after each
    trial, or table. Raises :class:`~dstcc.errors.InputError` for an unknown format or a place that may not be written,
    and what :func:`dstcc.run.replay.replay` raises.
    """
    if form not in FORMATS:
        raise InputError(f"format {form!r}: one of {', '.join(FORMATS)}")
    if version is not None and form != "qlog":
        raise InputError(f"format {form!r}: only qlog has versions")
    check_output(output, EXPORTED, force=force, inputs=[run.path])
    chosen = chosen_trials(run, trials)
    options = {} if version is None else {"version": version}
    with atomic_directory(output, replaces=EXPORTED if force else None) as folder:
        files: list[str] = []
        for written in FORMATS[form](run, chosen, folder, **options):
            files += written
            advance()
        mark = {
            "dstcc_export": SCHEMA,
            "dstcc_version": __version__,
            "format": form,
            "scenario_sha256": run.meta["scenario_sha256"],
            "trials": chosen,
            "files": files,
        }
        (folder / MARK).write_text(json.dumps(mark, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return Exported(output, form, tuple(chosen), tuple(files))
