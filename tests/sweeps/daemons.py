"""Clusters of two nodes on this machine, each in a folder of its own: Slurm's real daemons, and Ray's."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dstcc.sweeps.executors.ray import SILENT

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "sinfo")
CONF = """
ClusterName=dstcc
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
SlurmctldPort={port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1
ReturnToService=2
SlurmdTimeout=8
KillWait=2
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={port_1} CPUs=2 State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={port_2} CPUs=2 State=UNKNOWN
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
"""


def lacking() -> str:
    """What is missing to run it; empty where nothing is."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"no {', '.join(missing)}: scripts/setup-debian.sh cluster installs them"
    return "" if os.geteuid() == 0 else "Slurm's daemons are started as root here"


def free_ports(count: int) -> list[int]:
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [int(one.getsockname()[1]) for one in held]
    for one in held:
        one.close()
    return ports


@contextmanager
def cluster() -> Iterator[Path]:
    """Yield its folder once both nodes are idle; ``slurm.conf`` is in it."""
    folder = Path(tempfile.mkdtemp(prefix="dstcc-slurm-"))
    folder.chmod(0o755)
    (folder / "state").mkdir()
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o600)
    port, port_1, port_2 = free_ports(3)
    conf = folder / "slurm.conf"
    conf.write_text(
        CONF.format(host=socket.gethostname(), folder=folder, port=port, port_1=port_1, port_2=port_2)
    )
    environment = {**os.environ, "SLURM_CONF": str(conf)}

    def start(*words: str) -> None:
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, (words, done.stderr)

    places = {name: f"{folder}/munge.{name}" for name in ("socket", "pid", "log", "seed")}
    options = [
        f"--{'socket' if name == 'socket' else name + '-file'}={path}" for name, path in places.items()
    ]
    try:
        start("munged", f"--key-file={key}", *options, "--force")
        start("slurmctld", "-f", str(conf))
        for node in ("n1", "n2"):
            start("slurmd", "-f", str(conf), "-N", node)
        wait_for_nodes(environment)
        yield folder
    finally:
        for name in ("slurmd-n1.pid", "slurmd-n2.pid", "slurmctld.pid", "munge.pid"):
            with suppress(OSError, ValueError):
                os.kill(int((folder / name).read_text()), signal.SIGKILL)
        for node in ("n1", "n2"):
            kill_all_on(node, folder)
        shutil.rmtree(folder, ignore_errors=True)


def wait_for_nodes(environment: dict[str, str]) -> None:
    end, words = time.monotonic() + 60, ["sinfo", "--noheader", "--Node", "--format=%T"]
    while True:
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        if done.stdout.split() == ["idle", "idle"]:
            return
        assert time.monotonic() < end, done
        time.sleep(0.5)


def lose_node(node: str, folder: Path) -> None:
    """A node is gone at once: its daemon and all that runs there."""
    os.kill(int((folder / f"slurmd-{node}.pid").read_text()), signal.SIGKILL)
    kill_all_on(node, folder)


def kill_all_on(node: str, folder: Path) -> list[int]:
    """SIGKILL every process of jobs on a node of this cluster; returns their ids."""
    killed = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal() or int(entry.name) == os.getpid():
            continue
        try:
            about = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
            parent = f"SLURMD_NODENAME={node}".encode() in about and str(folder).encode() in about
            if parent:
                os.kill(int(entry.name), signal.SIGKILL)
                killed.append(int(entry.name))
        except (OSError, ProcessLookupError):
            continue
    return killed


class Nodes:
    """Two nodes of Ray on this machine, of one core each."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="dstcc-nodes-"))
        (port,) = free_ports(1)
        self.address = f"127.0.0.1:{port}"
        self._marks = (str(self.folder).encode(), f":{port}\0".encode())
        self._start("--head", f"--port={port}", f"--temp-dir={self.folder}", "--include-dashboard=false")
        head = set(self.processes())
        self._start(f"--address={self.address}")
        self.second = [pid for pid in self.processes() if pid not in head]

    def _start(self, *words: str) -> None:
        command = [
            sys.executable,
            "-m",
            "ray.scripts.scripts",
            "start",
            "--num-cpus=1",
            "--disable-usage-stats",
            *words,
        ]
        environment = {**os.environ, **SILENT}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def processes(self) -> list[int]:
        """Those whose command lines name the nodes' folder or port, and all below them, whose do not."""
        parents, found = {}, set()
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal() and int(entry.name) != os.getpid():
                with suppress(OSError):
                    stat = (entry / "stat").read_text()
                    parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
                    words = (entry / "cmdline").read_bytes()
                    if any(mark in words for mark in self._marks):
                        found.add(int(entry.name))
        while below := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= below
        return sorted(found)

    def lose_second(self) -> None:
        for pid in self.second:
            kill(pid)

    def stop(self) -> None:
        while left := self.processes():
            for pid in left:
                kill(pid)
            time.sleep(0.1)
        shutil.rmtree(self.folder, ignore_errors=True)


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
