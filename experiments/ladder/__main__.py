"""The value of side information and of learning in scenarios of coded packets: the ladder of docs/learning.md.

    python -m experiments.ladder SCENARIO.. -o FOLDER [--controller POLICY].. [--rules FILE] [--seeds N] [--json]

A clairvoyant bound, planners that know the loss model or estimate it from acknowledgements, the best constant in
hindsight, tuned rules and random choice: a table on standard output; page, table, figure and values in FOLDER. POLICY
is one of coded packets by name or file, or a file of rules.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dstcc_cli.output import emit_json, notices, progress, say, show_figures
from rich import box
from rich.table import Table

from dstcc.coded.stored import SHIPPED, load_rules
from dstcc.errors import DstccError
from dstcc.forecast.files import load_forecaster
from dstcc.forecast.sender import Forecasting
from dstcc.outputs import check_output
from dstcc.scenario import load_scenario

from .rungs import Ladder, climb, replace_seeds
from .written import LADDER, PAGE, document, write_ladder

if TYPE_CHECKING:
    from dstcc.coded.seen import Sender

NAME = "experiments.ladder"


def main(argv: Sequence[str] | None = None) -> int:
    """Climb the ladder and write it; the exit code."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {NAME}", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scenarios", nargs="+", type=Path)
    parser.add_argument(
        "-o", "--output", type=Path, required=True, help="folder: page, table, figure, values"
    )
    parser.add_argument(
        "--controller", action="append", default=[], metavar="POLICY", help="a rung of its own"
    )
    parser.add_argument("--rules", type=Path, default=SHIPPED, help="tuned rules (default: the shipped ones)")
    parser.add_argument("--seeds", type=int, metavar="N", help="how many (default: the scenario's)")
    parser.add_argument("--force", action="store_true", help="overwrite an existing ladder")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    arguments = parser.parse_args(argv)
    command = [NAME, *(sys.argv[1:] if argv is None else argv)]
    try:
        ladder = _climbed(arguments)
        write_ladder(arguments.output, ladder, command, force=arguments.force)
    except DstccError as error:
        print(f"{NAME}: {error}", file=sys.stderr)
        return error.exit_code
    if arguments.json:
        emit_json(document(ladder))
        return 0
    _show(ladder)
    notices().print(f"{arguments.output}: table, figure and values of {len(ladder.rungs)} rungs")
    notices().print(f"page: {arguments.output / PAGE}", soft_wrap=True)
    return 0


def _climbed(arguments: argparse.Namespace) -> Ladder:
    read = (*arguments.scenarios, *map(Path, arguments.controller), arguments.rules)
    check_output(arguments.output, LADDER, force=arguments.force, inputs=read)
    loaded = [load_scenario(path) for path in arguments.scenarios]
    if arguments.seeds is not None:
        loaded = [replace_seeds(one, arguments.seeds) for one in loaded]
    tuned = load_rules(arguments.rules)
    policies = [one for given in arguments.controller for one in _senders(given)]
    with progress("climbing", len(loaded)) as bar:
        return climb(loaded, None, tuned, policies, advance=bar.advance)


def _senders(name_or_file: str) -> list[Sender]:
    """A policy of coded packets, or the rules of a JSON file."""
    if name_or_file.endswith(".json"):
        return load_rules(Path(name_or_file))
    return [Forecasting(load_forecaster(name_or_file))]


def _show(ladder: Ladder) -> None:

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("scenario", "rung", "name"):
        table.add_column(title)
    for title in ("weight", "95 %", "seeds"):
        table.add_column(title, justify="right")
    for rung in ladder.rungs:
        estimate = rung.estimate
        low, high = estimate.bounds()
        interval = f"{low:.4f}–{high:.4f}" if estimate.has_interval else "–"
        table.add_row(
            rung.scenario, rung.label, rung.name, f"{estimate.value:.4f}", interval, str(len(rung.values))
        )
    show_figures(table)
    for gap in ladder.gaps:
        say(gap.sentence())


if __name__ == "__main__":
    sys.exit(main())
