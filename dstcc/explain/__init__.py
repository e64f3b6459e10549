"""What a controller saw, believed and chose in a trial, and what came of it.

A run keeps no decisions. So the trial is repeated (:mod:`dstcc.run.replay`) with somebody who writes them down, and
with all of its packets, of which the channel's true losses are known. The page is imported when one is written: it
needs matplotlib.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dstcc.lazy import names_of

from .explanation import Explanation, LinkTruth, explain

if TYPE_CHECKING:
    from .page import render

__all__ = ["Explanation", "LinkTruth", "explain", "render"]

__getattr__ = names_of(__name__, {"render": "page"})
