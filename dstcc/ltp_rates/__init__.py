"""Learned code rates of `ltp`: shipped tables, and the learner that made them (``python -m dstcc.ltp_rates.train``)."""

from __future__ import annotations

from .table import Table, load, shipped, shipped_names

__all__ = ["Table", "load", "shipped", "shipped_names"]
