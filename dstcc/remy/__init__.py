"""Remy's rules: the shipped table, which ``experiments/remy_rules.py`` made."""

from __future__ import annotations

from .table import Rule, RuleTable, load, shipped

__all__ = ["Rule", "RuleTable", "load", "shipped"]
