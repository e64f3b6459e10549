"""``dstcc links``: link profiles, what a link really does at a date, codes, and exports."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import complete
from .options import AS_JSON
from .output import console, emit_json, plain_table, tell_aside

if TYPE_CHECKING:
    from dstcc_channels.describe import Described
    from dstcc_channels.profiles import Profile

EXAMPLES = """\b
Examples:
  dstcc links
  dstcc links mro-x-dss35 --date 2026-11-21 --elevation 20
  dstcc links mro-x-dss35 --plot link.svg
  dstcc links --code ccsds-turbo-1/2-8920 --ebn0 1.1 --bytes 1500
  dstcc links mars-ka-dss25 --date 2026-11-21 --duration 86400 \\
      --netem day.sh --scale 34
"""
DAY_S = 86_400.0
OUTPUT = click.Path(path_type=Path, dir_okay=False)


OF_A_PROFILE = ("date", "ephemeris", "elevation", "up", "netem", "trace")
OF_EITHER = ("plot", "packet_bytes")
OF_AN_EXPORT = ("duration", "step", "seed")
FILES = ("plot", "netem", "trace")


@click.command(epilog=EXAMPLES)
@click.argument("profile", required=False, shell_complete=complete.profile)
@click.option("--date", metavar="ISO", help="UTC date, with or without a time.  [default: now]")
@click.option(
    "--ephemeris", metavar="NAME", help="kepler (built in) or de421 (exact) instead of the profile's."
)
@click.option(
    "--elevation", type=float, metavar="DEG", help="Elevation at the station, degrees.  [default: computed]"
)
@click.option("--up", is_flag=True, help="The uplink, from the Earth to the spacecraft.")
@click.option(
    "--code",
    "code_name",
    metavar="CODE",
    shell_complete=complete.code,
    help="A code instead of a profile.",
)
@click.option("--ebn0", type=float, metavar="DB", help="Eb/N0 per information bit for --code, dB.")
@click.option(
    "--bytes", "packet_bytes", type=int, default=1500, show_default=True, help="Size of a packet on the link."
)
@click.option("--plot", type=OUTPUT, metavar="FILE", help="Plot the link or the code: .svg or .png.")
@click.option(
    "--netem", type=OUTPUT, metavar="FILE", help="netem's parameters over time: .csv, .json or .sh."
)
@click.option(
    "--scale",
    type=float,
    default=1.0,
    show_default=True,
    metavar="S",
    help="Mission seconds per second of --netem: delays and times / S, rates x S.",
)
@click.option("--trace", type=OUTPUT, metavar="FILE", help="The link's loss states over time, as CSV.")
@click.option(
    "--duration", type=float, default=DAY_S, show_default=True, help="Length of --netem and --trace, seconds."
)
@click.option("--step", type=float, default=600.0, show_default=True, help="Seconds between their rows.")
@click.option(
    "--seed", type=int, default=1, show_default=True, help="Seed of their weather, orbits and draws."
)
@click.option("--force", is_flag=True, help="Overwrite an existing FILE (only if dstcc links wrote it).")
@AS_JSON
def command(profile: str | None, code_name: str | None, as_json: bool, **asked: Any) -> None:
    """List link profiles; compute one at a date, or a code's losses.

    PROFILE is a listed name or a profile file of your own (ending in .toml).
    """
    if profile is not None and code_name is not None:
        raise click.UsageError("give a PROFILE or --code, not both")
    _check_options(profile is not None, code_name is not None)
    _check_outputs(asked, profile)
    if code_name is not None:
        _code(code_name, as_json, asked)
    elif profile is not None:
        _profile(profile, as_json, asked)
    else:
        _list(as_json)


def _check_options(profile: bool, code: bool) -> None:
    """Refuse options that would have no effect."""
    context = click.get_current_context()
    given = {
        name
        for name in context.params
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    }
    written = {
        option: f"--{option.removeprefix('packet_')}" for option in (*OF_A_PROFILE, *OF_EITHER, *OF_AN_EXPORT)
    }
    for option, name in written.items():
        if option not in given:
            continue
        if not profile and option in OF_A_PROFILE:
            raise click.UsageError(f"{name} needs a PROFILE{', not --code' if code else ''}")
        if not profile and not code and option in OF_EITHER:
            raise click.UsageError(f"{name} needs a PROFILE or --code")
        if option in OF_AN_EXPORT and not given & {"netem", "trace"}:
            raise click.UsageError(f"{name} needs --netem or --trace")
    if "scale" in given and "netem" not in given:
        raise click.UsageError("--scale needs --netem")
    if "force" in given and not given & set(FILES):
        raise click.UsageError("--force needs --plot, --netem or --trace")
    if not code and "ebn0" in given:
        raise click.UsageError("--ebn0 needs --code")


def _check_outputs(asked: dict[str, Any], profile: str | None) -> None:
    """Check the output files before anything is computed or written."""
    files = {option: asked[option] for option in FILES if asked[option] is not None}
    for option, path in files.items():
        if not path.absolute().parent.is_dir():
            raise click.UsageError(f"--{option} {path}: the folder {path.parent} does not exist")
        if any(path.resolve() == other.resolve() for name, other in files.items() if name != option):
            raise click.UsageError(f"--{option} {path}: named twice; each output is a file of its own")
    if asked["plot"] is not None:
        from dstcc_channels.plots import check_picture

        check_picture(asked["plot"])
    if asked["netem"] is not None:
        from dstcc_channels.netem import netem_format

        netem_format(asked["netem"])
    for option, path in files.items():
        _check_output(option, path, profile, force=asked["force"])


def _check_output(option: str, path: Path, profile: str | None, *, force: bool) -> None:
    from dstcc_channels.mark import EXPORT
    from dstcc_channels.plots import PICTURE

    from dstcc.outputs import check_output

    kind = PICTURE if option == "plot" else EXPORT
    check_output(path, kind, force=force, inputs=[] if profile is None else [Path(profile)])


def _list(as_json: bool) -> None:
    from dstcc_channels.describe import profile_documents

    documents = profile_documents()
    if as_json:
        emit_json(documents)
        return
    _table([(row["profile"], row["summary"]) for row in documents])


def _code(name: str, as_json: bool, asked: dict[str, Any]) -> None:
    if asked["ebn0"] is None and asked["plot"] is None:
        raise click.UsageError("--code needs --ebn0 or --plot")
    if asked["plot"] is not None:
        from dstcc_channels.plots import plot_code

        plot_code(name, asked["plot"], asked["packet_bytes"], force=asked["force"])
        _wrote(asked["plot"])
    if asked["ebn0"] is not None:
        from dstcc_channels.describe import describe_code

        _show(describe_code(name, asked["ebn0"], asked["packet_bytes"]), as_json)


def _profile(name: str, as_json: bool, asked: dict[str, Any]) -> None:
    from dstcc_channels.describe import describe_profile, parse_date
    from dstcc_channels.profiles import load_profile

    from dstcc.scenario.losses import LOSSES

    profile = load_profile(name, LOSSES)
    if asked["ephemeris"] is not None:
        profile = profile.by_ephemeris(asked["ephemeris"])
    date = datetime.now(UTC).replace(microsecond=0) if asked["date"] is None else parse_date(asked["date"])
    described = describe_profile(
        profile, date, elevation_deg=asked["elevation"], packet_bytes=asked["packet_bytes"], up=asked["up"]
    )
    if asked["plot"] is not None:
        from dstcc_channels.plots import plot_profile

        plot_profile(profile, date, asked["plot"], force=asked["force"])
        _wrote(asked["plot"])
    _export(profile, date, asked)
    _show(described, as_json)


def _export(profile: Profile, date: datetime, asked: dict[str, Any]) -> None:
    if asked["netem"] is None and asked["trace"] is None:
        return
    from dstcc_channels.describe import iso
    from dstcc_channels.netem import netem_rows, write_netem
    from dstcc_channels.timeline import timeline
    from dstcc_channels.trace import write_trace

    seed, packet_bytes = asked["seed"], asked["packet_bytes"]
    span = (asked["duration"], asked["step"], seed)
    line = timeline(profile, date, *span, packet_bytes=packet_bytes, up=asked["up"])
    meta = {
        "profile": profile.name,
        "direction": "up" if asked["up"] else "down",
        "start": iso(date),
        "duration_s": asked["duration"],
        "packet_bytes": packet_bytes,
        "seed": seed,
    }
    if asked["netem"] is not None:
        scale = asked["scale"]
        rows = netem_rows(line, packet_bytes, scale)
        meta_of_netem = {**meta, "scale": scale, "duration_s": asked["duration"] / scale}
        write_netem(rows, asked["netem"], meta_of_netem, force=asked["force"])
        _wrote(asked["netem"])
    if asked["trace"] is not None:
        write_trace(line, asked["trace"], meta, seed, packet_bytes, force=asked["force"])
        _wrote(asked["trace"])
    _warn(line.notes)


def _show(described: Described, as_json: bool) -> None:
    _warn(described.notes)
    if as_json:
        emit_json(described.document)
    else:
        _table(described.lines)


def _table(lines: Any) -> None:
    table = plain_table(show_header=False)
    table.add_column(no_wrap=True)
    for label, text in lines:
        table.add_row(label, text)
    console().print(table)


def _warn(notes: tuple[str, ...]) -> None:
    for note in notes:
        tell_aside(f"warning: {note}")


def _wrote(path: Path) -> None:
    tell_aside(f"wrote {path}")
