"""What a controller saw, believed and chose in a trial, and what came of it.

A run keeps no decisions. So the trial is repeated (:mod:`dstcc.run.replay`) with somebody who writes them down, and
with all of its packets, of which the channel's true losses are known.
"""

from __future__ import annotations

from .explanation import Explanation, LinkTruth, explain
from .page import render

__all__ = ["Decision", "Explanation", "LinkTruth", "explain", "render"]
