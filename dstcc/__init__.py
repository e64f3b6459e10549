"""Carry scalable video home from deep space: scenario → run → metrics → report.

From Python::

    import dstcc

    run = dstcc.emulate("examples/iodst/table-1.toml", congestion=["cubic", "bbr-scaled"], seeds=10)
    run.trials.to_pandas()
    run.report("report.html")

:mod:`dstcc.api` has it all; its names are read when they are first used, so that ``import dstcc`` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .version import __version__

if TYPE_CHECKING:
    from .api import Emulation, SweepResult, emulate, encode, load, sweep

__all__ = ["Emulation", "SweepResult", "__version__", "emulate", "encode", "load", "sweep"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'dstcc' has no attribute {name!r}")
    from . import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
