"""Options and arguments of several commands."""

from __future__ import annotations

from pathlib import Path

import click

PATH = click.Path(path_type=Path)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
SCENARIO = click.argument("scenario", type=PATH)
SETTINGS = click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Override a scenario's key; repeatable."
)
SEED = click.option(
    "--seed", type=int, metavar="K", help="Seed of all random draws.  [default: the scenario's, or 1]"
)


def _limit(context: click.Context, _option: click.Parameter, texts: tuple[str, ...]) -> None:
    """Let these limits hold until the command ends: who calls it in a process of theirs gets their own back."""
    if texts:
        from dstcc.scenario.work import limited, parse_limits

        context.with_resource(limited(parse_limits(texts)))


LIMIT = click.option(
    "--limit",
    multiple=True,
    metavar="WHAT=NUMBER",
    callback=_limit,
    expose_value=False,
    help="Raise a limit: events=1e12 or memory=8GB of a trial, bytes=1TB of the run's folder; repeatable.",
)


def _allow(context: click.Context, _option: click.Parameter, given: bool) -> None:
    """Let the Python run that scenarios name, until the command ends."""
    if given:
        from dstcc.trust import allowed

        context.with_resource(allowed())


ALLOW = click.option(
    "--allow-extensions",
    is_flag=True,
    callback=_allow,
    expose_value=False,
    help="Run Python files that SCENARIO names; those on the command line always run.",
)
