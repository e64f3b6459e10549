"""The machine's own kernel: loading the congestion control into it, and whether it can carry a scenario."""

from __future__ import annotations

import os
import subprocess
import tempfile
from math import inf
from pathlib import Path

from dstcc.errors import KernelError, MissingCapabilityError

from . import bpf, module, netlink
from .running import started

RIGHTS_REMEDY = (
    "a network of its own is refused to this user: run as root, or allow user namespaces "
    "(sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone), or use --backend kernel, which needs none"
)
NETEM_REMEDY = (
    "the running kernel has no netem, which delays packets: "
    "apt install linux-image-amd64 and boot it, or use --backend kernel, which needs none"
)

MPTCP = Path("/proc/sys/net/mptcp")


def load(way: str | None = None) -> str:
    """Load ``dstcc`` as ``module`` or ``bpf``, or as what this machine has the means for; which it was.

    Raises :class:`~dstcc.errors.KernelError` where it is loaded already or refused, and
    :class:`~dstcc.errors.MissingCapabilityError` where means are missing.
    """
    present = loaded()
    if present is not None:
        raise KernelError(f"dstcc is loaded already, as {present}: `dstcc kernel unload` takes it out")
    if way is None:
        way = "module" if module.HOST_TREE.is_dir() else "bpf"
    if way == "bpf":
        bpf.load()
        return way
    with tempfile.TemporaryDirectory(prefix="dstcc-module-") as work:
        module.load(module.build(module.HOST_TREE, Path(work) / "built"))
    return way


def unload() -> None:
    """Take ``dstcc`` out; raises :class:`~dstcc.errors.KernelError` where it is not loaded or in use."""
    present = loaded()
    if present is None:
        raise KernelError("dstcc is not loaded")
    (module if present == "module" else bpf).unload()


def loaded() -> str | None:
    """``module``, ``bpf`` or ``None``."""
    if module.loaded():
        return "module"
    return "bpf" if bpf.loaded() else None


def mptcp_patience_s() -> float:
    """How long MPTCP waits for an answer to its SYN: since Linux 6.12 until its third timeout, at 1 + 2 + 4 s, unless a
    sysctl says otherwise, which trials then set; before that for ever."""
    gives_up = (MPTCP / "blackhole_timeout").exists() and not (
        MPTCP / "syn_retrans_before_tcp_fallback"
    ).exists()
    return 7.0 if gives_up else inf


def client() -> netlink.Client | bpf.Client:
    """To the control as it is loaded; raises :class:`~dstcc.errors.MissingCapabilityError` where it is not."""
    return netlink.Client() if module.loaded() else bpf.Client()


def run(words: list[str], log: Path, *, wall_s: float, environment: dict[str, str]) -> None:
    """Run a job in a network namespace of its own, as root there; what it says goes to ``log``.

    Raises :class:`~dstcc.errors.KernelError` when it runs for more than ``wall_s``. None of its processes outlives
    this call.
    """
    unshare = bpf.which("unshare")
    if unshare is None:
        raise MissingCapabilityError("--backend host: apt install util-linux")
    command = [unshare, *_as_root(), "--net", "--pid", "--fork", "--kill-child", "--mount-proc", *words]
    with (
        log.open("wb") as out,
        started(command, stdout=out, stderr=out, env=os.environ | environment) as process,
    ):
        try:
            process.wait(timeout=wall_s)
        except subprocess.TimeoutExpired:
            raise KernelError(f"the trial was stopped: it still ran after {wall_s:g} s") from None
        finally:
            process.kill()
            process.wait()


def require_netem() -> None:
    """Raise :class:`~dstcc.errors.MissingCapabilityError` where the running kernel cannot delay packets.

    Asked of the kernel itself: a netem is put on a network of its own that goes at once.
    """
    programs = [bpf.which(name) for name in ("unshare", "tc")]
    if None in programs:
        raise MissingCapabilityError("--backend host: apt install iproute2 util-linux")
    unshare, tc = (program or "" for program in programs)
    words = [unshare, *_as_root(), "--net", tc, "qdisc", "add", "dev", "lo", "root", "netem"]
    tried = subprocess.run([*words, "delay", "1ms"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        said = (tried.stderr.strip().splitlines() or ["it says nothing"])[-1]
        remedy = RIGHTS_REMEDY if said.startswith("unshare:") else NETEM_REMEDY
        raise MissingCapabilityError(f"--backend host: {remedy} ({said})")


def _as_root() -> list[str]:
    """What makes ``unshare`` give root's rights over the new namespaces to whoever has them not."""
    return [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
