"""What ``run.json`` must look like to be read: the types of its keys. A key that is not named here may be anything."""

from __future__ import annotations

from typing import Any

NUMBER = (int, float)
LINK = {"name": (str,), "rate_bps": NUMBER, "outages": (int,), "outage_s": NUMBER}
SHAPE: dict[str, Any] = {
    "dstcc_version": (str,),
    "git_commit": (str,),
    "argv": [(str,)],
    "scenario_name": (str,),
    "scenario_sha256": (str,),
    "any_delay_sha256": (str,),
    "video": {"name": (str,), "manifest_sha256": (str,)},
    "backend": (str,),
    "scale": NUMBER,
    "seeds": [(int,)],
    "machine": {},
    "wall_s": NUMBER,
    "links": [LINK],
    "extensions": [{"name": (str,)}],
    "warnings": [(str,)],
    "controllers": [{"name": (str,), "sha256": (str,)}],
    "algorithms": [{"name": (str,)}],
}
"""Key → types of its value, or the shape of a table, or, in a list, of its every entry. What is absent or null is
unknown, which readers check; no entry of a list is null."""
WORDS = {dict: "a table", list: "a list", str: "a string", int: "a whole number", float: "a number"}


def misshapen(record: dict[str, Any], shape: dict[str, Any] = SHAPE, where: str = "") -> str | None:
    """The first value that is not of its type, as ``links.0.rate_bps: must be a number``; ``None`` if all are."""
    for key, wanted in shape.items():
        if record.get(key) is not None:
            problem = _misfit(record[key], wanted, f"{where}{key}")
            if problem is not None:
                return problem
    return None


def _misfit(value: Any, wanted: Any, where: str) -> str | None:
    if isinstance(wanted, tuple):
        fits = isinstance(value, wanted) and not isinstance(value, bool)
        return None if fits else f"{where}: must be {WORDS[float if float in wanted else wanted[0]]}"
    if not isinstance(value, type(wanted)):
        return f"{where}: must be {WORDS[type(wanted)]}"
    if isinstance(value, dict):
        return misshapen(value, wanted, f"{where}.")
    problems = (_misfit(entry, wanted[0], f"{where}.{index}") for index, entry in enumerate(value))
    return next((problem for problem in problems if problem is not None), None)
