"""Policy files: weights and what they are for, in one safetensors file.

The file's metadata holds one entry, ``dstcc_policy``: a JSON header with ``schema`` (1), ``algorithm``,
``version`` (of dstcc), ``seed`` and ``scenario_sha256`` of the training, ``trained_on`` (a list of its scenarios, each
``scenario``, its name, and ``sha256``, its content hash; files without one are read as well), ``trained_within`` (what
these scenarios are, in ranges, see :mod:`dstcc.learn.policies.scope`; likewise), ``observation`` and
``action`` (the documents of :class:`ObservationSpec` and :class:`~dstcc.learn.spaces.actions.ActionSpace`),
``network``, and ``sha256`` over the
rest of the header and every tensor's name, type, shape and bytes. Nothing in it is ever executed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from dstcc import algorithms
from dstcc.atomic import atomic_write
from dstcc.errors import PolicyError
from dstcc.learn.spaces.actions import ActionSpace
from dstcc.learn.spaces.observe import ObservationSpec
from dstcc.learn.spaces.registry import parse_actions
from dstcc.reading import MOST_BYTES, check_regular
from dstcc.version import __version__

from . import scope
from .network import NETWORKS, Network
from .scope import Scope

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Float32Array = NDArray[np.float32]

SCHEMA = 1
ENTRY = "dstcc_policy"
SUFFIX = ".safetensors"
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
class Policy:
    """A controller: what it sees, what it may do, and the network in between.

    Raises ValueError when the tensors do not fit the spaces or hold anything but finite float32.
    """

    algorithm: str
    observation: ObservationSpec
    action: ActionSpace
    network: dict[str, Any]
    """Its ``kind`` and whatever that kind needs; see :mod:`dstcc.learn.policies.network`."""
    tensors: Mapping[str, Float32Array]
    seed: int
    """Of the training."""
    scenario_sha256: str
    """Content hash of the training's scenario; of several, a hash of their hashes."""
    trained_on: tuple[TrainedOn, ...] = ()
    """Every scenario of the training; empty where the file does not say."""
    trained_within: Scope = field(default_factory=dict)
    """What these are, in ranges; empty where the file does not say."""
    version: str = __version__
    name: str = ""
    """A shipped policy's name or the file's, without its suffix."""
    _run: Network = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Build the network."""
        for name, tensor in self.tensors.items():
            if tensor.dtype != np.float32 or not np.isfinite(tensor).all():
                raise ValueError(f"tensor {name}: finite float32 numbers only")
        build = NETWORKS.get(str(self.network.get("kind")))
        if build is None:
            raise ValueError(f"network kind {self.network.get('kind')!r}: one of {', '.join(NETWORKS)}")
        network = build(self.network, self.tensors, self.observation.size, self.action.outputs)
        object.__setattr__(self, "_run", network)

    def outputs(self, observations: NDArray[np.float32]) -> Float32Array:
        """The network's outputs (K, outputs) for observations (K, size).

        Raises :class:`PolicyError` for another shape or an observation with NaN.
        """
        if observations.ndim != 2 or observations.shape[1] != self.observation.size:
            raise PolicyError(
                f"policy {self.name}: observations have the shape (K, {self.observation.size}), "
                f"not {observations.shape}"
            )
        if np.isnan(observations).any():
            raise PolicyError(f"policy {self.name}: an observation holds NaN")
        return self._run(np.asarray(observations, dtype=np.float32))

    def act(self, observations: NDArray[np.float32]) -> NDArray[Any]:
        """The greedy actions for observations (K, size), as :meth:`Runner.step` takes them."""
        return self.action.greedy(self.outputs(observations))

    mode: ClassVar[Literal["tcp"]] = "tcp"
    """It steers TCP's subflows and lanes."""

    @property
    def knows(self) -> tuple[str, ...]:
        """What it sees, and what its actions rest on: keys of :data:`dstcc.algorithms.KNOWLEDGE`."""
        seen = {name.rpartition(".")[2] for name in self.observation.names}
        knows = {
            "queue": "queue" in seen or self.action.measured,
            "contacts": "link_up" in seen or self.action.measured,
        }
        return tuple(key for key, known in knows.items() if known)

    @property
    def copies(self) -> str:
        """What may go a second time, a key of :data:`dstcc.algorithms.COPIES` or empty."""
        return "spare" if self.action.copying else ""

    def check_fits(self, *, subflows: int, layers: int) -> None:
        """Raise :class:`PolicyError` where a trial has more subflows or layers than the policy knows."""
        check_within_most(self.name, (subflows, self.action.subflows), (layers, self.action.layers))

    def on_lanes(self, most: int | None) -> Policy:
        """The same with at most so many lanes per link; one that takes the scenario's lanes stays as it is."""
        if most is None or self.action.lanes <= most:
            return self
        return replace(self, action=replace(self.action, lanes=most))

    def header(self) -> dict[str, Any]:
        """The file's header, ``sha256`` included."""
        header = {
            "schema": SCHEMA,
            "algorithm": self.algorithm,
            "version": self.version,
            "seed": self.seed,
            "scenario_sha256": self.scenario_sha256,
            "trained_on": [asdict(one) for one in self.trained_on],
            "observation": self.observation.document(),
            "action": self.action.document(),
            "network": self.network,
        }
        if self.trained_within:
            header["trained_within"] = scope.document(self.trained_within)
        return {**header, "sha256": digest(header, self.tensors)}

    def about(self) -> dict[str, Any]:
        """Where the policy is from, as ``run.json`` has it; ``sha256`` tells it from others of its name. ``lanes`` is
        how many it asks for per link, 0 for the scenario's."""
        header = self.header()
        return {"name": self.name, **{key: header[key] for key in ABOUT}, "lanes": self.action.lanes}


def save_policy(path: Path, policy: Policy) -> None:
    """Write a policy file, whole or not at all."""
    write_policy(path, policy.header(), policy.tensors)


def write_policy(path: Path, header: Mapping[str, Any], tensors: Mapping[str, Float32Array]) -> None:
    """Write a header and tensors, whole or not at all."""
    from safetensors.numpy import save

    whole = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    atomic_write(Path(path), save(whole, metadata={ENTRY: json.dumps(header, sort_keys=True)}))


def check_within_most(name: str, subflows: tuple[int, int], layers: tuple[int, int]) -> None:
    """Raise :class:`PolicyError` where a trial has more of either, the first number, than a policy has, the second."""
    if subflows[0] > subflows[1] or layers[0] > layers[1]:
        raise PolicyError(
            f"policy {name} is for {subflows[1]} subflows and {layers[1]} layers; "
            f"the scenario has {subflows[0]} and {layers[0]}"
        )


def load_policy(name_or_file: str | Path) -> Policy:
    """Read a shipped policy by its name, or a policy file.

    Raises :class:`PolicyError` for a file that is missing, too large, truncated, of another kind or schema, changed
    since it was written, or whose weights do not fit its spaces.
    """
    path, header, tensors = read_policy(name_or_file)
    if header["action"].get("kind") == CODED_ACTION:
        raise PolicyError(f"{path}: has other actions: it steers layers coded over packets, not TCP")
    try:
        return Policy(
            algorithm=header["algorithm"],
            observation=ObservationSpec.parse(header["observation"]),
            action=parse_actions(header["action"]),
            network=header["network"],
            tensors=tensors,
            seed=header["seed"],
            scenario_sha256=header["scenario_sha256"],
            trained_on=parse_trained_on(header.get("trained_on", [])),
            trained_within=scope.parse(header.get("trained_within", {})),
            version=header["version"],
            name=path.stem,
        )
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise PolicyError(f"{path}: {error}") from None


def read_policy(name_or_file: str | Path) -> tuple[Path, dict[str, Any], dict[str, Float32Array]]:
    """A policy's file, its header and its tensors, of whatever kind of policy; errors as :func:`load_policy`."""
    given = str(name_or_file)
    shipped = algorithms.shipped_policies()
    path = algorithms.POLICIES / f"{given}{SUFFIX}" if given in shipped else Path(name_or_file)
    if not path.is_file():
        names = ", ".join(shipped) or "none is"
        raise PolicyError(f"{given}: no such policy file, and no policy of that name is shipped ({names})")
    return path, *_read(path)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Float32Array]]:
    from safetensors import SafetensorError, safe_open

    check_regular(path, PolicyError, MOST_BYTES)  # a policy has less than one megabyte
    try:
        with safe_open(path, framework="numpy") as file:
            entry = (file.metadata() or {}).get(ENTRY)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except SafetensorError as error:
        raise PolicyError(f"{path}: not a whole safetensors file ({error})") from None
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
