"""Links with their numbers and the sources of these."""

from __future__ import annotations
