"""``dstcc export``: a run's trials in other tools' formats."""

from __future__ import annotations

from pathlib import Path

import click

from . import complete
from .options import ALLOW, AS_JSON, LIMIT, PATH
from .output import emit_json, progress, tell

FORMATS = ("csv", "iperf3", "qlog", "pcapng", "ionrc")
QLOG_VERSIONS = ("0.3", "0.4")

EXAMPLES = """\b
Examples:
  dstcc export run --format csv -o tables
  dstcc export run --format iperf3 --trial cubic+minrtt/s1 -o iperf3
  dstcc export run --format pcapng --trial cubic+minrtt/s1 -o packets
  dstcc export run --format qlog --qlog-version 0.4 -o qlogs
  dstcc export scenario.toml --format ionrc -o scenario.ionrc
"""


@click.command(short_help="Write a run's trials for other tools.", epilog=EXAMPLES)
@click.argument("run", type=PATH)
@click.option("--format", "form", type=click.Choice(FORMATS), required=True, help="What to write, see above.")
@click.option("-o", "--output", type=PATH, required=True, help="Folder to write (ionrc: file).")
@click.option(
    "--trial",
    "trials",
    metavar="ID",
    multiple=True,
    shell_complete=complete.trial,
    help="Trial, like cubic+minrtt/s1; repeatable.  [default: all completed trials]",
)
@click.option(
    "--qlog-version",
    "version",
    type=click.Choice(QLOG_VERSIONS),
    help="Version of qlog: 0.3 for public qvis, 0.4 for tools of the later drafts.  [default: 0.3]",
)
@LIMIT
@ALLOW
@click.option("--force", is_flag=True, help="Overwrite an existing export (only if dstcc wrote it).")
@AS_JSON
def command(
    *,
    run: Path,
    form: str,
    output: Path,
    trials: tuple[str, ...],
    version: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Write trials of RUN into a folder.

    \b
    csv     the run's three tables
    iperf3  a JSON file per trial, as iperf3 --json writes it at the sender
    qlog    a .sqlog file per trial, for qvis
    pcapng  two captures per trial, the spacecraft's and Earth's, for Wireshark
    ionrc   a scenario's contact plan for ION: RUN is the scenario, -o a file

    For packets the simulator repeats the trial, and reports if the result differs from RUN.

    Exit codes: 0 done, 1 failed, 2 bad input, 129 hung up, 130 interrupted, 143 terminated.
    """
    if form == "ionrc":
        return _export_plan(run, output, force=force, as_json=as_json)
    from dstcc.export import export_run
    from dstcc.run import load_run

    loaded = load_run(run)
    with progress("exporting", None if form == "csv" else len(trials) or len(loaded.trials)) as advance:
        done = export_run(
            loaded,
            output,
            form,
            trials=trials,
            version=version,
            force=force,
            advance=advance,
        )
    if as_json:
        emit_json(done.document())
        return
    count = len(done.trials)
    files = f"{len(done.files)} {'file' if len(done.files) == 1 else 'files'}"
    tell(f"{output}: {form} of {count} {'trial' if count == 1 else 'trials'}, {files}")


def _export_plan(path: Path, output: Path, *, force: bool, as_json: bool) -> None:
    from dstcc.export.ionrc import node_numbers, write_ionrc
    from dstcc.scenario import load_scenario

    scenario = load_scenario(path)
    write_ionrc(scenario, output, force=force, inputs=[path])
    numbers = node_numbers(scenario)
    if as_json:
        return emit_json({"export": str(output), "format": "ionrc", "nodes": numbers})
    nodes = ", ".join(f"{number} {name}" for name, number in numbers.items())
    tell(f"{output}: contact plan of nodes {nodes}")
