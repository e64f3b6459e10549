"""Remy's rules: the shipped table, and the trainer that made it (``python -m dstcc.remy.train``)."""

from __future__ import annotations

from .table import Rule, Table, load, shipped

__all__ = ["Rule", "Table", "load", "shipped"]
