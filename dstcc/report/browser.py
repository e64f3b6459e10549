"""Pages as PDF and as pictures, by a headless Chromium that the machine has.

It was chosen over WeasyPrint because the reports' style (grids, custom properties, flexible boxes) is made for
browsers, and people read them there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zlib
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from dstcc.errors import MissingCapabilityError
from dstcc.version import __version__

from .mark import PDF_MARK, PNG_MARK

PAGES = 2
"""Of a sheet."""
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
OWN = "DSTCC_CHROMIUM"
"""An environment variable that names the program."""
LIMIT_S = 120.0
MM_PER_INCH, PX_PER_INCH = 25.4, 96
DENSITY = 2
"""Pixels of a picture for one of the page."""
_HEAD = 33
"""Bytes of a PNG's signature and IHDR chunk, which come first (W3C PNG, sections 5.2 and 5.6)."""
_NODES = re.compile(rb"(?<=\()node(\d{8})(?=\))")
_DATES = re.compile(rb"/(CreationDate|ModDate) \(D:\d{14}")


@dataclass(frozen=True)
class Paper:
    """A size of paper, upright."""

    width_mm: float
    height_mm: float


PAPERS = {"a4": Paper(210, 297), "letter": Paper(215.9, 279.4)}


def find() -> str:
    """The browser's program. Raises :class:`MissingCapabilityError` where there is none."""
    own = os.environ.get(OWN)
    found = shutil.which(own) if own else next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        why = f"{OWN}={own} is no program" if own else f"none of {', '.join(NAMES)} is installed"
        raise MissingCapabilityError(
            f"PDF and PNG are printed by Chromium, and {why}: install it (Debian: apt install chromium), or write "
            "-o FILE.html and print that"
        )
    return found


def to_pdf(page: str) -> bytes:
    """The page as PDF; the same page and browser give the same bytes."""
    made = _run(page, "out.pdf", "--no-pdf-header-footer", "--print-to-pdf={}")
    dated = _DATES.sub(rb"/\1 (D:20000101000000", made)
    return _numbered(dated) + b"\n" + PDF_MARK + __version__.encode() + b"\n"


def _numbered(pdf: bytes) -> bytes:
    """With the names of its structure's elements counted from 1: Chromium begins anywhere, by what it did before."""
    names = sorted(set(_NODES.findall(pdf)))
    ranks = {name: b"node%0*d" % (len(name), rank) for rank, name in enumerate(names, 1)}
    return _NODES.sub(lambda found: ranks[found[1]], pdf)


def to_png(page: str, paper: Paper) -> bytes:
    """The pages below one another as a picture."""
    width, height = (
        round(mm / MM_PER_INCH * PX_PER_INCH) for mm in (paper.width_mm, paper.height_mm * PAGES)
    )
    made = _run(
        page,
        "out.png",
        *(f"--window-size={width},{height}", f"--force-device-scale-factor={DENSITY}", "--hide-scrollbars"),
        "--screenshot={}",
    )
    chunk = b"tEXt" + PNG_MARK + __version__.encode()
    chunk = (len(chunk) - 4).to_bytes(4, "big") + chunk + zlib.crc32(chunk).to_bytes(4, "big")
    return made[:_HEAD] + chunk + made[_HEAD:]


def _run(page: str, made: str, *options: str) -> bytes:
    """What the browser makes of a page, without a network and with a profile of its own."""
    program = find()
    with TemporaryDirectory(prefix="dstcc-browser-") as name:
        folder = Path(name)
        (folder / "page.html").write_text(page, encoding="utf-8")
        out = folder / made
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # it refuses to run as root with one
        command = [
            *(program, "--headless=new", "--disable-gpu", "--no-first-run", *sandbox),
            *(f"--user-data-dir={folder / 'profile'}", "--host-resolver-rules=MAP * ~NOTFOUND"),
            *(option.format(out) for option in options),
            (folder / "page.html").as_uri(),
        ]
        try:
            done = subprocess.run(command, capture_output=True, timeout=LIMIT_S, check=False)
        except subprocess.TimeoutExpired:
            raise MissingCapabilityError(f"{program}: printed nothing within {LIMIT_S:g} s") from None
        if done.returncode or not out.is_file():
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise MissingCapabilityError(
                f"{program}: exit code {done.returncode}: {said[-1] if said else 'no message'}"
            )
        return out.read_bytes()
