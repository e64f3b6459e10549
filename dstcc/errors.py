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

A message names the file, the value and the rule it broke; the command line prints it without a traceback.
"""

from __future__ import annotations

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
