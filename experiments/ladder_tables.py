"""Ladders side by side, a mission a column: the tables of docs/learning.md.

    python -m experiments.ladder_tables FOLDER..

FOLDERs are of `dstcc ladder`, each of one mission. The first table has what each baseline plays
(`weighted_layers`, means over seeds with 95 % intervals), the second how much more than the best constant in hindsight,
paired by seeds. Where a mission holds every change to come in a table, `planner-law` is clairvoyant, and the
table says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from dstcc.report.printed import heading, line

PAIRED = (
    ("planner-law: the gap", ""),
    ("the controller", "controller"),
    ("planner-belief", "planner_belief"),
    ("the best tuned rule", "tuned_rule"),
)
"""What is paired with the best constant, and its key in a gap of ladder.json; the gap's own values have none."""


def interval(value: Mapping[str, float | None], sign: str = "") -> str:
    """A mean with its interval; a dash where there is none."""
    if value["low"] is None:
        return "–"
    return f"{value['value']:{sign}.3f} [{value['low']:{sign}.3f}, {value['high']:{sign}.3f}]"


def by_baseline(ladder: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """A ladder's baselines by what tells them apart: which baseline, and of rules and controllers which one."""
    return {
        one["rung"] if one["rung"] not in ("tuned-rule", "controller") else one["name"]: one for one in ladder
    }


@click.command(help=__doc__)
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
def main(folders: tuple[Path, ...]) -> None:
    """Print both tables."""
    documents = [json.loads((folder / "ladder.json").read_text(encoding="utf-8")) for folder in folders]
    names = [one["gaps"][0]["scenario"] for one in documents]
    baselines = [by_baseline(one["ladder"]) for one in documents]
    known = [name for name, one in zip(names, documents, strict=True) if one["gaps"][0]["clairvoyant"]]
    heading("What each plays", ("baseline", *names))
    for baseline in dict.fromkeys(key for one in baselines for key in one):
        label = (
            f"{baseline} (clairvoyant in {', '.join(known)})"
            if known and baseline == "planner-law"
            else baseline
        )
        line(label, *(interval(one[baseline]) if baseline in one else "–" for one in baselines))
    heading("More than the best constant", ("", *names))
    for label, key in PAIRED:
        gaps = [one["gaps"][0][key] if key else one["gaps"][0] for one in documents]
        line(label, *(interval(gap, "+") for gap in gaps))


if __name__ == "__main__":
    main()
