"""Scenarios: TOML files, which are checked, drawn per seed and converted to the engine's configuration."""

from __future__ import annotations

from .build import TrialSetup, draw_trial, engine_config, extensions_of, horizon_s, scale_of
from .draws import describe, draw_links, link_notes, rtt_s
from .files import files_of
from .load import ABSENT, Override, load_scenario, parse_override, parse_scenario, scenario_files
from .model import Scenario
from .physics import sun_earth_probe_deg
from .video import Source, Sources, any_delay_hash, content_hash, load_source, manifest_hash
from .write import to_toml

__all__ = [
    "ABSENT",
    "Override",
    "Scenario",
    "Source",
    "Sources",
    "TrialSetup",
    "any_delay_hash",
    "content_hash",
    "describe",
    "draw_links",
    "draw_trial",
    "engine_config",
    "extensions_of",
    "files_of",
    "horizon_s",
    "link_notes",
    "load_scenario",
    "load_source",
    "manifest_hash",
    "parse_override",
    "parse_scenario",
    "rtt_s",
    "scale_of",
    "scenario_files",
    "sun_earth_probe_deg",
    "to_toml",
]
