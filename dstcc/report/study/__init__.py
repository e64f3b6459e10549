"""The page of a study: what a sweep found, over what it varied."""

from __future__ import annotations

from .load import StudyReport, load_study_report
from .page import render_study

__all__ = ["StudyReport", "load_study_report", "render_study"]
