"""``dstcc report``: compare runs on one self-contained page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import PATH
from .output import console, emit_json, progress, say, tell

if TYPE_CHECKING:
    from dstcc.report import Report

FORMATS = ("html", "md", "csv", "json", "pdf", "png")
PRINTED = ("pdf", "png")
PAPERS = ("a4", "letter")
STDOUT = "-"
RUNS, PROGRAMS, STUDY = "runs", "programs", "study"
"""Of `dstcc emulate`, of `dstcc run`, and of `dstcc sweep`."""


EXAMPLES = """\b
Examples:
  dstcc report run -o report.html
  dstcc report monday tuesday -o both.html
  dstcc report run -o week.pdf --paper letter
  dstcc report run -o - --format csv
  dstcc report run -o report.html --against cubic+minrtt
  dstcc report copied/run -o report.html --stream streams/bunny
"""


@click.command(epilog=EXAMPLES)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=PATH)
@click.option("-o", "--output", required=True, metavar="FILE", help="File to write; - is stdout.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="Format of the report.  [default: by FILE's ending, html without one; md on stdout]",
)
@click.option(
    "--against",
    metavar="NAME",
    help="Algorithm with which the others are compared, paired by seed.  [default: the best]",
)
@click.option("--stream", "moved_to", type=PATH, metavar="PATH", help="The runs' stream, if it was moved.")
@click.option("--no-pictures", is_flag=True, help="Without pictures of what Earth saw.")
@click.option("--figures", is_flag=True, help="Also each figure as SVG, in a folder next to FILE.")
@click.option("--data", is_flag=True, help="With --figures: also their numbers as CSV, up to 50 MB.")
@click.option("--paper", type=click.Choice(PAPERS), help="Paper of pdf and png.  [default: a4]")
@click.option("--force", is_flag=True, help="Overwrite an existing FILE (only if it is a report of dstcc).")
@click.option("--json", "as_json", is_flag=True, help="Print the output's path and the summary as JSON.")
def command(  # noqa: PLR0917 - click hands every option over by name
    runs: tuple[Path, ...],
    output: str,
    form: str | None,
    against: str | None,
    moved_to: Path | None,
    no_pictures: bool,
    figures: bool,
    data: bool,
    paper: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Compare RUNs: trials of the same scenario are pooled, others get a section of their own.

    An HTML report has tables, figures and what Earth saw, and needs no network; large clips are in a folder next to
    it, named as FILE with -clips. md, csv and json have only the summary. pdf and png are a handout of two pages,
    printed by Chromium. RUN may also be the folder of one `dstcc sweep`.
    """
    chosen = form or _format_of(output)
    if data and not figures:
        raise click.UsageError("--data: the numbers of --figures, which is not given")
    kind = _kind_of(runs)
    _check_printed(kind, runs, output, chosen, paper)
    if kind == PROGRAMS:
        _write_programs(runs, output, chosen, against, force=force, as_json=as_json)
        return
    if kind == STUDY:
        _write_study(runs, output, chosen, against, force=force, as_json=as_json)
        return
    if output == STDOUT and as_json:
        raise click.UsageError("--json has stdout for itself: give -o a file, or use -o - --format json")
    from dstcc.report import load_report, render, write_report

    if figures and (chosen != "html" or output == STDOUT):
        raise click.UsageError("--figures: of an HTML page in a file; -o FILE.html")
    if output != STDOUT:
        _check_place(Path(output), runs, force=force)
    report = load_report(runs, against)
    screenings = None
    if chosen in ("html", *PRINTED) and not no_pictures:
        from dstcc.report.pictures import screen

        with progress("pictures", None):
            screenings = screen(report, moved_to=moved_to)
    if output == STDOUT:
        click.echo(render(report, chosen, screenings), nl=False)
        return
    with progress("report", None):
        written = write_report(
            report,
            Path(output),
            chosen,
            screenings,
            figures=figures,
            data=data,
            paper=paper or PAPERS[0],
            force=force,
        )
    if as_json:
        from dstcc.report.summary import document

        emit_json({"report": output, "format": chosen, "bytes": written, **document(report)})
    else:
        _say(report, output, written)


def _kind_of(runs: tuple[Path, ...]) -> str:
    """What they are: :data:`PROGRAMS`, :data:`STUDY`, or :data:`RUNS`, which alone are compared."""
    from dstcc.report.programs import is_program_run
    from dstcc.sweeps.places import is_study

    if any(map(is_program_run, runs)):
        return PROGRAMS
    return STUDY if any(map(is_study, runs)) else RUNS


def _check_printed(kind: str, runs: tuple[Path, ...], output: str, form: str, paper: str | None) -> None:
    """Raise where a format that a browser prints cannot be had."""
    if form not in PRINTED:
        if paper is not None:
            raise click.UsageError(f"--paper: of {' and '.join(PRINTED)}, not of {form}")
        return
    from dstcc.errors import InputError
    from dstcc.report.browser import find

    if output == STDOUT:
        raise click.UsageError(f"--format {form}: is no text for stdout; give -o FILE.{form}")
    if kind != RUNS:
        raise InputError(f"{runs[0]}: {form} is of runs of `dstcc emulate`; of this there is -o FILE.html")
    find()


def _write_study(
    runs: tuple[Path, ...], output: str, form: str, against: str | None, *, force: bool, as_json: bool
) -> None:
    """The page of a study's folder."""
    from dstcc.errors import InputError
    from dstcc.report.study import load_study_report, render_study
    from dstcc.report.study.page import verdict

    if len(runs) > 1 or against is not None:
        raise InputError(f"{runs[0]}: a study has a page of its own; give it alone, without --against")
    if output == STDOUT:
        click.echo(render_study(load_study_report(runs[0]), form), nl=False)
        return
    _check_place(Path(output), runs, force=force)
    report = load_study_report(runs[0])
    size = _put(output, render_study(report, form), force=force)
    if as_json:
        emit_json({"report": output, "format": form, "bytes": size, **report.document()})
    else:
        say(verdict(report))
        _tell(output, size)


def _write_programs(
    runs: tuple[Path, ...], output: str, form: str, against: str | None, *, force: bool, as_json: bool
) -> None:
    """The page of one run of ``dstcc run``: there is nothing to compare it with."""
    from dstcc.errors import InputError
    from dstcc.report.programs import load_program_run, render_program_run

    if len(runs) > 1:
        raise InputError(f"{runs[0]}: a run of programs has a page of its own; give it alone")
    if form != "html" or output == STDOUT or against is not None:
        raise InputError(
            f"{runs[0]}: of a run of programs there is an HTML page: -o FILE.html, without --against"
        )
    _check_place(Path(output), runs, force=force)
    size = _put(output, render_program_run(load_program_run(runs[0])), force=force)
    if as_json:
        emit_json({"report": output, "format": form, "bytes": size})
    else:
        _tell(output, size)


def _put(output: str, text: str, *, force: bool) -> int:
    """Write a page; its size in bytes."""
    from dstcc.atomic import atomic_write
    from dstcc.report import REPORT

    data = text.encode()
    atomic_write(Path(output), data, replaces=REPORT if force else None)
    return len(data)


def _tell(output: str, size: int) -> None:
    tell(f"wrote {output} ({size / 1e6:.2f} MB)")


def _format_of(output: str) -> str:
    if output == STDOUT:
        return "md"
    from dstcc.errors import InputError
    from dstcc.report import format_of

    try:
        return format_of(Path(output))
    except InputError as error:
        raise click.UsageError(f"-o {error}, or --format says which it is") from None


def _check_place(output: Path, runs: tuple[Path, ...], *, force: bool) -> None:
    """Raise where no report may be put."""
    from dstcc.errors import InputError
    from dstcc.outputs import check_output
    from dstcc.report import REPORT

    if output.is_dir():
        raise InputError(f"{output}: is a folder; -o takes a file")
    check_output(output, REPORT, force=force, inputs=runs)
    if not output.absolute().parent.is_dir():
        raise InputError(f"{output}: the folder {output.parent} does not exist")


def _say(report: Report, output: str, written: int) -> None:
    from dstcc.report.frontier import frontiers, titles
    from dstcc.report.pooled import pool
    from dstcc.report.verdict import pooled_verdict, verdict

    out = console()
    for section, title in zip(report.sections, titles(report), strict=True):
        out.print(f"{title}: {verdict(section)}")
    for one in frontiers(report):
        out.print(f"{one.name} over playout delay: {one.finding}")
    if (pooled := pool(report)) and (said := pooled_verdict(pooled)):
        out.print(f"All {len(report.sections)} scenarios: {said}")
    _tell(output, written)
