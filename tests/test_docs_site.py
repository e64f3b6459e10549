"""The documentation as a site: it is built without a warning (`make test-slow`), and each page can be reached."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "docs_site.py"))


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(script: dict[str, Any]) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "docs_site.py"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    site = ROOT / "build" / "docs"
    start = (site / "index.html").read_text()
    listed = set(map(unquote, re.findall(r'href="([\w./%-]+\.html)"', start)))
    for page in sorted({*ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")}):
        name = page.relative_to(ROOT).with_suffix(".html").as_posix()
        assert name.replace("README.html", "index.html") in listed
    # the search of a page that is opened as a file needs a script, which must not be one on the network
    assert 'src="assets/iframe-worker.js"' in start and "unpkg.com" not in start
    assert (site / "assets" / "iframe-worker.js").is_file()
    api = (site / "reference" / "api.html").read_text()
    assert ":class:" not in api
    assert 'id="dstcc.api.emulate"' in api
    assert {f"reference/{name}.html" for name in script["REFERENCE"]} <= listed


def test_a_page_that_no_menu_has_is_an_error(script: dict[str, Any], tmp_path: Path) -> None:
    configured = script["configured"]
    configured.__globals__["PAGES"] = tmp_path
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "lost.md").touch()
    with pytest.raises(SystemExit, match=r"nav lacks docs/lost\.md"):
        configured("nav:\n  - docs/tutorial.md\n  - Formats:\n  - Contribute:\n")


def test_links_to_folders_and_files(script: dict[str, Any], tmp_path: Path) -> None:
    laid_out = script["laid_out"]
    laid_out.__globals__["PAGES"], laid_out.__globals__["ROOT"] = tmp_path / "out", tmp_path
    (tmp_path / "with").mkdir()
    (tmp_path / "with" / "README.md").touch()
    (tmp_path / "without").mkdir()
    (tmp_path / "a.toml").write_text("a = 1\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[one](with/), [two](without/), [three](a.toml), [four](https://x.org/), [five](b.md#c)\n"
        "```\n[one](with/)\n```\n"
    )
    assert laid_out(page) == (
        "[one](with/README.md), two, [three](a.toml), [four](https://x.org/), [five](b.md#c)\n"
        "```\n[one](with/)\n```\n"
    )
    assert (tmp_path / "out" / "a.toml").read_text() == "a = 1\n"
