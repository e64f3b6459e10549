"""What decides a trial's result, and its hash: two trials of one hash are the same trial, on whichever machine.

The hash is over the resolved scenario (streams, profiles, contact plans by their content), the algorithm (of a policy
and of a user's class its bytes), the seed, the scale, whether pictures are judged, and what carries the trial: the code
of this dstcc, or that and a kernel.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dstcc.algorithms import controller_name
from dstcc.scenario import Scenario, content_hash, extensions_of, scale_of
from dstcc.version import __version__

if TYPE_CHECKING:
    from dstcc.learn.policies.controller import Policies

    from .backends import Backend
    from .trials import TrialKey

SCHEMA = 1
"""Of what is kept of a trial: a change of what its values mean makes another hash."""
HASH_CHARACTERS = 32
"""Of SHA-256 in hexadecimal: 128 bits tell any number of trials apart."""
NOT_DECIDING = frozenset(
    {"api", "checks", "explain", "expect", "export", "papers", "pytest_plugin", "report", "sweeps", "tune"}
)
"""Rooms and modules of ``dstcc`` that no trial's result depends on. What is not named here counts."""
DECIDING = (".py", ".csv", ".json", ".cpp", ".hpp")
"""Kinds of files that count. Shipped policies and profiles are read like a user's, and count by their content where a
trial has them."""
PACKAGES = ("dstcc", "dstcc_channels", "dstcc_svc")
"""Those whose code decides a trial."""
KERNEL = "dstcc_kernel"


@cache
def code_digest(*packages: str) -> str:
    """A hash of the code that decides a trial's result: Python, tables, and the engine's sources.

    It is the same on all machines that have the same sources. Where there are none, as in a wheel, the compiled
    engine counts in their place.
    """
    digest = hashlib.sha256()
    for package in packages:
        root = _root(package)
        for file in sorted(root.rglob("*")):
            within = file.relative_to(root)
            first = within.parts[0].removesuffix(".py")
            if file.suffix not in DECIDING or (package == "dstcc" and first in NOT_DECIDING):
                continue
            digest.update(f"{package}/{within.as_posix()}\0".encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    if not (_root("dstcc") / "engine" / "src").is_dir():
        from dstcc.engine import _engine

        digest.update(Path(_engine.__file__).read_bytes())
    return digest.hexdigest()


def _root(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(package)
    return Path(spec.origin).parent


@cache
def made_by(backend: str, version: str | None = None) -> str:
    """What makes a trial's result, in words: ``dstcc 0.1.0 3f2a9c01 simulator``, or with a kernel's version."""
    packages = (*PACKAGES, KERNEL) if backend in ("kernel", "host") else PACKAGES
    return " ".join(
        ["dstcc", __version__, code_digest(*packages)[:8], backend, *([version] if version else [])]
    )


def carrier_of(backend: Backend, scenario: Scenario) -> str:
    """:func:`made_by` of the backend that carries a scenario's trials."""
    kernel = backend.facts(scenario).get("kernel", {})
    words = [str(kernel[name])[:12] for name in ("version", "sha256") if name in kernel]
    return made_by(backend.name, " ".join(words) or None)


class Identity:
    """The hashes of the trials of one scenario (or variant), resolved; what its trials share is worked out once."""

    def __init__(self, scenario: Scenario, *, carrier: str, policies: Policies, quality: bool) -> None:
        """``carrier`` is :func:`carrier_of` it; ``policies`` by name."""
        self._algorithms = {one.name: one.sha256 for one in extensions_of(scenario)}
        self._policies = {
            controller_name(given): policies[controller_name(given)].about()["sha256"]
            for given in scenario.transport.controller
        }
        transport = scenario.transport.model_dump(
            mode="json", exclude={"congestion", "scheduler", "controller"}
        )
        shared = {
            "schema": SCHEMA,
            "carrier": carrier,
            "scenario": content_hash(scenario),
            "transport": transport,
            "scale": scale_of(scenario),
            "quality": quality,
        }
        self._shared = hashlib.sha256(_canonical(shared)).hexdigest()

    def key(self, trial: TrialKey) -> str:
        """The hash of a trial, whatever its variant is called."""
        own = {
            "shared": self._shared,
            "congestion": [trial.congestion, self._algorithms.get(trial.congestion)],
            "scheduler": [trial.scheduler, self._algorithms.get(trial.scheduler)],
            "policy": self._policies.get(trial.controller or ""),
            "seed": trial.seed,
        }
        return short_hash(own)


def short_hash(document: Any) -> str:
    """A hash of a JSON document as stores name their entries."""
    return hashlib.sha256(_canonical(document)).hexdigest()[:HASH_CHARACTERS]


def _canonical(document: Any) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
