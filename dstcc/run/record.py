"""What ``run.json`` must look like to be read: the types of its keys. A key that is not named here may be anything."""

from __future__ import annotations

import json
from datetime import datetime
from math import isnan
from types import NoneType
from typing import Any

NUMBER = (int, float)


class Whole(dict[str, Any]):
    """The shape of a table that has all of these keys; a value is null only where ``None`` is one of its types."""


LINK = {"name": (str,), "rate_bps": NUMBER, "least_rate_bps": NUMBER, "outages": (int,), "outage_s": NUMBER}
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
    "least_playout_delays": [Whole(seed=(int,), delay_s=(int, float, NoneType))],
    "machine": {},
    "wall_s": NUMBER,
    "links": [LINK],
    "hops": [LINK],
    "extensions": [{"name": (str,)}],
    "warnings": [(str,)],
    "controllers": [
        {
            "name": (str,),
            "sha256": (str,),
            "seed": (int,),
            "trained_on": [Whole(scenario=(str,), sha256=(str,))],
            "lanes": (int,),
        }
    ],
    "algorithms": [
        Whole(
            name=(str,),
            knows=[(str,)],
            mode=(str,),
            ordering_domains=(int, NoneType),
            windows=(int,),
            copies=(str,),
            scale=NUMBER,
            distorts=[(str,)],
            set={},
        )
    ],
}
"""Key → types of its value, or the shape of a table, or, in a list, of its every entry. What is absent or null is
unknown, which readers check; no entry of a list is null."""
WORDS = {
    datetime: "a date",
    dict: "a table",
    list: "a list",
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}
MOST = 1e30
"""Above all numbers of a run."""


SCENARIO: dict[str, Any] = {
    "scenario": {"name": (str,), "description": (str,), "duration_s": NUMBER, "start": (datetime,)},
    "video": {"stream": (str,), "synthetic": {}, "loop_to_s": NUMBER},
    "transport": {
        "mode": (str,),
        "mss_bytes": (int,),
        "lanes_per_link": (int,),
        "controller_lanes": (int,),
        "controller": (str, list),
    },
    "playout": {"mode": (str,), "delay_s": NUMBER, "delay_rtts": NUMBER},
    "run": {},
    "node": [{"name": (str,)}],
    "link": [{"name": (str,)}],
    "variant": [Whole(label=(str,))],
}
"""What is read of a run's ``scenario.toml`` without its model: the run may be of another version."""
CONTACTS = [Whole(from_s=NUMBER, to_s=NUMBER, bytes_in_time=NUMBER, full_quality_bytes=NUMBER)]
LINKS = [
    {
        "name": (str,),
        "rate_bps": (int, float, dict, list),
        "delay_s": (int, float, dict, list),
        "rtt_s": NUMBER,
        "outages": (int,),
    }
]
"""What the columns ``contacts`` and ``links`` of a trial hold as JSON."""


def parse(text: str | None, shape: list[Any], where: str) -> list[Any]:
    """A column's JSON; an empty list for none. Raises ValueError for other JSON than of that shape."""
    value = json.loads(text) if text else []
    problem = _misfit(value, shape, where)
    if problem is not None:
        raise ValueError(problem)
    return list(value)


def parse_contacts(text: str | None) -> list[Any]:
    """The column ``contacts``. Runs of older versions do not say what a contact could carry."""
    parse(text, [{"capacity_bytes": NUMBER}], "contacts")
    return parse(text, CONTACTS, "contacts")


def misshapen(record: dict[str, Any], shape: dict[str, Any] = SHAPE, where: str = "") -> str | None:
    """The first value that is not of its type, as ``links.0.rate_bps: must be a number``; ``None`` if all are."""
    for key, wanted in shape.items():
        if isinstance(shape, Whole) and key not in record:
            return f"{where}{key}: is missing"
        if record.get(key) is not None or isinstance(shape, Whole):
            problem = _misfit(record[key], wanted, f"{where}{key}")
            if problem is not None:
                return problem
    return None


def _misfit(value: Any, wanted: Any, where: str) -> str | None:
    if isinstance(wanted, tuple):
        fits = isinstance(value, wanted) and (bool in wanted or not isinstance(value, bool))
        fits = fits and not (isinstance(value, float) and isnan(value))
        if fits and isinstance(value, (int, float)) and abs(value) > MOST:
            return f"{where}: is beyond all numbers of a run"
        return None if fits else f"{where}: must be {WORDS[float if float in wanted else wanted[0]]}"
    kind = dict if isinstance(wanted, dict) else list
    if not isinstance(value, kind):
        return f"{where}: must be {WORDS[kind]}"
    if isinstance(value, dict):
        return misshapen(value, wanted, f"{where}.")
    problems = (_misfit(entry, wanted[0], f"{where}.{index}") for index, entry in enumerate(value))
    return next((problem for problem in problems if problem is not None), None)
