"""Where bodies, stations and spacecraft are, and who sees whom."""

from __future__ import annotations
