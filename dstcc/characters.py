"""Characters that no text for people holds, and a name from a file may; and texts too long for a message."""

from __future__ import annotations

import re

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What a terminal may obey, but for newlines and tabs."""
DELETE_AND_C1 = re.compile("[\x7f-\x9f]")
"""Those of them that JSON lets stand."""
LONGEST = 80
"""Characters of a key or a value in a message."""


def printable(text: str) -> str:
    """The text with control characters written out, as ``\\x1b``: a file's name can hold them."""
    return CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def shortened(text: str) -> str:
    """A text of the user's in a message: its beginning, if it is long."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
