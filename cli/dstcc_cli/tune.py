"""``dstcc tune``: settings of stock congestion controls that an operator of a scenario's links would choose."""

from __future__ import annotations

from pathlib import Path

import click

from . import complete
from .options import ALLOW, AS_JSON, LIMIT, SCENARIO, SETTINGS
from .output import emit_json, notice, tell

EXAMPLES = """\b
Examples:
  dstcc tune mars.toml --congestion cubic >> mars.toml
  dstcc tune mars.toml --congestion cubic --congestion westwood --json
  dstcc tune mars.toml --congestion bbr --set transport.mode=lanes \\
      --seeds 901-920
"""


class Seeds(click.ParamType[range]):
    """``FIRST-LAST``, or one seed."""

    name = "seeds"

    def convert(self, value: str | range, param: click.Parameter | None, ctx: click.Context | None) -> range:
        """The range; fails in words."""
        if isinstance(value, range):
            return value
        first, dash, last = value.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or int(last or first) < int(first):
            self.fail(f"'{value}': must be FIRST-LAST, like 901-905", param, ctx)
        return range(int(first), int(last or first) + 1)


@click.command(short_help="Tune stock congestion controls to a scenario.", epilog=EXAMPLES)
@SCENARIO
@click.option(
    "--congestion",
    multiple=True,
    required=True,
    metavar="NAME",
    shell_complete=complete.congestion,
    help="Congestion control to tune; repeatable.",
)
@click.option(
    "--seeds",
    type=Seeds(),
    default="901-905",
    show_default=True,
    metavar="FIRST-LAST",
    help="Seeds to choose on. Compare on others.",
)
@SETTINGS
@LIMIT
@ALLOW
@AS_JSON
def command(
    *, scenario: Path, congestion: tuple[str, ...], seeds: range, settings: tuple[str, ...], as_json: bool
) -> None:
    """Choose the settings of stock congestion controls that play most on SCENARIO, and print each as a [[variant]].

    Time scale, initial window, lanes, window per lane or link, longest timeout, and CUBIC's HyStart are varied one
    after another, from the scenario's values and from those of its variants; a change that raises the mean of
    weighted_layers over the seeds is kept. Append the output to SCENARIO: `dstcc emulate` then runs the tuned control
    with the others, and a report names the seeds on which it was chosen. stderr shows each setting tried.

    Exit codes: 0 done, 1 failed, 2 bad input, 129 hung up, 130 interrupted, 143 terminated.
    """
    from dstcc.scenario import load_scenario, load_source, parse_override
    from dstcc.tune import METRIC, Tuned, tune

    loaded = load_scenario(scenario, [parse_override(text) for text in settings])
    source = load_source(loaded)
    found: list[Tuned] = []
    for name in congestion:
        notice(f"{name}: mean {METRIC} of seeds {seeds[0]} to {seeds[-1]}")
        found.append(tune(loaded, source, name, seeds, say=notice))
        if not as_json:
            tell("\n".join([*found[-1].lines(), ""]))
    if as_json:
        emit_json({"scenario": str(scenario), "tuned": [one.document() for one in found]})
