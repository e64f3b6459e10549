"""Characters that no text for people holds, and a name from a file may."""

from __future__ import annotations

import re

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What a terminal may obey, but for newlines and tabs."""
