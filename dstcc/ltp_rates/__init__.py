"""Learned code rates of `ltp`: the shipped tables; :mod:`dstcc.learn.ltp_rates` made them."""

from __future__ import annotations

from .table import RateTable, load, shipped, shipped_names

__all__ = ["RateTable", "load", "shipped", "shipped_names"]
