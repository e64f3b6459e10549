"""Every error dstcc raises on purpose.

::

    DstccError                 the work failed              (exit 1)
    ├── InputError             bad usage or bad input       (exit 2)
    │   ├── ScenarioError      a scenario file or an override
    │   ├── StreamError        a video, a stream directory or a payload
    │   ├── RunError           a run directory
    │   └── PolicyError        a controller's policy
    ├── ExtensionError         a user's own algorithm failed (exit 1)
    ├── KernelError            building or running a kernel failed (exit 1)
    │   └── UnfinishedError    a trial was ended before its end
    └── MissingCapabilityError this machine lacks something (exit 1)

A message names the file, the value and the rule it broke; the command line prints it without a traceback. What it takes
from a file or a user it shows :func:`printable` and :func:`shortened`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .engine.config import EngineResult


class DstccError(Exception):
    """The work failed for a known reason."""

    exit_code = 1


class InputError(DstccError):
    """An input of the user's cannot be used: a value, a file, a name."""

    exit_code = 2


class ScenarioError(InputError):
    """A scenario file or a ``--set`` override breaks a rule."""


class StreamError(InputError):
    """A video, a stream directory or one of its payloads cannot be used."""


class RunError(InputError):
    """A run directory is missing, incomplete or already there."""


class PolicyError(InputError):
    """A policy file cannot be used, or does not fit the scenario."""


class ExtensionError(DstccError):
    """A user's congestion control or scheduler raised, or returned an invalid value; the trial ends."""


class KernelError(DstccError):
    """A kernel could not be built, or a guest that runs one did not end."""


class UnfinishedError(KernelError):
    """A trial that was stopped early; ``partial`` is its result until then, if there is one."""

    def __init__(self, message: str, partial: EngineResult | None = None) -> None:
        """Store the partial result."""
        super().__init__(message)
        self.partial = partial


class MissingCapabilityError(DstccError):
    """This machine lacks a program, a library or a privilege; the message says how to get it."""


CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Characters that no text for people holds, and a name from a file may: what a terminal may obey, but for newlines and
tabs."""
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


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """The end of a message on a name that there is not: ``; did you mean 'cubic'?``, or nothing where none is near."""
    near = get_close_matches(name, names, 1)
    return f"; did you mean '{near[0]}'?" if near else ""


def near_or_known(name: str, names: Iterable[str]) -> str:
    """The same where the message lists no names: the near one, else all."""
    return did_you_mean(name, names).removeprefix("; ") or f"known: {', '.join(names)}"
