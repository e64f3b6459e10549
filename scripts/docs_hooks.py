"""What mkdocs does not know of our docstrings: Sphinx's roles, which it would print as they are."""

from __future__ import annotations

import re
from typing import Any

ROLE = re.compile(r":(?:class|func|meth|mod|data|attr):<code>~?([\w.]+)</code>")


def on_page_content(html: str, **_: Any) -> str:
    """``:class:`~dstcc.errors.InputError``` as ``InputError`` in code."""
    return ROLE.sub(lambda match: f"<code>{match[1].rsplit('.', 1)[-1]}</code>", html)
