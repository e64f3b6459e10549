"""A study of a million trials that nobody ran: drawn numbers in real parts, for the speed of opening and asking."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa

from dstcc.sweeps.call import Sweep
from dstcc.sweeps.places import Place
from dstcc.sweeps.results import PART_ROWS, write_part
from tests.sweeps.made import write

STUDY = """
[study]
scenario = "toy.toml"
congestion = ["cubic", "bbr-scaled", "open-loop", "newreno"]
seeds = 500
[vary]
"link.0.loss.packet" = {from = 1e-5, to = 1e-1, steps = 25, scale = "log", as = "loss"}
"link.0.delay_s" = {from = 180, to = 1320, steps = 20, as = "delay"}
"""
TRIALS = 25 * 20 * 4 * 500


def make(folder: Path) -> Place:
    """A folder of a million trials; their columns and types are a real study's."""
    small = STUDY.replace("seeds = 500", "seeds = 1")
    sweep = Sweep(write(folder / "given", small), folder / "out")
    place = Place(folder / "out")
    place.path.mkdir()
    sweep.begin(place)
    plan, drawn, names = sweep.plan, np.random.default_rng(1), []
    about = plan.about(range(len(plan.units)))
    for first in range(0, TRIALS, PART_ROWS):
        rows = np.arange(first, min(first + PART_ROWS, TRIALS))
        table = about.take(pa.array(rows // 500))
        for name, values in (
            ("key", pa.array([f"{row:032x}" for row in rows])),
            ("seed", pa.array(rows % 500 + 1)),
        ):
            table = table.set_column(table.column_names.index(name), name, values)
        for field in list(plan.schema)[table.num_columns :]:
            values = (
                pa.array(drawn.random(len(rows)), field.type)
                if field.name != "vmaf"
                else pa.nulls(len(rows), field.type)
            )
            table = table.append_column(field.name, values)
        names.append(write_part(place.trials, table.cast(plan.schema)).name)
    place.parts.write_text(json.dumps({"schema": 1, "parts": sorted(names)}))
    return place
