"""What every policy is: a controller that decides once a slot, and its file, weights and what they are for in one
safetensors file.

The file's metadata holds one entry, ``dstcc_policy``: a JSON header with ``schema`` (1), ``algorithm``,
``version`` (of dstcc), ``seed`` and ``scenario_sha256`` of the training, ``trained_on`` (a list of its scenarios, each
``scenario``, its name, and ``sha256``, its content hash; files without one are read as well), ``trained_within`` (what
these scenarios are, in ranges, see :mod:`dstcc.learn.policies.scope`; likewise), ``observation``, ``action`` and
``network`` (the documents of a kind of policy: :mod:`dstcc.learn.policies.policy`, :mod:`dstcc.forecast.policy`), and
``sha256`` over the rest of the header and every tensor's name, type, shape and bytes. Nothing in it is ever executed.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, field, fields
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from dstcc import algorithms
from dstcc.arrays import Float32Array
from dstcc.atomic import atomic_write
from dstcc.engine import EngineConfig, EngineResult
from dstcc.errors import PolicyError, did_you_mean
from dstcc.frozen import dataclass
from dstcc.reading import MOST_BYTES, check_regular
from dstcc.scenario import Scenario, Source
from dstcc.version import __version__

from . import scope
from .drive import Pilot, drive
from .scope import Scope

SCHEMA = 1
ENTRY = "dstcc_policy"
SUFFIX = ".safetensors"
POLICY = f"policy{SUFFIX}"
"""Of a training's folder."""
FIELDS = {
    "schema": int,
    "algorithm": str,
    "version": str,
    "seed": int,
    "scenario_sha256": str,
    "observation": dict,
    "action": dict,
    "network": dict,
    "sha256": str,
}
CODED_ACTION = "repair"
"""The kind of action of :mod:`dstcc.forecast`, whose files are read there."""
ABOUT = ("algorithm", "version", "seed", "scenario_sha256", "trained_on", "sha256")
"""What of the header runs repeat."""


@dataclass(frozen=True)
class TrainedOn:
    """A scenario that a policy was trained on."""

    scenario: str
    """Its name."""
    sha256: str
    """Its content hash."""


@dataclass(frozen=True)
class Decided:
    """A decision of a driven trial, which holds until the next."""

    t_s: float
    """Mission time."""
    observed: tuple[str, ...]
    """What each place of the observation holds."""
    observation: NDArray[np.float32]
    """As the network got it."""
    outputs: NDArray[np.float32]
    """Of the network; none where what it put out is no decision yet."""
    saw: dict[str, NDArray[np.float64]]
    """What it saw of each subflow, in the engine's units; the observation is made of such values."""
    believed: dict[str, NDArray[np.float64]]
    """What was held to be true of each subflow's path: ``loss``, and ``rate_bps`` with ``rate_known``, or the belief's
    ends ``loss_low`` and ``loss_high``; or nothing."""
    chose: dict[str, str]
    """What was decided, in words; empty where the outputs were not finite and NewReno took the windows."""
    fell_back: bool = False
    """Whether the guard decided."""


Watcher = Callable[[Decided], None]
"""Sees each decision of a driven trial, and changes nothing."""


@dataclass(frozen=True, kw_only=True)
class Controller(ABC):
    """A policy. What it observes and decides, and for which trials, its kind says."""

    algorithm: str
    tensors: Mapping[str, Float32Array]
    seed: int
    """Of the training."""
    scenario_sha256: str
    """Content hash of what it was trained on; of several scenarios, a hash of their hashes."""
    trained_on: tuple[TrainedOn, ...] = ()
    """Every scenario of the training; empty where the file does not say."""
    trained_within: Scope = field(default_factory=dict)
    """What these are, in ranges; empty where the file does not say."""
    version: str = __version__
    name: str = ""
    """A shipped policy's name or the file's, without its suffix."""
    once: str = ""
    """What its file calls the algorithm, where that has another name today."""

    mode: ClassVar[Literal["tcp", "coded"]]
    """Of the trials that it steers: TCP's subflows and lanes, or layers coded over packets."""

    @property
    @abstractmethod
    def knows(self) -> tuple[str, ...]:
        """What it sees, and what its actions rest on: keys of :data:`dstcc.algorithms.KNOWLEDGE`."""

    @property
    def copies(self) -> str:
        """What may go a second time, a key of :data:`dstcc.algorithms.COPIES` or empty."""
        return ""

    @property
    def simulator_only(self) -> str:
        """What of it a kernel lacks, in words; empty where it lacks nothing."""
        return ""

    @property
    def lanes(self) -> int:
        """How many it asks for per link; 0 for the scenario's."""
        return 0

    @property
    @abstractmethod
    def most(self) -> tuple[int, int]:
        """The most subflows and layers that it knows."""

    @abstractmethod
    def spaces(self) -> dict[str, Any]:
        """``observation``, ``action`` and ``network`` of the file's header."""

    @abstractmethod
    def check_scenario(self, scenario: Scenario, source: Source) -> None:
        """Raise :class:`~dstcc.errors.InputError` for a scenario of its mode that it cannot steer."""

    def on_lanes(self, most: int | None) -> Self:
        """The same with at most so many lanes per link; one that takes the scenario's lanes stays as it is."""
        return self

    def decides(self, config: EngineConfig) -> bool:
        """Whether it may say something of a trial once a slot; else what it names decides by itself."""
        del config
        return True

    def steered(self, config: EngineConfig) -> EngineConfig:
        """A trial as it is where this policy steers it: the same, where it decides beside the congestion control."""
        return config

    @abstractmethod
    def pilot(self, config: EngineConfig, layers: int, watcher: Watcher | None) -> Pilot:
        """Who steers one connection of a trial of so many layers."""

    def drive(self, config: EngineConfig, watcher: Watcher | None = None) -> EngineResult:
        """Run a trial of the simulator to its end. Raises :class:`PolicyError` for one that it is not for."""
        return drive(self, config, watcher)

    def check_fits(self, *, subflows: int, layers: int) -> None:
        """Raise :class:`PolicyError` where a trial has more subflows or layers than the policy knows."""
        if subflows > self.most[0] or layers > self.most[1]:
            raise PolicyError(
                f"policy {self.name} is for {self.most[0]} subflows and {self.most[1]} layers; "
                f"the scenario has {subflows} and {layers}"
            )

    def header(self) -> dict[str, Any]:
        """The file's header, ``sha256`` included."""
        header = {
            "schema": SCHEMA,
            "algorithm": self.algorithm,
            "version": self.version,
            "seed": self.seed,
            "scenario_sha256": self.scenario_sha256,
            "trained_on": [asdict(one) for one in self.trained_on],
            **self.spaces(),
        }
        if self.trained_within:
            header["trained_within"] = scope.document(self.trained_within)
        return {**header, "sha256": digest(header, self.tensors)}

    def about(self) -> dict[str, Any]:
        """Where the policy is from, as ``run.json`` has it; ``sha256`` tells it from others of its name."""
        header = self.header()
        return {"name": self.name, **{key: header[key] for key in ABOUT}, "lanes": self.lanes}

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        write_policy(path, self.header(), self.tensors)


Policies = Mapping[str, Controller]
"""Those of a scenario, by their names in tables."""


def origin(path: Path, header: Mapping[str, Any]) -> dict[str, Any]:
    """Of a file that was read, the fields that every policy has; raises ValueError for entries that are none."""
    return {
        "algorithm": algorithms.RENAMED.get(header["algorithm"], header["algorithm"]),
        "seed": header["seed"],
        "scenario_sha256": header["scenario_sha256"],
        "trained_on": parse_trained_on(header.get("trained_on", [])),
        "trained_within": scope.parse(header.get("trained_within", {})),
        "version": header["version"],
        "name": algorithms.controller_name(str(path)),
        "once": header["algorithm"] if header["algorithm"] in algorithms.RENAMED else "",
    }


def write_policy(path: Path, header: Mapping[str, Any], tensors: Mapping[str, Float32Array]) -> None:
    """Write a header and tensors, whole or not at all."""
    from safetensors.numpy import save

    whole = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    atomic_write(Path(path), save(whole, metadata={ENTRY: json.dumps(header, sort_keys=True)}))


def read_policy(name_or_file: str | Path) -> tuple[Path, dict[str, Any], dict[str, Float32Array]]:
    """The file of a policy, or that in a training's folder, its header and its tensors, of whatever kind of policy;
    errors as :func:`load_policy`."""
    given = str(name_or_file)
    shipped = algorithms.shipped_policies()
    path = algorithms.POLICIES / f"{given}{SUFFIX}" if given in shipped else Path(name_or_file)
    if path.is_dir():
        path /= POLICY
    if not path.is_file():
        names = (algorithms.OWN, *shipped)
        raise PolicyError(
            f"{given}: no such policy file, and no policy of that name is shipped ({', '.join(names)})"
            + did_you_mean(given, names)
        )
    return path, *_read(path)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Float32Array]]:
    from safetensors import SafetensorError, safe_open

    check_regular(path, PolicyError, MOST_BYTES)  # a policy has less than one megabyte
    try:
        with safe_open(path, framework="numpy") as file:
            entry = (file.metadata() or {}).get(ENTRY)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except SafetensorError as error:
        raise PolicyError(f"{path}: not a complete safetensors file ({error})") from None
    except OSError as error:
        raise PolicyError(f"{path}: cannot be read ({error.strerror})") from None
    if entry is None:
        raise PolicyError(f"{path}: a safetensors file, but no policy of dstcc (no {ENTRY})")
    header = _parse_header(path, entry)
    body = {key: value for key, value in header.items() if key != "sha256"}
    if digest(body, tensors) != header["sha256"]:
        raise PolicyError(f"{path}: was changed or damaged since it was written (its checksum differs)")
    return header, tensors


def _parse_header(path: Path, entry: str) -> dict[str, Any]:
    try:
        header = json.loads(entry)
    except (ValueError, RecursionError):
        raise PolicyError(f"{path}: its header is not JSON") from None
    if not isinstance(header, dict) or header.get("schema") != SCHEMA:
        schema = header.get("schema") if isinstance(header, dict) else None
        raise PolicyError(f"{path}: policy schema {schema!r}; this version reads {SCHEMA}")
    for key, kind in FIELDS.items():
        if not isinstance(header.get(key), kind):
            raise PolicyError(f"{path}: its header has no {key} ({kind.__name__})")
    return header


def parse_trained_on(entries: Any) -> tuple[TrainedOn, ...]:
    """A header's entry; raises ValueError for what is none."""
    keys = {key.name for key in fields(TrainedOn)}
    whole = isinstance(entries, list) and all(isinstance(one, dict) and one.keys() == keys for one in entries)
    if not whole or not all(isinstance(text, str) for one in entries for text in one.values()):
        raise ValueError(f"trained_on: a list of scenario and sha256, not {entries!r}")
    return tuple(TrainedOn(**one) for one in entries)


def digest(header: dict[str, Any], tensors: Mapping[str, NDArray[Any]]) -> str:
    """SHA-256 of a header without ``sha256``, and of tensors."""
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"\0{name}\0{tensor.dtype.str}\0{tensor.shape}\0".encode())
        digest.update(np.ascontiguousarray(tensor).tobytes())
    return digest.hexdigest()
