"""``dstcc doctor``: what this machine can do and how to get the rest."""

from __future__ import annotations

import click

from .options import AS_JSON
from .output import emit_json, plain_table, show_figures


@click.command(short_help="Show what this machine can do.")
@AS_JSON
def command(as_json: bool) -> int:
    """Show what this machine can do and how to install the rest; exit code 1 when something required is
    missing."""
    from dstcc.checks import diagnose

    findings = diagnose()
    if as_json:
        emit_json([finding.document() for finding in findings])
    else:
        from rich.text import Text

        table = plain_table("check", "", "found", "how to get it")
        for finding in findings:
            missing = Text("missing", "red") if finding.required else Text("optional", "yellow")
            mark = Text("ok", "green") if finding.ok else missing
            table.add_row(finding.check, mark, finding.detail, finding.remedy or "")
        show_figures(table)
    return 1 if any(finding.required and not finding.ok for finding in findings) else 0
