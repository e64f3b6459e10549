"""``dstcc ladder``: the value of side information and of learning in scenarios."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import ALLOW, AS_JSON, LIMIT, PATH
from .output import emit_json, notices, number_table, progress, say, show_figures, tell_aside

if TYPE_CHECKING:
    from dstcc.coded.seen import Sender
    from dstcc.ladder.baselines import Ladder

EXAMPLES = """\b
Examples:
  dstcc ladder examples/learning/training/onset.toml -o runs/ladder
  dstcc ladder examples/learning/held-out/*.toml -o runs/held-out \\
      --seeds 20 --json
  dstcc ladder mars.toml -o runs/ladder --controller gru-mpc \\
      --controller rules.json
"""


@click.command(short_help="Measure the value of side information and of learning.", epilog=EXAMPLES)
@click.argument("scenarios", nargs=-1, required=True, type=PATH)
@click.option("-o", "--output", type=PATH, required=True, help="Folder: page, table, figure, values.")
@click.option(
    "--controller",
    "controllers",
    multiple=True,
    metavar="POLICY",
    help="A policy of coded packets by name or file, or a file of rules, as a further baseline; repeatable.",
)
@click.option(
    "--rules",
    type=PATH,
    metavar="FILE",
    help="Tuned rules.  [default: those tuned on examples/learning/training]",
)
@click.option(
    "--seeds", type=click.IntRange(1), metavar="N", help="Number of seeds.  [default: the scenario's]"
)
@LIMIT
@ALLOW
@click.option("--force", is_flag=True, help="Overwrite an existing study (only if dstcc wrote it).")
@AS_JSON
def command(
    *,
    scenarios: tuple[Path, ...],
    output: Path,
    controllers: tuple[str, ...],
    rules: Path | None,
    seeds: int | None,
    force: bool,
    as_json: bool,
) -> None:
    """Measure the value of side information and of learning in SCENARIOS of coded packets: a clairvoyant bound,
    planners that know the loss model or estimate it from acknowledgements, the best constant in hindsight, tuned rules,
    random choice.

    Exit codes: 0 done, 1 failed, 2 bad input, 129 hung up, 130 interrupted, 143 terminated.
    """
    from dstcc.coded.stored import SHIPPED, load_rules
    from dstcc.ladder.baselines import climb
    from dstcc.ladder.written import LADDER, PAGE, document, write_ladder
    from dstcc.outputs import check_output
    from dstcc.scenario import load_scenario

    check_output(
        output, LADDER, force=force, inputs=(*scenarios, *map(Path, controllers), *([rules] if rules else []))
    )
    loaded = [load_scenario(path) for path in scenarios]
    if seeds is not None:
        loaded = [one.with_run(seeds=seeds) for one in loaded]
    tuned = load_rules(rules or SHIPPED)
    policies = [one for given in controllers for one in _senders(given)]
    with progress("climbing", len(loaded)) as advance:
        ladder = climb(loaded, None, tuned, policies, advance=advance)
    write_ladder(output, ladder, sys.argv, force=force)
    if as_json:
        emit_json(document(ladder))
        return
    _show(ladder)
    notices().print(f"{output}: table, figure and values of {len(ladder.baselines)} baselines")
    tell_aside(f"page: {output / PAGE}")


def _senders(name_or_file: str) -> list[Sender]:
    """A policy of coded packets, or the rules of a JSON file."""
    from dstcc.coded.stored import load_rules
    from dstcc.forecast.files import load_forecaster
    from dstcc.forecast.sender import Forecasting

    if name_or_file.endswith(".json"):
        return load_rules(Path(name_or_file))
    return [Forecasting(load_forecaster(name_or_file))]


def _show(ladder: Ladder) -> None:
    from rich.box import SIMPLE_HEAD

    texts = ("scenario", "baseline", "name")
    table = number_table(*texts, "weight", "95 %", "seeds", texts=texts, box=SIMPLE_HEAD, pad_edge=False)
    for baseline in ladder.baselines:
        estimate = baseline.estimate
        low, high = estimate.bounds()
        interval = f"{low:.4f}–{high:.4f}" if estimate.has_interval else "–"
        table.add_row(
            baseline.scenario,
            baseline.label,
            baseline.name,
            f"{estimate.value:.4f}",
            interval,
            str(len(baseline.values)),
        )
    show_figures(table)
    for gap in ladder.gaps:
        say(gap.sentence())
