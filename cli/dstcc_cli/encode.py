"""``dstcc encode``: a video file into a layered stream directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dstcc.codecs import CODECS, DEFAULT_CODEC, crf_help, names_help

from .options import AS_JSON, PATH
from .output import emit_json, notice, number_table, progress, show_figures, tell

if TYPE_CHECKING:
    from dstcc_svc import EncodeReport
    from rich.table import Table

PRESETS = ("ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow")


EXAMPLES = """\b
Examples:
  dstcc encode clip.mp4 -o stream
  dstcc encode clip.mp4 -o stream --codec openh264 --layers 3 --height 360
  dstcc encode clip.mp4 -o stream --scalability quality --chunk-seconds 2
  dstcc encode clip.mp4 -o stream --scalability quality --spatial-layers 3
"""


@click.command(short_help="Turn a video file into a layered stream directory.", epilog=EXAMPLES)
@click.argument("input", type=PATH)
@click.option("-o", "--output", type=PATH, required=True, help="Stream directory to write.")
@click.option(
    "--scalability",
    type=click.Choice(tuple(DEFAULT_CODEC)),
    default="temporal",
    show_default=True,
    help="What a layer adds: frames, or quality (or size, see --spatial-layers) to every frame.",
)
@click.option("--codec", type=click.Choice(tuple(CODECS)), help=names_help())
@click.option(
    "--layers", type=int, metavar="M", help="Number of layers.  [default: 4, or N of --spatial-layers]"
)
@click.option(
    "--spatial-layers",
    type=int,
    metavar="N",
    default=1,
    show_default=True,
    help="vp9: number of sizes, 1..3; each of the lowest layers has half the width and height of the one above, "
    "the Nth the full ones, and further layers (--layers) refine those.",
)
@click.option(
    "--chunk-seconds",
    type=float,
    default=1.0,
    show_default=True,
    metavar="S",
    help="Length of a chunk, seconds; each can be decoded by itself.",
)
@click.option(
    "--crf",
    type=int,
    metavar="Q",
    help=f"Constant quality of the highest layer, lower is better: {crf_help()}",
)
@click.option(
    "--height", type=int, metavar="ROWS", help="Scale to this height, pixels.  [default: the input's]"
)
@click.option(
    "--preset",
    type=click.Choice(PRESETS),
    metavar="NAME",
    default="medium",
    show_default=True,
    help=f"The encoder's preset, one of {', '.join(PRESETS)}.",
)
@click.option("--no-quality", is_flag=True, help="Skip PSNR, SSIM and VMAF, which take most of the time.")
@click.option("--force", is_flag=True, help="Overwrite an existing stream (only if dstcc wrote it).")
@AS_JSON
def command(
    *,
    input: Path,
    output: Path,
    scalability: str,
    codec: str | None,
    layers: int | None,
    spatial_layers: int,
    chunk_seconds: float,
    crf: int | None,
    height: int | None,
    preset: str,
    no_quality: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Encode the video INPUT into chunks of layers for a stream directory.

    Exit codes: 0 done, 1 failed, 2 bad input, 129 hung up, 130 interrupted, 143 terminated.
    """
    from dstcc_svc import encode
    from dstcc_svc.judge import too_small

    with progress("encoding", 1.0) as advance:
        done = 0.0

        def report_share(share: float) -> None:
            nonlocal done
            advance(share - done)
            done = share

        report = encode(
            input,
            output,
            scalability=scalability,
            codec=codec,
            layers=layers,
            spatial_layers=spatial_layers,
            chunk_s=chunk_seconds,
            crf=crf,
            height=height,
            preset=preset,
            quality=not no_quality,
            force=force,
            progress=report_share,
        )
    small = too_small(report.layers[-1].width, report.layers[-1].height)
    if small is not None and not no_quality:
        notice(f"no psnr_db, ssim and vmaf: {small}")
    if as_json:
        emit_json(report.document())
        return
    tell(
        f"{report.stream}: {report.duration_s:.2f} s, {report.frames} frames in {report.chunks} chunks "
        f"of {len(report.layers)} {report.scalability} layers by {report.codec}"
    )
    show_figures(_table(report))


def _table(report: EncodeReport) -> Table:
    """A row per layer: its rate and bytes (and size, where there are several), and the quality of its prefix."""
    sizes = [f"{row.width}x{row.height}" for row in report.layers]
    several = len(set(sizes)) > 1
    headings = ("bytes", "kbit/s", "prefix", "kbit/s", "PSNR dB", "SSIM", "VMAF")
    table = number_table("layer", *(("size",) if several else ()), *headings)
    total = 0.0
    for row in report.layers:
        total += row.bitrate_bps
        table.add_row(
            str(row.layer),
            *(sizes[row.layer : row.layer + 1] if several else []),
            f"{row.bytes:,}",
            f"{row.bitrate_bps / 1e3:.1f}",
            f"0..{row.layer}" if row.layer else "0",
            f"{total / 1e3:.1f}",
            *(
                "-" if value is None else f"{value:.{digits}f}"
                for value, digits in ((row.psnr_db, 2), (row.ssim, 4), (row.vmaf, 1))
            ),
        )
    return table
