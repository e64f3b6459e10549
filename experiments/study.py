"""What experiments with a command line share."""

from __future__ import annotations

from typing import Any

import click

from dstcc.errors import DstccError


class Study(click.Command):
    """A command of which dstcc's own errors are a line and their exit code, as of the commands of `dstcc`."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run it."""
        try:
            return super().invoke(ctx)
        except DstccError as error:
            click.echo(f"Error: {error}", err=True)
            ctx.exit(error.exit_code)
