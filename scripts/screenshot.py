"""Screenshot of the top of a report, for the README: ``python scripts/screenshot.py REPORT.html OUT.png``."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path


def main() -> None:
    """Open the page in headless Chromium and save what is above the fold (``--full``: all of it)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--width", type=int, default=1200, help="CSS pixels (default 1200)")
    parser.add_argument("--height", type=int, default=1500, help="CSS pixels (default 1500)")
    parser.add_argument("--full", action="store_true", help="the whole page, not its top")
    parser.add_argument("--dark", action="store_true", help="with a dark colour scheme")
    arguments = parser.parse_args()
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
        page.screenshot(path=arguments.output, full_page=arguments.full)
        browser.close()


if __name__ == "__main__":
    main()
