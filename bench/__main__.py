"""``python -m bench``: measure, print the table, write ``build/bench.json``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from dstcc.atomic import atomic_write
from dstcc.errors import DstccError

from . import table
from .figure import Figure, Measured
from .host import host
from .registry import FIGURES, chosen

OUTPUT = Path(__file__).parents[1] / "build/bench.json"


def main(
    arguments: list[str] | None = None, *, figures: tuple[Figure, ...] = FIGURES, output: Path = OUTPUT
) -> int:
    """Run the command and give its exit code: 0 measured (goals met or not), 2 an unknown figure."""
    parser = argparse.ArgumentParser(prog="bench", description="Measure the project's speed figures.")
    parser.add_argument("--only", metavar="NAME", help="these figures only, comma-separated")
    parser.add_argument("--json", action="store_true", help="print the JSON document in the table's place")
    options = parser.parse_args(arguments)
    try:
        picked = chosen(options.only, figures)
    except DstccError as error:
        print(f"bench: {error}", file=sys.stderr)
        return error.exit_code
    say = (lambda _line: None) if options.json else _say
    machine = host()
    say(f"{machine['processor']}, {machine['cores']} cores, load {os.getloadavg()[0]:.2f}")
    say(table.header())
    results: dict[str, tuple[Figure, Measured]] = {}
    for figure in picked:
        measured = figure.measure()
        results[figure.name] = (figure, measured)
        for line in (table.row(figure, measured), *table.notes(measured)):
            say(line)
    document = table.document({**machine, "load_average_after": os.getloadavg()}, results)
    text = json.dumps(document, indent=2) + "\n"
    output.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(output, text)
    if options.json:
        print(text, end="")
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
