"""What a guest carries out, in emulated time: the links, the programs and when all of it ends; as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..job import LinkJob, of_document
from ..network import Network

CRAFT, EARTH = "craft", "earth"
HOSTS = (CRAFT, EARTH)
"""The hosts of a scenario without nodes, in the order in which a link has its ends."""
AT = Path("/run/dstcc")
"""Where a guest has the run's folder, wherever that is outside: nothing in a guest depends on it."""
HERE = Path("/run/here")
"""Where a guest has ``folder`` of ``[programs]``, else the folder that ``dstcc`` was called in, read-only."""
MISSION, OUTCOME, ERROR = "mission.json", "outcome.json", "error.txt"
SAMPLES, DEVICES, RUNNING, STDOUT, STDERR = "samples.bin", "devices.json", "running", "stdout", "stderr"
KEYS, WAITS = "keys-{}", "waits"
"""Of a shell: what was typed, a file each; and how many of them it had when it began to wait for more."""
LINKS_PLAN, PLAYER = "links.txt", "links"
"""The program that plays a network's links, and its plan."""
VARIABLE = "DSTCC_PROGRAM"
"""Of each program's environment: its number, so that it can be told from outside."""
START_NS = 10 * 10**9
"""The guest's clock when the mission begins: time enough for all that comes before, whatever it is."""
NAMED = 5
"""So many of the files that are not kept a note names."""
ENDED, AT_LIMIT, TOO_LONG = "ended", "for", "too long"
"""Why a mission ended: its program did, its ``--for`` had passed, or the guest's clock had run for long enough."""


@dataclass(frozen=True)
class Program:
    """One command line, on one end host."""

    host: str
    argv: tuple[str, ...]

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"`{' '.join(self.argv)}` on {self.host}"


@dataclass(frozen=True)
class Mission:
    """A run. All times are emulated; the first program is the one whose end is the run's."""

    scale: float
    seed: int
    """Of the links' losses."""
    clock_s: int
    """Unix time at the start."""
    links: tuple[LinkJob, ...]
    mtu: int
    initial_cwnd: int
    buffer_bytes: int
    unsent_bytes: int
    stale_timers: int
    congestion: str
    programs: tuple[Program, ...]
    environment: dict[str, str]
    """That all programs have, beside their host's own."""
    until_ns: int | None
    """When all ends."""
    linger_ns: int
    """From the first program's end to the others', where these still run."""
    sample_ns: int
    disk_mb: int
    """That the files of one end host may take."""
    mptcp: bool = False
    capture: bool = False
    terminal: bool = False
    """The first program is a shell on a pseudo-terminal: while it waits for keys, mission time stands."""
    module: str | None = None
    """A kernel module to load before all else."""
    hosts: tuple[str, ...] = HOSTS
    network: Network | None = None
    """Whose nodes the hosts are, in the same order."""
    sysctls: dict[str, str] = field(default_factory=dict)
    """Settings of the network that the hosts have beside ours, by their paths below ``/proc/sys``."""
    longest_ns: int = 0
    """Of a network the longest one-way delay of a path."""

    def write(self, path: Path) -> None:
        """As JSON."""
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")


def read_mission(path: Path) -> Mission:
    """Read what :meth:`Mission.write` wrote."""
    mission: Mission = of_document(Mission, json.loads(path.read_text()))
    return mission
