"""Remy's rules: the shipped table, which ``experiments/remy_rules.py`` made."""

from __future__ import annotations

from .table import Rule, Table, load, shipped

__all__ = ["Rule", "Table", "load", "shipped"]
