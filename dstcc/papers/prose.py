"""A paper's README as a part of its page."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt

BELOW = 1
"""Its headings stand so many levels lower on the page, where one of the second level is above them."""
SCROLLED = '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>'


def prose(readme: str) -> str:
    """The text below the README's title as HTML. What is HTML in it is shown as text; links of paths, which do not lead
    anywhere from the page, are their text."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    text = re.sub(r"\A# .*\n", "", readme)
    text = re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]*\)", r"\1", text)
    html = reader.render(text)
    html = html.replace("<table>", SCROLLED).replace("</table>", "</table></div>")
    return re.sub(r"<(/?)h([1-5])>", lambda tag: f"<{tag[1]}h{int(tag[2]) + BELOW}>", html)
