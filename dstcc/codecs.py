"""The one table of codecs: their names, what each codes, and where its class is.

``dstcc_svc`` makes codecs from it; scenarios, the command line and its help take the names from here. It imports
nothing, so that ``--help`` stays instant; a test holds it against the classes.
"""

from __future__ import annotations

from dstcc.frozen import dataclass


@dataclass(frozen=True)
class CodecRow:
    """A codec."""

    name: str
    """As given to ``--codec`` and written into manifests."""
    place: str
    """``MODULE:CLASS``."""
    scalability: str
    """``temporal`` or ``quality``; the first codec of each is its default."""
    default_crf: int
    crf: str
    """The values of ``--crf``."""
    note: str = ""
    """For the help."""


TABLE = (
    CodecRow("x264", "dstcc_svc.codecs.x264:X264", "temporal", 28, "0..51"),
    CodecRow(
        "x264-program",
        "dstcc_svc.codecs.x264_program:X264Program",
        "temporal",
        26,
        "0..51",
        "x264 in the ffmpeg program, not in this process",
    ),
    CodecRow("openh264", "dstcc_svc.codecs.openh264:OpenH264", "temporal", 30, "0..51"),
    CodecRow("vp9", "dstcc_svc.codecs.vp9:Vp9", "quality", 32, "8..63 less 4 for each layer below it"),
)
CODECS = {row.name: row for row in TABLE}
DEFAULT_CODEC: dict[str, str] = {}
"""Scalability -> the codec taken when none is named."""
for _row in TABLE:
    DEFAULT_CODEC.setdefault(_row.scalability, _row.name)
if len(CODECS) != len(TABLE):
    raise RuntimeError("dstcc.codecs.TABLE names a codec twice")


def names_help() -> str:
    """The codecs of each scalability, for a help text."""
    said = []
    for scalability, default in DEFAULT_CODEC.items():
        rows = [row for row in TABLE if row.scalability == scalability]
        notes = {
            row.name: row.note or ("default" if row.name == default and len(rows) > 1 else "") for row in rows
        }
        said.append(
            f"{scalability}: {_listed([f'{name} ({note})' if note else name for name, note in notes.items()])}"
        )
    return "; ".join(said) + "."


def crf_help() -> str:
    """The values of ``--crf`` and their defaults, for a help text."""
    ranges: dict[str, list[str]] = {}
    for row in TABLE:
        ranges.setdefault(row.crf, []).append(row.name)
    said = ", ".join(f"{_listed(names, 'and')} {values}" for values, names in ranges.items())
    return f"{said}.  [default: {', '.join(f'{row.name} {row.default_crf}' for row in TABLE)}]"


def _listed(names: list[str], last: str = "or") -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"
