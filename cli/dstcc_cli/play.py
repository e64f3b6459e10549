"""``dstcc play``: the video of a run's trial as Earth saw it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import complete
from .output import console, emit_json, notices, progress

if TYPE_CHECKING:
    from dstcc_svc import Manifest

    from dstcc.run import Run

DEFAULT_LENGTH_S = 600.0
"""Default length of the video of a longer mission, from the first chunk that arrived on."""


EXAMPLES = """\b
Examples:
  dstcc play run -o earth.mp4
  dstcc play run --trial cubic+minrtt/s1 --from 3600 --to 3660 -o minute.mp4
  dstcc play run --plain -o the-streams-own-bits.mp4
  dstcc play copied/run --stream streams/bunny -o earth.mp4
"""


@click.command(short_help="Write the video as Earth saw it, lost chunks frozen.", epilog=EXAMPLES)
@click.argument("run", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="MP4 to write.")
@click.option(
    "--trial",
    metavar="ID",
    shell_complete=complete.trial,
    help="Trial, like cubic+minrtt/s1; unless given, the best one.",
)
@click.option(
    "--from",
    "from_s",
    type=float,
    metavar="S",
    help=f"Start, seconds of video; 0, or the first that arrived if it lasts more than {DEFAULT_LENGTH_S:.0f} s.",
)
@click.option(
    "--to",
    "to_s",
    type=float,
    metavar="S",
    help=f"End, seconds of video; {DEFAULT_LENGTH_S:.0f} s after the start.",
)
@click.option(
    "--stream",
    "moved_to",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Where the run's stream lies now, if it moved.",
)
@click.option(
    "--plain",
    is_flag=True,
    help="No line below the picture; the stream's own bits, where players show them. Each picture is there once.",
)
@click.option(
    "--force", is_flag=True, help="Replace a video that is there, and nothing but one of dstcc play's."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def command(
    *,
    run: Path,
    output: Path,
    trial: str | None,
    from_s: float | None,
    to_s: float | None,
    moved_to: Path | None,
    plain: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Write the video of a trial of RUN as an ordinary MP4: the layers in time, lost chunks frozen.

    A line below the picture says the mission time, which layers arrived, and since when the picture is frozen.

    Exit codes: 0 done, 1 failed, 2 bad input, 130 interrupted, 143 terminated.
    """
    from dstcc_svc import load_manifest, play

    from dstcc.run import load_run

    loaded = load_run(run)
    stream = _stream_of(loaded, moved_to)
    chosen = _named(loaded, trial) if trial is not None else _best(loaded)
    levels = loaded.levels(chosen["id"])
    if from_s is None:
        from_s = _start_s(load_manifest(stream), levels)
    end_s = from_s + DEFAULT_LENGTH_S if to_s is None else to_s
    with progress("coding", 1.0) as bar:
        report = play(
            stream,
            levels,
            output,
            from_s=from_s,
            to_s=end_s,
            captions=not plain,
            force=force,
            advance=bar.advance,
        )
    if as_json:
        emit_json({"run": str(run), "trial": chosen["id"], **report.document()})
        return
    cut = report.chunks < len(levels) and to_s is None
    console().print(
        f"{output}: {report.duration_s:.2f} s from {report.start_s:.2f} s on, trial {chosen['id']}, "
        f"{report.frozen_chunks} of {report.chunks} chunks frozen"
        + (
            ", coded again with x264 because players do not show the stream's layers"
            if report.recoded and plain
            else ""
        )
        + ("; the mission is longer, --from S --to S show more" if cut else ""),
        soft_wrap=True,
        highlight=False,
    )


def _start_s(manifest: Manifest, levels: list[int]) -> float:
    """Start of the video: the first chunk that arrived, if the mission is too long to be shown whole."""
    from dstcc_svc import chunk_start_s

    if chunk_start_s(manifest, len(levels)) <= DEFAULT_LENGTH_S:
        return 0.0
    return chunk_start_s(manifest, next((index for index, level in enumerate(levels) if level >= 0), 0))


def _stream_of(run: Run, moved_to: Path | None) -> Path:
    from dstcc.errors import RunError

    stream = run.stream(moved_to)
    if stream is None:
        raise RunError(f"{run.path}: its video is synthetic, there are no pictures to play")
    return stream


def _named(run: Run, trial: str) -> dict[str, Any]:
    from difflib import get_close_matches

    from dstcc.errors import RunError

    ids = [row["id"] for row in run.trials]
    if trial not in ids:
        near = get_close_matches(trial, ids, 1) or ids[:1]
        raise RunError(f"{run.path}: no trial {trial!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    return run.trials[ids.index(trial)]


def _best(run: Run) -> dict[str, Any]:
    """The trial with the most weighted layers; the first one of a tie."""
    from dstcc.errors import RunError

    scored = [row for row in run.trials if row["status"] == "ok" and row["weighted_layers"] is not None]
    if not scored:
        raise RunError(f"{run.path}: no trial came to an end, there is nothing to play")
    best = max(scored, key=lambda row: float(row["weighted_layers"]))
    if len(run.trials) > 1:
        notices().print(
            f"trial {best['id']}: the best of {len(run.trials)} by weighted_layers",
            soft_wrap=True,
            highlight=False,
        )
    return best
