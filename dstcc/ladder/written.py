"""A ladder on disk: ``index.html``, ``ladder.json``, ``ladder.csv`` and the figure ``ladder.svg`` in a folder, whole or
not at all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dstcc.atomic import atomic_directory
from dstcc.errors import InputError
from dstcc.outputs import Kind, stranger
from dstcc.reading import read_json
from dstcc.spreadsheet import records_csv
from dstcc.version import __version__

from .baselines import Ladder
from .figure import whole
from .page import render_ladder, verdict

JSON, CSV, SVG, PAGE = "ladder.json", "ladder.csv", "ladder.svg", "index.html"
COLUMNS = ("scenario", "rung", "name", "clairvoyant", "value", "low", "high", "seeds")


def document(ladder: Ladder) -> dict[str, Any]:
    """As ``dstcc ladder --json`` has it."""
    return {
        "ladder": [baseline.document() for baseline in ladder.baselines],
        "gaps": [gap.document() for gap in ladder.gaps],
    }


def write_ladder(folder: Path, ladder: Ladder, argv: Sequence[str], *, force: bool) -> None:
    """Write the folder; with ``force`` in an older ladder's place."""
    about = {"dstcc": __version__, "argv": list(argv)}
    values = [
        {**baseline.document(), "values": {str(k): v for k, v in baseline.values.items()}}
        for baseline in ladder.baselines
    ]
    kept = {**about, **document(ladder), "ladder": values}
    with atomic_directory(folder, replaces=LADDER if force else None) as into:
        (into / JSON).write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n")
        (into / CSV).write_text(records_csv(COLUMNS, (baseline.document() for baseline in ladder.baselines)))
        (into / SVG).write_text(whole(ladder, verdict(ladder)))
        (into / PAGE).write_text(render_ladder(ladder, argv))


def _no_ladder(folder: Path) -> str | None:
    strange = stranger(folder, (JSON, CSV, SVG, PAGE))
    if strange is not None:
        return f"holds {strange}"
    try:
        known = read_json(folder / JSON, InputError)
    except OSError:
        return f"has no {JSON}"
    except InputError:
        return f"has a {JSON} that is no JSON"
    return None if isinstance(known, dict) and "ladder" in known else f"has a {JSON} of another kind"


LADDER = Kind("a ladder", _no_ladder, folder=True)
