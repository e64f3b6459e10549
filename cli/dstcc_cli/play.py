"""``dstcc play``: the video of a run's trial as Earth saw it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import complete
from .options import AS_JSON, PATH
from .output import emit_json, progress, tell, tell_aside

if TYPE_CHECKING:
    from dstcc.run import Run

DEFAULT_LENGTH_S = 600.0
"""``dstcc_svc.play``'s, which ``--help`` is not to import."""


EXAMPLES = """\b
Examples:
  dstcc play run -o earth.mp4
  dstcc play run --trial cubic+minrtt/s1 --from 3600 --to 3660 -o minute.mp4
  dstcc play run --trial ltp+none/s1 --trial cubic+minrtt/s1 -o both.mp4
  dstcc play run --plain -o the-streams-own-bits.mp4
  dstcc play copied/run --stream streams/bunny -o earth.mp4
"""


@click.command(short_help="Write the video as Earth saw it, lost chunks frozen.", epilog=EXAMPLES)
@click.argument("run", type=PATH)
@click.option("-o", "--output", type=PATH, required=True, help="MP4 to write.")
@click.option(
    "--trial",
    "trials",
    metavar="ID",
    multiple=True,
    shell_complete=complete.trial,
    help="Trial, like cubic+minrtt/s1; several are shown in panels.  [default: the best]",
)
@click.option(
    "--from",
    "from_s",
    type=float,
    metavar="S",
    help=f"Start, seconds of video.  [default: 0; longer than {DEFAULT_LENGTH_S:.0f} s: the first chunk that arrived]",
)
@click.option(
    "--to",
    "to_s",
    type=float,
    metavar="S",
    help=f"End, seconds of video.  [default: {DEFAULT_LENGTH_S:.0f} s after the start]",
)
@click.option("--stream", "moved_to", type=PATH, metavar="PATH", help="The run's stream, if it was moved.")
@click.option(
    "--plain",
    is_flag=True,
    help="Without the line below the picture; the stream's own bits where players support them. Each picture once.",
)
@click.option("--force", is_flag=True, help="Overwrite an existing video (only if dstcc play wrote it).")
@AS_JSON
def command(
    *,
    run: Path,
    output: Path,
    trials: tuple[str, ...],
    from_s: float | None,
    to_s: float | None,
    moved_to: Path | None,
    plain: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Write the video of a trial of RUN, or of several in panels, as an ordinary MP4: the layers in time, lost
    chunks frozen.

    A line below the picture shows the time of its capture (UTC where the scenario has start, else mission time), the
    layers that arrived, and since when the picture is frozen.

    Exit codes: 0 done, 1 failed, 2 bad input, 129 hung up, 130 interrupted, 143 terminated.
    """
    from dstcc_svc import load_manifest, play, play_together, shown

    from dstcc.clock import Clock
    from dstcc.run import load_run

    if plain and len(trials) > 1:
        raise click.BadParameter("the stream's own bits are of one trial", param_hint="--plain")
    if twice := next((one for one in trials if trials.count(one) > 1), None):
        raise click.BadParameter(f"{twice}: named twice", param_hint="--trial")
    loaded = load_run(run)
    stream = _stream_of(loaded, moved_to)
    chosen = [loaded.trial(one)["id"] for one in trials] or [loaded.best()["id"]]
    if not trials and len(loaded.trials) > 1:
        said = f"trial {chosen[0]}: the best of {len(loaded.trials)} by weighted_layers"
        tell_aside(said)
    levels = {one: loaded.levels(one) for one in chosen}
    first = chosen[0]
    clock = Clock.of(loaded.scenario)
    begin_s, end_s = shown(load_manifest(stream), levels[first], from_s, to_s)
    with progress("coding", 1.0) as advance:
        if len(chosen) > 1:
            reports = play_together(
                stream,
                levels,
                output,
                from_s=begin_s,
                to_s=end_s,
                clock=clock,
                force=force,
                advance=advance,
            )
        else:
            reports = {
                first: play(
                    stream,
                    levels[first],
                    output,
                    from_s=begin_s,
                    to_s=end_s,
                    captions=not plain,
                    clock=clock,
                    force=force,
                    advance=advance,
                )
            }
    documents = [{"trial": one, **report.document()} for one, report in reports.items()]
    if as_json:
        emit_json({"run": str(run), **(documents[0] if len(documents) == 1 else {"trials": documents})})
        return
    report = reports[first]
    cut = report.chunks < len(levels[first]) and to_s is None
    begins = clock.reading(report.start_s) if clock.dated else f"{report.start_s:.2f} s"
    frozen = "; ".join(
        f"trial {one}, {each.frozen_chunks} of {each.chunks} chunks frozen" for one, each in reports.items()
    )
    tell(
        f"{output}: {report.duration_s:.2f} s from {begins} on, {frozen}"
        + (
            ", coded again with x264 because players do not show the stream's layers"
            if report.recoded and plain
            else ""
        )
        + ("; the mission is longer, --from S --to S show more" if cut else "")
    )


def _stream_of(run: Run, moved_to: Path | None) -> Path:
    from dstcc.errors import RunError

    stream = run.stream(moved_to)
    if stream is None:
        raise RunError(f"{run.path}: its video is synthetic, there are no pictures to play")
    return stream
