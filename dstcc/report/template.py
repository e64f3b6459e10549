"""Pages from templates: every page of dstcc has the same style, the same figures and contents, and the same rules of
escaping."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from dstcc.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"
CONTENTS = "<!-- contents -->"
"""Where in a page the list of its sections stands."""
FEWEST = 3
"""Sections that are worth a list."""


@dataclass(frozen=True)
class Plot:
    """A figure of a page; ``figure.html`` shows it."""

    svg: str
    label: str
    """Text for a screen reader: what the figure shows and what follows from it."""
    narrow: str
    """The same for a phone; empty where the one picture suits both."""


def fill(template: Path, **values: object) -> str:
    """The page that a template makes of ``values``; beside them it knows ``version`` and the style, ``css``.

    Text is escaped unless the template says ``|safe``; a name that nobody gave is an error.
    """
    css = (TEMPLATES / "report.css").read_text(encoding="utf-8")
    page = (
        _templates(template.parent).get_template(template.name).render(version=__version__, css=css, **values)
    )
    return page.replace(CONTENTS, _contents(page), 1)


@cache
def _templates(folder: Path) -> Environment:
    """Those of a folder beside those of all: each is compiled once."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader([folder, TEMPLATES]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )


def _contents(page: str) -> str:
    """A list of the page's sections with links, from its headings of the second level."""
    entries = re.findall(r'<h2[^>]* id="([^"]+)"[^>]*>(.*?)</h2>', page, re.DOTALL)
    items = "".join(
        f'<li><a href="#{key}">{re.sub("<[^>]*>", "", text).strip()}</a></li>' for key, text in entries
    )
    listed = f'<nav class="contents" aria-label="Contents"><ul>{items}</ul></nav>'
    return listed if len(entries) >= FEWEST else ""
