"""The page of a run of programs (``dstcc run``): what each did, and sockets and links over mission time."""

from __future__ import annotations

from .load import ProgramRun, is_program_run, load_program_run
from .page import render_program_run

__all__ = ["ProgramRun", "is_program_run", "load_program_run", "render_program_run"]
