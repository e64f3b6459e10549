"""Options of every command that runs a scenario: what a trial may take, and whose Python may run."""

from __future__ import annotations

import click


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
