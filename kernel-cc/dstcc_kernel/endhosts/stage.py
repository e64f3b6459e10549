"""What a mission's hosts stand on: their network namespaces, the links between them, and who says how these do.

Two hosts are joined by netem (:mod:`..topology`); nodes by links that a program plays (:mod:`..ground`), which knows
what each node stores.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from dstcc.errors import DstccError

from ..ground import Ground, build_ground, device_of, plan_lines
from ..network import Network
from ..rtnetlink import LOOPBACK
from ..topology import Topology, Wire, build, craft_address, shape
from .mission import AT, LINKS_PLAN, PLAYER, Mission

Seen = tuple[int, str, str]
"""A device whose packets are captured: its namespace, its name, the ring's."""


class _Pair:
    """Two hosts."""

    netem = True
    """Whether the kernel counts what the links do."""

    def __init__(self, topology: Topology, mission: Mission) -> None:
        self._topology, self._mission = topology, mission
        self.spaces: tuple[int, ...] = (topology.craft, topology.earth)
        """The hosts' network namespaces."""

    def lay(self) -> None:
        topology, mission = self._topology, self._mission
        for ip in (topology.craft_ip, topology.earth_ip):
            ip.up(LOOPBACK)
        for index in range(len(mission.links)):
            down, up = (shape(mission.links, mission.seed, index, 0, up=up) for up in (False, True))
            wire = Wire(down, up, mission.mtu, 0, 0, mission.initial_cwnd)
            topology.lay(index, wire, [craft_address(index)])
            topology.open_windows(index, mission.initial_cwnd)
        if mission.mptcp:
            topology.allow_joins()
            for index in range(1, len(mission.links)):
                topology.join(index, craft_address(index), backup=False)

    def begin(self, start_ns: int) -> None:
        """Mission time is 0 at that time of the monotonic clock; netems know their own."""

    def changes(self) -> list[tuple[int, Callable[[], None]]]:
        """What the links do and when."""
        return self._topology.changes(self._mission.links, self._mission.seed)

    def counts(self) -> bytes:
        """What the program that plays the links says of them, if one does."""
        return b""

    def devices(self) -> list[dict[str, int]]:
        """Each link's two devices with netems, by index and end host."""
        found = []
        for index in range(len(self._mission.links)):
            down = self._topology.earth_ip.index(f"down{index}")
            up = self._topology.craft_ip.index(f"up{index}")
            found.append({"down": down, "up": up})
        return found

    def seen(self) -> list[Seen]:
        """At each end of each link and way: what leaves the sender, and what arrives after the link."""
        ends = ((self._topology.craft, ("craft", "up")), (self._topology.earth, ("earth", "down")))
        return [
            (space, f"{device}{index}", f"{device}{index}")
            for index in range(len(self._mission.links))
            for space, devices in ends
            for device in devices
        ]


class _Nodes:
    """A network's nodes, and the program that plays their links."""

    netem = False

    def __init__(self, ground: Ground, mission: Mission, network: Network) -> None:
        self._ground, self._mission, self._network = ground, mission, network
        self.spaces = ground.spaces
        self._player: subprocess.Popen[bytes] | None = None
        self._size = 8 * (14 * len(mission.links) + 4 * len(network.nodes))

    def lay(self) -> None:
        mission, paths = self._mission, range(len(self._network.paths))
        self._ground.lay(mission.mtu, mission.initial_cwnd, {path: [craft_address(path)] for path in paths})
        if mission.mptcp:
            self._ground.allow_joins()
            for path in range(1, len(paths)):
                self._ground.join(path, craft_address(path), backup=False)
        head = (f"namespace {self._ground.middle}", f"seed {mission.seed}", f"bytes {mission.mtu} 0 0 0")
        links = [link.config for link in mission.links]
        plan = AT / LINKS_PLAN
        plan.write_text("\n".join(plan_lines(self._network, links, head)) + "\n")
        self._player = subprocess.Popen(
            [str(AT / PLAYER), str(plan)],
            pass_fds=(self._ground.middle,),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def begin(self, start_ns: int) -> None:
        self._tell(f"{start_ns}\n")

    def changes(self) -> list[tuple[int, Callable[[], None]]]:
        return []  # the program has them

    def counts(self) -> bytes:
        self._tell("counts\n")
        assert self._player is not None and self._player.stdout is not None
        numbers = self._player.stdout.read(self._size)
        if len(numbers) < self._size:
            self._fail()
        return numbers

    def _tell(self, line: str) -> None:
        assert self._player is not None and self._player.stdin is not None
        try:
            self._player.stdin.write(line.encode())
            self._player.stdin.flush()
        except BrokenPipeError:
            self._fail()

    def _fail(self) -> None:
        assert self._player is not None
        _, said = self._player.communicate()
        words = said.decode(errors="replace").strip() or f"ended with {self._player.returncode}"
        raise DstccError(f"the program that plays the links: {words}")

    def devices(self) -> list[dict[str, int]]:
        return []

    def seen(self) -> list[Seen]:
        return [
            (self.spaces[node], device_of(link), f"link{link}-{end}")
            for link, ends in enumerate(self._network.ends)
            for end, node in enumerate(ends)
        ]

    def close(self) -> None:
        """End the program."""
        if self._player is not None:
            self._player.kill()
            self._player.communicate()


Stage = _Pair | _Nodes
"""What a flight needs of it is what both have."""


@contextmanager
def stage_of(mission: Mission, sysctls: dict[str, str], roots: Sequence[int]) -> Iterator[Stage]:
    """The stage of a mission, gone when the block ends; ``roots`` are the hosts' user namespaces."""
    unsent = mission.unsent_bytes if mission.mptcp else None
    if mission.network is None:
        with build(mission.buffer_bytes, unsent_bytes=unsent, sysctls=sysctls, roots=roots) as topology:
            yield _Pair(topology, mission)
        return
    with build_ground(
        mission.network, mission.buffer_bytes, unsent_bytes=unsent, sysctls=sysctls, roots=roots
    ) as ground:
        nodes = _Nodes(ground, mission, mission.network)
        try:
            yield nodes
        finally:
            nodes.close()
