"""The congestion control as BPF, for stock kernels with BTF: built for this one, registered, spoken to through maps.

The program's maps outlive the command that loads it, as long as it is registered, and are found again by their names.
:class:`Client` does what :class:`dstcc_kernel.netlink.Client` does for the module, with two differences: an
action is applied with the subflow's next ACK (``kernel-cc/bpf/dstcc.bpf.c`` says why), and the subflows are those of
all network namespaces.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dstcc.errors import KernelError, MissingCapabilityError

from .genetlink import Closing, NetlinkError
from .netlink import Action, Flags, Subflow, address
from .sources import folder

NAME = "dstcc"
BTF = Path("/sys/kernel/btf/vmlinux")
TOOLS = {"clang": "clang", "bpftool": "bpftool"}
"""Program → Debian package."""
HEADERS = Path("/usr/include/bpf/bpf_helpers.h")
CALLS = {"x86_64": (321, "x86"), "aarch64": (280, "arm64")}
"""Number of bpf(2), and the architecture's name in libbpf's headers."""
LOOKUP, UPDATE, NEXT_KEY, NEXT_ID, BY_ID, INFO = 1, 2, 4, 12, 14, 15
"""Commands of bpf(2)."""
MAPS = ("dstcc_params", "dstcc_actions", "dstcc_states")
PARAMETERS = struct.Struct("=QII")
ACTION = struct.Struct("=IIiI")
STATE = struct.Struct("=4Q 4I 8I 8I 3I 2H 16s 16s")
"""The records of ``dstcc.bpf.c``, in its order."""
STATE_NAMES = (
    *("acked_bytes", "unsent_bytes", "delivery_rate", "pacing_rate"),
    *("id", "token", "local_id", "remote_id"),
    *("flags", "ca_state", "mss", "cwnd", "ssthresh", "in_flight", "srtt_us", "min_rtt_us"),
    *("sent", "delivered", "lost", "retransmitted", "bdp", "actions", "clamps", "fallbacks"),
    *("identified", "local_port", "remote_port", "inet6", "tcp_state", "local_address", "remote_address"),
)
"""Likewise."""
CWND_MAX = 1 << 28
INFO_NAME = slice(24, 40)
"""Where a map's name stands in ``struct bpf_map_info``."""
LONG_ACK = "cong_control)(struct sock *, u32, int"
"""How vmlinux.h shows that cong_control has the arguments that Linux 6.10 gave it."""
SLOT_US, SILENCE_SLOTS, HEADROOM = 10**6, 4, 2
"""As the module begins."""


def require() -> None:
    """Raise :class:`~dstcc.errors.MissingCapabilityError` naming what this machine lacks."""
    if not BTF.exists():
        raise MissingCapabilityError(f"{BTF}: the kernel has no BTF; load the module instead: --module")
    lacking = [package for tool, package in TOOLS.items() if which(tool) is None]
    if not HEADERS.exists():
        lacking.append("libbpf-dev")
    if lacking:
        raise MissingCapabilityError(f"the BPF program cannot be built: apt install {' '.join(lacking)}")
    if platform.machine() not in CALLS:
        raise MissingCapabilityError(f"BPF is not known for {platform.machine()}: {', '.join(CALLS)} only")


def build(out: Path) -> Path:
    """Build the program for the running kernel into the folder ``out``; the object's path.

    Raises :class:`~dstcc.errors.MissingCapabilityError` or :class:`~dstcc.errors.KernelError` with the first complaint.
    """
    require()
    header, program = out / "vmlinux.h", out / "dstcc.bpf.o"
    header.write_text(_run("bpftool", "btf", "dump", "file", str(BTF), "format", "c"))
    options = ["-O2", "-g", "-target", "bpf", "-mcpu=v3", f"-D__TARGET_ARCH_{CALLS[platform.machine()][1]}"]
    if LONG_ACK in header.read_text():
        options.append("-DDSTCC_ACK_LONG")
    source = folder("bpf") / "dstcc.bpf.c"
    _run("clang", *options, f"-I{out}", f"-I{folder('law')}", "-c", str(source), "-o", str(program))
    return program


def load() -> None:
    """Build and register ``dstcc``; raises :class:`~dstcc.errors.KernelError` where the kernel refuses it."""
    with tempfile.TemporaryDirectory(prefix="dstcc-bpf-") as work:
        program = build(Path(work))
        _run("bpftool", "struct_ops", "register", str(program))
    with Client() as client:
        client.set_parameters(slot_us=SLOT_US, silence_slots=SILENCE_SLOTS, headroom=HEADROOM)


def unload() -> None:
    """Take it out; connections that use it keep it until they end."""
    _run("bpftool", "struct_ops", "unregister", "name", NAME)


def loaded() -> bool:
    """Whether a program named ``dstcc`` is registered."""
    if which("bpftool") is None:
        return False
    listed = subprocess.run(
        [which("bpftool") or "", "struct_ops", "list"], capture_output=True, text=True, check=False
    )
    return any(words[1:2] == [NAME] for words in map(str.split, listed.stdout.splitlines()))


class Client(Closing):
    """The control's maps; use as a context manager.

    Raises :class:`~dstcc.errors.MissingCapabilityError` where it is not loaded, or without the right to see maps.
    """

    def __init__(self) -> None:
        self._maps = dict(_find_maps())
        missing = [name for name in MAPS if name not in self._maps]
        if missing:
            self.close()
            raise MissingCapabilityError(
                "the kernel has no BPF control dstcc: `dstcc kernel load --bpf` loads it"
            )
        self._slot_us, self._silence_slots, self._headroom = SLOT_US, SILENCE_SLOTS, HEADROOM

    def close(self) -> None:
        """Let go of the maps."""
        for number in self._maps.values():
            os.close(number)
        self._maps = {}

    def subflows(self) -> list[Subflow]:
        """Every subflow under ``dstcc``, in all namespaces, the oldest first."""
        states = self._maps["dstcc_states"]
        subflows = [_subflow(value) for key in _keys(states) if (value := _lookup(states, key, STATE.size))]
        return sorted(subflows, key=lambda subflow: subflow.id)

    def act(self, actions: Iterable[Action]) -> int:
        """Leave actions for the subflows' next ACKs; how many there are.

        Raises :class:`NetlinkError` named ``ENOENT``, before anything is left, where a subflow is not there or of
        another connection.
        """
        wanted = list(actions)
        by_id = {subflow.id: subflow for subflow in self.subflows()}
        for action in wanted:
            subflow = by_id.get(action.subflow)
            if subflow is None or action.token not in (None, subflow.token):
                raise NetlinkError(
                    "dstcc (BPF)", errno.ENOENT, f"no subflow {action.subflow} of that connection"
                )
        for action in wanted:
            before = _lookup(self._maps["dstcc_actions"], action.subflow, ACTION.size)
            sequence = (ACTION.unpack(before)[0] if before else 0) + 1
            fall_back = action.alpha_q16 is None
            value = ACTION.pack(sequence % (1 << 32), action.alpha_q16 or 0, action.beta, fall_back)
            _update(self._maps["dstcc_actions"], action.subflow, value)
        return len(wanted)

    def set_parameters(
        self, *, slot_us: int | None = None, silence_slots: int | None = None, headroom: int | None = None
    ) -> None:
        """Set what is given, for the actions to come; see :class:`dstcc_kernel.netlink.Parameters`."""
        self._slot_us = slot_us or self._slot_us
        self._silence_slots = silence_slots or self._silence_slots
        self._headroom = self._headroom if headroom is None else headroom
        value = PARAMETERS.pack(self._slot_us * self._silence_slots, self._headroom, CWND_MAX)
        _update(self._maps["dstcc_params"], 0, value)


def which(tool: str) -> str | None:
    """A program's path, in root's folders too."""
    return shutil.which(tool, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")


def _subflow(value: bytes) -> Subflow:
    state: dict[str, Any] = dict(zip(STATE_NAMES, STATE.unpack(value), strict=True))
    width = 16 if state.pop("inet6") else 4
    addresses = {name: address(state[name][:width]) for name in ("local_address", "remote_address")}
    unknown = {} if state.pop("identified") else dict.fromkeys(("token", "local_id", "remote_id"))
    return Subflow(**{**state, **addresses, **unknown, "flags": Flags(state["flags"])})


def _run(tool: str, *words: str) -> str:
    path = which(tool)
    if path is None:
        raise MissingCapabilityError(f"{tool} is missing: apt install {TOOLS[tool]}")
    done = subprocess.run([path, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise KernelError(f"{tool}: {(lines or ['it failed'])[0]}")
    return done.stdout


def _find_maps() -> Iterator[tuple[str, int]]:
    """Name and open file of the program's maps; of several loads the latest."""
    latest: dict[str, int] = {}
    number = 0
    while (number := _next_id(number)) > 0:
        file = _bpf(BY_ID, struct.pack("=III", number, 0, 0))
        if file < 0:
            continue  # it went meanwhile
        name = _name(file)
        if name in MAPS:
            if name in latest:
                os.close(latest[name])
            latest[name] = file
        else:
            os.close(file)
    yield from latest.items()


def _next_id(number: int) -> int:
    attributes = ctypes.create_string_buffer(struct.pack("=III", number, 0, 0), 12)
    if _call(NEXT_ID, attributes, 12) < 0:
        if ctypes.get_errno() == errno.EPERM:
            raise MissingCapabilityError("BPF maps can be seen by root only")
        return -1
    return int(struct.unpack_from("=I", attributes, 4)[0])


def _name(file: int) -> str:
    info = ctypes.create_string_buffer(128)
    _bpf(INFO, struct.pack("=IIQ", file, len(info), ctypes.addressof(info)))
    return info.raw[INFO_NAME].split(b"\0")[0].decode()


def _keys(file: int) -> Iterator[int]:
    """Keys of a map that others may change meanwhile."""
    key = ctypes.c_uint32()
    following = ctypes.c_uint32()
    at = 0
    while _bpf(NEXT_KEY, struct.pack("=IIQQQ", file, 0, at, ctypes.addressof(following), 0)) == 0:
        yield following.value
        key.value = following.value
        at = ctypes.addressof(key)


def _lookup(file: int, key: int, size: int) -> bytes | None:
    at, value = ctypes.c_uint32(key), ctypes.create_string_buffer(size)
    places = ctypes.addressof(at), ctypes.addressof(value)
    return value.raw if _bpf(LOOKUP, struct.pack("=IIQQQ", file, 0, *places, 0)) == 0 else None


def _update(file: int, key: int, data: bytes) -> None:
    at, value = ctypes.c_uint32(key), ctypes.create_string_buffer(data, len(data))
    places = ctypes.addressof(at), ctypes.addressof(value)
    if _bpf(UPDATE, struct.pack("=IIQQQ", file, 0, *places, 0)) < 0:
        raise KernelError(f"the BPF control's map: {os.strerror(ctypes.get_errno())}")


def _bpf(command: int, attributes: bytes) -> int:
    return _call(command, ctypes.create_string_buffer(attributes, len(attributes)), len(attributes))


def _call(command: int, attributes: ctypes.Array[ctypes.c_char], size: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    number = ctypes.c_long(CALLS[platform.machine()][0])
    return int(libc.syscall(number, ctypes.c_long(command), attributes, ctypes.c_long(size)))
