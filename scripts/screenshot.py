"""Screenshot of the top of a report, for the README: ``python scripts/screenshot.py REPORT.html OUT.png [--force]``.

With ``--force`` it takes the place of an earlier one, which its metadata tell, and of nothing else.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import zlib
from pathlib import Path

from dstcc.atomic import atomic_write
from dstcc.errors import InputError
from dstcc.outputs import MARK_BYTES, Kind, check_output
from dstcc.version import __version__

MARK = b"Software\0dstcc screenshot "
"""Who took it, in a PNG's tEXt chunk; the version follows."""
HEAD = 33
"""Bytes of a PNG's signature and IHDR chunk, which come first (W3C PNG, sections 5.2 and 5.6)."""


def _no_screenshot(path: Path) -> str | None:
    with path.open("rb") as file:
        head = file.read(MARK_BYTES)
    ours = head.startswith(b"\x89PNG") and b"tEXt" + MARK in head
    return None if ours else "has no mark of a screenshot"


SCREENSHOT = Kind("a screenshot", _no_screenshot)


def marked(png: bytes) -> bytes:
    """The picture with its mark."""
    chunk = b"tEXt" + MARK + __version__.encode()
    chunk = (len(chunk) - 4).to_bytes(4, "big") + chunk + zlib.crc32(chunk).to_bytes(4, "big")
    return png[:HEAD] + chunk + png[HEAD:]


def main() -> None:
    """Open the page in headless Chromium and save what is above the fold (``--full``: all of it)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--width", type=int, default=1200, help="CSS pixels (default 1200)")
    parser.add_argument("--height", type=int, default=1500, help="CSS pixels (default 1500)")
    parser.add_argument("--full", action="store_true", help="the whole page, not its top")
    parser.add_argument("--dark", action="store_true", help="with a dark colour scheme")
    parser.add_argument("--force", action="store_true", help="in the place of an earlier screenshot")
    arguments = parser.parse_args()
    try:
        check_output(arguments.output, SCREENSHOT, force=arguments.force, inputs=[arguments.report])
    except InputError as error:
        print(f"screenshot: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("screenshot: needs chromium (Debian: apt-get install chromium)")
    if not arguments.report.is_file():
        sys.exit(f"screenshot: {arguments.report}: no such file")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(
            viewport={"width": arguments.width, "height": arguments.height},
            color_scheme="dark" if arguments.dark else "light",
        )
        page.goto(arguments.report.resolve().as_uri())
        picture = page.screenshot(full_page=arguments.full)
        browser.close()
    atomic_write(arguments.output, marked(picture), replaces=SCREENSHOT if arguments.force else None)


if __name__ == "__main__":
    main()
